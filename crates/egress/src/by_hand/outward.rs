//! A connection to an upstream on which a whole request is written at once and its answer read as it comes.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::{Bytes, BytesMut};
use cofferdam_audit::event::EgressReason;
use http::{Request, Response};
use http_body::{Body, Frame};
use tokio::io::AsyncWriteExt;
use tokio::task::unconstrained;
use zeroize::Zeroizing;

use super::heads::{self, Beginning, Extent};
use super::poll_bytes;
use super::replayed::Replayed;
use crate::body::{AnswerError, UpstreamBody};
use crate::dial::{Http1, Stream, reason_of};
use crate::early::{self, Flood};
use crate::outgoing::Outgoing;
use crate::serve::Inbound;

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

    /// Sends a request and waits for the head of its answer, of which the client gets what comes before. The request
    /// comes back if nothing did.
    pub async fn send(
        mut self,
        request: Request<Outgoing>,
        client: Option<&Arc<Inbound>>,
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
        let (mut read, mut heard) = (Bytes::new(), false);
        loop {
            let more = match written {
                Ok(()) => poll_fn(|context| poll_bytes(&mut self.stream, context)).await,
                Err(_) => Ok(Bytes::new()),
            };
            let Some(more) = more.ok().filter(|more| !more.is_empty()) else {
                let request = Request::from_parts(parts, Outgoing::again(body));
                return Err((Some(request).filter(|_| !heard), EgressReason::UpstreamClosed));
            };
            heard = true;
            if !gather(&mut read, more) && read.len() < LONGEST {
                continue;
            }
            match after_early(&mut read, client).map_err(|Flood| (None, EgressReason::UpstreamMalformed))? {
                Beginning::Partial if read.len() < LONGEST => {}
                Beginning::Head(head, end, extent) => {
                    let mut remaining = Remaining { here: read.slice(end..), extent, garbled: false };
                    self.settle(&mut remaining);
                    let response = head.map(|()| UpstreamBody::ByHand(remaining));
                    return Ok((response, Held::ByHand(self)));
                }
                Beginning::Partial | Beginning::Other | Beginning::Early(..) => {
                    let mut request = Request::from_parts(parts, Outgoing::again(body));
                    if let Some(client) = client {
                        early::listen(client, &mut request);
                    }
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

    /// The next piece of an answer, then its trailers, or none at its end.
    pub fn poll_frame(
        &mut self,
        remaining: &mut Remaining,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, AnswerError>>> {
        loop {
            if remaining.has_come() {
                return Poll::Ready(remaining.take_trailers().transpose());
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
                return Poll::Ready(Some(Ok(Frame::data(piece))));
            }
        }
    }

    /// Takes what frames the body off the front, so that its end shows as soon as it is here.
    fn settle(&mut self, remaining: &mut Remaining) {
        remaining.settle();
        if remaining.has_come() {
            self.spoiled |= !remaining.here.is_empty();
        }
    }
}

impl Remaining {
    /// Whether there is nothing left to be passed on.
    pub fn is_over(&self) -> bool {
        let trailers = matches!(&self.extent, Extent::Chunked { trailers, .. } if !trailers.is_empty());
        self.has_come() && !trailers
    }

    /// Whether there is nothing left to be read.
    fn has_come(&self) -> bool {
        match &self.extent {
            Extent::Length(left) => *left == 0,
            Extent::Chunked { chunked, data, .. } => *data == 0 && chunked.is_over(),
        }
    }

    fn take_trailers(&mut self) -> Result<Option<Frame<Bytes>>, AnswerError> {
        match &mut self.extent {
            Extent::Chunked { trailers, .. } if !trailers.is_empty() => {
                let trailers = heads::trailers(std::mem::take(trailers)).ok_or(AnswerError::BrokenOff)?;
                Ok(Some(Frame::trailers(trailers)))
            }
            _ => Ok(None),
        }
    }

    fn settle(&mut self) {
        if let Extent::Chunked { chunked, data: data @ 0, trailers } = &mut self.extent {
            match chunked.advance(&self.here, trailers) {
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

/// Puts more of a beginning to what has come of it, and says whether it is worth a look. A head that comes byte by byte
/// is not read anew for each of them: after the first piece, only when an empty line may have ended it.
fn gather(read: &mut Bytes, more: Bytes) -> bool {
    if read.is_empty() {
        *read = more;
        return true;
    }
    let before = read.len();
    let mut gathered = BytesMut::from(std::mem::take(read));
    gathered.extend_from_slice(&more);
    *read = gathered.freeze();
    let fresh = &read[before.saturating_sub(3)..];
    [&b"\n\r\n"[..], b"\n\n"].iter().any(|end| memchr::memmem::find(fresh, end).is_some())
}

/// What the bytes of an answer are behind the heads that come before it, which are passed on.
fn after_early(read: &mut Bytes, client: Option<&Arc<Inbound>>) -> Result<Beginning, Flood> {
    loop {
        match heads::answer(read) {
            Beginning::Early(head, end) => {
                client.map_or(Ok(()), |client| early::pass_on(client, head))?;
                let _ = read.split_to(end);
            }
            beginning => return Ok(beginning),
        }
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

    #[test]
    fn req_e22_a_beginning_is_looked_at_when_it_may_have_ended_however_it_comes() {
        let head = b"HTTP/1.1 200 OK\r\nX: 1\r\n\r\n";
        for size in 1..=head.len() {
            let (mut read, mut looks) = (Bytes::new(), 0);
            for piece in head.chunks(size) {
                looks += usize::from(gather(&mut read, Bytes::copy_from_slice(piece)));
            }
            assert_eq!(read, head.as_slice());
            assert!((1..=2).contains(&looks), "{looks} looks at pieces of {size}");
            assert!(matches!(heads::answer(&read), Beginning::Head(..) | Beginning::Other));
        }
        let mut read = Bytes::from_static(b"HTTP/1.1 200 OK\n");
        assert!(gather(&mut read, Bytes::from_static(b"\n")));
    }

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
