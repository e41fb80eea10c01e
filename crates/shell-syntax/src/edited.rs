//! Files that a text has written and then changes in their place.

use crate::{FileContent, Shell, Word, output};

/// A pattern is tried on so many files.
const MOST_EDITED: usize = 64;

impl Shell {
    /// `sed -i`, `perl -pi`: what the file holds then, or that it is not known.
    pub(crate) fn edited(&mut self, name: &str, rest: &[Word]) {
        if self.files.is_empty() || !rest.iter().any(|word| is_in_place(name, word)) {
            return;
        }
        let operands: Vec<usize> = (0..rest.len()).filter(|&at| !rest[at].text().starts_with('-')).collect();
        let given = rest.iter().any(|word| word.text().starts_with("-e") || word.text().ends_with('e'));
        let script = usize::from(name.ends_with("sed") && !given);
        for &at in operands.iter().skip(script) {
            // A pattern, or a name that is not known, may be any of them.
            let paths: Vec<String> = match rest[at].as_known().filter(|_| !rest[at].is_glob()) {
                Some(path) => vec![path.to_owned()],
                None => {
                    let end = rest[at].text().rsplit(['*', '?', ']', crate::HOLE]).next().unwrap_or_default();
                    self.files.keys().filter(|path| path.ends_with(end)).take(MOST_EDITED).cloned().collect()
                }
            };
            let before: Vec<Word> = operands[..script]
                .iter()
                .map(|&at| rest[at].clone())
                .chain(options(name, &rest[..at]))
                .collect();
            for path in paths {
                self.edited_file(name, &before, &path);
            }
        }
    }

    fn edited_file(&mut self, name: &str, script: &[Word], path: &str) {
        let Some(FileContent::Text(text)) = self.file(path).cloned() else { return };
        let known = text.as_known().filter(|_| name.ends_with("sed"));
        let changed = match known.and_then(|known| output::edited(script, known)) {
            Some(changed) => text.with_text(changed),
            // What it was, and whatever else it may be now.
            None => {
                let mut changed = text;
                changed.push_str("\n");
                changed.push(&Word::unknown(None));
                changed
            }
        };
        self.write_file(path, FileContent::Text(changed));
    }
}

/// The options but for the one that says where the result goes. Scripts that are given with options are not followed.
fn options<'w>(name: &'w str, words: &'w [Word]) -> impl Iterator<Item = Word> + 'w {
    words.iter().filter(move |word| word.text().starts_with('-') && !is_in_place(name, word)).cloned()
}

fn is_in_place(name: &str, word: &Word) -> bool {
    let ends: &[char] = if name.ends_with("sed") { &['e', 'f'] } else { &['e', 'M', 'I', 'r'] };
    let text = word.text();
    text.starts_with("--in-place")
        || text.strip_prefix('-').is_some_and(|flags| {
            let flags = flags.split(ends).next().unwrap_or_default();
            !flags.starts_with('-') && flags.contains('i')
        })
}
