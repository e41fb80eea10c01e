//! `search_files`, with the parts that ripgrep is made of.

use std::path::Path;

use grep_regex::RegexMatcherBuilder;
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkMatch};
use ignore::WalkBuilder;
use ignore::overrides::OverrideBuilder;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{MOST_CONTENT, whole};
use crate::message::{ErrorKind, ToolError};

const USUAL_LIMIT: usize = 200;
/// Of a longer line this much is shown.
const LONGEST_LINE: usize = 1000;

#[derive(Deserialize)]
pub struct SearchFiles {
    pattern: String,
    path: Option<String>,
    target: Option<Target>,
    file_glob: Option<String>,
    #[serde(default, deserialize_with = "whole")]
    limit: Option<usize>,
    #[serde(default, deserialize_with = "whole")]
    context: Option<usize>,
    #[serde(default)]
    ignore_case: bool,
}

#[derive(Deserialize, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum Target {
    Content,
    Files,
}

pub fn search_files(wish: &SearchFiles) -> Result<Value, ToolError> {
    let root = wish.path.as_deref().unwrap_or(".");
    let files = wish.target == Some(Target::Files);
    let glob = if files { Some(&wish.pattern) } else { wish.file_glob.as_ref() };
    let walk = walk(root, glob)?;
    let mut found = Found { limit: wish.limit.unwrap_or(USUAL_LIMIT), ..Found::default() };
    if files {
        for entry in walk.filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file())) {
            if !found.add(json!({"path": shown(entry.path())})) {
                break;
            }
        }
    } else {
        in_contents(wish, walk, &mut found)?;
    }
    Ok(json!({"matches": found.matches, "truncated": found.truncated}))
}

/// Files below a directory, without what version control is told to ignore, in the order of their names.
fn walk(root: &str, glob: Option<&String>) -> Result<impl Iterator<Item = ignore::DirEntry>, ToolError> {
    std::fs::metadata(root).map_err(|error| super::failed("search", root, &error))?;
    let mut builder = WalkBuilder::new(root);
    builder.hidden(false).require_git(false).parents(false).sort_by_file_name(Ord::cmp);
    builder.filter_entry(|entry| entry.file_name() != ".git");
    let mut wanted = OverrideBuilder::new(root);
    if let Some(glob) = glob {
        wanted.add(glob).map_err(|error| ErrorKind::BadArguments.with(format!("{glob}: {error}")))?;
    }
    let wanted = wanted.build().map_err(|error| ErrorKind::BadArguments.with(error.to_string()))?;
    // Not given to the walk: there a file that is wanted would count for more than one that is ignored.
    let wanted = move |entry: &ignore::DirEntry| {
        wanted.num_whitelists() == 0 || wanted.matched(entry.path(), false).is_whitelist()
    };
    Ok(builder.build().filter_map(Result::ok).filter(wanted))
}

fn in_contents(
    wish: &SearchFiles,
    walk: impl Iterator<Item = ignore::DirEntry>,
    found: &mut Found,
) -> Result<(), ToolError> {
    let matcher = RegexMatcherBuilder::new()
        .case_insensitive(wish.ignore_case)
        .line_terminator(Some(b'\n'))
        .build(&wish.pattern)
        .map_err(|error| ErrorKind::BadArguments.with(format!("pattern: {error}")))?;
    let context = wish.context.unwrap_or(0);
    let mut searcher = SearcherBuilder::new()
        .binary_detection(BinaryDetection::quit(0))
        .before_context(context)
        .after_context(context)
        .build();
    for entry in walk.filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file())) {
        let mut sink = InFile { path: shown(entry.path()), found };
        // A file that cannot be read is not what was looked for.
        let _ = searcher.search_path(&matcher, entry.path(), &mut sink);
        if found.truncated {
            break;
        }
    }
    Ok(())
}

fn shown(path: &Path) -> String {
    path.strip_prefix("./").unwrap_or(path).to_string_lossy().into_owned()
}

#[derive(Default)]
struct Found {
    matches: Vec<Value>,
    bytes: usize,
    limit: usize,
    truncated: bool,
}

impl Found {
    /// Takes a match in, unless there is no room for it.
    fn add(&mut self, found: Value) -> bool {
        let bytes = found.to_string().len();
        self.truncated = self.matches.len() >= self.limit || self.bytes + bytes > MOST_CONTENT;
        if !self.truncated {
            self.bytes += bytes;
            self.matches.push(found);
        }
        !self.truncated
    }
}

struct InFile<'a> {
    path: String,
    found: &'a mut Found,
}

impl InFile<'_> {
    fn line(&mut self, number: Option<u64>, bytes: &[u8], kind: &str) -> bool {
        let text = String::from_utf8_lossy(bytes);
        let text: String = text.trim_end_matches(['\n', '\r']).chars().take(LONGEST_LINE).collect();
        self.found.add(json!({"path": self.path, "line": number, "kind": kind, "text": text}))
    }
}

impl Sink for InFile<'_> {
    type Error = std::io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, Self::Error> {
        Ok(self.line(found.line_number(), found.bytes(), "match"))
    }

    fn context(&mut self, _: &Searcher, context: &SinkContext<'_>) -> Result<bool, Self::Error> {
        Ok(self.line(context.line_number(), context.bytes(), "context"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn search(directory: &Path, more: &Value) -> Result<Value, ToolError> {
        let mut wish = json!({"path": directory.to_str().expect("a name")});
        let all = wish.as_object_mut().expect("an object");
        all.extend(more.as_object().expect("an object").clone());
        search_files(&serde_json::from_value(wish).expect("arguments"))
    }

    #[test]
    fn contents_and_names_are_found_and_what_is_ignored_is_not() {
        let directory = tempfile::tempdir().expect("a directory");
        for (name, text) in [
            ("a.rs", "one\nTwo\nthree\n"),
            ("b.txt", "two\n"),
            ("skip.rs", "two\n"),
            (".gitignore", "skip.rs\n"),
        ] {
            std::fs::write(directory.path().join(name), text).expect("written");
        }
        let lines = |more: Value| {
            let found = search(directory.path(), &more).expect("found");
            found["matches"].as_array().expect("a list").len()
        };
        assert_eq!(lines(json!({"pattern": "two"})), 1);
        assert_eq!(lines(json!({"pattern": "two", "ignore_case": true})), 2);
        assert_eq!(lines(json!({"pattern": "two", "ignore_case": true, "file_glob": "*.rs"})), 1);
        assert_eq!(lines(json!({"pattern": "Two", "context": 1})), 3);
        assert_eq!(lines(json!({"pattern": "*.rs", "target": "files"})), 1);
        assert_eq!(lines(json!({"pattern": ".", "limit": 2})), 2);
        assert_eq!(
            search(directory.path(), &json!({"pattern": ".", "limit": 2})).expect("found")["truncated"],
            true
        );
        assert_eq!(
            search(directory.path(), &json!({"pattern": "("})).expect_err("wrong").kind,
            ErrorKind::BadArguments
        );
    }
}
