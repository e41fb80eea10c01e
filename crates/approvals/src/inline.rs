//! Program text on the command line: a light look at the calls it makes.
//!
//! Strings and comments are masked, so that a program that prints the name of a dangerous call is not one
//! that makes it. Calls with constant arguments are judged by what they do (`rmtree('build')` as `rm -r
//! build`); calls whose arguments are computed are asked about.

use cofferdam_shell_syntax::{HOLE, Shell, Word};

use crate::Category;
use crate::call::Call;
use crate::judge::{Judge, Report};
use crate::language::{Effect, Language};
use crate::literal::inside;
use crate::program_text::{Argument, Program};
use crate::rules::CALLS;

/// One program text of this length, or more of them that are as much work together, is looked at.
const LONGEST_PROGRAM: usize = 32 * 1024;

impl Judge<'_> {
    /// Judges program text.
    pub(crate) fn inline(&mut self, shell: &mut Shell, language: Language, code: &Word, call: &Call) {
        if self.depth > 12 {
            return;
        }
        if code.is_cut() {
            self.unknown_script(shell, code, call);
        }
        // Names are looked for from every name: the work grows with the square of the length.
        let length = code.text().len();
        self.program_work = self.program_work.saturating_add(length.saturating_mul(length));
        if self.program_work > LONGEST_PROGRAM * LONGEST_PROGRAM {
            self.report(
                &Report::ask(
                    "unknown-code",
                    Category::NotUnderstood,
                    "There is more program text on this line than is looked at.",
                ),
                call.line(),
            );
            return;
        }
        let text = match language {
            Language::Python => crate::literal::without_new_names(code.text()),
            _ => code.text().to_owned(),
        };
        match language {
            Language::Sed => return self.sed(shell, &text, call),
            Language::Vim => return self.vim(shell, &text, call),
            _ => {}
        }
        let program = Program::read(&text, language);
        // Where the program goes first is where its commands and paths are seen from.
        let moved = program
            .goes_to(language)
            .map(|directory| Call { directory: Some(directory.into()), ..call.clone() });
        let call = moved.as_ref().unwrap_or(call);
        self.calls(shell, language, &program, call);
        self.strings(&program, call);
        self.disguised(language, &program, call);
        self.secret_variables(&program, call);
        self.commands_in_quotes(shell, language, &program, call);
        let sends = [
            "requests.post",
            "requests.put",
            "urlopen",
            "http.client",
            "fetch(",
            "axios",
            ".request(",
            "Net::HTTP",
            "LWP::",
            "HTTP::Tiny",
            "curl_exec",
            "urlretrieve",
            "smtplib",
            "ftplib",
            "httpx.",
            "http.get",
            "https.get",
            "file_get_contents('http",
            "file_get_contents(\"http",
            "URI.open",
            "Net::FTP",
        ];
        let reads = [
            "environ",
            "process.env",
            "ENV[",
            "ENV.",
            "%ENV",
            "getenv",
            "open(",
            "readFile",
            "File.read",
            "file_get_contents(",
            "slurp",
            "read_text",
            "$ENV",
            "`",
            "qx",
        ];
        let dumps = [
            "print(os.environ)",
            "log(process.env)",
            "stringify(process.env)",
            "ENV.to_h",
            "Deno.env.toObject",
            "os.environ.items",
            "dict(os.environ",
            "ENV.each",
        ];
        let printed = call.has_word(&["-p", "--print", "-pe"]) && program.masked.trim() == "process.env";
        if printed || dumps.iter().any(|name| program.masked.contains(name)) {
            self.report(
                &Report::ask(
                    "dump-environment",
                    Category::Credentials,
                    "It shows the whole environment, secrets included.",
                ),
                call.line(),
            );
        }
        self.written_for_later(&program, call);
        let fetches = [
            "urlretrieve",
            "urlopen",
            "requests.get",
            "https.get",
            "http.get",
            "fetch(",
            "Net::HTTP",
            "URI.open",
            "LWP::",
        ];
        let starts = ["system(", "popen(", "subprocess.", "execSync", "spawn", "exec("];
        if fetches.iter().any(|name| program.masked.contains(name))
            && starts.iter().any(|name| program.masked.contains(name))
        {
            self.report(
                &Report::ask(
                    "remote-code",
                    Category::RemoteCode,
                    "It fetches something and starts a program.",
                ),
                call.line(),
            );
        }
        if sends.iter().any(|name| text.contains(name))
            && reads.iter().any(|name| mentions(&program.masked, name))
            && !text.contains("localhost")
            && !text.contains("127.0.0.1")
        {
            self.report(
                &Report::ask(
                    "code-sends-data",
                    Category::Exfiltration,
                    "The program text reads data of this machine and talks to the network.",
                ),
                call.line(),
            );
        }
    }

    fn calls(&mut self, shell: &mut Shell, language: Language, program: &Program<'_>, call: &Call) {
        for known in CALLS.iter().filter(|known| known.languages.contains(&language)) {
            if !known.needs.is_empty() && !known.needs.split('|').any(|needed| program.code.contains(needed))
            {
                continue;
            }
            for (start, at) in program.occurrences(known, language) {
                if matches!(known.effect, Effect::Stop | Effect::Start) || known.name == "fork" {
                    self.multitudes(known.name, &program.masked, at, call);
                }
                let mut arguments = program.arguments(at, language);
                // The beginning of a command says what it does; the beginning of a path does not say where it leads.
                let deletes = matches!(known.effect, Effect::Delete | Effect::DeleteTree);
                if !deletes && !matches!(known.effect, Effect::Shell | Effect::Command) {
                    for argument in &mut arguments {
                        if matches!(argument, Argument::Text(text) if text.contains(HOLE)) {
                            *argument = Argument::Other;
                        }
                    }
                }
                if known.name.starts_with('.') && known.effect == Effect::Write {
                    arguments.clear();
                }
                self.effect(shell, known.effect, (&arguments, start), program, (language, call));
            }
        }
    }

    fn effect(
        &mut self,
        shell: &mut Shell,
        effect: Effect,
        (arguments, start): (&[Argument], usize),
        program: &Program<'_>,
        (language, call): (Language, &Call),
    ) {
        let unknown = Report::ask(
            "code-runs-unknown",
            Category::HiddenExecution,
            "The program text starts a command that is not known before it runs.",
        );
        let partly = matches!(arguments.first(), Some(Argument::Text(text)) if text.contains(HOLE));
        if partly && language != Language::Awk {
            match effect {
                Effect::Delete | Effect::DeleteTree => {
                    let argv = vec![Word::known("rm"), Word::unknown(None)];
                    self.inspect(shell, &call.with_argv(argv));
                }
                Effect::Shell => {
                    self.report(&unknown, call.line());
                    self.runs_each(shell, program, &arguments[0], call);
                }
                _ => self.report(&unknown, call.line()),
            }
        }
        // A command that is left behind in the background, again and again.
        let left = matches!(arguments.first(), Some(Argument::Text(text)) if text.trim_end().ends_with('&'));
        if left && matches!(effect, Effect::Shell | Effect::Command) {
            self.multitudes("&", &program.masked, start, call);
        }
        match effect {
            Effect::Shell => match arguments.first() {
                Some(Argument::Text(text)) if is_bare_shell(text) => self.report(&unknown, call.line()),
                Some(Argument::Text(text))
                    if arguments.len() == 1 || language != Language::Ruby && language != Language::Perl =>
                {
                    self.run_at(shell, text, call);
                }
                Some(Argument::Text(_)) => self.argv(shell, arguments, call),
                Some(Argument::List(_)) => self.argv(shell, arguments, call),
                _ => self.report(&unknown, call.line()),
            },
            Effect::Command => match arguments {
                [Argument::Text(text), ..] if is_bare_shell(text) && arguments.len() == 1 => {
                    self.report(&unknown, call.line());
                }
                [Argument::Text(text), Argument::Other, ..]
                    if language == Language::Javascript && !text.contains(' ') =>
                {
                    let argv = vec![Word::known(text.clone()), Word::unknown(None)];
                    self.inspect(shell, &call.with_argv(argv));
                }
                [Argument::Text(text), rest @ ..]
                    if !rest
                        .iter()
                        .any(|argument| matches!(argument, Argument::Text(_) | Argument::List(_))) =>
                {
                    self.run_at(shell, text, call);
                }
                [Argument::Text(_) | Argument::List(_), ..] => self.argv(shell, arguments, call),
                _ => self.report(&unknown, call.line()),
            },
            Effect::Delete | Effect::DeleteTree => {
                let target = match arguments.first() {
                    // Many languages read the tilde themselves.
                    Some(Argument::Text(text)) => match text.strip_prefix("~/") {
                        Some(rest) => Word::known(format!("{}/{rest}", self.context.home)),
                        None => Word::known(text.clone()),
                    },
                    Some(Argument::Other) if program.made_for_a_while(start) => Word::known("/tmp/made"),
                    Some(Argument::Other) => Word::unknown(None),
                    Some(Argument::List(_)) | None => match program.string_before(start) {
                        // What the home was searched for lies in it.
                        Some(text) if names_home(program.code) && !text.starts_with(['/', '~']) => {
                            Word::known(format!("{}/any/{text}", self.context.home))
                        }
                        Some(text) => Word::known(text),
                        None => Word::unknown(None),
                    },
                };
                if matches!(arguments.first(), Some(Argument::Other)) {
                    self.deletes_each(shell, program, start, call);
                }
                let mut argv = vec![Word::known("rm")];
                if effect == Effect::DeleteTree {
                    argv.push(Word::known("-r"));
                }
                argv.push(target);
                self.inspect(shell, &call.with_argv(argv));
            }
            Effect::Open if language == Language::Perl => {
                let [_, Argument::Text(mode), rest @ ..] = arguments else { return };
                let path = match rest {
                    [Argument::Text(path), ..] => path.as_str(),
                    _ => mode.trim_start_matches(['+', '>', '<', ' ']),
                };
                if mode.starts_with(['>', '+']) {
                    self.written(&Word::known(path), call);
                }
            }
            Effect::Move => {
                if let [Argument::Text(from), Argument::Text(to), ..] = arguments {
                    let argv = ["mv", from, to].map(Word::known).to_vec();
                    self.inspect(shell, &call.with_argv(argv));
                }
            }
            Effect::Open => {
                let writes = arguments.get(1).is_none_or(|mode| match mode {
                    Argument::Text(mode) => mode.contains(['w', 'a', 'x', '+', '>']),
                    _ => true,
                }) && arguments.len() > 1;
                if let (Some(Argument::Text(path)), true) = (arguments.first(), writes) {
                    self.written(&Word::known(path.clone()), call);
                }
            }
            Effect::Write => {
                let path = match arguments.first() {
                    Some(Argument::Text(path)) => Some(path.clone()),
                    _ => program.string_before(start),
                };
                let homely = path.is_none() || names_home(program.code);
                if let Some(path) = path {
                    self.written(&Word::known(path), call);
                }
                // The home put in front of a name: which file that is can be told all the same.
                for &(start, end, _) in program.strings.iter().filter(|_| homely) {
                    let name = inside(&program.code[start..end]);
                    let name = name.strip_prefix('/').unwrap_or(name);
                    if name.starts_with('.')
                        && name.len() > 2
                        && !name.starts_with("..")
                        && !name.contains(' ')
                    {
                        self.written(&Word::known(format!("{}/{name}", self.context.home)), call);
                    }
                }
            }
            Effect::Code => match arguments.first() {
                Some(Argument::Text(text)) if text.contains("://") => self.report(
                    &Report::ask(
                        "remote-code",
                        Category::RemoteCode,
                        "What it downloads is run as code, unseen.",
                    ),
                    call.line(),
                ),
                Some(Argument::Text(text)) => {
                    self.depth += 4;
                    self.inline(shell, language, &Word::known(text.clone()), call);
                    self.depth -= 4;
                }
                Some(_) => self.report(
                    &Report::ask(
                        "code-runs-code",
                        Category::HiddenExecution,
                        "The program text computes further program text and runs it.",
                    ),
                    call.line(),
                ),
                None => {}
            },
            Effect::Ask => self.report(
                &Report::ask(
                    "code-reaches-system",
                    Category::HiddenExecution,
                    "The program text uses a call that can do anything to the machine.",
                ),
                call.line(),
            ),
            Effect::Connect => self.report(
                &Report::ask(
                    "code-connects",
                    Category::ReverseShell,
                    "The program text opens a raw connection to another machine.",
                ),
                call.line(),
            ),
            Effect::Start => {}
            Effect::Walk => self.walked(shell, arguments.first(), program, start, call),
            Effect::Power => self.report(
                &Report::deny(
                    "code-stops-machine",
                    Category::SystemControl,
                    "It stops or restarts the machine.",
                ),
                call.line(),
            ),
            Effect::Stop => self.report(
                &Report::ask(
                    "code-stops-processes",
                    Category::Services,
                    "The program text stops or multiplies processes.",
                ),
                call.line(),
            ),
        }
    }

    /// Runs shell text where the program that starts it is at that time.
    pub(crate) fn run_at(&mut self, shell: &mut Shell, text: &str, call: &Call) {
        match call.directory.as_deref().filter(|directory| shell.directory() != Some(directory)) {
            Some(directory) if !directory.contains('\'') => {
                shell.run_child(&format!("cd '{directory}'\n{text}"), Vec::new(), &call.input, self);
            }
            _ => {
                shell.run_child(text, Vec::new(), &call.input, self);
            }
        }
    }

    fn argv(&mut self, shell: &mut Shell, arguments: &[Argument], call: &Call) {
        let mut argv = Vec::new();
        for argument in arguments {
            match argument {
                Argument::Text(text) => argv.push(Word::known(text.clone())),
                Argument::List(list) => argv.extend(list.iter().map(|item| match item {
                    Argument::Text(text) => Word::known(text.clone()),
                    _ => Word::unknown(None),
                })),
                Argument::Other => argv.push(Word::unknown(None)),
            }
            if matches!(argument, Argument::List(_)) {
                break;
            }
        }
        // execlp and its kind name the program twice.
        if argv.len() > 1 && argv[0].text().rsplit('/').next() == Some(argv[1].text()) {
            argv.remove(0);
        }
        self.inspect(shell, &call.with_argv(argv));
    }

    /// Secrets of the environment that are named in the program.
    fn secret_variables(&mut self, program: &Program<'_>, call: &Call) {
        let reads =
            ["environ", "process.env", "ENV[", "ENV.fetch", "getenv", "$ENV", "Deno.env", "Sys.getenv"];
        if !reads.iter().any(|name| program.code.contains(name)) {
            return;
        }
        let named = program
            .code
            .split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
            .any(crate::reading::is_secret_name);
        let shown = ["print", "console.log", "puts", "echo", "write", "say", "-p", "cat("]
            .iter()
            .any(|word| program.code.contains(word))
            || call.has_word(&["-p", "--print", "-pe"]);
        if named && shown {
            self.report(
                &Report::ask(
                    "print-secret",
                    Category::Credentials,
                    "It prints a secret from the environment.",
                ),
                call.line(),
            );
        }
    }

    /// Names of calls that are put together or passed as text.
    fn disguised(&mut self, language: Language, program: &Program<'_>, call: &Call) {
        let named = [
            "unlink",
            "system",
            "exec",
            "shell_exec",
            "passthru",
            "rmdir",
            "assert",
            "eval",
            "child_process",
        ];
        let php = language == Language::Php
            && program
                .strings
                .iter()
                .any(|&(start, end, _)| named.contains(&inside(&program.code[start..end])));
        let javascript = language == Language::Javascript
            && program.masked.match_indices("require(").any(|(at, _)| {
                let rest = &program.masked[at..];
                rest[..rest.find(')').unwrap_or(rest.len())].contains('+')
            });
        // `$f("id")`: which function that is, nobody can tell by looking.
        let variable_call = language == Language::Php
            && program.masked.match_indices('$').any(|(at, _)| {
                let rest =
                    program.masked[at + 1..].trim_start_matches(|c: char| c.is_alphanumeric() || c == '_');
                rest.starts_with('(')
            });
        if php || javascript || variable_call {
            self.report(
                &Report::ask(
                    "code-disguised",
                    Category::HiddenExecution,
                    "The program text puts the name of a call together.",
                ),
                call.line(),
            );
        }
    }

    /// Secrets and start-up files that are named in the program's strings.
    fn strings(&mut self, program: &Program<'_>, call: &Call) {
        for &(start, end, _) in &program.strings {
            let text = inside(&program.code[start..end]);
            if text.len() > 3
                && text.len() < 200
                && (text.starts_with(['/', '~', '.']) || !text.contains(' '))
            {
                self.secret_text(text, call);
            }
            let queries = ["execute", "query", "exec(", ".raw(", "cursor", "->exec", "do("];
            if text.contains(' ') && queries.iter().any(|name| program.masked.contains(name)) {
                self.statements_in(text, call);
            }
        }
    }
}

