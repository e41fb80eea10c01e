//! Bodies in signed chunks (`aws-chunked`): each is verified and signed again as it passes.
//!
//! A signature stands before the data it covers, so a chunk is held until it is complete; clients make them
//! 64 KiB to 1 MiB. A signature is as long as another, so the body's length does not change.

use std::fmt;

use aws_lc_rs::digest;

use super::key::{Scope, SigningKey};
use super::{hex, unhex};

/// The largest chunk that is held.
pub const CHUNK_CAP: usize = 16 * 1024 * 1024;
/// A size of at most eight digits and the signature.
const HEADER_CAP: usize = 8 + SIGNATURE.len() + 64 + 2;
const TRAILER_CAP: usize = 16 * 1024;
const SIGNATURE: &[u8] = b";chunk-signature=";
const TRAILER_SIGNATURE: &[u8] = b"x-amz-trailer-signature:";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChunkError {
    Malformed,
    /// A chunk or the trailer is larger than what is held.
    TooLarge,
    /// A signature is not that of the stand-in.
    Invalid,
    /// The body ended before its last chunk.
    Truncated,
}

impl fmt::Display for ChunkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Malformed => "the signed chunks of the body cannot be read",
            Self::TooLarge => "a signed chunk of the body is too large",
            Self::Invalid => "a chunk of the body was not signed with its key",
            Self::Truncated => "the body ended before its last signed chunk",
        })
    }
}

impl std::error::Error for ChunkError {}

/// Goes along a body. After an error it is of no use, and the request must not be completed.
pub struct ChunkResigner {
    scope: Scope,
    stand_in: SigningKey,
    real: SigningKey,
    /// The signatures before the next one: the client's and ours.
    before: [[u8; 64]; 2],
    trailer: bool,
    stage: Stage,
    held: Vec<u8>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Header,
    /// The rest of a chunk: where its data begins in what is held, and how long the whole is.
    Data {
        start: usize,
        whole: usize,
    },
    Trailer,
    End,
}

impl ChunkResigner {
    pub(super) fn new(
        scope: Scope,
        [stand_in, real]: [SigningKey; 2],
        before: [[u8; 64]; 2],
        trailer: bool,
    ) -> Self {
        Self { scope, stand_in, real, before, trailer, stage: Stage::Header, held: Vec::new() }
    }

    /// Takes the next bytes of the body, and appends what may be passed on. Where the input is cut makes no
    /// difference to the output.
    pub fn push(&mut self, mut input: &[u8], out: &mut Vec<u8>) -> Result<(), ChunkError> {
        while !input.is_empty() {
            input = match self.stage {
                Stage::Header => self.header(input)?,
                Stage::Data { start, whole } => {
                    let rest = self.hold(input, whole - self.held.len());
                    if self.held.len() == whole {
                        self.chunk(start, out)?;
                    }
                    rest
                }
                Stage::Trailer => self.trailer(input, out)?,
                Stage::End => return Err(ChunkError::Malformed),
            };
        }
        Ok(())
    }

    /// The body has ended.
    pub fn finish(&self) -> Result<(), ChunkError> {
        if self.stage == Stage::End { Ok(()) } else { Err(ChunkError::Truncated) }
    }

