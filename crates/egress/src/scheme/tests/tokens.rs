//! Tokens at other places than theirs, and credentials that are not ours.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use cofferdam_policy::provider::{Alphabet, TokenForm};

use super::*;

fn looks(parts: &Parts, declared: Option<&Scheme>) -> bool {
    let forms = [TokenForm::STANDARD];
    let shapes = TokenShapes::new(&forms);
    contains_token(parts, declared, &mut |text| shapes.any(text, |token| token == TOKEN.as_bytes()))
}

#[test]
fn req_e29_a_token_is_found_wherever_it_stands() {
    let percent: String = TOKEN.bytes().map(|byte| format!("%{byte:02x}")).collect();
    let (standard, url_safe) = (STANDARD.encode(format!("user:{TOKEN}")), URL_SAFE_NO_PAD.encode(TOKEN));
    for (uri, name, value) in [
        (format!("/x/{TOKEN}"), "x-a", String::new()),
        (format!("/x?q=a{TOKEN}b"), "x-a", String::new()),
        (format!("/x?q={percent}"), "x-a", String::new()),
        (format!("/x?q={standard}"), "x-a", String::new()),
        ("/".to_owned(), "x-a", TOKEN.to_owned()),
        ("/".to_owned(), "x-a", format!("x{TOKEN}x")),
        ("/".to_owned(), "x-a", format!("cfd_{TOKEN}")),
        ("/".to_owned(), "user-agent", format!("curl {url_safe}")),
        ("/".to_owned(), "x-a", format!("id-{standard}")),
        ("/".to_owned(), "authorization", format!("Basic {standard}")),
        ("/".to_owned(), "cookie", format!("a=b; c={percent}")),
        ("/".to_owned(), "x-json", format!("{{\"a\":\"\\u0063{}\"}}", &TOKEN[1..])),
    ] {
        let parts = head(&uri, &[(name, &value)]);
        assert!(looks(&parts, None), "{uri} {name}: {value}");
    }
    assert!(!looks(&head("/x?q=cfd_short", &[("x-a", &TOKEN[..TOKEN.len() - 1])]), None));
}

#[test]
fn req_e29_the_declared_place_is_left_out_and_a_second_one_is_found() {
    let value = format!("Bearer {TOKEN}");
    let bearer = header("authorization", "Bearer {}");
    let once = head("/", &[("authorization", &value)]);
    assert!(!looks(&once, Some(&bearer)));
    assert!(looks(&once, Some(&header("x-api-key", "{}"))));
    assert!(looks(&head("/", &[("authorization", &value), ("x-a", TOKEN)]), Some(&bearer)));
    assert!(looks(&head(&format!("/?a={TOKEN}"), &[("authorization", &value)]), Some(&bearer)));

    let query = Scheme::Query { name: "key".into() };
    assert!(!looks(&head(&format!("/?key={TOKEN}&a=b"), &[]), Some(&query)));
    assert!(looks(&head(&format!("/?key={TOKEN}&a={TOKEN}"), &[]), Some(&query)));

    let basic = |pair: String| head("/", &[("authorization", &format!("Basic {}", STANDARD.encode(pair)))]);
    let password = Scheme::Basic { part: BasicPart::Password };
    assert!(!looks(&basic(format!("user:{TOKEN}")), Some(&password)));
    assert!(looks(&basic(format!("{TOKEN}:{TOKEN}")), Some(&password)));
    assert!(looks(&basic(format!("{TOKEN}:pw")), Some(&password)));
}

#[test]
fn req_e29_a_token_is_found_in_a_body_beside_its_place() {
    let shapes = TokenShapes::new(&[TokenForm::STANDARD]);
    let looks = |body: &str, declared: Option<&Scheme>| {
        let contains = &mut |text: &[u8]| shapes.any(text, |token| token == TOKEN.as_bytes());
        body_contains_token(&head("/", &[]), body.as_bytes(), declared, contains)
    };
    let json = Scheme::Json { pointer: "/t".into() };
    assert!(!looks(&format!("{{\"t\":\"{TOKEN}\"}}"), Some(&json)));
    assert!(looks(&format!("{{\"t\":\"{TOKEN}\"}}"), None));
    assert!(looks(&format!("{{\"t\":\"{TOKEN}\",\"u\":\"{TOKEN}\"}}"), Some(&json)));
    assert!(looks(&format!("a=b&c={}", TOKEN.replace('_', "%5f")), None));
}

