//! From a wish and a look at the host to a plan.

mod shown;

use std::fmt;
use std::path::{Path, PathBuf};

use cofferdam_policy::secret_paths;

use crate::layout;
use crate::plan::{Access, Identity, Kind, Looked, Operation, Plan};
use crate::request::{Profile, Request};
use crate::search::Bounds;
use crate::survey::{Found, Survey};

const MIB: u64 = 1 << 20;

/// Why there is no plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    WorkspaceIsHome(PathBuf),
    WorkspaceHoldsHome(PathBuf),
    WorkspaceIsSystem(PathBuf),
    NotADirectory(PathBuf),
    Missing(PathBuf),
    /// A path that was asked for is, or is in, one that is always hidden.
    IsHidden(PathBuf),
    /// A path that was asked for is a part of the kernel or the whole system.
    IsSystem(PathBuf),
}

impl Refusal {
    pub fn hint(&self) -> &'static str {
        match self {
            Self::WorkspaceIsHome(_) | Self::WorkspaceHoldsHome(_) | Self::WorkspaceIsSystem(_) => {
                "change to the directory of a project, or name one with --workspace"
            }
            Self::NotADirectory(_) | Self::Missing(_) => "check the path",
            Self::IsHidden(_) => "hidden paths cannot be given back; copy what is needed to another place",
            Self::IsSystem(_) => "name the directory that is needed",
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
            Self::IsHidden(path) => (path, "is hidden and cannot be shown"),
            Self::IsSystem(path) => (path, "belongs to the system and cannot be shown as a whole"),
        };
        write!(f, "{} {words}", crate::text::Text::from(path.as_os_str()))
    }
}

/// Makes the plan. The paths of the request are absolute and free of links; the caller has resolved them.
pub fn plan(request: &Request, identity: Identity, survey: &dyn Survey) -> Result<Plan, Refusal> {
    let bases = request.bases();
    let secrets = secret_paths::HOME.iter().flat_map(|secret| secret.below(&bases)).collect::<Vec<_>>();
    check(request, &secrets, survey)?;
    let mut planner = Planner {
        survey,
        request,
        scratch: scratch(survey),
        files: Vec::new(),
        sweep: Vec::new(),
        looked: Looked::default(),
    };
    planner.etc(identity);
    planner.home();
    for path in &request.read {
        planner.add(path, Access::ReadOnly);
    }
    for path in &request.write {
        planner.add(path, Access::Writable);
    }
    match &request.layer {
        None => planner.workspace(),
        Some(layer) => planner.layered(layer),
    }
    planner.hidden(&secrets);
    planner.files.push(Operation::Seal);
    let mut writable: Vec<PathBuf> = ["/dev", "/run", "/tmp", "/var/tmp"].map(PathBuf::from).into();
    if request.profile != Profile::Home && !is_system(&request.home) {
        writable.push(request.home.clone());
    }
    writable.push(request.workspace.clone());
    writable.extend(request.write.iter().cloned());
    Ok(Plan {
        identity,
        network: request.network,
        further_ports: request.further_ports.clone(),
        isolation: request.isolation,
        hostname: "cofferdam".to_owned(),
        files: planner.files,
        writable: writable.into_iter().map(Into::into).collect(),
        sweep: planner.sweep.into_iter().map(Into::into).collect(),
        looked: planner.looked,
        limits: request.limits,
    })
}

/// What stands below every plan: it depends on nothing but the system, so the first process of a sandbox finds it out
/// and does it while the plan is made. No plan carries it.
pub fn of_the_system(survey: &dyn Survey) -> Vec<Operation> {
    let system = layout::SYSTEM.iter().chain(layout::SYS).filter_map(|path| shown(survey, Path::new(path)));
    let etc = layout::ETC.iter().filter_map(|name| of_etc(survey, name));
    let private = |(path, size): &(&str, layout::Size)| {
        let bytes = match size {
            layout::Size::Scratch => scratch(survey),
            layout::Size::Small => 16 * MIB,
        };
        Operation::Private { path: (*path).into(), bytes }
    };
    system.chain(etc).chain(layout::PRIVATE.iter().map(private)).collect()
}

/// The plan for a reader, with what stands below it written out.
pub fn whole(plan: &Plan, survey: &dyn Survey) -> Plan {
    let below = layout::fixed().into_iter().chain(of_the_system(survey));
    Plan { files: below.chain(plan.files.iter().cloned()).collect(), ..plan.clone() }
}

/// A quarter of the memory, at most: large enough for a build, not the whole machine.
fn scratch(survey: &dyn Survey) -> u64 {
    (survey.memory() / 4).clamp(64 * MIB, 4096 * MIB)
}

fn of_etc(survey: &dyn Survey, name: &str) -> Option<Operation> {
    shown(survey, &Path::new("/etc").join(name))
}

/// Shows what belongs to the system read-only, or the same link; nothing where there is nothing.
fn shown(survey: &dyn Survey, path: &Path) -> Option<Operation> {
    let kind = match survey.find(path)? {
        Found::Link(to) => return Some(Operation::Link { path: path.into(), to: to.into() }),
        Found::Directory => Kind::Directory,
        Found::File => Kind::File,
        Found::Socket => return None,
    };
    Some(Operation::System { path: path.into(), kind })
}

