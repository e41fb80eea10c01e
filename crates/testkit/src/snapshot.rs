//! What a person sees, kept as plain text and compared letter by letter.

use std::fs;
use std::path::Path;

/// Compares text with the file `name` in `directory`, which `UPDATE_SNAPSHOTS=1` rewrites.
///
/// # Panics
///
/// When they differ, with the first line that does.
#[track_caller]
pub fn assert_snapshot(directory: impl AsRef<Path>, name: &str, actual: &str) {
    let file = directory.as_ref().join(name);
    if std::env::var_os("UPDATE_SNAPSHOTS").is_some_and(|value| value == "1") {
        fs::create_dir_all(directory).expect("a directory for snapshots");
        fs::write(&file, actual).expect("a snapshot is written");
        return;
    }
    let expected = fs::read_to_string(&file).unwrap_or_default();
    if expected == actual {
        return;
    }
    let line =
        expected.lines().zip(actual.lines()).take_while(|(expected, actual)| expected == actual).count();
    panic!(
        "{} differs in line {}:\n- {}\n+ {}\nUPDATE_SNAPSHOTS=1 rewrites it with:\n{actual}",
        file.display(),
        line + 1,
        expected.lines().nth(line).unwrap_or("(end)"),
        actual.lines().nth(line).unwrap_or("(end)"),
    );
}
