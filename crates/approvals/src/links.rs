//! Links that the text makes itself: what is done to the link is done to what it points to.
//!
//! Links that were there before are not seen; the sandbox is.

use cofferdam_shell_syntax::{Word, normalise};

use crate::call::Call;
use crate::judge::Judge;
use crate::place::Path;

/// More links than this are not kept apart; nobody needs them on one line.
const MOST: usize = 64;

/// A name that stands for another file or directory.
pub(crate) struct Link {
    at: String,
    target: String,
    /// A directory in a container: who deletes what lies there deletes it here. A link is only deleted itself.
    mounted: bool,
}

impl Judge<'_> {
    /// Remembers a link. What was harmless to write or read under its name may no longer be.
    pub(crate) fn linked(&mut self, program: &str, call: &Call) {
        let links = matches!(program, "ln" | "gln" | "link" | "symlink")
            || program == "cp" && call.has(&['l', 's'], &["link", "symbolic-link"]);
        if !links || self.links.len() >= MOST {
            return;
        }
        let operands: Vec<&Word> = call.operands().collect();
        let (target, link) = match operands.as_slice() {
            [target] => (*target, Word::known(".")),
            [target, link] => (*target, (*link).clone()),
            _ => return,
        };
        let target = call.path(target, self.context).text;
        let name = target.rsplit('/').next().unwrap_or_default();
        let mut at = call.path(&link, self.context).text;
        if link.text() == "." || link.text().ends_with('/') {
            at = normalise(&at, name);
        }
        if at != target {
            self.links.push(Link { at, target, mounted: false });
            self.harmless_targets.clear();
            self.judged.clear();
        }
    }

    /// Directories of this machine under the names that a container knows them by. The number of links before.
    pub(crate) fn mount(&mut self, call: &Call) -> Option<usize> {
        if !matches!(call.program(), Some("docker" | "podman" | "nerdctl")) {
            return None;
        }
        let before = self.links.len();
        let words = call.arguments();
        for (at, word) in words.iter().enumerate() {
            let text = word.text();
            let value = match text {
                "-v" | "--volume" | "--mount" => words.get(at + 1).map_or("", |word| word.text()),
                _ => text
                    .strip_prefix("--volume=")
                    .or_else(|| text.strip_prefix("--mount="))
                    .or_else(|| text.strip_prefix("-v"))
                    .unwrap_or_default(),
            };
            let part = |names: [&str; 3]| {
                value.split(',').find_map(|part| names.iter().find_map(|name| part.strip_prefix(name)))
            };
            let pair = match (part(["source=", "src=", "source="]), part(["target=", "dst=", "destination="]))
            {
                (Some(source), Some(target)) => Some((source, target)),
                _ => value
                    .split_once(':')
                    .map(|(source, rest)| (source, rest.split(':').next().unwrap_or(rest))),
            };
            if let Some((source, target)) = pair.filter(|(source, _)| source.starts_with(['/', '~', '.'])) {
                let source = Path::of_text(source, call.directory.as_deref(), self.context).text;
                let at = target.trim_end_matches('/').to_owned();
                self.links.push(Link { at, target: source, mounted: true });
            }
        }
        if self.links.len() == before {
            return None;
        }
        self.harmless_targets.clear();
        self.judged.clear();
        Some(before)
    }

    pub(crate) fn unmount(&mut self, before: usize) {
        self.links.truncate(before);
        self.harmless_targets.clear();
        self.judged.clear();
    }

    /// The path that is meant where a link of this text stands on the way.
    pub(crate) fn followed(&self, path: Path) -> Path {
        self.follow(path, |_| true)
    }

    /// What lies behind a link, where the link itself is only a name that may go.
    pub(crate) fn followed_beneath(&self, path: Path) -> Path {
        let beneath = path.text.clone();
        self.follow(path, |link| beneath.len() > link.at.len())
    }

    /// The path on this machine that is meant in a container.
    pub(crate) fn unmounted(&self, path: Path) -> Path {
        self.follow(path, |link| link.mounted)
    }

    fn follow(&self, path: Path, counts: impl Fn(&Link) -> bool) -> Path {
        let stands = |link: &&Link| {
            counts(link)
                && path
                    .text
                    .strip_prefix(link.at.as_str())
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let Some(link) = self.links.iter().rev().find(stands) else { return path };
        let whole = format!("{}{}", link.target, &path.text[link.at.len()..]);
        Path::of_text(&whole, None, self.context)
    }
}
