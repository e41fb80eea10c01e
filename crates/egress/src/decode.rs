//! Answers that come compressed although none was asked for, taken apart as they stream.
//!
//! They are passed on as they are inside: to compress them again would cost more than it saves on a local connection.

use std::io::{self, Write};

use flate2::write::{MultiGzDecoder, ZlibDecoder};
use http::HeaderMap;
use http::header::CONTENT_ENCODING;

/// What one piece may become. A piece is at most some tens of kilobytes, so more than this is a bomb.
const MOST_AT_ONCE: usize = 64 << 20;
const BROTLI_BUFFER: usize = 16 * 1024;
/// 8 MiB, as RFC 9659 wants it; a larger window is memory that the sender chooses and we pay.
const ZSTD_WINDOW: u32 = 23;

pub(crate) enum Decoder {
    Gzip(MultiGzDecoder<Bounded>),
    Deflate(ZlibDecoder<Bounded>),
    Brotli(Box<brotli::DecompressorWriter<Bounded>>),
    Zstd(zstd::stream::write::Decoder<'static, Bounded>),
}

/// An encoding that is not known, or several.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Unknown;

impl Decoder {
    /// The decoder for a body with these headers; none for one that is not encoded.
    pub fn of(headers: &HeaderMap) -> Result<Option<Self>, Unknown> {
        Self::with_limit(headers, MOST_AT_ONCE)
    }

    fn with_limit(headers: &HeaderMap, limit: usize) -> Result<Option<Self>, Unknown> {
        let mut values = headers.get_all(CONTENT_ENCODING).iter();
        let (Some(value), None) = (values.next(), values.next()) else {
            return if headers.contains_key(CONTENT_ENCODING) { Err(Unknown) } else { Ok(None) };
        };
        let out = Bounded { bytes: Vec::new(), limit };
        match value.as_bytes().trim_ascii().to_ascii_lowercase().as_slice() {
            b"" | b"identity" => Ok(None),
            b"gzip" | b"x-gzip" => Ok(Some(Self::Gzip(MultiGzDecoder::new(out)))),
            b"deflate" => Ok(Some(Self::Deflate(ZlibDecoder::new(out)))),
            b"br" => Ok(Some(Self::Brotli(Box::new(brotli::DecompressorWriter::new(out, BROTLI_BUFFER))))),
            b"zstd" => {
                let mut decoder = zstd::stream::write::Decoder::new(out).map_err(|_| Unknown)?;
                decoder.window_log_max(ZSTD_WINDOW).map_err(|_| Unknown)?;
                Ok(Some(Self::Zstd(decoder)))
            }
            _ => Err(Unknown),
        }
    }

    /// All that can be known of the body after this piece.
    pub fn push(&mut self, piece: &[u8]) -> io::Result<Vec<u8>> {
        let writer: &mut dyn Write = match self {
            Self::Gzip(decoder) => decoder,
            Self::Deflate(decoder) => decoder,
            Self::Brotli(decoder) => decoder,
            Self::Zstd(decoder) => decoder,
        };
        writer.write_all(piece)?;
        writer.flush()?;
        let out = match self {
            Self::Gzip(decoder) => decoder.get_mut(),
            Self::Deflate(decoder) => decoder.get_mut(),
            Self::Brotli(decoder) => decoder.get_mut(),
            Self::Zstd(decoder) => decoder.get_mut(),
        };
        Ok(std::mem::take(&mut out.bytes))
    }

    /// The body has ended: an error if its encoding says that there is more. Zstandard knows no end of all frames.
    pub fn finish(mut self) -> io::Result<()> {
        match &mut self {
            Self::Gzip(decoder) => decoder.try_finish(),
            Self::Deflate(decoder) => decoder.try_finish(),
            Self::Brotli(decoder) => decoder.close(),
            Self::Zstd(_) => Ok(()),
        }
    }
}

/// Takes no more than fits.
pub(crate) struct Bounded {
    bytes: Vec<u8>,
    limit: usize,
}

impl Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.bytes.len() + bytes.len() > self.limit {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use flate2::Compression;
    use flate2::write::{GzEncoder, ZlibEncoder};

    use super::*;

    const LIMIT: usize = 200_000;

    fn decoder(coding: &str) -> Result<Option<Decoder>, Unknown> {
        let headers = HeaderMap::from_iter([(CONTENT_ENCODING, coding.parse().unwrap())]);
        Decoder::with_limit(&headers, LIMIT)
    }

    fn encoded(coding: &str, text: &[u8]) -> Vec<u8> {
        match coding {
            "gzip" => {
                let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
                encoder.write_all(text).unwrap();
                encoder.finish().unwrap()
            }
            "deflate" => {
                let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
                encoder.write_all(text).unwrap();
                encoder.finish().unwrap()
            }
            "br" => {
                let mut out = Vec::new();
                let params = brotli::enc::BrotliEncoderParams { quality: 1, ..Default::default() };
                brotli::BrotliCompress(&mut &text[..], &mut out, &params).unwrap();
                out
            }
            _ => zstd::encode_all(text, 0).unwrap(),
        }
    }

    #[test]
    fn every_coding_is_decoded_whatever_the_pieces() {
        let text: Vec<u8> = (0..4_000_u32).flat_map(|n| n.to_string().into_bytes()).collect();
        for coding in ["gzip", "deflate", "br", "zstd"] {
            for size in [1, 7, 4096] {
                let mut decoder = decoder(coding).unwrap().unwrap();
                let encoded = encoded(coding, &text);
                let pieces = encoded.chunks(size).map(|piece| decoder.push(piece).unwrap());
                assert!(pieces.collect::<Vec<_>>().concat() == text, "{coding} {size}");
                assert!(decoder.finish().is_ok(), "{coding} {size}");
            }
        }
    }

    #[test]
    fn what_is_flushed_comes_out_at_once() {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        let mut decoder = decoder("gzip").unwrap().unwrap();
        for line in [&b"{\"n\": 1}\n"[..], b"{\"n\": 2}\n"] {
            encoder.write_all(line).unwrap();
            encoder.flush().unwrap();
            assert_eq!(decoder.push(&std::mem::take(encoder.get_mut())).unwrap(), line);
        }
    }

    #[test]
    fn bombs_broken_bodies_and_unknown_codings_are_refused() {
        let zeros = vec![0; LIMIT + 1];
        for coding in ["gzip", "deflate", "br", "zstd"] {
            let bomb = encoded(coding, &zeros);
            assert!(decoder(coding).unwrap().unwrap().push(&bomb).is_err(), "{coding}");
            assert!(decoder(coding).unwrap().unwrap().push(b"not encoded at all, whatever it says").is_err());
        }
        let whole = encoded("gzip", b"a text that is cut off");
        let mut cut = decoder("gzip").unwrap().unwrap();
        cut.push(&whole[..whole.len() - 6]).unwrap();
        assert!(cut.finish().is_err());
        assert!(matches!(decoder("gzip, br"), Err(Unknown)));
        assert!(matches!(decoder("compress"), Err(Unknown)));
        assert!(matches!(decoder("Identity"), Ok(None)));
    }
}
