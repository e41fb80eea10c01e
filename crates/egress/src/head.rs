//! The head and the framing of an HTTP/1.1 request, read strictly, before the HTTP library sees a byte of them.
//!
//! The library repairs what it can: it drops a `Content-Length` beside a `Transfer-Encoding`, takes two equal
//! lengths for one, and accepts bare line feeds. What it makes of them is harmless in itself, yet a request that two
//! readers could take for two different ones is refused here rather than repaired: nobody sends one by accident.
//!
//! [`Scanner`] follows a connection across requests and bodies. It holds a head back until it is whole, so that no
//! part of a refused one is ever parsed, and lets the bytes of bodies through as they come. It keeps no copy of a
//! head that arrives in one piece.

use std::sync::LazyLock;

use cofferdam_audit::event::EgressReason;
use memchr::memmem::Finder;

/// As much as servers commonly accept.
pub const LONGEST_HEAD: usize = 64 * 1024;
/// The HTTP library's own limit for headers that it keeps on the stack.
pub const MOST_HEADERS: usize = 100;
const LONGEST_CHUNK_LINE: usize = 256;
const LONGEST_TRAILER: usize = 16 * 1024;

/// Why a request cannot be read in one way only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Violation {
    /// Not a request, or with a line end, a blank or a control character where none belongs.
    Malformed,
    /// Its end could be read in two ways.
    Framing,
    TooLarge,
    TooMany,
    TrailerTooLarge,
    /// It did not arrive whole in time.
    Late,
}

impl Violation {
    pub fn reason(self) -> EgressReason {
        match self {
            Self::Malformed => EgressReason::MalformedRequest,
            Self::Framing => EgressReason::AmbiguousFraming,
            Self::TooLarge => EgressReason::HeaderTooLarge,
            Self::TooMany => EgressReason::HeadersTooMany,
            Self::TrailerTooLarge => EgressReason::TrailerTooLarge,
            Self::Late => EgressReason::ClientTimeout,
        }
    }
}

/// How far the body of a request goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    Length(u64),
    Chunked,
}

