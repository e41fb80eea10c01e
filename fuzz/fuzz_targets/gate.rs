//! The approval gate on any bytes: a verdict, in bounded time, without a panic.

#![no_main]

use cofferdam_approvals::{Context, judge_bytes};

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let context = Context::new("/home/me/project", "/home/me", "me");
    let _ = judge_bytes(data, &context);
});
