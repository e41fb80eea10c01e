//! `docs/promises.md`: tables of `| id | promise | status | shown by |` among free text.

use std::fmt::Write;

/// How far a promise is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// All of it, and tests show it.
    Kept,
    /// Some of it.
    Partly,
    /// Nothing of it yet.
    Planned,
}

impl Status {
    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "kept" => Self::Kept,
            "partly" => Self::Partly,
            "planned" => Self::Planned,
            _ => return None,
        })
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Kept => "kept",
            Self::Partly => "partly",
            Self::Planned => "planned",
        }
    }
}

/// One row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Promise {
    pub id: String,
    pub words: String,
    pub status: Status,
    /// Tests as `file::name`.
    pub tests: Vec<String>,
}

/// A line of the document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line {
    Text(String),
    Promise(Promise),
}

/// The document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table(pub Vec<Line>);

impl Table {
    /// Reads the document, and says which rows cannot be read.
    pub fn parse(document: &str) -> Result<Self, Vec<String>> {
        let mut lines = Vec::new();
        let mut mistakes = Vec::new();
        for (index, line) in document.lines().enumerate() {
            match row(line) {
                None => lines.push(Line::Text(line.to_owned())),
                Some(Ok(promise)) => lines.push(Line::Promise(promise)),
                Some(Err(mistake)) => mistakes.push(format!("line {}: {mistake}", index + 1)),
            }
        }
        if mistakes.is_empty() { Ok(Self(lines)) } else { Err(mistakes) }
    }

    pub fn promises(&self) -> impl Iterator<Item = &Promise> {
        self.0.iter().filter_map(|line| match line {
            Line::Promise(promise) => Some(promise),
            Line::Text(_) => None,
        })
    }

    pub fn write(&self) -> String {
        let mut document = String::new();
        for line in &self.0 {
            let written = match line {
                Line::Text(text) => writeln!(document, "{text}"),
                Line::Promise(promise) => {
                    let tests: Vec<String> = promise.tests.iter().map(|test| format!("`{test}`")).collect();
                    let cells = [&promise.id, &promise.words, promise.status.name(), &tests.join("<br>")];
                    writeln!(document, "| {} |", cells.join(" | ").trim_end())
                }
            };
            written.expect("a string takes everything");
        }
        document
    }
}

/// A row of a promise: one whose first cell is an id.
fn row(line: &str) -> Option<Result<Promise, String>> {
    let cells = cells(line)?;
    let id = cells.first().filter(|id| is_id(id))?.clone();
    let [_, words, status, tests] = cells.as_slice() else {
        return Some(Err(format!("{id} has {} cells, not id, promise, status and tests", cells.len())));
    };
    let Some(status) = Status::named(status) else {
        return Some(Err(format!(
            "{id} is \u{201c}{status}\u{201d}, which is none of kept, partly, planned"
        )));
    };
    if words.is_empty() {
        return Some(Err(format!("{id} promises nothing")));
    }
    let tests = tests.split("<br>").map(|test| test.trim().trim_matches('`').to_owned());
    let tests = tests.filter(|test| !test.is_empty()).collect();
    Some(Ok(Promise { id, words: words.clone(), status, tests }))
}

/// The cells of a table's line; a `|` in a cell is written `\|`.
fn cells(line: &str) -> Option<Vec<String>> {
    let inner = line.trim().strip_prefix('|')?.strip_suffix('|')?;
    let mut cells = vec![String::new()];
    let mut escaped = false;
    for character in inner.chars() {
        if character == '|' && !escaped {
            cells.push(String::new());
        } else if let Some(cell) = cells.last_mut() {
            cell.push(character);
        }
        escaped = character == '\\' && !escaped;
    }
    Some(cells.iter().map(|cell| cell.trim().to_owned()).collect())
}

fn is_id(cell: &str) -> bool {
    let mut characters = cell.chars();
    cell.len() == 3
        && characters.next().is_some_and(|letter| letter.is_ascii_uppercase())
        && characters.all(|digit| digit.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOCUMENT: &str = "# Title\n\n| id | promise | status | shown by |\n|---|---|---|---|\n\
        | A01 | One \\| two | kept | `a.rs::req_a01_x`<br>`b.rs::y` |\n| A02 | Three | planned | |\n";

    #[test]
    fn what_is_read_is_what_is_written() {
        let table = Table::parse(DOCUMENT).unwrap();
        assert_eq!(table.write(), DOCUMENT);
        let first = table.promises().next().unwrap();
        assert_eq!(first.words, "One \\| two");
        assert_eq!(first.tests, ["a.rs::req_a01_x", "b.rs::y"]);
    }

    #[test]
    fn all_mistakes_are_told_at_once() {
        let mistakes =
            Table::parse("| A01 | x | done | |\n| A02 | x | kept |\n| A03 | | kept | |").unwrap_err();
        assert_eq!(mistakes.len(), 3, "{mistakes:?}");
        assert!(mistakes[0].contains("line 1") && mistakes[0].contains("done"), "{mistakes:?}");
    }
}
