//! A host has one canonical form, and a pattern prints as one that means the same.
#![no_main]

use cofferdam_policy::host::{Host, HostPattern};

libfuzzer_sys::fuzz_target!(|text: &str| {
    let (first, second) = text.split_once('\n').unwrap_or((text, ""));
    let host = Host::parse(first);
    if let Ok(host) = &host {
        assert_eq!(Host::parse(&host.to_string()).as_ref(), Ok(host));
        assert!(host.to_string().bytes().all(|byte| byte.is_ascii_graphic() && !byte.is_ascii_uppercase()));
    }
    if let Ok(pattern) = HostPattern::parse(second) {
        assert_eq!(HostPattern::parse(&pattern.to_string()).as_ref(), Ok(&pattern));
        if let Ok(host) = host {
            assert_eq!(pattern.matches(&host), pattern.overlaps(&HostPattern::Exactly(host)));
        }
    }
    let _ = HostPattern::parse_with_port(text);
});
