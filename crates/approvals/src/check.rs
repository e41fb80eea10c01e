//! Rules applied to the words of a call.

use cofferdam_shell_syntax::{Shell, Word};

use crate::call::Call;
use crate::judge::{Judge, Report};
use crate::names::{Few, Names, letters};
use crate::rules::{RULE_INDEX, RULES, Rule, fits};
use crate::{Category, Decision, Severity};

/// Options in front of a subcommand that take their value in the next word.
pub(crate) static VALUED: Names = Names::of(&[
    "-C",
    "-c",
    "-n",
    "--namespace",
    "--context",
    "--kubeconfig",
    "--profile",
    "--region",
    "--project",
    "--git-dir",
    "--work-tree",
    "-H",
    "--host",
    "--prefix",
    "-R",
    "--repo",
    "--kube-context",
    "--cluster",
    "--user",
    "--server",
    "--account",
    "--subscription",
    "--config",
    "-f",
    "--file",
    "-p",
    "--project-name",
    "--project-directory",
    "-l",
    "--log-level",
    "--endpoint-url",
    "--output",
    "-M",
    "--machine",
    "--token",
    "--manifest-path",
    "-e",
    "--env",
    "-u",
    "-h",
    "-P",
    "-U",
]);

/// The words of a call, as far as some rule has asked for them.
struct Looked<'c> {
    letters: Option<u128>,
    words: Option<Few<'c>>,
}

impl<'c> Looked<'c> {
    fn words(&mut self, call: &'c Call) -> &[&'c str] {
        self.words.get_or_insert_with(|| call.texts().collect())
    }

    fn letters(&mut self, call: &Call) -> u128 {
        let of_call = || call.texts().fold(0, |set, text| set | letters(text.as_bytes()));
        *self.letters.get_or_insert_with(of_call)
    }

    /// Whether the letters of the words are enough for one of those that a rule asks for. Mostly they are not.
    fn may_have_any(&mut self, rule: &Rule, call: &Call) -> bool {
        let letters = self.letters(call);
        rule.any.is_empty() || rule.any_letters.iter().any(|wanted| wanted & !letters == 0)
    }
}

