//! A parser that gives up in the middle of a text has refused that text, and nothing else happens.
//!
//! Both parsers are other people's, and both read what an attacker writes: an index that is off by one in them must not
//! end the process that asks, nor put its traces in front of a person.

use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

thread_local! {
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

/// What `parse` returns, or `None` where it panics. It must change nothing but what it returns.
pub(crate) fn guarded<T>(parse: impl FnOnce() -> T) -> Option<T> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let others = panic::take_hook();
        panic::set_hook(Box::new(move |panicked| {
            if !QUIET.get() {
                others(panicked);
            }
        }));
    });
    QUIET.set(true);
    let parsed = panic::catch_unwind(AssertUnwindSafe(parse)).ok();
    QUIET.set(false);
    parsed
}