/// Whether the program asks where the home is.
fn names_home(code: &str) -> bool {
    ["home()", "homedir", "HOME", "expanduser", "Dir.home", "home_dir"].iter().any(|name| code.contains(name))
}

/// Whether a name stands in a text, and not as the end of a longer one.
pub(crate) fn mentions(text: &str, name: &str) -> bool {
    text.match_indices(name).any(|(at, _)| {
        !name.starts_with(char::is_alphabetic)
            || !text[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_')
    })
}

/// A shell with nothing to run is a shell for whoever is at the other end.
pub(crate) fn is_bare_shell(text: &str) -> bool {
    let name = text.trim().trim_end_matches(" -i").trim_end_matches(" -p");
    matches!(
        name.rsplit('/').next().unwrap_or(name),
        "sh" | "bash" | "zsh" | "dash" | "ksh" | "cmd.exe" | "powershell"
    ) || is_probe(text)
}

/// What somebody runs to see whether they can run things: every language has its own call for the answer.
fn is_probe(text: &str) -> bool {
    let mut words = text.split_whitespace();
    let first = words.next().unwrap_or_default();
    match first.rsplit('/').next().unwrap_or(first) {
        "id" | "whoami" | "uname" | "hostname" | "calc" | "calc.exe" | "xcalc" => words.next().is_none(),
        "touch" => words.next().is_some_and(|path| path.starts_with("/tmp/")),
        _ => false,
    }
}
