//! `[[tool]]`: what a script may be granted besides the built-in tools.

use std::time::Duration;

use super::path_text;
use super::reader::Section;
use crate::mistake::quoted;

/// A tool of the user's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tool {
    pub name: String,
    pub description: String,
    pub runs: Runs,
    /// A JSON Schema of the arguments, as text; a server brings its own.
    pub schema: Option<String>,
    pub timeout: Duration,
    pub trust: ToolTrust,
    /// The one provider whose credential it works with.
    pub provider: Option<String>,
    /// What a server sees besides the workspace, read-only.
    pub read: Vec<String>,
    /// Whether every call of it is asked about.
    pub ask: bool,
}

/// What is started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Runs {
    /// A program that gets the arguments as JSON on its standard input and prints the result as JSON.
    Command(Vec<String>),
    /// A server that speaks MCP over its standard streams, in a sandbox of its own; it may have many tools.
    Mcp(Vec<String>),
}

/// What a command is told of the environment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ToolTrust {
    /// What any program gets.
    Helper,
    /// What a program gets that the user configured.
    #[default]
    Tool,
    /// The same for one that works for a provider; it gets that provider's credential.
    Executor,
}

/// Names that are taken.
const BUILT_IN: &[&str] =
    &["terminal", "read_file", "write_file", "search_files", "patch", "execute_code", "call", "acall", "aio"];
const USUAL_TIMEOUT: Duration = Duration::from_secs(60);

pub(super) fn read_all(root: &Section<'_>) -> Vec<Tool> {
    let mut tools: Vec<Tool> = Vec::new();
    for section in root.sections("tool") {
        let Some(tool) = read(&section) else { continue };
        if tools.iter().any(|earlier| earlier.name == tool.name) {
            let sentence = format!("there are two tools called {}", quoted(&tool.name));
            section.wrong("name", sentence, Some("give one of them another name".into()));
        }
        tools.push(tool);
    }
    tools
}

fn read(section: &Section<'_>) -> Option<Tool> {
    section.allow_keys(&[
        "name",
        "description",
        "command",
        "mcp",
        "schema",
        "timeout",
        "trust",
        "provider",
        "read",
        "ask",
    ]);
    let trusts =
        [("helper", ToolTrust::Helper), ("tool", ToolTrust::Tool), ("executor", ToolTrust::Executor)];
    let trust = section.choice("trust", &trusts).unwrap_or_default();
    let provider = section.text("provider").map(str::to_owned);
    if trust == ToolTrust::Executor && provider.is_none() {
        section.wrong(
            "trust",
            "an executor works for a provider",
            Some("add provider = \"\u{2026}\"".into()),
        );
    }
    if section.has("mcp") && (section.has("schema") || section.has("trust")) {
        let hint = "remove schema and trust; a server describes its tools, and has a sandbox of its own";
        section.wrong("mcp", "a server has neither a schema nor a trust here", Some(hint.into()));
    }
    Some(Tool {
        name: name(section)?,
        description: section.text("description").unwrap_or_default().to_owned(),
        runs: runs(section)?,
        schema: section.text("schema").map(str::to_owned),
        timeout: section.duration("timeout").unwrap_or(USUAL_TIMEOUT),
        trust,
        provider,
        read: path_text(section, "read"),
        ask: section.flag("ask").unwrap_or_default(),
    })
}

fn name(section: &Section<'_>) -> Option<String> {
    if !section.has("name") {
        section.wrong("name", "a tool has no name", Some("add name = \"\u{2026}\"".into()));
    }
    section.parsed("name", |text| {
        let letters = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
        let begins = text.bytes().next().is_some_and(|byte| byte.is_ascii_lowercase());
        match text {
            _ if BUILT_IN.contains(&text) => Err(("is the name of a built-in tool".into(), None)),
            _ if begins && text.bytes().all(letters) && text.len() <= 64 => Ok(text.to_owned()),
            _ => Err((
                "is not a name".into(),
                Some("use lower-case letters, digits and underscores, a letter first".into()),
            )),
        }
    })
}

fn runs(section: &Section<'_>) -> Option<Runs> {
    let key = match (section.has("command"), section.has("mcp")) {
        (true, false) => "command",
        (false, true) => "mcp",
        _ => {
            let hint = "add command = [\u{2026}] or mcp = [\u{2026}]".to_owned();
            section.wrong("name", "a tool is either a command or a server", Some(hint));
            return None;
        }
    };
    section.needs(key, "needs the program, and its arguments if it has any");
    let argv = section.list(key, |text| match text {
        _ if text.contains('\0') => Err(("has a NUL character".into(), None)),
        _ => Ok(text.to_owned()),
    });
    Some(if key == "mcp" { Runs::Mcp(argv) } else { Runs::Command(argv) })
}

#[cfg(test)]
mod tests {
    use crate::document::{Config, Runs};

    #[test]
    fn tools_are_read_and_mistakes_are_told_with_their_place() {
        let good = "[[tool]]\nname = \"weather\"\ncommand = [\"weather\", \"--json\"]\ntimeout = \"5s\"\n\
            [[tool]]\nname = \"docs\"\nmcp = [\"docs-server\"]\nprovider = \"acme\"\n";
        let config = Config::parse("c", good).expect("two tools");
        assert_eq!(config.tools.len(), 2);
        assert_eq!(config.tools[1].runs, Runs::Mcp(vec!["docs-server".into()]));
        for (bad, says) in [
            ("[[tool]]\nname = \"a\"", "either a command or a server"),
            ("[[tool]]\nname = \"a\"\ncommand = []", "needs the program"),
            ("[[tool]]\nname = \"terminal\"\ncommand = [\"x\"]", "built-in"),
            ("[[tool]]\nname = \"A b\"\ncommand = [\"x\"]", "is not a name"),
            ("[[tool]]\nname = \"a\"\nmcp = [\"x\"]\nschema = \"{}\"", "neither a schema"),
            ("[[tool]]\nname = \"a\"\ncommand = [\"x\"]\ntrust = \"executor\"", "works for a provider"),
            ("[[tool]]\nname = \"a\"\ncomand = [\"x\"]", "not a key"),
            ("[[tool]]\nname = \"a\"\ncommand = [\"x\"]\n[[tool]]\nname = \"a\"\nmcp = [\"x\"]", "two tools"),
        ] {
            let mistakes = Config::parse("c", bad).expect_err(bad);
            assert!(mistakes.iter().any(|mistake| mistake.to_string().contains(says)), "{bad}: {mistakes:?}");
        }
    }
}
