//! Looking through a tree that will be shown: for secrets by name and by content, for sockets of the host, and for
//! repositories, whose hooks and configuration need protection.
//!
//! The nearest names come first and the search is bounded, because a launch must not take as long as a walk through
//! a disk. Whoever calls is told when the bounds were reached.

use std::collections::VecDeque;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use cofferdam_policy::secret_paths::{self, Evidence};

use crate::layout;
use crate::survey::{Entry, Kind, Survey};

/// How far a search goes.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    pub names: u64,
    pub depth: usize,
    pub contents: u64,
}

impl Bounds {
    /// For what the person works on.
    pub const WORKSPACE: Self = Self { names: 20_000, depth: 12, contents: 500 };
    /// For what is only shown besides.
    pub const AROUND: Self = Self { names: 10_000, depth: 4, contents: 100 };
}

/// What a search has found. Paths are below the directory it began in.
#[derive(Debug, Default)]
pub struct Findings {
    pub secrets: Vec<PathBuf>,
    pub sockets: Vec<PathBuf>,
    /// Directories and files called `.git`.
    pub repositories: Vec<PathBuf>,
    pub names: u64,
    pub unfinished: bool,
}

pub fn search(survey: &dyn Survey, root: &Path, bounds: Bounds) -> Findings {
    search_from(survey, root, root, bounds)
}

/// The same for what is below `start`, which is in the tree of `root`.
pub fn search_from(survey: &dyn Survey, root: &Path, start: &Path, bounds: Bounds) -> Findings {
    let mut search = Search { survey, root, bounds, contents: 0, inodes: Vec::new() };
    let mut findings = Findings::default();
    let first = || Directory::below(root, start);
    let (names, whole) =
        walk(survey, first(), bounds, |entry, directory| search.judge(entry, directory, &mut findings));
    if !search.inodes.is_empty() {
        // A second hard link to a secret is the same secret under a harmless name.
        walk(survey, first(), bounds, |entry, directory| {
            let path = search.inodes.contains(&entry.inode).then(|| directory.path.join(entry.name));
            findings.secrets.extend(path.filter(|path| !findings.secrets.contains(path)));
            Below::Enter
        });
    }
    findings.names = names;
    findings.unfinished = !whole || search.contents > bounds.contents;
    findings
}

/// Whether what a directory in the tree of `root` says about one of its names is about a secret.
pub fn is_secret(survey: &dyn Survey, root: &Path, directory: &Path, entry: &Entry<'_>) -> bool {
    let mut search = Search { survey, root, bounds: Bounds::WORKSPACE, contents: 0, inodes: Vec::new() };
    let harmless = entry.name == ".git" || entry.kind == Kind::Socket;
    !harmless && search.is_secret(entry, &Directory::below(root, directory))
}

/// Whether a search leaves a directory of this name out.
pub fn is_left_out(name: &OsStr) -> bool {
    layout::NOT_SEARCHED.iter().any(|skipped| name == *skipped)
}

/// Whether a walk goes into a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Below {
    Enter,
    Leave,
}

/// A directory on the way of a walk.
struct Directory {
    path: PathBuf,
    depth: usize,
    /// Whether its name, or that of one between it and where the walk began, begins with a dot.
    dotted: bool,
}

impl Directory {
    fn below(root: &Path, path: &Path) -> Self {
        let below = path.strip_prefix(root).unwrap_or(Path::new(""));
        Self { path: path.to_owned(), depth: below.iter().count(), dotted: below.iter().any(is_dotted) }
    }
}