/// Whether a directory is one of the system's own, or above them all.
fn is_system(path: &Path) -> bool {
    const WHOLE: &[&str] = &["/", "/run", "/var", "/tmp", "/var/tmp", "/home"];
    const WITH_ALL_BELOW: &[&str] = &["/etc", "/proc", "/sys", "/dev", "/boot"];
    let system = layout::SYSTEM.iter().chain(WITH_ALL_BELOW);
    WHOLE.iter().chain(system.clone()).any(|system| path == Path::new(system))
        || system
            .filter(|system| **system != "/opt")
            .any(|system| path.starts_with(system) && !path.starts_with("/usr/src"))
}

fn check(request: &Request, secrets: &[PathBuf], survey: &dyn Survey) -> Result<(), Refusal> {
    let workspace = &request.workspace;
    match survey.find(workspace) {
        None => return Err(Refusal::Missing(workspace.clone())),
        Some(Found::Directory) => {}
        Some(_) => return Err(Refusal::NotADirectory(workspace.clone())),
    }
    if is_system(workspace) {
        return Err(Refusal::WorkspaceIsSystem(workspace.clone()));
    }
    if *workspace == request.home {
        return Err(Refusal::WorkspaceIsHome(workspace.clone()));
    }
    if request.home.starts_with(workspace) {
        return Err(Refusal::WorkspaceHoldsHome(workspace.clone()));
    }
    for path in request.read.iter().chain(&request.write) {
        // Parts of the kernel have a form of their own in a sandbox; the whole of the rest would hide it all.
        let kernel = ["/proc", "/sys", "/dev"].iter().any(|kernel| path.starts_with(kernel));
        if kernel || ["/", "/run", "/var"].iter().any(|whole| path == Path::new(whole)) {
            return Err(Refusal::IsSystem(path.clone()));
        }
        if survey.find(path).is_none() {
            return Err(Refusal::Missing(path.clone()));
        }
    }
    let shown = [workspace].into_iter().chain(&request.read).chain(&request.write);
    match shown.into_iter().find(|path| is_hidden(request, secrets, path)) {
        Some(path) => Err(Refusal::IsHidden(path.clone())),
        None => Ok(()),
    }
}

/// Whether a path is in a place that is never shown. `secrets` are those of the home.
fn is_hidden(request: &Request, secrets: &[PathBuf], path: &Path) -> bool {
    request.hide.iter().chain(&request.own).chain(secrets).any(|hidden| path.starts_with(hidden))
        || secret_paths::SYSTEM.iter().any(|secret| path.starts_with(secret.path))
}

struct Planner<'a> {
    survey: &'a dyn Survey,
    request: &'a Request,
    scratch: u64,
    files: Vec<Operation>,
    sweep: Vec<PathBuf>,
    looked: Looked,
}

impl Planner<'_> {
    fn bind(&mut self, path: &Path, access: Access) {
        self.files.push(Operation::Bind { path: path.into(), from: path.into(), access });
    }

    fn file(&mut self, path: &str, contents: impl Into<crate::text::Text>) {
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
            Some(Found::Socket) | None => {}
        }
    }

    fn etc(&mut self, identity: Identity) {
        // A sandbox that trusts one authority sees no other.
        if self.request.trust.is_none() {
            self.files.extend(layout::TRUST.iter().filter_map(|name| of_etc(self.survey, name)));
        }
        for (path, contents) in &self.request.files {
            let (path, contents) = (path.as_path().into(), contents.clone());
            self.files.push(Operation::File { path, contents });
        }
        if let Some(trust) = &self.request.trust {
            for path in layout::BUNDLES {
                self.file(path, trust.bundle.clone());
            }
            self.file(layout::JAVA_STORE, trust.java_store.clone());
        }
        let Identity { user, group } = identity;
        let name = if user == 0 { "root" } else { "user" };
        let home = crate::text::Text::from(self.request.home.as_path());
        self.file(
            "/etc/passwd",
            format!("{name}:x:{user}:{group}::{home}:/bin/sh\nnobody:x:65534:65534::/:/bin/false\n"),
        );
        self.file("/etc/group", format!("{name}:x:{group}:\nnogroup:x:65534:\n"));
    }

    fn home(&mut self) {
        let home = &self.request.home;
        // A service's home is often the root, or a place of the system; then there is none of its own.
        if is_system(home) {
            return;
        }
        match self.request.profile {
            Profile::Strict => self.private(home, self.scratch),
            Profile::Workspace => {
                self.private(home, self.scratch);
                for name in layout::TOOLS {
                    self.show(&home.join(name));
                }
            }
            Profile::Home => self.add(home, Access::ReadOnly),
        }
    }

    /// Shows a tree of the host and hides what is secret in it.
    fn add(&mut self, path: &Path, access: Access) {
        self.bind(path, access);
        let findings = self.search(path, Bounds::AROUND);
        self.hide_all(&findings);
    }
}

#[cfg(test)]
mod tests;
