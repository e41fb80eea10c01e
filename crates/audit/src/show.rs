//! A record as a line for people.

use serde_json::Value;

use crate::chain::body;
use crate::fields::{Fields, Summary, unquoted};
use crate::outside::Outside;

/// The fields that have a place of their own in the line.
const PLACED: [&[u8]; 8] = [b"v", b"seq", b"time", b"session", b"kind", b"decision", b"reason", b"host"];

/// `seq  time  kind  decision reason  host  name=value …`, with every character visible. What is not a record
/// is shown as it is and marked.
pub fn line(line: &[u8]) -> String {
    let Some(summary) = Summary::of(line) else {
        return format!("?  {}", visible(line));
    };
    let mut shown = format!("{:>8}  {}  {:<18}", summary.seq, visible(summary.time), visible(summary.kind));
    for (word, width) in [(summary.decision, 8), (summary.reason, 0), (summary.host, 0)] {
        if !word.is_empty() {
            shown.push_str(&format!("  {:<width$}", text(word)));
        }
    }
    let mut details: Vec<String> = Fields::of(body(line))
        .filter(|(key, _)| !PLACED.contains(key))
        .map(|(key, value)| format!("{}={}", visible(key), plain(value)))
        .collect();
    if !summary.session.is_empty() {
        details.push(format!("session={}", text(summary.session)));
    }
    if !details.is_empty() {
        shown.push_str("  ");
        shown.push_str(&details.join(" "));
    }
    shown.truncate(shown.trim_end().len());
    shown
}

/// A JSON value as text: a string without quotes, anything else as it stands.
pub(crate) fn plain(value: &[u8]) -> String {
    match unquoted(value) {
        Some(inner) => text(inner),
        None => visible(value),
    }
}

/// The inside of a JSON string as the text that it stands for, made visible.
fn text(inner: &[u8]) -> String {
    let quoted = [b"\"", inner, b"\""].concat();
    match serde_json::from_slice(&quoted) {
        Ok(Value::String(text)) => visible(text.as_bytes()),
        _ => visible(inner),
    }
}

/// The file may have been written by anybody, so nothing in it is trusted to be visible already.
fn visible(bytes: &[u8]) -> String {
    Outside::<{ crate::chain::LONGEST_LINE }>::new(bytes).as_str().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_reads_as_a_line_and_nothing_moves_the_cursor() {
        let record = "{\"v\":1,\"seq\":7,\"time\":\"2026-01-01T00:00:00.000000Z\",\"session\":\"s\\u001b[1m\",\"kind\":\"egress-request\",\"decision\":\"refused\",\"reason\":\"host-not-allowed\",\"host\":\"a.example\",\"port\":443,\"path\":\"/x\\u202e\"}";
        assert_eq!(
            line(record.as_bytes()),
            "       7  2026-01-01T00:00:00.000000Z  egress-request      refused   host-not-allowed  a.example  port=443 path=/x\\u{202e} session=s\\u{1b}[1m"
        );
        assert_eq!(line(b"\x1b[2J"), "?  \\u{1b}[2J");
    }
}
