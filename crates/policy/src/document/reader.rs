//! Walks a parsed document and collects every mistake, each with its place.

use std::cell::RefCell;
use std::ops::Range;
use std::time::Duration;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::renamed;
use crate::mistake::{Mistake, nearest, quoted};
use crate::units;

/// The longest document that is read; a configuration is written by a person.
const LONGEST: usize = 16 << 20;

/// A document on its way through the reader.
pub(super) struct Source<'t> {
    file: &'t str,
    text: &'t str,
    mistakes: RefCell<Vec<(usize, Mistake)>>,
}

/// What is wrong with a value, and what to write instead.
pub(super) type Wrong = (String, Option<String>);

impl<'t> Source<'t> {
    pub fn new(file: &'t str, text: &'t str) -> Self {
        Self { file, text, mistakes: RefCell::default() }
    }

    /// Parses the text and reads it. A text that is no TOML has no meaning in which to look for further
    /// mistakes, so its syntax errors are all that is reported.
    pub fn document<T>(&self, read: impl FnOnce(&Section<'_>) -> T) -> Option<T> {
        if self.text.len() > LONGEST {
            self.mistake(0..0, format!("the document is larger than {} MiB", LONGEST >> 20), None);
            return None;
        }
        let (table, errors) = DeTable::parse_recoverable(self.text);
        if errors.is_empty() {
            return Some(read(&Section {
                source: self,
                path: String::new(),
                table: table.get_ref(),
                at: 0..0,
            }));
        }
        for error in errors {
            let hint = "the document is TOML; a text needs quotes, a list needs brackets";
            self.mistake(
                error.span().unwrap_or(0..0),
                format!("{} (TOML syntax)", error.message()),
                Some(hint.into()),
            );
        }
        None
    }

    pub fn mistake(&self, at: Range<usize>, sentence: String, hint: Option<String>) {
        let before = self.text.get(..at.start).unwrap_or(self.text);
        let line = self.line(at.start);
        let column = before.rsplit('\n').next().map_or(0, |line| line.chars().count()) + 1;
        let mistake = Mistake { file: self.file.to_owned(), line, column, sentence, hint };
        self.mistakes.borrow_mut().push((at.start, mistake));
    }

    /// Counted from one.
    fn line(&self, at: usize) -> usize {
        self.text.get(..at).unwrap_or(self.text).matches('\n').count() + 1
    }

    /// The value if there was no mistake, or else all of them in the order of the document.
    pub fn finish<T>(self, value: Option<T>) -> Result<T, Vec<Mistake>> {
        let mut mistakes = self.mistakes.into_inner();
        mistakes.sort_by_key(|(at, _)| *at);
        match value {
            Some(value) if mistakes.is_empty() => Ok(value),
            _ => Err(mistakes.into_iter().map(|(_, mistake)| mistake).collect()),
        }
    }
}

/// A table of the document, with the path that leads to it.
pub(super) struct Section<'s> {
    source: &'s Source<'s>,
    path: String,
    table: &'s DeTable<'s>,
    at: Range<usize>,
}

impl<'s> Section<'s> {
    pub fn full(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    /// Reports every key that is not one of these.
    pub fn allow_keys(&self, known: &[&str]) {
        for key in self.table.keys().filter(|key| !known.contains(&key.get_ref().as_ref())) {
            let name = key.get_ref().as_ref();
            let sentence = format!("{} is not a key here", quoted(&self.full(name)));
            let hint = renamed::key(&self.path, name).map(str::to_owned).or_else(|| {
                let near = nearest(name, known.iter().copied());
                Some(match near {
                    Some(near) => format!("did you mean {}?", quoted(near)),
                    None => format!("the keys here are {}", known.join(", ")),
                })
            });
            self.source.mistake(key.span(), sentence, hint);
        }
    }

    /// Reports a mistake about the value of a key, or about the whole table if the key is not there.
    pub fn wrong(&self, key: &str, sentence: impl Into<String>, hint: Option<String>) {
        let at = self.get(key).map_or(self.at.clone(), Spanned::span);
        self.source.mistake(at, sentence.into(), hint);
    }

    /// The line on which the value of a key begins, or the whole table if the key is not there.
    pub fn line(&self, key: &str) -> usize {
        self.source.line(self.get(key).map_or(self.at.start, |value| value.span().start))
    }

    /// Reports a mistake about the key itself.
    pub fn wrong_key(&self, key: &str, sentence: impl Into<String>, hint: Option<String>) {
        let at = self.table.get_key_value(key).map_or(self.at.clone(), |(key, _)| key.span());
        self.source.mistake(at, sentence.into(), hint);
    }

    pub fn has(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    pub fn keys(&self) -> impl Iterator<Item = &'s str> {
        self.table.keys().map(|key| key.get_ref().as_ref())
    }

    fn get(&self, key: &str) -> Option<&'s Spanned<DeValue<'s>>> {
        self.table.get(key)
    }

    fn wrong_type<T>(&self, key: &str, value: &Spanned<DeValue<'_>>, wanted: Wanted) -> Option<T> {
        let full = self.full(key);
        let sentence = format!("{} must be {}, not {}", quoted(&full), wanted.words(), kind(value.get_ref()));
        self.source.mistake(value.span(), sentence, Some(wanted.example(key, &full)));
        None
    }

    /// A table below this one.
    pub fn section(&self, key: &str) -> Option<Section<'s>> {
        let value = self.get(key)?;
        self.as_section(key, value)
    }

