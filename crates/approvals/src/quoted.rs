//! Commands that stand as text in program text: backticks, `%x()`, `qx{}`, templates, pipes of awk.

use cofferdam_shell_syntax::{FileContent, HOLE, Shell, Word};

use crate::call::Call;
use crate::inline::is_bare_shell;
use crate::judge::{Judge, Report};
use crate::language::Language;
use crate::literal::inside;
use crate::program_text::Program;
use crate::{Category, Decision};

const RUNS_UNKNOWN: Report = Report::ask(
    "code-runs-unknown",
    Category::HiddenExecution,
    "The program text starts a command that is not known before it runs.",
);
const PRINTS: &[&str] =
    &["print", "put", "echo", "write", "log", "message", "format", "display", "say", "cat"];

impl Judge<'_> {
    pub(crate) fn commands_in_quotes(
        &mut self,
        shell: &mut Shell,
        language: Language,
        program: &Program<'_>,
        call: &Call,
    ) {
        let mut commands = match language {
            Language::Perl | Language::Ruby | Language::Php | Language::Julia => {
                let mut commands = backticks(program);
                commands.extend(self.opened(program, call));
                commands.extend(quote_operators(program));
                commands
            }
            Language::Python => notebook_lines(program),
            // gnuplot hands such a line to a shell.
            Language::R => {
                let lines = program.code.lines().filter_map(|line| line.trim_start().strip_prefix('!'));
                lines.map(str::to_owned).collect()
            }
            Language::Javascript => templates(program),
            Language::Tcl => {
                let statements = program.code.split(['\n', ';', '[', ']']).map(str::trim_start);
                statements.filter_map(|line| line.strip_prefix("exec ")).map(str::to_owned).collect()
            }
            Language::Awk => self.awk_pipes(shell, program, call),
            _ => Vec::new(),
        };
        if language.little_known() {
            commands.extend(self.passed_to_calls(program));
        }
        for command in commands {
            if is_bare_shell(&command) {
                self.report(&RUNS_UNKNOWN, call.line());
            } else if language.interpolates(&command) {
                let hole = HOLE.to_string();
                let word = Word::known(command.replace(['$', '@'], &hole).replace("#{", &hole));
                self.script(shell, &word, &[], call);
            } else {
                self.run_at(shell, &command, call);
            }
        }
    }

    /// `open` with a pipe or a target in its name.
    fn opened(&mut self, program: &Program<'_>, call: &Call) -> Vec<String> {
        let mut commands = Vec::new();
        for &(start, end, _) in &program.strings {
            let text = inside(&program.code[start..end]).trim();
            let opens = program.masked[..start].trim_end_matches(['(', ' ', ',']).contains("open");
            if opens && (text.starts_with('|') || text.ends_with('|')) && text.len() > 2 {
                commands.push(text.trim_matches('|').to_owned());
            } else if opens && matches!(text, "-|" | "|-") {
                self.report(&RUNS_UNKNOWN, call.line());
            } else if opens && text.starts_with('>') && text.len() > 2 {
                self.written(&Word::known(text.trim_start_matches(['>', ' '])), call);
            }
        }
        commands
    }

    /// Of some languages few calls are known; a string that is a dangerous command, given to any call but one that
    /// prints, is taken for a command.
    fn passed_to_calls(&self, program: &Program<'_>) -> Vec<String> {
        let mut commands = Vec::new();
        for &(start, end, _) in &program.strings {
            let before = program.masked[..start].trim_end_matches(['(', ' ', '[']);
            let name = before
                .rsplit(|c: char| !c.is_alphanumeric() && c != '_' && c != '.')
                .next()
                .unwrap_or_default()
                .to_lowercase();
            if name.is_empty() || PRINTS.iter().any(|word| name.contains(word)) {
                continue;
            }
            let text = inside(&program.code[start..end]);
            if text.contains(' ') && crate::judge(text, self.context).decision != Decision::Allow {
                commands.push(text.to_owned());
            }
        }
        commands
    }

    fn awk_pipes(&mut self, shell: &mut Shell, program: &Program<'_>, call: &Call) -> Vec<String> {
        let mut commands = Vec::new();
        for &(start, end, _) in &program.strings {
            let text = inside(&program.code[start..end]).to_owned();
            let before = program.masked[..start].trim_end();
            let after = program.masked[end..].trim_start();
            if text.starts_with("/inet") {
                self.report(
                    &Report::ask(
                        "code-connects",
                        Category::ReverseShell,
                        "The program text opens a raw connection to another machine.",
                    ),
                    call.line(),
                );
            } else if (before.ends_with('|') || before.ends_with("|&")) && !before.ends_with("||")
                || (after.starts_with('|') && after.contains("getline") && !after.starts_with("||"))
            {
                // A file that is named by its path is somebody's own; what it does with each line is not shown here.
                let started = text.split_whitespace().next().unwrap_or_default();
                if started.contains('/') && !started.starts_with("/bin/") && !started.starts_with("/usr/") {
                    self.report(&RUNS_UNKNOWN, call.line());
                }
                // What it prints to a shell is run by it.
                let printed = program.strings.iter().rev().find(|(_, to, _)| *to <= start);
                if let Some(&(from, to, true)) = printed
                    && is_bare_shell(&text)
                    && program.masked[to..start].trim() == "|"
                {
                    commands.push(inside(&program.code[from..to]).to_owned());
                }
                commands.push(text);
            } else if before.ends_with('>') {
                // What it writes there is not followed; whoever runs the file runs what nobody knows.
                shell.write_file(&text, FileContent::Text(Word::unknown(None)));
                self.written(&Word::known(text), call);
            }
        }
        let computed = program
            .masked
            .match_indices("| getline")
            .any(|(at, _)| !program.masked[..at].trim_end().ends_with('"'));
        if computed {
            self.report(&RUNS_UNKNOWN, call.line());
        }
        commands
    }
}

