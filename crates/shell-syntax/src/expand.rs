//! From a word as written to the fields that a command gets.

mod simple;

use std::borrow::Cow;

use shuck_ast as ast;

use crate::brace::{self, Piece};
use crate::shell::normalise;
use crate::{HOLE, Input, Shell, Source, Watch, Word, unread};

/// A command with more words than this is not followed.
const MOST_FIELDS: usize = 50_000;

/// A part of a word in the order of writing.
#[derive(Clone, Debug)]
pub(crate) enum Atom<'a> {
    /// Text with the quotes already taken off.
    Text { text: Cow<'a, str>, quoted: bool },
    /// An expansion.
    Part { part: &'a ast::WordPartNode, quoted: bool },
}

/// What an expansion gives: several fields for `"$@"` and its kind.
#[derive(Debug, Default)]
pub(crate) struct Expansion {
    pub words: Vec<Word>,
    /// Each word is a field of its own, even within double quotes.
    pub separate: bool,
}

impl From<Word> for Expansion {
    fn from(word: Word) -> Self {
        Self { words: vec![word], separate: false }
    }
}

/// Collects fields while the parts of one word are gone through.
#[derive(Default)]
struct Fields {
    done: Vec<Word>,
    current: Word,
    open: bool,
}

impl Fields {
    fn literal(&mut self, text: &str, quoted: bool) {
        self.current.push_str(text);
        self.open |= quoted || !text.is_empty();
        if !quoted && text.contains(['*', '?', '[']) {
            self.current.mark_glob();
        }
    }

    fn close(&mut self) {
        if self.open {
            self.done.push(std::mem::take(&mut self.current));
            self.open = false;
        }
    }

    fn whole(&mut self, word: &Word) {
        self.current.push(word);
        self.open = true;
    }

    fn taken(&mut self, word: Word) {
        if self.current == Word::default() {
            self.current = word;
        } else {
            self.current.push(&word);
        }
        self.open = true;
    }

    /// An unquoted expansion: split at separators, patterns in it are patterns.
    fn split(&mut self, word: &Word, separators: &str) {
        let text = word.text();
        if text.is_empty() {
            return;
        }
        if text.starts_with(|c| separators.contains(c)) {
            self.close();
        }
        let mut first = true;
        for field in text.split(|c| separators.contains(c)).filter(|field| !field.is_empty()) {
            if !first {
                self.close();
            }
            first = false;
            let mut part = word.with_text(field);
            if field.contains(['*', '?', '[']) {
                part.mark_glob();
            }
            self.whole(&part);
        }
        if text.ends_with(|c| separators.contains(c)) {
            self.close();
        }
    }
}

impl Shell {
    /// All fields that the words stand for.
    pub(crate) fn fields<'a>(
        &mut self,
        words: impl Iterator<Item = &'a ast::Word>,
        source: &str,
        watch: &mut dyn Watch,
    ) -> Vec<Word> {
        let mut fields = Vec::with_capacity(words.size_hint().0);
        for word in words {
            if let Some(text) = plain(word, source) {
                fields.push(Word::known(text));
                continue;
            }
            if simple::is_simple(word, source) {
                self.evaluate_simple(word, source, watch, &mut fields);
            } else {
                let atoms = atoms(word, source);
                if !may_have_braces(word, &atoms) {
                    self.evaluate(&atoms, source, watch, &mut fields);
                } else {
                    for atoms in braces(atoms) {
                        self.evaluate(&atoms, source, watch, &mut fields);
                    }
                }
            }
            if fields.len() > MOST_FIELDS {
                self.doubt(crate::Doubt::TooMuch);
                fields.truncate(MOST_FIELDS);
            }
        }
        fields
    }

    /// A word where no splitting happens: the value of an assignment, the target of a redirection.
    pub(crate) fn single(&mut self, word: &ast::Word, source: &str, watch: &mut dyn Watch) -> Word {
        if let Some(text) = plain(word, source) {
            return Word::known(text);
        }
        let atoms = atoms(word, source);
        self.single_atoms(&atoms, source, watch)
    }

    fn single_atoms(&mut self, atoms: &[Atom<'_>], source: &str, watch: &mut dyn Watch) -> Word {
        let mut result = Word::default();
        for (at, atom) in atoms.iter().enumerate() {
            match atom {
                Atom::Text { text, quoted: false } if at == 0 => result.push_str(&self.tilde(text)),
                Atom::Text { text, .. } => result.push_str(text),
                Atom::Part { part, quoted } => {
                    let expansion = self.part(part, *quoted, source, watch);
                    for (at, word) in expansion.words.iter().enumerate() {
                        if at > 0 {
                            result.push_str(" ");
                        }
                        result.push(word);
                    }
                }
            }
        }
        result
    }

    fn evaluate(&mut self, atoms: &[Atom<'_>], source: &str, watch: &mut dyn Watch, into: &mut Vec<Word>) {
        let mut fields = Fields { done: std::mem::take(into), ..Fields::default() };
        for (at, atom) in atoms.iter().enumerate() {
            match atom {
                Atom::Text { text, quoted: false } if at == 0 && text.starts_with('~') => {
                    fields.literal(&self.tilde(text), false);
                }
                Atom::Text { text, quoted } => fields.literal(text, *quoted),
                Atom::Part { part, quoted } => {
                    self.expanded(&mut fields, part, *quoted, source, watch);
                }
            }
        }
        fields.close();
        *into = fields.done;
    }

    fn join(&self, fields: &mut Fields, expansion: &Expansion, quoted: bool) {
        if let ([word], true, false) = (expansion.words.as_slice(), quoted, expansion.separate) {
            fields.whole(word);
            return;
        }
        let separators = self.separators();
        for (at, word) in expansion.words.iter().enumerate() {
            if at > 0 && (expansion.separate || !quoted) {
                fields.close();
            } else if at > 0 {
                fields.literal(&separators.chars().next().map(String::from).unwrap_or_default(), true);
            }
            if quoted {
                fields.whole(word);
            } else {
                fields.split(word, &separators);
            }
        }
        if quoted && !expansion.separate {
            fields.open = true;
        }
    }

    pub(crate) fn separators(&self) -> Cow<'static, str> {
        let set = self.variables.get("IFS").and_then(|_| self.lookup("IFS")?.words.into_iter().next());
        match set {
            Some(word) if !word.is_unknown() => word.text().to_owned().into(),
            _ => " \t\n".into(),
        }
    }

    fn tilde(&self, text: &str) -> String {
        let (name, rest) = text.split_once('/').map_or((text, None), |(name, rest)| (name, Some(rest)));
        let home = match name {
            "~" => self.surroundings.home.clone(),
            "~+" => self.directory.as_deref().map_or_else(|| HOLE.to_string(), str::to_owned),
            "~-" => HOLE.to_string(),
            "~root" => "/root".to_owned(),
            name if name == format!("~{}", self.surroundings.user) => self.surroundings.home.clone(),
            name if name.len() > 1
                && name.starts_with('~')
                && name[1..].chars().all(|c| c.is_alphanumeric() || "-_.".contains(c)) =>
            {
                format!("/home/{}", &name[1..])
            }
            _ => return text.to_owned(),
        };
        match rest {
            Some(rest) => format!("{}/{rest}", home.trim_end_matches('/')),
            None => home,
        }
    }

    /// One expansion. Commands within it are run on the way. Each is a copy, and a few letters can stand for a long
    /// value, so what they give together is limited.
    pub(crate) fn part(
        &mut self,
        part: &ast::WordPartNode,
        quoted: bool,
        source: &str,
        watch: &mut dyn Watch,
    ) -> Expansion {
        let expansion = self.expansion(part, quoted, source, watch);
        self.kept += expansion.words.iter().map(|word| word.text().len()).sum::<usize>();
        expansion
    }

    fn expansion(
        &mut self,
        part: &ast::WordPartNode,
        quoted: bool,
        source: &str,
        watch: &mut dyn Watch,
    ) -> Expansion {
        use ast::WordPart as Part;
        match &part.kind {
            Part::Literal(text) => Word::known(text.as_str(source, part.span)).into(),
            Part::SingleQuoted { value, .. } => Word::known(value.slice(source)).into(),
            Part::DoubleQuoted { parts, .. } => {
                let mut atoms = Vec::new();
                quoted_atoms(parts, source, &mut atoms);
                self.single_atoms(&atoms, source, watch).into()
            }
            Part::Variable(name) => self.value_of(name.as_str()),
            Part::CommandSubstitution { body, syntax } => {
                self.substitution(body, *syntax, part.span, source, watch).into()
            }
            Part::ProcessSubstitution { body, is_input } => {
                // `> >(sh)`: what is written is what the inside reads.
                let input =
                    if *is_input { Input::Inherited } else { Input::Text(Word::unknown(None).into()) };
                self.process_substitution(body, part.span, source, &input, watch).into()
            }
            Part::ArithmeticExpansion { expression_ast, expression_word_ast, .. } => {
                let written = unread::written(part.span, source);
                if unread::is_substitution(written, expression_ast.is_some()) {
                    return self.misread_arithmetic(written, watch).into();
                }
                let value = expression_ast.as_deref().and_then(|node| self.arithmetic(node, source, watch));
                if value.is_none() {
                    self.single(expression_word_ast, source, watch);
                }
                value.map_or_else(|| Word::unknown(None), |number| Word::known(number.to_string())).into()
            }
            Part::Parameter(parameter) => {
                self.unread_operand(part.span, quoted, source, watch);
                self.parameter(parameter, quoted, source, watch)
            }
            Part::ParameterExpansion { reference, operator, operand_word_ast, colon_variant, .. } => {
                self.unread_operand(part.span, quoted, source, watch);
                let operation = crate::parameter::Operation {
                    operator,
                    operand: operand_word_ast.as_deref(),
                    colon: *colon_variant,
                };
                self.operation(reference, &operation, source, watch)
            }
            Part::ArrayAccess(reference) => self.access(reference, source, watch),
            Part::Length(reference) | Part::ArrayLength(reference) => self.length(reference, source, watch),
            Part::IndirectExpansion { reference, .. } => self.indirect(reference, source, watch),
            Part::Transformation { reference, operator } => {
                self.transformation(reference, *operator, source, watch)
            }
            Part::Substring {
                reference, offset_ast, offset_word_ast, length_ast, length_word_ast, ..
            }
            | Part::ArraySlice {
                reference, offset_ast, offset_word_ast, length_ast, length_word_ast, ..
            } => {
                self.unread_bound(offset_ast.is_some(), Some(offset_word_ast), source, watch);
                self.unread_bound(length_ast.is_some(), length_word_ast.as_deref(), source, watch);
                self.slice(reference, (offset_ast.as_deref(), length_ast.as_deref()), source, watch)
            }
            Part::ArrayIndices(_) | Part::PrefixMatch { .. } | Part::ZshQualifiedGlob(_) => {
                Word::unknown(None).into()
            }
        }
    }

    fn substitution(
        &mut self,
        body: &ast::StmtSeq,
        syntax: ast::CommandSubstitutionSyntax,
        span: ast::Span,
        source: &str,
        watch: &mut dyn Watch,
    ) -> Word {
        let from = self.commands.len();
        let output = match syntax {
            ast::CommandSubstitutionSyntax::DollarParen => {
                self.in_subshell(|shell| shell.inside(body, span, source, &Input::Inherited, watch))
            }
            // The first parser leaves backticks within backticks as text, so the inside is read again.
            ast::CommandSubstitutionSyntax::Backtick => {
                let written = span.slice(source);
                let inside =
                    written.strip_prefix('`').and_then(|rest| rest.strip_suffix('`')).unwrap_or(written);
                let inside = unescape_backticks(inside);
                self.in_subshell(|shell| shell.deeper(|shell| shell.run_text(&inside, watch)))
            }
        };
        let mut output = output.with_text(output.text().trim_end_matches('\n'));
        output.add_sources(&[Source::Commands(from..self.commands.len())]);
        output
    }

    fn process_substitution(
        &mut self,
        body: &ast::StmtSeq,
        span: ast::Span,
        source: &str,
        input: &Input,
        watch: &mut dyn Watch,
    ) -> Word {
        let from = self.commands.len();
        let output = self.in_subshell(|shell| shell.inside(body, span, source, input, watch));
        let path = format!("/dev/fd/cofferdam-{from}");
        let mut word = Word::known(path.clone());
        word.add_sources(&[Source::Commands(from..self.commands.len())]);
        self.files.insert(normalise("/", &path), crate::FileContent::Text(output));
        word
    }

    pub(crate) fn in_subshell(&mut self, inner: impl FnOnce(&mut Self) -> Word) -> Word {
        self.variables.enter_subshell();
        let positional = self.positional.clone();
        let directory = self.directory.clone();
        let stayed = self.stayed.take();
        let names = self.names.clone();
        let left = std::mem::take(&mut self.left);
        let hidden = self.locals.last().map_or(0, |locals| locals.hidden.len());
        self.subshells += 1;
        let output = inner(self);
        self.subshells -= 1;
        self.left = left;
        if let Some(locals) = self.locals.last_mut() {
            locals.hidden.truncate(hidden);
        }
        self.variables.leave_subshell();
        self.positional = positional;
        self.directory = directory;
        self.stayed = stayed;
        self.restore_names(names);
        output
    }
}

fn unescape_backticks(inside: &str) -> String {
    let mut text = String::with_capacity(inside.len());
    let mut rest = inside.chars().peekable();
    while let Some(character) = rest.next() {
        match (character, rest.peek()) {
            ('\\', Some('`' | '\\' | '$')) => text.extend(rest.next()),
            _ => text.push(character),
        }
    }
    text
}

/// The text of a word in which nothing is quoted, expanded or matched, as most are.
fn plain<'a>(word: &'a ast::Word, source: &'a str) -> Option<&'a str> {
    let [part] = word.parts.as_slice() else { return None };
    let ast::WordPart::Literal(text) = &part.kind else { return None };
    let text = text.as_str(source, part.span);
    let special = |byte: u8| matches!(byte, b'\\' | b'{' | b'*' | b'?' | b'[');
    (!text.is_empty() && !text.starts_with('~') && !text.bytes().any(special)).then_some(text)
}

fn atoms<'a>(word: &'a ast::Word, source: &'a str) -> Vec<Atom<'a>> {
    // One more for the beginning of each quote, and two for what most quotes hold.
    let mut atoms = Vec::with_capacity(word.parts.len() + 3);
    for part in &word.parts {
        match &part.kind {
            ast::WordPart::Literal(text) => unquoted_text(text.as_str(source, part.span), &mut atoms),
            ast::WordPart::SingleQuoted { value, .. } => {
                atoms.push(Atom::Text { text: value.slice(source).into(), quoted: true });
            }
            ast::WordPart::DoubleQuoted { parts, .. } => {
                atoms.push(Atom::Text { text: "".into(), quoted: true });
                quoted_atoms(parts, source, &mut atoms);
            }
            _ => atoms.push(Atom::Part { part, quoted: false }),
        }
    }
    if let [Atom::Text { quoted: true, .. }, Atom::Part { part, quoted: true }] = atoms.as_slice()
        && is_list(&part.kind)
    {
        atoms.remove(0);
    }
    atoms
}

/// `"$@"` alone is no field at all when there are no arguments, so it must not look like an empty string.
fn is_list(part: &ast::WordPart) -> bool {
    match part {
        ast::WordPart::Variable(name) => name.as_str() == "@",
        ast::WordPart::Parameter(_) | ast::WordPart::ArrayAccess(_) => true,
        _ => false,
    }
}

fn quoted_atoms<'a>(parts: &'a [ast::WordPartNode], source: &'a str, atoms: &mut Vec<Atom<'a>>) {
    for part in parts {
        match &part.kind {
            ast::WordPart::Literal(text) => {
                atoms.push(Atom::Text { text: text.as_str(source, part.span).into(), quoted: true });
            }
            _ => atoms.push(Atom::Part { part, quoted: true }),
        }
    }
}

