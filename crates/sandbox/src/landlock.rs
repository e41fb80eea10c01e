//! The second wall around files: even if a mount were wrong, only what is named here can be written to.

use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, CompatLevel, Compatible, PathBeneath, Ruleset, RulesetAttr, RulesetCreated,
    RulesetCreatedAttr, RulesetError, RulesetStatus, Scope,
};
use rustix::fs::{CWD, FileType, Mode, OFlags};

use crate::text::Text;

/// The newest interface whose rights this code has thought about.
const INTERFACE: ABI = ABI::V6;

/// How much of it the kernel enforces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Enforcement {
    Full,
    Part,
    None,
}

/// What may be done below a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Right {
    /// Its names can be read, and nothing else.
    List,
    Read,
    Write,
    /// As to write, and a device can be asked for more than bytes.
    Device,
}

/// Rules that hold for nobody yet.
#[derive(Debug)]
pub struct Ready(RulesetCreated);

/// Restricts this process, and whatever it starts, for good: all can be read, and below these paths written.
pub fn restrict(writable: &[Text]) -> io::Result<Enforcement> {
    get_ready(writable)?.enforce()
}

/// The same, but for the last step.
pub fn get_ready(writable: &[Text]) -> io::Result<Ready> {
    let mut rules = vec![rule(Path::new("/"), Right::Read)?];
    for path in writable {
        let right = if path.as_path().starts_with("/dev") { Right::Device } else { Right::Write };
        rules.push(rule(path.as_path(), right)?);
    }
    ready(rules)
}

/// The same for a process that sees the whole host: nothing but this can be opened. What is gone by now, or cannot be
/// reached, needs no right.
pub fn restrict_to(grants: &[(PathBuf, Right)]) -> io::Result<Enforcement> {
    let gone = |error: &io::Error| {
        matches!(
            error.kind(),
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory | io::ErrorKind::PermissionDenied
        )
    };
    let rules = grants.iter().map(|(path, right)| rule(path, *right));
    ready(rules.filter(|rule| !rule.as_ref().is_err_and(gone)).collect::<io::Result<_>>()?)?.enforce()
}

type Rule = PathBeneath<OwnedFd>;

fn rule(path: &Path, right: Right) -> io::Result<Rule> {
    let descriptor = open(path)?;
    let mut access = match right {
        Right::List => AccessFs::ReadDir.into(),
        Right::Read => AccessFs::from_read(INTERFACE),
        Right::Write => AccessFs::from_all(INTERFACE) & !AccessFs::IoctlDev,
        Right::Device => AccessFs::from_all(INTERFACE),
    };
    if FileType::from_raw_mode(rustix::fs::fstat(&descriptor)?.st_mode) != FileType::Directory {
        access &= AccessFs::from_file(INTERFACE);
    }
    Ok(PathBeneath::new(descriptor, access))
}

impl Ready {
    /// From here on they hold for this process, and for whatever it starts.
    pub fn enforce(self) -> io::Result<Enforcement> {
        let status = self.0.restrict_self().map_err(|error| io::Error::other(error.to_string()))?;
        Ok(match status.ruleset {
            RulesetStatus::FullyEnforced if status.no_new_privs => Enforcement::Full,
            RulesetStatus::FullyEnforced | RulesetStatus::PartiallyEnforced => Enforcement::Part,
            RulesetStatus::NotEnforced => Enforcement::None,
        })
    }
}

fn ready(rules: Vec<Rule>) -> io::Result<Ready> {
    ruleset(rules).map(Ready).map_err(|error| io::Error::other(error.to_string()))
}

fn ruleset(rules: Vec<Rule>) -> Result<RulesetCreated, RulesetError> {
    // What an older kernel lacks is left out here, and shows in the status, which decides.
    let ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(INTERFACE))?
        .scope(Scope::from_all(INTERFACE))?
        .create()?;
    ruleset.add_rules(rules.into_iter().map(Ok::<_, RulesetError>))
}

fn open(path: &Path) -> io::Result<OwnedFd> {
    Ok(rustix::fs::openat(CWD, path, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?)
}
