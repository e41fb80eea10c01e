//! Parameter expansion, as far as the values are known.

use std::borrow::Cow;

use shuck_ast as ast;

use crate::expand::Expansion;
use crate::pattern::{self, Element, Trim};
use crate::shell::{Value, Variable};
use crate::{Shell, Source, Watch, Word};

/// `${name<operator>operand}`.
pub(crate) struct Operation<'a> {
    pub operator: &'a ast::ParameterOp,
    pub operand: Option<&'a ast::Word>,
    pub colon: bool,
}

impl Shell {
    /// The value of a variable, or `None` when the text does not set it and it is none of the well-known ones.
    pub(crate) fn lookup(&self, name: &str) -> Option<Expansion> {
        if let Ok(number) = name.parse::<usize>() {
            return Some(match number.checked_sub(1) {
                None => self.name.clone().into(),
                Some(index) => self.positional.get(index).cloned().unwrap_or_default().into(),
            });
        }
        match name {
            "@" => return Some(Expansion { words: self.positional.to_vec(), separate: true }),
            "*" => return Some(Expansion { words: self.positional.to_vec(), separate: false }),
            "#" => return Some(Word::known(self.positional.len().to_string()).into()),
            "?" => return Some(Word::known("0").into()),
            // Its letters depend on the shell and on how it was started.
            "-" => return None,
            _ => {}
        }
        let name = self.referred(name);
        match self.variables.get(name) {
            Some(Variable { value: Value::Scalar(word), .. }) => Some(word.clone().into()),
            Some(Variable { value: Value::List(words), .. }) => {
                Some(words.first().cloned().unwrap_or_default().into())
            }
            Some(Variable { value: Value::Map(map), .. }) => {
                Some(map.get("0").cloned().unwrap_or_default().into())
            }
            None => self.well_known(name).map(Expansion::from),
        }
    }

    fn well_known(&self, name: &str) -> Option<Word> {
        let value = match name {
            "HOME" => self.surroundings.home.as_str(),
            "PWD" => return self.directory.as_deref().map(Word::known),
            "USER" | "LOGNAME" => self.surroundings.user.as_str(),
            "IFS" => " \t\n",
            "TMPDIR" => "/tmp",
            "SHELL" | "BASH" => "/bin/bash",
            "PATH" => "/usr/local/bin:/usr/bin:/bin",
            "OSTYPE" => "linux-gnu",
            _ => return None,
        };
        Some(Word::known(value))
    }

