//! Real clients: programs in Python and Node with the packages that `cargo xtask test` installs, and those in Java and
//! Go that it builds.

use std::path::{Path, PathBuf};

use crate::{Cofferdam, Home};

/// A Python program with the pinned packages.
///
/// # Panics
///
/// When they are not installed: a test that needs a client does not pass without it.
pub fn python(home: &Home, program: &str) -> Cofferdam {
    let packages = installed("python");
    home.write("client.py", program);
    Cofferdam::new("/usr/bin/env", home)
        .args(["python3", "-B", "client.py"])
        .env("PYTHONPATH", packages)
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
}

/// A Node program (an ES module) with the pinned packages.
///
/// # Panics
///
/// When they are not installed.
pub fn node(home: &Home, program: &str) -> Cofferdam {
    let packages = installed("node").join("node_modules");
    let link = home.path().join("node_modules");
    if !link.exists() {
        std::os::unix::fs::symlink(packages, link).expect("a link");
    }
    home.write("client.mjs", program);
    Cofferdam::new("/usr/bin/env", home)
        .args(["node", "client.mjs"])
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
}

/// Where the packages of one kind (`python`, `node`, `java`, `go`) are.
///
/// # Panics
///
/// When they are not installed.
pub fn installed(kind: &str) -> PathBuf {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.cache/clients").join(kind);
    assert!(
        directory.join("complete").is_file(),
        "the clients that this test needs are not installed: `cargo xtask test` does that first"
    );
    directory.canonicalize().expect("a directory that is there")
}
