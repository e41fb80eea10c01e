//! Files in one piece.

use alloc::vec::Vec;

use super::Errno;
use super::files::Descriptor;

/// All of a file that is not longer than this.
pub fn read_whole(file: &Descriptor, longest: usize) -> Result<Vec<u8>, Errno> {
    let mut all = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(all),
            count => all.extend_from_slice(&buffer[..count]),
        }
        if all.len() > longest {
            return Err(Errno::TOO_LARGE);
        }
    }
}
