//! A path that is let through has no dot segment however often it is decoded, and a rule that allows it allows
//! what a server makes of it by merging slashes.
#![no_main]

use cofferdam_policy::host::{Host, HostPattern};
use cofferdam_policy::path::{PathPattern, RequestPath};
use cofferdam_policy::rules::{AllowRule, Question, Rules, Verdict};

libfuzzer_sys::fuzz_target!(|text: &str| {
    let (pattern, path) = text.split_once('\n').unwrap_or((text, text));
    let Ok(path) = RequestPath::parse(path) else { return };
    assert_eq!(RequestPath::parse(path.as_str()).as_ref(), Ok(&path));
    for segment in path.as_str().split('/') {
        assert!(!matches!(segment.split(';').next(), Some("." | "..")), "{segment}");
    }
    let lower = path.as_str().to_ascii_lowercase();
    assert!(
        !["%2e", "%2f", "%5c", "%00", "%252e", "%252f", "\\"].iter().any(|hidden| lower.contains(hidden))
    );

    let Ok(pattern) = PathPattern::parse(pattern) else { return };
    assert_eq!(PathPattern::parse(&pattern.to_string()).as_ref(), Ok(&pattern));
    let mut merged = path.as_str().to_owned();
    while merged.contains("//") {
        merged = merged.replace("//", "/");
    }
    let merged = RequestPath::parse(&merged).expect("merging slashes makes nothing new");
    let host = Host::parse("a.example").expect("a host");
    let mut rule = AllowRule::whole_host(HostPattern::Exactly(host.clone()), Some(443));
    rule.paths.push(pattern);
    let rules = Rules::compile(&[rule]);
    let allows = |path: &RequestPath<'_>| {
        let question = Question { host: &host, port: 443, method: "GET", path: Some(path) };
        matches!(rules.check(&question), Verdict::Allowed { .. })
    };
    assert!(!allows(&path) || allows(&merged));
});
