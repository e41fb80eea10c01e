//! A command by its name, as a shell would find it.

use alloc::ffi::CString;
use core::ffi::CStr;

use cofferdam_linux_sys::bare::{self, Errno};

use crate::environment::parts;
use crate::failure::Failure;

const USUAL_PATH: &[u8] = b"/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Becomes the command; comes back only with the failure. With a slash in it the name is a path, otherwise the
/// directories of `PATH` are tried in turn.
pub fn replace_by_named(command: &[&CStr], environment: &[&CStr]) -> Failure {
    let Some(name) = command.first() else { return Failure::not_started(c"", Errno::NOT_FOUND) };
    if name.to_bytes().contains(&b'/') {
        return Failure::not_started(name, bare::replace_by(name, command, environment));
    }
    let own = environment.iter().find_map(|word| parts(word.to_bytes()).filter(|(name, _)| *name == b"PATH"));
    let path = own.map_or(USUAL_PATH, |(_, value)| value);
    let mut worst = Errno::NOT_FOUND;
    // An empty part would mean the current directory; nobody means that.
    for directory in path.split(|byte| *byte == b':').filter(|directory| directory.starts_with(b"/")) {
        let Ok(candidate) = CString::new([directory, b"/", name.to_bytes()].concat()) else { continue };
        match bare::replace_by(&candidate, command, environment) {
            Errno::NOT_FOUND => {}
            other => worst = other,
        }
    }
    Failure::not_started(name, worst)
}
