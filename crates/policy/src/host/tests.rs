use proptest::prelude::*;

use super::*;

fn shown(text: &str) -> String {
    Host::parse(text).map_or_else(|error| format!("{error:?}"), |host| host.to_string())
}

#[test]
fn every_spelling_has_one_canonical_form() {
    for (written, canonical) in [
        ("API.OpenAI.com", "api.openai.com"),
        ("api.openai.com.", "api.openai.com"),
        ("Bücher.example", "xn--bcher-kva.example"),
        ("XN--BCHER-KVA.example", "xn--bcher-kva.example"),
        ("ｅxample。com", "example.com"),
        ("under_score.example", "under_score.example"),
        ("localhost", "localhost"),
        ("192.0.2.1", "192.0.2.1"),
        ("192.0.2.1.", "192.0.2.1"),
        ("::1", "[::1]"),
        ("[2001:DB8::0:1]", "[2001:db8::1]"),
        ("[::ffff:127.0.0.1]", "[::ffff:127.0.0.1]"),
        ("1.2.3.example4", "1.2.3.example4"),
        ("0xcafe.example", "0xcafe.example"),
    ] {
        assert_eq!(shown(written), canonical, "{written}");
    }
}

#[test]
fn what_programs_disagree_about_is_refused() {
    for (written, reason) in [
        ("", "Empty"),
        (".", "Empty"),
        ("a..b", "EmptyLabel"),
        (".a", "EmptyLabel"),
        ("a.b..", "EmptyLabel"),
        ("-a.b", "Hyphen"),
        ("a b", "Character"),
        ("a\0b", "Character"),
        ("a\n", "Character"),
        ("a/b", "Character"),
        ("a%2eb", "Character"),
        ("a\\b", "Character"),
        ("user@a.b", "UserInfo"),
        ("user:pw@a.b", "UserInfo"),
        ("a.b:443", "Port"),
        ("127.1", "AddressSpelling"),
        ("2130706433", "AddressSpelling"),
        ("0x7f000001", "AddressSpelling"),
        ("0x7f.0.0.1", "AddressSpelling"),
        ("0177.0.0.1", "AddressSpelling"),
        ("127.0.0.01", "AddressSpelling"),
        ("127.0.0.0x1", "AddressSpelling"),
        ("1.2.3.4.5", "AddressSpelling"),
        ("256.1.1.1", "AddressSpelling"),
        ("１２７.0.0.1", "AddressSpelling"),
        ("[fe80::1%eth0]", "Zone"),
        ("[1.2.3.4]", "Brackets"),
        ("[::1", "Brackets"),
        ("xn--zzzzzz-.example", "International"),
    ] {
        assert_eq!(shown(written), reason, "{written:?}");
    }
    assert_eq!(shown(&"a".repeat(64)), "LabelTooLong");
    assert_eq!(shown(&["a".repeat(60).as_str(); 5].join(".")), "TooLong");
    assert_eq!(shown(&"é".repeat(1000)), "TooLong");
}

#[test]
fn ports_are_split_off_and_checked() {
    let parse = |text| Host::parse_with_port(text).map(|(host, port)| (host.to_string(), port));
    assert_eq!(parse("a.b:443"), Ok(("a.b".into(), Some(443))));
    assert_eq!(parse("a.b"), Ok(("a.b".into(), None)));
    assert_eq!(parse("[::1]:80"), Ok(("[::1]".into(), Some(80))));
    assert_eq!(parse("::1"), Ok(("[::1]".into(), None)));
    for wrong in ["a.b:0", "a.b:65536", "a.b:", "a.b:+1", "a.b: 1", "[::1]:0", "a.b:99999999999"] {
        assert_eq!(parse(wrong), Err(HostError::Port), "{wrong}");
    }
    assert_eq!(parse("[::1]80"), Err(HostError::Brackets));
}

proptest! {
    #[test]
    fn the_canonical_form_is_its_own_canonical_form(text in "\\PC{0,40}") {
        if let Ok(host) = Host::parse(&text) {
            prop_assert_eq!(Host::parse(&host.to_string()), Ok(host));
        }
    }

    #[test]
    fn case_and_the_dot_of_the_root_change_nothing(name in "[a-z][a-z0-9]{0,8}(\\.[a-z][a-z0-9]{0,8}){0,4}") {
        let plain = Host::parse(&name);
        prop_assert!(plain.is_ok());
        prop_assert_eq!(&Host::parse(&name.to_uppercase()), &plain);
        prop_assert_eq!(&Host::parse(&format!("{name}.")), &plain);
    }
}
