//! A sandbox where the machine refuses namespaces, as most containers do: one policy, and what of it Landlock and the
//! system call filter can keep.
//!
//! Landlock names what may be opened, and whatever is below it. So a directory with something hidden in it is granted
//! by its parts: it can be listed, what is in it can be used as before, and nothing new can be made in it. What is to
//! be read and not changed inside a writable tree cannot be expressed at all; that is told.

use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use cofferdam_linux_sys::clone;
use rustix::rand::GetRandomFlags;

use crate::landlock::{Enforcement, Right};
use crate::messages::Problem;
use crate::plan::{Access, Network, Operation, Plan};
use crate::report::{LayerName, Report};
use crate::stages::{self, Confined};
use crate::survey::Machine;
use crate::{layout, planner, seccomp};

/// What a command is held to, since there is no tree of its own around it.
#[derive(Debug)]
pub struct Alone {
    network: Network,
    grants: Vec<(PathBuf, Right)>,
    /// Names that the host would run and that the command can change.
    unprotected: usize,
    /// Instead of memory of its own.
    pub scratch: Scratch,
}

impl Alone {
    pub fn new(plan: &Plan) -> Result<Self, Problem> {
        for operation in &plan.files {
            let needed = match operation {
                Operation::Layered { .. } => "a layer for what is written",
                Operation::File { path, .. } if path.as_path().starts_with(layout::OWN) => {
                    "a place for the script that no process can write to"
                }
                _ => continue,
            };
            return Err(problem(needed, &io::Error::from(io::ErrorKind::Unsupported)));
        }
        let scratch = Scratch::make().map_err(|error| problem("a directory for temporary files", &error))?;
        let system = planner::of_the_system(&Machine::look());
        let (shown, unprotected) = shown(system.iter().chain(&plan.files));
        let hidden: Vec<&Path> = plan.files.iter().filter_map(hidden).collect();
        let mut grants = vec![(scratch.0.clone(), Right::Write)];
        for operation in &layout::fixed() {
            match operation {
                Operation::Device { path } => grants.push((path.as_path().to_owned(), Right::Device)),
                Operation::Processes { path, keep } => {
                    let files = keep.iter().map(|name| path.as_path().join(name.as_path()));
                    // Directories there are about the whole machine, and links lead to processes.
                    grants.extend(files.filter(|path| is_file(path)).map(|path| (path, Right::Read)));
                }
                _ => {}
            }
        }
        for (path, right) in shown {
            grant(path, right, &hidden, &mut grants);
        }
        Ok(Self { network: plan.network, grants, unprotected, scratch })
    }

    /// Confines the process of a command for good.
    pub fn confine(&self) -> Result<(Confined, Enforcement), Problem> {
        stages::confine_without_namespaces(self.network, &self.grants)
    }

    /// Lets a process that does nothing else put the walls up, so that the report tells what holds.
    pub fn try_out(&self, why: &str, report: &mut Report) -> Result<(), Problem> {
        let mut tried = Err(problem("trying it out", &io::Error::other("it was not tried")));
        let started = clone::start_sharing(&mut || tried = self.confine().map(|(_, landlock)| landlock));
        started.map_err(|error| problem("trying it out", &error))?;
        let landlock = tried?;
        report.missing(LayerName::Namespaces, format!("user, pid, mount, network, ipc, uts, cgroup: {why}"));
        report.missing(LayerName::Files, self.files());
        match self.network {
            Network::Host => report.missing(LayerName::Network, "the host's network, by request"),
            Network::None | Network::Proxy => report.enforced(LayerName::Network, "no sockets at all"),
        }
        report.enforced(LayerName::Capabilities, "none left");
        match landlock {
            Enforcement::Full => report.enforced(LayerName::Landlock, "files, signals, abstract sockets"),
            Enforcement::Part => {
                report
                    .missing(LayerName::Landlock, "signals and sockets: the kernel's version of it is older");
            }
            Enforcement::None => {
                report.missing(LayerName::Landlock, "the kernel does not know it: the host's files are open");
            }
        }
        report.enforced(LayerName::Seccomp, format!("{} instructions", seccomp::WITHOUT_NAMESPACES.len()));
        Ok(())
    }

