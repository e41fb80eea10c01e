use super::*;

#[test]
fn places_below_any_home_are_recognised() {
    for (path, kind) in [
        ("/home/ada/.ssh/id_ed25519", SecretKind::PrivateKey),
        ("/home/ada/.ssh/config", SecretKind::PrivateKey),
        ("/root/.aws/credentials", SecretKind::CloudCredentials),
        ("/backup/2024/home/ada/.netrc", SecretKind::GitCredentials),
        ("/home/ada/.config/gcloud/application_default_credentials.json", SecretKind::CloudCredentials),
        ("/home/ada/.docker/config.json", SecretKind::RegistryCredentials),
        ("/home/ada/.hermes/auth.json", SecretKind::AgentState),
        ("/home/ada/.local/share/keyrings/login.keyring", SecretKind::Keyring),
        ("/home/ada/.bash_history", SecretKind::ShellHistory),
        ("/home/ada/.config/cofferdam/config.toml", SecretKind::OwnState),
        ("/home/ada/.Config/Cofferdam/config.toml", SecretKind::OwnState),
        ("/etc/shadow-", SecretKind::SystemSecret),
        ("/etc/ssh/ssh_host_rsa_key", SecretKind::PrivateKey),
        ("/run/secrets/kubernetes.io/token", SecretKind::SystemSecret),
        ("/work/project/.env", SecretKind::Dotenv),
        ("/work/project/.ENV.Production", SecretKind::Dotenv),
        ("/work/project/deploy/my-service-account-2.json", SecretKind::CloudCredentials),
    ] {
        assert_eq!(kind_of_path(Path::new(path)), Some(kind), "{path}");
    }
}

#[test]
fn ordinary_files_are_not_secret() {
    for path in [
        "/home/ada/project/src/main.rs",
        "/home/ada/.docker/daemon.json",
        "/home/ada/.sshd/readme",
        "/home/ada/ssh/id_rsa.pub",
        "/work/project/.env.example",
        "/work/project/.env.sample.local",
        "/work/project/environment",
        "/work/project/x.env.rs",
        "/etc/passwd",
        "/etc/ssh/ssh_host_rsa_key.pub",
        "/work/etc/shadow",
        "/work/project/server.pem",
        "/work/project/package.json",
        "/",
    ] {
        assert_eq!(kind_of_path(Path::new(path)), None, "{path}");
    }
}

#[test]
fn a_key_is_known_by_its_first_line() {
    for (beginning, kind) in [
        ("-----BEGIN PRIVATE KEY-----\nMII", Some(SecretKind::PrivateKey)),
        ("\u{feff}\n  -----BEGIN OPENSSH PRIVATE KEY-----\r\nb3B", Some(SecretKind::PrivateKey)),
        ("-----BEGIN PGP PRIVATE KEY BLOCK-----\n", Some(SecretKind::PrivateKey)),
        ("PuTTY-User-Key-File-3: ssh-ed25519", Some(SecretKind::PrivateKey)),
        ("{ \"private_key\": \"x\", \"type\": \"service_account\" }", Some(SecretKind::CloudCredentials)),
        ("-----BEGIN CERTIFICATE-----\n", None),
        ("-----BEGIN PUBLIC KEY-----\n", None),
        ("// a key begins with -----BEGIN PRIVATE KEY-----\n", None),
        ("{ \"type\": \"service_account\" }", None),
        ("", None),
    ] {
        assert_eq!(kind_of_content(beginning.as_bytes()), kind, "{beginning}");
    }
}

#[test]
fn patterns_match_as_a_person_reads_them() {
    for (pattern, name, expected) in [
        ("a", "A", true),
        ("a*", "a", true),
        ("*a", "ba", true),
        ("a*a", "a", false),
        ("a*b*c", "axxbyyc", true),
        ("a*b*c", "axxcyyb", false),
        ("*b*", "abc", true),
        ("*ab*ab", "ab", false),
        ("*.pem", "pem", false),
    ] {
        assert_eq!(matches(pattern, &folded(OsStr::new(name))), expected, "{pattern} {name}");
    }
}

