//! Questions and answers of the domain name system, as far as a resolver needs them that knows all answers itself.
//!
//! A question is one name, spelt out: compression has nothing to point back to in it. What comes after the question
//! (extensions, signatures) is not read, and an answer without extensions is one that every client understands.

use std::net::{Ipv4Addr, Ipv6Addr};

const HEADER: usize = 12;
/// From an answer to the question's name: a pointer to just behind the header.
const NAME_OF_QUESTION: [u8; 2] = [0xc0, 0x0c];
/// Seconds. Addresses never change for as long as the sandbox lives.
const LIFE: u32 = 300;

pub(crate) const TYPE_A: u16 = 1;
pub(crate) const TYPE_AAAA: u16 = 28;
const CLASS_INTERNET: u16 = 1;
const CLASS_ANY: u16 = 255;

/// A question that was understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Question {
    /// Labels joined by dots, without the last one. Bytes that no host name has make it no host name.
    pub name: String,
    pub kind: u16,
    head: [u8; HEADER],
    /// As it stood, so that the case of the letters comes back as it was sent.
    text: Vec<u8>,
}

/// What is said to a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reply {
    Ipv4(Ipv4Addr),
    Ipv6(Ipv6Addr),
    /// The name is there, and has nothing of this kind.
    Nothing,
    NoSuchName,
    /// Not now: there are no more addresses.
    Failure,
}

/// Why there is no question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Malformed {
    /// Too short to be answered at all, or an answer itself: two resolvers must not talk for ever.
    Silence,
    /// Can be told that it was not understood.
    Told(Vec<u8>),
}

const FORMAT_ERROR: u8 = 1;
const SERVER_FAILURE: u8 = 2;
const NAME_ERROR: u8 = 3;
const NOT_IMPLEMENTED: u8 = 4;

impl Question {
    pub fn parse(message: &[u8]) -> Result<Self, Malformed> {
        let head: [u8; HEADER] =
            message.get(..HEADER).and_then(|head| head.try_into().ok()).ok_or(Malformed::Silence)?;
        if head[2] & 0x80 != 0 {
            return Err(Malformed::Silence);
        }
        let told = |code| Malformed::Told(header(&head, code, 0, 0).to_vec());
        if head[2] & 0x78 != 0 {
            return Err(told(NOT_IMPLEMENTED));
        }
        if head[4..6] != [0, 1] {
            return Err(told(FORMAT_ERROR));
        }
        let (name, end) = name(&message[HEADER..]).ok_or_else(|| told(FORMAT_ERROR))?;
        let text = message.get(HEADER..HEADER + end + 4).ok_or_else(|| told(FORMAT_ERROR))?;
        let number = |at: usize| u16::from_be_bytes([text[at], text[at + 1]]);
        if ![CLASS_INTERNET, CLASS_ANY].contains(&number(end + 2)) {
            return Err(told(NOT_IMPLEMENTED));
        }
        Ok(Self { name, kind: number(end), head, text: text.to_vec() })
    }

    pub fn answer(&self, reply: Reply) -> Vec<u8> {
        let address = match reply {
            Reply::Ipv4(address) => address.octets().to_vec(),
            Reply::Ipv6(address) => address.octets().to_vec(),
            Reply::Nothing | Reply::NoSuchName | Reply::Failure => Vec::new(),
        };
        let code = match reply {
            Reply::NoSuchName => NAME_ERROR,
            Reply::Failure => SERVER_FAILURE,
            _ => 0,
        };
        let mut message = header(&self.head, code, 1, u8::from(!address.is_empty())).to_vec();
        message.extend(&self.text);
        if !address.is_empty() {
            message.extend(NAME_OF_QUESTION);
            message.extend(self.kind.to_be_bytes());
            message.extend(CLASS_INTERNET.to_be_bytes());
            message.extend(LIFE.to_be_bytes());
            message.extend((address.len() as u16).to_be_bytes());
            message.extend(address);
        }
        message
    }
}