/// Goes through a tree, the nearest names first, and tells how many it has seen and whether that was all.
fn walk(
    survey: &dyn Survey,
    first: Directory,
    bounds: Bounds,
    mut visit: impl FnMut(&Entry<'_>, &Directory) -> Below,
) -> (u64, bool) {
    let mut names = 0;
    let mut queue = VecDeque::from([first]);
    while let Some(directory) = queue.pop_front() {
        if names >= bounds.names || directory.depth > bounds.depth {
            return (names, false);
        }
        survey.entries(&directory.path, &mut |entry| {
            names += 1;
            // Most names are those of files, so nothing is made of a name before it is known to matter.
            let enter = visit(&entry, &directory) == Below::Enter && entry.kind == Kind::Directory;
            if enter && !is_left_out(entry.name) {
                let path = directory.path.join(entry.name);
                let dotted = directory.dotted || is_dotted(entry.name);
                queue.push_back(Directory { path, depth: directory.depth + 1, dotted });
            }
        });
    }
    (names, true)
}

fn is_dotted(name: &OsStr) -> bool {
    name.as_bytes().starts_with(b".")
}

struct Search<'a> {
    survey: &'a dyn Survey,
    root: &'a Path,
    bounds: Bounds,
    contents: u64,
    /// Of secrets that have another name somewhere.
    inodes: Vec<u64>,
}

impl Search<'_> {
    fn judge(&mut self, entry: &Entry<'_>, directory: &Directory, findings: &mut Findings) -> Below {
        let path = || directory.path.join(entry.name);
        if entry.name == ".git" {
            findings.repositories.push(path());
        } else if entry.kind == Kind::Socket {
            findings.sockets.push(path());
        } else if self.is_secret(entry, directory) {
            if entry.kind == Kind::File && self.survey.has_other_names(&path()) {
                self.inodes.push(entry.inode);
            }
            findings.secrets.push(path());
            return Below::Leave;
        }
        Below::Enter
    }

    fn is_secret(&mut self, entry: &Entry<'_>, directory: &Directory) -> bool {
        let evidence = secret_paths::evidence_of_name(entry.name);
        if evidence == Some(Evidence::Name) {
            return true;
        }
        // The places of a home are looked for where one of their names can be: most of them begin with a dot.
        if directory.dotted || is_dotted(entry.name) {
            let above = directory.path.strip_prefix(self.root).unwrap_or(&directory.path);
            if secret_paths::is_home_place(above, entry.name) {
                let doubtful = entry.kind != Kind::Directory && is_often_harmless(&above.join(entry.name));
                return !doubtful || holds_credential(&self.read(&directory.path.join(entry.name)));
            }
        }
        let candidate = entry.kind == Kind::File && evidence == Some(Evidence::Content);
        candidate && self.is_secret_by_content(&directory.path.join(entry.name))
    }

    fn is_secret_by_content(&mut self, path: &Path) -> bool {
        let beginning = self.read(path);
        let by_content = secret_paths::kind_of_content(&beginning).is_some();
        // What is called a key is one, unless it says that it is meant for everybody.
        let extension = path.extension().unwrap_or_default();
        let called_key = ["pem", "key"].iter().any(|key| extension.eq_ignore_ascii_case(key));
        by_content || (called_key && !is_public(&beginning))
    }

    fn read(&mut self, path: &Path) -> Vec<u8> {
        self.contents += 1;
        if self.contents > self.bounds.contents { Vec::new() } else { self.survey.beginning(path) }
    }
}

fn is_often_harmless(relative: &Path) -> bool {
    layout::OFTEN_HARMLESS.iter().any(|name| relative.ends_with(name))
}

fn is_public(beginning: &[u8]) -> bool {
    let first = beginning.trim_ascii_start();
    let public: [&[u8]; 3] =
        [b"-----BEGIN CERTIFICATE", b"-----BEGIN PUBLIC KEY", b"-----BEGIN TRUSTED CERTIFICATE"];
    // A bundle of a certificate and its key is a key.
    public.iter().any(|armour| first.starts_with(armour)) && !has(beginning, b"PRIVATE KEY")
}

fn holds_credential(beginning: &[u8]) -> bool {
    let beginning = beginning.to_ascii_lowercase();
    let words: [&[u8]; 4] = [b"auth", b"token", b"passw", b"secret"];
    words.iter().any(|word| has(&beginning, word))
}

fn has(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}

#[cfg(test)]
mod tests;
