//! The judgement of a whole command line.

use std::borrow::Cow;
use std::hash::RandomState;

use cofferdam_shell_syntax::{
    Doubt, HOLE, RedirectKind, Shell, SimpleCommand, Source, Surroundings, Watch, Word, misleading,
};

use crate::call::Call;
use crate::filling::FILLS;
use crate::names::Few;
use crate::prints::{Prints, fingerprint, repeats_itself};
use crate::{Category, Context, Decision, Finding, Severity, Verdict};

/// Wrappers within wrappers are opened this deep; beyond, it is asked about.
const DEEPEST: usize = 24;
/// Longer command lines are asked about without being read.
const LONGEST: usize = cofferdam_shell_syntax::LONGEST;

/// Judges a command line that may not even be text.
pub fn judge_bytes(command: &[u8], context: &Context) -> Verdict {
    match std::str::from_utf8(command) {
        Ok(text) => judge(text, context),
        Err(_) => Verdict::of(vec![not_understood("it is not UTF-8 text", "")]),
    }
}

/// Judges a command line for a place where it would run.
pub fn judge(command: &str, context: &Context) -> Verdict {
    judge_with(command, context, None).0
}

/// The judgement, and every call that it is about, with the wrappers in front of it taken off.
pub(crate) fn judge_calls(command: &str, context: &Context) -> (Verdict, Vec<Call>) {
    let (verdict, calls) = judge_with(command, context, Some(Vec::new()));
    (verdict, calls.unwrap_or_default())
}

fn judge_with(command: &str, context: &Context, calls: Option<Vec<Call>>) -> (Verdict, Option<Vec<Call>>) {
    if command.len() > LONGEST {
        return (Verdict::of(vec![not_understood("it is too long to be read", "")]), calls);
    }
    let surroundings = Surroundings {
        home: context.home.clone(),
        directory: context.directory.clone(),
        user: context.user.clone(),
    };
    let mut shell = Shell::new(surroundings);
    let mut judge = Judge {
        context,
        findings: Vec::new(),
        calls,
        depth: 0,
        spelt: 0,
        unpacked: false,
        program_work: 0,
        judged: Prints::default(),
        harmless_targets: Prints::default(),
        links: Vec::new(),
        git_names: Vec::new(),
        memory: RandomState::new(),
        put_together: Vec::new(),
        whole: String::new(),
    };
    shell.run_text(command, &mut judge);
    shell.run_uncalled(&mut judge);
    judge.text(command);
    for doubt in shell.doubts() {
        judge.doubt(doubt);
    }
    // Written without its spaces no bash takes it; other shells do, and what is meant is plain.
    if !shell.doubts().is_empty() && names_fork_bomb(command) {
        judge.report(&FORKS, "");
    }
    (Verdict::of(judge.findings), judge.calls)
}

pub(crate) fn not_understood(why: &str, words: &str) -> Finding {
    Finding {
        rule: "not-understood",
        category: Category::NotUnderstood,
        severity: Severity::Medium,
        decision: Decision::Ask,
        sentence: format!("This cannot be judged: {why}."),
        words: words.to_owned(),
    }
}

/// What is told about one command: the rule, the kind, how bad it is, and what is to happen.
pub(crate) struct Report {
    pub rule: &'static str,
    pub category: Category,
    pub severity: Severity,
    pub decision: Decision,
    pub sentence: &'static str,
}

impl Report {
    pub const fn ask(rule: &'static str, category: Category, sentence: &'static str) -> Self {
        Self { rule, category, severity: Severity::High, decision: Decision::Ask, sentence }
    }

    pub const fn deny(rule: &'static str, category: Category, sentence: &'static str) -> Self {
        Self { rule, category, severity: Severity::Critical, decision: Decision::Deny, sentence }
    }
}

const FORKS: Report =
    Report::deny("fork-bomb", Category::SystemControl, "A function starts copies of itself without end.");
/// The same by other means.
pub(crate) const FLOODS: Report = Report::deny(
    "fork-bomb",
    Category::SystemControl,
    "It starts processes without end and without waiting for any of them.",
);

