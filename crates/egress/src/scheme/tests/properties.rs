//! For every scheme and any surroundings: the secret can be found again, and nothing else has changed.

use proptest::prelude::*;

use super::*;

/// A token, and secrets and neighbours that hold it, begin with it or are its beginning.
fn near(token: &'static str) -> impl Strategy<Value = String> {
    prop_oneof![
        Just(token.to_owned()),
        Just(token[..token.len() - 1].to_owned()),
        Just(format!("{token}x")),
        Just(format!("x{token}")),
        Just(format!("{token}{token}")),
        "[!-~]{8,40}",
    ]
}

/// Visible characters that need no escape in any of the places.
fn plain() -> impl Strategy<Value = String> {
    prop_oneof![near(TOKEN), "[A-Za-z0-9._~-]{8,40}"]
        .prop_map(|text| text.chars().filter(|c| c.is_ascii_alphanumeric() || "._~-".contains(*c)).collect())
        .prop_filter("long enough for a secret", |text: &String| text.len() >= 8)
}

proptest! {
    #[test]
    fn req_e30_a_query_around_the_token_is_byte_exact(
        before in "([a-z0-9=+;/?~]|%2[0-9a-f]|&){0,20}", after in "(&([a-z0-9=+;/?~]|%2[0-9a-f]|&){0,20})?",
        real in near(TOKEN),
    ) {
        let scheme = Scheme::Query { name: "key!".into() };
        let uri = |value: &str| format!("/p?{before}&key%21={value}{after}");
        let mut parts = head(&uri(TOKEN), &[]);
        inject(&mut parts, &scheme, TOKEN.as_bytes(), &secret(&real)).expect("swapped");
        prop_assert_eq!(find(&parts, &scheme), at(&real));
        let written: String = real.bytes().map(|byte| match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => char::from(byte).to_string(),
            other => format!("%{other:02X}"),
        }).collect();
        prop_assert_eq!(parts.uri.to_string(), uri(&written));
    }

    #[test]
    fn req_e30_a_form_around_the_token_is_byte_exact(before in "[ -~&&[^k]]{0,30}", after in "[ -~&&[^k]]{0,30}", real in plain()) {
        let scheme = Scheme::Form { name: "k".into() };
        let body = |value: &str| format!("{before}&k={value}&{after}");
        let new = inject_into_body(&head("/", &[]), body(TOKEN).as_bytes(), &scheme, (TOKEN.as_bytes(), &secret(&real)));
        let new = new.expect("swapped");
        prop_assert_eq!(String::from_utf8_lossy(&new), body(&real));
        prop_assert_eq!(find_in_body(&head("/", &[]), &new, &scheme), at(&real));
    }

    #[test]
    fn req_e30_a_document_around_the_token_is_byte_exact(
        keys in prop::collection::vec("[a-j]{1,3}", 0..4), number in any::<f64>(), gap in "[ \t\n]{0,3}", real in near(TOKEN),
    ) {
        let scheme = Scheme::Json { pointer: "/k".into() };
        let others: String = keys.iter().map(|key| format!("\"{key}\":{gap}[{:e},\"k\\u00e9\"],", if number.is_finite() { number } else { 1.0 })).collect();
        let body = |value: &str| format!("{gap}{{{others}{gap}\"k\"{gap}:{gap}{value}{gap},\"z\":{{\"k\":\"{TOKEN}\"}}}}{gap}");
        let new = inject_into_body(&head("/", &[]), body(&format!("\"{TOKEN}\"")).as_bytes(), &scheme, (TOKEN.as_bytes(), &secret(&real)));
        let new = new.expect("swapped");
        prop_assert_eq!(String::from_utf8_lossy(&new), body(&serde_json::to_string(&real).expect("JSON")));
        prop_assert_eq!(find_in_body(&head("/", &[]), &new, &scheme), at(&real));
    }

    #[test]
    fn req_e30_cookies_around_the_token_are_byte_exact(before in "([a-j]{1,3}=[!-:<-~]{0,5};? ?){0,3}", after in "(; [a-j]{1,3}=[!-:<-~]{0,5}){0,3}", real in plain()) {
        let scheme = Scheme::Cookie { name: "sid".into() };
        let value = |cookie: &str| format!("{before};sid={cookie}{after}");
        let mut parts = head("/", &[("cookie", &value(TOKEN))]);
        inject(&mut parts, &scheme, TOKEN.as_bytes(), &secret(&real)).expect("swapped");
        prop_assert_eq!(parts.headers["cookie"].to_str().expect("visible"), value(&real));
        prop_assert_eq!(find(&parts, &scheme), at(&real));
    }

    #[test]
    fn req_e29_only_the_very_token_is_swapped(there in near(TOKEN), real in near(TOKEN)) {
        for scheme in [header("authorization", "Bearer {}"), Scheme::GithubApp] {
            let mut parts = head("/", &[("authorization", &format!("Bearer {there}"))]);
            let done = inject(&mut parts, &scheme, TOKEN.as_bytes(), &secret(&real));
            if there == TOKEN {
                prop_assert_eq!(done, Ok(()));
                prop_assert_eq!(find(&parts, &scheme), at(&real));
            } else {
                prop_assert_eq!(done, Err(InjectError::OtherValue));
                prop_assert_eq!(find(&parts, &scheme), at(&there));
            }
        }
    }

    #[test]
    fn req_e07_basic_gives_the_secret_back_and_keeps_the_other_half(other in "[ -9;-~]{0,20}", real in near(TOKEN)) {
        use base64::Engine;
        let encode = |pair: String| format!("Basic {}", base64::engine::general_purpose::STANDARD.encode(pair));
        let scheme = Scheme::Basic { part: BasicPart::Password };
        let mut parts = head("/", &[("authorization", &encode(format!("{other}:{TOKEN}")))]);
        inject(&mut parts, &scheme, TOKEN.as_bytes(), &secret(&real)).expect("swapped");
        prop_assert_eq!(parts.headers["authorization"].to_str().expect("visible"), encode(format!("{other}:{real}")));
        prop_assert_eq!(find(&parts, &scheme), at(&real));
    }

    #[test]
    fn req_e07_a_path_gives_the_secret_back(rest in "[a-z%2/]{0,10}", real in near(TOKEN)) {
        let scheme = Scheme::Path { template: "/bot{}/".into() };
        let mut parts = head(&format!("/bot{TOKEN}/{rest}?q=/bot{TOKEN}/"), &[]);
        inject(&mut parts, &scheme, TOKEN.as_bytes(), &secret(&real)).expect("swapped");
        prop_assert_eq!(find(&parts, &scheme), at(&real));
        let after = format!("/{rest}?q=/bot{TOKEN}/");
        prop_assert!(parts.uri.to_string().ends_with(&after));
    }
}
