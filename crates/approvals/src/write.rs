//! What is written, and where.

use cofferdam_shell_syntax::{FileContent, RedirectKind, Shell, SimpleCommand, Word};

use crate::Category::{Disks, FileDestruction, OwnPolicy, Persistence, ReverseShell, SystemControl};
use crate::call::Call;
use crate::judge::{Judge, Report};
use crate::names::{Names, last_part};
use crate::place::{self, Path, Place};

const DISK: Report = Report::deny("write-disk", Disks, "It writes over a disk.");
const STARTUP: Report = Report::ask(
    "persistence-file",
    Persistence,
    "It changes a file that runs by itself later, or that decides who gets in.",
);
const SYSTEM: Report = Report::ask("write-system-file", FileDestruction, "It writes a file of the system.");

impl Judge<'_> {
    /// The files that a command opens.
    pub(crate) fn redirects(&mut self, command: &SimpleCommand) {
        let call = Call::of(command);
        let computed = if command.written.is_empty() { call.line() } else { String::new() };
        let line = if command.written.is_empty() { computed.as_str() } else { command.written.as_str() };
        for redirect in &command.redirects {
            let target = &redirect.target;
            if target.text().starts_with("/dev/tcp/") || target.text().starts_with("/dev/udp/") {
                self.report(
                    &Report::ask("shell-socket", ReverseShell, "It connects the shell to another machine."),
                    line,
                );
                continue;
            }
            match redirect.kind {
                RedirectKind::Write | RedirectKind::Append | RedirectKind::ReadWrite => {
                    self.written_with(target, &call, || line.to_owned());
                }
                RedirectKind::Read => self.secret_word(target, &call),
                RedirectKind::Duplicate => {}
            }
        }
    }

    /// A redirection that leaves nothing in the file.
    pub(crate) fn truncations(&mut self, command: &SimpleCommand) {
        let call = Call::of(command);
        for redirect in command.redirects.iter().filter(|redirect| redirect.kind == RedirectKind::Write) {
            let path = call.path(&redirect.target, self.context);
            if matches!(path.place, Place::Inside | Place::Repository | Place::Outside | Place::HomeTop)
                && path.name().contains('.')
                && !command.argv.is_empty() | (command.input == cofferdam_shell_syntax::Input::Inherited)
            {
                self.report(
                    &Report::ask("empty-file", FileDestruction, "It throws away the contents of a file."),
                    command.written.clone(),
                );
            }
        }
    }

    pub(crate) fn written(&mut self, target: &Word, call: &Call) {
        self.written_with(target, call, || call.line());
    }

    /// Scripts write to the same few files again and again; what was found harmless once is not looked at twice.
    fn written_with(&mut self, target: &Word, call: &Call, line: impl FnOnce() -> String) {
        let all = &mut self.put_together;
        all.clear();
        all.extend_from_slice(target.text().as_bytes());
        all.push(if target.is_unknown() { 0xfe } else { 0xff });
        call.circumstances(all);
        let place = crate::prints::sum(&self.memory, all);
        if self.harmless_targets.contains(&place) {
            return;
        }
        let (before, line) = (self.findings.len(), line());
        self.written_to(target, call, &line);
        if self.findings.len() == before && !self.findings.iter().any(|finding| finding.words == line) {
            self.harmless_targets.insert(place);
        }
    }

    fn written_to(&mut self, target: &Word, call: &Call, line: &str) {
        let path = self.followed(call.path(target, self.context));
        if matches!(
            path.text.as_str(),
            "/dev/null"
                | "/dev/stdout"
                | "/dev/stderr"
                | "/dev/tty"
                | "/dev/zero"
                | "/dev/full"
                | "/dev/random"
                | "/dev/urandom"
        ) || path.text.starts_with("/dev/fd/")
            || path.text.starts_with("/dev/pts/")
            || path.text.starts_with("/proc/self/fd/")
        {
            return;
        }
        let power = path.text == "/proc/sysrq-trigger"
            || path.text == "/sys/power/state"
            || path.text.starts_with("/sys/block/") && path.text.ends_with("/device/delete");
        if power {
            self.report(
                &Report::deny(
                    "sysrq",
                    SystemControl,
                    "It tells the kernel to stop or restart the machine at once.",
                ),
                line,
            );
            return;
        }
        if place::is_own_policy(&path.text) {
            self.report(
                &Report::deny(
                    "own-policy-file",
                    OwnPolicy,
                    "This changes the rules that this session works under.",
                ),
                line,
            );
        } else if place::is_agent_policy(&path.text) {
            self.report(
                &Report::ask(
                    "agent-policy-file",
                    OwnPolicy,
                    "It changes what an agent is told or allowed to do.",
                ),
                line,
            );
        } else if path.place == Place::Device {
            self.report(&DISK, line);
        } else if place::is_startup(&path.text, self.context) || loads_itself(target) {
            if !plain_workflow(&path.text, call) {
                self.report(&STARTUP, line);
            }
        } else if !call.elsewhere {
            self.written_place(&path, line);
        }
    }

    fn written_place(&mut self, path: &Path, line: &str) {
        match path.place {
            Place::Root | Place::SystemTop | Place::System => self.report(&SYSTEM, line),
            Place::HomeTop if path.name().starts_with('.') => self.report(&STARTUP, line),
            Place::Repository => self.report(
                &Report::ask(
                    "write-repository",
                    crate::Category::Git,
                    "It writes into the project's history by hand.",
                ),
                line,
            ),
            _ => {}
        }
    }

    /// Whatever the program: an option that names the file for its output.
    fn output_options(&mut self, call: &Call) {
        static OPTIONS: Names = Names::of(&[
            "-o",
            "-out",
            "--output",
            "--out",
            "--output-file",
            "--outfile",
            "--log-file",
            "--logfile",
            "-w",
        ]);
        let words = call.arguments();
        for (at, word) in words.iter().enumerate().filter(|(_, word)| word.text().starts_with('-')) {
            let target = match word.text().split_once('=') {
                Some((option, value)) if OPTIONS.contains(option) => Some(word.with_text(value)),
                _ if OPTIONS.contains(word.text()) => words.get(at + 1).cloned(),
                _ => None,
            };
            let Some(target) =
                target.filter(|target| target.text().contains('/') && !target.text().contains("://"))
            else {
                continue;
            };
            self.written(&target, call);
        }
    }

    /// Programs that write to the files they are given.
    pub(crate) fn writes(&mut self, shell: &mut Shell, program: &str, call: &Call) {
        if !matches!(program, "curl" | "wget" | "tar" | "ls" | "ps" | "grep" | "kubectl" | "jq") {
            self.output_options(call);
        }
        match program {
            "tee" | "truncate" | "touch" | "mkfifo" | "ed" | "ex" | "sponge" | "unexpand" | "mktemp"
            | "fallocate" | "vi" | "vim" | "nano" | "emacs" | "code" | "visudo" | "sudoedit" | "vipw"
            | "crudini" | "dos2unix" | "ini-file" => {
                for word in call.operands() {
                    if program != "touch" || !matches!(call.path(word, self.context).place, Place::HomeTop) {
                        self.written(word, call);
                    }
                }
            }
            "sed" | "gsed" | "perl" | "ruby" | "gawk" | "awk" | "yq" | "patch" | "sd" | "prettier"
            | "json"
                if self.in_place(program, call) =>
            {
                let script =
                    usize::from(program != "patch" && call.value(&["-e", "--expression", "-f"]).is_none());
                for word in call.operands().skip(script) {
                    self.written(word, call);
                }
            }
            "cp" | "mv" | "ln" | "install" | "link" | "gcp" | "gln" | "ginstall" | "ditto" | "rsync"
            | "scp" | "symlink" => self.copied(program, call),
            "dd" | "dcfldd" | "dc3dd" | "ddrescue" | "pv" => self.block_copy(call),
            "curl" | "wget" | "aria2c" | "axel" | "http" | "fetch" => self.downloaded(shell, program, call),
            "tar" | "unzip" | "bsdtar" | "7z" | "cpio" => {
                for option in ["-C", "-d", "--directory", "-D"] {
                    if let Some(target) = call.value(&[option]) {
                        let path = call.path(target, self.context);
                        if matches!(path.place, Place::Root | Place::SystemTop | Place::System | Place::Home)
                            || place::is_startup(&format!("{}/x", path.text), self.context)
                        {
                            self.report(&SYSTEM, call.line());
                        }
                    }
                }
                for text in call
                    .texts()
                    .filter(|text| program.starts_with("7z") && text.len() > 2)
                    .filter_map(|text| text.strip_prefix("-o"))
                {
                    self.written(&Word::known(format!("{text}/x")), call);
                }
                let archive = call.operands().find_map(|word| match shell.file(word.text()) {
                    Some(FileContent::Text(text)) if text.is_unknown() => {
                        Some(self.origin(shell, text.sources()).0)
                    }
                    _ => None,
                });
                let piped = matches!(&call.input, cofferdam_shell_syntax::Input::Pipe { from, .. }
                    if self.origin(shell, &[cofferdam_shell_syntax::Source::Commands(from.clone())]).0);
                self.unpacked |= archive == Some(true) || piped;
                if call.texts().any(|text| matches!(text, "-P" | "--absolute-names" | "--absolute-paths"))
                    && call.has(&['x'], &["extract"])
                {
                    self.report(&SYSTEM, call.line());
                }
            }
            "ssh-keygen" if !call.has(&['l', 'y', 'H', 'F', 'B'], &[]) => {
                let target = call.value(&["-f"]).filter(|target| {
                    matches!(call.path(target, self.context).place, Place::System | Place::SystemTop)
                });
                if let Some(target) = target.cloned() {
                    self.written(&target, call);
                }
            }
            // The pieces are named after the last operand.
            "split" | "gsplit" | "csplit" => {
                let prefix = call.value(&["-f", "--prefix"]).or_else(|| call.operands().nth(1));
                let prefix = call.operands().last().filter(|_| program != "csplit").or(prefix);
                if let Some(prefix) = prefix.filter(|_| call.operands().count() > 1).cloned() {
                    self.written(&prefix.with_text(format!("{}aa", prefix.text())), call);
                }
            }
            "xxd" | "uniq" | "objcopy" => {
                if let Some(target) = call.operands().nth(1) {
                    self.written(target, call);
                }
            }
            "ffmpeg" | "convert" | "magick" | "qemu-img" => {
                if let Some(target) =
                    call.operands().last().filter(|word| word.text().starts_with(['/', '~']))
                {
                    self.written(target, call);
                }
            }
            _ => {}
        }
    }

    fn in_place(&self, program: &str, call: &Call) -> bool {
        match program {
            "patch" => true,
            "prettier" | "json" => call.has_word(&["--write", "-I"]),
            "gawk" | "awk" => call.has_word(&["inplace"]),
            "sd" => true,
            _ => call.texts().any(|text| {
                text.starts_with("-i")
                    || text == "--in-place"
                    || text.starts_with("--in-place=")
                    || (text.starts_with('-')
                        && !text.starts_with("--")
                        && text.contains('i')
                        && text.len() < 6)
            }),
        }
    }

    fn copied(&mut self, program: &str, call: &Call) {
        let count = call.operands().count();
        let target = call.value(&["-t", "--target-directory"]).or_else(|| call.operands().last());
        let Some(target) = target else { return };
        if count < 2 && call.value(&["-t", "--target-directory"]).is_none() {
            return;
        }
        if target.text().contains(':') && !target.text().starts_with('/') {
            return;
        }
        self.written(target, call);
        // Into a directory: the name comes from the source.
        let (mut path, mut whole) = (String::new(), std::mem::take(&mut self.whole));
        let directory = call.directory.as_deref();
        Path::text_into(&mut path, target.text(), directory, self.context);
        let base = path.trim_end_matches('/');
        for source in call.operands().take(count.saturating_sub(1)) {
            let name = last_part(source.text().trim_end_matches('/'));
            whole.clear();
            for part in [base, "/", name] {
                whole.push_str(part);
            }
            if place::is_startup(&whole, self.context)
                || place::is_own_policy(&whole)
                || place::is_agent_policy(&whole) && target.text().ends_with('/')
            {
                self.written(&Word::known(whole.as_str()), call);
            }
            Path::text_into(&mut whole, source.text(), directory, self.context);
            if matches!(program, "mv" | "cp" | "ln") && place::is_own_policy(&whole) {
                self.report(
                    &Report::deny(
                        "own-policy-file",
                        OwnPolicy,
                        "This touches the rules that this session works under.",
                    ),
                    call.line(),
                );
            }
        }
        self.whole = whole;
    }

    fn block_copy(&mut self, call: &Call) {
        for text in call.texts() {
            if let Some(target) = text.strip_prefix("of=") {
                if target.starts_with(cofferdam_shell_syntax::HOLE) {
                    self.report(
                        &Report::ask(
                            "write-unknown",
                            Disks,
                            "What it writes over is not known before it runs.",
                        ),
                        call.line(),
                    );
                }
                self.written(&Word::known(target), call);
            } else if let Some(source) = text.strip_prefix("if=") {
                let path = Path::of_text(source, call.directory.as_deref(), self.context);
                if path.place == Place::Device {
                    self.report(
                        &Report::ask("read-disk", crate::Category::Credentials, "It reads a whole disk."),
                        call.line(),
                    );
                }
                self.secret_text(source, call);
            }
        }
    }

    fn downloaded(&mut self, shell: &mut Shell, program: &str, call: &Call) {
        let options: &[&str] = match program {
            "curl" => &["-o", "--output"],
            "wget" => &["-O", "--output-document"],
            _ => &["-o", "--out", "--output", "-O", "--download"],
        };
        let mut target: Option<Word> = call.value(options).cloned();
        for word in call.arguments() {
            let text = word.text();
            if let Some(path) = options.iter().find_map(|option| text.strip_prefix(&format!("{option}="))) {
                target = Some(word.with_text(path));
            } else if text.len() > 2 && !text.starts_with("--") && text.starts_with('-') && target.is_none() {
                let letter = if program == "curl" { 'o' } else { 'O' };
                if let Some(at) = text.find(letter) {
                    let rest = &text[at + 1..];
                    let position = call.arguments().iter().position(|other| other == word).unwrap_or(0);
                    target = if rest.is_empty() {
                        call.arguments().get(position + 1).cloned()
                    } else {
                        Some(word.with_text(rest))
                    };
                }
            }
        }
        let by_name = program != "curl"
            || call.has(&['O'], &["remote-name", "remote-name-all"])
            || call.has(&['J'], &["remote-header-name"]);
        if target.is_none() && by_name {
            target = call.operands().find(|word| word.text().contains('/')).map(|url| {
                url.with_text(
                    url.text()
                        .trim_end_matches('/')
                        .rsplit('/')
                        .next()
                        .unwrap_or_default()
                        .split('?')
                        .next()
                        .unwrap_or_default(),
                )
            });
        }
        let directory = call
            .value(&["-P", "--directory-prefix", "--output-dir", "-d", "--dir"])
            .filter(|_| program != "curl" || call.has(&[], &["output-dir"]));
        if let Some(directory) = directory {
            self.written(&directory.with_text(format!("{}/download", directory.text())), call);
        }
        if let Some(target) =
            target.filter(|target| !matches!(target.text(), "-" | "/dev/null" | "/dev/stdout"))
        {
            self.written(&target, call);
            if let Some(path) = target.as_known() {
                let last = shell.commands().len();
                let content = Word::unknown(Some(cofferdam_shell_syntax::Source::Commands(
                    last.saturating_sub(1)..last,
                )));
                let path = match directory {
                    Some(directory) => format!("{}/{path}", directory.text()),
                    None => path.to_owned(),
                };
                shell.write_file(&path, FileContent::Text(content));
            }
        }
    }
}

