//! Heads that say nothing out of the ordinary, read and written.

use std::mem::MaybeUninit;
use std::ops::Range;

use bytes::Bytes;
use http::header::{
    CONNECTION, CONTENT_ENCODING, CONTENT_LENGTH, EXPECT, TRAILER, TRANSFER_ENCODING, UPGRADE,
};
use http::{Extensions, HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode, Uri};
use hyper::ext::ReasonPhrase;

use crate::head::{Chunked, Framing, MOST_HEADERS, check, head_end, number};

/// The library passes on what is longer with fewer calls of the system.
const LONGEST_BODY: u64 = 64 * 1024;

/// Headers that are put in on the way. A map that has no room for them would be made anew for every request.
const ADDED: usize = 2;

/// The names of a message's headers as they were written. A message that has this was read here.
#[derive(Clone)]
pub(crate) struct Spelled {
    head: Bytes,
    names: Vec<Range<usize>>,
}

impl Spelled {
    /// The name of the value that is the `nth` of this name.
    fn name(&self, name: &HeaderName, nth: usize) -> Option<&[u8]> {
        let names = self.names.iter().map(|span| &self.head[span.clone()]);
        names.filter(|written| written.eq_ignore_ascii_case(name.as_str().as_bytes())).nth(nth)
    }

    fn of(extensions: &Extensions) -> Option<&Self> {
        extensions.get()
    }
}

/// The one request that these bytes are, with its body, if they are one and nothing else, and it is one for us.
pub(super) fn request(bytes: &Bytes) -> Option<(Request<()>, Bytes)> {
    let end = head_end(bytes).ok()??;
    // What the strict reader says about the whole head comes first, as it does before the library.
    let Ok(Framing::Length(length)) = check(&bytes[..end]) else { return None };
    let body = bytes.slice(end..);
    if body.len() as u64 != length {
        return None;
    }
    let mut headers = [const { MaybeUninit::uninit() }; MOST_HEADERS];
    let mut read = httparse::Request::new(&mut []);
    let parsed = read.parse_with_uninit_headers(&bytes[..end], &mut headers).ok()?;
    if parsed != httparse::Status::Complete(end) || read.version != Some(1) {
        return None;
    }
    let mut request = Request::new(());
    *request.method_mut() = Method::from_bytes(read.method?.as_bytes()).ok()?;
    *request.uri_mut() = Uri::from_maybe_shared(bytes.slice(span_of(bytes, read.path?.as_bytes()))).ok()?;
    let spelled = take_headers(bytes, read.headers, request.headers_mut())?;
    request.extensions_mut().insert(spelled);
    is_ordinary(&request).then_some((request, body))
}

/// Whether nothing in a request is about the connection, its answer has a body, and its target begins as it is sent on.
fn is_ordinary(request: &Request<()>) -> bool {
    let headers = request.headers();
    // What has a query and no path is written differently by the library.
    let has_path = request.uri().path_and_query().is_some_and(|target| target.as_str().starts_with('/'));
    let about_connection = [EXPECT, TRAILER, TRANSFER_ENCODING, UPGRADE];
    has_path
        && ![Method::CONNECT, Method::HEAD].contains(request.method())
        && is_kept(headers)
        && !about_connection.iter().any(|name| headers.contains_key(name))
}

/// How far an answer goes.
pub(super) enum Extent {
    Length(u64),
    /// So many of the next bytes are of a chunk.
    Chunked {
        chunked: Chunked,
        data: usize,
        /// The lines of the trailer section that have come, each with its end.
        trailers: Vec<u8>,
    },
}

/// What the first bytes of an answer are.
pub(super) enum Beginning {
    /// More has to come.
    Partial,
    /// Not for us.
    Other,
    /// A head of so many bytes, before that of the answer.
    Early(Response<()>, usize),
    /// A head of so many bytes.
    Head(Response<()>, usize, Extent),
}

