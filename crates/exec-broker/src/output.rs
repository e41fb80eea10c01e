//! What is kept of an output: its beginning and its end.

use std::collections::VecDeque;

/// Keeps at most so many bytes: one half of the beginning, the other of the end.
#[derive(Debug)]
pub struct Kept {
    limit: usize,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    total: u64,
}

impl Kept {
    pub fn new(limit: usize) -> Self {
        Self { limit, head: Vec::new(), tail: VecDeque::new(), total: 0 }
    }

    pub fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let room = (self.limit / 2).saturating_sub(self.head.len());
        let (head, rest) = bytes.split_at(room.min(bytes.len()));
        self.head.extend_from_slice(head);
        let most = self.limit - self.limit / 2;
        let rest = &rest[rest.len().saturating_sub(most)..];
        let over = (self.tail.len() + rest.len()).saturating_sub(most);
        self.tail.drain(..over);
        self.tail.extend(rest);
    }

    /// The text, and how many bytes of it were cut out of the middle. No character is cut in two.
    pub fn finish(self) -> (String, u64) {
        let kept = self.head.len() + self.tail.len();
        let mut head = self.head;
        let mut tail: Vec<u8> = self.tail.into();
        if self.total <= kept as u64 {
            head.append(&mut tail);
            return (String::from_utf8_lossy(&head).into_owned(), 0);
        }
        head.truncate(whole(&head));
        tail.drain(..tail.iter().take(3).take_while(|byte| is_continuation(**byte)).count());
        let cut = self.total - (head.len() + tail.len()) as u64;
        let text = format!(
            "{}\n[… {cut} bytes are not shown …]\n{}",
            String::from_utf8_lossy(&head),
            String::from_utf8_lossy(&tail)
        );
        (text, cut)
    }
}

/// A text of which at most so many bytes are kept, beginning and end.
pub fn shortened(text: &str, limit: usize) -> (String, u64) {
    let mut kept = Kept::new(limit);
    kept.push(text.as_bytes());
    kept.finish()
}

fn is_continuation(byte: u8) -> bool {
    byte & 0b1100_0000 == 0b1000_0000
}

/// The length without a character that has begun and not ended.
fn whole(bytes: &[u8]) -> usize {
    let last = bytes.iter().rev().take(4).position(|byte| !is_continuation(*byte));
    let Some(back) = last else { return bytes.len() };
    let at = bytes.len() - 1 - back;
    let length = match bytes[at] {
        0xf0.. => 4,
        0xe0.. => 3,
        0xc0.. => 2,
        _ => 1,
    };
    if at + length > bytes.len() { at } else { bytes.len() }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_fits_is_kept_as_it_is() {
        let (text, cut) = shortened("äöü", 6);
        assert_eq!((text.as_str(), cut), ("äöü", 0));
    }

    proptest! {
        #[test]
        fn no_character_is_cut_in_two_however_it_arrives(text in "[aä€𝄞]{0,60}", limit in 2usize..40, cut in 1usize..9) {
            let mut kept = Kept::new(limit);
            text.as_bytes().chunks(cut).for_each(|chunk| kept.push(chunk));
            let (shown, gone) = kept.finish();
            prop_assert!(!shown.contains('\u{fffd}'), "{shown}");
            if text.len() <= limit {
                prop_assert_eq!((shown, gone), (text, 0));
            } else {
                let (head, tail) = shown.split_once(&format!("\n[… {gone} bytes are not shown …]\n")).expect("a mark");
                prop_assert!(text.starts_with(head) && text.ends_with(tail));
                prop_assert_eq!((head.len() + tail.len()) as u64 + gone, text.len() as u64);
                prop_assert!(head.len() + tail.len() <= limit);
            }
        }
    }
}