/// Where a connection stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum At {
    Head,
    Body {
        left: u64,
    },
    /// In the line that gives a chunk's size.
    Size {
        so_far: u64,
        digits: u8,
        length: usize,
        part: SizePart,
    },
    Chunk {
        left: u64,
    },
    /// The line end after a chunk: its first or its second byte.
    ChunkEnd {
        cr: bool,
    },
    /// In the trailer section: its length, and how much of an empty line has been seen.
    Trailer {
        length: usize,
        line: TrailerLine,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SizePart {
    Digits,
    Extension,
    Return,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TrailerLine {
    Start,
    Inside,
    ReturnAtStart,
    ReturnInside,
}

/// Follows the bytes of one connection.
#[derive(Debug, Clone)]
pub struct Scanner {
    at: At,
}

impl Scanner {
    pub const START: Self = Self { at: At::Head };

    /// Whether the next byte begins a request.
    pub fn between_requests(&self) -> bool {
        self.at == At::Head
    }

    /// Says how many of the first bytes may be passed on. What is left over is the start of a head, or what must be
    /// refused; given again, with more behind it or without, it shows which.
    pub fn scan(&mut self, bytes: &[u8]) -> Result<usize, Violation> {
        let mut done = 0;
        while done < bytes.len() {
            match self.advance(&bytes[done..]) {
                Ok(0) => break,
                Ok(taken) => done += taken,
                Err(violation) if done == 0 => return Err(violation),
                Err(_) => break,
            }
        }
        Ok(done)
    }

    /// One step: a head, a stretch of a body, or a byte of what frames one. Nothing moves when it is refused.
    fn advance(&mut self, bytes: &[u8]) -> Result<usize, Violation> {
        match self.at {
            At::Head => {
                let Some(end) = head_end(bytes)? else { return Ok(0) };
                self.at = match check(&bytes[..end])? {
                    Framing::Length(0) => At::Head,
                    Framing::Length(left) => At::Body { left },
                    Framing::Chunked => At::SIZE,
                };
                Ok(end)
            }
            At::Body { left } => {
                let (taken, left) = take(bytes, left);
                self.at = if left == 0 { At::Head } else { At::Body { left } };
                Ok(taken)
            }
            At::Chunk { left } => {
                let (taken, left) = take(bytes, left);
                self.at = if left == 0 { At::ChunkEnd { cr: false } } else { At::Chunk { left } };
                Ok(taken)
            }
            control => {
                self.at = control.step(bytes[0])?;
                Ok(1)
            }
        }
    }
}

/// Follows the chunked body of an answer.
#[derive(Debug, Clone)]
pub(crate) struct Chunked {
    at: At,
}

impl Chunked {
    pub const START: Self = Self { at: At::SIZE };

    pub fn is_over(&self) -> bool {
        self.at == At::Head
    }

    /// Whether the byte before belongs to a line of the trailer section. The empty line behind them does not, nor what
    /// comes before: almost all bodies end without such a line, and without room for one.
    fn in_trailer_line(&self) -> bool {
        match self.at {
            At::Trailer { length, line } => length > 0 && line != TrailerLine::ReturnAtStart,
            _ => false,
        }
    }

    /// How many of the first bytes frame the body, and how many behind them belong to it. The lines of the trailer section
    /// are what frames it, and are put aside.
    pub fn advance(&mut self, bytes: &[u8], trailers: &mut Vec<u8>) -> Result<(usize, usize), Violation> {
        let mut done = 0;
        while let Some(byte) = bytes.get(done).filter(|_| !self.is_over()) {
            if let At::Chunk { left } = self.at {
                let (taken, left) = take(&bytes[done..], left);
                self.at = if left == 0 { At::ChunkEnd { cr: false } } else { At::Chunk { left } };
                return Ok((done, taken));
            }
            self.at = match self.at {
                // Some servers write all sizes with the same width.
                At::Size { so_far, digits: digits @ 1.., length, part: SizePart::Digits }
                    if matches!(byte, b' ' | b'\t') =>
                {
                    At::Size { so_far, digits, length: length + 1, part: SizePart::Extension }
                }
                control => control.step(*byte)?,
            };
            if self.in_trailer_line() {
                trailers.push(*byte);
            }
            done += 1;
        }
        Ok((done, 0))
    }
}

fn take(bytes: &[u8], left: u64) -> (usize, u64) {
    let taken = usize::try_from(left).map_or(bytes.len(), |left| left.min(bytes.len()));
    (taken, left - taken as u64)
}

impl At {
    const SIZE: Self = Self::Size { so_far: 0, digits: 0, length: 0, part: SizePart::Digits };

    /// One byte of what frames a chunked body.
    fn step(self, byte: u8) -> Result<Self, Violation> {
        match self {
            Self::Size { so_far, digits, length, part } => size_step(so_far, digits, length, (part, byte)),
            Self::ChunkEnd { cr: false } if byte == b'\r' => Ok(Self::ChunkEnd { cr: true }),
            Self::ChunkEnd { cr: true } if byte == b'\n' => Ok(Self::SIZE),
            Self::Trailer { length, line } => trailer_step(length + 1, line, byte),
            _ => Err(Violation::Framing),
        }
    }
}

fn size_step(so_far: u64, digits: u8, length: usize, at: (SizePart, u8)) -> Result<At, Violation> {
    let again = |so_far, digits, part| At::Size { so_far, digits, length: length + 1, part };
    if length >= LONGEST_CHUNK_LINE {
        return Err(Violation::Framing);
    }
    match at {
        (SizePart::Digits, b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F') if digits < 15 => {
            let digit = char::from(at.1).to_digit(16).unwrap_or_default();
            Ok(again(so_far * 16 + u64::from(digit), digits + 1, SizePart::Digits))
        }
        (SizePart::Digits, b';') if digits > 0 => Ok(again(so_far, digits, SizePart::Extension)),
        (SizePart::Digits, b'\r') if digits > 0 => Ok(again(so_far, digits, SizePart::Return)),
        (SizePart::Extension, b'\r') => Ok(again(so_far, digits, SizePart::Return)),
        (SizePart::Extension, b'\t' | b' '..=b'~') => Ok(again(so_far, digits, SizePart::Extension)),
        (SizePart::Return, b'\n') if so_far == 0 => Ok(At::Trailer { length: 0, line: TrailerLine::Start }),
        (SizePart::Return, b'\n') => Ok(At::Chunk { left: so_far }),
        _ => Err(Violation::Framing),
    }
}

fn trailer_step(length: usize, line: TrailerLine, byte: u8) -> Result<At, Violation> {
    use TrailerLine::*;
    if length > LONGEST_TRAILER {
        return Err(Violation::TrailerTooLarge);
    }
    let line = match (line, byte) {
        (Start, b'\r') => ReturnAtStart,
        (ReturnAtStart, b'\n') => return Ok(At::Head),
        (Inside, b'\r') => ReturnInside,
        (ReturnInside, b'\n') => Start,
        // A line that begins with a blank would go on the one before.
        (Start, b'!'..=b'~') | (Inside, b'\t' | b' '..=b'~' | 0x80..) => Inside,
        _ => return Err(Violation::Malformed),
    };
    Ok(At::Trailer { length, line })
}

/// Made once: to get ready for the search takes longer than the search itself.
static EMPTY_LINE: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"\r\n\r\n"));

/// The length of the head that begins here, with the empty line that ends it.
pub fn head_end(bytes: &[u8]) -> Result<Option<usize>, Violation> {
    let window = &bytes[..bytes.len().min(LONGEST_HEAD)];
    match EMPTY_LINE.find(window) {
        Some(at) => Ok(Some(at + 4)),
        None if bytes.len() >= LONGEST_HEAD => Err(Violation::TooLarge),
        // What cannot become a head is refused at once and not when it has grown long.
        None => first_byte(bytes).map(|()| None),
    }
}