    fn hold<'i>(&mut self, input: &'i [u8], length: usize) -> &'i [u8] {
        let (taken, rest) = input.split_at(length.min(input.len()));
        self.held.extend_from_slice(taken);
        rest
    }

    /// Takes up to and with the next line feed.
    fn hold_line<'i>(&mut self, input: &'i [u8], cap: usize) -> Result<(&'i [u8], bool), ChunkError> {
        let end = memchr::memchr(b'\n', input);
        let rest = self.hold(input, end.map_or(input.len(), |end| end + 1));
        if self.held.len() > cap {
            return Err(ChunkError::TooLarge);
        }
        Ok((rest, end.is_some()))
    }

    fn header<'i>(&mut self, input: &'i [u8]) -> Result<&'i [u8], ChunkError> {
        let (rest, complete) = self.hold_line(input, HEADER_CAP)?;
        if complete {
            let size = size(&self.held).ok_or(ChunkError::Malformed)?;
            if size > CHUNK_CAP {
                return Err(ChunkError::TooLarge);
            }
            let start = self.held.len();
            // The last chunk has no data; before a trailer it has no line end after it either.
            let line_end = if size == 0 && self.trailer { 0 } else { 2 };
            self.stage = Stage::Data { start, whole: start + size + line_end };
            self.held.reserve(size + line_end);
            if line_end == 0 {
                self.sign_chunk(start, 0)?;
                self.stage = Stage::Trailer;
            }
        }
        Ok(rest)
    }

    fn chunk(&mut self, start: usize, out: &mut Vec<u8>) -> Result<(), ChunkError> {
        let size = self.held.len() - start - 2;
        if !self.held.ends_with(b"\r\n") {
            return Err(ChunkError::Malformed);
        }
        self.sign_chunk(start, size)?;
        out.append(&mut self.held);
        self.stage = if size == 0 { Stage::End } else { Stage::Header };
        Ok(())
    }

    fn sign_chunk(&mut self, start: usize, size: usize) -> Result<(), ChunkError> {
        const EMPTY: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        let data = hex::<64>(digest::digest(&digest::SHA256, &self.held[start..start + size]).as_ref());
        let covered = [EMPTY.as_bytes(), b"\n", &data].concat();
        self.exchange("AWS4-HMAC-SHA256-PAYLOAD", start - 2, &covered)
    }

    /// Verifies the 64 digits that end at `end`, and writes ours in their place.
    fn exchange(&mut self, kind: &str, end: usize, covered: &[u8]) -> Result<(), ChunkError> {
        let head = format!("{kind}\n{}\n{}\n", self.scope.timestamp, self.scope.text());
        let text = |before: &[u8; 64]| [head.as_bytes(), before, b"\n", covered].concat();
        let start = end.checked_sub(64).ok_or(ChunkError::Malformed)?;
        let presented = unhex(&self.held[start..end]).ok_or(ChunkError::Malformed)?;
        if !self.stand_in.verifies(&text(&self.before[0]), &presented) {
            return Err(ChunkError::Invalid);
        }
        self.before = [hex(&presented), self.real.sign(&text(&self.before[1]))];
        self.held[start..end].copy_from_slice(&self.before[1]);
        Ok(())
    }

    /// Lines up to an empty one; the last of them is the signature.
    fn trailer<'i>(&mut self, input: &'i [u8], out: &mut Vec<u8>) -> Result<&'i [u8], ChunkError> {
        let (rest, complete) = self.hold_line(input, HEADER_CAP + TRAILER_CAP)?;
        if complete && self.held.ends_with(b"\r\n\r\n") {
            let start = memchr::memchr(b'\n', &self.held).map_or(0, |end| end + 1);
            let at = memchr::memmem::rfind(&self.held, TRAILER_SIGNATURE).ok_or(ChunkError::Malformed)?;
            let end = self.held.len() - 4;
            if at < start || at + TRAILER_SIGNATURE.len() + 64 != end {
                return Err(ChunkError::Malformed);
            }
            let lines = canonical_trailer(&self.held[start..at]).ok_or(ChunkError::Malformed)?;
            let digest = hex::<64>(digest::digest(&digest::SHA256, &lines).as_ref());
            self.exchange("AWS4-HMAC-SHA256-TRAILER", end, &digest)?;
            out.append(&mut self.held);
            self.stage = Stage::End;
        }
        Ok(rest)
    }
}

/// The size of a chunk, from `10000;chunk-signature=…\r\n`.
fn size(header: &[u8]) -> Option<usize> {
    let line = header.strip_suffix(b"\r\n")?;
    let digits = &line[..line.len().checked_sub(SIGNATURE.len() + 64)?];
    let plain = !digits.is_empty() && digits.len() <= 8 && digits.iter().all(u8::is_ascii_hexdigit);
    if !plain || !line[digits.len()..].starts_with(SIGNATURE) {
        return None;
    }
    usize::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

/// `name:value` lines in lower case, sorted. Some clients end a line with `\n\r\n`.
fn canonical_trailer(lines: &[u8]) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(lines).ok()?;
    let mut canonical = Vec::new();
    for line in text.split_terminator("\r\n") {
        let (name, value) = line.split_once(':')?;
        canonical.push(format!("{}:{}\n", name.trim().to_ascii_lowercase(), value.trim()));
    }
    canonical.sort();
    Some(canonical.concat().into_bytes())
}
