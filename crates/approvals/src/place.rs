//! What a path is: the difference between `rm -rf ./build` and `rm -rf /`.
//!
//! Decided on the text of the path alone. Links that were there before are not seen; the sandbox is.

use std::borrow::Cow;

use cofferdam_shell_syntax::{HOLE, Word, normalise, normalise_into};

use crate::Context;
use crate::names::Names;
pub(crate) use crate::secrets::is_secret;
pub(crate) use crate::sensitive::{is_agent_policy, is_device, is_own_policy, is_startup};

/// The kind of a place, from the worst to lose to the least.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// The root directory, or everything in it.
    Root,
    /// A disk or a partition.
    Device,
    /// A directory that the system is made of, or everything in it.
    SystemTop,
    /// The home directory, or everything in it.
    Home,
    /// Something within a system directory.
    System,
    /// A directory of the person's own directly within the home.
    HomeTop,
    /// Somewhere else outside of the project.
    Outside,
    /// The project itself, or everything in it.
    Project,
    /// The history of the project.
    Repository,
    /// Something within the project.
    Inside,
    /// Within the project, and made again by a build.
    Regenerable,
    /// The directory for temporary files itself.
    TemporaryTop,
    Temporary,
    /// Not known before it runs.
    Unknown,
}

/// A path made absolute, with what could not be known.
#[derive(Debug, Clone)]
pub(crate) struct Path {
    pub text: String,
    pub place: Place,
}

const SYSTEM: &[&str] = &[
    "bin",
    "boot",
    "dev",
    "etc",
    "home",
    "lib",
    "lib32",
    "lib64",
    "libx32",
    "mnt",
    "media",
    "opt",
    "proc",
    "root",
    "run",
    "sbin",
    "srv",
    "sys",
    "usr",
    "var",
    "snap",
    "System",
    "Library",
    "Applications",
    "Users",
    "Volumes",
    "private",
    "nix",
];

/// In order, because it is asked about every part of every path.
#[rustfmt::skip]
const REGENERABLE: &[&str] = &[
    ".ds_store", ".terraform", "artifact", "artifacts", "bak", "bar", "bin", "bower", "build", "builds",
    "bundle", "cache", "caches", "class", "cmake", "cmakecache", "cmakefiles", "cov", "coverage", "debug",
    "demo", "derived", "deriveddata", "dist", "docs_build", "download", "downloads", "egg", "egg-info", "eggs",
    "example", "extracted", "fixtures", "foo", "gen", "generated", "gradle", "htmlcov", "info", "jspm", "junk",
    "kit", "lock", "log", "logs", "mypy", "next", "node_modules", "nox", "nuxt", "nyc", "o", "obj", "old",
    "orig", "out", "output", "outputs", "parcel", "pid", "pods", "profraw", "public", "pyc", "pycache", "pyo",
    "pytest", "rej", "release", "report", "reports", "result", "results", "ruff", "sandbox", "sass", "scratch",
    "site", "snapshots", "stage", "staging", "storybook", "svelte", "swp", "target", "temp", "test", "testdata",
    "thumbs", "tmp", "tmpdir", "tox", "turbo", "unpacked", "venv", "virtualenv", "vite", "wheels",
];

impl Path {
    /// Reads an operand as a path, seen from a directory.
    pub fn of(word: &Word, directory: Option<&str>, context: &Context) -> Self {
        Self::of_text(word.text(), directory, context)
    }

    /// The text alone, where nobody asks for the kind of the place, put where another was before. Whether it is known;
    /// what is not is put there as it stands.
    pub fn text_into(whole: &mut String, text: &str, directory: Option<&str>, context: &Context) -> bool {
        let text = text.strip_prefix("file://").unwrap_or(text);
        if let Some(rest) = at_home(text) {
            return Self::text_into(whole, &format!("{}{rest}", context.home), directory, context);
        }
        let directory = if text.starts_with('/') { Some("") } else { directory };
        let directory = directory.filter(|_| !text.starts_with(HOLE));
        match directory {
            Some(directory) => {
                normalise_into(whole, directory, text);
                if whole.starts_with("/proc/") {
                    *whole = without_root(std::mem::take(whole));
                }
            }
            None => {
                whole.clear();
                whole.push_str(text);
            }
        }
        directory.is_some()
    }

