//! Bodies on their way back: counted and cleaned of secrets, without being held back.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use cofferdam_audit::event::EgressReason;
use cofferdam_secrets::redaction::{Passed, Patterns, Redactor, Replacement};
use http::{HeaderMap, HeaderName, HeaderValue, response};
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use hyper::ext::ReasonPhrase;

use crate::by_hand::Remaining;
use crate::decode::Decoder;
use crate::exchange::Exchange;
use crate::hop;
use crate::http2::Received;
use crate::patience::Patience;

/// What goes to the client.
pub(crate) enum Answer {
    Own(Option<Bytes>),
    Upstream(Box<Cleaned>),
    /// Ends early, after what is already on its way has been sent.
    Broken(Option<AnswerError>),
}

impl Answer {
    pub fn own(body: Bytes) -> Self {
        Self::Own(Some(body))
    }
}

/// Why an answer ended early.
#[derive(Debug)]
pub(crate) enum AnswerError {
    Upstream(hyper::Error),
    /// It ended before its end, or is not what its head says.
    BrokenOff,
    /// It is not what its `Content-Encoding` says, or far too large for what came.
    Undecodable,
    /// We cut it off.
    Stopped(EgressReason),
}

impl fmt::Display for AnswerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Upstream(error) => error.fmt(f),
            Self::Stopped(reason) => f.write_str(reason.name()),
            Self::BrokenOff => f.write_str("the answer was broken off"),
            Self::Undecodable => f.write_str("the answer cannot be decompressed"),
        }
    }
}

impl std::error::Error for AnswerError {}

impl Body for Answer {
    type Data = Bytes;
    type Error = AnswerError;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, AnswerError>>> {
        let this = self.get_mut();
        match this {
            Self::Own(body) => Poll::Ready(body.take().map(|body| Ok(Frame::data(body)))),
            Self::Broken(error) => Poll::Ready(error.take().map(Err)),
            Self::Upstream(body) => match ready!(Pin::new(&mut **body).poll_frame(context)) {
                Some(Err(error)) => {
                    // hyper throws away what it has not sent when a body fails, the head included; it sends all it
                    // has when a body makes it wait.
                    *this = Self::Broken(Some(error));
                    context.waker().wake_by_ref();
                    Poll::Pending
                }
                frame => Poll::Ready(frame),
            },
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Own(body) => body.is_none(),
            Self::Upstream(body) => body.is_end_stream(),
            Self::Broken(error) => error.is_none(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Own(body) => SizeHint::with_exact(body.as_ref().map_or(0, |body| body.len() as u64)),
            Self::Upstream(body) => body.size_hint(),
            Self::Broken(_) => SizeHint::default(),
        }
    }
}

/// A body as it comes from an upstream.
pub(crate) enum UpstreamBody {
    Library(Incoming),
    Http2(Received),
    /// On a connection that whoever polls it has.
    ByHand(Remaining),
}

impl UpstreamBody {
    pub fn is_end_stream(&self) -> bool {
        match self {
            Self::Library(body) => body.is_end_stream(),
            Self::Http2(body) => body.is_end_stream(),
            Self::ByHand(remaining) => remaining.is_over(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Library(body) => body.size_hint(),
            // A length that was announced is still in the head.
            Self::Http2(_) | Self::ByHand(_) => SizeHint::default(),
        }
    }
}

/// How an answer is looked into.
pub(crate) struct Cleaning {
    pub patterns: Option<Arc<Patterns>>,
    pub replacement: Replacement,
    pub decoder: Option<Decoder>,
    pub idle_timeout: Option<Duration>,
}

/// An upstream's body with every known secret taken out. A piece that ends like the start of a secret keeps that
/// end back until it is clear; everything else is passed on as it comes, and as the very bytes that came.
pub(crate) struct Cleaned {
    body: UpstreamBody,
    decoder: Option<Decoder>,
    redactor: Option<Redactor>,
    patterns: Option<Arc<Patterns>>,
    cleaned: Vec<u8>,
    /// Trailers that wait until what was kept back is out.
    trailers: Option<HeaderMap>,
    ended: bool,
    patience: Patience,
    exchange: Exchange,
}

impl Cleaned {
    pub fn new(body: UpstreamBody, cleaning: Cleaning, exchange: Exchange) -> Self {
        let Cleaning { patterns, replacement, decoder, idle_timeout } = cleaning;
        let redactor = patterns.clone().map(|patterns| Redactor::new(patterns, replacement));
        Self {
            body,
            decoder,
            redactor,
            patterns,
            cleaned: Vec::new(),
            trailers: None,
            ended: false,
            patience: Patience::new(idle_timeout),
            exchange,
        }
    }

    /// What of a piece may be passed on, if anything.
    fn piece(&mut self, data: Bytes) -> Result<Option<Bytes>, AnswerError> {
        self.exchange.received(data.len()).map_err(AnswerError::Stopped)?;
        let data = match &mut self.decoder {
            Some(decoder) => Bytes::from(decoder.push(&data).map_err(|_| AnswerError::Undecodable)?),
            None => data,
        };
        let Some(redactor) = &mut self.redactor else { return Ok(Some(data)) };
        Ok(match redactor.push(&data, &mut self.cleaned) {
            Passed::Prefix(end) => (end > 0).then(|| data.slice(..end)),
            Passed::Written => self.take_cleaned(),
        })
    }

    fn take_cleaned(&mut self) -> Option<Bytes> {
        (!self.cleaned.is_empty()).then(|| Bytes::from(std::mem::take(&mut self.cleaned)))
    }

