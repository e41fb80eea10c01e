//! Headers, Basic, query, path and cookies.

use super::*;

const BEARER: fn() -> Scheme = || header("Authorization", "Bearer {}");

fn injected(parts: &mut Parts, scheme: &Scheme, text: &str) -> Result<(), InjectError> {
    inject(parts, scheme, TOKEN.as_bytes(), &secret(text))
}

#[test]
fn req_e07_a_bearer_token_is_swapped_whatever_the_case_of_its_word() {
    for word in ["Bearer ", "bearer ", "BEARER   "] {
        let mut parts = head("/", &[("authorization", &format!("{word}{TOKEN}"))]);
        assert_eq!(find(&parts, &BEARER()), at(TOKEN));
        injected(&mut parts, &BEARER(), SECRET).expect("swapped");
        assert_eq!(parts.headers["authorization"], format!("{word}{SECRET}").as_str());
        assert!(parts.headers["authorization"].is_sensitive());
    }
}

#[test]
fn req_e07_other_headers_and_templates_are_covered() {
    for (scheme, value, wanted) in [
        (header("x-api-key", "{}"), TOKEN.to_owned(), SECRET.to_owned()),
        (header("X-Goog-Api-Key", "{}"), TOKEN.to_owned(), SECRET.to_owned()),
        (header("PRIVATE-TOKEN", "{}"), TOKEN.to_owned(), SECRET.to_owned()),
        (header("Authorization", "Bot {}"), format!("Bot {TOKEN}"), format!("Bot {SECRET}")),
        (header("Authorization", "{}"), TOKEN.to_owned(), SECRET.to_owned()),
        (
            header("Authorization", "MediaBrowser Token=\"{}\""),
            format!("MediaBrowser Token=\"{TOKEN}\""),
            format!("MediaBrowser Token=\"{SECRET}\""),
        ),
        (Scheme::GithubApp, format!("token {TOKEN}"), format!("token {SECRET}")),
        (Scheme::GithubApp, format!("Bearer {TOKEN}"), format!("Bearer {SECRET}")),
    ] {
        let name = match &scheme {
            Scheme::Header { name, .. } => name.to_string(),
            _ => "authorization".to_owned(),
        };
        let mut parts = head("/", &[(&name, &value), ("x-other", "kept")]);
        assert_eq!(find(&parts, &scheme), at(TOKEN), "{scheme:?}");
        injected(&mut parts, &scheme, SECRET).expect("swapped");
        assert_eq!(parts.headers[&name], wanted.as_str());
        assert_eq!(parts.headers["x-other"], "kept");
    }
}

#[test]
fn req_e29_what_is_not_exactly_the_token_at_its_place_is_not_swapped() {
    let refused = |parts: &mut Parts, scheme: &Scheme| {
        let before = format!("{:?} {:?}", parts.uri, parts.headers);
        let error = injected(parts, scheme, SECRET).expect_err("refused");
        assert_eq!(format!("{:?} {:?}", parts.uri, parts.headers), before);
        error
    };
    let bearer = |value: &str| head("/", &[("authorization", value)]);
    for other in [&TOKEN[..TOKEN.len() - 1], &format!("{TOKEN}x"), &format!("{TOKEN} {TOKEN}"), "other"] {
        let mut parts = bearer(&format!("Bearer {other}"));
        assert_eq!(refused(&mut parts, &BEARER()), InjectError::OtherValue);
    }
    for elsewhere in
        [TOKEN.to_owned(), format!("Basic {TOKEN}"), format!("Bearer{TOKEN}"), "Bearer".to_owned()]
    {
        assert_eq!(refused(&mut bearer(&elsewhere), &BEARER()), InjectError::Absent);
    }
    let value = format!("Bearer {TOKEN}");
    let mut twice = head("/", &[("authorization", &value), ("authorization", &value)]);
    assert_eq!(find(&twice, &BEARER()), Found::Several);
    assert_eq!(refused(&mut twice, &BEARER()), InjectError::Several);
    assert_eq!(refused(&mut head("/", &[]), &BEARER()), InjectError::Absent);
    let json = Scheme::Json { pointer: "/token".into() };
    assert_eq!(refused(&mut head("/", &[]), &json), InjectError::InBody);
}

#[test]
fn a_key_of_several_lines_never_gets_into_a_head() {
    let pem = "-----BEGIN KEY-----\r\nX-Evil: 1\r\n-----END KEY-----";
    let mut parts = head("/", &[("authorization", &format!("Bearer {TOKEN}"))]);
    assert_eq!(injected(&mut parts, &BEARER(), pem), Err(InjectError::Unfit));
    let mut parts = head("/", &[("cookie", &format!("sid={TOKEN}"))]);
    let cookie = Scheme::Cookie { name: "sid".into() };
    assert_eq!(injected(&mut parts, &cookie, pem), Err(InjectError::Unfit));
    assert_eq!(injected(&mut parts, &cookie, "two; cookies=1"), Err(InjectError::Unfit));
}

fn encoded(pair: &str) -> String {
    use base64::Engine;
    format!("Basic {}", base64::engine::general_purpose::STANDARD.encode(pair))
}

#[test]
fn req_e07_one_half_of_basic_is_swapped() {
    for (part, sent, wanted) in [
        (BasicPart::Password, format!("user:{TOKEN}"), format!("user:{SECRET}")),
        (BasicPart::Password, format!(":{TOKEN}"), format!(":{SECRET}")),
        (BasicPart::User, format!("{TOKEN}:x-oauth-basic"), "sk-real-user:x-oauth-basic".to_owned()),
        (BasicPart::User, format!("{TOKEN}:"), "sk-real-user:".to_owned()),
    ] {
        let mut parts = head("/", &[("authorization", &encoded(&sent))]);
        let scheme = Scheme::Basic { part };
        assert_eq!(find(&parts, &scheme), at(TOKEN));
        let real = if part == BasicPart::User { "sk-real-user" } else { SECRET };
        injected(&mut parts, &scheme, real).expect("swapped");
        assert_eq!(parts.headers["authorization"], encoded(&wanted).as_str());
        assert!(parts.headers["authorization"].is_sensitive());
    }
}