#[test]
fn shapes_without_a_prefix_are_found_in_longer_runs() {
    let form = TokenForm { prefix: "".into(), length: 32, alphabet: Alphabet::Hex };
    let shapes = TokenShapes::new([&form, &form]);
    let token = "0123456789abcdef0123456789abcdee";
    let is = |text: &str| shapes.any(text.as_bytes(), |part| part == token.as_bytes());
    assert!(is(token) && is(&format!("aa{token}ff")) && is(&format!("x{token}")));
    assert!(!is(&token[1..]) && !is("") && !is(&token.to_uppercase()));
}

#[test]
fn req_e29_every_place_of_a_credential_is_shown() {
    let parts = head(
        "https://user:pw@host/x?key=1&api_key=2&access_token=3&page=4&sig=5&token=&pageToken=6&next_token=7&key-marker=8&continuation-token=9&client_secret=10",
        &[
            ("authorization", "Bearer a"),
            ("x-api-key", "b"),
            ("api-key", "c"),
            ("x-goog-api-key", "d"),
            ("private-token", "e"),
            ("x-auth-key", "f"),
            ("cookie", "theme=dark; session=g; __cf_bm=1; csrftoken=h; auth_token=i"),
            ("x-csrf-token", "j"),
            ("idempotency-key", "k"),
            ("x-request-id", "l"),
            ("accept", "m"),
        ],
    );
    let mut shown: Vec<String> = credential_places(&parts)
        .iter()
        .map(|place| {
            let name = match &place.at {
                Where::Header(name) => name.to_string(),
                Where::Query(name) => format!("?{}", String::from_utf8_lossy(name)),
                Where::Cookie(name) => format!("cookie {}", String::from_utf8_lossy(name)),
                Where::UserInfo => "user info".to_owned(),
            };
            format!("{name}={}", String::from_utf8_lossy(&place.value))
        })
        .collect();
    shown.sort();
    assert_eq!(
        shown,
        [
            "?access_token=3",
            "?api_key=2",
            "?client_secret=10",
            "?key=1",
            "?sig=5",
            "api-key=c",
            "authorization=Bearer a",
            "cookie auth_token=i",
            "cookie session=g",
            "private-token=e",
            "user info=user:pw",
            "x-api-key=b",
            "x-auth-key=f",
            "x-goog-api-key=d",
        ]
    );
}

#[test]
fn every_declared_header_and_parameter_of_the_registry_is_a_place() {
    for provider in cofferdam_policy::registry::built_in() {
        for scheme in provider.schemes.iter() {
            let parts = match scheme {
                Scheme::Header { name, .. } => head("/", &[(name, "x")]),
                Scheme::Query { name } => head(&format!("/?{name}=x"), &[]),
                Scheme::Cookie { name } => head("/", &[("cookie", &format!("{name}=x"))]),
                Scheme::Basic { .. } | Scheme::SigV4 => head("/", &[("authorization", "x")]),
                _ => continue,
            };
            let places = credential_places(&parts);
            let own = places.iter().any(|place| place.at.belongs_to(scheme));
            assert!(own, "{}: {scheme:?}", provider.name);
        }
    }
}

#[test]
fn req_e29_a_token_in_a_text_that_goes_by_is_found_in_every_writing() {
    let shapes = TokenShapes::new(&[TokenForm::STANDARD]);
    let found = |text: &str| shapes.any_writing(text.as_bytes(), |token| token == TOKEN.as_bytes());
    let each = |of: fn(u8) -> String| TOKEN.bytes().map(of).collect::<String>();
    let mut written = vec![
        each(|byte| format!("%{byte:02x}")),
        each(|byte| format!("\\u{byte:04X}")),
        each(|byte| format!("\\x{byte:02x}")),
        each(|byte| format!("{byte:02X}")),
        each(|byte| format!("{}\0", char::from(byte))),
        TOKEN.replace('_', "%5F"),
        TOKEN.to_owned(),
    ];
    for before in ["", "a", "ab", "abc"] {
        written.push(STANDARD.encode(format!("{before}{TOKEN}")));
        assert!(found(&URL_SAFE_NO_PAD.encode(format!("{before}{TOKEN}after"))));
    }
    for text in &written {
        assert!(found(text) && found(&format!("x={text}&y")), "{text}");
        assert!(!found(&text[..text.len() - 4]), "{text}");
    }
    assert!(!found(&STANDARD.encode(TOKEN.replace('9', "8"))));
}
