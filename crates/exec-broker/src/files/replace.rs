//! Finding a text in a file that does not have it to the letter: by lines, and without their spaces.

use crate::message::{ErrorKind, ToolError};

/// How much two lines may differ and still be the same, from nothing on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fuzz {
    None,
    /// Spaces at the end.
    End,
    /// Spaces at both ends.
    Ends,
    /// Spaces anywhere.
    Spaces,
}

impl Fuzz {
    pub const ALL: [Self; 4] = [Self::None, Self::End, Self::Ends, Self::Spaces];

    pub fn same(self, one: &str, other: &str) -> bool {
        match self {
            Self::None => one == other,
            Self::End => one.trim_end() == other.trim_end(),
            Self::Ends => one.trim() == other.trim(),
            Self::Spaces => one.split_whitespace().eq(other.split_whitespace()),
        }
    }
}

/// Replaces a text by another. It must be there once, unless all are meant; if it is not there to the letter, the
/// lines that are nearest count, and there must be no choice.
pub fn replaced(contents: &str, old: &str, new: &str, all: bool) -> Result<(String, usize), ToolError> {
    if old.is_empty() {
        return Err(ErrorKind::BadArguments.with("old is empty"));
    }
    match (contents.matches(old).count(), all) {
        (0, _) => {}
        (1, _) | (_, true) => {
            return Ok((contents.replace(old, new), contents.matches(old).count()));
        }
        (count, false) => return Err(several(count)),
    }
    let lines: Vec<&str> = contents.split_inclusive('\n').collect();
    let wanted: Vec<&str> = old.split_inclusive('\n').collect();
    for fuzz in &Fuzz::ALL[1..] {
        let found = places(&lines, &wanted, *fuzz);
        match (found.len(), all) {
            (0, _) => {}
            (1, _) | (_, true) => return Ok((put(&lines, &found, &wanted, new), found.len())),
            (count, false) => return Err(several(count)),
        }
    }
    Err(ErrorKind::Failed.with("the text to replace is not in the file"))
}

fn several(count: usize) -> ToolError {
    ErrorKind::Failed
        .with(format!("the text to replace is in the file {count} times; give more of it, or set all"))
}

/// Where the wanted lines begin; no two overlap.
fn places(lines: &[&str], wanted: &[&str], fuzz: Fuzz) -> Vec<usize> {
    let mut found = Vec::new();
    let mut at = 0;
    while at + wanted.len() <= lines.len() {
        if lines[at..at + wanted.len()].iter().zip(wanted).all(|(line, wanted)| fuzz.same(line, wanted)) {
            found.push(at);
            at += wanted.len();
        } else {
            at += 1;
        }
    }
    found
}

fn put(lines: &[&str], found: &[usize], wanted: &[&str], new: &str) -> String {
    let mut text = String::new();
    let mut at = 0;
    for &place in found {
        text.extend(lines[at..place].iter().copied());
        at = place + wanted.len();
        text.push_str(new);
        let ended = lines[at - 1].ends_with('\n');
        if ended && !new.is_empty() && !new.ends_with('\n') {
            text.push('\n');
        }
    }
    text.extend(lines[at..].iter().copied());
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exact_first_then_nearest_and_never_a_guess() {
        let text = "fn a() {\n    one();  \n}\nfn b() {\n    two();\n}\n";
        assert_eq!(replaced(text, "two", "three", false).expect("once").1, 1);
        let (changed, _) = replaced(text, "fn a() {\n  one();\n}", "fn a() {}", false).expect("near enough");
        assert_eq!(changed, "fn a() {}\nfn b() {\n    two();\n}\n");
        assert!(replaced(text, "fn", "x", false).is_err());
        assert_eq!(replaced(text, "fn", "x", true).expect("all").1, 2);
        assert!(replaced(text, "nowhere", "x", false).is_err());
        assert!(replaced(text, "", "x", false).is_err());
        assert!(replaced("a \nb\na\t\n", "a  \n", "c\n", false).is_err());
    }
}
