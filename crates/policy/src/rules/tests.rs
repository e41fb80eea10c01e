use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::path::Segment;

fn host(text: &str) -> Host {
    Host::parse(text).unwrap()
}

fn rule(hosts: &[&str], ports: &[u16], methods: &[&str], paths: &[&str]) -> AllowRule {
    AllowRule {
        hosts: hosts.iter().map(|text| HostPattern::parse_with_port(text).unwrap()).collect(),
        ports: ports.into(),
        methods: methods.iter().map(|text| Method::parse(text).unwrap()).collect(),
        paths: paths.iter().map(|text| PathPattern::parse(text).unwrap()).collect(),
    }
}

fn ask(rules: &Rules, at: &str, port: u16, method: &str, path: &str) -> Verdict {
    let path = RequestPath::parse(path).ok();
    rules.check(&Question { host: &host(at), port, method, path: path.as_ref() })
}

#[test]
fn req_e02_without_a_rule_nothing_is_allowed() {
    let rules = Rules::default();
    assert_eq!(ask(&rules, "example.com", 443, "GET", "/"), Verdict::Refused(Refusal::Host));
    assert!(!rules.knows(&host("example.com")));
    assert!(!rules.reaches(&host("example.com"), 443));
}

#[test]
fn a_refusal_names_the_furthest_step() {
    let rules = Rules::compile(&[
        rule(&["github.com", "*.example.com:8443"], &[443], &["GET", "HEAD"], &["/acme/**", "/other"]),
        rule(&["github.com"], &[80], &[], &[]),
    ]);
    let ask = |at, port, method, path| ask(&rules, at, port, method, path);
    assert_eq!(ask("github.com", 443, "GET", "/acme/x"), Verdict::Allowed { rule: 0 });
    assert_eq!(ask("GitHub.com.", 443, "HEAD", "/acme/"), Verdict::Allowed { rule: 0 });
    assert_eq!(ask("github.com", 443, "GET", "/acme"), Verdict::Refused(Refusal::Path));
    assert_eq!(ask("github.com", 443, "GET", "/Acme/x"), Verdict::Refused(Refusal::Path));
    assert_eq!(ask("github.com", 443, "POST", "/acme/x"), Verdict::Refused(Refusal::Method));
    assert_eq!(ask("github.com", 443, "get", "/acme/x"), Verdict::Refused(Refusal::Method));
    assert_eq!(ask("github.com", 22, "GET", "/acme/x"), Verdict::Refused(Refusal::Port));
    assert_eq!(ask("example.com", 8443, "GET", "/other"), Verdict::Refused(Refusal::Host));
    assert_eq!(ask("a.example.com", 8443, "GET", "/other"), Verdict::Allowed { rule: 0 });
    assert_eq!(ask("a.example.com", 443, "GET", "/other"), Verdict::Refused(Refusal::Port));
    assert_eq!(ask("github.com", 80, "DELETE", "/x"), Verdict::Allowed { rule: 1 });
    assert!(rules.reaches(&host("a.example.com"), 8443));
    assert!(!rules.reaches(&host("a.example.com"), 443));
}

#[test]
fn a_path_that_servers_read_differently_passes_only_a_rule_without_paths() {
    let rules = Rules::compile(&[
        rule(&["registry.npmjs.org"], &[443], &[], &[]),
        rule(&["github.com"], &[443], &[], &["/acme/**"]),
    ]);
    assert_eq!(ask(&rules, "registry.npmjs.org", 443, "GET", "/@a%2fb"), Verdict::Allowed { rule: 0 });
    for path in ["/acme/%2e%2e/x", "/acme/../x", "/acme/..%2fx", "/acme/a%2fb"] {
        assert_eq!(ask(&rules, "github.com", 443, "GET", path), Verdict::Refused(Refusal::Path), "{path}");
    }
}

/// What the rules mean, written down without any thought of speed.
fn naive(rules: &[AllowRule], question: &Question<'_>) -> Result<Vec<usize>, Refusal> {
    let mut furthest = Refusal::Host;
    let mut matching = Vec::new();
    for (index, rule) in rules.iter().enumerate() {
        for (pattern, own_port) in &rule.hosts {
            let ports = own_port.map_or(rule.ports.clone(), |port| vec![port]);
            let methods = &rule.methods;
            let step = if !pattern.matches(question.host) {
                Refusal::Host
            } else if !ports.contains(&question.port) {
                Refusal::Port
            } else if !methods.is_empty() && methods.iter().all(|method| method.as_str() != question.method) {
                Refusal::Method
            } else if !rule.paths.is_empty() && !rule.paths.iter().any(|path| path_matches(path, question)) {
                Refusal::Path
            } else {
                matching.push(index);
                continue;
            };
            furthest = furthest.max(step);
        }
    }
    if matching.is_empty() { Err(furthest) } else { Ok(matching) }
}