pub(crate) struct Judge<'a> {
    pub context: &'a Context,
    pub findings: Vec<Finding>,
    /// Every call that was looked at, in the order of looking, where somebody wants to know.
    pub calls: Option<Vec<Call>>,
    pub depth: usize,
    /// How many of the calls around this one were spelt out.
    pub spelt: usize,
    /// Whether an archive from the network has been unpacked by this text.
    pub unpacked: bool,
    /// How much work the program texts were that have been looked at.
    pub program_work: usize,
    /// Calls that were looked at and would be judged the same again.
    pub judged: Prints,
    /// Files that may be written, as far as their names tell.
    pub harmless_targets: Prints,
    /// Names that this text has given to other files, and what they stand for.
    pub links: Vec<crate::links::Link>,
    /// Names that this text has given to git commands.
    pub git_names: Vec<(String, String)>,
    /// Keys of its own for each judgement, so that nobody can make two names look the same.
    pub memory: RandomState,
    /// What is summed up with them, kept so that it is allocated once.
    pub put_together: Vec<u8>,
    /// A path that is made whole to be looked at, kept for the same reason.
    pub whole: String,
}

impl Watch for Judge<'_> {
    fn command(&mut self, shell: &mut Shell, index: usize) {
        let command = &shell.commands()[index];
        // Most commands open nothing and set nothing; they are copied only once, as the call to judge.
        if command.redirects.is_empty() && command.assignments.is_empty() {
            if !command.argv.is_empty() {
                let call = Call::of(command);
                self.inspect(shell, &call);
            }
            return;
        }
        if command.assignments.is_empty() {
            self.redirects(command);
            if !command.argv.is_empty() {
                let call = Call::of(command);
                self.inspect(shell, &call);
            }
            // Nothing that is inspected changes what was told before.
            let command = &shell.commands()[index];
            self.dumped(command);
            self.emptied(command);
            return;
        }
        let command = command.clone();
        self.redirects(&command);
        self.assignments(shell, &command);
        if !command.argv.is_empty() {
            self.inspect(shell, &Call::of(&command));
        }
        self.dumped(&command);
        self.emptied(&command);
    }
}

