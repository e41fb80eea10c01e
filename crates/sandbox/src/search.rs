//! Looking through a tree that will be shown: for secrets by name and by content, for sockets of the host, and for
//! repositories, whose hooks and configuration need protection.
//!
//! The nearest names come first and the search is bounded, because a launch must not take as long as a walk through
//! a disk. Whoever calls is told when the bounds were reached.

use std::collections::VecDeque;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use cofferdam_policy::secret_paths::{self, Evidence, NAMES};

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
    let mut search = Search { survey, root, bounds, contents: 0, inodes: Vec::new() };
    let mut findings = Findings::default();
    let (names, whole) = walk(survey, root, bounds, |entry, path| search.judge(entry, path, &mut findings));
    if !search.inodes.is_empty() {
        // A second hard link to a secret is the same secret under a harmless name.
        walk(survey, root, bounds, |entry, path| {
            if search.inodes.contains(&entry.inode) && !findings.secrets.iter().any(|found| found == path) {
                findings.secrets.push(path.to_owned());
            }
            Below::Enter
        });
    }
    findings.names = names;
    findings.unfinished = !whole || search.contents > bounds.contents;
    findings
}

/// Whether a walk goes into a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Below {
    Enter,
    Leave,
}

/// Goes through a tree, the nearest names first, and tells how many it has seen and whether that was all.
fn walk(
    survey: &dyn Survey,
    root: &Path,
    bounds: Bounds,
    mut visit: impl FnMut(&Entry, &Path) -> Below,
) -> (u64, bool) {
    let mut names = 0;
    let mut queue = VecDeque::from([(root.to_owned(), 0)]);
    while let Some((directory, depth)) = queue.pop_front() {
        if names >= bounds.names || depth > bounds.depth {
            return (names, false);
        }
        for entry in survey.entries(&directory) {
            names += 1;
            let path = directory.join(&entry.name);
            let skipped = layout::NOT_SEARCHED.iter().any(|skipped| entry.name == *skipped);
            if visit(&entry, &path) == Below::Enter && entry.kind == Kind::Directory && !skipped {
                queue.push_back((path, depth + 1));
            }
        }
    }
    (names, true)
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
    fn judge(&mut self, entry: &Entry, path: &Path, findings: &mut Findings) -> Below {
        if entry.name == ".git" {
            findings.repositories.push(path.to_owned());
        } else if entry.kind == Kind::Socket {
            findings.sockets.push(path.to_owned());
        } else if self.is_secret(entry, path) {
            if entry.kind == Kind::File && self.survey.has_other_names(path) {
                self.inodes.push(entry.inode);
            }
            findings.secrets.push(path.to_owned());
            return Below::Leave;
        }
        Below::Enter
    }

    fn is_secret(&mut self, entry: &Entry, path: &Path) -> bool {
        let relative = path.strip_prefix(self.root).unwrap_or(path);
        if secret_paths::kind_of_name(&entry.name).is_some() {
            return true;
        }
        // The places of a home are looked for where one of their names can be: most of them begin with a dot.
        let dotted = relative.components().any(|part| part.as_os_str().as_bytes().starts_with(b"."));
        if dotted && secret_paths::kind_of_path(&Path::new("/").join(relative)).is_some() {
            let doubtful = layout::OFTEN_HARMLESS.iter().any(|name| relative.ends_with(name));
            return !doubtful || holds_credential(&self.read(path));
        }
        entry.kind == Kind::File && self.is_secret_by_content(&entry.name, path)
    }

    fn is_secret_by_content(&mut self, name: &OsStr, path: &Path) -> bool {
        let candidate = NAMES
            .iter()
            .any(|secret| secret.evidence == Evidence::Content && secret_paths::fits(secret.pattern, name));
        if !candidate {
            return false;
        }
        let beginning = self.read(path);
        let by_content = secret_paths::kind_of_content(&beginning).is_some();
        // What is called a key is one, unless it says that it is meant for everybody.
        let called_key = ["*.pem", "*.key"].iter().any(|pattern| secret_paths::fits(pattern, name));
        by_content || (called_key && !is_public(&beginning))
    }

    fn read(&mut self, path: &Path) -> Vec<u8> {
        self.contents += 1;
        if self.contents > self.bounds.contents { Vec::new() } else { self.survey.beginning(path) }
    }
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
