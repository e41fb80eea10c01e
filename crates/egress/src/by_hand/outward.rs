//! A connection to an upstream on which a whole request is written at once and its answer read as it comes.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use cofferdam_audit::event::EgressReason;
use http::{Request, Response};
use http_body::Body;
use tokio::io::AsyncWriteExt;
use tokio::task::unconstrained;
use zeroize::Zeroizing;

use super::heads::{self, Beginning, Extent};
use super::poll_bytes;
use super::replayed::Replayed;
use crate::body::{AnswerError, UpstreamBody};
use crate::dial::{Http1, Stream, reason_of};
use crate::outgoing::Outgoing;

/// The longest beginning of an answer that is waited for here.
const LONGEST: usize = 64 * 1024;

/// A connection of HTTP/1.1 between two requests, or while an answer comes.
pub(crate) struct ByHand {
    stream: Stream,
    /// More came than was announced, so that it cannot be used again.
    spoiled: bool,
}

/// A connection whose answer has begun.
pub(crate) enum Held {
    ByHand(ByHand),
    Library(Http1),
}

/// Why there is no answer, and the request, unless a part of one came.
pub(crate) type Unanswered = (Option<Request<Outgoing>>, EgressReason);

/// What is still to come of an answer.
pub(crate) struct Remaining {
    /// Read already.
    here: Bytes,
    extent: Extent,
    /// What follows is not what it should be.
    garbled: bool,
}

impl ByHand {
    pub fn new(stream: Stream) -> Self {
        Self { stream, spoiled: false }
    }

    /// For a request that is not one for us.
    pub fn into_stream(self) -> Stream {
        self.stream
    }

    /// Whether it can take a request now: nothing has come that nobody asked for, not even the end.
    pub async fn is_usable(&mut self) -> bool {
        let look = poll_fn(|context| Poll::Ready(poll_bytes(&mut self.stream, context).is_pending()));
        // The runtime makes who has done much wait, which would look as if nothing had come.
        let quiet = unconstrained(look).await;
        quiet && !self.spoiled
    }

    /// Sends a request and waits for the head of its answer. The request comes back if nothing did.
    pub async fn send(
        mut self,
        request: Request<Outgoing>,
    ) -> Result<(Response<UpstreamBody>, Held), Unanswered> {
        let (parts, body) = request.into_parts();
        let body = whole(body).await.map_err(|reason| (None, reason))?;
        match heads::announced(&parts.headers) {
            Ok(None) if body.is_empty() => {}
            Ok(Some(length)) if length == body.len() as u64 => {}
            // The host would take what follows for a part of this, or a part of this for what follows.
            _ => return Err((None, EgressReason::BodyMalformed)),
        }
        // It has the credential in it.
        let mut out = Zeroizing::new(Vec::with_capacity(heads::room_for_request(&parts) + body.len()));
        heads::write_request(&parts, &mut out);
        out.extend_from_slice(&body);
        let written = self.write(&out).await;
        // What is wiped is all room that it had, and what still counts as filled once more before.
        out.clear();
        drop(out);
        let mut read = Bytes::new();
        loop {
            let more = match written {
                Ok(()) => poll_fn(|context| poll_bytes(&mut self.stream, context)).await,
                Err(_) => Ok(Bytes::new()),
            };
            let Some(more) = more.ok().filter(|more| !more.is_empty()) else {
                let request = Request::from_parts(parts, Outgoing::again(body));
                return Err((Some(request).filter(|_| read.is_empty()), EgressReason::UpstreamClosed));
            };
            read = if read.is_empty() { more } else { Bytes::from([read, more].concat()) };
            match heads::answer(&read) {
                Beginning::Partial if read.len() < LONGEST => {}
                Beginning::Head(head, end, extent) => {
                    let mut remaining = Remaining { here: read.slice(end..), extent, garbled: false };
                    self.settle(&mut remaining);
                    let response = head.map(|()| UpstreamBody::ByHand(remaining));
                    return Ok((response, Held::ByHand(self)));
                }
                Beginning::Partial | Beginning::Other => {
                    let request = Request::from_parts(parts, Outgoing::again(body));
                    let replayed = Box::pin(replay(self.stream, read, request)).await;
                    return replayed.map_err(|reason| (None, reason));
                }
            }
        }
    }

