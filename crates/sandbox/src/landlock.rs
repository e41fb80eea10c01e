//! The second wall around files: even if a mount were wrong, only what is named here can be written to.

use std::io;

use landlock::{
    ABI, Access, AccessFs, CompatLevel, Compatible, PathBeneath, RestrictionStatus, Ruleset, RulesetAttr,
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

/// Restricts this process, and whatever it starts, for good.
pub fn restrict(writable: &[Text]) -> io::Result<Enforcement> {
    let mut rules = vec![PathBeneath::new(open(&"/".into())?, AccessFs::from_read(INTERFACE))];
    for path in writable {
        let descriptor = open(path)?;
        let mut access = AccessFs::from_all(INTERFACE);
        if !path.as_path().starts_with("/dev") {
            access &= !AccessFs::IoctlDev;
        }
        if FileType::from_raw_mode(rustix::fs::fstat(&descriptor)?.st_mode) != FileType::Directory {
            access &= AccessFs::from_file(INTERFACE);
        }
        rules.push(PathBeneath::new(descriptor, access));
    }
    let status = apply(rules).map_err(|error| io::Error::other(error.to_string()))?;
    Ok(match status.ruleset {
        RulesetStatus::FullyEnforced if status.no_new_privs => Enforcement::Full,
        RulesetStatus::FullyEnforced | RulesetStatus::PartiallyEnforced => Enforcement::Part,
        RulesetStatus::NotEnforced => Enforcement::None,
    })
}

fn apply(rules: Vec<PathBeneath<std::os::fd::OwnedFd>>) -> Result<RestrictionStatus, RulesetError> {
    // What an older kernel lacks is left out here, and shows in the status, which decides.
    let ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(INTERFACE))?
        .scope(Scope::from_all(INTERFACE))?
        .create()?;
    ruleset.add_rules(rules.into_iter().map(Ok::<_, RulesetError>))?.restrict_self()
}

fn open(path: &Text) -> io::Result<std::os::fd::OwnedFd> {
    Ok(rustix::fs::openat(CWD, path.as_path(), OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?)
}
