//! What is kept back inside the trees that a plan shows: secrets are hidden, and what the host would run later can
//! be read and not changed.

use std::path::{Component, Path, PathBuf};

use cofferdam_policy::secret_paths;

use super::Planner;
use crate::layout;
use crate::plan::{Access, Operation};
use crate::search::{self, Bounds, Findings};
use crate::survey::Found;

impl Planner<'_> {
    pub(super) fn search(&mut self, path: &Path, bounds: Bounds) -> Findings {
        let findings = search::search(self.survey, path, bounds);
        self.looked.names += findings.names;
        self.looked.unfinished |= findings.unfinished;
        findings
    }

    /// Hides secrets, and sockets with a process of the host behind them. A socket that was asked for by its own
    /// name is meant.
    pub(super) fn hide_all(&mut self, findings: &Findings) {
        for path in findings.secrets.iter().chain(&findings.sockets) {
            self.mask(path);
        }
    }

    pub(super) fn workspace(&mut self) {
        let workspace = self.request.workspace.clone();
        self.bind(&workspace, Access::Writable);
        let findings = self.search(&workspace, Bounds::WORKSPACE);
        for name in layout::WORKSPACE_PROTECTED {
            self.protect(&workspace, Path::new(name));
        }
        if !findings.repositories.contains(&workspace.join(".git")) {
            self.sweep.push(workspace.join(".git"));
        }
        for repository in &findings.repositories {
            self.repository(repository);
        }
        // Last, so that nothing that is protected shows what is hidden.
        self.hide_all(&findings);
    }

    /// Nothing in the workspace needs protection from writing: it all goes to the layer, and names that the host
    /// runs are kept back when the layer is applied.
    pub(super) fn layered(&mut self, layer: &Path) {
        let workspace = self.request.workspace.clone();
        self.files.push(Operation::Layered { path: workspace.as_path().into(), layer: layer.into() });
        let findings = self.search(&workspace, Bounds::WORKSPACE);
        self.hide_all(&findings);
    }

    /// Every place that is secret whatever shows it, by the tables, by wish, and because it is our own. `secrets` are
    /// those of the home.
    pub(super) fn hidden(&mut self, secrets: &[PathBuf]) {
        for path in secrets {
            self.mask(path);
        }
        for secret in secret_paths::SYSTEM {
            self.mask(Path::new(secret.path));
        }
        for path in &self.request.hide {
            self.mask(path);
        }
        for path in &self.request.own {
            self.mask(path);
            // What governs the sandbox cannot be made in it either.
            if self.survey.find(path).is_none() && self.writable(path) {
                self.sweep.push(path.clone());
            }
        }
    }

    /// The directory of a repository, or the file that says where it is. A directory that is a mount point cannot
    /// be renamed away with what is protected in it.
    fn repository(&mut self, path: &Path) {
        match self.survey.find(path) {
            Some(Found::Directory) => {
                self.bind(path, Access::Writable);
                self.git_directory(path);
            }
            Some(Found::Link(_)) => {
                self.bind(path, Access::ReadOnly);
                match self.survey.resolve(path).filter(|target| self.writable(target)) {
                    Some(target) if self.survey.find(&target) == Some(Found::Directory) => {
                        self.bind(&target, Access::Writable);
                        self.git_directory(&target);
                    }
                    Some(target) => self.bind(&target, Access::ReadOnly),
                    None => {}
                }
            }
            Some(_) => self.bind(path, Access::ReadOnly),
            None => {}
        }
    }

    /// The repository itself and those of its submodules and worktrees, which are kept in it.
    fn git_directory(&mut self, directory: &Path) {
        for name in layout::REPOSITORY_PROTECTED {
            self.protect(directory, Path::new(name));
        }
        for kind in ["modules", "worktrees"] {
            let mut names = Vec::new();
            self.survey.entries(&directory.join(kind), &mut |entry| names.push(entry.name.to_owned()));
            for name in names {
                let inner = directory.join(kind).join(name);
                if self.survey.find(&inner) == Some(Found::Directory) {
                    self.pin(&directory.join(kind));
                    self.bind(&inner, Access::Writable);
                    self.git_directory(&inner);
                }
            }
        }
    }

    /// Makes a name below a directory unchangeable, or has it set aside at the end if there is none. The directories
    /// on the way stay writable and cannot be renamed.
    fn protect(&mut self, base: &Path, name: &Path) {
        let mut path = base.to_owned();
        let mut parts = name.components().filter(|part| matches!(part, Component::Normal(_))).peekable();
        while let Some(part) = parts.next() {
            path.push(part);
            let last = parts.peek().is_none();
            match self.survey.find(&path) {
                None => {
                    path.extend(parts);
                    return self.sweep.push(path);
                }
                Some(Found::Link(to)) => {
                    // A mount over a link keeps it from being replaced; what it leads to is protected as well.
                    self.bind(&path, Access::ReadOnly);
                    let Some(target) = self.survey.resolve(&path) else {
                        let target = path.parent().unwrap_or(base).join(to);
                        return self.sweep.extend(Some(target).filter(|target| self.writable(target)));
                    };
                    if !self.writable(&target) {
                        return;
                    }
                    path = target;
                    if last {
                        self.bind(&path, Access::ReadOnly);
                    }
                }
                Some(_) if last => self.bind(&path, Access::ReadOnly),
                Some(Found::Directory) => self.pin(&path),
                // A file stands where a directory would have to be.
                Some(_) => return,
            }
        }
    }

    fn pin(&mut self, directory: &Path) {
        let pinned = |operation: &Operation| matches!(operation, Operation::Bind { path, .. } if path.as_path() == directory);
        if !self.files.iter().any(pinned) {
            self.bind(directory, Access::Writable);
        }
    }

    /// Hides what is at a path, if the tree so far shows it: the path itself, and what it leads to if it is a link.
    pub(super) fn mask(&mut self, path: &Path) {
        let Some(found) = self.survey.find(path) else { return };
        let target = self.survey.resolve(path);
        let place = match &found {
            Found::Link(_) => {
                path.parent().and_then(|parent| self.survey.resolve(parent)).zip(path.file_name())
            }
            _ => None,
        };
        let link = place.map(|(parent, name)| parent.join(name));
        for path in [link, target].into_iter().flatten() {
            let operation = Operation::Mask { path: path.as_path().into() };
            if self.visible(&path) && !self.files.contains(&operation) {
                self.files.push(operation);
            }
        }
    }

    /// Whether the tree so far shows this path of the host.
    fn visible(&self, path: &Path) -> bool {
        self.last_over(path).is_some()
    }

    fn writable(&self, path: &Path) -> bool {
        self.last_over(path) == Some(Access::Writable)
    }

    fn last_over(&self, path: &Path) -> Option<Access> {
        let planned = self.files.iter().rev().find_map(|operation| match operation {
            Operation::Bind { path: shown, access, .. } if path.starts_with(shown.as_path()) => {
                Some(Some(*access))
            }
            Operation::System { path: shown, .. } if path.starts_with(shown.as_path()) => {
                Some(Some(Access::ReadOnly))
            }
            Operation::Layered { path: shown, .. } if path.starts_with(shown.as_path()) => {
                Some(Some(Access::Writable))
            }
            Operation::Private { path: shown, .. } if path.starts_with(shown.as_path()) => Some(None),
            _ => None,
        });
        planned.unwrap_or_else(|| of_the_system(path).then_some(Access::ReadOnly))
    }
}

/// Whether what stands below every plan shows a path, if there is something at it: what is asked for here exists and has
/// no link on the way, so that of the system which it is in is there as well.
fn of_the_system(path: &Path) -> bool {
    let below_etc = |path: &Path| layout::ETC.iter().any(|name| path.starts_with(name));
    layout::SYSTEM.iter().chain(layout::SYS).any(|shown| path.starts_with(shown))
        || path.strip_prefix("/etc").is_ok_and(below_etc)
}
