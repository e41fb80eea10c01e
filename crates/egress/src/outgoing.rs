//! Bodies on their way out: counted and bounded, and passed on as they come, unless a credential may stand in them.

use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use cofferdam_audit::event::EgressReason;
use http::header::EXPECT;
use http::request::Parts;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use zeroize::Zeroizing;

use crate::authorize::{Admitted, BodyNeed};
use crate::limits::Permit;
use crate::scheme::sigv4::{ChunkError, ChunkResigner};
use crate::scheme::{BODY_CAP, is_encoded};
use crate::watch::Watch;

/// The largest body that is held because its signature stands in the head.
const SIGNED_CAP: u64 = 32 * 1024 * 1024;
/// How much of a body that is refused for its length is still read.
const DISCARDED: usize = 16 * 1024 * 1024;

/// The body of a request as it comes from the client.
pub(crate) enum ClientBody {
    Library(Incoming),
    /// All of it came with the head.
    AtHand(Bytes),
}

impl Body for ClientBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        match self.get_mut() {
            Self::Library(body) => Pin::new(body).poll_frame(context),
            Self::AtHand(bytes) if bytes.is_empty() => Poll::Ready(None),
            Self::AtHand(bytes) => Poll::Ready(Some(Ok(Frame::data(std::mem::take(bytes))))),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Library(body) => body.is_end_stream(),
            Self::AtHand(bytes) => bytes.is_empty(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Library(body) => body.size_hint(),
            Self::AtHand(bytes) => SizeHint::with_exact(bytes.len() as u64),
        }
    }
}

/// The body of a request that the rules let through.
pub(crate) enum RequestBody {
    Streamed(ClientBody),
    /// All of it, because a credential may stand in it.
    Whole(Bytes),
    /// All of it, because the signature of the head covers it.
    Covered(Bytes),
    /// Passed on as it comes, in signed chunks that are signed again.
    Resigned(ClientBody, Box<ChunkResigner>),
}

impl RequestBody {
    /// Collects the body where the target's providers may have a credential in it, and leaves it alone elsewhere.
    /// What cannot be looked into is refused here, before anybody is contacted.
    pub async fn take(admitted: &Admitted, parts: &Parts, body: ClientBody) -> Result<Self, EgressReason> {
        let limit = admitted.policy().egress.limits.request_body.unwrap_or(u64::MAX);
        let need = admitted.needs_body(parts);
        let limit = match need {
            BodyNeed::None => limit,
            BodyNeed::MayHoldToken => limit.min(BODY_CAP as u64),
            BodyNeed::Signed => limit.min(SIGNED_CAP),
        };
        if body.size_hint().lower() > limit {
            // Who asked whether to go on is told so by the answer.
            if !parts.headers.contains_key(EXPECT) {
                Box::pin(discard(body)).await;
            }
            return Err(EgressReason::BodyTooLarge);
        }
        if need == BodyNeed::None {
            return Ok(Self::Streamed(body));
        }
        let whole = Box::pin(collect(body, limit)).await?;
        match need {
            BodyNeed::Signed => Ok(Self::Covered(Bytes::from(whole))),
            _ if is_encoded(parts) && !whole.is_empty() => Err(EgressReason::BodyEncoded),
            _ => Ok(Self::Whole(Bytes::from(whole))),
        }
    }

    /// What a signature covers that covers the body.
    pub fn covered(&self) -> &[u8] {
        match self {
            Self::Covered(bytes) | Self::Whole(bytes) => bytes,
            Self::Streamed(_) | Self::Resigned(..) => &[],
        }
    }

    /// The same body, signed again on its way if it is made of signed chunks.
    pub fn resigned(self, chunks: Option<ChunkResigner>) -> Self {
        match (self, chunks) {
            (Self::Streamed(body), Some(chunks)) => Self::Resigned(body, Box::new(chunks)),
            (body, _) => body,
        }
    }

    /// What is at hand of it: all, or nothing of one that is passed on as it comes.
    pub fn at_hand(&self) -> &[u8] {
        match self {
            Self::Streamed(_) | Self::Covered(_) | Self::Resigned(..) => &[],
            Self::Whole(bytes) => bytes,
        }
    }

