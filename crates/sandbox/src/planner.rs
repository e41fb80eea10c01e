//! From a wish and a look at the host to a plan.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::layout;
use crate::plan::{Access, Identity, Kind, Operation, Plan};
use crate::request::{Profile, Request};
use crate::survey::{Found, Survey};

/// Why there is no plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    WorkspaceIsHome(PathBuf),
    WorkspaceHoldsHome(PathBuf),
    WorkspaceIsSystem(PathBuf),
    NotADirectory(PathBuf),
    Missing(PathBuf),
    WriteIsHidden(PathBuf),
}

impl Refusal {
    pub fn hint(&self) -> &'static str {
        match self {
            Self::WorkspaceIsHome(_) | Self::WorkspaceHoldsHome(_) | Self::WorkspaceIsSystem(_) => {
                "change to the directory of a project, or name one with --workspace"
            }
            Self::NotADirectory(_) | Self::Missing(_) => "check the path",
            Self::WriteIsHidden(_) => {
                "hidden paths cannot be given back; take it off the list of hidden paths first"
            }
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (path, words) = match self {
            Self::WorkspaceIsHome(path) => {
                (path, "is the home directory, which holds more than one project's files")
            }
            Self::WorkspaceHoldsHome(path) => (path, "contains the home directory"),
            Self::WorkspaceIsSystem(path) => (path, "belongs to the system"),
            Self::NotADirectory(path) => (path, "is not a directory"),
            Self::Missing(path) => (path, "does not exist"),
            Self::WriteIsHidden(path) => (path, "is hidden and cannot be made writable"),
        };
        write!(f, "{} {words}", crate::text::Text::from(path.as_os_str()))
    }
}

/// Makes the plan. The paths of the request are absolute and free of links; the caller has resolved them.
pub fn plan(request: &Request, identity: Identity, survey: &dyn Survey) -> Result<Plan, Refusal> {
    check(request, survey)?;
    let mut planner = Planner { survey, files: Vec::new(), sweep: Vec::new() };
    planner.system();
    planner.etc(identity, &request.home);
    planner.kernel();
    planner.home(request);
    for path in &request.read {
        planner.bind(path, Access::ReadOnly);
    }
    for path in &request.write {
        planner.bind(path, Access::Writable);
    }
    match &request.layer {
        None => planner.workspace(&request.workspace),
        Some(layer) => planner.layered(&request.workspace, layer),
    }
    for path in &request.hide {
        planner.mask(path);
    }
    planner.files.push(Operation::Seal);
    let mut writable: Vec<PathBuf> = ["/dev", "/run", "/tmp"].map(PathBuf::from).into();
    writable.extend([request.home.clone(), request.workspace.clone()]);
    writable.extend(request.write.iter().cloned());
    Ok(Plan {
        identity,
        network: request.network,
        hostname: "cofferdam".to_owned(),
        files: planner.files,
        writable: writable.into_iter().map(Into::into).collect(),
        sweep: planner.sweep.into_iter().map(Into::into).collect(),
        limits: request.limits,
    })
}

fn check(request: &Request, survey: &dyn Survey) -> Result<(), Refusal> {
    let workspace = &request.workspace;
    match survey.find(workspace) {
        None => return Err(Refusal::Missing(workspace.clone())),
        Some(Found::Directory) => {}
        Some(_) => return Err(Refusal::NotADirectory(workspace.clone())),
    }
    if *workspace == request.home {
        return Err(Refusal::WorkspaceIsHome(workspace.clone()));
    }
    let system =
        layout::SYSTEM.iter().chain(&["/", "/etc", "/proc", "/sys", "/dev", "/run", "/boot", "/var", "/tmp"]);
    if system.clone().any(|system| workspace == Path::new(system))
        || layout::SYSTEM.iter().chain(&["/etc", "/proc", "/sys", "/dev", "/boot"]).any(|system| {
            workspace.starts_with(system)
                && !workspace.starts_with("/opt")
                && !workspace.starts_with("/usr/src")
        })
    {
        return Err(Refusal::WorkspaceIsSystem(workspace.clone()));
    }
    if request.home.starts_with(workspace) {
        return Err(Refusal::WorkspaceHoldsHome(workspace.clone()));
    }
    for path in request.read.iter().chain(&request.write) {
        if survey.find(path).is_none() {
            return Err(Refusal::Missing(path.clone()));
        }
    }
    match request.write.iter().find(|write| request.hide.iter().any(|hidden| write.starts_with(hidden))) {
        Some(path) => Err(Refusal::WriteIsHidden(path.clone())),
        None => Ok(()),
    }
}

struct Planner<'a> {
    survey: &'a dyn Survey,
    files: Vec<Operation>,
    sweep: Vec<PathBuf>,
}

