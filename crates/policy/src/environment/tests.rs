use super::*;
use crate::provider::{Alphabet, Checked, Kind, Provider, Scheme, TokenForm};
use crate::registry::Registry;
use proptest::prelude::*;
use std::os::unix::ffi::OsStringExt;

fn provider(name: &'static str, variables: &'static [&'static str], base_url: &'static str) -> Provider {
    Provider {
        name: name.into(),
        kind: Kind::Model,
        hosts: vec!["api.example".into()].into(),
        ports: vec![443].into(),
        variables: variables.iter().map(|&variable| variable.into()).collect(),
        base_urls: vec![base_url.into()].into(),
        schemes: vec![Scheme::SigV4].into(),
        token: TokenForm { prefix: "".into(), length: 40, alphabet: Alphabet::Hex },
        secret: None,
        checked: Checked::Configured,
    }
}

fn registry() -> Registry {
    Registry::new(vec![
        provider("acme", &["ACME_LOGIN", "SHARED_LOGIN"], "ACME_BASE_URL"),
        provider("other", &["OTHER_LOGIN", "SHARED_LOGIN"], "OTHER_BASE_URL"),
    ])
}

fn host(variables: &[(&str, &str)]) -> HostEnvironment {
    HostEnvironment::new(variables.iter().map(|&(name, value)| (name.into(), value.into())))
}

fn build_with(variables: &[(&str, &str)], request: &Request<'_>) -> Built {
    build(&host(variables), request, &ProviderVariables::new(&registry()))
}

fn rule_of(built: &Built, name: &str) -> Rule {
    let decision = built.decisions.iter().find(|decision| decision.name == name);
    decision.expect("a decision about every variable").rule.clone()
}

const LOGINS: &[(&str, &str)] = &[
    ("PATH", "/bin"),
    ("HOME", "/home/me"),
    ("ACME_LOGIN", "one"),
    ("OTHER_LOGIN", "two"),
    ("SHARED_LOGIN", "three"),
    ("ACME_BASE_URL", "https://acme.example"),
    ("OTHER_BASE_URL", "https://other.example"),
    ("SSL_CERT_FILE", "/etc/ssl/corp.pem"),
];

fn names(built: &Built) -> Vec<&str> {
    built.environment.iter().map(|(name, _)| name.to_str().unwrap()).collect()
}

#[test]
fn req_s04_each_kind_of_child_has_its_own_rule() {
    let utf8 = ["LANG", "PYTHONUTF8"];
    let check = |trust, credentials, expected: &[&str]| {
        let request = Request { credentials, ..Request::plain(trust) };
        let built = build_with(LOGINS, &request);
        let mut expected: Vec<&str> = expected.iter().chain(&utf8).copied().collect();
        expected.sort_unstable();
        assert_eq!(names(&built), expected, "{trust:?} {credentials:?}");
    };
    let acme = Trust::Executor { provider: "acme" };
    let both = Credentials::Inherit(&["acme", "other"]);
    check(Trust::Helper, Credentials::Strip, &["PATH"]);
    check(Trust::Helper, both, &["PATH"]);
    check(acme, Credentials::Strip, &["PATH", "HOME", "ACME_BASE_URL", "SSL_CERT_FILE"]);
    check(acme, both, &["PATH", "HOME", "ACME_BASE_URL", "SSL_CERT_FILE", "ACME_LOGIN", "SHARED_LOGIN"]);
    check(
        Trust::Tool,
        Credentials::Strip,
        &["PATH", "HOME", "ACME_BASE_URL", "OTHER_BASE_URL", "SSL_CERT_FILE"],
    );
    check(Trust::Unknown, Credentials::Strip, &["PATH", "HOME"]);
    check(Trust::Unknown, Credentials::Inherit(&["other"]), &["PATH", "HOME", "OTHER_LOGIN", "SHARED_LOGIN"]);
    check(Trust::Unknown, Credentials::Inherit(&["nobody"]), &["PATH", "HOME"]);
}

#[test]
fn req_s03_a_wish_comes_first_and_the_wiring_before_it() {
    let wishes = [
        Wish::pass("LD_PRELOAD", Origin::Configuration).unwrap(),
        Wish::set("ACME_LOGIN", "mine", Origin::CommandLine).unwrap(),
        Wish::pass("ABSENT", Origin::CommandLine).unwrap(),
        Wish::set("HTTPS_PROXY", "http://mine", Origin::CommandLine).unwrap(),
    ];
    let fixed = [Fixed::new("HTTPS_PROXY", "http://127.0.0.1:1").unwrap()];
    let request = Request { wishes: &wishes, fixed: &fixed, ..Request::plain(Trust::Unknown) };
    let built = build_with(&[("LD_PRELOAD", "/x.so"), ("ACME_LOGIN", "theirs")], &request);
    assert_eq!(rule_of(&built, "LD_PRELOAD"), Rule::PassedByUser(Origin::Configuration));
    assert_eq!(built.environment.get("ACME_LOGIN"), Some(OsStr::new("mine")));
    assert_eq!(rule_of(&built, "ABSENT"), Rule::WishedButNotSet(Origin::CommandLine));
    assert_eq!(rule_of(&built, "HTTPS_PROXY"), Rule::SetByCofferdam);
    assert_eq!(built.environment.get("HTTPS_PROXY"), Some(OsStr::new("http://127.0.0.1:1")));

    let helper = Request { wishes: &wishes, ..Request::plain(Trust::Helper) };
    assert_eq!(names(&build_with(&[("LD_PRELOAD", "/x.so")], &helper)), ["LANG", "PYTHONUTF8"]);
}

#[test]
fn req_s02_an_allowed_name_does_not_carry_a_credential() {
    let built = build_with(
        &[
            ("TERM", "sk-proj-abcdefghijklmnop1234567890"),
            ("PATH", "/bin:https://me:pw@x/"),
            ("USER", "0123456789abcdef0123456789abcdef"),
            ("ACME_BASE_URL", "https://me:pw@acme.example"),
        ],
        &Request::plain(Trust::Tool),
    );
    assert_eq!(names(&built), ["LANG", "PYTHONUTF8"]);
    assert_eq!(rule_of(&built, "TERM"), Rule::CredentialValue(ValueShape::Key("sk-")));
    assert_eq!(rule_of(&built, "PATH"), Rule::CredentialValue(ValueShape::UrlWithUserinfo));
    assert_eq!(rule_of(&built, "USER"), Rule::UnfitValue(Purpose::Session));
    assert_eq!(rule_of(&built, "ACME_BASE_URL"), Rule::CredentialValue(ValueShape::UrlWithUserinfo));
}

#[test]
fn req_s02_what_is_a_credential_does_not_depend_on_who_asks() {
    let variables = [
        ("TERM", "sk-proj-abcdefghijklmnop1234567890"),
        ("PATH", "/bin:https://me:pw@x/"),
        ("ACME_LOGIN", "hunter2hunter2"),
        ("acme_token", "x"),
        ("EDITOR", "vi"),
        ("LANG", "de_DE.UTF-8"),
    ];
    let host = HostEnvironment::new(variables.map(|(name, value)| (name.into(), value.into())));
    let registry = registry();
    let providers = ProviderVariables::new(&registry);
    let asked: Vec<_> = credentials(&host, &providers).map(|(name, _)| name.to_owned()).collect();
    let built = build(&host, &Request::plain(Trust::Tool), &providers);
    let judged = built.decisions.iter().filter(|decision| decision.credential);
    assert_eq!(asked, judged.map(|decision| decision.name.clone()).collect::<Vec<_>>());
    assert_eq!(asked, ["ACME_LOGIN", "PATH", "TERM", "acme_token"]);
    let values: Vec<_> = credentials(&host, &providers).map(|(_, value)| value).collect();
    assert_eq!(values[0], "hunter2hunter2");
}

#[test]
fn req_s06_utf8_is_assured_and_a_choice_is_kept() {
    let request = Request::plain(Trust::Unknown);
    let chosen = |variables| {
        let built = build_with(variables, &request);
        let get = |name: &str| built.environment.get(name).map(|value| value.to_str().unwrap().to_owned());
        (get("PYTHONUTF8"), get("LANG"), get("LC_ALL"))
    };
    let some = |value: &str| Some(value.to_owned());
    assert_eq!(chosen(&[]), (some("1"), some("C.UTF-8"), None));
    assert_eq!(chosen(&[("PYTHONUTF8", "0"), ("LC_ALL", "POSIX")]), (some("0"), None, some("POSIX")));
    assert_eq!(chosen(&[("LANG", "de_DE@euro")]), (some("1"), some("de_DE@euro"), None));
    assert_eq!(chosen(&[("LANG", "x\ny")]), (some("1"), some("C.UTF-8"), None));
}

#[test]
fn the_first_of_two_entries_counts() {
    let host = HostEnvironment::new([("TERM".into(), "one".into()), ("TERM".into(), "two".into())]);
    let built = build(&host, &Request::plain(Trust::Unknown), &ProviderVariables::new(&registry()));
    assert_eq!(built.environment.get("TERM"), Some(OsStr::new("one")));
}

#[test]
fn names_that_cannot_be_are_refused() {
    let bad = |typed: &[u8]| Wish::parse(OsStr::from_bytes(typed), Origin::CommandLine).err();
    assert_eq!(bad(b""), Some(BadName::Empty));
    assert_eq!(bad(b"=x"), Some(BadName::Empty));
    assert_eq!(bad(b"A\0"), Some(BadName::Nul));
    assert_eq!(bad(b"A=\0"), Some(BadName::Nul));
    assert_eq!(bad(b"A=b=c"), None);
    assert_eq!(Wish::pass("A=b", Origin::CommandLine).err(), Some(BadName::EqualsSign));
    assert_eq!(Fixed::new("", "x").err(), Some(BadName::Empty));
}

#[test]
fn a_variable_that_is_not_set_can_be_explained() {
    let registry = registry();
    let variables = ProviderVariables::new(&registry);
    let explained = |name: &str| {
        explain(OsStr::new(name), &host(&[]), &Request::plain(Trust::Unknown), &variables).decision.rule
    };
    assert_eq!(explained("ACME_LOGIN"), Rule::ProviderCredential("acme".into()));
    assert_eq!(explained("TERM"), Rule::Operational(Purpose::Session));
    assert_eq!(explained("LANG"), Rule::Utf8);
    assert_eq!(explained("OTHER_BASE_URL"), Rule::OtherBaseUrl("other".into()));
    assert_eq!(explained("SSL_CERT_FILE"), Rule::NotForThisChild(Purpose::Roots));
}

fn any_name() -> impl Strategy<Value = OsString> {
    let known = prop::sample::select(vec![
        "PATH",
        "HOME",
        "TERM",
        "LANG",
        "ACME_LOGIN",
        "SHARED_LOGIN",
        "OTHER_BASE_URL",
        "LD_PRELOAD",
        "X_TOKEN",
        "HTTPS_PROXY",
        "SSL_CERT_FILE",
        "DATABASE_URL",
        "EDITOR",
    ]);
    prop_oneof![
        known.prop_map(OsString::from),
        prop::collection::vec(any::<u8>().prop_filter("no NUL", |&byte| byte != 0), 1..12)
            .prop_map(OsString::from_vec),
    ]
}

fn any_value() -> impl Strategy<Value = OsString> {
    prop_oneof![
        prop::collection::vec(1u8..=255, 0..40).prop_map(OsString::from_vec),
        "(/[a-z]{1,8}:?){1,4}".prop_map(OsString::from),
        "[a-z0-9]{1,12}".prop_map(OsString::from),
    ]
}

proptest! {
    /// One decision for each variable; what passed is the host's own value or, of a list of paths, a part of it;
    /// and nothing that names itself a credential passes unasked.
    #[test]
    fn decisions_and_environment_agree(
        variables in prop::collection::btree_map(any_name(), any_value(), 0..20),
        trust in prop::sample::select(vec![
            Trust::Helper, Trust::Tool, Trust::Unknown, Trust::Executor { provider: "acme" },
        ]),
    ) {
        let host = HostEnvironment::new(variables.clone());
        let built = build(&host, &Request::plain(trust), &ProviderVariables::new(&registry()));
        let passed: Vec<&OsStr> = built.decisions.iter()
            .filter(|decision| decision.verdict() == Verdict::Passed)
            .map(|decision| decision.name.as_os_str())
            .collect();
        let given: Vec<&OsStr> = built.environment.iter().map(|(name, _)| name).collect();
        prop_assert_eq!(passed, given);
        for name in variables.keys() {
            prop_assert_eq!(built.decisions.iter().filter(|decision| decision.name == *name).count(), 1);
        }
        for decision in &built.decisions {
            prop_assert!(!(decision.credential && decision.verdict() == Verdict::Passed));
        }
        for (name, value) in built.environment.iter() {
            let Some(original) = variables.get(name) else { continue };
            let all: Vec<&[u8]> = original.as_bytes().split(|&byte| byte == b':').collect();
            let kept = value == original || value.as_bytes().split(|&byte| byte == b':').all(|part| all.contains(&part));
            prop_assert!(kept || name == "LANG");
        }
    }
}
