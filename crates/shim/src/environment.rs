//! The environment of the user, made from the caller's.

use alloc::borrow::Cow;
use alloc::ffi::CString;
use alloc::vec::Vec;
use core::ffi::CStr;

use crate::accounts::Account;

/// A word of an environment, as its name and its value.
pub fn parts(word: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = word.iter().position(|byte| *byte == b'=')?;
    Some((&word[..at], &word[at + 1..]))
}

/// The caller's variables, with those that say who somebody is replaced. One of them that was not there is added:
/// a tool without `HOME` would look for the caller's, and that is root's.
pub fn of(account: &Account, given: &[&'static CStr]) -> Vec<Cow<'static, CStr>> {
    let own = [
        ("HOME", &account.home),
        ("USER", &account.name),
        ("LOGNAME", &account.name),
        ("SHELL", &account.shell),
    ];
    let replaced = |word: &CStr| {
        parts(word.to_bytes()).is_some_and(|(name, _)| own.iter().any(|(own, _)| own.as_bytes() == name))
    };
    let mut all: Vec<Cow<'static, CStr>> =
        given.iter().filter(|word| !replaced(word)).map(|word| Cow::Borrowed(*word)).collect();
    for (name, value) in own {
        let word = [name.as_bytes(), b"=", value.as_bytes()].concat();
        // A line of an account holds no zero byte: it would not have been text.
        all.extend(CString::new(word).ok().map(Cow::Owned));
    }
    all
}