    /// A body with a credential in it, which is wiped when it has been sent.
    pub fn rewritten(bytes: Zeroizing<Vec<u8>>) -> Self {
        Self::Whole(Bytes::from_owner(bytes))
    }
}

/// Trailers are dropped, as anybody on the way may do: no scheme has a place in them, and a token could hide there.
async fn collect(mut body: ClientBody, limit: u64) -> Result<Vec<u8>, EgressReason> {
    let mut whole = Vec::new();
    while let Some(frame) = poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await {
        let frame = frame.map_err(|_| EgressReason::ClientClosed)?;
        let Some(data) = frame.data_ref() else { continue };
        if (whole.len() + data.len()) as u64 > limit {
            drop(whole);
            discard(body).await;
            return Err(EgressReason::BodyTooLarge);
        }
        whole.extend_from_slice(data);
    }
    Ok(whole)
}

/// Reads on a while before a body is refused: clients that are still sending when the connection is closed miss the
/// answer.
async fn discard(mut body: ClientBody) {
    let mut left = DISCARDED;
    while let Some(Ok(frame)) = poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await {
        match left.checked_sub(frame.data_ref().map_or(0, Bytes::len)) {
            Some(less) => left = less,
            None => return,
        }
    }
}

/// What goes to the upstream, counted, and cut off with an error when it grows past the limit. It is never
/// shortened: the upstream sees a broken request and no whole one.
pub(crate) struct Outgoing {
    body: RequestBody,
    left: u64,
    /// None where all of it was looked into already.
    watch: Option<Watch>,
    progress: Arc<Progress>,
}

/// How far a request body has come, for the record and for the answer to it.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    pub sent: AtomicU64,
    /// Why we cut it off, if we did.
    stopped: OnceLock<EgressReason>,
    /// None for requests of our own.
    permit: Option<Permit>,
    /// A signed chunk was not signed with its key.
    pub badly_signed: AtomicBool,
}

impl Progress {
    /// Of a request that counts.
    pub fn of(permit: Permit) -> Self {
        Self { permit: Some(permit), ..Self::default() }
    }

    /// Bytes went in either direction; whether there may be more.
    pub fn spend(&self, bytes: usize) -> Result<(), EgressReason> {
        self.permit.as_ref().map_or(Ok(()), |permit| permit.spend(bytes))
    }

    /// Why the body was not sent to its end, if that was for a reason of ours.
    pub fn failure(&self) -> Option<EgressReason> {
        if self.badly_signed.load(Ordering::Relaxed) {
            return Some(EgressReason::SignatureInvalid);
        }
        self.stopped.get().copied()
    }
}

impl Outgoing {
    pub fn new(body: RequestBody, (limit, watch): (Option<u64>, Watch), progress: Arc<Progress>) -> Self {
        let (left, watch) = match &body {
            RequestBody::Streamed(body) => {
                (limit.unwrap_or(u64::MAX), (!body.is_end_stream()).then_some(watch))
            }
            RequestBody::Resigned(..) => (limit.unwrap_or(u64::MAX), Some(watch)),
            // One that is at hand was measured as the client sent it; the credential may be longer than the token.
            RequestBody::Whole(_) | RequestBody::Covered(_) => (u64::MAX, None),
        };
        Self { body, left, watch, progress }
    }

    /// A body of our own.
    pub fn own(body: Zeroizing<Vec<u8>>, progress: Arc<Progress>) -> Self {
        Self { body: RequestBody::rewritten(body), left: u64::MAX, watch: None, progress }
    }

    /// A body that has gone out, and was looked at then, for who sends it once more or pretends to.
    pub fn again(body: Bytes) -> Self {
        let progress = Arc::default();
        Self { body: RequestBody::Whole(body), left: u64::MAX, watch: None, progress }
    }

    /// Whether this may go: more of the body, or what comes after it.
    fn pass_on(&mut self, frame: &Frame<Bytes>) -> Result<(), EgressReason> {
        if let Some(data) = frame.data_ref() {
            return self.pass(data);
        }
        let (Some(trailers), Some(watch)) = (frame.trailers_ref(), &mut self.watch) else { return Ok(()) };
        for (name, value) in trailers {
            for text in [name.as_str().as_bytes(), value.as_bytes()] {
                watch.begin_anew();
                watch.look(text)?;
            }
        }
        Ok(())
    }

