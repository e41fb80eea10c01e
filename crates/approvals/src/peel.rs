//! Programs that run the command given to them: opened until the command itself lies bare.

use cofferdam_shell_syntax::{HOLE, Input, Shell, Source, Word};

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
            "xargs" | "gxargs" => return self.xargs(shell, call),
            "parallel" => return self.parallel(shell, call),
            "cmd" => {
                let rest = call.arguments();
                if let Some(at) =
                    rest.iter().position(|word| matches!(word.text(), "/c" | "/C" | "/k" | "/K"))
                {
                    let text = rest[at + 1..].iter().map(Word::text).collect::<Vec<_>>().join(" ");
                    let words = text.split_whitespace().map(Word::known).collect();
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
        let words: Vec<&str> = call.texts().filter(|text| !text.starts_with('-')).collect();
        let wrapper = WRAPPER_INDEX.find(program).map(|at| &WRAPPERS[at]).find(|wrapper| {
            wrapper.sub.is_empty()
                || wrapper.sub.iter().zip(&words).filter(|(a, b)| **a == **b).count() == wrapper.sub.len()
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
        let mut rest: &[Word] = call.arguments();
        let mut outer = call.clone();
        outer.elsewhere |= wrapper.elsewhere;
        if wrapper.elsewhere {
            outer.directory = None;
        }
        let mut skip = wrapper.skip + wrapper.sub.len();
        let mut seen_text = false;
        let mut dashes = !wrapper.after_dashes;
        while let [first, more @ ..] = rest {
            let text = first.text();
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
                rest = more.get(1..).unwrap_or_default();
            } else if text.starts_with('-') && text.len() > 1 {
                rest = more;
                if !text.contains('=') {
                    self.other_reading(shell, wrapper, more.get(1..).unwrap_or_default(), &outer);
                }
            } else if wrapper.assigns
                && (is_assignment(text) || text.starts_with("BASH_FUNC_") || text.contains("=() {"))
            {
                self.assignment_word(shell, first, call);
                rest = more;
            } else if skip > 0 {
                skip -= 1;
                rest = more;
            } else {
                break;
            }
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
            if wrapper.elsewhere && matches!(&outer.input, Input::Pipe { output, .. } if output.is_unknown())
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
        if text.is_unknown() && text.sources().iter().any(|source| matches!(source, Source::Commands(_))) {
            self.unknown_script(shell, text, call);
        }
        if !text.is_unknown() {
            self.veiled(shell, text.sources(), call);
        }
        shell.run_command_string(text.text(), positional, &call.input, self);
    }

    fn find(&mut self, shell: &mut Shell, call: &Call) {
        let arguments = call.arguments();
        let expression = arguments
            .iter()
            .position(|word| {
                word.text().starts_with(['-', '(', '!']) && !matches!(word.text(), "-L" | "-H" | "-P")
            })
            .unwrap_or(arguments.len());
        let roots: Vec<Word> =
            arguments[..expression].iter().filter(|word| !word.text().starts_with('-')).cloned().collect();
        let roots = if roots.is_empty() { vec![Word::known(".")] } else { roots };
        let found = found_by(&roots, &arguments[expression..]);
        let mut at = expression;
        while at < arguments.len() {
            match arguments[at].text() {
                "-delete" => {
                    for word in &found {
                        let argv = vec![Word::known("rm"), Word::known("-r"), word.clone()];
                        self.inspect(shell, &call.with_argv(argv));
                    }
                }
                "-exec" | "-execdir" | "-ok" | "-okdir" => {
                    let end = arguments[at + 1..]
                        .iter()
                        .position(|word| matches!(word.text(), ";" | "+"))
                        .map_or(arguments.len(), |end| at + 1 + end);
                    for word in &found {
                        let argv = arguments[at + 1..end].iter().map(|part| placed(part, word)).collect();
                        self.inspect(shell, &call.with_argv(argv));
                    }
                    at = end;
                }
                "-fprint" | "-fprint0" | "-fprintf" | "-fls" => {
                    if let Some(target) = arguments.get(at + 1) {
                        self.written(target, call);
                    }
                }
                _ => {}
            }
            at += 1;
        }
    }

    fn fd(&mut self, shell: &mut Shell, call: &Call) {
        let arguments = call.arguments();
        let Some(at) =
            arguments.iter().position(|word| matches!(word.text(), "-x" | "-X" | "--exec" | "--exec-batch"))
        else {
            return;
        };
        let before = &arguments[..at];
        let value = |names: &[&str]| {
            before.iter().position(|word| names.contains(&word.text())).and_then(|at| before.get(at + 1))
        };
        let valued =
            ["-e", "--extension", "-t", "--type", "-d", "--max-depth", "-E", "--exclude", "-S", "--size"];
        let mut skip = false;
        let pattern = before.iter().find(|word| {
            let taken = std::mem::replace(&mut skip, valued.contains(&word.text()));
            !taken && !word.text().starts_with('-') && word.text() != "."
        });
        let found = match (pattern, value(&["-e", "--extension"])) {
            (Some(pattern), _) => {
                Word::known(format!("./any/{}", pattern.text().trim_start_matches('^').trim_end_matches('$')))
            }
            (None, Some(extension)) => Word::known(format!("./any/*.{}", extension.text())),
            (None, None) => Word::known("."),
        };
        let mut argv: Vec<Word> = arguments[at + 1..]
            .iter()
            .take_while(|word| word.text() != ";")
            .map(|part| placed(part, &found))
            .collect();
        if !arguments[at + 1..].iter().any(|word| word.text().contains('{')) {
            argv.push(found);
        }
        self.inspect(shell, &call.with_argv(argv));
    }

    fn xargs(&mut self, shell: &mut Shell, call: &Call) -> bool {
        let mut rest = call.arguments();
        let mut replace: Option<String> = None;
        while let [first, more @ ..] = rest {
            let text = first.text();
            match text {
                "-I" | "--replace" | "-i" => {
                    replace = Some(more.first().map_or("{}", Word::text).to_owned());
                    rest = more.get(1..).unwrap_or_default();
                }
                "-n" | "-P" | "-L" | "-s" | "-d" | "-E" | "-a" | "--max-args" | "--max-procs"
                | "--delimiter" | "--arg-file" | "--max-lines" => {
                    rest = more.get(1..).unwrap_or_default();
                }
                _ if text.starts_with("-I") => {
                    replace = Some(text[2..].to_owned());
                    rest = more;
                }
                _ if text.starts_with('-') => rest = more,
                _ => break,
            }
        }
        if rest.is_empty() {
            return true;
        }
        for word in self.fed(shell, &call.input) {
            let mut argv: Vec<Word> = match &replace {
                Some(mark) => rest.iter().map(|part| part_replaced(part, mark, &word)).collect(),
                None => rest.to_vec(),
            };
            if replace.is_none() {
                argv.push(word);
            }
            let mut inner = call.with_argv(argv);
            inner.input = Input::Inherited;
            self.inspect(shell, &inner);
        }
        true
    }

    /// The words that arrive on standard input, as far as they are known.
    fn fed(&self, shell: &Shell, input: &Input) -> Vec<Word> {
        if let Some(text) = input.text()
            && let Some(known) = text.as_known()
        {
            return known
                .split(|c: char| c.is_whitespace() || c == '\0')
                .filter(|part| !part.is_empty())
                .take(16)
                .map(|part| text.with_text(part))
                .collect();
        }
        let Input::Pipe { from, .. } = input else { return vec![Word::unknown(None)] };
        let upstream: Vec<_> =
            shell.commands()[from.clone()].iter().filter(|command| !command.argv.is_empty()).collect();
        let secret = upstream
            .iter()
            .flat_map(|command| &command.argv[1..])
            .find(|word| crate::place::is_secret(word.text()));
        if let Some(secret) = secret {
            return vec![secret.clone()];
        }
        let finder = upstream.iter().find_map(|command| {
            let name = command.argv[0].text().rsplit('/').next().unwrap_or_default();
            let arguments = &command.argv[1..];
            match name {
                "find" => {
                    let expression = arguments
                        .iter()
                        .position(|word| word.text().starts_with(['-', '(', '!']))
                        .unwrap_or(arguments.len());
                    let roots = if expression == 0 {
                        vec![Word::known(".")]
                    } else {
                        arguments[..expression].to_vec()
                    };
                    Some(found_by(&roots, &arguments[expression..]))
                }
                "ls" => {
                    let named: Vec<Word> =
                        arguments.iter().filter(|word| !word.text().starts_with('-')).cloned().collect();
                    (!named.is_empty()).then_some(named)
                }
                "fd" | "fdfind" => arguments
                    .iter()
                    .find(|word| !word.text().starts_with('-'))
                    .map(|word| vec![Word::known(format!("./any/{}", word.text()))]),
                _ => None,
            }
        });
        finder.unwrap_or_else(|| vec![Word::unknown(Some(Source::Commands(from.clone())))])
    }

    fn parallel(&mut self, shell: &mut Shell, call: &Call) -> bool {
        let arguments = call.arguments();
        let split =
            arguments.iter().position(|word| word.text().starts_with(":::")).unwrap_or(arguments.len());
        let mut command: Vec<Word> = Vec::new();
        let mut skip = false;
        for word in &arguments[..split] {
            if skip {
                skip = false;
            } else if command.is_empty() && word.text().starts_with('-') {
                skip = matches!(word.text(), "-j" | "-P" | "-n" | "-N" | "-a" | "--jobs" | "-S" | "-I");
            } else {
                command.push(word.clone());
            }
        }
        let values: Vec<Word> = match arguments.get(split + 1..) {
            Some(values) if !values.is_empty() => values.to_vec(),
            _ => self.fed(shell, &call.input),
        };
        for value in values.iter().take(16) {
            let mut text = Word::default();
            for word in &command {
                text.push(word);
                text.push_str(" ");
            }
            if text.text().contains("{}") {
                text = text.with_text(text.text().replace("{}", value.text()));
            } else {
                text.push(value);
            }
            self.script(shell, &text, &[], call);
        }
        true
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

fn placed(part: &Word, found: &Word) -> Word {
    part_replaced(part, "{}", found)
}

fn part_replaced(part: &Word, mark: &str, found: &Word) -> Word {
    if part.text().contains(mark) {
        found.with_text(part.text().replace(mark, found.text()))
    } else {
        part.clone()
    }
}

/// What a `find` finds, as paths to judge: the roots themselves when nothing narrows it down, otherwise names
/// somewhere below them.
fn found_by(roots: &[Word], expression: &[Word]) -> Vec<Word> {
    let mut pattern: Option<String> = None;
    let mut narrowed = false;
    for (at, word) in expression.iter().enumerate() {
        let value = expression.get(at + 1).map_or("", Word::text);
        match word.text() {
            "-name" | "-iname" | "-path" | "-wholename" | "-ipath" | "-regex" | "-iregex"
                if !value.chars().all(|c| "*.?/".contains(c)) =>
            {
                let negated = at > 0 && matches!(expression[at - 1].text(), "!" | "-not");
                if negated {
                    narrowed = false;
                } else if pattern.is_none() {
                    pattern =
                        Some(value.trim_start_matches(['*', '.', '/']).trim_end_matches("/*").to_owned());
                    if value.starts_with("*.") || value.starts_with('.') {
                        pattern = Some(value.to_owned());
                    }
                }
            }
            "-empty" | "-mtime" | "-atime" | "-ctime" | "-mmin" | "-amin" | "-newer" | "-size" | "-xtype" => {
                narrowed = true;
            }
            _ => {}
        }
    }
    roots
        .iter()
        .map(|root| match (&pattern, narrowed) {
            (Some(pattern), _) => {
                root.with_text(format!("{}/any/{pattern}", root.text().trim_end_matches('/')))
            }
            (None, true) => root.with_text(format!("{}/any/old.tmp", root.text().trim_end_matches('/'))),
            (None, false) => root.clone(),
        })
        .collect()
}
