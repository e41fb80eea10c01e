//! What is asked for, before anything is decided.

use std::path::PathBuf;

use cofferdam_policy::secret_paths::Bases;

use crate::plan::{Isolation, Limits, Network};
use crate::text::Text;

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
    /// Cofferdam's own configuration, state and sockets: hidden whatever else is asked for.
    pub own: Vec<PathBuf>,
    /// The directories that a person has moved out of their usual places in the home.
    pub moved: Bases,
    pub network: Network,
    /// Ports of all hosts that a sealed network takes besides the usual ones.
    pub further_ports: Vec<u16>,
    /// Files of the sandbox's own, in directories that nothing of the host is shown in.
    pub files: Vec<(PathBuf, Text)>,
    /// The one authority that programs inside trust; none: those of the host.
    pub trust: Option<Trust>,
    pub isolation: Isolation,
    pub limits: Limits,
}

impl Request {
    /// What the places of secrets in a home are relative to.
    pub fn bases(&self) -> Bases {
        Bases { home: self.home.clone(), ..self.moved.clone() }
    }
}

/// An authority for certificates, in the forms that programs read.
#[derive(Debug, Clone)]
pub struct Trust {
    pub bundle: Text,
    pub java_store: Text,
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