    fn pass(&mut self, data: &[u8]) -> Result<(), EgressReason> {
        self.left = self.left.checked_sub(data.len() as u64).ok_or(EgressReason::BodyTooLarge)?;
        self.progress.spend(data.len())?;
        self.watch.as_mut().map_or(Ok(()), |watch| watch.look(data))?;
        self.progress.sent.fetch_add(data.len() as u64, Ordering::Relaxed);
        Ok(())
    }
}

/// Why a request body ended early.
#[derive(Debug)]
pub(crate) enum OutgoingError {
    /// By us.
    Stopped(EgressReason),
    BadlySigned(ChunkError),
    Client(hyper::Error),
}

impl fmt::Display for OutgoingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stopped(reason) => f.write_str(reason.name()),
            Self::BadlySigned(error) => error.fmt(f),
            Self::Client(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for OutgoingError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Stopped(_) | Self::BadlySigned(_) => None,
            Self::Client(error) => Some(error),
        }
    }
}

impl Body for Outgoing {
    type Data = Bytes;
    type Error = OutgoingError;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, OutgoingError>>> {
        let this = self.get_mut();
        let frame = match &mut this.body {
            RequestBody::Whole(bytes) | RequestBody::Covered(bytes) => match bytes.is_empty() {
                true => return Poll::Ready(None),
                false => Frame::data(std::mem::take(bytes)),
            },
            RequestBody::Resigned(body, chunks) => {
                match ready!(poll_resigned(Pin::new(body), chunks, context)) {
                    None => return Poll::Ready(None),
                    Some(Ok(frame)) => frame,
                    Some(Err(error)) => {
                        match error {
                            OutgoingError::BadlySigned(_) => {
                                this.progress.badly_signed.store(true, Ordering::Relaxed);
                            }
                            _ => drop(this.progress.stopped.set(EgressReason::ClientClosed)),
                        }
                        return Poll::Ready(Some(Err(error)));
                    }
                }
            }
            RequestBody::Streamed(body) => match ready!(Pin::new(body).poll_frame(context)) {
                None => return Poll::Ready(None),
                Some(Err(error)) => {
                    let _ = this.progress.stopped.set(EgressReason::ClientClosed);
                    return Poll::Ready(Some(Err(OutgoingError::Client(error))));
                }
                Some(Ok(frame)) => frame,
            },
        };
        if let Err(reason) = this.pass_on(&frame) {
            let _ = this.progress.stopped.set(reason);
            return Poll::Ready(Some(Err(OutgoingError::Stopped(reason))));
        }
        Poll::Ready(Some(Ok(frame)))
    }

    fn is_end_stream(&self) -> bool {
        match &self.body {
            RequestBody::Streamed(body) => body.is_end_stream(),
            // Its end has to be looked at.
            RequestBody::Resigned(..) => false,
            RequestBody::Whole(bytes) | RequestBody::Covered(bytes) => bytes.is_empty(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.body {
            RequestBody::Streamed(body) | RequestBody::Resigned(body, _) => body.size_hint(),
            RequestBody::Whole(bytes) | RequestBody::Covered(bytes) => {
                SizeHint::with_exact(bytes.len() as u64)
            }
        }
    }
}

/// The next piece of a body whose chunks are signed again. Trailers are dropped: those of such a body are in it.
fn poll_resigned(
    mut body: Pin<&mut ClientBody>,
    chunks: &mut ChunkResigner,
    context: &mut Context<'_>,
) -> Poll<Option<Result<Frame<Bytes>, OutgoingError>>> {
    let mut signed = Vec::new();
    while signed.is_empty() {
        let Some(frame) = ready!(body.as_mut().poll_frame(context)) else {
            return Poll::Ready(chunks.finish().err().map(|error| Err(OutgoingError::BadlySigned(error))));
        };
        let Ok(data) = (match frame {
            Ok(frame) => frame.into_data(),
            Err(error) => return Poll::Ready(Some(Err(OutgoingError::Client(error)))),
        }) else {
            continue;
        };
        if let Err(error) = chunks.push(&data, &mut signed) {
            return Poll::Ready(Some(Err(OutgoingError::BadlySigned(error))));
        }
    }
    Poll::Ready(Some(Ok(Frame::data(Bytes::from(signed)))))
}
