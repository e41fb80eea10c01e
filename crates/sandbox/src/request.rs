//! What is asked for, before anything is decided.

use std::path::PathBuf;

use crate::plan::{Limits, Network};

/// A wish for a sandbox. The environment and the command come with each command that is started in it.
#[derive(Debug, Clone)]
pub struct Request {
    pub profile: Profile,
    pub workspace: PathBuf,
    /// The home of the person, at whose place the sandbox has an empty one.
    pub home: PathBuf,
    pub read: Vec<PathBuf>,
    pub write: Vec<PathBuf>,
    pub hide: Vec<PathBuf>,
    /// Where writes to the workspace go, if not to the workspace.
    pub layer: Option<PathBuf>,
    pub network: Network,
    pub limits: Limits,
}

/// How much of the host a sandbox sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Profile {
    /// System and workspace; no tools of the person.
    Strict,
    /// The same with the person's tools, read-only.
    Workspace,
    /// The same with the whole home, read-only, its secrets hidden.
    Home,
}
