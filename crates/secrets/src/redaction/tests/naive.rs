//! What redaction means, written without a thought for speed or streams.

use crate::redaction::forms::Form;

const SHORTEST: usize = 8;
const CUT_OFF: usize = 16;

/// What trying a form at one place comes to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Tried {
    EndsAt(usize),
    /// The text ends first, after this many bytes of the form.
    RunsOut(usize),
}

/// Every way in which `form` may stand at `at`, with `matched` bytes of it seen, `line` of them since a break.
fn attempts(form: &[u8], text: &[u8], at: usize, matched: usize, line: usize, found: &mut Vec<Tried>) {
    if matched == form.len() {
        return found.push(Tried::EndsAt(at));
    }
    let Some(byte) = text.get(at) else {
        return found.push(Tried::RunsOut(matched));
    };
    if *byte == form[matched] {
        attempts(form, text, at + 1, matched + 1, line + 1, found);
    }
    if matched >= SHORTEST && line >= SHORTEST {
        if *byte == b'\\' && at + 1 == text.len() {
            found.push(Tried::RunsOut(matched));
        }
        let first = line_break(&text[at..]);
        if let Some((length, returns)) = first {
            let second = line_break(&text[at + length..]).filter(|(_, again)| returns && !again);
            let length = length + second.map_or(0, |(length, _)| length);
            // The second half of an escaped break may be cut off by the end of the text.
            if returns && second.is_none() && &text[at + length..] == b"\\" {
                found.push(Tried::RunsOut(matched));
            }
            attempts(form, text, at + length, matched, 0, found);
        }
    }
}

fn line_break(text: &[u8]) -> Option<(usize, bool)> {
    match text {
        [b'\r', ..] => Some((1, true)),
        [b'\n', ..] => Some((1, false)),
        [b'\\', b'r', ..] => Some((2, true)),
        [b'\\', b'n', ..] => Some((2, false)),
        _ => None,
    }
}

/// Stretches to be replaced, in order and without overlap, each with its label.
fn stretches(forms: &[Form], text: &[u8], ended: bool) -> Vec<(usize, usize, u32)> {
    let mut all = Vec::new();
    let (live, depth, label) = live(forms, text);
    if ended && depth >= CUT_OFF {
        all.push((live, text.len(), label));
    }
    for at in 0..text.len() {
        for form in forms {
            for tried in tried(form, text, at) {
                if let Tried::EndsAt(end) = tried {
                    all.push((at, end, form.label));
                }
            }
        }
    }
    // Leftmost, then longest, then the one named first.
    all.sort_by_key(|(start, end, label)| (*start, std::cmp::Reverse(*end), *label));
    let mut merged: Vec<(usize, usize, u32)> = Vec::new();
    for (start, end, label) in all {
        match merged.last_mut() {
            Some(last) if start < last.1 => last.1 = last.1.max(end),
            _ => merged.push((start, end, label)),
        }
    }
    merged
}

fn tried(form: &Form, text: &[u8], at: usize) -> Vec<Tried> {
    let mut found = Vec::new();
    if text[at] == form.bytes[0] {
        attempts(&form.bytes, text, at, 0, 0, &mut found);
    }
    found
}

/// Where the longest end of `text` begins that starts a form, how much of the form it is, and the form's label.
pub(super) fn live(forms: &[Form], text: &[u8]) -> (usize, usize, u32) {
    for at in 0..text.len() {
        for form in forms {
            for tried in tried(form, text, at) {
                if let Tried::RunsOut(depth) = tried {
                    return (at, depth, form.label);
                }
            }
        }
    }
    (text.len(), 0, 0)
}

pub(super) fn redact(forms: &[Form], text: &[u8], same_length: bool) -> Vec<u8> {
    let mut out = Vec::new();
    let mut at = 0;
    for (start, end, label) in stretches(forms, text, true) {
        out.extend_from_slice(&text[at..start]);
        if same_length {
            out.resize(out.len() + end - start, b'*');
        } else {
            out.extend_from_slice(format!("[redacted:{label}]").as_bytes());
        }
        at = end;
    }
    out.extend_from_slice(&text[at..]);
    out
}