impl Planner<'_> {
    fn bind(&mut self, path: &Path, access: Access) {
        self.files.push(Operation::Bind { path: path.into(), from: path.into(), access });
    }

    fn file(&mut self, path: &str, contents: impl Into<String>) {
        self.files.push(Operation::File { path: path.into(), contents: contents.into() });
    }

    fn private(&mut self, path: impl AsRef<Path>, bytes: u64) {
        self.files.push(Operation::Private { path: path.as_ref().into(), bytes });
    }

    /// Shows a thing of the host read-only, or the same link; nothing where there is nothing.
    fn show(&mut self, path: &Path) {
        match self.survey.find(path) {
            Some(Found::Link(to)) => self.files.push(Operation::Link { path: path.into(), to: to.into() }),
            Some(Found::Directory | Found::File) => self.bind(path, Access::ReadOnly),
            None => {}
        }
    }

    /// The same for what belongs to the system.
    fn show_system(&mut self, path: &Path) {
        let kind = match self.survey.find(path) {
            Some(Found::Link(to)) => {
                return self.files.push(Operation::Link { path: path.into(), to: to.into() });
            }
            Some(Found::Directory) => Kind::Directory,
            Some(Found::File) => Kind::File,
            None => return,
        };
        self.files.push(Operation::System { path: path.into(), kind });
    }

    fn mask(&mut self, path: &Path) {
        if matches!(self.survey.find(path), Some(Found::Directory | Found::File)) && self.visible(path) {
            self.files.push(Operation::Mask { path: path.into() });
        }
    }

    /// Whether the tree so far shows this path of the host.
    fn visible(&self, path: &Path) -> bool {
        self.files.iter().rev().find_map(|operation| match operation {
            Operation::Bind { path: shown, .. }
            | Operation::System { path: shown, .. }
            | Operation::Layered { path: shown, .. }
                if path.starts_with(shown.as_path()) =>
            {
                Some(true)
            }
            Operation::Private { path: over, .. } if path.starts_with(over.as_path()) => Some(false),
            _ => None,
        }) == Some(true)
    }

    fn system(&mut self) {
        for path in layout::SYSTEM {
            self.show_system(Path::new(path));
        }
    }

    fn etc(&mut self, identity: Identity, home: &Path) {
        for name in layout::ETC {
            self.show_system(&Path::new("/etc").join(name));
        }
        let Identity { user, group } = identity;
        let name = if user == 0 { "root" } else { "user" };
        let home = crate::text::Text::from(home);
        self.file(
            "/etc/passwd",
            format!("{name}:x:{user}:{group}::{home}:/bin/sh\nnobody:x:65534:65534::/:/bin/false\n"),
        );
        self.file("/etc/group", format!("{name}:x:{group}:\nnogroup:x:65534:\n"));
    }

    fn kernel(&mut self) {
        for path in layout::SYS {
            self.show_system(Path::new(path));
        }
    }

    fn home(&mut self, request: &Request) {
        self.private(&request.home, layout::SCRATCH);
        if request.profile == Profile::Strict {
            return;
        }
        for name in layout::TOOLS {
            self.show(&request.home.join(name));
        }
        for name in layout::TOOL_CREDENTIALS {
            self.mask(&request.home.join(name));
        }
    }

    fn hide_secrets(&mut self, workspace: &Path) {
        for name in self.survey.names(workspace) {
            if layout::is_secret(&name) {
                self.mask(&workspace.join(name));
            }
        }
    }

    /// Nothing in the workspace needs protection from writing: it all goes to the layer, and names that the host
    /// runs are kept back when the layer is applied.
    fn layered(&mut self, workspace: &Path, layer: &Path) {
        self.files.push(Operation::Layered { path: workspace.into(), layer: layer.into() });
        self.hide_secrets(workspace);
    }

    fn workspace(&mut self, workspace: &Path) {
        self.bind(workspace, Access::Writable);
        self.hide_secrets(workspace);
        // A directory that is a mount point cannot be renamed away with what is protected in it.
        let repository = workspace.join(".git");
        match self.survey.find(&repository) {
            Some(Found::Directory) => self.bind(&repository, Access::Writable),
            Some(_) => self.bind(&repository, Access::ReadOnly),
            None => self.sweep.push(repository),
        }
        for name in layout::WORKSPACE_PROTECTED {
            let path = workspace.join(name);
            match self.survey.find(&path) {
                Some(Found::Directory | Found::File) => self.bind(&path, Access::ReadOnly),
                // Mounting over a link would follow it; what it points to is outside or protected by its own name.
                Some(Found::Link(_)) => {}
                None => self.sweep.push(path),
            }
        }
    }
}
