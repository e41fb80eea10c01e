//! Shells and other interpreters: what they are given to run.

use cofferdam_shell_syntax::{FileContent, Input, Shell, Word};

use crate::Category;
use crate::call::Call;
use crate::judge::{Judge, Report};
use crate::language::Language;
use crate::names::Names;
use crate::place::Place;

static SHELLS: Names = Names::of(&[
    "sh",
    "bash",
    "dash",
    "ash",
    "zsh",
    "ksh",
    "mksh",
    "rbash",
    "yash",
    "fish",
    "csh",
    "tcsh",
    "pwsh-sh",
    "osh",
    "ysh",
    "elvish",
    "posh",
    "bash5",
    "ksh93",
    "busybox-sh",
    "lksh",
    "oksh",
    "brush",
    "nu",
    "xonsh",
]);

/// How the names of programs end that somebody has written.
static PROGRAMS: Names = Names::of(&[
    "py", "js", "mjs", "cjs", "ts", "pl", "rb", "php", "lua", "r", "R", "jl", "scm", "lisp", "clj", "tcl",
    "exs", "m", "bc", "dc", "gp", "ml", "hs", "groovy", "el", "sql",
]);

pub(crate) fn is_shell(program: &str) -> bool {
    SHELLS.contains(program)
}

impl Judge<'_> {
    pub(crate) fn interpreters(&mut self, shell: &mut Shell, program: &str, call: &Call) {
        if SHELLS.contains(program) {
            self.shell(shell, call);
            return;
        }
        match program {
            "eval" => {
                let unknown = call.arguments().iter().any(Word::is_unknown);
                if unknown {
                    let mut text = Word::default();
                    for word in call.arguments() {
                        text.push(word);
                    }
                    self.unknown_script(shell, &text, call);
                } else {
                    for word in call.arguments() {
                        self.veiled(shell, word.sources(), call);
                    }
                }
            }
            "docker" | "podman" | "buildah" | "nerdctl"
                if call.has_word(&["build", "bud", "import", "load"]) && call.has_word(&["-", "-f-"]) =>
            {
                let network = match &call.input {
                    Input::Pipe { from, .. } => {
                        self.origin(shell, &[cofferdam_shell_syntax::Source::Commands(from.clone())]).0
                    }
                    Input::Text(text) => self.origin(shell, text.sources()).0,
                    Input::File(path) => self.origin(shell, path.sources()).0,
                    Input::Inherited => false,
                };
                if network {
                    self.unknown_script(shell, &Word::unknown(None), call);
                }
            }
            "ed" | "red" => {
                if let Some(text) = call.input.text().cloned() {
                    self.ed(shell, text.text(), call);
                }
            }
            "dc" | "ftp" | "lftp" | "sftp" | "telnet" | "smbclient" | "mail" | "mailx" | "gdb" | "lldb"
            | "maxima" | "ex" | "units" | "cdrecord" | "kermit" | "nslookup" => {
                if let Some(text) = call.input.text().cloned() {
                    self.escapes(shell, text.text(), call);
                }
                if let Some(language) = Language::of(program) {
                    self.language(shell, language, call);
                }
            }
            "gcc" | "cc" | "clang" | "g++" | "c++" | "clang++" | "tcc" | "rustc" | "go" | "cpp" => {
                self.compiled(shell, call);
            }
            "crontab" => {
                for line in call.input.text().map_or("", |text| text.text()).to_owned().lines() {
                    shell.run_child(timed(line), Vec::new(), &Input::Inherited, self);
                }
            }
            "source" | "." => self.sourced(shell, call),
            "trap" => {
                if let Some(action) = call
                    .arguments()
                    .first()
                    .filter(|word| word.is_unknown() && word.text().chars().count() == 1)
                {
                    self.unknown_script(shell, &action.clone(), call);
                }
            }
            _ => {
                if let Some(language) = Language::of(program) {
                    self.language(shell, language, call);
                }
            }
        }
    }

    fn shell(&mut self, shell: &mut Shell, call: &Call) {
        let mut rest = call.arguments();
        let mut text_next = false;
        let mut from_stdin = false;
        while let [first, more @ ..] = rest {
            let text = first.text();
            if text == "--" {
                rest = more;
                break;
            }
            if matches!(text, "-o" | "+o" | "-O" | "+O") {
                rest = more.get(1..).unwrap_or_default();
                continue;
            }
            if matches!(text, "--rcfile" | "--init-file") {
                if let Some(file) = more.first() {
                    self.report(
                        &Report::ask(
                            "shell-startup",
                            Category::HiddenExecution,
                            "The shell is told to run another start-up file.",
                        ),
                        call.line(),
                    );
                    self.run_file(shell, &file.clone(), Vec::new(), call);
                }
                rest = more.get(1..).unwrap_or_default();
                continue;
            }
            if !text.starts_with(['-', '+']) || text.len() < 2 {
                break;
            }
            if !text.starts_with("--") {
                text_next |= text.contains('c');
                from_stdin |= text.contains('s');
            }
            rest = more;
        }
        if text_next {
            let Some((text, positional)) = rest.split_first() else { return };
            self.script(shell, &text.clone(), positional, call);
            return;
        }
        match rest.split_first() {
            Some((file, positional))
                if !from_stdin && !matches!(file.text(), "-" | "/dev/stdin" | "/proc/self/fd/0") =>
            {
                self.run_file(shell, &file.clone(), positional.to_vec(), call);
            }
            _ => self.stdin_script(shell, call),
        }
    }

    fn sourced(&mut self, shell: &mut Shell, call: &Call) {
        let Some(file) = call.arguments().first() else { return };
        if matches!(file.text(), "/dev/stdin" | "/proc/self/fd/0") {
            self.stdin_script(shell, call);
            return;
        }
        if let Some(FileContent::Text(text)) = shell.file(file.text()) {
            let mut text = text.clone();
            if text.is_unknown() {
                if !file.sources().is_empty() && text.sources().is_empty() {
                    text = Word::unknown(file.sources().first().cloned());
                }
                self.unknown_script(shell, &text, call);
            } else {
                self.veiled(shell, file.sources(), call);
            }
        } else if file.is_unknown()
            && file.text().chars().count() == 1
            && !file
                .sources()
                .iter()
                .all(|source| matches!(source, cofferdam_shell_syntax::Source::Variable(_)))
        {
            self.unknown_script(shell, &file.clone(), call);
        }
    }

    /// A script file: known when this text has written it, unknown programs are not dangerous by themselves.
    fn run_file(&mut self, shell: &mut Shell, file: &Word, positional: Vec<Word>, call: &Call) {
        match shell.file(file.text()).cloned() {
            Some(FileContent::Text(text)) => {
                if text.is_unknown() {
                    let origin = if text.sources().is_empty() { file.clone() } else { text.clone() };
                    self.unknown_script(shell, &origin, call);
                } else {
                    self.veiled(shell, file.sources(), call);
                    self.veiled(shell, text.sources(), call);
                }
                let path = file.text().trim_start_matches("./").to_owned();
                shell.run_script(&path, text.text(), positional, &call.input, self);
            }
            Some(FileContent::Same(_)) => {}
            None if file.text().starts_with("/dev/tcp/")
                || file.text().starts_with("http://")
                || file.text().starts_with("https://") =>
            {
                self.report(
                    &Report::ask(
                        "remote-code",
                        Category::RemoteCode,
                        "What it downloads is run as code, unseen.",
                    ),
                    call.line(),
                );
            }
            None if file.text().starts_with("/dev/shm/") => {
                self.report(
                    &Report::ask(
                        "code-from-memory",
                        Category::HiddenExecution,
                        "It runs a script out of shared memory, where nothing stays.",
                    ),
                    call.line(),
                );
            }
            None if file.is_unknown() && !file.sources().is_empty() && !file.text().contains('/') => {
                self.unknown_script(shell, file, call);
            }
            None => {}
        }
    }

    fn language(&mut self, shell: &mut Shell, language: Language, call: &Call) {
        let flags = language.code_flags();
        let arguments = call.arguments();
        let mut found = false;
        let mut at = 0;
        let mut file = None;
        while at < arguments.len() {
            let text = arguments[at].text();
            if let Some(flag) = flags.iter().find(|flag| text == **flag || joined_flag(text, flag)) {
                found = true;
                let code = if text != *flag
                    && text.starts_with(*flag)
                    && !text.starts_with("--")
                    && joined_code(text, flag)
                {
                    Some(arguments[at].with_text(text[flag.len()..].to_owned()))
                } else if let Some((_, code)) = text.split_once('=').filter(|_| text.starts_with("--")) {
                    Some(arguments[at].with_text(code))
                } else {
                    at += 1;
                    arguments.get(at).cloned()
                };
                if let Some(code) = code {
                    self.code(shell, language, &code, call);
                }
                // What follows the program text belongs to the program.
                if !matches!(language, Language::Perl | Language::Ruby | Language::Sed | Language::Vim) {
                    break;
                }
            } else if matches!(text, "-m" | "--module") && language == Language::Python {
                self.module(shell, language, &arguments[at + 1..], call);
                return;
            } else if text == "run" && matches!(call.program(), Some("deno" | "bun")) {
            } else if !text.starts_with('-') || text == "-" {
                file = Some(arguments[at].clone());
                break;
            } else if language.takes_value(text) {
                at += 1;
            }
            at += 1;
        }
        if found {
            return;
        }
        if language.code_is_operand() {
            let from_stdin =
                call.value(&["-f", "--file"]).is_some_and(|word| matches!(word.text(), "-" | "/dev/stdin"));
            if from_stdin && let Some(code) = call.input.text().cloned() {
                self.code(shell, language, &code, call);
            } else if call.value(&["-f", "--file"]).is_some() {
            } else if let Some(code) = file {
                self.code(shell, language, &code, call);
            }
            return;
        }
        if file.as_ref().is_some_and(|file| file.text().ends_with("manage.py"))
            && call.has_word(&["shell", "shell_plus"])
            && let Some(code) = call.value(&["-c", "--command"]).cloned()
        {
            self.code(shell, language, &code, call);
            return;
        }
        match file {
            Some(file) if !matches!(file.text(), "-" | "/dev/stdin" | "/dev/fd/0" | "/proc/self/fd/0") => {
                match shell.file(file.text()).cloned() {
                    Some(FileContent::Text(text)) => self.code(shell, language, &text, call),
                    _ if file.text().starts_with("http://") || file.text().starts_with("https://") => {
                        self.report(
                            &Report::ask(
                                "remote-code",
                                Category::RemoteCode,
                                "What it downloads is run as code, unseen.",
                            ),
                            call.line(),
                        );
                    }
                    _ => {}
                }
            }
            _ => match call.input.clone() {
                Input::Text(text) | Input::Pipe { output: text, .. } if language.reads_stdin() => {
                    let mut text = text;
                    if let (true, Input::Pipe { from, .. }) = (text.is_unknown(), &call.input) {
                        let origin =
                            Word::unknown(Some(cofferdam_shell_syntax::Source::Commands(from.clone())));
                        if text.is_unread() {
                            text = origin.into();
                        }
                    }
                    self.code(shell, language, &text, call);
                }
                Input::File(path) if language.reads_stdin() && !self.is_own_program(&path, call) => {
                    self.unknown_script(shell, &path, call);
                }
                _ => {}
            },
        }
    }

    /// Whether a file is a program of the project by its place and name, as it would be if it were named to be run.
    fn is_own_program(&self, path: &Word, call: &Call) -> bool {
        let name = path.text().rsplit('/').next().unwrap_or_default();
        let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
        let own = matches!(
            call.path(path, self.context).place,
            Place::Inside | Place::Regenerable | Place::Temporary
        );
        path.as_known().is_some() && own && PROGRAMS.contains(ending) || path.text() == "/dev/null"
    }

    /// Program text that is made into a program: out of a file that this text has written, or from standard input.
    fn compiled(&mut self, shell: &mut Shell, call: &Call) {
        let mut texts: Vec<Word> = Vec::new();
        for word in call.arguments() {
            match shell.file(word.text()) {
                Some(FileContent::Text(text)) => texts.push(text.clone()),
                _ if matches!(word.text(), "-" | "/dev/stdin") => texts.extend(call.input.text().cloned()),
                _ => {}
            }
        }
        for text in texts {
            self.inline(shell, Language::Compiled, &text, call);
        }
    }

    /// `python -m pip …` is pip; `timeit` and `pdb -c` take program text.
    fn module(&mut self, shell: &mut Shell, language: Language, rest: &[Word], call: &Call) {
        let Some(module) = rest.first() else { return };
        match module.text() {
            "timeit" | "pdb" | "profile" | "cProfile" | "trace" => {
                for code in rest[1..].iter().filter(|word| word.text().contains('(')) {
                    let code = code.with_text(code.text().trim_start_matches('!'));
                    if module.text() == "pdb" {
                        self.report(
                            &Report::ask(
                                "debugger-runs",
                                Category::HiddenExecution,
                                "The debugger is told to run code.",
                            ),
                            call.line(),
                        );
                    }
                    self.code(shell, language, &code, call);
                }
            }
            "http.server" | "SimpleHTTPServer" | "pyftpdlib" => self.served(&call.with_argv(rest.to_vec())),
            _ => self.inspect(shell, &call.with_argv(rest.to_vec())),
        }
    }

    pub(crate) fn code(&mut self, shell: &mut Shell, language: Language, code: &Word, call: &Call) {
        if code.is_unknown()
            && (code.is_unread()
                || code
                    .sources()
                    .iter()
                    .any(|source| matches!(source, cofferdam_shell_syntax::Source::Commands(_))))
        {
            let (network, decoded) = self.origin(shell, code.sources());
            let filled = language == Language::Sed
                && crate::editors::is_filled_in(code.text())
                && !is_unpacked(shell, code.sources());
            if code.is_unread() || network || decoded && !filled {
                self.unknown_script(shell, code, call);
            }
        }
        self.inline(shell, language, code, call);
    }
}

