//! Names that the host would run and that were not there when the sandbox was made.
//!
//! The kernel can protect a name that exists by mounting over it; for one that does not exist there is nothing to
//! mount over, and putting an empty file there would leave litter in people's projects. So such a name can be made
//! inside, and is set aside under another one, where nothing runs it, before the sandbox is gone.

use std::ffi::OsString;
use std::path::Path;

use rustix::fs::{CWD, RenameFlags};

use crate::text::Text;

/// Renames what has appeared under these names and gives the new names. Nothing is lost, and a name that cannot
/// be renamed is given as it is, so that the person hears of it.
pub fn set_aside(names: &[Text]) -> Vec<Text> {
    names.iter().filter(|name| name.as_path().symlink_metadata().is_ok()).map(aside).collect()
}

fn aside(name: &Text) -> Text {
    for number in 0..1000u32 {
        let mut other = OsString::from(name.as_os_str());
        other.push(if number == 0 { ".held".to_owned() } else { format!(".held-{number}") });
        let other = Path::new(&other);
        match rustix::fs::renameat_with(CWD, name.as_path(), CWD, other, RenameFlags::NOREPLACE) {
            Ok(()) => return other.into(),
            Err(rustix::io::Errno::EXIST) => {}
            Err(_) => break,
        }
    }
    name.clone()
}
