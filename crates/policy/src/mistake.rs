//! One mistake in a document: where it is, what it is, and what to write instead.

use std::fmt;

/// A mistake in a document. All of a document's mistakes are collected before any is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistake {
    /// The document's name as the person knows it.
    pub file: String,
    /// Counted from one.
    pub line: usize,
    /// Counted in characters, from one.
    pub column: usize,
    pub sentence: String,
    pub hint: Option<String>,
}

impl fmt::Display for Mistake {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}:{}:{}: {}", self.file, self.line, self.column, self.sentence)
    }
}

/// Text from a document as it may stand in a message: in quotes, on one line, without control characters,
/// and not longer than a line.
pub fn quoted(text: &str) -> String {
    const LONGEST: usize = 60;
    let mut shown: String = text.chars().take(LONGEST).flat_map(char::escape_debug).collect();
    if text.chars().nth(LONGEST).is_some() {
        shown.push('\u{2026}');
    }
    format!("\u{201c}{shown}\u{201d}")
}

/// The known name that was probably meant. A name is near when at most a third of it is different.
pub fn nearest<'n>(written: &str, known: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let written = written.to_ascii_lowercase().replace('-', "_");
    known
        .into_iter()
        .map(|name| (distance(&written, name), name))
        .filter(|(distance, name)| *distance <= name.len().max(3) / 3)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

/// Edits between two words, where two swapped neighbours count as one edit.
fn distance(left: &str, right: &str) -> usize {
    let (left, right): (Vec<char>, Vec<char>) = (left.chars().take(64).collect(), right.chars().collect());
    let mut rows = vec![vec![0; right.len() + 1]; left.len() + 1];
    for (i, row) in rows.iter_mut().enumerate() {
        row[0] = i;
    }
    for (j, cell) in rows[0].iter_mut().enumerate() {
        *cell = j;
    }
    for i in 1..=left.len() {
        for j in 1..=right.len() {
            let change = usize::from(left[i - 1] != right[j - 1]);
            let mut best = (rows[i - 1][j] + 1).min(rows[i][j - 1] + 1).min(rows[i - 1][j - 1] + change);
            if i > 1 && j > 1 && left[i - 1] == right[j - 2] && left[i - 2] == right[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            rows[i][j] = best;
        }
    }
    rows[left.len()][right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_the_one_that_was_meant() {
        let known = ["hosts", "ports", "methods", "paths"];
        assert_eq!(nearest("host", known), Some("hosts"));
        assert_eq!(nearest("prots", known), Some("ports"));
        assert_eq!(nearest("Methods", known), Some("methods"));
        assert_eq!(nearest("deny", known), None);
    }

    #[test]
    fn quoted_text_stays_on_one_line() {
        assert_eq!(quoted("a\n\u{1b}[31mb"), "\u{201c}a\\n\\u{1b}[31mb\u{201d}");
        assert_eq!(quoted(&"x".repeat(100)).chars().count(), 63);
    }
}
