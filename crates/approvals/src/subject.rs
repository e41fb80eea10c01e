//! What an approval is about: the command in one spelling, its directory, its kind of session, and the bytes of
//! the scripts that it runs. The digest of all that is what a yes is bound to.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use cofferdam_linux_sys::known_file;
use cofferdam_policy::document::{ScriptDigest, SessionKind};
use cofferdam_shell_syntax::{Surroundings, Word, parse};
use sha2::{Digest as _, Sha256};

use crate::call::Call;
use crate::{Context, SessionContext};

/// Programs that run what a file says.
const INTERPRETERS: &[&str] = &[
    "sh",
    "bash",
    "dash",
    "zsh",
    "ksh",
    "fish",
    "busybox",
    "source",
    ".",
    "python",
    "python2",
    "python3",
    "pypy",
    "pypy3",
    "perl",
    "ruby",
    "node",
    "nodejs",
    "deno",
    "bun",
    "php",
    "lua",
    "luajit",
    "awk",
    "gawk",
    "tclsh",
    "expect",
    "Rscript",
    "osascript",
    "pwsh",
    "make",
    "gmake",
    "just",
    "psql",
    "mysql",
    "sqlite3",
    "ansible-playbook",
    "ts-node",
    "tsx",
    "uv",
    "npx",
];
const SCRIPT_ENDINGS: &[&str] = &[
    "sh", "bash", "zsh", "py", "pl", "rb", "js", "mjs", "cjs", "ts", "php", "lua", "awk", "sql", "mk", "yml",
    "yaml",
];

/// SHA-256 of a [`Subject`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest(pub [u8; 32]);

impl fmt::Display for Digest {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&hex(&self.0))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, out)
    }
}

/// A command in the one spelling that approvals compare.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Spelling {
    /// One simple command of plain words: quoting and spacing make no difference.
    Words(Vec<String>),
    /// Anything else, as it was written. What joins the parts of a line (`&&`, `||`, a loop) changes its meaning
    /// as much as the words do, so nothing is taken away.
    Text(String),
    /// A whole script in a language, to the last byte. No command line is ever the same.
    Script { language: &'static str, text: String },
    /// A call of a tool with these arguments.
    ToolCall { tool: String, arguments: String },
}

/// What would run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subject {
    command: String,
    spelling: Spelling,
    directory: String,
    kind: SessionKind,
    scripts: Vec<ScriptDigest>,
    /// Whether all words are known before it runs.
    known: bool,
}

impl Subject {
    pub(crate) fn new(command: &str, context: &SessionContext, calls: &[Call]) -> Self {
        let scripts = scripts(calls, &context.place.directory);
        let known = is_known(command, &context.place, calls);
        Self::with(command, &context.place, context.kind, scripts, known)
    }

    /// A script that is run as a whole. A yes to one is for once: a stored rule is about command lines.
    pub(crate) fn script(language: &'static str, text: &str, context: &SessionContext) -> Self {
        Self {
            command: text.to_owned(),
            spelling: Spelling::Script { language, text: text.to_owned() },
            directory: context.place.directory.clone(),
            kind: context.kind,
            scripts: Vec::new(),
            known: false,
        }
    }

    /// A call of a tool. A yes to one is for once, for the same reason.
    pub(crate) fn tool_call(tool: &str, arguments: &str, context: &SessionContext) -> Self {
        Self {
            command: format!("{tool} {arguments}"),
            spelling: Spelling::ToolCall { tool: tool.to_owned(), arguments: arguments.to_owned() },
            directory: context.place.directory.clone(),
            kind: context.kind,
            scripts: Vec::new(),
            known: false,
        }
    }

    /// A subject as a stored rule describes it.
    pub(crate) fn stored(
        command: &str,
        directory: &str,
        kind: SessionKind,
        scripts: &[ScriptDigest],
        home: &Context,
    ) -> Self {
        let place = Context { directory: directory.to_owned(), ..home.clone() };
        Self::with(command, &place, kind, scripts.to_vec(), true)
    }

    fn with(
        command: &str,
        place: &Context,
        kind: SessionKind,
        mut scripts: Vec<ScriptDigest>,
        known: bool,
    ) -> Self {
        scripts.sort();
        Self {
            command: command.to_owned(),
            spelling: spelling(command, place),
            directory: place.directory.clone(),
            kind,
            scripts,
            known,
        }
    }

    pub fn command(&self) -> &str {
        &self.command
    }

    pub fn directory(&self) -> &str {
        &self.directory
    }

    pub fn kind(&self) -> SessionKind {
        self.kind
    }

    pub fn scripts(&self) -> &[ScriptDigest] {
        &self.scripts
    }

    /// Whether a lasting yes would cover one thing only. With a variable in it, it would cover whatever the
    /// variable holds next time.
    pub fn can_be_kept(&self) -> bool {
        self.known && cofferdam_shell_syntax::misleading(&self.command).is_none()
    }

    pub fn digest(&self) -> Digest {
        let mut hash = Sha256::new();
        let mut field = |bytes: &[u8]| {
            hash.update(u64::try_from(bytes.len()).unwrap_or(u64::MAX).to_le_bytes());
            hash.update(bytes);
        };
        field(b"cofferdam approval 1");
        match &self.spelling {
            Spelling::Words(words) => {
                field(b"words");
                field(&words.len().to_le_bytes());
                words.iter().for_each(|word| field(word.as_bytes()));
            }
            Spelling::Text(text) => {
                field(b"text");
                field(text.as_bytes());
            }
            Spelling::Script { language, text } => {
                field(b"script");
                field(language.as_bytes());
                field(text.as_bytes());
            }
            Spelling::ToolCall { tool, arguments } => {
                field(b"tool call");
                field(tool.as_bytes());
                field(arguments.as_bytes());
            }
        }
        field(self.directory.as_bytes());
        field(self.kind.name().as_bytes());
        for script in &self.scripts {
            field(script.path.as_bytes());
            field(script.sha256.as_bytes());
        }
        Digest(hash.finalize().into())
    }

