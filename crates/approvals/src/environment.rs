//! Variables that make other programs run or load something.

use cofferdam_shell_syntax::{Shell, SimpleCommand, Word};

use crate::judge::{Judge, Report};
use crate::rules::{VARIABLE_INDEX, VARIABLES, fits};
use crate::{Decision, Severity};

impl Judge<'_> {
    pub(crate) fn assignments(&mut self, shell: &mut Shell, command: &SimpleCommand) {
        for (name, value) in &command.assignments {
            let line = format!("{name}={}", value.text().replace(cofferdam_shell_syntax::HOLE, "‹?›"));
            self.variable(shell, name, value, &line);
        }
    }

    pub(crate) fn variable(&mut self, shell: &mut Shell, name: &str, value: &Word, line: &str) {
        if value.text().starts_with("() {") {
            self.report(
                &Report::ask(
                    "exported-function",
                    crate::Category::HiddenExecution,
                    "It smuggles a function into every shell that is started.",
                ),
                line,
            );
            if let Some(text) = value.as_known() {
                let text = format!("imported {text}\nimported");
                shell.run_child(&text, Vec::new(), &cofferdam_shell_syntax::Input::Inherited, self);
            }
        }
        let found: Vec<usize> = VARIABLE_INDEX.find(name).collect();
        for at in found {
            let variable = &VARIABLES[at];
            let text = value.text().trim();
            let first = text.split_whitespace().next().unwrap_or_default();
            let plain = |pattern: &&str| {
                fits(pattern, text)
                    || (variable.runs
                        && !pattern.contains('*')
                        && fits(pattern, first.rsplit('/').next().unwrap_or(first))
                        && !text.contains([';', '|', '&', '$', '`', '>', '<'])
                        && !text.contains("Command"))
            };
            if text.is_empty() && name != "HISTFILE" || variable.unless.iter().any(plain) {
                continue;
            }
            if !variable.only.is_empty() && !variable.only.iter().any(|pattern| fits(pattern, text)) {
                continue;
            }
            let report = Report {
                rule: "environment",
                category: variable.category,
                severity: Severity::High,
                decision: Decision::Ask,
                sentence: variable.sentence,
            };
            self.report(&report, line);
            if let Some(text) = value.as_known().filter(|_| variable.runs) {
                let text = text.to_owned();
                shell.run_child(&text, Vec::new(), &cofferdam_shell_syntax::Input::Inherited, self);
            }
        }
    }
}
