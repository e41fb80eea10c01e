//! A home directory of its own for every test.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// A throw-away home; gone when it is dropped.
#[derive(Debug)]
pub struct Home {
    directory: TempDir,
}

impl Home {
    #[expect(clippy::new_without_default, reason = "a home on disk is not a default value")]
    pub fn new() -> Self {
        let directory =
            tempfile::Builder::new().prefix("cofferdam-test-").tempdir().expect("a temporary directory");
        Self { directory }
    }

    /// A home outside of `/tmp`, where a sandbox has a directory of its own.
    pub fn outside_tmp() -> Self {
        let directory = tempfile::Builder::new()
            .prefix("cofferdam-test-")
            .tempdir_in("/var/tmp")
            .expect("a directory in /var/tmp");
        Self { directory }
    }

    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Writes a file below the home with the mode that secrets and configuration should have.
    pub fn write(&self, relative: &str, contents: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path().join(relative);
        fs::create_dir_all(path.parent().expect("a file has a parent")).expect("directories of the home");
        fs::write(&path, contents).expect("a file of the home");
        self.chmod(relative, 0o600);
        path
    }

    pub fn chmod(&self, relative: &str, mode: u32) {
        fs::set_permissions(self.path().join(relative), fs::Permissions::from_mode(mode))
            .expect("chmod in the home");
    }

    pub fn read(&self, relative: &str) -> String {
        fs::read_to_string(self.path().join(relative)).expect("a readable file of the home")
    }
}
