//! The real tool, which must not be the shim again.

use core::ffi::CStr;
use core::hint::black_box;

use cofferdam_linux_sys::bare::{self, Kind};

use crate::failure::Failure;

/// Stands in every copy and every version of the program, so that one is known by its bytes: another copy under
/// another name could have this one for its target, and so on without end.
static MARK: [u8; 32] = *b"cofferdam-shim, not for itself\x01\x02";

/// The mark is in the part of a shim that is looked at; a shim is smaller than this.
const LOOKED_AT: usize = 256 << 10;

/// Refuses a target that is not a file, or that is a shim, by whatever links it is reached.
pub fn check(target: &CStr) -> Result<(), Failure> {
    // The loader of the kernel follows links, so they are followed here.
    let found = bare::open_path(target).and_then(|file| file.status());
    let status = found.map_err(|error| Failure::not_started(target, error))?;
    if status.kind != Kind::Regular {
        return Err(Failure::new(
            &["the target ", &target.to_string_lossy(), " is not a file"].concat(),
            "name the real tool by target = in /etc/cofferdam/shim",
        ));
    }
    let own = bare::open_path(c"/proc/self/exe").and_then(|file| file.status());
    let same = own.is_ok_and(|own| own.identity == status.identity);
    if same || (status.size <= LOOKED_AT as u64 && has_mark(target)) {
        return Err(Failure::new(
            &["the target ", &target.to_string_lossy(), " is the shim itself"].concat(),
            "name the real tool, by another path, by target = in /etc/cofferdam/shim",
        ));
    }
    Ok(())
}

/// A tool that cannot be read by the caller, or is a link, is compared by its number alone.
fn has_mark(target: &CStr) -> bool {
    let contents = bare::open_following(target).and_then(|file| bare::read_whole(&file, LOOKED_AT));
    // Without the box the compiler may keep the mark in instructions, and it would stand nowhere.
    let mark = black_box(&MARK);
    contents.is_ok_and(|bytes| bytes.windows(mark.len()).any(|window| window == mark.as_slice()))
}
