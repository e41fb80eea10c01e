//! Simple commands, and what those do that change the shell itself.

use std::borrow::Cow;
use std::rc::Rc;

use shuck_ast as ast;

use crate::shell::{Value, Variable};
use crate::{FileContent, Input, Redirect, RedirectKind, Shell, SimpleCommand, Source, Watch, Word, output};

impl Shell {
    pub(crate) fn simple(
        &mut self,
        simple: &ast::SimpleCommand,
        redirects: Vec<Redirect>,
        source: &str,
        input: &Input,
        watch: &mut dyn Watch,
    ) -> Word {
        if self.unsure
            && let Some(output) = self.each_value(simple, &redirects, source, input, watch)
        {
            return output;
        }
        let nameless = simple.name.span.slice(source).is_empty() && simple.args.is_empty();
        let mut argv = if nameless {
            Vec::new()
        } else {
            self.fields(std::iter::once(&simple.name).chain(&simple.args), source, watch)
        };
        let assignments = self.assignments(&simple.assignments, argv.is_empty(), source, watch);
        if let Some(name) = argv.first().and_then(Word::as_known)
            && let Some(program) = self.names.programs.get(name)
        {
            argv[0] = Word::known(program.clone());
        }
        if let Some(FileContent::Same(program)) = argv
            .first()
            .and_then(Word::as_known)
            .filter(|name| name.contains('/'))
            .and_then(|name| self.file(name))
        {
            argv[0] = Word::known(program.clone());
        }
        let argv = Rc::new(argv);
        let written = beginning(simple.span.slice(source)).into();
        let command =
            SimpleCommand { assignments, redirects, written, ..self.called(Rc::clone(&argv), input) };
        if argv.is_empty() {
            // `$(<file)` is the contents of the file.
            let opened = command.redirects.iter().any(|redirect| redirect.kind == RedirectKind::Read);
            let index = self.emit(command, watch);
            return match input {
                Input::Text(text) if opened => Word::clone(text),
                Input::File(_) if opened => Word::unknown(Some(Source::Commands(index..self.commands.len()))),
                _ => Word::default(),
            };
        }
        if self.unsure {
            self.without_first(simple, &command, source, watch);
        }
        let directory = self.directory.clone();
        let covered = self.cover(&argv, &command.assignments);
        let stood_in = self.user_defined(&argv, input, watch);
        if let Some(stood_in) = &stood_in
            && !stood_in.or_program
        {
            // The function stands in for the command; what it opens still counts.
            self.restore(covered);
            self.emit(SimpleCommand { argv: Rc::default(), ..command }, watch);
            return stood_in.output.clone();
        }
        let elsewhere = std::mem::replace(&mut self.directory, directory);
        // `IFS=: read a b` splits by what stands in front of it, for this command alone.
        let separators = command.assignments.iter().rev().find(|(name, _)| name == "IFS");
        let separators = separators.map(|(_, value)| value.text().to_owned());
        let index = self.emit(command, watch);
        let argv = plain(&argv);
        let output = self.effects(argv, input, separators, watch).or_else(|| output::of(self, argv, input));
        self.restore(covered);
        if stood_in.is_some() {
            // One of the two has run.
            self.directory = elsewhere.filter(|place| self.directory.as_ref() == Some(place));
        }
        output
            .filter(|output| stood_in.is_none_or(|other| other.output == *output))
            .unwrap_or_else(|| Word::unknown(Some(Source::Commands(index..self.commands.len()))))
    }

    /// `X=/ f`, `X=/ eval …`: what runs in this shell, or one that it starts, sees the variables that are set in front of it. What they were.
    fn cover(&mut self, argv: &[Word], assignments: &[(String, Word)]) -> Vec<(String, Option<Variable>)> {
        let here = || {
            let Some(name) = plain(argv).first().and_then(Word::as_known) else { return false };
            matches!(name, "eval" | "source" | "." | "sh" | "bash" | "dash" | "ash" | "zsh" | "ksh")
                || self.names.functions.contains_key(name)
                || self.names.aliases.contains_key(name)
        };
        if assignments.is_empty() || !here() {
            return Vec::new();
        }
        let mut covered = Vec::new();
        for (name, value) in assignments {
            covered.push((name.clone(), self.variables.get(name).cloned()));
            self.variables.insert(name, Value::Scalar(value.clone()));
        }
        covered
    }

    fn restore(&mut self, covered: Vec<(String, Option<Variable>)>) {
        for (name, before) in covered.into_iter().rev() {
            match before {
                Some(before) => self.variables.insert(&name, before),
                None => self.variables.remove(&name),
            }
        }
    }