impl Judge<'_> {
    pub(crate) fn rules(&mut self, shell: &mut Shell, program: &str, call: &Call) {
        let mut looked = Looked { letters: None, words: None };
        for at in RULE_INDEX.find(program) {
            self.rule(shell, &RULES[at], call, &mut looked);
        }
        if program.bytes().any(|byte| byte.is_ascii_uppercase()) {
            let lower = program.to_ascii_lowercase();
            for at in RULE_INDEX.find(&lower).filter(|&at| RULES[at].ignore_case) {
                self.rule(shell, &RULES[at], call, &mut looked);
            }
        }
    }

    fn rule<'c>(&mut self, shell: &mut Shell, rule: &'static Rule, call: &'c Call, looked: &mut Looked<'c>) {
        if !looked.may_have_any(rule, call) || !self.applies(rule, call, looked) || only_looks(rule, call) {
            return;
        }
        if rule.unless_download
            && let Some(target) = downloaded_to(call)
        {
            let target = target.clone();
            self.written(&target, call);
            return;
        }
        let texts = payloads(rule, call);
        let harmless = !texts.is_empty()
            && texts.iter().all(|text| {
                let first = text.text().split_whitespace().next().unwrap_or_default();
                let name = first.rsplit('/').next().unwrap_or(first);
                text.is_empty() || rule.unless_runs.contains(&name)
            });
        for text in &texts {
            if let Some(text) = text.as_known() {
                let text = text.trim_start_matches('!').to_owned();
                shell.run_child(&text, Vec::new(), &call.input, self);
            }
        }
        if harmless && !rule.unless_runs.is_empty() {
            return;
        }
        let report = Report {
            rule: rule.id,
            category: rule.category,
            severity: rule.severity,
            decision: rule.decision,
            sentence: rule.sentence,
        };
        self.report(&report, call.line());
    }

    fn applies<'c>(&self, rule: &Rule, call: &'c Call, looked: &mut Looked<'c>) -> bool {
        // Programs written in Go take `-help` for `--help`, and no rule is about asking for help.
        if rule.none.contains(&"--help") && call.has_word(&["-help"]) {
            return false;
        }
        let letters = looked.letters(call);
        let words = looked.words(call);
        let lower: Vec<String>;
        let lower_words: Vec<&str>;
        let capital = |word: &&str| word.bytes().any(|byte| byte.is_ascii_uppercase());
        let words = if rule.ignore_case && words.iter().any(capital) {
            lower = words.iter().map(|word| word.to_ascii_lowercase()).collect();
            lower_words = lower.iter().map(String::as_str).collect();
            &lower_words
        } else {
            words
        };
        let one = |pattern: &str| words.iter().any(|word| word_fits(pattern, word, rule.exact));
        starts(rule.sub, words)
            && (rule.any.is_empty()
                || rule
                    .any
                    .iter()
                    .zip(rule.any_letters)
                    .any(|(pattern, wanted)| wanted & !letters == 0 && one(pattern)))
            && rule.all.iter().all(|pattern| pattern.split('|').any(one))
            && !rule.none.iter().any(|pattern| excuses(pattern, own_words(rule, pattern, words), rule.exact))
            && (rule.operand.is_empty()
                || call.operands().any(|word| {
                    let value = word.text().split_once('=').map_or(word.text(), |(_, value)| value);
                    let path = crate::place::Path::of_text(value, call.directory.as_deref(), self.context);
                    rule.operand.contains(&path.place)
                }))
    }

    /// Commands that would change what governs the agent.
    pub(crate) fn own_commands(&mut self, program: &str, call: &Call) {
        if program != "cofferdam" {
            return;
        }
        let words: Vec<&str> = call.texts().filter(|text| !text.starts_with('-')).collect();
        let changes =
            match words.as_slice() {
                ["approvals", what, ..] => !matches!(*what, "check" | "list" | "rules"),
                ["egress", what, ..] => !matches!(*what, "status" | "doctor" | "audit"),
                ["session", "kill", ..] | ["hook", ..] => true,
                _ => false,
            } || call.texts().any(|text| text.starts_with("--danger") || text == "--inherit-credentials");
        if changes {
            let report = Report {
                rule: "own-policy-command",
                category: Category::OwnPolicy,
                severity: Severity::Critical,
                decision: Decision::Deny,
                sentence: "This changes the rules that this session works under.",
            };
            self.report(&report, call.line());
        }
    }
}

/// The local target of a copy whose sources all lie elsewhere.
fn downloaded_to(call: &Call) -> Option<&Word> {
    let mut picks = false;
    let paths: Vec<&Word> = call
        .arguments()
        .iter()
        .filter(|word| {
            let pattern = std::mem::replace(&mut picks, matches!(word.text(), "--exclude" | "--include"));
            !pattern && !word.text().starts_with('-') && (word.text().contains(['/', '.', ':']))
        })
        .collect();
    let (target, sources) = paths.split_last()?;
    let elsewhere = |word: &&&Word| word.text().contains(':');
    let deletes =
        call.texts().any(|text| text.contains("delete") || matches!(text, "mv" | "move" | "moveto"));
    (!sources.is_empty() && sources.iter().all(|word| elsewhere(&word)) && !elsewhere(&target) && !deletes)
        .then_some(*target)
}

/// Whether the words that are no options begin with these, whatever option takes a value.
fn starts(sub: &[&str], words: &[&str]) -> bool {
    if sub.is_empty() {
        return true;
    }
    let begins = |found: &mut dyn Iterator<Item = &str>| {
        sub.iter()
            .all(|wanted| found.next().is_some_and(|word| wanted.split('|').any(|wanted| fits(wanted, word))))
    };
    let mut skip = false;
    let mut careful = words.iter().copied().filter(|word| {
        if skip {
            skip = false;
            return false;
        }
        skip = VALUED.contains(word);
        !word.starts_with('-')
    });
    if begins(&mut careful) {
        return true;
    }
    begins(&mut words.iter().copied().filter(|word| !word.starts_with(['-', '+'])))
}

