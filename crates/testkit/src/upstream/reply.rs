//! What is answered.

use std::convert::Infallible;
use std::io::Write;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Body, Frame};
use hyper::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, TRAILER};
use hyper::header::{HeaderName, HeaderValue};
use hyper::{HeaderMap, Response};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::Recorded;

/// The answer to requests for one path.
#[derive(Debug)]
pub enum Reply {
    Fixed {
        status: u16,
        headers: Vec<(String, String)>,
        body: Vec<u8>,
    },
    /// The request's headers and body come back.
    Echo {
        place: EchoPlace,
        coding: Coding,
    },
    /// What a [`Stream`] sends; made by `Upstream::stream`.
    Streamed {
        content_type: String,
        frames: Option<Frames>,
    },
    /// What a function makes of the request: a server behind the server.
    Made(Maker),
    /// A WebSocket: its first message is the `Authorization` that it was asked for with, then it repeats what it
    /// is told.
    Socket,
    /// So many messages of gRPC, each the request's own, and the status that all went well.
    Grpc {
        messages: usize,
    },
}

/// A status, headers and a body.
pub type Made = (u16, Vec<(String, String)>, Vec<u8>);

/// Makes an answer of a request.
pub struct Maker(Box<dyn Fn(&Recorded) -> Made + Send>);

impl std::fmt::Debug for Maker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Maker(…)")
    }
}

impl Reply {
    pub fn made(make: impl Fn(&Recorded) -> (u16, Vec<(String, String)>, Vec<u8>) + Send + 'static) -> Self {
        Self::Made(Maker(Box::new(make)))
    }
}

impl Default for Reply {
    fn default() -> Self {
        Self::Echo { place: EchoPlace::Body, coding: Coding::Identity }
    }
}