pub(super) fn answer(bytes: &Bytes) -> Beginning {
    let mut headers = [const { MaybeUninit::uninit() }; MOST_HEADERS];
    let mut read = httparse::Response::new(&mut []);
    let parser = httparse::ParserConfig::default();
    let end = match parser.parse_response_with_uninit_headers(&mut read, bytes, &mut headers) {
        Ok(httparse::Status::Complete(end)) => end,
        Ok(httparse::Status::Partial) => return Beginning::Partial,
        Err(_) => return Beginning::Other,
    };
    let read = match read.code {
        Some(100 | 102..=199) => early(bytes, &read).map(|head| Beginning::Early(head, end)),
        _ => ordinary(bytes, &read).map(|(head, extent)| Beginning::Head(head, end, extent)),
    };
    read.unwrap_or(Beginning::Other)
}

/// A head that is not the last one, whatever it says about a body.
fn early(bytes: &Bytes, read: &httparse::Response<'_, '_>) -> Option<Response<()>> {
    let status = StatusCode::from_u16(read.code?).ok()?;
    (read.version == Some(1)).then(|| response(bytes, read, status))?
}

fn response(bytes: &Bytes, read: &httparse::Response<'_, '_>, status: StatusCode) -> Option<Response<()>> {
    let mut response = Response::new(());
    *response.status_mut() = status;
    let spelled = take_headers(bytes, read.headers, response.headers_mut())?;
    response.extensions_mut().insert(spelled);
    if let Some(reason) = read.reason.filter(|reason| Some(*reason) != status.canonical_reason()) {
        response.extensions_mut().insert(ReasonPhrase::try_from(reason.as_bytes()).ok()?);
    }
    Some(response)
}

fn ordinary(bytes: &Bytes, read: &httparse::Response<'_, '_>) -> Option<(Response<()>, Extent)> {
    let status = StatusCode::from_u16(read.code?).ok()?;
    let bodiless = [StatusCode::NO_CONTENT, StatusCode::NOT_MODIFIED].contains(&status);
    if read.version != Some(1) || status.is_informational() || bodiless {
        return None;
    }
    let response = response(bytes, read, status)?;
    let headers = response.headers();
    if !is_kept(headers) || headers.contains_key(UPGRADE) || headers.contains_key(CONTENT_ENCODING) {
        return None;
    }
    let mut codings = headers.get_all(TRANSFER_ENCODING).iter();
    let extent = match (announced(headers).ok()?, codings.next(), codings.next()) {
        (Some(length @ ..=LONGEST_BODY), None, None) => Extent::Length(length),
        (None, Some(coding), None) if coding.as_bytes().eq_ignore_ascii_case(b"chunked") => {
            Extent::Chunked { chunked: Chunked::START, data: 0, trailers: Vec::new() }
        }
        _ => return None,
    };
    Some((response, extent))
}

/// Whether the connection goes on after this message, as it does where nothing is said.
fn is_kept(headers: &HeaderMap) -> bool {
    let said = headers.get_all(CONNECTION).iter();
    // Who takes trailers says that this, too, is about one connection.
    said.flat_map(|value| value.as_bytes().split(|byte| *byte == b',')).all(|word| {
        let word = word.trim_ascii();
        word.eq_ignore_ascii_case(b"keep-alive") || word.eq_ignore_ascii_case(b"te")
    })
}

/// The length that a head announces, if it announces one and only once.
pub(super) fn announced(headers: &HeaderMap) -> Result<Option<u64>, ()> {
    let mut lengths = headers.get_all(CONTENT_LENGTH).iter();
    match (lengths.next(), lengths.next()) {
        (None, _) => Ok(None),
        (Some(length), None) => number(length.as_bytes()).map(Some).ok_or(()),
        _ => Err(()),
    }
}

/// What the lines of a trailer section say.
pub(super) fn trailers(mut lines: Vec<u8>) -> Option<HeaderMap> {
    lines.extend_from_slice(b"\r\n");
    let lines = Bytes::from(lines);
    let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
    let httparse::Status::Complete((_, read)) = httparse::parse_headers(&lines, &mut headers).ok()? else {
        return None;
    };
    let mut trailers = HeaderMap::new();
    take_headers(&lines, read, &mut trailers)?;
    Some(trailers)
}