    pub fn of_text(text: &str, directory: Option<&str>, context: &Context) -> Self {
        let text = text.strip_prefix("file://").unwrap_or(text);
        if let Some(rest) = at_home(text) {
            return Self::of_text(&format!("{}{rest}", context.home), directory, context);
        }
        if text.starts_with(HOLE) {
            return Self { text: text.to_owned(), place: Place::Unknown };
        }
        let Some(absolute) = absolute(text, directory) else {
            return Self { text: text.to_owned(), place: Place::Unknown };
        };
        let mut place = classify(&absolute, context);
        // Going up leads out of the project, also where the project lies among temporary files.
        let above = context.project.strip_prefix(&absolute).is_some_and(|rest| rest.starts_with('/'));
        if matches!(place, Place::Temporary | Place::TemporaryTop) && (above || text.starts_with("..")) {
            place = Place::Outside;
        }
        Self { text: absolute, place }
    }

    /// The last component.
    pub fn name(&self) -> &str {
        self.text.rsplit('/').next().unwrap_or(&self.text)
    }
}

/// A tilde that came out of a variable or stands in program text is meant as the home all the same.
fn at_home(text: &str) -> Option<&str> {
    text.strip_prefix('~').filter(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn absolute(text: &str, directory: Option<&str>) -> Option<String> {
    let directory = if text.starts_with('/') { "" } else { directory? };
    Some(without_root(normalise(directory, text)))
}

fn without_root(absolute: String) -> String {
    // Every process has the root directory under this name as well.
    let within = absolute.strip_prefix("/proc/").and_then(|rest| rest.split_once("/root"));
    match within {
        Some((process, "")) if !process.contains('/') => "/".to_owned(),
        Some((process, rest)) if !process.contains('/') && rest.starts_with('/') => rest.to_owned(),
        _ => absolute,
    }
}

/// A component that stands for every name: `*`, `.*`, `?*`, `[!.]*`, `{,.}*`.
fn is_everything(component: &str) -> bool {
    component.bytes().any(|byte| byte == b'*')
        && component
            .trim_start_matches(['.', '?'])
            .trim_start_matches(|c| "[]!^.a-zA-Z0-9_".contains(c) && component.starts_with('['))
            .chars()
            .all(|c| "*.?".contains(c))
}

fn classify(path: &str, context: &Context) -> Place {
    if is_device(path) {
        return Place::Device;
    }
    let within = |base: &str| -> Option<&str> {
        let rest = path.strip_prefix(base.trim_end_matches('/'))?;
        (rest.is_empty() || rest.starts_with('/')).then(|| rest.trim_start_matches('/'))
    };
    let mut first_two = parts(path);
    if first_two.next().is_none_or(|first| is_everything(first) && first_two.next().is_none()) {
        return Place::Root;
    }
    // The project first: it lies within the home, or among temporary files, and is the part that is free to
    // change.
    if is_project(context)
        && let Some(rest) = within(&context.project)
    {
        return project(rest);
    }
    if let Some(rest) = within(&context.home) {
        let components: Vec<&str> = rest.split('/').filter(|part| !part.is_empty()).collect();
        return match components.as_slice() {
            [] => Place::Home,
            [one] if is_everything(one) => Place::Home,
            // What tools keep to be faster, and fetch or make again when it is gone.
            [".cache", first, ..] if !is_everything(first) => Place::Temporary,
            [".npm", "_cacache" | "_npx" | "_logs", ..]
            | [".gradle", "caches", ..]
            | [".cargo", "registry", ..]
            | ["Library", "Caches", _, ..]
            | [".local", "share", "Trash", _, ..] => Place::Temporary,
            [_] => Place::HomeTop,
            [_, one] if is_everything(one) => Place::HomeTop,
            _ => Place::Outside,
        };
    }
    for temporary in ["/tmp", "/var/tmp", "/dev/shm", "/private/tmp"] {
        if let Some(rest) = within(temporary) {
            return if rest.is_empty() || is_everything(rest) {
                Place::TemporaryTop
            } else {
                Place::Temporary
            };
        }
    }
    let parts: Vec<&str> = parts(path).collect();
    let first = parts[0];
    if SYSTEM.contains(&first) || first.contains(['*', '?', '[']) {
        return match parts.as_slice() {
            [_] => Place::SystemTop,
            [_, one] if is_everything(one) => Place::SystemTop,
            [
                "usr" | "var",
                "bin" | "sbin" | "lib" | "lib64" | "share" | "local" | "log" | "spool" | "www" | "cache"
                | "include",
            ] => Place::SystemTop,
            ["usr" | "var", _, one] if is_everything(one) => Place::SystemTop,
            ["home" | "Users", _] => Place::Home,
            ["home" | "Users", _, one] if is_everything(one) => Place::Home,
            ["home" | "Users", _, ..] => Place::Outside,
            ["root", ..] => Place::System,
            _ => Place::System,
        };
    }
    if parts.len() == 1 { Place::System } else { Place::Outside }
}

/// A working directory is a project unless everything else lies in it too: the root, the home or above it.
fn is_project(context: &Context) -> bool {
    let project = context.project.trim_end_matches('/');
    let above_home =
        context.home.strip_prefix(project).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    let depth = project.bytes().filter(|byte| *byte == b'/').count();
    let top = depth < 2 && SYSTEM.contains(&project.trim_start_matches('/'));
    !project.is_empty() && !above_home && !top
}

fn project(rest: &str) -> Place {
    let mut all = parts(rest);
    let Some(first) = all.next() else { return Place::Project };
    let last = all.last();
    if last.is_none() && is_everything(first) {
        return Place::Project;
    }
    if first == ".git" || last == Some(".git") {
        return Place::Repository;
    }
    if parts(rest).any(is_regenerable) { Place::Regenerable } else { Place::Inside }
}

/// The parts of a path. They are short, and a search that is made for long texts is slow on them.
fn parts(path: &str) -> impl Iterator<Item = &str> {
    let mut start = 0;
    path.as_bytes()
        .split(|byte| *byte == b'/')
        .map(move |part| {
            let from = start;
            start += part.len() + 1;
            &path[from..from + part.len()]
        })
        .filter(|part| !part.is_empty())
}

/// Whether some part of a path names what a build makes again.
pub(crate) fn is_regenerable_path(path: &str) -> bool {
    path.split('/').any(|component| !component.is_empty() && is_regenerable(component))
}

fn is_regenerable(component: &str) -> bool {
    let capital = component.bytes().any(|byte| byte.is_ascii_uppercase());
    let lower: Cow<'_, str> = if capital { component.to_ascii_lowercase().into() } else { component.into() };
    if matches!(
        lower.as_ref(),
        "tests" | "test" | "docs" | "src" | "lib" | "public" | "site" | "fixtures" | "snapshots"
    ) {
        return false;
    }
    static FILTER: Names = Names::of(REGENERABLE);
    let listed = |name: &[u8]| {
        FILTER.may_contain(name) && REGENERABLE.binary_search_by(|known| known.as_bytes().cmp(name)).is_ok()
    };
    if listed(lower.as_bytes()) || lower.ends_with('~') {
        return true;
    }
    lower.as_bytes().split(|byte| matches!(byte, b'-' | b'_' | b'.' | b'*')).any(|token| {
        let digits = token.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
        listed(&token[..token.len() - digits])
    })
}

#[cfg(test)]
mod tests {
    use super::REGENERABLE;

    #[test]
    fn names_that_are_searched_for_are_in_order() {
        assert!(REGENERABLE.is_sorted());
    }
}