    fn files(&self) -> String {
        let mut told = "what is not shown can be seen to exist, and not opened".to_owned();
        if self.unprotected > 0 {
            told += &format!("; {} names that your own tools run can be changed", self.unprotected);
        }
        let divided = self.grants.iter().filter(|(_, right)| *right == Right::List).count();
        if divided > 0 {
            told += &format!("; nothing new can be made in {divided} directories that hold secrets");
        }
        told
    }
}

fn problem(step: &str, error: &io::Error) -> Problem {
    Problem { step: step.to_owned(), error: error.to_string(), errno: error.raw_os_error() }
}

/// The trees of the host that the plan shows, and how many names inside a writable one it would have kept unchanged.
fn shown<'a>(operations: impl Iterator<Item = &'a Operation>) -> (Vec<(&'a Path, Right)>, usize) {
    let mut shown: Vec<(&Path, Right)> = Vec::new();
    let mut unprotected = 0;
    for operation in operations {
        match operation {
            Operation::System { path, .. } => shown.push((path.as_path(), Right::Read)),
            Operation::Bind { from, access: Access::Writable, .. } => {
                shown.push((from.as_path(), Right::Write));
            }
            Operation::Bind { from, access: Access::ReadOnly, .. } => {
                let from = from.as_path();
                if shown.iter().any(|(above, right)| *right == Right::Write && from.starts_with(above)) {
                    unprotected += 1;
                } else {
                    shown.push((from, Right::Read));
                }
            }
            _ => {}
        }
    }
    (shown, unprotected)
}

fn hidden(operation: &Operation) -> Option<&Path> {
    match operation {
        Operation::Mask { path } => Some(path.as_path()),
        _ => None,
    }
}

/// Grants a tree, or the parts of it around what is hidden.
fn grant(path: &Path, right: Right, hidden: &[&Path], grants: &mut Vec<(PathBuf, Right)>) {
    if hidden.contains(&path) {
        return;
    }
    if !hidden.iter().any(|hidden| hidden.starts_with(path)) {
        grants.push((path.to_owned(), right));
        return;
    }
    grants.push((path.to_owned(), Right::List));
    for entry in fs::read_dir(path).into_iter().flatten().flatten() {
        // A link is not opened itself; what it leads to has a right of its own, or none.
        if entry.file_type().is_ok_and(|kind| !kind.is_symlink()) {
            grant(&entry.path(), right, hidden, grants);
        }
    }
}

fn is_file(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|metadata| metadata.is_file())
}

/// A directory for temporary files, gone with the sandbox.
#[derive(Debug)]
pub struct Scratch(PathBuf);

impl Scratch {
    fn make() -> io::Result<Self> {
        let mut random = [0; 8];
        rustix::rand::getrandom(&mut random, GetRandomFlags::empty())?;
        let path = Path::new("/tmp").join(format!("cofferdam-{:016x}", u64::from_ne_bytes(random)));
        fs::DirBuilder::new().mode(0o700).create(&path)?;
        Ok(Self(path))
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // Whoever wrote there is dead. What cannot be removed is the person's own, in a directory of the person's own.
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn req_i05_what_is_hidden_is_granted_around() {
        let tree = tempfile::tempdir().expect("a directory");
        let at = |name: &str| tree.path().join(name);
        fs::create_dir_all(at("src/deep")).expect("a directory");
        for name in [".env", "README", "src/main.rs", "src/deep/key.pem"] {
            fs::write(at(name), "").expect("a file");
        }
        let (secret, key) = (at(".env"), at("src/deep/key.pem"));
        let mut grants = Vec::new();
        grant(tree.path(), Right::Write, &[&secret, &key], &mut grants);
        grants.sort_by(|one, other| one.0.cmp(&other.0));
        let expected = [
            (tree.path().to_owned(), Right::List),
            (at("README"), Right::Write),
            (at("src"), Right::List),
            (at("src/deep"), Right::List),
            (at("src/main.rs"), Right::Write),
        ];
        assert_eq!(grants, expected);
    }

    #[test]
    fn req_i05_a_tree_without_secrets_is_granted_whole() {
        let tree = tempfile::tempdir().expect("a directory");
        let mut grants = Vec::new();
        grant(tree.path(), Right::Write, &[Path::new("/elsewhere/.env")], &mut grants);
        assert_eq!(grants, [(tree.path().to_owned(), Right::Write)]);
    }
}
