//! A client's connection of which one request after another is read, answered and forgotten.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body::{Body, Frame};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};

use super::heads::{self, Spelled};
use super::{PIECE, poll_bytes};
use crate::body::{Answer, AnswerError};
use crate::forward;
use crate::outgoing::ClientBody;
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
    S: AsyncRead + AsyncWrite + Unpin + Send,
{
    let mut vigil = Vigil::new(inbound.clone());
    let mut before = Some(Bytes::from(before)).filter(|before| !before.is_empty());
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
        let answer = Box::pin(forward::answer(inbound, request)).await;
        if !is_ordinary(&answer) {
            return Ok(Some(Rest { stream, before: read.into(), answer: Some(answer) }));
        }
        drop(read);
        pass_on(&mut stream, answer).await?;
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
async fn pass_on(stream: &mut (impl AsyncWrite + Unpin), answer: Response<Answer>) -> io::Result<()> {
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
    let mut over = body.is_end_stream();
    while !over {
        let frame = match poll_fn(|context| Poll::Ready(poll_frame(&mut body, context))).await {
            Poll::Ready(frame) => frame,
            Poll::Pending => {
                write(stream, &mut out).await?;
                poll_fn(|context| poll_frame(&mut body, context)).await
            }
        };
        match frame.transpose() {
            Ok(Some(frame)) => {
                if let Ok(data) = frame.into_data() {
                    told.add(stream, data, &mut out).await?;
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
    told.end(&mut out)?;
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

    fn end(self, out: &mut Vec<u8>) -> io::Result<()> {
        match self {
            Self::ByLength { left: 0 } => {}
            // Who waits for the rest must not take the next answer for it.
            Self::ByLength { .. } => return Err(io::ErrorKind::UnexpectedEof.into()),
            Self::InChunks => out.extend_from_slice(b"0\r\n\r\n"),
        }
        Ok(())
    }
}

async fn write(stream: &mut (impl AsyncWrite + Unpin), out: &mut Vec<u8>) -> io::Result<()> {
    stream.write_all(out).await?;
    out.clear();
    stream.flush().await
}