impl Judge<'_> {
    pub fn report(&mut self, report: &Report, words: impl Into<String>) {
        let finding = Finding {
            rule: report.rule,
            category: report.category,
            severity: report.severity,
            decision: report.decision,
            sentence: report.sentence.to_owned(),
            words: words.into(),
        };
        if !self.findings.contains(&finding) {
            self.findings.push(finding);
        }
    }

    /// Judges one call: its wrappers opened, its rules applied, its effects weighed.
    pub fn inspect(&mut self, shell: &mut Shell, call: &Call) {
        if self.depth >= DEEPEST {
            self.findings.push(not_understood("it hides behind too many wrappers", &call.line()));
            return;
        }
        self.depth += 1;
        self.inspect_inner(shell, call);
        if let Some(closed) = call.without_gaps() {
            self.inspect_inner(shell, &closed);
            if let Some(spelt) = closed.spelt_out() {
                self.inspect_spelt(shell, &closed, &spelt);
            }
        }
        if let Some(spelt) = call.spelt_out() {
            self.inspect_spelt(shell, call, &spelt);
        }
        self.depth -= 1;
    }

    pub(crate) fn inspect_inner(&mut self, shell: &mut Shell, call: &Call) {
        let Some(call) = self.named(shell, call) else { return };
        let call = call.as_ref();
        if call.argv[0].text().starts_with("BASH_FUNC_") {
            self.report(
                &Report::ask(
                    "exported-function",
                    Category::HiddenExecution,
                    "It smuggles a function into every shell that is started.",
                ),
                call.line(),
            );
        }
        let Some(program) = call.program() else { return };
        if let Some(calls) = &mut self.calls {
            calls.push(call.clone());
        }
        if repeats_itself(program, call)
            && let Some(print) =
                fingerprint(program, call, shell.writes(), &self.memory, &mut self.put_together)
            && !self.judged.insert(print)
        {
            return;
        }
        self.service_script(call);
        self.hidden_names(program, call);
        self.hidden_program(call);
        self.rules(shell, program, call);
        self.own_commands(program, call);
        self.tools(program, call);
        self.mounted(program, call);
        if self.peel(shell, program, call) {
            return;
        }
        self.handed_on(shell, program, call);
        self.git_aliases(shell, program, call);
        self.interpreters(shell, program, call);
        self.written_script(shell, call);
        self.downloaded_program(shell, program, call);
        self.recipes(shell, program, call);
        self.deletions(shell, program, call);
        self.filling(program, call);
        self.devices(program, call);
        self.writes(shell, program, call);
        self.accounts(shell, program, call);
        self.file_servers(program, call);
        self.transfers(shell, program, call);
        self.databases(shell, program, call);
        self.reads(shell, program, call);
        self.linked(program, call);
    }

    /// The call with a command word that is known, or a finding that it is not.
    fn named<'c>(&mut self, shell: &Shell, call: &'c Call) -> Option<Cow<'c, Call>> {
        let word = call.argv.first()?;
        if word.is_glob() && word.text().contains(['*', '?', '[']) && !matches!(word.text(), "[" | "[[") {
            self.report(
                &Report::ask(
                    "pattern-as-command",
                    Category::HiddenExecution,
                    "The program to run is given as a pattern of file names.",
                ),
                call.line(),
            );
            return None;
        }
        // `ｒｍ` is not `rm`, but it is meant to be read as that.
        if !word.text().is_ascii() && word.text().chars().any(|c| !c.is_ascii() && c.is_alphabetic()) {
            self.report(
                &Report::ask(
                    "misleading-characters",
                    Category::HiddenExecution,
                    "The name of the program is spelt with letters that look like others.",
                ),
                call.line(),
            );
        }
        if call.program().is_some() {
            self.veiled(shell, word.sources(), call);
            return Some(Cow::Borrowed(call));
        }
        if word.is_empty() {
            return None;
        }
        if let Some(program) = conventional(word) {
            let mut argv = call.argv.to_vec();
            argv[0] = Word::known(program);
            return Some(Cow::Owned(call.with_argv(argv)));
        }
        self.unknown_command(shell, call);
        // A variable that is not set leaves nothing behind: `r${x}m` may well be `rm`.
        let known: String = word.text().chars().filter(|c| *c != HOLE).collect();
        if known.is_empty() {
            return None;
        }
        let mut argv = call.argv.to_vec();
        argv[0] = Word::known(known);
        Some(Cow::Owned(call.with_argv(argv)))
    }

    fn text(&mut self, command: &str) {
        if joins_by_separator(command) {
            self.report(
                &Report::ask(
                    "joined-words",
                    Category::HiddenExecution,
                    "Words are joined by a variable that stands for a space, as only somebody does who hides them.",
                ),
                "",
            );
        }
        if misleading(command).is_some() {
            self.report(
                &Report {
                    rule: "misleading-characters",
                    category: Category::HiddenExecution,
                    severity: Severity::High,
                    decision: Decision::Ask,
                    sentence: "The text contains characters that make a person see something else than what runs.",
                },
                "",
            );
        }
    }

    /// Files that are given a name which a person overlooks in a listing.
    fn hidden_names(&mut self, program: &str, call: &Call) {
        if !matches!(program, "mv" | "cp" | "mkdir" | "touch" | "ln" | "install") {
            return;
        }
        let overlooked = |part: &str| {
            let dots = part.len() > 2 && part.trim().chars().all(|c| c == '.') && part.trim() != "..";
            dots || part.ends_with(' ') || part.chars().any(|c| c.is_control() && c != '\n')
        };
        if call.operands().any(|word| word.text().split('/').any(overlooked)) {
            self.report(
                &Report::ask(
                    "hidden-name",
                    Category::DefenceEvasion,
                    "It gives a file a name that a person overlooks in a listing.",
                ),
                call.line(),
            );
        }
    }

    /// A program that lies where nobody looks and nothing stays.
    fn hidden_program(&mut self, call: &Call) {
        let path = call.argv[0].text();
        let hidden = ["/tmp/", "/var/tmp/"].iter().any(|top| path.starts_with(top)) && path.contains("/.");
        if hidden || path.starts_with("/dev/shm/") {
            self.report(
                &Report::ask(
                    "hidden-program",
                    Category::DefenceEvasion,
                    "It runs a program out of shared memory or a hidden directory, where nothing stays.",
                ),
                call.line(),
            );
        }
    }

    fn doubt(&mut self, doubt: &Doubt) {
        match doubt {
            Doubt::SelfReplication => return self.report(&FORKS, ""),
            Doubt::EndlessJobs => return self.report(&FLOODS, ""),
            _ => {}
        }
        self.findings.push(not_understood(&doubt.to_string(), ""));
    }

    /// The whole environment kept in a file.
    fn dumped(&mut self, command: &SimpleCommand) {
        let words: Few<'_> = command.argv.iter().map(Word::text).collect();
        let all = matches!(
            words.as_slice(),
            ["env" | "printenv"] | ["export" | "declare", "-p" | "-x" | "-xp"] | ["set"]
        );
        let kept = command.redirects.iter().any(|redirect| {
            matches!(redirect.kind, RedirectKind::Write | RedirectKind::Append)
                && redirect.target.text() != "/dev/null"
        });
        let endless = words.first() == Some(&"yes")
            || matches!(words.as_slice(), ["cat", "/dev/urandom" | "/dev/random" | "/dev/zero"]);
        if endless && kept && !command.piped {
            self.report(&FILLS, words.join(" "));
        }
        let nowhere = command.redirects.iter().any(|redirect| redirect.target.text() == "/dev/null");
        if endless && nowhere && !kept && !command.piped {
            self.report(
                &Report::ask(
                    "burn-processor",
                    Category::SystemControl,
                    "It keeps a processor busy without end and for nothing.",
                ),
                words.join(" "),
            );
        }
        if all && kept {
            self.report(
                &Report::ask(
                    "dump-environment",
                    Category::Credentials,
                    "It keeps the whole environment, secrets included, in a file.",
                ),
                words.join(" "),
            );
        }
    }

    /// A command that only empties a file: `> notes.md`.
    fn emptied(&mut self, command: &SimpleCommand) {
        let printing = command.argv.first().is_some_and(|word| !matches!(word.text(), ":" | "true"))
            && !(command.argv.len() == 2 && command.argv[1].text() == "/dev/null")
            && !(command.argv[0].text() == "echo" && command.argv[1..].iter().all(Word::is_empty));
        if printing
            || !command.assignments.is_empty()
            || command.redirects.is_empty()
            || command.written.is_empty()
        {
            return;
        }
        self.truncations(command);
    }
}