fn backticks(program: &Program<'_>) -> Vec<String> {
    let ticked = program.strings.iter().filter(|(start, _, _)| program.code[*start..].starts_with('`'));
    ticked.map(|&(start, end, _)| inside(&program.code[start..end]).to_owned()).collect()
}

fn quote_operators(program: &Program<'_>) -> Vec<String> {
    let mut commands = Vec::new();
    for mark in ["%x", "qx", "readpipe"] {
        for (at, _) in program.masked.match_indices(mark) {
            let rest = &program.code[at + mark.len()..];
            let Some(open) = rest.chars().next().filter(|c| "({[/|!<'\"".contains(*c)) else {
                continue;
            };
            let close = match open {
                '(' => ')',
                '{' => '}',
                '[' => ']',
                '<' => '>',
                other => other,
            };
            if let Some(end) = rest[open.len_utf8()..].find(close) {
                commands.push(rest[open.len_utf8()..open.len_utf8() + end].to_owned());
            }
        }
    }
    commands
}

/// Lines for the shell in a notebook's language: `!cmd`, `%sx cmd`.
fn notebook_lines(program: &Program<'_>) -> Vec<String> {
    let lines = program.code.lines().map(str::trim_start);
    lines
        .filter_map(|line| line.strip_prefix(['!', '%']))
        .map(|line| {
            let line = line.trim_start_matches(['!', '%']);
            line.strip_prefix("sx ").or_else(|| line.strip_prefix("system ")).unwrap_or(line).to_owned()
        })
        .collect()
}

/// The shell of zx and Bun: $`…`.
fn templates(program: &Program<'_>) -> Vec<String> {
    let ticked = program.strings.iter().filter(|(start, _, _)| {
        program.code[*start..].starts_with('`') && program.code[..*start].ends_with('$')
    });
    ticked
        .map(|&(start, end, _)| inside(&program.code[start..end]).replace("${", &HOLE.to_string()))
        .collect()
}
