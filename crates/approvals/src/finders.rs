//! Programs that run a command for everything that they find or are fed.

use cofferdam_shell_syntax::{FileContent, Input, Shell, Source, Word};

use crate::call::Call;
use crate::interpreter::is_shell;
use crate::judge::{FLOODS, Judge};

impl Judge<'_> {
    pub(crate) fn find(&mut self, shell: &mut Shell, call: &Call) {
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
                        let mut argv: Vec<Word> =
                            arguments[at + 1..end].iter().map(|part| placed(part, word)).collect();
                        // What is done to everything that is found is done to a whole tree.
                        if argv.len() > 1 && roots.contains(word) {
                            argv.splice(1..1, recursive(argv[0].text()).map(Word::known));
                        }
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

    pub(crate) fn fd(&mut self, shell: &mut Shell, call: &Call) {
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
        let mut named = before.iter().filter(|word| {
            let taken = std::mem::replace(&mut skip, valued.contains(&word.text()));
            !taken && !word.text().starts_with('-')
        });
        let pattern = named.next().filter(|word| word.text() != ".");
        let mut roots: Vec<Word> = named.cloned().collect();
        if roots.is_empty() {
            roots.push(Word::known("."));
        }
        let below = match (pattern, value(&["-e", "--extension"])) {
            (Some(pattern), _) => {
                Some(pattern.text().trim_start_matches('^').trim_end_matches('$').to_owned())
            }
            (None, Some(extension)) => Some(format!("*.{}", extension.text())),
            (None, None) => None,
        };
        for root in roots {
            let found = match &below {
                Some(name) => root.with_text(format!("{}/any/{name}", root.text().trim_end_matches('/'))),
                None => root,
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
    }

    /// Something without end, turned into as many processes as there is room for.
    fn flood(&mut self, shell: &Shell, call: &Call) {
        let Input::Pipe { from, .. } = &call.input else { return };
        let named = |wanted: &[&str]| {
            shell.commands()[from.clone()].iter().any(|command| {
                let name =
                    command.argv.first().map_or("", |word| word.text().rsplit('/').next().unwrap_or(""));
                wanted.contains(&name)
            })
        };
        let options = ["-P", "--max-procs", "-j", "--jobs"];
        let value = call.value(&options).map(Word::text).or_else(|| {
            call.texts().find_map(|text| {
                let value = options.iter().find_map(|option| text.strip_prefix(option))?;
                Some(value.trim_start_matches('='))
            })
        });
        let many = value.is_some_and(|value| value.parse().is_ok_and(|count: u64| count == 0 || count >= 64));
        if many && named(&["yes"]) && !named(&["head", "sed", "timeout"]) {
            self.report(&FLOODS, call.line());
        }
    }

    pub(crate) fn xargs(&mut self, shell: &mut Shell, call: &Call) -> bool {
        self.flood(shell, call);
        // `xargs -a file`: what it would have read from its input.
        let mut read = call.clone();
        let mut rest = call.arguments();
        let mut replace: Option<String> = None;
        let mut split = Split::Words;
        while let [first, more @ ..] = rest {
            let text = first.text();
            let file = match text {
                "-a" | "--arg-file" => more.first(),
                _ => None,
            };
            if let Some(FileContent::Text(content)) = file.and_then(|file| shell.file(file.as_known()?))
                && content.as_known().is_some()
            {
                read.input = Input::Text(content.clone().into());
            }
            match text {
                "-I" | "--replace" | "-i" => {
                    replace = Some(more.first().map_or("{}", Word::text).to_owned());
                    rest = more.get(1..).unwrap_or_default();
                }
                "-n" | "-P" | "-L" | "-s" | "-d" | "-E" | "-a" | "--max-args" | "--max-procs"
                | "--delimiter" | "--arg-file" | "--max-lines" => {
                    if matches!(text, "-d" | "--delimiter") {
                        split = Split::at(more.first().map_or("", Word::text));
                    }
                    rest = more.get(1..).unwrap_or_default();
                }
                _ if text.starts_with("-I") => {
                    replace = Some(text[2..].to_owned());
                    rest = more;
                }
                _ if text.starts_with('-') => {
                    if text.starts_with("-0") || text == "--null" {
                        split = Split::Lines;
                    } else if let Some(letter) =
                        text.strip_prefix("-d").or_else(|| text.strip_prefix("--delimiter="))
                    {
                        split = Split::at(letter);
                    }
                    rest = more;
                }
                _ => break,
            }
        }
        if rest.is_empty() {
            return true;
        }
        let call = &read;
        if replace.is_some() && split == Split::Words {
            split = Split::Lines;
        }
        // `xargs sh -c` takes what is fed to it as shell text.
        if replace.is_none() && rest.last().is_some_and(|word| word.text() == "-c") {
            match call.input {
                Input::Inherited => self.unknown_script(shell, &Word::unknown(None), call),
                _ => self.stdin_script(shell, call),
            }
            // A text in quotes arrives without them, and in one piece.
            for word in self.fed(shell, &call.input, split) {
                if !word.is_unknown() && word.text().contains([' ', '{', '$', '\'', '"', '\\']) {
                    self.script(shell, &word, &[], call);
                }
            }
            return true;
        }
        // Without a mark they stand behind each other, and are options and operands of one call.
        if let (None, Some(text)) = (&replace, call.input.text())
            && let Some(known) = text.as_known()
            && let together @ [_, _, ..] = &split.parts(known)[..]
        {
            let fed = together.iter().map(|part| text.with_text(part.as_str()));
            let mut inner = call.with_argv(rest.iter().cloned().chain(fed).collect::<Vec<_>>());
            inner.input = Input::Inherited;
            self.inspect(shell, &inner);
        }
        let into_text = replace.is_some()
            && rest.first().and_then(|word| word.text().rsplit('/').next()).is_some_and(is_shell);
        for word in self.fed(shell, &call.input, split) {
            // A name that other commands here have listed is an operand of the text that it is put into; where it
            // stands as the command, the text says so itself. What was downloaded or decoded is no name.
            let listed = into_text && word.is_unknown() && !self.is_strange(shell, word.sources());
            let word = if listed { Word::unknown(None) } else { word };
            let mut argv: Vec<Word> = match &replace {
                Some(mark) => rest.iter().map(|part| part_replaced(part, mark, &word)).collect(),
                None => rest.to_vec(),
            };
            // What is done to everything below a directory is done to the whole of it.
            let whole =
                !word.is_unknown() && !word.text().contains("/any/") && self.walks(shell, &call.input);
            if whole && argv.len() + usize::from(replace.is_none()) > 1 {
                argv.splice(1..1, recursive(argv[0].text()).map(Word::known));
            }
            if replace.is_none() {
                argv.push(word);
            }
            let mut inner = call.with_argv(argv);
            inner.input = Input::Inherited;
            self.inspect(shell, &inner);
        }
        true
    }

    /// Whether what is fed was found by going through a tree.
    fn walks(&self, shell: &Shell, input: &Input) -> bool {
        let Input::Pipe { from, .. } = input else { return false };
        shell.commands()[from.clone()].iter().any(|command| {
            let name = command.argv.iter().map(Word::text).find(|text| !matches!(*text, "sudo" | "doas"));
            name.is_some_and(|name| matches!(name.rsplit('/').next(), Some("find" | "gfind")))
        })
    }

    /// The words that arrive on standard input, as far as they are known.
    fn fed(&self, shell: &Shell, input: &Input, split: Split) -> Vec<Word> {
        if let Some(text) = input.text()
            && let Some(known) = text.as_known()
        {
            return split.parts(known).into_iter().take(16).map(|part| text.with_text(part)).collect();
        }
        let from = match input {
            Input::Pipe { from, .. } => from,
            // `xargs rm < <(find …)` is fed by the command within.
            Input::Text(text) => match text.sources() {
                [Source::Commands(from), ..] => from,
                _ => return vec![Word::unknown(None)],
            },
            _ => return vec![Word::unknown(None)],
        };
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
            let skip = command.argv.iter().take_while(|word| matches!(word.text(), "sudo" | "doas")).count();
            let name = command.argv.get(skip)?.text().rsplit('/').next().unwrap_or_default();
            let arguments = &command.argv[skip + 1..];
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

    pub(crate) fn parallel(&mut self, shell: &mut Shell, call: &Call) -> bool {
        self.flood(shell, call);
        let arguments = call.arguments();
        let split =
            arguments.iter().position(|word| word.text().starts_with(":::")).unwrap_or(arguments.len());
        // What is fed to each command is its input then, not its words.
        if arguments[..split].iter().any(|word| matches!(word.text(), "--pipe" | "--pipepart")) {
            let at = arguments.iter().position(|word| !word.text().starts_with('-')).unwrap_or(split);
            self.inspect(shell, &call.with_argv(arguments[at..split].to_vec()));
            return true;
        }
        let mut command: Vec<Word> = Vec::new();
        let mut skip = false;
        for word in &arguments[..split] {
            if skip {
                skip = false;
            } else if command.is_empty() && word.text().starts_with('-') {
                skip = VALUED.contains(&word.text());
            } else {
                command.push(word.clone());
            }
        }
        let values: Vec<Word> = match arguments.get(split + 1..) {
            Some(values) if !values.is_empty() => values.to_vec(),
            _ => self.fed(shell, &call.input, Split::Lines),
        };
        for value in values.iter().take(16) {
            let mut text = Word::default();
            for word in &command {
                text.push(word);
                text.push_str(" ");
            }
            let marked: Vec<&&str> = MARKS.iter().filter(|mark| text.text().contains(**mark)).collect();
            for mark in &marked {
                text = text.with_text(text.text().replace(**mark, value.text()));
            }
            if marked.is_empty() {
                text.push(value);
            }
            self.script(shell, &text, &[], call);
        }
        true
    }
}

/// Options of `parallel` that take the next word.
const VALUED: &[&str] = &[
    "-j",
    "-P",
    "-n",
    "-N",
    "-a",
    "--jobs",
    "-S",
    "-I",
    "--colsep",
    "-C",
    "--delay",
    "--timeout",
    "--retries",
    "--joblog",
    "--results",
    "--tmpdir",
    "--memfree",
    "--load",
    "--nice",
    "--arg-file",
    "--max-args",
    "-d",
    "--delimiter",
    "--halt",
    "--env",
    "--workdir",
    "--wd",
    "--tagstring",
    "--block",
    "-L",
    "-s",
    "--max-procs",
    "--sshlogin",
];
/// Where it puts what is fed to it.
const MARKS: &[&str] =
    &["{}", "{.}", "{/}", "{//}", "{/.}", "{1}", "{2}", "{3}", "{4}", "{5}", "{6}", "{7}", "{8}", "{9}"];

/// How what is fed to a program is cut into words.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Split {
    /// At white space, with quotes and backslashes as a shell has them.
    Words,
    Lines,
    /// At this letter and nothing else.
    At(char),
}

impl Split {
    /// As the option names the letter.
    fn at(named: &str) -> Self {
        match named {
            "\\n" | "\\0" | "" => Self::Lines,
            "\\t" => Self::At('\t'),
            _ => Self::At(named.chars().next().unwrap_or('\n')),
        }
    }

    fn parts(self, text: &str) -> Vec<String> {
        if let Self::At(letter) = self {
            let parts = text.trim_end_matches('\n').split(letter).filter(|part| !part.is_empty());
            return parts.map(str::to_owned).collect();
        }
        if self == Self::Lines {
            let lines = text.split(['\n', '\0']).map(str::trim).filter(|line| !line.is_empty());
            return lines.map(str::to_owned).collect();
        }
        let mut parts = Vec::new();
        let mut part = String::new();
        let mut quote = None;
        let mut rest = text.chars();
        while let Some(character) = rest.next() {
            match (quote, character) {
                (Some(open), _) if open == character => quote = None,
                (None, '"' | '\'') => quote = Some(character),
                (None, '\\') => part.extend(rest.next()),
                (None, '\0') => parts.push(std::mem::take(&mut part)),
                (None, _) if character.is_whitespace() => parts.push(std::mem::take(&mut part)),
                _ => part.push(character),
            }
        }
        parts.push(part);
        parts.retain(|part| !part.is_empty());
        parts
    }
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
/// The option by which a program goes through a tree itself.
fn recursive(program: &str) -> Option<&'static str> {
    match program.rsplit('/').next()? {
        "chmod" | "chown" | "chgrp" => Some("-R"),
        "rm" | "shred" | "unlink" => Some("-r"),
        _ => None,
    }
}

fn found_by(roots: &[Word], expression: &[Word]) -> Vec<Word> {
    let mut pattern: Option<String> = None;
    let mut narrowed = false;
    for (at, word) in expression.iter().enumerate() {
        let value = expression.get(at + 1).map_or("", Word::text);
        match word.text() {
            "-name" | "-iname" | "-path" | "-wholename" | "-ipath" | "-regex" | "-iregex"
                if !value.chars().all(|c| "*.?/".contains(c)) =>
            {
                // `-path /proc -prune -o …` leaves something out, as `!` does.
                let left_out = expression[at..]
                    .windows(2)
                    .any(|pair| pair[0].text() == "-prune" && matches!(pair[1].text(), "-o" | "-or"));
                let negated = at > 0 && matches!(expression[at - 1].text(), "!" | "-not") || left_out;
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
            "-empty" | "-mtime" | "-atime" | "-ctime" | "-mmin" | "-amin" | "-size" | "-xtype" => {
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
