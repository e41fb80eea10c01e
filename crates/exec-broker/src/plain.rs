//! Output without control sequences, so that it can be shown anywhere.
//!
//! It runs before secrets are looked for: a sequence in the middle of a secret must not hide it.

const ESCAPE: u8 = 0x1b;
const BELL: u8 = 0x07;

/// Takes control characters and sequences out of a stream, however it is cut. Line feeds and tabs stay; a carriage
/// return stays only in front of a line feed.
#[derive(Debug, Default)]
pub struct Plain {
    within: Within,
    returned: bool,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Within {
    #[default]
    Text,
    Escape,
    /// `ESC [`: parameters up to a final byte.
    Control,
    /// `ESC ]`, `ESC P`, `ESC X`, `ESC ^`, `ESC _`: a text up to its terminator.
    Text2,
    /// An escape in such a text: a backslash ends it.
    Text2Escape,
    /// `ESC (` and the like: one more byte.
    One,
    /// 0xC2, which may begin a control character of ISO 6429 in UTF-8.
    Lead,
}

impl Plain {
    pub fn push(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        for &byte in bytes {
            self.one(byte, out);
        }
    }

    fn one(&mut self, byte: u8, out: &mut Vec<u8>) {
        self.within = match (self.within, byte) {
            (Within::Text2, BELL) | (Within::Text2Escape, b'\\') => Within::Text,
            (Within::Text2 | Within::Text2Escape, ESCAPE) => Within::Text2Escape,
            // A line break ends a text that never does.
            (Within::Text2 | Within::Text2Escape | Within::Control | Within::One, b'\n') => {
                out.push(b'\n');
                Within::Text
            }
            (Within::Text2 | Within::Text2Escape, _) => Within::Text2,
            (_, ESCAPE) => Within::Escape,
            (Within::Escape, b'[') => Within::Control,
            (Within::Escape, b']' | b'P' | b'X' | b'^' | b'_') => Within::Text2,
            (Within::Escape, 0x20..=0x2f) => Within::One,
            (Within::Escape, 0x30..=0x7e) => Within::Text,
            (Within::Control, 0x20..=0x3f) => Within::Control,
            (Within::Control, 0x40..=0x7e) => Within::Text,
            (Within::One, 0x20..=0x2f) => Within::One,
            (Within::One, 0x30..=0x7e) => Within::Text,
            (Within::Lead, 0x9b) => Within::Control,
            (Within::Lead, 0x90 | 0x98 | 0x9d..=0x9f) => Within::Text2,
            (Within::Lead, 0x80..=0x9f) => Within::Text,
            (Within::Lead, 0xa0..=0xbf) => {
                self.text(0xc2, out);
                self.plain(byte, out)
            }
            // Half a character. If it stayed, what follows after a byte that is taken out could complete it.
            (Within::Lead, _) => {
                "\u{fffd}".bytes().for_each(|byte| self.text(byte, out));
                self.plain(byte, out)
            }
            (Within::Text | Within::Escape | Within::Control | Within::One, _) => self.plain(byte, out),
        };
    }

    fn plain(&mut self, byte: u8, out: &mut Vec<u8>) -> Within {
        match byte {
            0xc2 => return Within::Lead,
            b'\r' => self.returned = true,
            b'\n' | b'\t' | 0x20..=0x7e | 0x80.. => self.text(byte, out),
            _ => {}
        }
        Within::Text
    }

    fn text(&mut self, byte: u8, out: &mut Vec<u8>) {
        if std::mem::take(&mut self.returned) && byte != b'\n' {
            // What was to be written over stays visible, on a line of its own.
            out.push(b'\n');
        }
        out.push(byte);
    }
}

/// A whole text without control sequences.
pub fn plain(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len());
    Plain::default().push(text.as_bytes(), &mut out);
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn sequences_go_and_text_stays() {
        for (text, shown) in [
            ("a\x1b[31mb\x1b[0m", "ab"),
            ("\x1b]52;c;aGk=\x07x", "x"),
            ("\x1b]0;title\x1b\\x", "x"),
            ("\x1bPq#0;2;0;0;0\x1b\\x", "x"),
            ("\x1b(0x", "x"),
            ("\u{9b}31mx\u{9d}0;t\x07y", "xy"),
            ("é\u{a0}ü", "é\u{a0}ü"),
            ("10%\r20%\r\nend\tx", "10%\n20%\nend\tx"),
            ("a\x08b\x00c\x7f", "abc"),
            ("\x1b]never ends\nnext", "\nnext"),
            ("sk-\x1b[0mlive", "sk-live"),
        ] {
            assert_eq!(plain(text), shown, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn any_cut_gives_the_same_and_no_control_character(bytes in proptest::collection::vec(any::<u8>(), 0..80), cut in 1usize..7) {
            let (mut whole, mut cut_up) = (Vec::new(), Vec::new());
            Plain::default().push(&bytes, &mut whole);
            let mut plain = Plain::default();
            bytes.chunks(cut).for_each(|chunk| plain.push(chunk, &mut cut_up));
            prop_assert_eq!(&whole, &cut_up);
            let shown = String::from_utf8_lossy(&whole).into_owned();
            prop_assert!(shown.chars().all(|c| !c.is_control() || c == '\n' || c == '\t'), "{shown:?}");
        }
    }
}
