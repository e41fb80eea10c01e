//! Unified diffs: read, and applied to a text.

use crate::files::replace::Fuzz;

/// The changes of one file.
#[derive(Debug, PartialEq, Eq)]
pub struct FileDiff {
    /// None for a file that is made.
    pub old: Option<String>,
    /// None for a file that is removed.
    pub new: Option<String>,
    pub hunks: Vec<Hunk>,
}

#[derive(Debug, PartialEq, Eq)]
pub struct Hunk {
    /// Where it says that it belongs, counted from nought.
    pub at: usize,
    pub lines: Vec<Line>,
    /// Whether the last line of the new text has no line break.
    pub no_break: bool,
}

#[derive(Debug, PartialEq, Eq)]
pub enum Line {
    Same(String),
    Gone(String),
    New(String),
}

/// Reads a diff of any number of files. What is before the first file, and between files, is not looked at.
pub fn parse(text: &str) -> Result<Vec<FileDiff>, String> {
    let mut files: Vec<FileDiff> = Vec::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        if let Some(old) = line.strip_prefix("--- ")
            && let Some(new) = lines.peek().and_then(|next| next.strip_prefix("+++ "))
        {
            files.push(FileDiff { old: name(old), new: name(new), hunks: Vec::new() });
            lines.next();
        } else if line.starts_with("@@") {
            let file = files.last_mut().ok_or("there is a hunk before the name of a file")?;
            file.hunks.push(hunk(line, &mut lines)?);
        }
    }
    match files.iter().find(|file| file.hunks.is_empty() && file.new.is_some()) {
        _ if files.is_empty() => Err("there is no file in the diff".to_owned()),
        Some(file) => Err(format!("there is no hunk for {}", file.new.as_deref().unwrap_or_default())),
        None => Ok(files),
    }
}

fn name(text: &str) -> Option<String> {
    let name = text.split('\t').next().unwrap_or(text).trim_end();
    let name = name.strip_prefix("a/").or_else(|| name.strip_prefix("b/")).unwrap_or(name);
    (name != "/dev/null").then(|| name.to_owned())
}

fn hunk<'a>(
    header: &str,
    lines: &mut std::iter::Peekable<impl Iterator<Item = &'a str>>,
) -> Result<Hunk, String> {
    let start = header.split_whitespace().find_map(|word| word.strip_prefix('-'));
    let start = start.and_then(|range| range.split(',').next()?.parse::<usize>().ok()).unwrap_or(1);
    let mut hunk = Hunk { at: start.saturating_sub(1), lines: Vec::new(), no_break: false };
    while let Some(line) = lines.peek() {
        let (sign, rest) = line.split_at(line.chars().next().map_or(0, char::len_utf8));
        let line = match sign {
            " " => Line::Same(rest.to_owned()),
            // Some write an empty line for one that stays and is empty.
            "" => Line::Same(String::new()),
            "-" if rest.starts_with("-- ") => break,
            "-" => Line::Gone(rest.to_owned()),
            "+" => Line::New(rest.to_owned()),
            "\\" => {
                hunk.no_break = !matches!(hunk.lines.last(), Some(Line::Gone(_)));
                lines.next();
                continue;
            }
            _ => break,
        };
        hunk.lines.push(line);
        lines.next();
    }
    // An empty line between files is none of the hunk's.
    while hunk.lines.last() == Some(&Line::Same(String::new())) {
        hunk.lines.pop();
    }
    match hunk.lines.is_empty() {
        true => Err(format!("the hunk {header} is empty")),
        false => Ok(hunk),
    }
}

