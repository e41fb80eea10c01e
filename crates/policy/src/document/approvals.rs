//! `approvals.toml`: what was approved for always, and what is refused in every mode.

use super::reader::{Section, Source};
use crate::mistake::Mistake;

/// Who is on the other side of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SessionKind {
    /// Somebody at a terminal.
    Interactive,
    /// Somebody in a chat, reached through a gateway.
    Gateway,
    /// A schedule; nobody watches.
    Cron,
    /// A script or a service; nobody watches.
    Headless,
}

impl SessionKind {
    pub const ALL: [Self; 4] = [Self::Interactive, Self::Gateway, Self::Cron, Self::Headless];

    pub fn name(self) -> &'static str {
        match self {
            Self::Interactive => "interactive",
            Self::Gateway => "gateway",
            Self::Cron => "cron",
            Self::Headless => "headless",
        }
    }

    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// Everything that the file says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StoredApprovals {
    pub allow: Vec<Allowance>,
    pub deny: Vec<Prohibition>,
}

/// One `[[allow]]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Allowance {
    pub id: String,
    pub session: SessionKind,
    pub covers: Covers,
}

/// What an allowance is good for. There is no prefix and no pattern: whatever begins the same way can be
/// continued by somebody else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Covers {
    /// This command in this directory, with the scripts as they were.
    Command { command: String, directory: String, scripts: Vec<ScriptDigest> },
    /// Whatever this built-in rule asks about, and nothing else that is found in the same command.
    Rule(String),
}

/// A script as it was approved: its path and the SHA-256 of its bytes, in hexadecimal.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ScriptDigest {
    pub path: String,
    pub sha256: String,
}

/// One `[[deny]]`: refused in every mode, and nobody can approve it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prohibition {
    pub id: String,
    pub covers: Prohibited,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Prohibited {
    /// Whatever this built-in rule finds.
    Rule(String),
    /// Any call of the program that has all of these words, behind whatever wrapper.
    Program { program: String, arguments: Vec<String> },
}

impl StoredApprovals {
    /// Reads the file. `rules` are the names of the built-in rules; another name is a mistake, because it would
    /// silently cover nothing.
    pub fn parse(file: &str, text: &str, rules: &[&str]) -> Result<Self, Vec<Mistake>> {
        let source = Source::new(file, text);
        let stored = source.document(|root| {
            root.allow_keys(&["allow", "deny"]);
            let mut seen = Vec::new();
            let allow =
                root.sections("allow").iter().filter_map(|at| allowance(at, rules, &mut seen)).collect();
            let deny =
                root.sections("deny").iter().filter_map(|at| prohibition(at, rules, &mut seen)).collect();
            Self { allow, deny }
        });
        source.finish(stored)
    }
}

fn allowance(section: &Section<'_>, rules: &[&str], seen: &mut Vec<String>) -> Option<Allowance> {
    section.allow_keys(&["id", "session", "rule", "command", "directory", "scripts", "added"]);
    let id = identity(section, seen);
    // Who wrote it is for the reader alone.
    let _ = section.text("added");
    let kinds = SessionKind::ALL.map(|kind| (kind.name(), kind));
    let session = required(section, "session", |section| section.choice("session", &kinds));
    let covers = if section.has("rule") {
        alone(section, &["command", "directory", "scripts"]);
        rule(section, rules).map(Covers::Rule)
    } else {
        let command = required(section, "command", |section| full_text(section, "command"));
        let directory = required(section, "directory", |section| section.parsed("directory", absolute));
        let scripts = section.list("scripts", script);
        command.zip(directory).map(|(command, directory)| Covers::Command { command, directory, scripts })
    };
    Some(Allowance { id: id?, session: session?, covers: covers? })
}

fn prohibition(section: &Section<'_>, rules: &[&str], seen: &mut Vec<String>) -> Option<Prohibition> {
    section.allow_keys(&["id", "rule", "program", "arguments", "added"]);
    let id = identity(section, seen);
    let _ = section.text("added");
    let covers = if section.has("rule") {
        alone(section, &["program", "arguments"]);
        rule(section, rules).map(Prohibited::Rule)
    } else {
        let program = required(section, "program", |section| section.parsed("program", bare_name));
        let arguments = section.list("arguments", |text| Ok(text.to_owned()));
        program.map(|program| Prohibited::Program { program, arguments })
    };
    Some(Prohibition { id: id?, covers: covers? })
}

