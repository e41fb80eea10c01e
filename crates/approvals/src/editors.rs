//! Program text of editors: sed scripts and the commands of vi.

use cofferdam_shell_syntax::{HOLE, Shell, Word};

use crate::Category;
use crate::call::Call;
use crate::judge::{Judge, Report};

const RUNS: Report =
    Report::ask("editor-runs", Category::HiddenExecution, "The editor is told to run a command.");

impl Judge<'_> {
    /// `e` runs commands, `w` writes files; so do the flags of `s`.
    pub(crate) fn sed(&mut self, shell: &mut Shell, script: &str, call: &Call) {
        for line in script.split(['\n', ';']) {
            let command = line.trim_start_matches(|c: char| c.is_ascii_digit() || " $,!{~+".contains(c));
            let command = match command.strip_prefix('/') {
                Some(rest) => {
                    rest.split_once('/').map_or("", |(_, rest)| rest).trim_start_matches([' ', '!', '{'])
                }
                None => command,
            };
            if command == "e" || command.starts_with("e ") {
                let text = command[1..].trim().to_owned();
                self.report(
                    &Report::ask("sed-runs", Category::HiddenExecution, "The sed script runs commands."),
                    call.line(),
                );
                shell.run_child(&text, Vec::new(), &call.input, self);
            } else if let Some(path) = command.strip_prefix("w ").or_else(|| command.strip_prefix("W ")) {
                self.written(&Word::known(path.trim()), call);
            }
        }
        if let Some(rest) =
            script.trim_start_matches(|c: char| c.is_ascii_digit() || " $,".contains(c)).strip_prefix('s')
            && let Some(delimiter) =
                rest.chars().next().filter(|c| !c.is_alphanumeric() && !c.is_whitespace())
        {
            let mut parts = 0;
            let mut escaped = false;
            let mut flags = String::new();
            for character in rest.chars() {
                if parts == 3 {
                    if !character.is_ascii_alphanumeric() {
                        break;
                    }
                    flags.push(character);
                } else if escaped {
                    escaped = false;
                } else if character == '\\' {
                    escaped = true;
                } else if character == delimiter {
                    parts += 1;
                }
            }
            if flags.ends_with('w')
                && let Some((_, path)) = rest.rsplit_once(&format!("{delimiter}{flags} "))
            {
                self.written(&Word::known(path.trim()), call);
            }
            if flags.contains('e') {
                self.report(
                    &Report::ask(
                        "sed-runs",
                        Category::HiddenExecution,
                        "The sed script runs what it has substituted.",
                    ),
                    call.line(),
                );
            }
        }
    }

    /// Lines by which programs that take orders on their input are told to run a command.
    pub(crate) fn escapes(&mut self, shell: &mut Shell, text: &str, call: &Call) {
        for line in text.lines() {
            let line = line.trim_start();
            let run =
                ["!", "~!", "shell ", "platform shell "].iter().find_map(|mark| line.strip_prefix(mark));
            if let Some(text) = run.filter(|text| !text.trim().is_empty() && !text.starts_with('=')) {
                self.report(
                    &Report::ask(
                        "input-runs",
                        Category::HiddenExecution,
                        "What it is fed tells it to run a command.",
                    ),
                    call.line(),
                );
                shell.run_child(text, Vec::new(), &cofferdam_shell_syntax::Input::Inherited, self);
            }
        }
    }

    /// What stands behind `!` is run; `w` with a name writes there.
    pub(crate) fn ed(&mut self, shell: &mut Shell, script: &str, call: &Call) {
        for line in script.lines() {
            let command = line.trim_start_matches(|c: char| c.is_ascii_digit() || " ,.$%;".contains(c));
            let run = ["!", "r !", "r!", "w !", "w!", "e !", "e!"]
                .iter()
                .find_map(|mark| command.strip_prefix(mark));
            if let Some(text) = run.filter(|text| !text.trim().is_empty()) {
                self.report(&RUNS, call.line());
                shell.run_child(text, Vec::new(), &cofferdam_shell_syntax::Input::Inherited, self);
            } else if let Some(path) = command.strip_prefix("w ").or_else(|| command.strip_prefix("W ")) {
                self.written(&Word::known(path.trim()), call);
            } else if empties_everything(line) {
                self.report(
                    &Report::ask(
                        "empty-file",
                        Category::FileDestruction,
                        "It throws away the contents of a file.",
                    ),
                    call.line(),
                );
            }
        }
    }

    pub(crate) fn vim(&mut self, shell: &mut Shell, command: &str, call: &Call) {
        let command = command.trim_start_matches([':', '+']).trim();
        if let Some((_, text)) = command.split_once('!').filter(|(before, _)| {
            before.chars().all(|c| "%,.$0123456789'<>silent rw".contains(c))
                || before.ends_with("exe \"")
                || before.ends_with("read ")
        }) {
            self.report(&RUNS, call.line());
            shell.run_child(text, Vec::new(), &call.input, self);
        } else if [
            "py",
            "python",
            "lua",
            "ruby",
            "perl",
            "call ",
            "call job_start",
            "term",
            "source",
            "so ",
            "exe",
        ]
        .iter()
        .any(|word| command.starts_with(word))
        {
            self.report(
                &Report::ask("editor-runs", Category::HiddenExecution, "The editor is told to run code."),
                call.line(),
            );
        } else if command.split('|').any(empties_everything) {
            self.report(
                &Report::ask(
                    "empty-file",
                    Category::FileDestruction,
                    "It throws away the contents of a file.",
                ),
                call.line(),
            );
        } else if let Some(path) = command.strip_prefix("w ").or_else(|| command.strip_prefix("w! ")) {
            self.written(&Word::known(path.trim()), call);
        }
    }
}

