//! What redaction means, written without a thought for speed or streams.

use crate::redaction::forms::Form;

const SHORTEST: usize = 8;
const CUT_OFF: usize = 16;
const LONGEST_BREAK: usize = 4;

/// What trying a form at one place comes to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Tried {
    EndsAt(usize),
    /// The text ends first, after this many bytes of the form.
    RunsOut(usize),
}

/// Every way in which `form` may stand at `at`, with `matched` bytes of it seen, `line` of them since a break.
/// After a break, what spells a break is one.
fn attempts(form: &[u8], text: &[u8], at: usize, matched: usize, line: usize, found: &mut Vec<Tried>) {
    if matched == form.len() {
        return found.push(Tried::EndsAt(at));
    }
    let Some(byte) = text.get(at) else {
        return found.push(Tried::RunsOut(matched));
    };
    if *byte == form[matched] && (line == matched || !b"\\\r\n".contains(byte)) {
        attempts(form, text, at + 1, matched + 1, line + 1, found);
    }
    if matched >= SHORTEST && line >= SHORTEST {
        let length = line_break(&text[at..]);
        // An escape may be cut off by the end of the text.
        if length + 2 <= LONGEST_BREAK && &text[at + length..] == b"\\" {
            found.push(Tried::RunsOut(matched));
        }
        if (1..=LONGEST_BREAK).contains(&length) {
            attempts(form, text, at + length, matched, 0, found);
        }
    }
}

/// The length of all that spells breaks at the beginning of `text`.
fn line_break(text: &[u8]) -> usize {
    match text {
        [b'\r' | b'\n', rest @ ..] => 1 + line_break(rest),
        [b'\\', b'r' | b'n', rest @ ..] => 2 + line_break(rest),
        _ => 0,
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
        let depths = forms.iter().flat_map(|form| {
            tried(form, text, at).into_iter().filter_map(move |tried| match tried {
                Tried::RunsOut(depth) => Some((depth, form.label)),
                Tried::EndsAt(_) => None,
            })
        });
        // The deepest, and of those the first.
        if let Some((depth, label)) = depths.reduce(|best, next| if next.0 > best.0 { next } else { best }) {
            return (at, depth, label);
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