fn identity(section: &Section<'_>, seen: &mut Vec<String>) -> Option<String> {
    let id = required(section, "id", |section| {
        section.parsed("id", |text| {
            let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
            match text {
                "" => Err(("is empty".into(), None)),
                _ if text.len() <= 64 && text.bytes().all(plain) => Ok(text.to_owned()),
                _ => Err(("is not an id".into(), Some("use letters, digits, - and _".into()))),
            }
        })
    })?;
    if seen.contains(&id) {
        section.wrong("id", "this id is used twice", Some("give each rule an id of its own".into()));
        return None;
    }
    seen.push(id.clone());
    Some(id)
}

fn required<T>(section: &Section<'_>, key: &str, read: impl FnOnce(&Section<'_>) -> Option<T>) -> Option<T> {
    if !section.has(key) {
        section.wrong(key, format!("\u{201c}{}\u{201d} is missing", section.full(key)), None);
        return None;
    }
    read(section)
}

fn alone(section: &Section<'_>, others: &[&str]) {
    for key in others.iter().filter(|key| section.has(key)) {
        section.wrong_key(
            key,
            format!("\u{201c}{key}\u{201d} cannot stand beside \u{201c}rule\u{201d}"),
            Some("make two entries of it".into()),
        );
    }
}

fn rule(section: &Section<'_>, rules: &[&str]) -> Option<String> {
    section.parsed("rule", |text| {
        if rules.contains(&text) {
            return Ok(text.to_owned());
        }
        let near = crate::mistake::nearest(text, rules.iter().copied());
        let hint = near.map_or_else(
            || "`cofferdam approvals rules` lists them".to_owned(),
            |near| format!("did you mean {}?", crate::mistake::quoted(near)),
        );
        Err(("is not the name of a rule".into(), Some(hint)))
    })
}

fn full_text(section: &Section<'_>, key: &str) -> Option<String> {
    section.parsed(key, |text| match text.trim() {
        "" => Err(("is empty".into(), None)),
        _ => Ok(text.to_owned()),
    })
}

fn absolute(text: &str) -> Result<String, (String, Option<String>)> {
    if text.starts_with('/') && !text.contains('\0') {
        return Ok(text.to_owned());
    }
    Err(("is not an absolute path".into(), Some("write the path from / on".into())))
}

fn bare_name(text: &str) -> Result<String, (String, Option<String>)> {
    if text.is_empty() || text.contains('/') || text.contains(char::is_whitespace) {
        return Err((
            "is not the name of a program".into(),
            Some("write the name alone, such as \"terraform\"".into()),
        ));
    }
    Ok(text.to_owned())
}

fn script(text: &str) -> Result<ScriptDigest, (String, Option<String>)> {
    let wrong =
        || ("is not a script".to_owned(), Some("write \"sha256:\u{2026} /path/of/the/script\"".to_owned()));
    let (sha256, path) =
        text.strip_prefix("sha256:").and_then(|rest| rest.split_once(' ')).ok_or_else(wrong)?;
    if sha256.len() != 64
        || !sha256.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
        || path.is_empty()
    {
        return Err(wrong());
    }
    Ok(ScriptDigest { path: path.to_owned(), sha256: sha256.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: &[&str] = &["git-force-push", "recursive-delete"];

    fn sentences(text: &str) -> Vec<String> {
        let mistakes = StoredApprovals::parse("approvals.toml", text, RULES).expect_err("it has mistakes");
        mistakes.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn every_kind_of_entry_is_read() {
        let text = "[[allow]]\nid = \"a1\"\nsession = \"cron\"\nrule = \"git-force-push\"\n\n\
            [[allow]]\nid = \"a2\"\nsession = \"interactive\"\ncommand = \"rm -rf build\"\ndirectory = \"/w\"\n\n\
            [[deny]]\nid = \"d1\"\nprogram = \"terraform\"\narguments = [\"destroy\"]\n";
        let stored = StoredApprovals::parse("approvals.toml", text, RULES).expect("no mistake");
        assert_eq!(stored.allow[0].covers, Covers::Rule("git-force-push".into()));
        assert_eq!(stored.allow[1].session, SessionKind::Interactive);
        assert_eq!(stored.deny.len(), 1);
    }

    #[test]
    fn req_a07_mistakes_are_told_with_their_place_and_all_at_once() {
        let told = sentences(
            "[[allow]]\nid = \"a1\"\nsession = \"cronn\"\nrule = \"git-force-pusch\"\n\
             [[allow]]\nid = \"a1\"\nsession = \"cron\"\ncommand = \"ls\"\ndirectory = \"here\"\nprefix = true\n",
        );
        assert_eq!(told.len(), 5, "{told:#?}");
        assert!(told[0].starts_with("approvals.toml:3:"), "{told:#?}");
        assert!(told.iter().any(|line| line.contains("prefix")), "{told:#?}");
    }
}