/// The words that are a program's own. Behind a command that it starts for another user, `-v` is that command's.
fn own_words<'a, 'w>(rule: &Rule, pattern: &str, words: &'a [&'w str]) -> &'a [&'w str] {
    if rule.unless_inner.is_empty() || pattern.starts_with("--") {
        return words;
    }
    let mut end = 0;
    while words.get(end).is_some_and(|word| word.starts_with('-')) {
        end += if matches!(words[end], "-u" | "-g" | "-U" | "-h" | "-p") { 2 } else { 1 };
    }
    &words[..end.min(words.len())]
}

/// Whether a word takes the call out of a rule. Words that are no options do so only where a subcommand
/// stands: a container that is called `ps` does not make `docker rm ps` harmless.
fn excuses(pattern: &str, words: &[&str], exact: bool) -> bool {
    if pattern.starts_with(['-', '/']) || pattern.contains("://") || pattern.contains('=') {
        return words.iter().any(|word| word_fits(pattern, word, exact));
    }
    let mut skip = false;
    let operands = words.iter().filter(|word| {
        if skip {
            skip = false;
            return false;
        }
        skip = VALUED.contains(word);
        !word.starts_with('-')
    });
    operands.take(3).any(|word| fits(pattern, word)) || words.iter().take(2).any(|word| fits(pattern, word))
}

/// Whether a pattern of a rule fits one word; `-f` is found in `-xf` too.
fn word_fits(pattern: &str, word: &str, exact: bool) -> bool {
    // Nearly every pattern begins with another letter than the word, and that is the end of it.
    let (first, begins) = (pattern.as_bytes().first(), word.as_bytes().first());
    if first != begins && first != Some(&b'*') {
        return false;
    }
    if !exact && pattern.len() == 2 && pattern.starts_with('-') && pattern != "--" {
        return word == pattern
            || (word.starts_with('-')
                && !word.starts_with("--")
                && word.len() < 8
                && word[1..].contains(&pattern[1..])
                && word[1..].chars().all(|c| c.is_ascii_alphabetic()));
    }
    if pattern.starts_with("--") && !pattern.contains('*') {
        return word == pattern || word.strip_prefix(pattern).is_some_and(|rest| rest.starts_with('='));
    }
    fits(pattern, word)
}

fn payloads(rule: &Rule, call: &Call) -> Vec<Word> {
    let mut texts = Vec::new();
    let words = call.arguments();
    for prefix in rule.runs {
        for (at, word) in words.iter().enumerate() {
            if word.text() == *prefix {
                texts.extend(words.get(at + 1).cloned());
            } else if let Some(rest) = word.text().strip_prefix(prefix)
                && (prefix.ends_with('=') || !prefix.starts_with("--") || rest.starts_with('='))
            {
                texts.push(word.with_text(rest.trim_start_matches('=')));
            }
        }
    }
    texts
}

/// Whether what a wrapper starts only looks: `sudo systemctl status nginx`.
fn only_looks(rule: &Rule, call: &Call) -> bool {
    let words: Vec<&str> =
        call.texts().skip_while(|text| matches!(*text, "-n" | "-E" | "-H" | "--non-interactive")).collect();
    let Some((program, rest)) = words.split_first() else { return false };
    let changes = |text: &&str| CHANGES.iter().any(|option| fits(option, text));
    !rest.iter().any(changes)
        && rule.unless_inner.iter().any(|phrase| {
            let mut parts = phrase.split_whitespace();
            let named = parts.next().is_some_and(|names| names.split('|').any(|name| name == *program));
            named && parts.all(|part| part.split('|').any(|word| rest.contains(&word)))
        })
}

/// Options by which programs that look change something after all.
const CHANGES: &[&str] = &[
    "--vacuum*",
    "--rotate",
    "--flush",
    "--setup-keys",
    "-K",
    "--kill",
    "-Z*",
    "--zero*",
    "--dump*",
    "--sync",
];