/// A command of vi that leaves nothing in the file.
fn empties_everything(command: &str) -> bool {
    matches!(
        command.trim(),
        "%d" | "1,$d" | "g/./d" | "g/.*/d" | "g/^/d" | "%g/./d" | "%delete" | "normal ggdG"
    )
}

/// `sed -i s/a/b/ file`: what was in the file is changed there and shown to nobody.
pub(crate) fn only_substitutes(call: &Call) -> bool {
    let mut in_place = false;
    if call.texts().filter(|text| *text == "-e").count() > 1 {
        return false;
    }
    for text in call.texts().filter(|text| text.starts_with('-')) {
        match text {
            "-i" | "--in-place" | "-i.bak" | "-Ei" | "-ri" => in_place = true,
            "-E" | "-r" | "-e" => {}
            _ => return false,
        }
    }
    let Some(script) = call.operands().next().map(Word::text).filter(|_| in_place) else { return false };
    let mut chars = script.chars();
    let (Some('s'), Some(delimiter)) = (chars.next(), chars.next()) else { return false };
    let parts: Vec<&str> = script.split(delimiter).collect();
    call.value(&["-e"]).is_none_or(|word| word.text() == script)
        && !script.contains(['\\', '\n', ';', '{'])
        && parts.len() == 4
        && !(parts[2].is_empty() && matches!(parts[1], ".*" | "^.*$" | "^.*" | ".*$" | "."))
        && parts[3].chars().all(|flag| flag == 'g' || flag == 'I' || flag.is_ascii_digit())
}

/// `sed "s/x/$VERSION/"`: only what stands in the place of something is not known.
pub(crate) fn is_filled_in(script: &str) -> bool {
    let mut chars = script.chars();
    let (Some('s'), Some(delimiter)) = (chars.next(), chars.next()) else { return false };
    match script.split(delimiter).collect::<Vec<_>>().as_slice() {
        [_, from, _, flags] => {
            !from.contains(HOLE)
                && !script.contains(['\\', '\n', ';', '{'])
                && flags.chars().all(|flag| flag == 'g' || flag == 'I' || flag.is_ascii_digit())
        }
        _ => false,
    }
}
