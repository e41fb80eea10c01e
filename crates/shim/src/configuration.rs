//! `/etc/cofferdam/shim/NAME`: what is behind the name of a tool.
//!
//! ```text
//! # comments, and one setting a line
//! user = hermes
//! target = /opt/hermes/bin/hermes
//! opt-out = HERMES_KEEP_ROOT
//! umask = 0022
//! ```
//!
//! `user` and `target` must be there. Without `opt-out` nobody stays root. An unknown or repeated setting is a
//! mistake, because the one that was meant would silently be missing.

use alloc::ffi::CString;
use alloc::string::{String, ToString};

use crate::failure::Failure;
use crate::{text, trusted_file};

pub const DIRECTORY: &str = "/etc/cofferdam/shim";
const LONGEST: usize = 4096;
/// What a login would set.
const USUAL_MASK: u32 = 0o022;

#[derive(Debug, PartialEq, Eq)]
pub struct Configuration {
    pub user: String,
    pub target: CString,
    pub opt_out: Option<String>,
    pub mask: u32,
}

impl Configuration {
    pub fn read(name: &str) -> Result<Self, Failure> {
        let bytes = trusted_file::read(DIRECTORY, name, LONGEST)?;
        parse(&bytes).map_err(|mistake| {
            Failure::new(
                &[DIRECTORY, "/", name, ": ", mistake].concat(),
                "it holds lines of user, target, opt-out and umask, each once: user = NAME",
            )
        })
    }
}

fn parse(bytes: &[u8]) -> Result<Configuration, &'static str> {
    let whole = core::str::from_utf8(bytes).map_err(|_| "it is not text")?;
    let (mut user, mut target, mut opt_out, mut mask) = (None, None, None, None);
    for line in whole.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let (key, value) = line.split_once('=').ok_or("a line has no =")?;
        let place = match key.trim() {
            "user" => &mut user,
            "target" => &mut target,
            "opt-out" => &mut opt_out,
            "umask" => &mut mask,
            _ => return Err("it has a setting that is not known"),
        };
        if place.replace(value.trim()).is_some() {
            return Err("it has a setting twice");
        }
    }
    let user = user.filter(|name| !name.is_empty() && !name.contains(':')).ok_or("it names no user")?;
    let target =
        target.filter(|path| path.starts_with('/')).ok_or("it names no target by an absolute path")?;
    if opt_out.is_some_and(|name| text::file_name(name.as_bytes()).is_none()) {
        return Err("its opt-out is not the name of a variable");
    }
    Ok(Configuration {
        user: user.to_string(),
        target: CString::new(target).map_err(|_| "its target holds a zero byte")?,
        opt_out: opt_out.map(str::to_string),
        mask: mask.map_or(Ok(USUAL_MASK), octal)?,
    })
}

fn octal(text: &str) -> Result<u32, &'static str> {
    let digits = !text.is_empty() && text.bytes().all(|byte| (b'0'..=b'7').contains(&byte));
    let mask = digits.then(|| u32::from_str_radix(text, 8).ok()).flatten();
    mask.filter(|mask| *mask <= 0o777).ok_or("its umask is not an octal number up to 0777")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_read_with_their_defaults() {
        let read = parse(b"# the tool\nuser=hermes\n target = /opt/x y \n\n").unwrap();
        let expected = Configuration {
            user: "hermes".to_string(),
            target: c"/opt/x y".into(),
            opt_out: None,
            mask: 0o022,
        };
        assert_eq!(read, expected);
        let read = parse(b"user=a\ntarget=/b\nopt-out=KEEP\numask=027").unwrap();
        assert_eq!((read.opt_out.as_deref(), read.mask), (Some("KEEP"), 0o027));
    }

    #[test]
    fn what_is_missing_unknown_twice_or_relative_is_a_mistake() {
        for wrong in [
            "",
            "user=a",
            "target=/b",
            "user=a\ntarget=b",
            "user=a\ntarget=./b",
            "user=\ntarget=/b",
            "user=a\ntarget=/b\nuser=c",
            "user=a\ntarget=/b\nUmask=022",
            "user=a\ntarget=/b\numask=0999",
            "user=a\ntarget=/b\numask=7777",
            "user=a\ntarget=/b\numask=",
            "user=a\ntarget=/b\nopt-out=A B",
            "user=a\ntarget=/b\nnonsense",
            "user=a:b\ntarget=/b",
            "user=a\ntarget=/b\0c",
        ] {
            assert!(parse(wrong.as_bytes()).is_err(), "{wrong:?}");
        }
    }
}