/// Every pattern of up to four letters against every name of up to four, compared with the plain definition.
#[test]
fn patterns_match_what_their_definition_says() {
    fn defined(pattern: &[u8], name: &[u8]) -> bool {
        match pattern {
            [] => name.is_empty(),
            [b'*', rest @ ..] => (0..=name.len()).any(|skipped| defined(rest, &name[skipped..])),
            [letter, rest @ ..] => name.first() == Some(letter) && defined(rest, &name[1..]),
        }
    }
    fn words(letters: &str, length: usize) -> Vec<String> {
        let shorter = if length == 0 { return vec![String::new()] } else { words(letters, length - 1) };
        let longer =
            shorter.iter().flat_map(|word| letters.chars().map(move |letter| format!("{word}{letter}")));
        shorter.iter().cloned().chain(longer).collect()
    }
    let names = words("ab", 4);
    for pattern in words("ab*", 4) {
        for name in &names {
            let expected = defined(pattern.as_bytes(), name.as_bytes());
            assert_eq!(matches(&pattern, name.as_bytes()), expected, "{pattern} {name}");
        }
    }
}

#[test]
fn a_place_is_found_at_its_own_name_and_not_below() {
    for (directory, name, expected) in [
        ("", ".ssh", true),
        ("backup/ada", ".SSH", true),
        (".ssh", "config", false),
        (".docker", "config.json", true),
        ("a/.docker", "daemon.json", false),
        ("docker", "config.json", false),
        ("", "config.json", false),
        (".local/share", "keyrings", true),
        ("share", "keyrings", false),
    ] {
        assert_eq!(is_home_place(Path::new(directory), OsStr::new(name)), expected, "{directory}/{name}");
    }
    // Going down a tree, the first place on the way is where the whole path is recognised.
    for secret in HOME {
        let (above, last) = secret.path.rsplit_once('/').unwrap_or(("", secret.path));
        assert!(is_home_place(&Path::new("copy").join(above), OsStr::new(last)), "{}", secret.path);
    }
}

#[test]
fn a_name_is_enough_or_worth_a_look_or_nothing() {
    for (name, evidence) in [
        (".env", Some(Evidence::Name)),
        (".Env.local", Some(Evidence::Name)),
        (".env.example", None),
        (".env.example.json", Some(Evidence::Content)),
        ("id_rsa", Some(Evidence::Name)),
        ("id_other", Some(Evidence::Content)),
        ("credentials.json", Some(Evidence::Name)),
        ("package.json", Some(Evidence::Content)),
        ("main.rs", None),
    ] {
        assert_eq!(evidence_of_name(OsStr::new(name)), evidence, "{name}");
    }
}

#[test]
fn moved_base_directories_are_covered_besides_the_usual_ones() {
    let bases = Bases {
        home: "/home/ada".into(),
        config: Some("/cfg".into()),
        data: Some("/home/ada/.local/share".into()),
        ..Bases::default()
    };
    let below = |path| home_entry(path).below(&bases);
    assert_eq!(below(".ssh"), [Path::new("/home/ada/.ssh")]);
    assert_eq!(below(".config/gh"), [Path::new("/home/ada/.config/gh"), Path::new("/cfg/gh")]);
    assert_eq!(below(".local/share/keyrings"), [Path::new("/home/ada/.local/share/keyrings")]);
}

#[test]
fn entries_are_relative_clean_and_there_once() {
    for (place, secret) in HOME.iter().enumerate() {
        let clean =
            secret.path.split('/').all(|part| !matches!(part, "" | "." | "..") && !part.contains('*'));
        assert!(clean, "{}", secret.path);
        assert!(HOME[place + 1..].iter().all(|other| other.path != secret.path), "{} twice", secret.path);
    }
    for secret in NAMES {
        let pattern = secret.pattern;
        assert_eq!(pattern, pattern.to_ascii_lowercase(), "patterns are written in lower case");
        for except in secret.except {
            assert!(matches(pattern, except.as_bytes()), "{except} is no exception of {pattern}");
        }
    }
}

fn home_entry(path: &str) -> HomeSecret {
    *HOME.iter().find(|secret| secret.path == path).expect("an entry of the list")
}