/// A file that Python runs when it starts, in whatever directory another command says packages lie.
/// A workflow of the project's own that is written out here, and neither fetches, nor logs in, nor sees secrets.
fn plain_workflow(path: &str, call: &Call) -> bool {
    const MORE: &[&str] = &[
        "secret",
        "token",
        "password",
        "curl",
        "wget",
        "http:",
        "ssh",
        "base64",
        "eval",
        "/dev/",
        "pull_request_target",
        "workflow_run",
        "self-hosted",
        "permissions",
        " nc ",
        "openssl",
        "printenv",
        "python -c",
        "python3 -c",
        "node -e",
        "github.event",
        "docker push",
        "publish",
        "deploy",
        "git push",
        "schedule",
    ];
    let copied = match (call.program(), call.argv.get(1..)) {
        (Some("cat"), Some(rest)) => rest.is_empty(),
        (Some("tee"), Some(_)) => true,
        _ => false,
    };
    copied
        && path.contains("/.github/workflows/")
        && call.input.text().and_then(Word::as_known).is_some_and(|text| {
            let lower = text.to_ascii_lowercase();
            text.contains("jobs:") && !MORE.iter().any(|word| lower.contains(word))
        })
}

fn loads_itself(target: &Word) -> bool {
    let text = target.text();
    text.ends_with(".pth") && (target.is_unknown() || text.contains("-packages/"))
}