/// Applies the hunks of a file in their order; all of them, or an error.
pub fn apply(contents: &str, hunks: &[Hunk]) -> Result<String, String> {
    let mut lines: Vec<String> = contents.lines().map(str::to_owned).collect();
    let (mut offset, mut from) = (0isize, 0);
    let mut ends = contents.is_empty() || contents.ends_with('\n');
    for (number, hunk) in (1..).zip(hunks) {
        let before: Vec<&str> = hunk.lines.iter().filter_map(Line::before).collect();
        let at = find(&lines, &before, from, hunk.at.saturating_add_signed(offset))
            .ok_or_else(|| format!("hunk {number} does not fit"))?;
        // Lines that stay keep the spaces that the file has.
        let (mut after, mut old) = (Vec::new(), at);
        for line in &hunk.lines {
            match line {
                Line::Same(_) => {
                    after.push(lines[old].clone());
                    old += 1;
                }
                Line::Gone(_) => old += 1,
                Line::New(text) => after.push(text.clone()),
            }
        }
        let at_end = at + before.len() == lines.len();
        offset = at as isize - hunk.at as isize + after.len() as isize - before.len() as isize;
        from = at + after.len();
        lines.splice(at..at + before.len(), after);
        if at_end {
            ends = !hunk.no_break;
        }
    }
    let mut text = lines.join("\n");
    if ends && !lines.is_empty() {
        text.push('\n');
    }
    Ok(text)
}

impl Line {
    fn before(&self) -> Option<&str> {
        match self {
            Self::Same(text) | Self::Gone(text) => Some(text),
            Self::New(_) => None,
        }
    }
}

/// The place that fits and is nearest to where the hunk says; to the letter if there is one.
fn find(lines: &[String], before: &[&str], from: usize, wished: usize) -> Option<usize> {
    if before.is_empty() {
        return Some(wished.clamp(from.min(lines.len()), lines.len()));
    }
    let last = lines.len().checked_sub(before.len())?;
    Fuzz::ALL.into_iter().find_map(|fuzz| {
        let fits = |at: &usize| lines[*at..].iter().zip(before).all(|(line, wanted)| fuzz.same(line, wanted));
        (from..=last).filter(fits).min_by_key(|at| at.abs_diff(wished))
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn hunks_find_their_place_and_all_or_nothing_is_applied() {
        let text = "a\nb\nc\nd\ne\n";
        let diff = "--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n@@ -5 +5,2 @@\n e\n+f\n";
        let files = parse(diff).expect("a diff");
        assert_eq!(apply(text, &files[0].hunks).expect("it fits"), "a\nB\nc\nd\ne\nf\n");
        let moved = format!("0\n1\n2\n{text}").replace("b\n", "b  \n");
        assert_eq!(apply(&moved, &files[0].hunks).expect("near enough"), "0\n1\n2\na\nB\nc\nd\ne\nf\n");
        assert_eq!(apply("a\nx\nc\n", &files[0].hunks), Err("hunk 1 does not fit".to_owned()));
    }

    #[test]
    fn files_are_made_removed_and_left_without_a_last_line_break() {
        let made = parse("--- /dev/null\n+++ b/new\n@@ -0,0 +1,2 @@\n+x\n+y\n\\ No newline at end of file\n")
            .expect("a diff");
        assert_eq!((made[0].old.as_deref(), made[0].new.as_deref()), (None, Some("new")));
        assert_eq!(apply("", &made[0].hunks).expect("it fits"), "x\ny");
        let gone = parse("--- a/old\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n").expect("a diff");
        assert_eq!((gone[0].new.as_deref(), apply("x\n", &gone[0].hunks)), (None, Ok(String::new())));
        for wrong in ["", "@@ -1 +1 @@\n-a\n", "--- a\n+++ b\n", "--- a\n+++ b\n@@ -1 +1 @@\n"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn nothing_that_is_given_as_a_diff_makes_it_fail_otherwise(diff in "([-+ @\\\\]{0,4}[a/0-9, ]{0,6}\n){0,12}", text in "([a ]{0,3}\n){0,6}") {
            for file in parse(&diff).unwrap_or_default() {
                let _ = apply(&text, &file.hunks);
            }
        }
    }
}