    /// What stands for `$name` as it is, without a copy: the variables that a text has set itself, and those of which
    /// nothing is known.
    pub(crate) fn scalar(&self, part: &ast::WordPart) -> Option<Cow<'_, Word>> {
        let ast::WordPart::Variable(name) = part else { return None };
        let name = name.as_str();
        if !name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
            return None;
        }
        let referred = self.referred(name);
        match self.variables.get(referred).map(|variable| &variable.value) {
            Some(Value::Scalar(word)) => Some(Cow::Borrowed(word)),
            Some(Value::List(_) | Value::Map(_)) => None,
            None if self.well_known(referred).is_some() => None,
            None => Some(Cow::Owned(Word::unknown(Some(Source::Variable(name.to_owned()))))),
        }
    }

    pub(crate) fn value_of(&self, name: &str) -> Expansion {
        self.lookup(name).unwrap_or_else(|| Word::unknown(Some(Source::Variable(name.to_owned()))).into())
    }

    pub(crate) fn parameter(
        &mut self,
        parameter: &ast::ParameterExpansion,
        _quoted: bool,
        source: &str,
        watch: &mut dyn Watch,
    ) -> Expansion {
        use ast::BourneParameterExpansion as Bourne;
        let ast::ParameterExpansionSyntax::Bourne(expansion) = &parameter.syntax else {
            return Word::unknown(None).into();
        };
        match expansion {
            Bourne::Access { reference } => self.access(reference, source, watch),
            Bourne::Length { reference } => self.length(reference, source, watch),
            Bourne::Indirect { reference, .. } => self.indirect(reference, source, watch),
            Bourne::Slice { reference, offset_ast, offset_word_ast, length_ast, length_word_ast, .. } => {
                self.unread_bound(offset_ast.is_some(), Some(offset_word_ast), source, watch);
                self.unread_bound(length_ast.is_some(), length_word_ast.as_deref(), source, watch);
                self.slice(reference, (offset_ast.as_deref(), length_ast.as_deref()), source, watch)
            }
            Bourne::Operation { reference, operator, operand_word_ast, colon_variant, .. } => {
                let operation =
                    Operation { operator, operand: operand_word_ast.as_deref(), colon: *colon_variant };
                self.operation(reference, &operation, source, watch)
            }
            Bourne::Transformation { reference, operator } => {
                self.transformation(reference, *operator, source, watch)
            }
            Bourne::PrefixMatch { .. } => Word::unknown(None).into(),
            Bourne::Indices { reference } => match self.variables.get(reference.name.as_str()) {
                Some(Variable { value: Value::Map(map), .. }) => {
                    Expansion { words: map.keys().map(Word::known).collect(), separate: true }
                }
                Some(Variable { value: Value::List(list), .. }) => Expansion {
                    words: (0..list.len()).map(|n| Word::known(n.to_string())).collect(),
                    separate: true,
                },
                _ => Word::unknown(None).into(),
            },
        }
    }

    /// `$name`, `${name[index]}`, `${name[@]}`.
    pub(crate) fn access(
        &mut self,
        reference: &ast::VarRef,
        source: &str,
        watch: &mut dyn Watch,
    ) -> Expansion {
        let Some(subscript) = &reference.subscript else { return self.value_of(reference.name.as_str()) };
        let name = self.referred(reference.name.as_str()).to_owned();
        if let Some(selector) = subscript.selector() {
            let separate = selector == ast::SubscriptSelector::At;
            return match self.variables.get(&name).map(|variable| &variable.value) {
                Some(Value::List(words)) => Expansion { words: words.clone(), separate },
                Some(Value::Map(map)) => Expansion { words: map.values().cloned().collect(), separate },
                Some(Value::Scalar(word)) => word.clone().into(),
                None => Word::unknown(Some(Source::Variable(name))).into(),
            };
        }
        let key = self.subscript(subscript, source, watch);
        match (self.variables.get(&name).map(|variable| &variable.value), key.as_known()) {
            (Some(Value::Map(map)), Some(key)) => map.get(key).cloned().unwrap_or_default().into(),
            (Some(Value::List(words)), Some(key)) => match key.trim().parse::<i64>() {
                Ok(index) => {
                    let index =
                        if index < 0 { index + i64::try_from(words.len()).unwrap_or(0) } else { index };
                    usize::try_from(index)
                        .ok()
                        .and_then(|index| words.get(index))
                        .cloned()
                        .unwrap_or_default()
                        .into()
                }
                Err(_) => Word::unknown(None).into(),
            },
            (Some(Value::Scalar(word)), Some("0")) => word.clone().into(),
            _ => Word::unknown(Some(Source::Variable(name))).into(),
        }
    }

    pub(crate) fn subscript(
        &mut self,
        subscript: &ast::Subscript,
        source: &str,
        watch: &mut dyn Watch,
    ) -> Word {
        let number = subscript.arithmetic_ast.as_ref().and_then(|node| self.arithmetic(node, source, watch));
        let word = subscript.word_ast().map(|word| self.single(word, source, watch));
        match (word, number) {
            (Some(word), _)
                if word.as_known().is_some_and(|text| text.parse::<i64>().is_err()) && number.is_none() =>
            {
                word
            }
            (_, Some(number)) => Word::known(number.to_string()),
            (Some(word), None) => word,
            (None, None) => Word::known(subscript.text.slice(source)),
        }
    }

    pub(crate) fn length(
        &mut self,
        reference: &ast::VarRef,
        source: &str,
        watch: &mut dyn Watch,
    ) -> Expansion {
        let all = self.access(reference, source, watch);
        if reference.has_array_selector() {
            return Word::known(all.words.len().to_string()).into();
        }
        match all.words.first().and_then(Word::as_known) {
            Some(text) => Word::known(text.chars().count().to_string()).into(),
            None => Word::unknown(None).into(),
        }
    }

    pub(crate) fn indirect(
        &mut self,
        reference: &ast::VarRef,
        source: &str,
        watch: &mut dyn Watch,
    ) -> Expansion {
        let name = self.access(reference, source, watch);
        match name.words.first().and_then(Word::as_known) {
            Some(name) if !name.is_empty() => {
                if let Some((name, selector)) = name.to_owned().split_once('[') {
                    self.evaluated(selector, watch);
                    let list = match self.variables.get(name).map(|variable| &variable.value) {
                        Some(Value::List(words)) => words.clone(),
                        _ => return Word::unknown(None).into(),
                    };
                    return match selector.trim_end_matches(']') {
                        "@" | "*" => Expansion { words: list, separate: true },
                        index => index
                            .parse::<usize>()
                            .ok()
                            .and_then(|index| list.get(index).cloned())
                            .unwrap_or_else(|| Word::unknown(None))
                            .into(),
                    };
                }
                self.value_of(name)
            }
            _ => Word::unknown(Some(Source::Variable(reference.name.as_str().to_owned()))).into(),
        }
    }

    pub(crate) fn slice(
        &mut self,
        reference: &ast::VarRef,
        (offset, length): (Option<&ast::ArithmeticExprNode>, Option<&ast::ArithmeticExprNode>),
        source: &str,
        watch: &mut dyn Watch,
    ) -> Expansion {
        let all = if matches!(reference.name.as_str(), "@" | "*") {
            let mut words = vec![Word::known("bash")];
            words.extend(self.positional.iter().cloned());
            Expansion { words, separate: true }
        } else {
            self.access(reference, source, watch)
        };
        let offset = offset.and_then(|node| self.arithmetic(node, source, watch));
        let has_length = length.is_some();
        let length = length.and_then(|node| self.arithmetic(node, source, watch));
        let (Some(offset), true) = (offset, has_length == length.is_some()) else {
            return Word::unknown(None).into();
        };
        if all.separate || all.words.len() != 1 {
            let (from, to) = bounds(all.words.len(), offset, length);
            return Expansion { words: all.words[from..to].to_vec(), separate: true };
        }
        let word = &all.words[0];
        let chars: Vec<char> = word.text().chars().collect();
        let (from, to) = bounds(chars.len(), offset, length);
        // The start of a text is known even if its end is not.
        if word.is_unknown() && (offset < 0 || chars[..to].contains(&crate::HOLE)) {
            return Word::unknown(word.sources().first().cloned()).into();
        }
        word.with_text(chars[from..to].iter().collect::<String>()).into()
    }

    pub(crate) fn transformation(
        &mut self,
        reference: &ast::VarRef,
        operator: char,
        source: &str,
        watch: &mut dyn Watch,
    ) -> Expansion {
        let mut all = self.access(reference, source, watch);
        for word in &mut all.words {
            let text = word.text().to_owned();
            *word = match operator {
                'U' => word.with_text(text.to_uppercase()),
                'L' => word.with_text(text.to_lowercase()),
                'E' => word.with_text(crate::output::escapes(&text)),
                'Q' | 'K' | 'k' => word.clone(),
                'u' => word.with_text(first_upper(&text)),
                'P' => {
                    self.prompt(&text, watch);
                    Word::unknown(None)
                }
                _ => Word::unknown(None),
            };
        }
        all
    }

    /// Text that a shell expands again when it prints a prompt or computes a number.
    pub(crate) fn prompt(&mut self, text: &str, watch: &mut dyn Watch) {
        if text.contains("$(") || text.contains('`') {
            let text = format!(": \"{}\"", text.replace('"', "\\\""));
            self.deeper(|shell| shell.run_text(&text, watch));
        }
    }

    pub(crate) fn operation(
        &mut self,
        reference: &ast::VarRef,
        operation: &Operation<'_>,
        source: &str,
        watch: &mut dyn Watch,
    ) -> Expansion {
        use ast::ParameterOp as Op;
        let name = reference.name.as_str().to_owned();
        let known = match &reference.subscript {
            None => self.lookup(&name),
            Some(_) => Some(self.access(reference, source, watch)),
        };
        let present = known.as_ref().map(|known| {
            let empty = known.words.iter().all(Word::is_empty);
            let positional = name.chars().all(|c| c.is_ascii_digit() || c == '@' || c == '*');
            !(empty && (operation.colon || positional))
        });
        let operand = |shell: &mut Self, watch: &mut dyn Watch| {
            operation.operand.map(|word| shell.single(word, source, watch)).unwrap_or_default()
        };
        match operation.operator {
            Op::UseDefault | Op::AssignDefault => match (present, known) {
                (Some(true), Some(known)) => known,
                _ => {
                    let mut word = operand(self, watch);
                    word.clear_glob();
                    if matches!(operation.operator, Op::AssignDefault) {
                        self.set(&name, Value::Scalar(word.clone()));
                    }
                    word.into()
                }
            },
            Op::UseReplacement => {
                let word = operand(self, watch);
                match present {
                    Some(true) => word.into(),
                    Some(false) => Word::default().into(),
                    None => Word::unknown(Some(Source::Variable(name))).into(),
                }
            }
            Op::Error => {
                operand(self, watch);
                known.unwrap_or_else(|| Word::unknown(Some(Source::Variable(name))).into())
            }
            _ => {
                let known = known.unwrap_or_else(|| Word::unknown(Some(Source::Variable(name))).into());
                self.edit(known, operation.operator, source, watch)
            }
        }
    }

    /// The operators that change the text of each word.
    fn edit(
        &mut self,
        mut all: Expansion,
        operator: &ast::ParameterOp,
        source: &str,
        watch: &mut dyn Watch,
    ) -> Expansion {
        use ast::ParameterOp as Op;
        let (elements, replacement) = match operator {
            Op::RemovePrefixShort { pattern }
            | Op::RemovePrefixLong { pattern }
            | Op::RemoveSuffixShort { pattern }
            | Op::RemoveSuffixLong { pattern } => (self.pattern(pattern, source, watch), None),
            Op::ReplaceFirst { pattern, replacement_word_ast, .. }
            | Op::ReplaceAll { pattern, replacement_word_ast, .. } => {
                let with = self.single(replacement_word_ast, source, watch);
                (self.pattern(pattern, source, watch), Some(with))
            }
            _ => (Some(Vec::new()), None),
        };
        for word in &mut all.words {
            let changed = match (word.as_known(), &elements) {
                (Some(text), Some(elements)) => edited(text, operator, elements, replacement.as_ref()),
                _ => None,
            };
            *word = match changed {
                Some(text) => word.with_text(text),
                None => Word::unknown(word.sources().first().cloned()),
            };
        }
        all
    }

    fn pattern(
        &mut self,
        pattern: &ast::Pattern,
        source: &str,
        watch: &mut dyn Watch,
    ) -> Option<Vec<Element>> {
        let mut elements = Vec::new();
        for part in &pattern.parts {
            match &part.kind {
                ast::PatternPart::Literal(text) => {
                    let mut escaped = false;
                    for character in text.as_str(source, part.span).chars() {
                        if character == '\\' && !escaped {
                            escaped = true;
                            continue;
                        }
                        escaped = false;
                        elements.push(Element::Literal(character));
                    }
                }
                ast::PatternPart::AnyString => elements.push(Element::AnyString),
                ast::PatternPart::AnyChar => elements.push(Element::AnyCharacter),
                ast::PatternPart::CharClass(text) => {
                    let class = text.slice(source);
                    let class =
                        class.strip_prefix('[').and_then(|class| class.strip_suffix(']')).unwrap_or(class);
                    elements.push(Element::Class(class.to_owned()));
                }
                ast::PatternPart::Group { .. } => return None,
                ast::PatternPart::Word(word) => {
                    let word = self.single(word, source, watch);
                    elements.extend(word.as_known()?.chars().map(Element::Literal));
                }
            }
        }
        Some(elements)
    }
}

