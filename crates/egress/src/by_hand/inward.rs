//! A client's connection of which one request after another is read, answered and forgotten.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http::{HeaderMap, Request, Response, StatusCode};
use http_body::{Body, Frame};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};

use super::heads::{self, Spelled};
use super::{PIECE, poll_bytes};
use crate::body::{Answer, AnswerError};
use crate::forward;
use crate::outgoing::ClientBody;
use crate::presence::{Presence, Seen, Socket};
use crate::serve::Inbound;
use crate::vigil::Vigil;

/// What the library goes on with.
pub(crate) struct Rest<S> {
    pub stream: S,
    /// What was read of it and not answered.
    pub before: Vec<u8>,
    /// The answer to the first request in there, if it has one already.
    pub answer: Option<Response<Answer>>,
}

/// Answers requests until there is none any more, or one that is not for us.
pub(crate) async fn requests<S>(
    inbound: &Arc<Inbound>,
    mut stream: S,
    before: Vec<u8>,
) -> io::Result<Option<Rest<S>>>
where
    S: AsyncRead + AsyncWrite + Socket + Unpin + Send,
{
    let (mut vigil, early) = (Vigil::new(inbound.clone()), &inbound.verdict.early);
    let mut before = Some(Bytes::from(before)).filter(|before| !before.is_empty());
    let mut presence = Presence::default();
    loop {
        let read = match before.take() {
            Some(before) => before,
            None => poll_fn(|context| poll_next(&mut stream, &mut vigil, context)).await?,
        };
        if read.is_empty() {
            stream.shutdown().await?;
            return Ok(None);
        }
        vigil.moved();
        let Some((request, body)) = heads::request(&read) else {
            return Ok(Some(Rest { stream, before: read.into(), answer: None }));
        };
        let request: Request<ClientBody> = request.map(|()| ClientBody::AtHand(body));
        // Elsewhere, because a connection that waits should be small.
        let mut answering = Box::pin(forward::answer(inbound, request));
        let answer = loop {
            let answer = poll_fn(|context| match answering.as_mut().poll(context) {
                Poll::Pending if early.is_waiting() => Poll::Ready(Ok(None)),
                Poll::Pending => poll_gone(&mut presence, &mut stream, context).map(Err),
                Poll::Ready(answer) => Poll::Ready(Ok(Some(answer))),
            });
            let answer = answer.await?;
            if let Some(mut early) = early.take() {
                write(&mut stream, &mut early).await?;
            }
            if let Some(answer) = answer {
                break answer;
            }
        };
        if !is_ordinary(&answer) {
            let before = [&read[..], &presence.take_ahead()].concat();
            return Ok(Some(Rest { stream, before, answer: Some(answer) }));
        }
        drop(read);
        pass_on(&mut stream, answer, &mut presence).await?;
        before = Some(Bytes::from(presence.take_ahead())).filter(|ahead| !ahead.is_empty());
    }
}

fn poll_next(
    stream: &mut (impl AsyncRead + Unpin),
    vigil: &mut Vigil,
    context: &mut Context<'_>,
) -> Poll<io::Result<Bytes>> {
    match poll_bytes(stream, context) {
        Poll::Ready(read) => Poll::Ready(read),
        Poll::Pending => {
            ready!(vigil.poll(context));
            Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
        }
    }
}

/// Ready when a client that waits is gone; what it says meanwhile is kept.
fn poll_gone(
    presence: &mut Presence,
    stream: &mut (impl AsyncRead + Socket + Unpin),
    context: &mut Context<'_>,
) -> Poll<io::Error> {
    loop {
        if let Seen::Gone(error) = ready!(presence.poll(stream, context)) {
            return Poll::Ready(error);
        }
    }
}

/// Whether an answer has a body, of a length that is known or in chunks, and was read by us or made by us: only the
/// library knows how the names were written in one that it read.
fn is_ordinary(answer: &Response<Answer>) -> bool {
    let status = answer.status();
    let bodiless = [StatusCode::NO_CONTENT, StatusCode::NOT_MODIFIED].contains(&status);
    let known = match answer.body() {
        Answer::Own(body) => body.is_some(),
        Answer::Upstream(_) => answer.extensions().get::<Spelled>().is_some(),
        Answer::Broken(_) => false,
    };
    known && !bodiless && !status.is_informational() && heads::announced(answer.headers()).is_ok()
}

/// How the end of an answer is told.
enum Told {
    ByLength { left: u64 },
    InChunks,
}

