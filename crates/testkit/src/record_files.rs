//! The record that a run has left, as text.

use std::fs;
use std::path::{Path, PathBuf};

/// All lines of the record in this directory, in their order.
///
/// # Panics
///
/// When there is none.
pub fn record_in(directory: &Path) -> String {
    let entries = fs::read_dir(directory).expect("a record").map(|entry| entry.expect("an entry").path());
    let mut files: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|end| end == "jsonl")).collect();
    files.sort();
    files.iter().map(|path| fs::read_to_string(path).expect("a file of the record")).collect()
}