/// Takes the backslashes off; an escaped character is a quoted one.
fn unquoted_text<'a>(text: &'a str, atoms: &mut Vec<Atom<'a>>) {
    if !text.contains('\\') {
        atoms.push(Atom::Text { text: text.into(), quoted: false });
        return;
    }
    let mut plain = String::new();
    let mut rest = text.chars();
    while let Some(character) = rest.next() {
        if character != '\\' {
            plain.push(character);
            continue;
        }
        if !plain.is_empty() {
            atoms.push(Atom::Text { text: std::mem::take(&mut plain).into(), quoted: false });
        }
        match rest.next() {
            Some('\n') => {}
            Some(escaped) => atoms.push(Atom::Text { text: escaped.to_string().into(), quoted: true }),
            None => atoms.push(Atom::Text { text: "\\".into(), quoted: true }),
        }
    }
    if !plain.is_empty() {
        atoms.push(Atom::Text { text: plain.into(), quoted: false });
    }
}

fn opening_braces(atoms: &[Atom<'_>]) -> usize {
    let count = |atom: &Atom<'_>| match atom {
        Atom::Text { text, quoted: false } => text.bytes().filter(|byte| *byte == b'{').count(),
        _ => 0,
    };
    atoms.iter().map(count).sum()
}

fn may_have_braces(word: &ast::Word, atoms: &[Atom<'_>]) -> bool {
    opening_braces(atoms) > 0 && (word.has_active_brace_expansion() || word.parts.len() > 1)
}

fn braces(atoms: Vec<Atom<'_>>) -> Vec<Vec<Atom<'_>>> {
    if opening_braces(&atoms) > 40 {
        return vec![vec![Atom::Text { text: HOLE.to_string().into(), quoted: true }]];
    }
    let mut pieces = Vec::new();
    for atom in atoms {
        match atom {
            Atom::Text { text, quoted: false } => pieces.extend(text.chars().map(Piece::Character)),
            atom => pieces.push(Piece::Opaque(atom)),
        }
    }
    brace::expand(&pieces).into_iter().map(gather).collect()
}

fn gather(pieces: Vec<Piece<Atom<'_>>>) -> Vec<Atom<'_>> {
    let mut atoms: Vec<Atom<'_>> = Vec::new();
    for piece in pieces {
        match (piece, atoms.last_mut()) {
            (Piece::Character(character), Some(Atom::Text { text, quoted: false })) => {
                text.to_mut().push(character);
            }
            (Piece::Character(character), _) => {
                atoms.push(Atom::Text { text: character.to_string().into(), quoted: false });
            }
            (Piece::Opaque(atom), _) => atoms.push(atom),
        }
    }
    atoms
}