fn first_byte(bytes: &[u8]) -> Result<(), Violation> {
    match bytes.first() {
        Some(byte) if !is_token(*byte) => Err(Violation::Malformed),
        _ => Ok(()),
    }
}

/// Checks a whole head and says how far its body goes.
pub fn check(head: &[u8]) -> Result<Framing, Violation> {
    let text = head.strip_suffix(b"\r\n\r\n").ok_or(Violation::Malformed)?;
    let mut lines = Lines(Some(text));
    let old = check_request_line(lines.next().unwrap_or_default())?;
    let (mut length, mut chunked, mut count) = (None, false, 0);
    for line in lines {
        count += 1;
        let (name, value) = field(line)?;
        if name.eq_ignore_ascii_case(b"content-length") {
            let number = number(value).ok_or(Violation::Framing)?;
            if length.replace(number).is_some() {
                return Err(Violation::Framing);
            }
        } else if name.eq_ignore_ascii_case(b"transfer-encoding") {
            if chunked || old == Version::Old || !value.eq_ignore_ascii_case(b"chunked") {
                return Err(Violation::Framing);
            }
            chunked = true;
        }
    }
    match (length, chunked) {
        _ if count > MOST_HEADERS => Err(Violation::TooMany),
        (Some(_), true) => Err(Violation::Framing),
        (None, true) => Ok(Framing::Chunked),
        (length, false) => Ok(Framing::Length(length.unwrap_or(0))),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Version {
    /// HTTP/1.0, which knows no chunks.
    Old,
    Current,
}

/// One blank between the three parts, and nothing in the target that a library might cut off (`#`).
fn check_request_line(line: &[u8]) -> Result<Version, Violation> {
    let mut parts = line.split(|byte| *byte == b' ');
    let (Some(method), Some(target), Some(version), None) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return Err(Violation::Malformed);
    };
    let target_fits =
        !target.is_empty() && target.iter().all(|byte| matches!(byte, b'!'..=b'~') && *byte != b'#');
    if method.is_empty() || !method.iter().all(|byte| is_token(*byte)) || !target_fits {
        return Err(Violation::Malformed);
    }
    match version {
        b"HTTP/1.1" => Ok(Version::Current),
        b"HTTP/1.0" => Ok(Version::Old),
        _ => Err(Violation::Malformed),
    }
}

/// A name right before its colon, and a value without control characters. A line that begins with a blank is
/// the continuation of the one before, which readers join in different ways.
fn field(line: &[u8]) -> Result<(&[u8], &[u8]), Violation> {
    let colon = memchr::memchr(b':', line).ok_or(Violation::Malformed)?;
    let (name, value) = (&line[..colon], &line[colon + 1..]);
    let value_fits = value.iter().all(|byte| matches!(byte, b'\t' | b' '..=b'~' | 0x80..));
    match !name.is_empty() && name.iter().all(|byte| is_token(*byte)) && value_fits {
        true => Ok((name, value.trim_ascii())),
        false => Err(Violation::Malformed),
    }
}

pub(crate) fn number(digits: &[u8]) -> Option<u64> {
    let plain = !digits.is_empty() && digits.len() <= 18 && digits.iter().all(u8::is_ascii_digit);
    plain.then(|| digits.iter().fold(0, |number, digit| number * 10 + u64::from(digit - b'0')))
}

pub(crate) fn is_token(byte: u8) -> bool {
    TOKEN[usize::from(byte)]
}

/// The characters of names, by their codes.
const TOKEN: [bool; 256] = {
    let (mut table, mut code) = ([false; 256], 0_u8);
    while code < 128 {
        table[code as usize] = code.is_ascii_alphanumeric()
            || matches!(
                code,
                b'!' | b'#'
                    | b'$'
                    | b'%'
                    | b'&'
                    | b'\''
                    | b'*'
                    | b'+'
                    | b'-'
                    | b'.'
                    | b'^'
                    | b'_'
                    | b'`'
                    | b'|'
                    | b'~'
            );
        code += 1;
    }
    table
};

/// The lines of a head. Only CR LF ends one; a CR or an LF alone stays in its line, where no character set of a
/// part has room for it.
struct Lines<'h>(Option<&'h [u8]>);

impl<'h> Iterator for Lines<'h> {
    type Item = &'h [u8];

    fn next(&mut self) -> Option<&'h [u8]> {
        let rest = self.0?;
        let mut from = 0;
        while let Some(at) = memchr::memchr(b'\r', &rest[from..]) {
            let at = from + at;
            if rest.get(at + 1) == Some(&b'\n') {
                self.0 = Some(&rest[at + 2..]);
                return Some(&rest[..at]);
            }
            from = at + 1;
        }
        self.0 = None;
        Some(rest)
    }
}

#[cfg(test)]
mod tests;
