//! What the halves of two-part tokens are derived from: kept, so that named tokens and those of running sandboxes are
//! good at the next daemon too.

use std::io;
use std::path::Path;

use cofferdam_linux_sys::private::{PrivateDir, PrivateError};
use rustix::rand::{GetRandomFlags, getrandom};
use zeroize::Zeroizing;

const FILE: &str = "pairing.key";
const LOCK: &str = "pairing.lock";
const LENGTH: usize = 32;

/// Whoever comes first makes it.
pub fn read_or_make(state: &Path) -> Result<Zeroizing<[u8; LENGTH]>, PrivateError> {
    let directory = PrivateDir::open_or_create(state)?;
    let _lock = directory.lock(LOCK)?;
    let mut key = Zeroizing::new([0; LENGTH]);
    match directory.read(FILE, LENGTH as u64) {
        Ok(bytes) if bytes.len() == LENGTH => {
            key.copy_from_slice(&Zeroizing::new(bytes));
            return Ok(key);
        }
        // One that was cut short paired nothing that is worth keeping.
        Ok(_) => {}
        Err(error) if error.io_kind() == Some(io::ErrorKind::NotFound) => {}
        Err(error) => return Err(error),
    }
    getrandom(&mut *key, GetRandomFlags::empty())
        .map_err(|error| PrivateError::system(state.join(FILE), "make", error))?;
    directory.write_atomically(FILE, &*key)?;
    Ok(key)
}
