//! Any head: every scheme looks at it without failing, what is found is what is replaced, and a token that is
//! put somewhere is found there.

#![no_main]

use cofferdam_egress::scheme::{self, Found, TokenShapes};
use cofferdam_policy::provider::{BasicPart, Scheme, TokenForm};
use cofferdam_secrets::Secret;
use http::Request;
use libfuzzer_sys::fuzz_target;
use std::sync::LazyLock;

const TOKEN: &str = "cfd_0123456789abcdefghijABCDEFGHIJ0123456789";
static SECRET: LazyLock<Secret> =
    LazyLock::new(|| Secret::take(b"sk-real-value".to_vec().into()).expect("a fine secret"));
static SHAPES: LazyLock<TokenShapes> = LazyLock::new(|| TokenShapes::new(&[TokenForm::STANDARD]));

fn schemes() -> [Scheme; 9] {
    [
        Scheme::Header { name: "authorization".into(), template: "Bearer {}".into() },
        Scheme::Header { name: "x-key".into(), template: "a{}b".into() },
        Scheme::Query { name: "key".into() },
        Scheme::Basic { part: BasicPart::User },
        Scheme::Basic { part: BasicPart::Password },
        Scheme::Path { template: "/bot{}/x".into() },
        Scheme::Cookie { name: "sid".into() },
        Scheme::SigV4,
        Scheme::GithubApp,
    ]
}

fuzz_target!(|input: (String, Vec<(String, String)>, Vec<u8>, u8)| {
    let (target, headers, body, insert) = input;
    let mut builder = Request::builder().uri(&target);
    for (index, (name, value)) in headers.iter().take(16).enumerate() {
        let name = match index % 4 {
            0 => "authorization",
            1 => "cookie",
            2 => "x-key",
            _ => name,
        };
        let value = if insert == index as u8 { format!("{value}{TOKEN}") } else { value.clone() };
        builder = builder.header(name, value);
    }
    let Ok(request) = builder.body(()) else { return };
    let (parts, ()) = request.into_parts();
    let contains = |declared: Option<&Scheme>| {
        let is_ours = |token: &[u8]| token == TOKEN.as_bytes();
        scheme::contains_token(&parts, declared, &mut |text| SHAPES.any(text, is_ours))
    };
    if usize::from(insert) < headers.len().min(16) {
        assert!(contains(None));
    }
    let _ = scheme::credential_places(&parts);

    for scheme in schemes() {
        let Found::At(there) = scheme::find(&parts, &scheme) else { continue };
        let mut swapped = parts.clone();
        let done = scheme::inject(&mut swapped, &scheme, &there, &SECRET);
        if done.is_ok() {
            let Found::At(now) = scheme::find(&swapped, &scheme) else { panic!("the place is gone") };
            assert_eq!(&*now, SECRET.expose());
        }
        let _ = contains(Some(&scheme));
    }
    for scheme in [Scheme::Json { pointer: "/a/0".into() }, Scheme::Form { name: "a".into() }] {
        let Found::At(there) = scheme::find_in_body(&parts, &body, &scheme) else { continue };
        if let Ok(new) = scheme::inject_into_body(&parts, &body, &scheme, (&there, &SECRET)) {
            let Found::At(now) = scheme::find_in_body(&parts, &new, &scheme) else {
                panic!("the place is gone")
            };
            assert_eq!(&*now, SECRET.expose());
        }
    }
});