    async fn write(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.stream.write_all(bytes).await?;
        self.stream.flush().await
    }

    /// The next piece of an answer, or none at its end.
    pub fn poll_piece(
        &mut self,
        remaining: &mut Remaining,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, AnswerError>>> {
        loop {
            if remaining.is_over() {
                return Poll::Ready(None);
            }
            if remaining.garbled {
                return Poll::Ready(Some(Err(AnswerError::BrokenOff)));
            }
            if remaining.here.is_empty() {
                match ready!(poll_bytes(&mut self.stream, context)) {
                    Ok(more) if !more.is_empty() => remaining.here = more,
                    _ => return Poll::Ready(Some(Err(AnswerError::BrokenOff))),
                }
            }
            let piece = remaining.take();
            self.settle(remaining);
            if !piece.is_empty() {
                return Poll::Ready(Some(Ok(piece)));
            }
        }
    }

    /// Takes what frames the body off the front, so that its end shows as soon as it is here.
    fn settle(&mut self, remaining: &mut Remaining) {
        remaining.settle();
        if remaining.is_over() {
            self.spoiled |= !remaining.here.is_empty();
        }
    }
}

impl Remaining {
    pub fn is_over(&self) -> bool {
        match &self.extent {
            Extent::Length(left) => *left == 0,
            Extent::Chunked { chunked, data } => *data == 0 && chunked.is_over(),
        }
    }

    fn settle(&mut self) {
        if let Extent::Chunked { chunked, data: data @ 0 } = &mut self.extent {
            match chunked.advance(&self.here) {
                Ok((framing, more)) => {
                    let _ = self.here.split_to(framing);
                    *data = more;
                }
                Err(_) => self.garbled = true,
            }
        }
    }

    /// What of the bytes that are here belongs to the body.
    fn take(&mut self) -> Bytes {
        self.settle();
        let count = match &mut self.extent {
            Extent::Length(left) => {
                let count = usize::try_from(*left).map_or(self.here.len(), |left| left.min(self.here.len()));
                *left -= count as u64;
                count
            }
            Extent::Chunked { data, .. } => std::mem::take(data),
        };
        self.here.split_to(count)
    }
}

/// A body that is at hand, as what may pass of it.
async fn whole(mut body: Outgoing) -> Result<Bytes, EgressReason> {
    let mut whole = Bytes::new();
    while let Some(frame) = poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await {
        // Why is noted where it was found.
        let frame = frame.map_err(|_| EgressReason::ClientClosed)?;
        let Ok(data) = frame.into_data() else { continue };
        whole = if whole.is_empty() { data } else { Bytes::from([whole, data].concat()) };
    }
    Ok(whole)
}

/// Lets the library read an answer that is not one for us.
async fn replay(
    stream: Stream,
    read: Bytes,
    request: Request<Outgoing>,
) -> Result<(Response<UpstreamBody>, Held), EgressReason> {
    let (stream, muted) = Replayed::new(stream, read);
    let mut connection = Http1::begin(stream, Some(muted)).await?;
    match connection.send(request).await {
        Ok(response) => Ok((response.map(UpstreamBody::Library), Held::Library(connection))),
        Err(error) => Err(reason_of(&error)),
    }
}

#[cfg(test)]
mod tests {
    use tokio::task::coop;

    use super::*;

    #[tokio::test]
    async fn req_e26_a_connection_that_is_closed_is_seen_however_much_a_request_did_before() {
        let (stream, other) = tokio::io::duplex(1);
        assert!(ByHand::new(Box::new(stream)).is_usable().await);
        drop(other);
        let (stream, other) = tokio::io::duplex(1);
        drop(other);
        let mut closed = ByHand::new(Box::new(stream));
        // As after so many others that were closed as well.
        while coop::has_budget_remaining() {
            coop::consume_budget().await;
        }
        assert!(!closed.is_usable().await);
    }
}
