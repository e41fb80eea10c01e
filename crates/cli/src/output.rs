//! What a person or a machine reads on standard output.

use std::ffi::OsStr;
use std::io::{self, Write};

use crate::exit::Exit;
use crate::failure::Failure;

/// Prints a value as one JSON document, with one write: standard output by itself makes one of every line.
pub fn json(value: &impl serde::Serialize) -> Result<(), Failure> {
    let document = serde_json::to_vec_pretty(value).map_err(io::Error::from);
    finish(document.and_then(|mut document| {
        document.push(b'\n');
        io::stdout().lock().write_all(&document)
    }))
}

/// Prints lines as they are.
pub fn text(text: &str) -> Result<(), Failure> {
    bytes(text.as_bytes())
}

/// Prints bytes as they are.
pub fn bytes(bytes: &[u8]) -> Result<(), Failure> {
    finish(io::stdout().lock().write_all(bytes))
}

/// Prints rows under their headings, each column as wide as its widest cell; the last one is not padded.
pub fn table(headings: &[&str], rows: &[Vec<String>]) -> Result<(), Failure> {
    let mut widths: Vec<usize> = headings.iter().map(|heading| heading.chars().count()).collect();
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let mut out = String::new();
    let headings: Vec<String> = headings.iter().map(|&heading| heading.to_owned()).collect();
    for row in std::iter::once(&headings).chain(rows) {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(&widths) {
            line.push_str(cell);
            line.extend(std::iter::repeat_n(' ', width + 2 - cell.chars().count()));
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    text(&out)
}

/// Foreign text as it may stand on a terminal: what would move the cursor, change colours or turn the direction
/// of writing around is spelt out.
pub fn inert(text: &OsStr) -> String {
    let mut shown = String::new();
    for character in text.to_string_lossy().chars() {
        let turns =
            matches!(character, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        if character.is_control() || turns {
            shown.extend(character.escape_default());
        } else {
            shown.push(character);
        }
    }
    shown
}

/// A reader that has seen enough (`| head`) is not a failure.
fn finish(written: io::Result<()>) -> Result<(), Failure> {
    match written {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::new(Exit::Unavailable, format!("cannot write to standard output: {error}")))
        }
        _ => Ok(()),
    }
}
