//! The record for other programs.

use crate::chain::body;
use crate::fields::Fields;
use crate::show::plain;

/// Columns of their own; all other fields are in the last column, as they stand in the record.
const COLUMNS: [&str; 12] = [
    "seq", "time", "session", "kind", "decision", "reason", "host", "port", "method", "path", "provider",
    "rule",
];

/// The first line of a CSV file.
pub fn csv_head() -> String {
    format!("{},details\r\n", COLUMNS.join(","))
}

/// One record as a line of CSV. A spreadsheet takes a cell that begins with `=`, `+`, `-` or `@` for a formula
/// and runs it, so such a cell gets an apostrophe in front, which spreadsheets do not show.
pub fn csv_row(line: &[u8], out: &mut String) {
    let mut cells = [const { String::new() }; COLUMNS.len()];
    let mut details = String::new();
    for (key, value) in Fields::of(body(line)).filter(|(key, _)| *key != b"v") {
        match COLUMNS.iter().position(|column| column.as_bytes() == key) {
            Some(at) => cells[at] = plain(value),
            None => {
                details.push_str(if details.is_empty() { "" } else { " " });
                details.push_str(&format!("{}={}", plain(key), plain(value)));
            }
        }
    }
    for cell in cells {
        push_cell(out, &cell);
        out.push(',');
    }
    push_cell(out, &details);
    out.push_str("\r\n");
}

fn push_cell(out: &mut String, cell: &str) {
    let is_formula =
        cell.starts_with(['=', '+', '-', '@', '\t', '\r', '\u{ff1d}', '\u{ff0b}', '\u{ff0d}', '\u{ff20}']);
    let mark = if is_formula { "'" } else { "" };
    if cell.contains([',', '"', '\n', '\r', ';', '\'']) || is_formula {
        out.push_str(&format!("\"{mark}{}\"", cell.replace('"', "\"\"")));
    } else {
        out.push_str(cell);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_quoted_and_no_cell_is_a_formula() {
        let line = br#"{"v":1,"seq":7,"time":"t","kind":"egress-request","host":"=cmd|' /C calc'!A0","path":"/a,\"b\"","x":1,"y":"+1"}"#;
        let mut out = String::new();
        csv_row(line, &mut out);
        assert_eq!(out, "7,t,,egress-request,,,\"'=cmd|' /C calc'!A0\",,,\"/a,\"\"b\"\"\",,,x=1 y=+1\r\n");
        let mut cell = String::new();
        push_cell(&mut cell, "@x");
        assert_eq!(cell, "\"'@x\"");
    }
}