/// Whether a text was hidden from whoever reads the line; programs that take values out of files hide nothing.
fn is_unpacked(shell: &Shell, sources: &[cofferdam_shell_syntax::Source]) -> bool {
    sources.iter().any(|source| {
        let cofferdam_shell_syntax::Source::Commands(range) = source else { return false };
        shell.commands().get(range.clone()).unwrap_or_default().iter().any(|command| {
            command.argv.first().is_some_and(|name| {
                !matches!(
                    name.text(),
                    "jq" | "yq"
                        | "node"
                        | "python"
                        | "python3"
                        | "awk"
                        | "sed"
                        | "cut"
                        | "grep"
                        | "head"
                        | "tail"
                        | "cat"
                        | "git"
                        | "echo"
                        | "date"
                        | "sort"
                        | "tr"
                        | "xargs"
                        | "cargo"
                        | "npm"
                        | "basename"
                        | "dirname"
                )
            })
        })
    })
}

/// What a line of a crontab runs, without the five words or the name that say when.
fn timed(line: &str) -> &str {
    let mut rest = line.trim_start();
    if rest.starts_with('#') {
        return "";
    }
    for _ in 0..if rest.starts_with('@') { 1 } else { 5 } {
        rest = rest.split_once(char::is_whitespace).map_or("", |(_, rest)| rest.trim_start());
    }
    rest
}

/// `-ne` for `-e`, `-pi -e`, `-Ec`: a cluster that ends with the flag.
fn joined_flag(text: &str, flag: &str) -> bool {
    if flag.starts_with("--") {
        return text.strip_prefix(flag).is_some_and(|rest| rest.starts_with('='));
    }
    flag.len() == 2
        && text.starts_with('-')
        && !text.starts_with("--")
        && text.len() > 2
        && (text.ends_with(&flag[1..])
            && text.len() <= 6
            && text[1..].chars().all(|c| c.is_ascii_alphanumeric())
            || joined_code(text, flag))
}

/// `-c'code'` without a space. Behind other letters it is found once the call is spelt out.
fn joined_code(text: &str, flag: &str) -> bool {
    text.starts_with(flag)
        && text.len() > flag.len()
        && text[flag.len()..].contains(['(', '\'', '"', ' ', '`', ';', '.'])
}
