//! A small disk for the daemon's state: a memory file system in a mount namespace of the test's own, which only
//! calls of this test enter. No right of the machine's administrator is needed.

use std::fs;
use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::Child;

use cofferdam_testkit::{Cofferdam, Home};

const BYTES: &str = "size=64m,mode=700";

pub struct Disk {
    /// Keeps the namespace until its input ends.
    keeper: Child,
    place: PathBuf,
}

impl Disk {
    pub fn mounted(home: &Home, place: PathBuf) -> Self {
        fs::create_dir_all(&place).expect("a place for the disk");
        let mount = format!("busybox mount -t tmpfs -o {BYTES} tmpfs \"$0\" && echo mounted && exec cat");
        let options = ["--user", "--map-current-user", "--keep-caps", "--mount"];
        let mut keeper = Cofferdam::new("/usr/bin/unshare", home)
            .args(options)
            .args(["/bin/sh", "-c", &mount])
            .arg(&place)
            .spawn();
        let mut line = String::new();
        let output = keeper.stdout.take().expect("a pipe");
        BufReader::new(output).read_line(&mut line).expect("a word of the keeper");
        assert_eq!(line, "mounted\n", "no file system could be mounted in a namespace of our own");
        Self { keeper, place }
    }

    /// A program that sees the disk and works in a directory of the home.
    pub fn call(&self, home: &Home, directory: &str, program: &str) -> Cofferdam {
        Cofferdam::new("/usr/bin/nsenter", home)
            .args(["--preserve-credentials", "--user", "--mount", "--target"])
            .arg(self.keeper.id().to_string())
            .arg(format!("--wd={}", home.path().join(directory).display()))
            .arg("--")
            .arg(program)
    }

    /// A file of the disk, as it is reached from outside.
    pub fn path(&self, relative: &str) -> PathBuf {
        let place = self.place.strip_prefix("/").expect("an absolute path");
        Path::new("/proc").join(self.keeper.id().to_string()).join("root").join(place).join(relative)
    }

    /// Leaves no byte free.
    pub fn fill(&self) {
        let mut ballast = fs::File::create(self.path("ballast")).expect("a file on the disk");
        for size in [1 << 20, 4096, 1] {
            let piece = vec![0; size];
            let full = loop {
                if let Err(error) = ballast.write_all(&piece) {
                    break error;
                }
            };
            assert_eq!(full.kind(), ErrorKind::StorageFull, "{full}");
        }
    }

    pub fn make_room(&self) {
        fs::remove_file(self.path("ballast")).expect("the ballast is there");
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        drop(self.keeper.stdin.take());
        let _ = self.keeper.wait();
    }
}
