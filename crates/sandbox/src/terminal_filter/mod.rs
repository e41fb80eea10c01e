//! What a program in a sandbox may say to the person's terminal.
//!
//! A terminal answers some sequences as if the person had typed, writes its clipboard for others, prints, and
//! draws pictures without end. A program in a sandbox may write text, colour it and move the cursor; everything
//! else is dropped. A sequence goes on only as a whole and only if it is known (`sequence`), so the terminal
//! never sees the beginning of one whose end was judged differently. A list of what to drop was rejected: it
//! would miss what the next terminal invents.

mod modes;
mod sequence;
#[cfg(test)]
mod tests;

use modes::Modes;
use sequence::Verdict;

/// The longest sequence that is passed on; a longer one is dropped as it arrives.
const LONGEST: usize = 512;

/// Sorts the output of one program, in pieces as they come.
#[derive(Debug, Default)]
pub struct TerminalFilter {
    position: Position,
    /// What is held back until its end has come: the beginning of a character or of a sequence.
    held: Vec<u8>,
    modes: Modes,
}

/// Where in the stream the last piece ended.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Position {
    #[default]
    Text,
    /// Inside a character of several bytes.
    Character { missing: u8 },
    /// After ESC, perhaps with intermediate bytes.
    Escape,
    /// After ESC [.
    Control,
    /// After ESC ], up to BEL or ESC \.
    Command(Closing),
    /// A string of a kind that is never passed on.
    Swallowed(Closing),
}

/// Whether the last byte may be the first half of a string's end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Closing {
    No,
    Escape,
    /// The first byte of U+009C, the string's end as one character.
    Wide,
}

/// What comes of a piece of output.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Sorted {
    pub to_terminal: Vec<u8>,
    /// What the program is told in the terminal's place, so that it does not wait for an answer.
    pub to_program: Vec<u8>,
}

impl TerminalFilter {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn sort(&mut self, bytes: &[u8]) -> Sorted {
        let mut sorted = Sorted { to_terminal: Vec::with_capacity(bytes.len()), to_program: Vec::new() };
        let mut rest = bytes;
        while let Some((&byte, after)) = rest.split_first() {
            if self.position == Position::Text {
                // Most output is plain; it goes on in one piece.
                let plain = rest.iter().take_while(|byte| is_plain(**byte)).count();
                if plain > 0 {
                    sorted.to_terminal.extend_from_slice(&rest[..plain]);
                    rest = &rest[plain..];
                    continue;
                }
            }
            self.take(byte, &mut sorted);
            rest = after;
        }
        sorted
    }

    /// What puts the terminal back to the modes it was in before the program changed them.
    pub fn farewell(&self) -> Vec<u8> {
        self.modes.undo()
    }

    fn take(&mut self, byte: u8, sorted: &mut Sorted) {
        match self.position {
            Position::Text => self.text(byte, sorted),
            Position::Character { missing } => self.character(byte, missing, sorted),
            Position::Escape => self.escape(byte, sorted),
            Position::Control => self.control(byte, sorted),
            Position::Command(closing) => self.string(byte, closing, true, sorted),
            Position::Swallowed(closing) => self.string(byte, closing, false, sorted),
        }
    }

    fn text(&mut self, byte: u8, sorted: &mut Sorted) {
        match byte {
            0x1b => {
                self.held.push(byte);
                self.position = Position::Escape;
            }
            plain if is_plain(plain) => sorted.to_terminal.push(plain),
            0xc2..=0xdf => self.begin(byte, 1),
            0xe0..=0xef => self.begin(byte, 2),
            0xf0..=0xf4 => self.begin(byte, 3),
            // No beginning of a character. Where they are letters they pass; from 0x80 to 0x9f they are controls.
            0xa0..=0xc1 | 0xf5..=0xff => sorted.to_terminal.push(byte),
            _ => {}
        }
    }

    fn begin(&mut self, byte: u8, missing: u8) {
        self.held.push(byte);
        self.position = Position::Character { missing };
    }

