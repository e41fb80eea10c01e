//! A directory that is gone when it is no longer needed.

use std::fs::{self, DirBuilder};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::failure::Failure;

#[derive(Debug)]
pub struct Scratch(PathBuf);

impl Scratch {
    /// Makes a new directory; one that is there already, planted or left over, is an error and is not used.
    pub fn new(parent: &Path, mode: u32) -> Result<Self, Failure> {
        let moment = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |elapsed| elapsed.as_nanos());
        let path = parent.join(format!("cofferdam-xtask-{}-{moment:x}", std::process::id()));
        DirBuilder::new().mode(0o700).create(&path).map_err(|error| Failure::at(&path, error))?;
        let scratch = Self(path);
        // The mode of creation is subject to the umask; this one is meant exactly.
        fs::set_permissions(scratch.path(), fs::Permissions::from_mode(mode))
            .map_err(|error| Failure::at(scratch.path(), error))?;
        Ok(scratch)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // Left-overs in a temporary directory are no reason to fail.
        let _ = fs::remove_dir_all(&self.0);
    }
}