/// The number and the wish for recursion of the question; an answer, from who knows; recursion is to be had.
fn header(question: &[u8; HEADER], code: u8, questions: u8, answers: u8) -> [u8; HEADER] {
    let [high, low, flags, ..] = *question;
    [high, low, 0x84 | flags & 0x01, 0x80 | code, 0, questions, 0, answers, 0, 0, 0, 0]
}

/// A name, and where it ends.
fn name(bytes: &[u8]) -> Option<(String, usize)> {
    let (mut name, mut at) = (String::new(), 0);
    loop {
        let length = usize::from(*bytes.get(at)?);
        at += 1;
        match length {
            0 => return Some((name, at)),
            1..=63 if at + length <= 255 => {
                let label = bytes.get(at..at + length)?;
                if !name.is_empty() {
                    name.push('.');
                }
                // A dot inside a label would make one name of two; like all else that is odd it becomes what no name has.
                name.extend(label.iter().map(|byte| match byte {
                    b'!'..=b'~' if *byte != b'.' => char::from(*byte),
                    _ => '?',
                }));
                at += length;
            }
            _ => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn question(name: &str, kind: u16) -> Vec<u8> {
        let mut message = vec![0xab, 0xcd, 0x01, 0, 0, 1, 0, 0, 0, 0, 0, 0];
        for label in name.split('.') {
            message.push(label.len() as u8);
            message.extend(label.bytes());
        }
        message.extend([0, 0]);
        message.extend([kind as u8, 0, 1]);
        message
    }

    #[test]
    fn a_question_is_read_and_answered_in_its_own_spelling() {
        let asked = question("API.example.com", TYPE_A);
        let parsed = Question::parse(&asked).unwrap();
        assert_eq!((parsed.name.as_str(), parsed.kind), ("API.example.com", TYPE_A));
        let answer = parsed.answer(Reply::Ipv4(Ipv4Addr::new(198, 18, 0, 1)));
        assert_eq!(answer[..12], [0xab, 0xcd, 0x85, 0x80, 0, 1, 0, 1, 0, 0, 0, 0]);
        assert_eq!(answer[12..asked.len()], asked[12..]);
        assert_eq!(answer[asked.len()..], [0xc0, 0x0c, 0, 1, 0, 1, 0, 0, 1, 44, 0, 4, 198, 18, 0, 1]);
        assert_eq!(parsed.answer(Reply::NoSuchName)[3], 0x83);
        assert_eq!(parsed.answer(Reply::Nothing)[3..8], [0x80, 0, 1, 0, 0]);
    }

    #[test]
    fn what_is_no_question_is_told_so_or_nothing() {
        assert_eq!(Question::parse(b"short"), Err(Malformed::Silence));
        let mut answer = question("a.example", TYPE_A);
        answer[2] |= 0x80;
        assert_eq!(Question::parse(&answer), Err(Malformed::Silence));
        let mut update = question("a.example", TYPE_A);
        update[2] |= 0x28;
        assert!(matches!(Question::parse(&update), Err(Malformed::Told(told)) if told[3] & 15 == 4));
        let mut pointer = question("a.example", TYPE_A);
        pointer[12] = 0xc0;
        assert!(matches!(Question::parse(&pointer), Err(Malformed::Told(told)) if told[3] & 15 == 1));
        let dotted = Question::parse(
            &question("a", TYPE_A)
                .iter()
                .map(|byte| match byte {
                    b'a' => b'.',
                    other => *other,
                })
                .collect::<Vec<_>>(),
        );
        assert_eq!(dotted.unwrap().name, "?");
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
            if let Ok(question) = Question::parse(&bytes) {
                let answer = question.answer(Reply::Ipv6(Ipv6Addr::LOCALHOST));
                prop_assert_eq!(&answer[..2], &bytes[..2]);
                prop_assert!(!question.name.contains(char::is_whitespace));
            }
        }
    }
}