    fn as_section(&self, key: &str, value: &'s Spanned<DeValue<'s>>) -> Option<Section<'s>> {
        match value.get_ref() {
            DeValue::Table(table) => {
                let at = value.span();
                Some(Section { source: self.source, path: self.full(key), table, at })
            }
            _ => self.wrong_type(key, value, Wanted::Table),
        }
    }

    /// An array of tables below this one.
    pub fn sections(&self, key: &str) -> Vec<Section<'s>> {
        match self.get(key).map(|value| (value, value.get_ref())) {
            None => Vec::new(),
            Some((_, DeValue::Array(items))) => {
                items.iter().filter_map(|item| self.as_section(key, item)).collect()
            }
            Some((value, DeValue::Table(_))) => {
                let full = self.full(key);
                let sentence = format!("{} must be a list of tables", quoted(&full));
                self.source.mistake(
                    value.span(),
                    sentence,
                    Some(format!("write [[{full}]] with two brackets")),
                );
                Vec::new()
            }
            Some((value, _)) => self.wrong_type(key, value, Wanted::Tables).unwrap_or_default(),
        }
    }

    pub fn flag(&self, key: &str) -> Option<bool> {
        let value = self.get(key)?;
        match value.get_ref() {
            DeValue::Boolean(flag) => Some(*flag),
            _ => self.wrong_type(key, value, Wanted::Flag),
        }
    }

    pub fn text(&self, key: &str) -> Option<&'s str> {
        let value = self.get(key)?;
        match value.get_ref() {
            DeValue::String(text) => Some(text),
            _ => self.wrong_type(key, value, Wanted::Text),
        }
    }

    /// A text that `parse` understands; the value is named in the mistake.
    pub fn parsed<T>(&self, key: &str, parse: impl Fn(&str) -> Result<T, Wrong>) -> Option<T> {
        let text = self.text(key)?;
        self.or_mistake(key, text, self.get(key)?.span(), parse(text))
    }

    fn or_mistake<T>(&self, key: &str, text: &str, at: Range<usize>, result: Result<T, Wrong>) -> Option<T> {
        result
            .map_err(|(what, hint)| {
                self.source.mistake(
                    at,
                    format!("{} in {} {what}", quoted(text), quoted(&self.full(key))),
                    hint,
                );
            })
            .ok()
    }

    /// One of a few words.
    pub fn choice<T: Copy>(&self, key: &str, choices: &[(&str, T)]) -> Option<T> {
        let text = self.text(key)?;
        if let Some((_, value)) = choices.iter().find(|(name, _)| *name == text) {
            return Some(*value);
        }
        let names = || choices.iter().map(|(name, _)| *name);
        let hint =
            renamed::value(&self.full(key), text).map(str::to_owned).unwrap_or_else(|| {
                match nearest(text, names()) {
                    Some(near) => format!("did you mean {}?", quoted(near)),
                    None => format!("write one of {}", names().map(quoted).collect::<Vec<_>>().join(", ")),
                }
            });
        self.wrong(
            key,
            format!("{} is not a value of {}", quoted(text), quoted(&self.full(key))),
            Some(hint),
        );
        None
    }

    /// A whole number of at least one.
    pub fn count(&self, key: &str) -> Option<u32> {
        let value = self.get(key)?;
        let DeValue::Integer(number) = value.get_ref() else {
            return self.wrong_type(key, value, Wanted::Count);
        };
        let count = u32::from_str_radix(number.as_str(), number.radix()).ok().filter(|count| *count > 0);
        if count.is_none() {
            let sentence =
                format!("{} must be a whole number from 1 to {}", quoted(&self.full(key)), u32::MAX);
            self.source.mistake(value.span(), sentence, None);
        }
        count
    }

    pub fn size(&self, key: &str) -> Option<u64> {
        let hint = format!("write a number and one of {}, such as \"64MiB\"", units::SIZE_UNITS);
        self.with_unit(key, "a size in quotes, with a unit", &hint, units::size)
    }

    pub fn duration(&self, key: &str) -> Option<Duration> {
        let hint = format!("write a number and one of {}, such as \"5m\"", units::DURATION_UNITS);
        self.with_unit(key, "a duration in quotes, with a unit", &hint, units::duration)
    }

    fn with_unit<T>(
        &self,
        key: &str,
        wanted: &str,
        hint: &str,
        parse: impl Fn(&str) -> Result<T, units::UnitError>,
    ) -> Option<T> {
        let value = self.get(key)?;
        if !value.get_ref().is_str() {
            let sentence =
                format!("{} must be {wanted}, not {}", quoted(&self.full(key)), kind(value.get_ref()));
            self.source.mistake(value.span(), sentence, Some(hint.to_owned()));
            return None;
        }
        self.parsed(key, |text| parse(text).map_err(|error| (error.to_string(), Some(hint.to_owned()))))
    }

    /// A list of texts that `parse` understands; every wrong one is reported.
    pub fn list<T>(&self, key: &str, parse: impl Fn(&str) -> Result<T, Wrong>) -> Vec<T> {
        self.items(key, Wanted::Texts, |item| match item.get_ref() {
            DeValue::String(text) => self.or_mistake(key, text, item.span(), parse(text)),
            _ => self.wrong_type(key, item, Wanted::Texts),
        })
    }

    /// A list of ports.
    pub fn ports(&self, key: &str) -> Vec<u16> {
        self.items(key, Wanted::Ports, |item| match item.get_ref() {
            DeValue::Integer(number) => {
                let port = u16::from_str_radix(number.as_str(), number.radix()).ok().filter(|port| *port > 0);
                if port.is_none() {
                    let sentence = format!("{number} in {} is not a port", quoted(&self.full(key)));
                    self.source.mistake(
                        item.span(),
                        sentence,
                        Some("a port is a number from 1 to 65535".into()),
                    );
                }
                port
            }
            _ => self.wrong_type(key, item, Wanted::Ports),
        })
    }

    fn items<T>(
        &self,
        key: &str,
        wanted: Wanted,
        read: impl Fn(&'s Spanned<DeValue<'s>>) -> Option<T>,
    ) -> Vec<T> {
        match self.get(key).map(|value| (value, value.get_ref())) {
            None => Vec::new(),
            Some((_, DeValue::Array(items))) => items.iter().filter_map(read).collect(),
            Some((value, _)) => self.wrong_type(key, value, wanted).unwrap_or_default(),
        }
    }

    /// A mistake when a list is there and empty, or not there at all.
    pub fn needs(&self, key: &str, why: &str) {
        let empty =
            |value: &Spanned<DeValue<'_>>| value.get_ref().as_array().is_some_and(|items| items.is_empty());
        if self.get(key).is_none_or(empty) {
            let full = self.full(key);
            self.wrong(key, format!("{} {why}", quoted(&full)), Some(Wanted::Texts.example(key, &full)));
        }
    }
}

/// What belongs in a place.
#[derive(Debug, Clone, Copy)]
enum Wanted {
    Table,
    Tables,
    Flag,
    Text,
    Count,
    Texts,
    Ports,
}

impl Wanted {
    fn words(self) -> &'static str {
        match self {
            Self::Table => "a table",
            Self::Tables => "a list of tables",
            Self::Flag => "true or false",
            Self::Text => "a text in quotes",
            Self::Count => "a whole number without quotes",
            Self::Texts => "a list of texts in quotes",
            Self::Ports => "a list of port numbers without quotes",
        }
    }

    fn example(self, key: &str, full: &str) -> String {
        match self {
            Self::Table => format!("write [{full}] on a line of its own, or {key} = {{ \u{2026} }}"),
            Self::Tables => format!("write [[{full}]] on a line of its own"),
            Self::Flag => format!("write {key} = true or {key} = false"),
            Self::Text => format!("write {key} = \"\u{2026}\""),
            Self::Count => format!("such as {key} = 100"),
            Self::Texts => format!("write {key} = [\"\u{2026}\", \u{2026}]"),
            Self::Ports => format!("such as {key} = [443]"),
        }
    }
}

fn kind(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a text",
        DeValue::Integer(_) | DeValue::Float(_) => "a number",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}
