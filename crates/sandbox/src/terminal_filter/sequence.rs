//! The judgement of one whole sequence.

use super::modes::{self, Change};

#[derive(Debug, PartialEq, Eq)]
pub enum Verdict {
    Pass,
    /// Passes, and is to be undone at the end.
    Set(Vec<Change>),
    /// Does not pass; the program is told this as if the terminal had said it.
    Answer(&'static [u8]),
    Drop,
}

/// A terminal with colours and no further talents.
const ATTRIBUTES: &[u8] = b"\x1b[?62;22c";
const STATUS_FINE: &[u8] = b"\x1b[0n";

/// Judges a sequence from its ESC to its last byte.
pub fn judge(sequence: &[u8]) -> Verdict {
    match sequence {
        [0x1b, b'[', rest @ .., last] => control(rest, *last),
        [0x1b, b']', text @ .., 0x07] => command(text),
        // Saving and restoring the cursor, line movements, tab stops, keypad modes, a full reset.
        [0x1b, b'7' | b'8' | b'=' | b'>' | b'D' | b'E' | b'H' | b'M' | b'c'] => Verdict::Pass,
        // Letters and line drawings, which older programs switch between.
        [0x1b, b'(' | b')' | b'*' | b'+', b'0' | b'A' | b'B'] => Verdict::Pass,
        // The test pattern, and lines of double size.
        [0x1b, b'#', b'3'..=b'6' | b'8'] => Verdict::Pass,
        // The old way to ask who it is.
        [0x1b, b'Z'] => Verdict::Answer(ATTRIBUTES),
        _ => Verdict::Drop,
    }
}

/// `ESC [`, parameters, intermediates, final byte.
fn control(middle: &[u8], last: u8) -> Verdict {
    let end = middle.iter().rposition(|byte| !matches!(byte, 0x20..=0x2f)).map_or(0, |last| last + 1);
    let (parameters, intermediates) = middle.split_at(end);
    let (private, numbers) = match parameters {
        [mark @ (b'<' | b'=' | b'>' | b'?'), numbers @ ..] => (Some(*mark), numbers),
        numbers => (None, numbers),
    };
    if !numbers.iter().all(|byte| matches!(byte, b'0'..=b'9' | b';' | b':')) {
        return Verdict::Drop;
    }
    match (private, intermediates, last) {
        // Cursor, erasing, inserting, deleting, scrolling, tab stops, repetition, colours, margins.
        (
            None,
            [],
            b'@'..=b'M'
            | b'P'
            | b'S'
            | b'T'
            | b'X'
            | b'Z'
            | b'`'
            | b'a'
            | b'b'
            | b'd'..=b'g'
            | b'm'
            | b'r'
            | b's'
            | b'u',
        ) => Verdict::Pass,
        // Modes of the screen: insertion and line ends.
        (None, [], b'h' | b'l') if matches!(numbers, b"4" | b"20") => Verdict::Pass,
        (Some(b'?'), [], b'h' | b'l') => private_mode(numbers, last == b'h'),
        // Selective erasing, and which keys are sent how.
        (Some(b'?'), [], b'J' | b'K') | (Some(b'>'), [], b'm') | (Some(b'>' | b'<' | b'='), [], b'u') => {
            Verdict::Pass
        }
        // The shape of the cursor, a soft reset, and protection of characters.
        (None, b" " | b"\"", b'q') | (None, b"!", b'p') => Verdict::Pass,
        (None, [], b'c') if matches!(numbers, b"" | b"0") => Verdict::Answer(ATTRIBUTES),
        (None, [], b'n') if numbers == b"5" => Verdict::Answer(STATUS_FINE),
        // Where the cursor is: line editors wait for the answer, only the terminal knows it, and it is two numbers, so
        // that nothing of the program's choice is typed to whoever reads when the program has gone.
        (None, [], b'n') if numbers == b"6" => Verdict::Pass,
        _ => Verdict::Drop,
    }
}

/// All modes of one sequence are known, or none of them is passed on.
fn private_mode(numbers: &[u8], on: bool) -> Verdict {
    let known = |number: &[u8]| {
        let number = std::str::from_utf8(number).ok()?.parse().ok()?;
        modes::is_known(number).then_some(Change { number, on })
    };
    let changes: Option<Vec<Change>> = numbers.split(|byte| *byte == b';').map(known).collect();
    changes.map_or(Verdict::Drop, Verdict::Set)
}

/// `ESC ]`: the title of the window, and marks around the prompt. Everything else writes the clipboard, asks for
/// colours, opens links, starts notifications or downloads files.
fn command(text: &[u8]) -> Verdict {
    let (number, rest) = match text.iter().position(|byte| *byte == b';') {
        Some(semicolon) => (&text[..semicolon], &text[semicolon + 1..]),
        None => return Verdict::Drop,
    };
    // A title with a control character in it is none; the characters from U+0080 to U+009F are controls too.
    let plain = std::str::from_utf8(rest).is_ok_and(|rest| !rest.chars().any(char::is_control));
    match number {
        b"0" | b"1" | b"2" | b"133" if plain => Verdict::Pass,
        _ => Verdict::Drop,
    }
}
