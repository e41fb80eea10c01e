//! Any query around a parameter: either refused and unchanged, or the secret is there and no other byte differs.

#![no_main]

use cofferdam_egress::scheme::{self, Found};
use cofferdam_policy::provider::Scheme;
use cofferdam_secrets::Secret;
use http::Request;
use libfuzzer_sys::fuzz_target;
use std::sync::LazyLock;

const TOKEN: &str = "cfd_0123456789abcdefghijABCDEFGHIJ0123456789";
const REAL: &str = "sk-real/value+and more";
static SECRET: LazyLock<Secret> =
    LazyLock::new(|| Secret::take(REAL.as_bytes().to_vec().into()).expect("a fine secret"));

fuzz_target!(|input: (String, String, bool)| {
    let (before, after, spelt_out) = input;
    let name = if spelt_out { "k%65y" } else { "key" };
    let uri = format!("/p?{before}{name}={TOKEN}{after}");
    let Ok(request) = Request::builder().uri(&uri).body(()) else { return };
    let (mut parts, ()) = request.into_parts();
    let sent = parts.uri.to_string();
    let scheme = Scheme::Query { name: "key".into() };

    match scheme::inject(&mut parts, &scheme, TOKEN.as_bytes(), &SECRET) {
        Err(_) => assert_eq!(parts.uri.to_string(), sent),
        Ok(()) => {
            let Found::At(there) = scheme::find(&parts, &scheme) else { panic!("the place is gone") };
            assert_eq!(&*there, REAL.as_bytes());
            // Without the one value, both are the same: whatever was written stands where the token stood.
            let now = parts.uri.to_string();
            let written = "sk-real%2Fvalue%2Band%20more";
            let same = sent.match_indices(TOKEN).any(|(at, _)| {
                now.starts_with(&sent[..at])
                    && now[at..].starts_with(written)
                    && now[at + written.len()..] == sent[at + TOKEN.len()..]
            });
            assert!(same);
        }
    }
});
