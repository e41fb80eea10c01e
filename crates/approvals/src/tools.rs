//! What programs with subcommands do: by what is known of each, and by verbs that mean the same everywhere.
//!
//! Nobody can list every program that deletes something in a cloud. But `delete`, `destroy` and `purge` as a
//! subcommand are a promise that its author kept, and so they are believed.

use crate::Category;
use crate::call::Call;
use crate::check::VALUED;
use crate::judge::{Judge, Report};
use crate::rules::{PLAIN, TOOL_INDEX, TOOLS, Tool, ToolEffect, VERBS, fits};

/// A verb is looked for among this many words.
const DEEPEST_VERB: usize = 4;
const HARMLESS: &[&str] = &[
    "--help",
    "-h",
    "help",
    "--version",
    "--dry-run",
    "--dryrun",
    "--dry-run=client",
    "--dry-run=server",
    "--what-if",
    "--whatif",
    "--simulate",
    "--check",
    "--noop",
    "can-i",
];

impl ToolEffect {
    const fn report(self) -> Report {
        match self {
            Self::Deletes => Report::ask(
                "tool-deletes",
                Category::FileDestruction,
                "It deletes something that it manages.",
            ),
            Self::Changes => Report::ask(
                "tool-changes",
                Category::SystemControl,
                "It changes something that others depend on.",
            ),
            Self::Sends => {
                Report::ask("tool-sends", Category::Exfiltration, "It sends or shows data to somebody else.")
            }
            Self::Runs => Report::ask(
                "tool-runs",
                Category::HiddenExecution,
                "It runs something that this line does not show.",
            ),
            Self::Escalates => {
                Report::ask("tool-escalates", Category::Privilege, "It gives somebody more rights.")
            }
            Self::Persists => {
                Report::ask("tool-persists", Category::Persistence, "It makes something run again later.")
            }
            Self::Stops => {
                Report::ask("tool-stops", Category::Services, "It stops something that is running.")
            }
            Self::Reveals => Report::ask("tool-reveals", Category::Credentials, "It shows secrets."),
        }
    }
}

impl Judge<'_> {
    pub(crate) fn tools(&mut self, program: &str, call: &Call) {
        let words: Vec<&str> = call.texts().collect();
        let operands = operands(&words);
        if words.contains(&"--help") {
            return;
        }
        for at in TOOL_INDEX.find(program) {
            if let Some(effect) = effect_of(&TOOLS[at], &words, &operands) {
                self.report(&effect.report(), call.line());
            }
        }
        if words.iter().any(|word| HARMLESS.contains(word)) || PLAIN.binary_search(&program).is_ok() {
            return;
        }
        // A script of the project's own is its author's business.
        let own = call.argv[0].text();
        if own.contains('/') && !own.starts_with('/') {
            return;
        }
        if let Some(effect) = verb_of(&operands) {
            self.report(&effect.report(), call.line());
        }
        let flags = ["--delete", "--purge", "--destroy", "--wipe", "--erase", "--drop", "--delete-all"];
        if words.iter().any(|word| flags.contains(word)) {
            self.report(&ToolEffect::Deletes.report(), call.line());
        }
    }
}

/// The words that are no options and no values of the options that everybody has.
fn operands<'w>(words: &[&'w str]) -> Vec<&'w str> {
    let mut skip = false;
    words
        .iter()
        .copied()
        .filter(|word| {
            let taken = std::mem::replace(&mut skip, VALUED.contains(word));
            !taken && !word.starts_with('-')
        })
        .collect()
}

fn effect_of(tool: &Tool, words: &[&str], operands: &[&str]) -> Option<ToolEffect> {
    if tool.unless.iter().any(|phrase| says(phrase, words, operands)) {
        return None;
    }
    tool.effects
        .iter()
        .find(|(_, phrases)| phrases.iter().any(|phrase| says(phrase, words, operands)))
        .map(|(effect, _)| *effect)
}

/// Whether a phrase is said: its plain words in the order of the operands from the first on, its options
/// anywhere.
fn says(phrase: &str, words: &[&str], operands: &[&str]) -> bool {
    let mut at = 0;
    phrase.split(' ').all(|part| {
        if part.starts_with(['-', '=']) {
            return part.split('|').any(|part| words.iter().any(|word| option_fits(part, word)));
        }
        let found = operands.get(at).is_some_and(|word| part.split('|').any(|part| fits(part, word)));
        at += 1;
        found
    })
}

fn option_fits(pattern: &str, word: &str) -> bool {
    let pattern = pattern.strip_prefix('=').unwrap_or(pattern);
    fits(pattern, word) || word.split_once('=').is_some_and(|(option, _)| option == pattern)
}

fn verb_of(operands: &[&str]) -> Option<ToolEffect> {
    let plain = |word: &&&str| {
        !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || "-_:".contains(c))
    };
    let words: Vec<&str> = operands.iter().take(DEEPEST_VERB).take_while(plain).copied().collect();
    let said = |word: &str, verb: &str| {
        word == verb
            || word.split(['-', '_', ':']).next() == Some(verb)
            || word.rsplit([':', '-', '_']).next() == Some(verb)
    };
    VERBS.iter().find_map(|verb| {
        let spoken = verb.words.iter().any(|wanted| words.iter().take(3).any(|word| said(word, wanted)));
        let about = verb.with.is_empty()
            || verb.with.iter().any(|wanted| {
                words.iter().any(|word| word.split(['-', '_', ':']).any(|part| part == *wanted))
            });
        (spoken && about).then_some(verb.effect)
    })
}