    fn character(&mut self, byte: u8, missing: u8, sorted: &mut Sorted) {
        let fits = match (self.held.as_slice(), byte) {
            ([0xe0], 0x80..=0x9f) | ([0xed], 0xa0..=0xbf) | ([0xf0], 0x80..=0x8f) | ([0xf4], 0x90..=0xbf) => {
                false
            }
            (_, byte) => matches!(byte, 0x80..=0xbf),
        };
        if !fits {
            // Not a character after all: what is held is judged byte by byte, and so is this one.
            let held = std::mem::take(&mut self.held);
            self.position = Position::Text;
            sorted.to_terminal.extend(held.into_iter().filter(|byte| *byte >= 0xa0));
            return self.text(byte, sorted);
        }
        self.held.push(byte);
        if missing > 1 {
            self.position = Position::Character { missing: missing - 1 };
            return;
        }
        self.position = Position::Text;
        match self.held.as_slice() {
            // U+0080 to U+009F: the controls again, as characters; some begin what ESC and a letter begin.
            [0xc2, 0x80..=0x9f] => self.held.clear(),
            _ => sorted.to_terminal.append(&mut self.held),
        }
    }

    fn escape(&mut self, byte: u8, sorted: &mut Sorted) {
        match (self.held.len(), byte) {
            (_, 0x1b) => self.held.truncate(1),
            (1, b'[') => self.hold(byte, Position::Control),
            (1, b']') => self.hold(byte, Position::Command(Closing::No)),
            // DCS, SOS, PM and APC: queries, pictures, and whatever the terminal makes of them.
            (1, b'P' | b'X' | b'^' | b'_') => self.swallow(),
            (_, 0x20..=0x2f) => self.hold(byte, Position::Escape),
            (_, 0x30..=0x7e) => {
                self.held.push(byte);
                self.judge(sorted);
            }
            _ => self.give_up(byte, sorted),
        }
    }

    fn control(&mut self, byte: u8, sorted: &mut Sorted) {
        match byte {
            0x1b => self.restart(),
            0x20..=0x3f => self.hold(byte, Position::Control),
            0x40..=0x7e => {
                self.held.push(byte);
                self.judge(sorted);
            }
            _ => self.give_up(byte, sorted),
        }
    }

    fn string(&mut self, byte: u8, closing: Closing, kept: bool, sorted: &mut Sorted) {
        let back = |closing| if kept { Position::Command(closing) } else { Position::Swallowed(closing) };
        match (closing, byte) {
            (_, 0x07) | (Closing::Escape, b'\\') | (Closing::Wide, 0x9c) => {
                if kept {
                    self.held.push(0x07);
                    self.judge(sorted);
                } else {
                    self.forget();
                }
            }
            (_, 0x1b) => self.position = back(Closing::Escape),
            // An ESC that ends no string begins a sequence of its own.
            (Closing::Escape, _) => {
                self.restart();
                self.escape(byte, sorted);
            }
            // CAN and SUB give every sequence up.
            (_, 0x18 | 0x1a) => self.forget(),
            (_, 0xc2) => self.hold(byte, back(Closing::Wide)),
            (_, 0x20..) => self.hold(byte, back(Closing::No)),
            // Terminals disagree on what another control does here, so nothing of it is passed on.
            _ => self.swallow(),
        }
    }

    /// Keeps a byte of a sequence that is still to be judged; one that has become too long is swallowed.
    fn hold(&mut self, byte: u8, position: Position) {
        self.position = position;
        if matches!(position, Position::Swallowed(_)) {
            return;
        }
        self.held.push(byte);
        if self.held.len() >= LONGEST {
            match position {
                Position::Command(_) => self.swallow(),
                _ => self.forget(),
            }
        }
    }

    fn judge(&mut self, sorted: &mut Sorted) {
        match sequence::judge(&self.held) {
            Verdict::Pass => sorted.to_terminal.extend_from_slice(&self.held),
            Verdict::Set(changes) => {
                changes.into_iter().for_each(|change| self.modes.note(change));
                sorted.to_terminal.extend_from_slice(&self.held);
            }
            Verdict::Answer(answer) => sorted.to_program.extend_from_slice(answer),
            Verdict::Drop => {}
        }
        self.forget();
    }

    fn swallow(&mut self) {
        self.held.clear();
        self.position = Position::Swallowed(Closing::No);
    }

    fn restart(&mut self) {
        self.held.clear();
        self.held.push(0x1b);
        self.position = Position::Escape;
    }

    fn forget(&mut self) {
        self.held.clear();
        self.position = Position::Text;
    }

    /// The sequence was none; its last byte may be text.
    fn give_up(&mut self, byte: u8, sorted: &mut Sorted) {
        self.forget();
        self.text(byte, sorted);
    }
}

/// Bell, backspace, tabulators, line and page ends, and text. The other controls ask (ENQ), stop (XOFF), switch
/// letters, or are nothing.
fn is_plain(byte: u8) -> bool {
    matches!(byte, 0x07..=0x0d | 0x20..=0x7e)
}
