//! What a person or a machine reads on standard output.

use std::io::{self, Write};

use crate::exit::Exit;
use crate::failure::Failure;

/// Prints a value as one JSON document.
pub fn json(value: &impl serde::Serialize) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    let written =
        serde_json::to_writer_pretty(&mut out, value).map_err(io::Error::from).and_then(|()| writeln!(out));
    finish(written)
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

/// A reader that has seen enough (`| head`) is not a failure.
fn finish(written: io::Result<()>) -> Result<(), Failure> {
    match written {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::new(Exit::Unavailable, format!("cannot write to standard output: {error}")))
        }
        _ => Ok(()),
    }
}
