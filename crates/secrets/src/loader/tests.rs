use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use cofferdam_policy::provider::{Alphabet, Checked, Kind, Text, TokenForm};

use super::*;

pub(crate) fn provider(secret: Option<SecretSource>) -> Provider {
    Provider {
        name: "acme".into(),
        kind: Kind::Tool,
        hosts: Cow::Owned(vec!["api.acme.example".into()]),
        ports: Cow::Owned(vec![443]),
        variables: Cow::Owned(vec!["ACME_API_KEY".into(), "ACME_TOKEN".into()]),
        base_urls: Cow::Owned(Vec::new()),
        schemes: Cow::Owned(Vec::new()),
        token: TokenForm { prefix: "".into(), length: 32, alphabet: Alphabet::Hex },
        secret,
        checked: Checked::Configured,
    }
}

pub(crate) fn loader(variables: &[(&str, &str)], fallback: EnvironmentFallback) -> Loader {
    let given = |&(name, value): &(&str, &str)| (name.to_owned(), Zeroizing::new(value.as_bytes().to_vec()));
    Loader {
        host: HostVariables::given(variables.iter().map(given)),
        command_environment: ChildEnvironment::empty(),
        base: PathBuf::from("/nowhere"),
        home: None,
        fallback,
        stores: SecretStores::default(),
    }
}

const SET: [(&str, &str); 1] = [("ACME_TOKEN", "canary-environment")];

fn shell(script: &'static str) -> SecretSource {
    let argv: Vec<Text> = ["/bin/sh", "-c", script].map(Text::from).to_vec();
    let second = Duration::from_secs(1);
    SecretSource::Command { argv: Cow::Owned(argv), ttl: second, timeout: 20 * second }
}

fn exposed(loaded: &Loaded) -> String {
    String::from_utf8(loaded.secret.expose().to_vec()).expect("text")
}

#[test]
fn without_a_source_the_first_variable_that_is_set_counts() {
    let two = loader(&[("ACME_API_KEY", ""), SET[0]], EnvironmentFallback::Refuse);
    let loaded = two.load(&provider(None)).expect("loaded");
    assert_eq!(exposed(&loaded), "canary-environment");
    assert_eq!(loaded.reference.origin, Origin::Environment { name: "ACME_TOKEN".to_owned() });
    assert!(loaded.fell_back.is_none());

    let error = loader(&[], EnvironmentFallback::Allow).load(&provider(None)).err().expect("none");
    assert!(matches!(error.cause, SourceError::NoVariableSet { .. }));
    assert!(error.hint().expect("a hint").contains("ACME_API_KEY or ACME_TOKEN"));
}

#[test]
fn req_e10_no_way_of_failing_falls_back_unless_it_is_allowed() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = |name: &str, contents: &str, mode: u32| {
        let path = directory.path().join(name);
        fs::write(&path, contents).expect("a file");
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("chmod");
        Text::from(path.to_str().expect("text").to_owned())
    };
    let ways = [
        SecretSource::Env { name: "ACME_OTHER".into() },
        SecretSource::File { file: "/nowhere/key".into(), key: None },
        SecretSource::File { file: "~/key".into(), key: None },
        SecretSource::File { file: file("open", "canary-file", 0o644), key: None },
        SecretSource::File { file: file("empty", "", 0o600), key: None },
        SecretSource::File { file: file("short", "x", 0o600), key: None },
        SecretSource::File { file: file("json", "{\"b\": \"canary-file\"}", 0o600), key: Some("a".into()) },
        SecretSource::Dotenv { file: file("env", "OTHER=canary-file\n", 0o600), key: "KEY".into() },
        SecretSource::Dotenv { file: file("blank", "KEY=\n", 0o600), key: "KEY".into() },
        SecretSource::Dotenv { file: file("broken", "canary-file\n", 0o600), key: "KEY".into() },
        SecretSource::Command {
            argv: Cow::Owned(vec!["/nowhere/tool".into()]),
            ttl: Duration::ZERO,
            timeout: Duration::from_secs(1),
        },
        shell("exit 1"),
        shell("true"),
        shell("echo canary-command; exit 1"),
    ];
    for source in ways {
        let provider = provider(Some(source.clone()));
        let refused = loader(&SET, EnvironmentFallback::Refuse).load(&provider).err();
        let refused = refused.unwrap_or_else(|| panic!("{source:?} fell back"));
        let told = format!("{refused} {refused:?} {:?}", refused.hint());
        assert!(!told.contains("canary"), "{told}");

        let allowed = loader(&SET, EnvironmentFallback::Allow).load(&provider).ok();
        let allowed = allowed.unwrap_or_else(|| panic!("{source:?} did not fall back"));
        assert_eq!(exposed(&allowed), "canary-environment");
        assert!(allowed.fell_back.is_some());
        assert_eq!(allowed.reference.origin, Origin::Environment { name: "ACME_TOKEN".to_owned() });

        let nothing = loader(&[], EnvironmentFallback::Allow).load(&provider).err().expect("nothing is set");
        assert_eq!(nothing.to_string(), refused.to_string(), "the configured source is what is reported");
    }
}

#[test]
fn a_source_that_works_is_used_even_if_a_variable_is_set() {
    for fallback in [EnvironmentFallback::Refuse, EnvironmentFallback::Allow] {
        let loaded = loader(&SET, fallback).load(&provider(Some(shell("echo canary-command")))).ok();
        let loaded = loaded.expect("loaded");
        assert_eq!(exposed(&loaded), "canary-command");
        assert_eq!(loaded.reference.to_string(), "acme (command /bin/sh)");
    }
}

#[test]
fn paths_start_at_the_configuration_or_at_home() {
    let mut loader = loader(&[], EnvironmentFallback::Refuse);
    loader.home = Some("/home/me".into());
    for (written, path) in [
        ("key", "/nowhere/key"),
        ("~/key", "/home/me/key"),
        ("/etc/key", "/etc/key"),
        ("~other/key", "/nowhere/~other/key"),
    ] {
        let source = SecretSource::File { file: written.into(), key: None };
        let located = loader.locate(&provider(Some(source)));
        assert_eq!(located.origin, Origin::File { file: path.into(), key: None });
    }
}
