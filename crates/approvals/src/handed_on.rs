//! Commands that are handed on by programs nobody has listed as wrappers.
//!
//! What runs other commands says so with the same few words everywhere: `run`, `exec`, `--`, `-c`, `--command`. Behind
//! one of them, a word that names a destructive program or a shell, or a text that is a dangerous command, is judged as
//! what it looks like. A program that only prints or searches is left alone.

use cofferdam_shell_syntax::{Shell, Word};

use crate::Decision;
use crate::call::Call;
use crate::judge::Judge;
use crate::names::{Names, last_part};
use crate::rules::{PLAIN, RULE_INDEX, TOOL_INDEX};

/// Words after which a command is expected.
static HANDS_ON: Names = Names::of(&[
    "--",
    "-c",
    "-C",
    "-e",
    "-x",
    "run",
    "exec",
    "execute",
    "shell",
    "ssh",
    "enter",
    "invoke",
    "do",
    "with",
    "console",
    "forall",
    "foreach",
    "--command",
    "--cmd",
    "--exec",
    "--execute",
    "--run",
    "--shell",
    "--script",
    "--scripts",
    "--eval",
    "--host",
    "--on",
    "--before",
    "--after",
    "--then",
    "--on-change",
    "--run-command",
    "-cmd",
    "-exec",
    "-command",
    "spawn",
    "launch",
    "dispatch",
    "start",
]);
/// Programs that nobody names in this place without meaning to run them.
static STARTS: Names = Names::of(&[
    "rm",
    "dd",
    "shred",
    "sh",
    "bash",
    "zsh",
    "dash",
    "sudo",
    "doas",
    "reboot",
    "shutdown",
    "poweroff",
    "halt",
    "mkfs",
    "wipefs",
    "chmod",
    "chown",
    "env",
    "nohup",
    "killall",
    "pkill",
    "iptables",
    "systemctl",
    "crontab",
    "useradd",
    "userdel",
    "passwd",
    "mv",
    "truncate",
    "find",
]);

impl Judge<'_> {
    pub(crate) fn handed_on(&mut self, shell: &mut Shell, program: &str, call: &Call) {
        // What is handed to a database is a query, and read as one.
        let queried = crate::database::CLIENTS.contains(program);
        if queried || PLAIN.has(program) || call.argv.len() < 3 {
            return;
        }
        // Nothing is known of it at all: then a command may stand anywhere behind it.
        let strange = !RULE_INDEX.has(program) && !TOOL_INDEX.has(program);
        for at in 1..call.argv.len() {
            let word = &call.argv[at];
            let expected = expects_command(call.argv[at - 1].text());
            let rest = &call.argv[at..];
            let plainly = strange && rest.get(1).is_some_and(|next| next.text().starts_with('-'));
            let name = last_part(word.text());
            if (expected || plainly) && rest.len() > 1 && STARTS.contains(name) {
                self.inspect(shell, &call.with_argv(rest.to_vec()));
                return;
            }
            let text = match word.text().split_once('=') {
                Some((option, text)) if expects_command(option) => word.with_text(text),
                _ if expected => word.clone(),
                _ => continue,
            };
            self.handed_text(shell, &text, call);
        }
    }

    fn handed_text(&mut self, shell: &mut Shell, text: &Word, call: &Call) {
        let Some(known) = text.as_known().filter(|known| known.trim().contains(' ')) else { return };
        let verdict = crate::judge(known, self.context);
        // What is no shell text, a query for one, is nothing to be afraid of for that alone.
        let understood = verdict.findings.iter().any(|finding| finding.rule != "not-understood");
        if verdict.decision != Decision::Allow && understood {
            self.script(shell, text, &[], call);
        }
    }
}

/// Whether a command is expected behind this word, by the word itself or by what an option is called.
fn expects_command(word: &str) -> bool {
    HANDS_ON.contains(word)
        || word.strip_prefix("--").is_some_and(|name| {
            name.split('-').any(|part| matches!(part, "exec" | "command" | "cmd" | "hook" | "rsh" | "shell"))
        })
}
