//! Programs that run the command given to them: opened until the command itself lies bare.

use cofferdam_shell_syntax::{HOLE, Input, Shell, Source, Word, normalise};

use crate::Category;
use crate::call::Call;
use crate::judge::{Judge, Report};
use crate::rules::{WRAPPER_INDEX, WRAPPERS, Wrapper};

impl Judge<'_> {
    /// Opens a wrapper. `true` when the call was one, so that nothing else is to be said of it.
    pub(crate) fn peel(&mut self, shell: &mut Shell, program: &str, call: &Call) -> bool {
        match program {
            "find" | "gfind" => {
                self.find(shell, call);
                return false;
            }
            "fd" | "fdfind" => {
                self.fd(shell, call);
                return false;
            }
            // Asking where a program is does not start it.
            "command" if call.has(&['v', 'V'], &[]) && call.argv[1].text().starts_with('-') => return true,
            "xargs" | "gxargs" => return self.xargs(shell, call),
            "parallel" => return self.parallel(shell, call),
            "cmd" => {
                let rest = call.arguments();
                if let Some(at) =
                    rest.iter().position(|word| matches!(word.text(), "/c" | "/C" | "/k" | "/K"))
                {
                    let text = rest[at + 1..].iter().map(Word::text).collect::<Vec<_>>().join(" ");
                    let words: Vec<Word> = text.split_whitespace().map(Word::known).collect();
                    self.inspect(shell, &call.with_argv(words));
                }
                return true;
            }
            "cmake" if call.argv.get(1).is_some_and(|word| word.text() == "-E") => {
                let mut argv = call.argv[2..].to_vec();
                let plain: &[&str] = match argv.first().map(Word::text) {
                    Some("remove_directory") => &["rm", "-r"],
                    Some("remove") => &["rm", "-f"],
                    Some("copy" | "copy_directory" | "copy_if_different") => &["cp"],
                    Some("rename") => &["mv"],
                    Some("create_symlink") => &["ln"],
                    _ => &[],
                };
                if !plain.is_empty() {
                    argv.splice(..1, plain.iter().map(|word| Word::known(*word)));
                }
                self.inspect(shell, &call.with_argv(argv));
                return true;
            }
            "busybox" | "toybox" => {
                if call.argv.len() > 1 && !call.argv[1].text().starts_with('-') {
                    self.inspect(shell, &call.with_argv(call.argv[1..].to_vec()));
                }
                return true;
            }
            _ => {}
        }
        if program.starts_with("ld-linux") || program.starts_with("ld-musl") || program == "ld.so" {
            let inner: Vec<Word> = call.operands().cloned().collect();
            self.inspect(shell, &call.with_argv(inner));
            return true;
        }
        let wrapper = WRAPPER_INDEX.find(program).map(|at| &WRAPPERS[at]).find(|wrapper| {
            let words = call.texts().filter(|text| !text.starts_with('-'));
            wrapper.sub.iter().zip(words).filter(|(a, b)| **a == *b).count() == wrapper.sub.len()
        });
        match wrapper {
            Some(wrapper) => {
                self.wrapper(shell, wrapper, call);
                true
            }
            None => false,
        }
    }

    fn wrapper(&mut self, shell: &mut Shell, wrapper: &Wrapper, call: &Call) {
        let mounted = self.mount(call);
        self.unwrapped(shell, wrapper, call);
        if let Some(before) = mounted {
            self.unmount(before);
        }
    }

    fn unwrapped(&mut self, shell: &mut Shell, wrapper: &Wrapper, call: &Call) {
        let mut rest: &[Word] = call.arguments();
        let mut outer = call.clone();
        outer.elsewhere |= wrapper.elsewhere;
        if wrapper.elsewhere {
            outer.directory = None;
        }
        let mut skip = wrapper.skip + wrapper.sub.len();
        let mut seen_text = false;
        let mut dashes = !wrapper.after_dashes;
        let mut entrypoint = None;
        while let [first, more @ ..] = rest {
            let text = first.text();
            // What stands behind the image is the entry point's, options and all.
            if skip == 0 && entrypoint.is_some() {
                break;
            }
            if let Some((directory, used)) = goes_to(call.program(), text, more) {
                let from = call.directory.as_deref();
                outer.directory = from.map(|from| normalise(from, directory).into());
                rest = &more[used..];
                continue;
            }
            if text == "--" {
                rest = more;
                if !dashes || skip == 0 {
                    dashes = true;
                    break;
                }
            } else if let Some(option) = wrapper.text_options.iter().find(|option| {
                text == **option
                    || (option.len() > 2 && text.starts_with(*option))
                    || (option.len() == 2
                        && !text.starts_with("--")
                        && text.starts_with('-')
                        && text.ends_with(&option[1..])
                        && text.len() < 6
                        && text.len() > 1)
            }) {
                let joined = if text.len() > option.len() && option.len() > 2 {
                    Some(first.with_text(text[option.len()..].trim_start_matches('=')))
                } else {
                    more.first().cloned()
                };
                rest = if text.len() > option.len() && option.len() > 2 {
                    more
                } else {
                    more.get(1..).unwrap_or_default()
                };
                if let Some(joined) = joined {
                    self.script(shell, &joined, &[], &outer);
                    seen_text = true;
                }
            } else if wrapper.valued.contains(&text) {
                // One table serves many programs, and not each of them gives this option a value: the other
                // reading is looked at as well.
                self.other_reading(shell, wrapper, more, &outer);
                if matches!(text, "-o" | "--output")
                    && let Some(target) =
                        more.first().filter(|target| target.text().contains(['/', '|', '!']))
                {
                    self.traced_to(shell, target, &outer);
                }
                if text == "--entrypoint" && skip > 0 {
                    entrypoint = more.first().filter(|program| !program.is_empty());
                }
                rest = more.get(1..).unwrap_or_default();
            } else if text.starts_with('-') && (text.len() > 1 || skip > 0) {
                rest = more;
                if !text.contains('=') {
                    self.other_reading(shell, wrapper, more.get(1..).unwrap_or_default(), &outer);
                }
            } else if wrapper.assigns
                && (is_assignment(text) || text.starts_with("BASH_FUNC_") || text.contains("=() {"))
            {
                self.assignment_word(shell, first, call);
                rest = more;
            } else if skip > 0 || !dashes {
                // Behind dashes only: whatever stands in front of them is not the command.
                skip = skip.saturating_sub(1);
                rest = more;
            } else {
                break;
            }
        }
        if let Some(program) = entrypoint {
            let argv: Vec<Word> = std::iter::once(program).chain(rest).cloned().collect();
            self.inspect(shell, &outer.with_argv(argv));
            return;
        }
        if !dashes || rest.is_empty() {
            if wrapper.stdin_text && !seen_text {
                self.stdin_script(shell, &outer);
            }
            return;
        }
        if wrapper.text && !(matches!(call.program(), Some("watch" | "viddy")) && call.has(&['x'], &["exec"]))
        {
            let mut joined = Word::default();
            for (at, word) in rest.iter().enumerate() {
                if at > 0 {
                    joined.push_str(" ");
                }
                joined.push(word);
            }
            // A file that the other side keeps.
            let kept = matches!(&outer.input, Input::File(path) if path.text() != "/dev/null")
                && (joined.text().contains('>') || joined.text().contains("tee "));
            if wrapper.elsewhere
                && (kept || matches!(&outer.input, Input::Pipe { output, .. } if output.is_unknown()))
            {
                self.report(
                    &Report::ask(
                        "send-data",
                        Category::Exfiltration,
                        "It sends data of this machine to another one.",
                    ),
                    call.line(),
                );
            }
            self.script(shell, &joined, &[], &outer);
            // Some join the words, some start them as they are.
            if rest.len() > 1 && !wrapper.elsewhere {
                self.inspect(shell, &outer.with_argv(rest.to_vec()));
            }
        } else if let [text, ..] = rest
            && text.text().trim().contains(' ')
        {
            self.script(shell, text, &[], &outer);
        } else {
            self.inspect(shell, &outer.with_argv(rest.to_vec()));
        }
    }

    /// Where a wrapper writes what it has to say: a file, or the input of another command.
    fn traced_to(&mut self, shell: &mut Shell, target: &Word, call: &Call) {
        match target.text().strip_prefix(['|', '!']) {
            Some(text) => {
                self.report(
                    &Report::ask(
                        "wrapper-runs",
                        Category::HiddenExecution,
                        "What it reports is fed to a command.",
                    ),
                    call.line(),
                );
                let text = target.with_text(text);
                self.script(shell, &text, &[], call);
            }
            None => self.written(target, call),
        }
    }

    /// The command as it would be if an option in front of it were read differently.
    fn other_reading(&mut self, shell: &mut Shell, wrapper: &Wrapper, rest: &[Word], call: &Call) {
        let plain = rest.first().is_some_and(|word| {
            word.text().starts_with(|c: char| c.is_ascii_alphabetic() || c == '/' || c == '.')
                && !word.text().contains('=')
        });
        if plain && !wrapper.text && wrapper.skip == 0 && wrapper.sub.is_empty() {
            // What is only a possible reading is no part of what was asked for.
            let calls = self.calls.take();
            self.inspect(shell, &call.with_argv(rest.to_vec()));
            self.calls = calls;
        }
    }

    /// Shell text run with these positional parameters.
    pub(crate) fn script(&mut self, shell: &mut Shell, text: &Word, positional: &[Word], call: &Call) {
        if text.is_unknown() && !text.text().chars().any(|c| c != HOLE && !c.is_whitespace()) {
            self.unknown_script(shell, text, call);
            return;
        }
        if text.is_cut()
            || text.is_unknown() && text.sources().iter().any(|source| matches!(source, Source::Commands(_)))
        {
            self.unknown_script(shell, text, call);
        }
        if !text.is_unknown() {
            self.veiled(shell, text.sources(), call);
        }
        shell.run_command_string(text.text(), positional, &call.input, self);
    }

    fn assignment_word(&mut self, shell: &mut Shell, word: &Word, call: &Call) {
        if let Some((name, value)) = word.text().split_once('=') {
            self.variable(shell, name, &word.with_text(value), &call.line());
        }
    }

    pub(crate) fn unknown_command(&mut self, shell: &Shell, call: &Call) {
        let word = &call.argv[0];
        let (network, _) = self.origin(shell, word.sources());
        let report = if network {
            Report::ask("remote-command", Category::RemoteCode, "The program to run comes from the network.")
        } else {
            Report::ask(
                "unknown-command",
                Category::NotUnderstood,
                "Which program this runs is not known before it runs.",
            )
        };
        self.report(&report, call.line());
    }
}

fn is_assignment(text: &str) -> bool {
    text.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty()
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
            && !name.starts_with(|c: char| c.is_ascii_digit())
    })
}

/// Where `env -C` and its like start a command, and how many further words say so.
fn goes_to<'w>(program: Option<&str>, text: &'w str, more: &'w [Word]) -> Option<(&'w str, usize)> {
    let option = match program? {
        "env" | "genv" => "-C",
        "sudo" => "-D",
        _ => return None,
    };
    if text == option || text == "--chdir" {
        return Some((more.first()?.as_known()?, 1));
    }
    let joined = text.strip_prefix("--chdir=").or_else(|| text.strip_prefix(option))?;
    Some((joined, 0))
}