#[test]
fn req_e29_malformed_basic_is_refused() {
    let scheme = Scheme::Basic { part: BasicPart::Password };
    for bad in ["Basic dXNlcg==", "Basic dXNlcjpwdzz", "Basic %%%", "Basic dXNlcjpw dw=="] {
        assert_eq!(find(&head("/", &[("authorization", bad)]), &scheme), Found::Malformed, "{bad}");
    }
    assert_eq!(find(&head("/", &[("authorization", "Bearer x")]), &scheme), Found::Absent);
    let user = Scheme::Basic { part: BasicPart::User };
    let mut parts = head("/", &[("authorization", &encoded(&format!("{TOKEN}:pw")))]);
    assert_eq!(injected(&mut parts, &user, "with:colon"), Err(InjectError::Unfit));
}

#[test]
fn req_e30_a_query_keeps_its_order_and_encoding() {
    let scheme = Scheme::Query { name: "key".into() };
    let uri = format!("/v1/%7Emodels//x?b=%2f%2F+%20&key={TOKEN}&&a&z==&%6bEy=other&k=1;2&");
    let mut parts = head(&uri, &[]);
    assert_eq!(find(&parts, &scheme), at(TOKEN));
    injected(&mut parts, &scheme, SECRET).expect("swapped");
    let wanted = uri.replace(TOKEN, "sk-real%2Fvalue%2Bwith%3Dodd%3Achars");
    assert_eq!(parts.uri.to_string(), wanted);
}

#[test]
fn req_e29_a_token_is_found_in_its_decoded_form_and_a_second_parameter_refuses() {
    let scheme = Scheme::Query { name: "key".into() };
    let escaped = TOKEN.replace('_', "%5F").replace('A', "%41");
    let mut parts = head(&format!("https://host/x?key={escaped}#fragment"), &[]);
    assert_eq!(find(&parts, &scheme), at(TOKEN));
    injected(&mut parts, &scheme, "sk-real-value").expect("swapped");
    assert_eq!(parts.uri.to_string(), "https://host/x?key=sk-real-value");
    for twice in ["key=a&key=b", "key=a&k%65y=b", "key=a&key=", "key&key=a"] {
        assert_eq!(find(&head(&format!("/?{twice}"), &[]), &scheme), Found::Several, "{twice}");
    }
    assert_eq!(find(&head("/?key=%4", &[]), &scheme), Found::Malformed);
    assert_eq!(find(&head("/?Key=a&keys=b&key=", &[]), &scheme), Found::Absent);
}

#[test]
fn req_e07_a_token_in_the_path_is_swapped() {
    let scheme = Scheme::Path { template: "/bot{}/".into() };
    let mut parts = head(&format!("https://api.telegram.org/bot{TOKEN}/sendMessage?a=%2f"), &[]);
    assert_eq!(find(&parts, &scheme), at(TOKEN));
    injected(&mut parts, &scheme, "123456:AA-real_value/x").expect("swapped");
    let wanted = "https://api.telegram.org/bot123456:AA-real_value%2Fx/sendMessage?a=%2f";
    assert_eq!(parts.uri.to_string(), wanted);
    for absent in ["/bot", "/botx", "/x/botx/y", "/b%6ftx/y", "/bot/y", "/Botx/y", "/?/botx/y"] {
        assert_eq!(find(&head(absent, &[]), &scheme), Found::Absent, "{absent}");
    }
    assert_eq!(find(&head("/bot%zz/y", &[]), &scheme), Found::Malformed);
    let end = Scheme::Path { template: "/hook/{}".into() };
    assert_eq!(find(&head("/hook/abc", &[]), &end), at("abc"));
    assert_eq!(find(&head("/hook/abc/d", &[]), &end), at("abc"));
    let dotted = Scheme::Path { template: "/a/{}.json".into() };
    assert_eq!(find(&head("/a/b.c.json", &[]), &dotted), at("b.c"));
}

#[test]
fn req_e30_other_cookies_stay_as_they_are() {
    let scheme = Scheme::Cookie { name: "sid".into() };
    for (sent, wanted) in [
        (format!("a=1;  sid={TOKEN} ;b=\"x; y\""), "a=1;  sid=sk-real-cookie ;b=\"x; y\""),
        (format!("sid=\"{TOKEN}\"; xsid=1; sidx=2; flag"), "sid=\"sk-real-cookie\"; xsid=1; sidx=2; flag"),
    ] {
        let mut parts = head("/", &[("cookie", "first=1"), ("cookie", &sent)]);
        assert_eq!(find(&parts, &scheme), at(TOKEN));
        injected(&mut parts, &scheme, "sk-real-cookie").expect("swapped");
        let held: Vec<_> = parts.headers.get_all("cookie").iter().collect();
        assert_eq!(held, ["first=1", wanted]);
    }
    for twice in [&[("cookie", "sid=a; sid=b")][..], &[("cookie", "sid=a"), ("cookie", "sid=a")]] {
        assert_eq!(find(&head("/", twice), &scheme), Found::Several);
    }
}

#[test]
fn a_target_that_would_become_too_long_is_refused() {
    let scheme = Scheme::Query { name: "key".into() };
    let mut parts = head(&format!("/?key={TOKEN}"), &[]);
    assert_eq!(injected(&mut parts, &scheme, &"/".repeat(30_000)), Err(InjectError::TooLong));
}
