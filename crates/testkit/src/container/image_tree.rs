//! The tree of an image: a static busybox, two users, and what a test adds.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::program::copy_program;

const DIRECTORIES: &[&str] = &[
    "bin",
    "dev",
    "etc",
    "home",
    "opt",
    "proc",
    "root",
    "run",
    "sys",
    "tmp",
    "usr/bin",
    "usr/local/bin",
    "var",
];

const USERS: &str = "root:x:0:0:root:/root:/bin/sh\n\
                     hermes:x:1000:1001:the service:/home/hermes:/bin/sh\n\
                     other:x:1002:1002::/:/bin/sh\n\
                     second-root:x:0:0::/root:/bin/sh\n\
                     far:x:3000000000:3000000000::/:/bin/sh\n";

const GROUPS: &str =
    "root:x:0:\nhermes:x:1001:\naudio:x:29:hermes,other\nvideo:x:44:other\nqueue:x:1500:hermes\n";

/// A directory that becomes an image.
#[derive(Debug)]
pub struct ImageTree {
    directory: TempDir,
}

impl ImageTree {
    /// # Panics
    ///
    /// Without a static busybox: `apt-get install busybox-static`.
    #[expect(clippy::new_without_default, reason = "a tree on disk is not a default value")]
    pub fn new() -> Self {
        let directory = tempfile::Builder::new().prefix("cofferdam-image-").tempdir().expect("a directory");
        let tree = Self { directory };
        fs::set_permissions(tree.path(), fs::Permissions::from_mode(0o755)).expect("a mode");
        for name in DIRECTORIES {
            fs::create_dir_all(tree.path().join(name)).expect("a directory of the image");
        }
        tree.chmod("tmp", 0o1777);
        tree.add_busybox();
        tree.write("etc/passwd", USERS, 0o644);
        tree.write("etc/group", GROUPS, 0o644);
        tree.write("etc/hosts", "127.0.0.1 localhost\n", 0o644);
        fs::create_dir(tree.path().join("home/hermes")).expect("a home");
        if super::can_have_containers() {
            chown(tree.path().join("home/hermes"), Some(1000), Some(1001)).expect("its owner");
        }
        tree
    }

    #[expect(clippy::disallowed_methods, reason = "the tests' way to start a program of the machine")]
    fn add_busybox(&self) {
        let busybox =
            ["/bin/busybox", "/usr/bin/busybox"].into_iter().map(Path::new).find(|path| path.is_file());
        let busybox = busybox.expect("a busybox; apt-get install busybox-static");
        copy_program(busybox, &self.path().join("bin/busybox"));
        let applets = Command::new(busybox).arg("--list").output().expect("busybox runs").stdout;
        for applet in String::from_utf8_lossy(&applets).lines().filter(|applet| *applet != "busybox") {
            symlink("busybox", self.path().join("bin").join(applet)).expect("a link");
        }
    }

    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    pub fn write(&self, relative: &str, contents: impl AsRef<[u8]>, mode: u32) -> PathBuf {
        let path = self.path().join(relative);
        fs::create_dir_all(path.parent().expect("a file has a parent")).expect("directories of the image");
        fs::write(&path, contents).expect("a file of the image");
        self.chmod(relative, mode);
        path
    }

    /// A file of the machine's, with its mode.
    pub fn copy(&self, from: &Path, relative: &str) {
        let path = self.path().join(relative);
        fs::create_dir_all(path.parent().expect("a file has a parent")).expect("directories of the image");
        copy_program(from, &path);
    }

    pub fn link(&self, relative: &str, to: &str) {
        symlink(to, self.path().join(relative)).expect("a link of the image");
    }

    pub fn chmod(&self, relative: &str, mode: u32) {
        fs::set_permissions(self.path().join(relative), fs::Permissions::from_mode(mode)).expect("a mode");
    }

    pub fn chown(&self, relative: &str, user: u32) {
        chown(self.path().join(relative), Some(user), Some(user)).expect("an owner");
    }
}