/// `:(){:|:&};:`, under any name.
fn names_fork_bomb(command: &str) -> bool {
    if !command.contains('(') || !command.contains('{') {
        return false;
    }
    let tight: String = command.chars().filter(|c| !c.is_whitespace()).collect();
    tight.match_indices("(){").any(|(at, _)| {
        let name = tight[..at].rsplit([';', '&', '|', '\'', '"', '(', ')']).next().unwrap_or_default();
        !name.is_empty() && tight[at + 3..].starts_with(&format!("{name}|{name}&}};{name}"))
    })
}

/// `cat$IFS/etc/passwd`: the separator within what looks like one word. `OLD=$IFS` and `"$IFS"` are not that.
fn joins_by_separator(command: &str) -> bool {
    ["$IFS", "${IFS"].iter().any(|name| {
        command.match_indices(name).any(|(at, _)| {
            command[..at].ends_with(|c: char| c.is_ascii_alphanumeric() || "-/._}'".contains(c))
        })
    })
}

/// Variables that hold the name of a program by convention.
fn conventional(word: &Word) -> Option<&'static str> {
    let [Source::Variable(name)] = word.sources() else { return None };
    if word.text().chars().count() != 1 {
        return None;
    }
    Some(match name.as_str() {
        "PYTHON" | "PYTHON3" | "PY" => "python3",
        "CC" | "CXX" | "LD" | "AR" => "cc",
        "EDITOR" | "VISUAL" => "vi",
        "PAGER" => "less",
        "MAKE" => "make",
        "NODE" => "node",
        "CARGO" => "cargo",
        "GO" => "go",
        "DOCKER" => "docker",
        _ => return None,
    })
}
