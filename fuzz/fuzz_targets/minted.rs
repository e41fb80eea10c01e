//! What token servers and clients that mint send: no input makes the readers fail.
#![no_main]

use cofferdam_egress::scheme::{jwt, oauth2};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let _ = jwt::key_id(bytes);
    let (first, rest) = bytes.split_first().unwrap_or((&0, &[]));
    let status = if first % 2 == 0 { 200 } else { 400 };
    if let Ok(minted) = oauth2::read_answer(status, rest, std::time::Duration::from_secs(1_794_700_000)) {
        assert!(!minted.token.expose().is_empty());
    }
});
