//! Forms and JSON.

use super::*;

fn json(pointer: &'static str) -> Scheme {
    Scheme::Json { pointer: pointer.into() }
}

fn injected(body: &str, scheme: &Scheme, text: &str) -> Result<String, InjectError> {
    let new = inject_into_body(&head("/", &[]), body.as_bytes(), scheme, (TOKEN.as_bytes(), &secret(text)))?;
    Ok(String::from_utf8(new.to_vec()).expect("text"))
}

#[test]
fn req_e30_a_json_string_is_replaced_and_nothing_is_written_again() {
    let body = format!(
        "\n{{ \"n\": 1.0e+02, \"auth\" : [0, {{\"t\\u006fken\":\t\"{TOKEN}\" ,\"b\":\"\\/\"}}], \"token\":\"x\", \"n\":2 }}\n"
    );
    let real = "line one\"\\/é!";
    let new = injected(&body, &json("/auth/1/token"), real).expect("swapped");
    assert_eq!(new, body.replace(TOKEN, "line one\\\"\\\\/é!"));
    let pem = "-----BEGIN KEY-----\nabc\n-----END KEY-----";
    let new = injected(&format!("{{\"a/b\":\"{TOKEN}\"}}"), &json("/a~1b"), pem).expect("swapped");
    assert_eq!(new, "{\"a/b\":\"-----BEGIN KEY-----\\nabc\\n-----END KEY-----\"}");
}

#[test]
fn req_e29_two_keys_of_one_name_and_broken_documents_are_refused() {
    let found = |body: &'static str| find_in_body(&head("/", &[]), body.as_bytes(), &json("/a/t"));
    assert_eq!(found(r#"{"a":{"t":"x"}}"#), at("x"));
    assert_eq!(found(r#"{"a":{"t":"x\u0041"}}"#), at("xA"));
    for twice in [
        r#"{"a":{"t":"x","t":"y"}}"#,
        r#"{"a":{"t":"x","\u0074":"y"}}"#,
        r#"{"a":{"t":"x"},"a":{}}"#,
        r#"{"a":{"t":"x"},"\u0061":1}"#,
    ] {
        assert_eq!(found(twice), Found::Several, "{twice}");
    }
    for absent in [r#"{"a":{}}"#, r#"{"a":[]}"#, "{}", "[]", "1", r#"{"a":{"t":null}}"#, r#"{"a":"t"}"#] {
        assert_eq!(found(absent), Found::Absent, "{absent}");
    }
    for bad in ["", "{", r#"{"a":{"t":"x"}} x"#, r#"{"a":{"t":1}}"#, r#"{"a":{"t":"x",}}"#] {
        assert_eq!(found(bad), Found::Malformed, "{bad}");
    }
}

#[test]
fn req_e30_a_form_keeps_its_order_and_encoding() {
    let scheme = Scheme::Form { name: "token".into() };
    let body = format!("a=%2f+b&token={TOKEN}&&c=");
    let new = injected(&body, &scheme, SECRET).expect("swapped");
    assert_eq!(new, body.replace(TOKEN, "sk-real%2Fvalue%2Bwith%3Dodd%3Achars"));
    assert_eq!(injected("token=a&token=b", &scheme, SECRET), Err(InjectError::Several));
    assert_eq!(injected("token=other", &scheme, SECRET), Err(InjectError::OtherValue));
    assert_eq!(injected("xtoken=other", &scheme, SECRET), Err(InjectError::Absent));
}

#[test]
fn req_e30_a_body_beyond_the_cap_or_compressed_is_refused_not_shortened() {
    let scheme = Scheme::Form { name: "token".into() };
    let large = format!("token={TOKEN}&x={}", "y".repeat(BODY_CAP));
    assert_eq!(injected(&large, &scheme, SECRET), Err(InjectError::TooLong));
    let parts = head("/", &[("content-encoding", "gzip")]);
    assert_eq!(find_in_body(&parts, b"token=x", &scheme), Found::Malformed);
    let parts = head("/", &[("content-encoding", "identity")]);
    assert_eq!(find_in_body(&parts, b"token=x", &scheme), at("x"));
}

#[test]
fn req_e30_the_length_is_that_of_the_new_body() {
    let mut parts = head("/", &[("content-length", "3")]);
    announce_length(&mut parts, 12);
    assert_eq!(parts.headers["content-length"], "12");
    let mut parts = head("/", &[("transfer-encoding", "chunked")]);
    announce_length(&mut parts, 12);
    assert!(!parts.headers.contains_key("content-length"));
}