fn take_headers(bytes: &Bytes, read: &[httparse::Header<'_>], headers: &mut HeaderMap) -> Option<Spelled> {
    headers.reserve(read.len() + ADDED);
    let mut names = Vec::with_capacity(read.len());
    for header in read {
        let value = bytes.slice(span_of(bytes, header.value));
        names.push(span_of(bytes, header.name.as_bytes()));
        let name = HeaderName::from_bytes(header.name.as_bytes()).ok()?;
        headers.append(name, HeaderValue::from_maybe_shared(value).ok()?);
    }
    Some(Spelled { head: bytes.clone(), names })
}

/// Where a part of a text is.
fn span_of(text: &[u8], part: &[u8]) -> Range<usize> {
    if part.is_empty() {
        return 0..0;
    }
    let start = part.as_ptr().addr() - text.as_ptr().addr();
    start..start + part.len()
}

/// Writes the head of a request to a host.
pub(super) fn write_request(parts: &http::request::Parts, out: &mut Vec<u8>) {
    let target = parts.uri.path_and_query().map_or("/", http::uri::PathAndQuery::as_str);
    let lines = [parts.method.as_str(), " ", target, " HTTP/1.1\r\n"];
    lines.iter().for_each(|part| out.extend_from_slice(part.as_bytes()));
    write_headers(&parts.headers, Spelled::of(&parts.extensions), out);
    out.extend_from_slice(b"\r\n");
}

/// How many bytes that will be, at most.
pub(super) fn room_for_request(parts: &http::request::Parts) -> usize {
    let target = parts.uri.path_and_query().map_or(1, |target| target.as_str().len());
    let headers = parts.headers.iter().map(|(name, value)| name.as_str().len() + value.len() + 4);
    parts.method.as_str().len() + target + 14 + headers.sum::<usize>()
}

/// Writes the head of an answer whose body is as long as its head says, or chunked.
pub(super) fn write_answer(parts: &http::response::Parts, own_length: Option<u64>, out: &mut Vec<u8>) {
    write_status(parts, out);
    let spelled = Spelled::of(&parts.extensions);
    write_headers(&parts.headers, spelled, out);
    match (own_length, parts.headers.contains_key(CONTENT_LENGTH)) {
        (_, true) => {}
        (Some(length), false) => {
            out.extend_from_slice(format!("content-length: {length}\r\n").as_bytes());
        }
        (None, false) => {
            let name = spelled.and_then(|spelled| spelled.name(&TRANSFER_ENCODING, 0));
            out.extend_from_slice(name.unwrap_or(TRANSFER_ENCODING.as_str().as_bytes()));
            out.extend_from_slice(b": chunked\r\n");
        }
    }
    out.extend_from_slice(b"\r\n");
}

/// Writes a head that comes before that of an answer, and has no body.
pub(crate) fn write_early(parts: &http::response::Parts, out: &mut Vec<u8>) {
    write_status(parts, out);
    write_headers(&parts.headers, Spelled::of(&parts.extensions), out);
    out.extend_from_slice(b"\r\n");
}

fn write_status(parts: &http::response::Parts, out: &mut Vec<u8>) {
    let reason = parts.extensions.get::<ReasonPhrase>().map(ReasonPhrase::as_bytes);
    let reason = reason.unwrap_or(parts.status.canonical_reason().unwrap_or_default().as_bytes());
    for part in [b"HTTP/1.1 ", parts.status.as_str().as_bytes(), b" ", reason, b"\r\n"] {
        out.extend_from_slice(part);
    }
}

/// Writes the end of a body in chunks.
pub(super) fn write_end(trailers: Option<&HeaderMap>, out: &mut Vec<u8>) {
    out.extend_from_slice(b"0\r\n");
    if let Some(trailers) = trailers {
        write_headers(trailers, None, out);
    }
    out.extend_from_slice(b"\r\n");
}

fn write_headers(headers: &HeaderMap, spelled: Option<&Spelled>, out: &mut Vec<u8>) {
    let (mut before, mut nth) = (None, 0);
    for (name, value) in headers {
        // Values of one name come one after the other.
        nth = if before.replace(name) == Some(name) { nth + 1 } else { 0 };
        let written = spelled.and_then(|spelled| spelled.name(name, nth));
        for part in [written.unwrap_or(name.as_str().as_bytes()), b": ", value.as_bytes(), b"\r\n"] {
            out.extend_from_slice(part);
        }
    }
}