#[derive(Debug, Clone)]
pub enum EchoPlace {
    Body,
    /// A header of this name, `location` for instance; the body is not echoed.
    Header(String),
    /// A trailer of this name.
    Trailer(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Coding {
    Identity,
    Gzip,
    Deflate,
    Brotli,
    Zstd,
}

/// The test's end of a streamed answer. Dropping it ends the answer.
#[derive(Debug)]
pub struct Stream {
    frames: UnboundedSender<Frame<Bytes>>,
}

impl Stream {
    /// Sends a piece as one frame, at once.
    ///
    /// # Panics
    ///
    /// When the client has gone.
    pub fn send(&self, piece: impl AsRef<[u8]>) {
        let piece = Bytes::copy_from_slice(piece.as_ref());
        self.frames.send(Frame::data(piece)).expect("a client that still listens");
    }

    /// Whether the client has gone.
    pub fn is_abandoned(&self) -> bool {
        self.frames.is_closed()
    }

    pub fn finish(self) {}
}

pub(super) fn stream(content_type: &str) -> (Stream, Reply) {
    let (sender, frames) = unbounded_channel();
    let reply = Reply::Streamed { content_type: content_type.to_owned(), frames: Some(Frames(frames)) };
    (Stream { frames: sender }, reply)
}

/// The body of an answer: frames, from the script or from the test.
#[derive(Debug)]
pub struct Frames(UnboundedReceiver<Frame<Bytes>>);

impl Frames {
    pub(super) fn none() -> Self {
        Self::of([])
    }

    pub(super) fn of(frames: impl IntoIterator<Item = Frame<Bytes>>) -> Self {
        let (sender, receiver) = unbounded_channel();
        for frame in frames {
            sender.send(frame).expect("the receiver is right here");
        }
        Self(receiver)
    }
}

impl Body for Frames {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.0.poll_recv(context).map(|frame| frame.map(Ok))
    }
}

impl Reply {
    /// Answers a request; a stream can be taken once.
    pub(super) fn answer(&mut self, request: &Recorded) -> Response<Frames> {
        match self {
            Self::Fixed { status, headers, body } => fixed(*status, headers, body),
            Self::Echo { place: EchoPlace::Body, coding } => echo_in_body(request, *coding),
            Self::Echo { place: EchoPlace::Header(name), .. } => {
                let mut response = whole(b"echoed in a header\n".to_vec());
                response.headers_mut().insert(header_name(name), echo_value(request));
                response
            }
            Self::Echo { place: EchoPlace::Trailer(name), .. } => echo_in_trailer(request, name),
            Self::Streamed { content_type, frames } => match frames.take() {
                Some(frames) => {
                    let mut response = Response::new(frames);
                    response.headers_mut().insert(CONTENT_TYPE, header_value(content_type.as_bytes()));
                    response
                }
                None => fixed(409, &[], b"the stream was taken by an earlier request\n"),
            },
            Self::Made(Maker(make)) => {
                let (status, headers, body) = make(request);
                fixed(status, &headers, &body)
            }
            Self::Socket => fixed(426, &[], b"this is a WebSocket\n"),
            Self::Grpc { messages } => grpc(request, *messages),
        }
    }
}

fn fixed(status: u16, headers: &[(String, String)], body: &[u8]) -> Response<Frames> {
    let mut response = whole(body.to_vec());
    *response.status_mut() = status.try_into().expect("a status of three digits");
    for (name, value) in headers {
        response.headers_mut().append(header_name(name), header_value(value.as_bytes()));
    }
    response
}

fn echo_in_body(request: &Recorded, coding: Coding) -> Response<Frames> {
    let (name, body) = encode(&echo(request), coding);
    let mut response = whole(body);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain"));
    if let Some(name) = name {
        response.headers_mut().insert(CONTENT_ENCODING, HeaderValue::from_static(name));
    }
    response
}

fn echo_in_trailer(request: &Recorded, name: &str) -> Response<Frames> {
    let trailers = HeaderMap::from_iter([(header_name(name), echo_value(request))]);
    let body = Frame::data(Bytes::from_static(b"echoed in a trailer\n"));
    let mut response = Response::new(Frames::of([body, Frame::trailers(trailers)]));
    response.headers_mut().insert(TRAILER, header_value(name.as_bytes()));
    response
}

fn grpc(request: &Recorded, messages: usize) -> Response<Frames> {
    let trailers = HeaderMap::from_iter([(header_name("grpc-status"), HeaderValue::from_static("0"))]);
    let message = || Frame::data(Bytes::copy_from_slice(&request.body));
    let frames = std::iter::repeat_with(message).take(messages).chain([Frame::trailers(trailers)]);
    let mut response = Response::new(Frames::of(frames));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
    response
}

/// The request as lines of text: what a careless server shows on its error page.
fn echo(request: &Recorded) -> Vec<u8> {
    let mut text = format!("{} {}\n", request.method, request.target).into_bytes();
    for (name, value) in &request.headers {
        text.extend_from_slice(&[name.as_bytes(), b": ", value, b"\n"].concat());
    }
    text.push(b'\n');
    text.extend_from_slice(&request.body);
    text
}

fn echo_value(request: &Recorded) -> HeaderValue {
    let headers = request.headers.iter().map(|(name, value)| [name.as_bytes(), b"=", value].concat());
    header_value(&headers.collect::<Vec<_>>().join(&b"; "[..]))
}

fn encode(text: &[u8], coding: Coding) -> (Option<&'static str>, Vec<u8>) {
    match coding {
        Coding::Identity => (None, text.to_vec()),
        Coding::Gzip => {
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
            encoder.write_all(text).expect("memory takes everything");
            (Some("gzip"), encoder.finish().expect("memory takes everything"))
        }
        Coding::Deflate => {
            let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
            encoder.write_all(text).expect("memory takes everything");
            (Some("deflate"), encoder.finish().expect("memory takes everything"))
        }
        Coding::Brotli => {
            let mut encoded = Vec::new();
            let params = brotli::enc::BrotliEncoderParams::default();
            brotli::BrotliCompress(&mut &text[..], &mut encoded, &params).expect("memory takes everything");
            (Some("br"), encoded)
        }
        Coding::Zstd => (Some("zstd"), zstd::encode_all(text, 0).expect("memory takes everything")),
    }
}

fn whole(body: Vec<u8>) -> Response<Frames> {
    let length = body.len();
    let mut response = Response::new(Frames::of([Frame::data(body.into())]));
    response.headers_mut().insert(CONTENT_LENGTH, length.into());
    response
}

fn header_name(name: &str) -> HeaderName {
    name.parse().expect("a header name in the test")
}

fn header_value(value: &[u8]) -> HeaderValue {
    HeaderValue::from_bytes(value).expect("a header value without line ends")
}
