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
        let text = self.masked.as_str();
        let Some((_, arguments)) = text.get(start..).and_then(|rest| rest.split_once('(')) else {
            return false;
        };
        let name = arguments.split([',', ')']).next().unwrap_or_default().trim();
        // Ways to set a variable that do not look like it.
        let hidden = [
            "for", "def ", "lambda", "function", "=>", "exec", "eval", "globals", "locals", "vars(", " as ",
            ":=",
        ];
        if text.len() > crate::listed::LONGEST
            || name.is_empty()
            || !name.chars().all(is_part)
            || hidden.iter().any(|word| text.contains(word))
        {
            return false;
        }
        let mut made = false;
        for statement in text.split([';', '\n']) {
            let Some((target, value)) = assignment(statement) else { continue };
            if !target.split(|c| !is_part(c)).any(|word| word == name) {
                continue;
            }
            let alone = target.trim().rsplit(' ').next() == Some(name) && !target.contains(',');
            if !alone || !is_new_directory(value) {
                return false;
            }
            made = true;
        }
        made
    }
}

fn is_part(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// What is set and what to, where a statement sets something. The first sign outside of brackets decides.
fn assignment(statement: &str) -> Option<(&str, &str)> {
    let bytes = statement.as_bytes();
    let mut open = 0_usize;
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            b'(' | b'[' | b'{' => open += 1,
            b')' | b']' | b'}' => open = open.saturating_sub(1),
            b'=' if open == 0 && bytes.get(at + 1) != Some(&b'=') => {
                return Some((&statement[..at], &statement[at + 1..]));
            }
            _ => {}
        }
    }
    None
}

/// Whether a value is one call that makes a directory, and nothing is done to it.
fn is_new_directory(value: &str) -> bool {
    let value = value.trim();
    ["tempfile.mkdtemp(", "mkdtemp(", "fs.mkdtempSync("].iter().any(|makes| {
        value
            .strip_prefix(makes)
            .and_then(|rest| rest.strip_suffix(')'))
            .is_some_and(|inner| !inner.contains(['(', ')']))
    })
}
