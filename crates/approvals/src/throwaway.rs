//! Things that were made to be thrown away.

use crate::program_text::Program;

/// Whether containers are removed that by their names were made for a test.
pub(crate) fn is_throwaway(program: &str, words: &[&str]) -> bool {
    if !matches!(program, "docker" | "podman" | "nerdctl") {
        return false;
    }
    let operands: Vec<&str> = words.iter().copied().filter(|word| !word.starts_with('-')).collect();
    let (["rm", names @ ..] | ["container", "rm", names @ ..]) = operands.as_slice() else { return false };
    let made = |name: &&str| {
        name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
            && name.split(['-', '_', '.']).any(|part| {
                part.starts_with("test")
                    || matches!(part, "tmp" | "temp" | "demo" | "ci" | "scratch" | "sandbox" | "e2e")
            })
            && !name.contains("prod")
    };
    !names.is_empty()
        && names.iter().all(made)
        && !words.iter().any(|word| word.starts_with('-') && !matches!(*word, "-f" | "--force"))
}

impl Program<'_> {
    /// Whether a call is given a variable that holds a directory which the program has just made for itself, and never
    /// anything else.
    pub(crate) fn made_for_a_while(&self, start: usize) -> bool {
        const MAKES: &[&str] =
            &["tempfile.mkdtemp(", "mkdtemp(", "fs.mkdtempSync(", "mkdtempSync(", "Dir.mktmpdir"];
        let text = self.masked.as_str();
        let Some((_, arguments)) = text.get(start..).and_then(|rest| rest.split_once('(')) else {
            return false;
        };
        let name = arguments.split([',', ')']).next().unwrap_or_default().trim();
        let part = |c: char| c.is_alphanumeric() || c == '_';
        if name.is_empty() || !name.chars().all(part) {
            return false;
        }
        let mut made = false;
        for (at, _) in text.match_indices(name) {
            let within = text[..at].chars().next_back().is_some_and(|c| part(c) || c == '.');
            let after = text[at + name.len()..].trim_start();
            if within || after.starts_with(part) && !after.starts_with("in ") {
                continue;
            }
            // Set in some other way: by a loop, together with others, or with more than one sign.
            let before = text[..at].trim_end();
            if before.ends_with("for")
                || before.ends_with(" as")
                || after.starts_with("+=")
                || after.starts_with(":=")
            {
                return false;
            }
            if let Some(value) = after.strip_prefix('=').filter(|value| !value.starts_with('=')) {
                if !MAKES.iter().any(|makes| value.trim_start().starts_with(makes)) {
                    return false;
                }
                made = true;
            }
        }
        made
    }
}