    /// The first script whose bytes are no longer those that were approved.
    pub(crate) fn changed_script(&self) -> Option<&str> {
        let changed =
            |script: &&ScriptDigest| digest_of(Path::new(&script.path)).as_ref() != Some(&script.sha256);
        self.scripts.iter().find(changed).map(|script| script.path.as_str())
    }
}

/// Whether everything that will run, and where it reads and writes, is known before it runs.
fn is_known(command: &str, place: &Context, calls: &[Call]) -> bool {
    let parsed = parse(command, surroundings(place));
    let known = |word: &Word| !word.is_unknown();
    parsed.doubts.is_empty()
        && calls.iter().all(|call| call.argv.iter().all(known))
        && parsed.commands.iter().all(|simple| {
            simple.argv.iter().all(known)
                && simple.redirects.iter().all(|redirect| known(&redirect.target))
                && simple.assignments.iter().all(|(_, value)| known(value))
                && simple.directory.is_some()
        })
}

fn surroundings(place: &Context) -> Surroundings {
    Surroundings { home: place.home.clone(), directory: place.directory.clone(), user: place.user.clone() }
}

fn spelling(command: &str, place: &Context) -> Spelling {
    let text = || Spelling::Text(command.trim().to_owned());
    // Without any of these a text is words and quotes, and nothing else.
    if command.contains([
        ';', '&', '|', '<', '>', '(', ')', '{', '}', '`', '$', '\n', '#', '*', '?', '[', '!', '~', '=', '^',
    ]) {
        return text();
    }
    let parsed = parse(command, surroundings(place));
    match parsed.commands.as_slice() {
        [only] if parsed.doubts.is_empty() => {
            let words: Option<Vec<String>> =
                only.argv.iter().map(|word| word.as_known().map(str::to_owned)).collect();
            words.map_or_else(text, Spelling::Words)
        }
        _ => text(),
    }
}

/// The files whose bytes decide what a command does: a program named by a path, and what an interpreter is given.
/// It stops there: what a script reads in turn, or a build file that is found by its name, is not followed.
fn scripts(calls: &[Call], directory: &str) -> Vec<ScriptDigest> {
    let mut found = BTreeMap::new();
    for call in calls.iter().filter(|call| !call.elsewhere) {
        let base = Path::new(call.directory.as_deref().unwrap_or(directory));
        let interpreted = call.program().is_some_and(|program| INTERPRETERS.contains(&program));
        let mut first = true;
        for (at, word) in call.argv.iter().enumerate() {
            let Some(text) = word.as_known().filter(|text| !text.is_empty() && !text.contains('\0')) else {
                continue;
            };
            let path = normal(&base.join(text));
            let wanted =
                if at == 0 { text.contains('/') } else { interpreted && (first || looks_like_script(&path)) };
            if !wanted || !path.is_file() {
                continue;
            }
            first &= at == 0;
            if let Some(sha256) = digest_of(&path) {
                found.insert(path.to_string_lossy().into_owned(), sha256);
            }
        }
    }
    found.into_iter().map(|(path, sha256)| ScriptDigest { path, sha256 }).collect()
}

fn looks_like_script(path: &Path) -> bool {
    let ending = path.extension().and_then(|ending| ending.to_str());
    ending.is_some_and(|ending| SCRIPT_ENDINGS.contains(&ending))
}

fn normal(path: &Path) -> PathBuf {
    path.components().filter(|part| !matches!(part, std::path::Component::CurDir)).collect()
}

fn digest_of(path: &Path) -> Option<String> {
    known_file::sha256(&known_file::open(path).ok()?).ok()
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(command: &str, directory: &str, kind: SessionKind) -> Digest {
        Subject::stored(command, directory, kind, &[], &Context::new("/w", "/home/u", "u")).digest()
    }

    #[test]
    fn req_a15_only_spelling_may_differ() {
        let approved = digest("rm -rf build", "/w", SessionKind::Interactive);
        for same in ["rm  -rf   build ", "rm '-rf' \"build\"", "r\\m -rf build"] {
            assert_eq!(digest(same, "/w", SessionKind::Interactive), approved, "{same}");
        }
        for other in [
            "rm -rf build/",
            "rm -rf build .",
            "rm -rf build; ls",
            "rm -rf build && ls",
            "rm -rf",
            "rm -rf build #",
            "rm '-rf build'",
        ] {
            assert_ne!(digest(other, "/w", SessionKind::Interactive), approved, "{other}");
        }
        assert_ne!(digest("rm -rf build", "/w/x", SessionKind::Interactive), approved);
        assert_ne!(digest("rm -rf build", "/w", SessionKind::Cron), approved);
    }

    #[test]
    fn req_a15_what_joins_the_parts_counts() {
        let one = digest("test -f x && rm y", "/w", SessionKind::Interactive);
        assert_ne!(digest("test -f x || rm y", "/w", SessionKind::Interactive), one);
        assert_ne!(digest("test -f x; rm y", "/w", SessionKind::Interactive), one);
    }
}
