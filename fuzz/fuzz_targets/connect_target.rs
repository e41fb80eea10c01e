//! Heads of `CONNECT`: what is taken for a target has one spelling, and that spelling means the same target.

#![no_main]

use cofferdam_egress::connect;
use cofferdam_egress::target::{Protocol, Target};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (Vec<u8>, Vec<u8>, bool)| {
    let (target, host, raw) = input;
    let head = match raw {
        true => [&target[..], &host].concat(),
        false => [b"CONNECT ", &target[..], b" HTTP/1.1\r\nHost: ", &host, b"\r\n\r\n"].concat(),
    };
    let Ok(found) = connect::target(&head) else { return };
    let text = found.to_string();
    assert_eq!(Target::of_connect(&text, Protocol::Https), Ok(found));
    assert!(text.bytes().all(|byte| byte.is_ascii_graphic() && !b"@/?#%\\".contains(&byte)), "{text}");
});
