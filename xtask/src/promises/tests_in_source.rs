//! The tests that are there, read from the sources.

use crate::failure::Failure;
use crate::root::Root;
use crate::rust_text::{Word, code_only, words};

/// A test function.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Shown {
    pub file: String,
    pub name: String,
    /// `#[ignore]`: there, but not run.
    pub ignored: bool,
}

impl Shown {
    pub fn path(&self) -> String {
        format!("{}::{}", self.file, self.name)
    }

    /// The promises that the name carries: `req_s02_…` shows S02, `req_s02_e27_…` both.
    pub fn ids(&self) -> Vec<String> {
        let Some(rest) = self.name.strip_prefix("req_") else { return Vec::new() };
        rest.split('_').map_while(id).collect()
    }

    pub fn is_about_a_promise(&self) -> bool {
        self.name.starts_with("req_")
    }
}

fn id(part: &str) -> Option<String> {
    let (letter, digits) = part.split_at_checked(1)?;
    let is_id = letter.chars().all(|letter| letter.is_ascii_lowercase())
        && digits.len() == 2
        && digits.chars().all(|digit| digit.is_ascii_digit());
    is_id.then(|| part.to_uppercase())
}

/// All tests of the tree.
pub fn find(root: &Root) -> Result<Vec<Shown>, Failure> {
    let mut found = Vec::new();
    for file in root.sources()? {
        found.extend(in_file(&file, &root.read(&file)?));
    }
    found.sort();
    Ok(found)
}

/// Functions with an attribute whose last word is `test`: `#[test]`, `#[tokio::test]`, inside of macros too.
fn in_file(file: &str, source: &str) -> Vec<Shown> {
    let code = code_only(source);
    let words = words(&code);
    let mut found = Vec::new();
    let mut attributes = Vec::new();
    let mut at = 0;
    while at < words.len() {
        if words[at].text == "#" && words.get(at + 1).is_some_and(|word| word.text == "[") {
            let end = closing(&words, at + 1);
            attributes.push(&words[at + 2..end]);
            at = end + 1;
            continue;
        }
        match words[at].text {
            "fn" => {
                let name = words.get(at + 1).map_or("", |word| word.text);
                if attributes.iter().any(|attribute| is_test(attribute)) {
                    let ignored = attributes.iter().any(|attribute| starts(attribute, "ignore"));
                    found.push(Shown { file: file.to_owned(), name: name.to_owned(), ignored });
                }
                attributes.clear();
            }
            "pub" | "async" | "const" | "unsafe" => {}
            _ => attributes.clear(),
        }
        at += 1;
    }
    found
}

fn is_test(attribute: &[Word<'_>]) -> bool {
    let path: Vec<&str> = attribute.iter().map(|word| word.text).take_while(|text| *text != "(").collect();
    path.last() == Some(&"test")
}

fn starts(attribute: &[Word<'_>], name: &str) -> bool {
    attribute.first().is_some_and(|word| word.text == name)
}

/// Where the bracket that opens here closes.
fn closing(words: &[Word<'_>], open: usize) -> usize {
    let mut depth = 0_usize;
    for (index, word) in words.iter().enumerate().skip(open) {
        match word.text {
            "[" => depth += 1,
            "]" if depth == 1 => return index,
            "]" => depth -= 1,
            _ => {}
        }
    }
    words.len() - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_found_and_nothing_else() {
        let source = "#[test]\nfn one() {}\nfn two() {}\n#[tokio::test(flavor = \"x\")]\nasync fn three() {}\n\
            // #[test]\nfn four() {}\nproptest! {\n    #[test]\n    fn five(x in 0..1) {}\n}\n\
            #[test]\n#[ignore = \"why\"]\nfn six() {}\n#[cfg(test)]\nfn seven() {}\n#[expect(x)]\n#[test]\nfn eight() {}";
        let found: Vec<(String, bool)> =
            in_file("a.rs", source).into_iter().map(|test| (test.name, test.ignored)).collect();
        let names = [("one", false), ("three", false), ("five", false), ("six", true), ("eight", false)];
        let names = names.map(|(name, ignored)| (name.to_owned(), ignored));
        assert_eq!(found, names);
    }

    #[test]
    fn a_name_carries_its_promises() {
        let ids = |name: &str| Shown { file: String::new(), name: name.to_owned(), ignored: false }.ids();
        assert_eq!(ids("req_s02_names_are_stripped"), ["S02"]);
        assert_eq!(ids("req_e06_e15_record_is_private"), ["E06", "E15"]);
        assert_eq!(ids("req_nothing"), Vec::<String>::new());
        assert_eq!(ids("s02_names"), Vec::<String>::new());
        assert_eq!(ids("req_s02_a1b_x"), ["S02"]);
    }
}