fn bounds(count: usize, offset: i64, length: Option<i64>) -> (usize, usize) {
    let count = i64::try_from(count).unwrap_or(i64::MAX);
    let from = if offset < 0 { (count + offset).max(0) } else { offset.min(count) };
    let to = match length {
        None => count,
        Some(length) if length < 0 => (count + length).max(from),
        Some(length) => from.saturating_add(length).min(count),
    };
    (usize::try_from(from).unwrap_or(0), usize::try_from(to).unwrap_or(0))
}

fn first_upper(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

fn edited(
    text: &str,
    operator: &ast::ParameterOp,
    elements: &[Element],
    replacement: Option<&Word>,
) -> Option<String> {
    use ast::ParameterOp as Op;
    match operator {
        Op::RemovePrefixShort { .. } => pattern::trim(text, elements, Trim::ShortestPrefix),
        Op::RemovePrefixLong { .. } => pattern::trim(text, elements, Trim::LongestPrefix),
        Op::RemoveSuffixShort { .. } => pattern::trim(text, elements, Trim::ShortestSuffix),
        Op::RemoveSuffixLong { .. } => pattern::trim(text, elements, Trim::LongestSuffix),
        Op::ReplaceFirst { .. } => pattern::replace(text, elements, replacement?.as_known()?, false),
        Op::ReplaceAll { .. } => pattern::replace(text, elements, replacement?.as_known()?, true),
        Op::UpperFirst => Some(first_upper(text)),
        Op::UpperAll => Some(text.to_uppercase()),
        Op::LowerFirst => {
            let mut chars = text.chars();
            Some(chars.next().map(|first| first.to_lowercase().chain(chars).collect()).unwrap_or_default())
        }
        Op::LowerAll => Some(text.to_lowercase()),
        Op::UseDefault | Op::AssignDefault | Op::UseReplacement | Op::Error => None,
    }
}
