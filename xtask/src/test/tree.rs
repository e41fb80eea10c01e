//! A tree whose tests an ordinary user can run.
//!
//! The place of the binary and of the sources is compiled into a test, so it must be reachable by whoever
//! runs it. A checkout below root's own home is not: then everything is built and run, once, in a copy that
//! is. Changing modes in somebody's checkout was rejected, and so were bind mounts, which a container without
//! the right to mount does not have.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::failure::Failure;
use crate::process::Tool;
use crate::root::Root;
use crate::scratch::Scratch;

/// `nobody`, who exists wherever users are mapped at all; no account is made for a test.
pub const NOBODY: u32 = 65534;

/// The checkout itself, or a copy that lives as long as this value.
#[derive(Debug)]
pub enum Tree<'a> {
    Checkout(&'a Root),
    Copy { root: Root, _scratch: Scratch },
}

impl<'a> Tree<'a> {
    /// The tree to build tests in.
    pub fn for_everyone(checkout: &'a Root) -> Result<Self, Failure> {
        if is_open(checkout) {
            return Ok(Self::Checkout(checkout));
        }
        println!("the checkout is closed to other users: building the tests in a copy");
        let scratch = Scratch::new(Path::new("/var/tmp"), 0o755)?;
        let root = Root::of(scratch.path().join("cofferdam"));
        copy(checkout, &root)?;
        Ok(Self::Copy { root, _scratch: scratch })
    }

    /// A cargo that works in this tree. In the copy, what it builds is readable whatever the umask is, and
    /// stays in the copy whatever the environment says about a target directory.
    pub fn cargo(&self) -> Tool {
        match self {
            Self::Checkout(root) => Tool::cargo().within(root.path()),
            Self::Copy { root, .. } => Tool::new("/bin/sh")
                .args(["-c", "umask 022; exec \"$@\"", "sh"])
                .arg(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
                .env("CARGO_TARGET_DIR", root.join("target"))
                .within(root.path()),
        }
    }
}

/// Whether somebody else can read the sources and run what is built beside this very program. Asked by
/// trying, because modes alone do not tell (access lists, mount options, a closed directory further up).
fn is_open(checkout: &Root) -> bool {
    let can = |flag: &str, path: &Path| Tool::new("test").arg(flag).arg(path).user(NOBODY).succeeds();
    let Ok(this) = std::env::current_exe() else { return false };
    can("-x", &this)
        && can("-r", &checkout.join("Cargo.toml"))
        && can("-r", &checkout.join("xtask/src/main.rs"))
}

fn copy(from: &Root, to: &Root) -> Result<(), Failure> {
    for file in from.files()? {
        let (source, target) = (from.join(&file), to.join(&file));
        let parent = target.parent().unwrap_or(to.path());
        make_open_directories(to.path(), parent)?;
        fs::copy(&source, &target).map_err(|error| Failure::at(&source, error))?;
        let executable =
            fs::metadata(&source).is_ok_and(|metadata| metadata.permissions().mode() & 0o100 != 0);
        open(&target, if executable { 0o755 } else { 0o644 })?;
    }
    Ok(())
}

fn make_open_directories(top: &Path, directory: &Path) -> Result<(), Failure> {
    if directory.is_dir() {
        return Ok(());
    }
    if let Some(parent) = directory.parent().filter(|parent| parent.starts_with(top)) {
        make_open_directories(top, parent)?;
    }
    fs::create_dir(directory).map_err(|error| Failure::at(directory, error))?;
    open(directory, 0o755)
}

fn open(path: &Path, mode: u32) -> Result<(), Failure> {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).map_err(|error| Failure::at(path, error))
}