    /// What was kept back, once.
    fn rest(&mut self) -> Option<Bytes> {
        let mut redactor = self.redactor.take()?;
        redactor.finish(&mut self.cleaned);
        self.exchange.redacted(redactor.matches());
        self.take_cleaned()
    }

    fn take_trailers(&mut self) -> Option<Frame<Bytes>> {
        let mut trailers = self.trailers.take()?;
        hop::clean_trailers(&mut trailers);
        self.exchange.redacted(clean_headers(self.patterns.as_ref(), &mut trailers));
        Some(Frame::trailers(trailers))
    }
}

impl Body for Cleaned {
    type Data = Bytes;
    type Error = AnswerError;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, AnswerError>>> {
        let this = self.get_mut();
        while !this.ended {
            let Poll::Ready(frame) = this.exchange.poll_body(&mut this.body, context) else {
                ready!(this.patience.poll(context));
                this.exchange.failed(EgressReason::UpstreamIdle);
                return Poll::Ready(Some(Err(AnswerError::Stopped(EgressReason::UpstreamIdle))));
            };
            this.patience.begin_anew();
            match frame {
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) => match this.piece(data) {
                        Ok(Some(piece)) => return Poll::Ready(Some(Ok(Frame::data(piece)))),
                        Ok(None) => {}
                        Err(error) => {
                            this.exchange.failed(match error {
                                AnswerError::Stopped(reason) => reason,
                                _ => EgressReason::DecompressionLimited,
                            });
                            return Poll::Ready(Some(Err(error)));
                        }
                    },
                    Err(frame) => {
                        this.trailers = frame.into_trailers().ok();
                        this.ended = true;
                    }
                },
                Some(Err(error)) => {
                    this.exchange.broke_off();
                    return Poll::Ready(Some(Err(error)));
                }
                None => this.ended = true,
            }
        }
        if this.decoder.take().is_some_and(|decoder| decoder.finish().is_err()) {
            this.exchange.failed(EgressReason::UpstreamClosed);
            return Poll::Ready(Some(Err(AnswerError::Undecodable)));
        }
        if let Some(rest) = this.rest() {
            return Poll::Ready(Some(Ok(Frame::data(rest))));
        }
        let trailers = this.take_trailers();
        this.exchange.completed();
        Poll::Ready(trailers.map(Ok))
    }

    fn is_end_stream(&self) -> bool {
        let kept_back = self.redactor.as_ref().is_some_and(|redactor| redactor.held() > 0);
        self.body.is_end_stream() && !kept_back && self.trailers.is_none() && self.decoder.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        match self.redactor {
            None => self.body.size_hint(),
            Some(_) => SizeHint::default(),
        }
    }
}

impl Drop for Cleaned {
    /// A body whose end was known before it came is not asked for it.
    fn drop(&mut self) {
        self.exchange.redacted(self.redactor.as_ref().map_or(0, Redactor::matches));
        if self.body.is_end_stream() {
            self.exchange.completed();
        }
    }
}

/// Takes secrets out of the head of an answer, and says how many. Words beside the status that have one in them are
/// left out: the usual ones say as much.
pub(crate) fn clean_head(patterns: Option<&Arc<Patterns>>, parts: &mut response::Parts) -> u64 {
    let count = clean_headers(patterns, &mut parts.headers);
    let Some((patterns, reason)) = patterns.zip(parts.extensions.get::<ReasonPhrase>()) else { return count };
    let mut one = Redactor::new(patterns.clone(), Replacement::Marker);
    let mut clean = Vec::new();
    one.push_all(reason.as_bytes(), &mut clean);
    one.finish(&mut clean);
    if one.matches() > 0 {
        parts.extensions.remove::<ReasonPhrase>();
    }
    count + one.matches()
}

/// Takes secrets out of header values, and says how many. One pass over all values finds out whether there is
/// anything to do; almost always there is not. A header with a secret in its name is left out altogether.
fn clean_headers(patterns: Option<&Arc<Patterns>>, headers: &mut HeaderMap) -> u64 {
    let Some(patterns) = patterns else { return 0 };
    clean_values(patterns, headers) + remove_named(patterns, headers)
}

fn remove_named(patterns: &Patterns, headers: &mut HeaderMap) -> u64 {
    if !headers.keys().any(|name| patterns.stand_in_name(name.as_str())) {
        return 0;
    }
    let named = headers.keys().filter(|name| patterns.stand_in_name(name.as_str())).cloned();
    let named: Vec<HeaderName> = named.collect();
    named.iter().for_each(|name| drop(headers.remove(name)));
    named.len() as u64
}

fn clean_values(patterns: &Arc<Patterns>, headers: &mut HeaderMap) -> u64 {
    // Every piece that is looked at by itself costs as much as a hundred bytes more.
    let mut values = Vec::with_capacity(headers.values().map(|value| value.len() + 1).sum());
    for value in headers.values() {
        values.extend_from_slice(value.as_bytes());
        values.push(b' ');
    }
    let (mut all, mut scratch) = (Redactor::new(patterns.clone(), Replacement::Marker), Vec::new());
    let _ = all.push(&values, &mut scratch);
    all.finish(&mut scratch);
    if all.matches() == 0 {
        return 0;
    }
    let mut count = 0;
    for value in headers.values_mut() {
        let mut one = Redactor::new(patterns.clone(), Replacement::Marker);
        let mut clean = Vec::new();
        one.push_all(value.as_bytes(), &mut clean);
        one.finish(&mut clean);
        if one.matches() > 0 {
            count += one.matches();
            *value = HeaderValue::from_bytes(&clean).unwrap_or(HeaderValue::from_static("[redacted]"));
        }
    }
    count
}
