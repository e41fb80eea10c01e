//! `read_file`.

use std::io::{BufRead, BufReader, Read};

use serde::Deserialize;
use serde_json::{Value, json};

use super::{MOST_CONTENT, failed, guard, whole};
use crate::message::{ErrorKind, ToolError};

/// A file is read this far to count its lines.
const LONGEST: u64 = 256 << 20;

#[derive(Deserialize)]
pub struct ReadFile {
    path: String,
    #[serde(default, deserialize_with = "whole")]
    offset: Option<usize>,
    #[serde(default, deserialize_with = "whole")]
    limit: Option<usize>,
}

pub fn read_file(wish: &ReadFile) -> Result<Value, ToolError> {
    let guard::Opened { beginning, rest } = guard::open(&wish.path)?;
    match rest {
        None => read_lines(wish, beginning.as_slice()),
        Some(rest) => {
            let rest = beginning.as_slice().chain(rest).take(LONGEST);
            read_lines(wish, BufReader::with_capacity(64 << 10, rest))
        }
    }
}

fn read_lines(wish: &ReadFile, mut lines: impl BufRead) -> Result<Value, ToolError> {
    let first = wish.offset.unwrap_or(1).max(1);
    let last = wish.limit.map_or(usize::MAX, |limit| first.saturating_add(limit) - 1);
    let (mut content, mut number, mut shown, mut truncated) = (Vec::new(), 0, 0, false);
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = lines.read_until(b'\n', &mut line).map_err(|error| failed("read", &wish.path, &error))?;
        if read == 0 {
            break;
        }
        number += 1;
        if number < first || number > last || truncated {
            continue;
        }
        if line.contains(&0) {
            return Err(ErrorKind::Failed.with(format!("{} is no text", wish.path)));
        }
        let room = MOST_CONTENT - content.len();
        truncated = line.len() > room;
        content.extend_from_slice(&line[..line.len().min(room)]);
        shown += usize::from(!truncated);
    }
    let content = if truncated { whole_characters(&content) } else { &content };
    Ok(json!({
        "content": String::from_utf8_lossy(content),
        "total_lines": number,
        "lines": shown,
        "truncated": truncated,
    }))
}

/// Without a character at the end that was cut in two.
fn whole_characters(bytes: &[u8]) -> &[u8] {
    match std::str::from_utf8(bytes) {
        Err(error) if error.error_len().is_none() => &bytes[..error.valid_up_to()],
        _ => bytes,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(path: &std::path::Path, offset: Option<usize>, limit: Option<usize>) -> Result<Value, ToolError> {
        read_file(&ReadFile { path: path.to_str().expect("a name").to_owned(), offset, limit })
    }

    #[test]
    fn lines_are_counted_from_one_and_large_files_are_cut_at_a_character() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("a");
        std::fs::write(&path, "one\ntwo\nthree").expect("written");
        assert_eq!(read(&path, Some(2), Some(1)).expect("read")["content"], "two\n");
        assert_eq!(read(&path, Some(3), None).expect("read")["content"], "three");
        assert_eq!(read(&path, Some(9), None).expect("read")["total_lines"], 3);
        std::fs::write(&path, "€".repeat(MOST_CONTENT)).expect("written");
        let cut = read(&path, None, None).expect("read");
        assert_eq!(cut["truncated"], true);
        assert_eq!(cut["content"].as_str().expect("a text").chars().count(), MOST_CONTENT / 3);
    }

    #[test]
    fn req_i15_what_is_no_file_of_text_is_refused() {
        let directory = tempfile::tempdir().expect("a directory");
        assert_eq!(
            read(std::path::Path::new("/dev/zero"), None, None).expect_err("no").kind,
            ErrorKind::Denied
        );
        let environment = std::path::Path::new("/proc/self/environ");
        assert_eq!(read(environment, None, None).expect_err("no").kind, ErrorKind::Denied);
        let path = directory.path().join("binary");
        std::fs::write(&path, b"\0\x01").expect("written");
        assert_eq!(read(&path, None, None).expect_err("no").kind, ErrorKind::Failed);
    }
}