fn path_matches(pattern: &PathPattern, question: &Question<'_>) -> bool {
    let Some(path) = question.path else { return pattern.is_everything() };
    let segments: Vec<&str> = path.as_str()[1..].split('/').collect();
    segments_match(pattern.segments(), &segments)
}

fn segments_match(pattern: &[Segment], path: &[&str]) -> bool {
    match pattern {
        [] => path.is_empty(),
        [Segment::Deep] => !path.is_empty(),
        [Segment::Deep, rest @ ..] => (0..=path.len()).any(|skip| segments_match(rest, &path[skip..])),
        [first, rest @ ..] => path.split_first().is_some_and(|(segment, tail)| {
            let fits = match first {
                Segment::Glob(pieces) => glob_matches(&pieces.join("*"), segment),
                _ => first.matches(segment),
            };
            fits && segments_match(rest, tail)
        }),
    }
}

fn glob_matches(glob: &str, text: &str) -> bool {
    match glob.chars().next() {
        None => text.is_empty(),
        Some('*') => (0..=text.len()).any(|skip| glob_matches(&glob[1..], &text[skip..])),
        Some(first) => text.strip_prefix(first).is_some_and(|rest| glob_matches(&glob[1..], rest)),
    }
}

fn a_host() -> impl Strategy<Value = String> {
    prop_oneof![8 => "[ab](\\.[ab]){0,3}", 1 => Just("192.0.2.1".to_owned()), 1 => Just("[::1]".to_owned())]
}

fn a_rule() -> impl Strategy<Value = AllowRule> {
    let pattern = prop_oneof![a_host(), "\\*\\.[ab](\\.[ab]){0,2}", "[ab]\\.[ab]:[12]"];
    let segment = prop_oneof![
        4 => "[ab]{1,2}", 2 => Just("*".to_owned()), 2 => "[ab]?\\*[ab]?\\*?".prop_filter("**", |s| !s.contains("**")),
        1 => Just("**".to_owned())
    ];
    let path = (vec(segment, 0..4), prop_oneof![Just(""), Just("/"), Just("/**")])
        .prop_map(|(segments, end)| {
            format!("{}{end}", segments.iter().map(|s| format!("/{s}")).collect::<String>())
        })
        .prop_filter_map("a pattern", |text| PathPattern::parse(&text).ok());
    let method = prop_oneof![Just("GET"), Just("PUT")];
    (vec(pattern, 1..3), vec(1_u16..4, 1..3), vec(method, 0..2), vec(path, 0..3)).prop_map(
        |(hosts, ports, methods, paths)| AllowRule {
            hosts: hosts.iter().map(|text| HostPattern::parse_with_port(text).unwrap()).collect(),
            ports,
            methods: methods.iter().map(|text| Method::parse(text).unwrap()).collect(),
            paths,
        },
    )
}

fn a_path() -> impl Strategy<Value = String> {
    vec("[ab]{0,3}", 1..6).prop_map(|segments| format!("/{}", segments.join("/")))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn compiled_rules_mean_what_the_naive_matcher_says(
        rules in vec(a_rule(), 0..12), at in a_host(), port in 1_u16..4,
        method in prop_oneof![Just("GET"), Just("PUT"), Just("POST")], path in proptest::option::of(a_path()),
    ) {
        let at = host(&at);
        let path = path.as_deref().map(|text| RequestPath::parse(text).unwrap());
        let question = Question { host: &at, port, method, path: path.as_ref() };
        let compiled = Rules::compile(&rules);
        match (compiled.check(&question), naive(&rules, &question)) {
            (Verdict::Allowed { rule }, Ok(matching)) => prop_assert!(matching.contains(&rule)),
            (Verdict::Refused(step), Err(expected)) => prop_assert_eq!(step, expected),
            (compiled, naive) => prop_assert!(false, "{:?} but {:?}", compiled, naive),
        }
        let hosts = || rules.iter().flat_map(|rule| rule.hosts.iter().map(move |host| (rule, host)));
        prop_assert_eq!(compiled.knows(&at), hosts().any(|(_, (pattern, _))| pattern.matches(&at)));
        prop_assert_eq!(compiled.reaches(&at, port), hosts().any(|(rule, (pattern, own))| {
            pattern.matches(&at) && own.map_or(rule.ports.contains(&port), |own| own == port)
        }));
    }

    /// A server that merges double slashes sees a path that the same rule allows.
    #[test]
    fn merging_slashes_does_not_leave_a_rule(rules in vec(a_rule(), 1..4), path in a_path()) {
        let mut merged = path.clone();
        while merged.contains("//") {
            merged = merged.replace("//", "/");
        }
        for rule in rules {
            let allows = |text: &str| {
                let path = RequestPath::parse(text).unwrap();
                rule.paths.iter().any(|pattern| {
                    let segments: Vec<&str> = path.as_str()[1..].split('/').collect();
                    segments_match(pattern.segments(), &segments)
                })
            };
            prop_assert!(!allows(&path) || allows(&merged), "{} {}", path, merged);
        }
    }
}
