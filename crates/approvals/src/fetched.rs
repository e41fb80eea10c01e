//! What this text has downloaded or written itself, and then runs or puts into the project.

use cofferdam_shell_syntax::{FileContent, Input, Shell, Source, Word};

use crate::Category;
use crate::call::Call;
use crate::judge::{Judge, Report};
use crate::names::Names;

/// Programs that run the file they are given, besides shells and the languages that are read here.
static RUNNERS: Names = Names::of(&[
    "java",
    "dotnet",
    "wine",
    "wine64",
    "mono",
    "deno",
    "bun",
    "go",
    "make",
    "gmake",
    "ansible-playbook",
    "kubectl",
    "terraform",
    "dpkg",
    "rpm",
    "installer",
    "msiexec",
    "flatpak",
    "cscript",
    "wscript",
    "qemu-x86_64",
    "wasmtime",
    "wasmer",
    "gdb",
    "m4",
    "bc",
    "gnuplot",
    "psql",
    "mysql",
    "sqlite3",
]);
/// Programs that take a file of orders behind an option, besides the languages that are read here.
static ORDERED: Names = Names::of(&[
    "jq",
    "yq",
    "sqlcmd",
    "cqlsh",
    "ninja",
    "just",
    "task",
    "docker-compose",
    "nft",
    "at",
    "redis-cli",
    "newman",
    "k6",
    "screen",
    "tmux",
    "mongosh",
    "ex",
    "gdb",
    "lldb",
]);

impl Judge<'_> {
    /// A file that this very text has downloaded, handed to a program that runs it.
    pub(crate) fn downloaded_program(&mut self, shell: &Shell, program: &str, call: &Call) {
        let patches = matches!(program, "patch" | "gpatch")
            || program == "git"
                && call.operands().next().is_some_and(|word| matches!(word.text(), "apply" | "am"));
        if patches && let Some(text) = call.input.text().cloned() {
            for line in text.text().lines().filter_map(|line| line.strip_prefix("+++ ")) {
                let name = line.split(['\t', ' ']).next().unwrap_or_default();
                let name = name.strip_prefix("b/").unwrap_or(name);
                self.written(&Word::known(name), call);
            }
        }
        if patches
            && let Input::Pipe { from, .. } = &call.input
            && self.origin(shell, &[Source::Commands(from.clone())]).0
        {
            self.report(
                &Report::ask(
                    "remote-patch",
                    Category::RemoteCode,
                    "What it downloads is put into the project, unseen.",
                ),
                call.line(),
            );
        }
        let runs = RUNNERS.contains(program);
        let ordered = ORDERED.contains(program) || crate::language::Language::of(program).is_some();
        let network = call.argv.windows(2).any(|pair| {
            let orders = matches!(pair[0].text(), "-f" | "--file" | "--from-file" | "--script" | "-S" | "-x");
            (runs || ordered && orders)
                && match shell.file(pair[1].text()) {
                    Some(FileContent::Text(text)) => self.origin(shell, text.sources()).0,
                    _ => false,
                }
        });
        if network {
            self.report(
                &Report::ask(
                    "remote-code",
                    Category::RemoteCode,
                    "It runs a program that it has just downloaded.",
                ),
                call.line(),
            );
        }
    }

    /// A program that this very text has written or downloaded, started by its path.
    pub(crate) fn written_script(&mut self, shell: &mut Shell, call: &Call) {
        let fetched = call.program() == Some("git")
            && call.has_word(&["clone"])
            && call.texts().any(|text| text.contains("://") || text.starts_with("git@"));
        let installs =
            self.unpacked && matches!(call.program(), Some("make" | "gmake")) && call.has_word(&["install"]);
        self.unpacked |= fetched;
        if installs {
            self.report(
                &Report::ask("remote-code", Category::RemoteCode, "It installs what it has just downloaded."),
                call.line(),
            );
        }
        let Some(path) = call.argv.first().and_then(Word::as_known) else { return };
        if self.unpacked && path.contains('/') && (!path.starts_with('/') || path.starts_with("/tmp/")) {
            self.report(
                &Report::ask(
                    "remote-code",
                    Category::RemoteCode,
                    "It runs a program out of an archive that it has just downloaded.",
                ),
                call.line(),
            );
        }
        let Some(FileContent::Text(text)) = shell.file(path) else { return };
        let text = text.clone();
        if text.is_unknown() {
            self.unknown_script(shell, &text, call);
        }
        self.script_text(shell, &text, call.arguments().to_vec(), call);
    }

    /// A script with a first line that names its language, or shell text.
    pub(crate) fn script_text(&mut self, shell: &mut Shell, text: &Word, positional: Vec<Word>, call: &Call) {
        let first = text.text().lines().next().unwrap_or_default().to_owned();
        if let Some(interpreter) = first.strip_prefix("#!")
            && let Some(language) =
                interpreter.split_whitespace().rev().find_map(crate::language::Language::of)
        {
            self.inline(shell, language, text, call);
            return;
        }
        let path = call.argv[0].text().trim_start_matches("./").to_owned();
        shell.run_script(&path, text.text(), positional, &call.input, self);
    }
}
