//! Commands that write until a disk is full.

use crate::Category;
use crate::call::Call;
use crate::judge::{Judge, Report};

/// More than this out of nothing is no test file.
const MUCH: u64 = 20 << 30;

pub(crate) const FILLS: Report =
    Report::ask("fill-disk", Category::SystemControl, "It writes until the disk is full.");

impl Judge<'_> {
    /// Bytes without end that are made on the spot and copied.
    pub(crate) fn filling(&mut self, program: &str, call: &Call) {
        let much = match program {
            "dd" | "dcfldd" | "dc3dd" => copies_much(call),
            "head" | "ghead" => {
                call.operands().any(|word| is_endless(word.text()))
                    && call
                        .texts()
                        .filter_map(|text| size(text.trim_start_matches("-c")))
                        .any(|size| size >= MUCH)
            }
            _ => false,
        };
        if much {
            self.report(&FILLS, call.line());
        }
    }
}

/// `dd` from a source without end into a file: by its blocks, or with nothing that stops it.
fn copies_much(call: &Call) -> bool {
    let value = |name: &str| call.texts().find_map(|text| text.strip_prefix(name)?.strip_prefix('='));
    let into_file = value("of").is_some_and(|target| !target.starts_with("/dev/"));
    if !into_file || !value("if").is_some_and(is_endless) {
        return false;
    }
    let Some(count) = value("count") else { return true };
    match (size(value("bs").unwrap_or("512")), size(count)) {
        (Some(block), Some(count)) => block.saturating_mul(count) >= MUCH,
        _ => false,
    }
}

fn is_endless(path: &str) -> bool {
    matches!(path, "/dev/zero" | "/dev/urandom" | "/dev/random" | "/dev/full")
}

/// `10G`, `4MiB`, `512`.
fn size(text: &str) -> Option<u64> {
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let number: u64 = text[..digits].parse().ok()?;
    let shift = match text[digits..].trim_end_matches(['i', 'B']) {
        "" | "c" => 0,
        "k" | "K" => 10,
        "m" | "M" => 20,
        "g" | "G" => 30,
        "t" | "T" => 40,
        _ => return None,
    };
    Some(number.saturating_mul(1 << shift))
}
