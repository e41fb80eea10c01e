//! One request that was let through, until its end is on record.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};
use std::time::Instant;

use bytes::Bytes;
use cofferdam_audit::event::{EgressReason, EgressResponse, ResponsePlace, SecretRedacted};
use cofferdam_audit::{Event, HostName, Label};
use http_body::{Body, Frame};

use crate::body::{AnswerError, UpstreamBody};
use crate::by_hand::Held;
use crate::dial::Http1;
use crate::outgoing::Progress;
use crate::pool::Lease;
use crate::serve::Inbound;

/// Writes how the request ended when it is dropped, whichever way that comes about, and gives the connection back
/// if it can be used again.
pub(crate) struct Exchange {
    inbound: Arc<Inbound>,
    host: HostName,
    provider: Option<Label>,
    started: Instant,
    progress: Arc<Progress>,
    status: Option<u16>,
    received: u64,
    redacted: u64,
    end: End,
    lease: Option<Lease>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Open,
    Complete,
    Failed(EgressReason),
}

impl Exchange {
    pub fn begin(
        inbound: Arc<Inbound>,
        host: HostName,
        provider: Option<Label>,
        progress: Arc<Progress>,
    ) -> Self {
        let (started, status, end) = (Instant::now(), None, End::Open);
        inbound.shard.ledger.began();
        Self {
            inbound,
            host,
            provider,
            started,
            progress,
            status,
            received: 0,
            redacted: 0,
            end,
            lease: None,
        }
    }

    /// The head of the answer is here; the connection is held until its body has ended.
    pub fn answered(&mut self, status: u16, lease: Option<Lease>) {
        (self.status, self.lease) = (Some(status), lease);
    }

    /// More of the answer, from the connection that it comes on.
    pub fn poll_body(
        &mut self,
        body: &mut UpstreamBody,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, AnswerError>>> {
        let connection = self.lease.as_mut().and_then(Lease::connection);
        let more = match (body, connection) {
            (UpstreamBody::ByHand(remaining), Some(Held::ByHand(connection))) => {
                return connection.poll_frame(remaining, context);
            }
            (UpstreamBody::Http2(body), _) => {
                return Pin::new(body).poll_frame(context).map_err(|_| AnswerError::BrokenOff);
            }
            (UpstreamBody::ByHand(_), _) => return Poll::Ready(Some(Err(AnswerError::BrokenOff))),
            (UpstreamBody::Library(body), Some(Held::Library(connection))) => {
                connection.drive(context, |context| Pin::new(&mut *body).poll_frame(context))
            }
            (UpstreamBody::Library(body), _) => Pin::new(body).poll_frame(context),
        };
        more.map_err(AnswerError::Upstream)
    }

    /// The connection, for something other than answers.
    pub fn take_connection(&mut self) -> Option<Http1> {
        match self.lease.take().and_then(Lease::keep) {
            Some(Held::Library(connection)) => Some(connection),
            _ => None,
        }
    }

    pub fn progress(&self) -> &Arc<Progress> {
        &self.progress
    }

    pub fn failed(&mut self, reason: EgressReason) {
        self.end = End::Failed(reason);
    }

    /// More of the answer has come; whether it may go on.
    pub fn received(&mut self, bytes: usize) -> Result<(), EgressReason> {
        self.received += bytes as u64;
        self.progress.spend(bytes)
    }

    pub fn redacted(&mut self, count: u64) {
        self.redacted += count;
    }

    pub fn broke_off(&mut self) {
        self.end = End::Failed(EgressReason::UpstreamClosed);
    }

    pub fn completed(&mut self) {
        if self.end == End::Open {
            self.end = End::Complete;
            if let Some(lease) = self.lease.take() {
                lease.give_back();
            }
        }
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        let failure = match self.end {
            End::Complete => None,
            End::Open => Some(EgressReason::ClientClosed),
            End::Failed(reason) => Some(reason),
        };
        let redacted = (self.redacted > 0).then(|| {
            Event::from(SecretRedacted {
                host: self.host.clone(),
                provider: self.provider.clone().unwrap_or_else(|| Label::new("none")),
                place: ResponsePlace::Body,
                count: self.redacted,
            })
        });
        let end = Event::from(EgressResponse {
            host: self.host.clone(),
            status: self.status,
            failure,
            bytes_sent: self.progress.sent.load(Ordering::Relaxed),
            bytes_received: self.received,
            microseconds: u64::try_from(self.started.elapsed().as_micros()).unwrap_or(u64::MAX),
        });
        self.inbound.shard.ledger.ended(&self.inbound.client, redacted.into_iter().chain([end]));
    }
}