/// Writes an answer as its body comes. What is there at once is written at once.
async fn pass_on(
    stream: &mut (impl AsyncRead + AsyncWrite + Socket + Unpin),
    answer: Response<Answer>,
    presence: &mut Presence,
) -> io::Result<()> {
    let (parts, mut body) = answer.into_parts();
    let own = match &body {
        Answer::Own(_) => body.size_hint().exact(),
        Answer::Upstream(_) | Answer::Broken(_) => None,
    };
    let mut told = match heads::announced(&parts.headers).unwrap_or_default().or(own) {
        Some(left) => Told::ByLength { left },
        None => Told::InChunks,
    };
    let mut out = Vec::with_capacity(ROOM);
    heads::write_answer(&parts, own, &mut out);
    drop(parts);
    let (mut over, mut trailers) = (body.is_end_stream(), None);
    while !over {
        let frame = match poll_fn(|context| Poll::Ready(poll_frame(&mut body, context))).await {
            Poll::Ready(frame) => frame,
            Poll::Pending => {
                write(stream, &mut out).await?;
                told.wait(stream, &mut body, presence).await?
            }
        };
        match frame.transpose() {
            Ok(Some(frame)) => {
                match frame.into_data() {
                    Ok(data) => told.add(stream, data, &mut out).await?,
                    Err(frame) => trailers = frame.into_trailers().ok(),
                }
                over = body.is_end_stream();
            }
            Ok(None) => over = true,
            Err(error) => {
                write(stream, &mut out).await?;
                return Err(io::Error::other(error));
            }
        }
    }
    told.end(trailers.as_ref(), &mut out)?;
    write(stream, &mut out).await
}

/// For the head and the body of a short answer.
const ROOM: usize = 1000;
/// What is written at once of an answer that comes faster.
const GATHERED: usize = 4 * PIECE;

type Next = Option<Result<Frame<Bytes>, AnswerError>>;

fn poll_frame(body: &mut Answer, context: &mut Context<'_>) -> Poll<Next> {
    Pin::new(body).poll_frame(context)
}

impl Told {
    /// Waits for the next piece as long as there is somebody to read it.
    async fn wait(
        &self,
        stream: &mut (impl AsyncRead + AsyncWrite + Socket + Unpin),
        body: &mut Answer,
        presence: &mut Presence,
    ) -> io::Result<Next> {
        loop {
            let seen = poll_fn(|context| match poll_frame(body, context) {
                Poll::Ready(frame) => Poll::Ready(Ok(frame)),
                Poll::Pending => presence.poll(stream, context).map(Err),
            });
            match (seen.await, self) {
                (Ok(frame), _) => return Ok(frame),
                (Err(Seen::Gone(error)), _) => return Err(error),
                // The size of the next chunk may begin with a zero more, and whoever has closed the connection is found
                // out by having to refuse it.
                (Err(Seen::SaidAll), Self::InChunks) => write(stream, &mut b"0".to_vec()).await?,
                (Err(Seen::SaidAll | Seen::More), _) => {}
            }
        }
    }

    /// Adds a piece to what is to be written, and writes it if that has become much.
    async fn add(
        &mut self,
        stream: &mut (impl AsyncWrite + Unpin),
        mut data: Bytes,
        out: &mut Vec<u8>,
    ) -> io::Result<()> {
        let end: &[u8] = match self {
            Self::ByLength { left } => {
                data.truncate(usize::try_from(*left).unwrap_or(usize::MAX));
                *left -= data.len() as u64;
                b""
            }
            // It would say that this is the end.
            Self::InChunks if data.is_empty() => return Ok(()),
            Self::InChunks => {
                out.extend_from_slice(format!("{:X}\r\n", data.len()).as_bytes());
                b"\r\n"
            }
        };
        out.extend_from_slice(&data);
        out.extend_from_slice(end);
        match out.len() {
            ..GATHERED => Ok(()),
            _ => write(stream, out).await,
        }
    }

    fn end(self, trailers: Option<&HeaderMap>, out: &mut Vec<u8>) -> io::Result<()> {
        match self {
            Self::ByLength { left: 0 } => {}
            // Who waits for the rest must not take the next answer for it.
            Self::ByLength { .. } => return Err(io::ErrorKind::UnexpectedEof.into()),
            Self::InChunks => heads::write_end(trailers, out),
        }
        Ok(())
    }
}

async fn write(stream: &mut (impl AsyncWrite + Unpin), out: &mut Vec<u8>) -> io::Result<()> {
    stream.write_all(out).await?;
    out.clear();
    stream.flush().await
}