    /// What arrives on standard input goes into these files.
    fn keep<'w>(&mut self, paths: impl Iterator<Item = Option<&'w str>>, input: &Input) {
        let Some(text) = input.text().cloned() else { return };
        for path in paths.flatten().filter(|path| !path.starts_with('-') && *path != "/dev/stdin") {
            self.write_file(path, FileContent::Text(text.clone()));
        }
    }

    /// What a builtin, or a program that copies files, does to the shell's state. `Some` output when the
    /// builtin ran something.
    fn effects(
        &mut self,
        argv: &[Word],
        input: &Input,
        separators: Option<String>,
        watch: &mut dyn Watch,
    ) -> Option<Word> {
        let name = argv.first()?.as_known()?;
        let rest = &argv[1..];
        match name {
            "eval" => {
                let text = joined(rest);
                return text
                    .as_known()
                    .map(str::to_owned)
                    .map(|text| self.deeper(|shell| shell.run_text_with(&text, input, watch)));
            }
            "source" | "." => {
                let path = rest.first()?.as_known()?;
                if matches!(path, "/dev/stdin" | "/dev/fd/0" | "/proc/self/fd/0") {
                    let text = input.text()?.as_known()?.to_owned();
                    return Some(self.deeper(|shell| shell.run_text_with(&text, input, watch)));
                }
                if let Some(FileContent::Text(text)) = self.file(path) {
                    let text = text.as_known()?.to_owned();
                    return Some(self.deeper(|shell| shell.run_text_with(&text, input, watch)));
                }
            }
            "trap" => {
                let action = rest.iter().find(|word| !word.text().starts_with('-') || word.text() == "-")?;
                let text = action.as_known().filter(|_| rest.len() > 1)?.to_owned();
                let signals = rest.iter().skip_while(|word| *word != action).skip(1);
                let at_once = signals.clone().any(|word| matches!(word.text(), "DEBUG" | "ERR" | "RETURN"));
                if text != "-" && !text.is_empty() && !at_once {
                    self.traps.push(text);
                } else if text != "-" && !text.is_empty() {
                    return Some(self.deeper(|shell| shell.run_text_with(&text, input, watch)));
                }
            }
            "alias" => {
                for word in rest {
                    if let Some((name, value)) = word.text().split_once('=') {
                        Rc::make_mut(&mut self.names.aliases).insert(name.to_owned(), value.to_owned());
                    }
                }
            }
            "hash" if rest.len() >= 3 && rest[0].text() == "-p" => {
                let programs = Rc::make_mut(&mut self.names.programs);
                programs.insert(rest[2].text().to_owned(), rest[1].text().to_owned());
            }
            "set" => self.set_positional(rest),
            "break" | "continue" | "return" | "exit" => self.leave(name, !rest.is_empty()),
            "shift" => {
                let count = rest.first().and_then(|word| word.text().parse().ok()).unwrap_or(1);
                self.kept += self.positional.len();
                let gone = self.positional.len().min(count);
                Rc::make_mut(&mut self.positional).drain(..gone);
            }
            "cd" | "pushd" | "popd" => self.change_directory(name, rest),
            // A subscript is evaluated, substitutions and all, even where it stands in quotes.
            "test" | "[" => self.subscripts(rest, watch),
            "unset" => {
                self.subscripts(rest, watch);
                let function = rest.iter().any(|word| word.text() == "-f");
                for word in rest {
                    if !function {
                        self.variables.remove(word.text());
                    }
                    self.undefine(word.text(), function);
                }
            }
            "read" | "mapfile" | "readarray" => {
                self.subscripts(rest, watch);
                let separators = separators.map_or_else(|| self.separators(), Cow::Owned);
                self.read(name, rest, input, &separators);
            }
            "printf" if rest.first().is_some_and(|word| word.text() == "-v") && rest.len() > 2 => {
                self.subscripts(&rest[1..2], watch);
                let value = output::printf(&rest[2..]).map_or_else(|| Word::unknown(None), Word::known);
                self.set(rest[1].text(), Value::Scalar(value));
            }
            "let" => {
                for word in rest {
                    self.evaluated(word.text(), watch);
                    if let Some((name, _)) = word.text().split_once('=') {
                        self.set(name, Value::Scalar(Word::unknown(None)));
                    }
                }
            }
            "cp" | "mv" | "ln" | "install" | "link"
                if !rest.iter().any(|word| matches!(word.text(), "/dev/stdin" | "/proc/self/fd/0")) =>
            {
                self.copy(rest);
            }
            "tee" | "sponge" | "cp" | "install" => self.keep(rest.iter().map(Word::as_known), input),
            "sed" | "gsed" | "perl" | "ruby" => self.edited(name, rest),
            "dd" => self.keep(rest.iter().map(|word| word.as_known()?.strip_prefix("of=")), input),
            _ => {}
        }
        None
    }

    fn set_positional(&mut self, rest: &[Word]) {
        match rest.iter().position(|word| word.text() == "--") {
            Some(at) => self.positional = rest[at + 1..].to_vec().into(),
            None => {
                let start = rest.iter().position(|word| !word.text().starts_with(['-', '+']));
                if let Some(at) = start.filter(|&at| at == 0 || !rest[at - 1].text().ends_with('o')) {
                    self.positional = rest[at..].to_vec().into();
                }
            }
        }
    }

    fn change_directory(&mut self, name: &str, rest: &[Word]) {
        let is_option = |text: &str| {
            text.len() > 1
                && text.strip_prefix('-').is_some_and(|flags| flags.chars().all(|c| "LPe@n".contains(c)))
        };
        let options = rest.iter().take_while(|word| is_option(word.text())).count();
        let rest = &rest[options..];
        let target = rest.iter().find(|word| word.text() != "--");
        let next = match (name, target.map(Word::as_known)) {
            ("cd", None) => Some(self.surroundings.home.clone()),
            (_, Some(Some(path))) if path != "-" && !path.starts_with('+') => self.resolve(path),
            _ => None,
        };
        self.directory = next.map(Into::into);
    }

    fn read(&mut self, name: &str, rest: &[Word], input: &Input, separators: &str) {
        let mut names = Vec::new();
        let mut array = name != "read";
        let mut skip = false;
        for word in rest {
            let text = word.text();
            if skip {
                skip = false;
            } else if let Some(flags) = text.strip_prefix('-') {
                array |= flags.contains('a');
                skip = match name {
                    "read" => flags.ends_with(['d', 'n', 'N', 'p', 't', 'u', 'i']),
                    _ => flags.ends_with(['d', 'n', 'O', 's', 'u', 'C', 'c']),
                };
            } else {
                names.push(text.to_owned());
            }
        }
        if names.is_empty() {
            names.push(if name == "read" { "REPLY" } else { "MAPFILE" }.to_owned());
        }
        let source = match input {
            Input::Pipe { from, .. } => Some(Source::Commands(from.clone())),
            _ => None,
        };
        let Some(text) = input.text().and_then(Word::as_known) else {
            for name in names {
                let mut word = Word::unknown(Some(Source::Variable(name.clone())));
                word.add_sources(source.as_slice());
                self.set(&name, Value::Scalar(word));
            }
            return;
        };
        if array {
            let lines: Vec<Word> = if name == "read" {
                let first = text.lines().next().unwrap_or_default();
                first
                    .split(|c| separators.contains(c))
                    .filter(|part| !part.is_empty())
                    .map(Word::known)
                    .collect()
            } else {
                text.lines().map(Word::known).collect()
            };
            self.set(&names[0], Value::List(lines));
            return;
        }
        let mut line = text.lines().next().unwrap_or_default().trim_matches(|c| separators.contains(c));
        for (at, name) in names.iter().enumerate() {
            let (field, next) = if at + 1 == names.len() {
                (line, "")
            } else {
                line.split_once(|c| separators.contains(c)).unwrap_or((line, ""))
            };
            line = next.trim_start_matches(|c| separators.contains(c));
            self.set(name, Value::Scalar(Word::known(field)));
        }
    }

    /// Copies, moves and links: the new name stands for the old content.
    fn copy(&mut self, rest: &[Word]) {
        let operands = || rest.iter().filter_map(Word::as_known).filter(|text| !text.starts_with('-'));
        let mut all = operands();
        let (Some(from), Some(to), None) = (all.next(), all.next(), all.next()) else {
            // Something that cannot be followed came to where this text had written before.
            if let Some(to) = operands().next_back().filter(|to| self.file(to).is_some()) {
                self.write_file(to, FileContent::Text(Word::unknown(None)));
            }
            return;
        };
        let Some(source) = self.resolve(from) else { return };
        let known = if self.files.may_have(&source) { self.files.get(&source) } else { None };
        let content = match known {
            Some(content) => content.clone(),
            None => FileContent::Same(source),
        };
        let name = from.rsplit('/').next().unwrap_or(from);
        self.write_file(&[to.trim_end_matches('/'), "/", name].concat(), content.clone());
        self.write_file(to, content);
    }
}

/// What is kept of a command as it is written.
fn beginning(text: &str) -> &str {
    &text[..text.floor_char_boundary(400)]
}

/// The command without `command`, `builtin` and their options.
fn plain(argv: &[Word]) -> &[Word] {
    let mut argv = argv;
    while let [first, rest @ ..] = argv {
        match first.as_known() {
            Some("command" | "builtin") => {
                let options = rest.iter().take_while(|word| matches!(word.text(), "-p" | "--")).count();
                if rest[options..].first().is_some_and(|word| matches!(word.text(), "-v" | "-V")) {
                    return argv;
                }
                argv = &rest[options..];
            }
            _ => return argv,
        }
    }
    argv
}

/// The words of `eval`, joined as it joins them.
fn joined(words: &[Word]) -> Word {
    let mut text = Word::default();
    for (at, word) in words.iter().enumerate() {
        if at > 0 {
            text.push_str(" ");
        }
        text.push(word);
    }
    text
}
