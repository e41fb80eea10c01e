//! Heads that come before an answer (1xx): hints about what to load, and signs of life.
//!
//! Who waits for the answer gets each of them as it comes, without what is not for a client, like any head. There is one
//! place for them in a connection, because a client of HTTP/1.1 waits for one answer at a time: whoever reads from the
//! upstream puts them there, and whoever writes to the client takes them before anything of the answer. An ordinary
//! request finds the place empty and does not even look behind the door.
//!
//! Clients of HTTP/2 get none: the HTTP library has no way to send them there, so that those of an upstream of HTTP/2 are
//! left out. Clients of HTTP/1.0 would take one for the answer (RFC 9110, 15.2).

use std::future::poll_fn;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker, ready};

use http::header::CONTENT_LENGTH;
use http::{Request, Response};

use crate::body::clean_head;
use crate::by_hand;
use crate::hop;
use crate::serve::Inbound;

/// More than any server has a reason for; who sends more is not waited for.
const MOST_HEADS: usize = 32;
const MOST_BYTES: usize = 64 * 1024;

/// More heads came than anybody has use for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Flood;

/// The heads of one connection that are on their way to its client.
#[derive(Debug, Default)]
pub(crate) struct Early {
    /// Whether there is anything behind the door.
    any: AtomicBool,
    waiting: Mutex<Waiting>,
}

#[derive(Debug, Default)]
struct Waiting {
    /// What has not been written.
    bytes: Vec<u8>,
    /// Of the request that is under way, written or not.
    heads: usize,
    length: usize,
    redacted: u64,
    /// Who has the answer, and waits for these to be out.
    answer: Option<Waker>,
}

impl Early {
    fn waiting(&self) -> Option<MutexGuard<'_, Waiting>> {
        let any = self.any.load(Ordering::Acquire);
        any.then(|| self.waiting.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn add(&self, head: &[u8], redacted: u64) -> Result<(), Flood> {
        self.any.store(true, Ordering::Release);
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.heads += 1;
        waiting.length += head.len();
        if waiting.heads > MOST_HEADS || waiting.length > MOST_BYTES {
            return Err(Flood);
        }
        waiting.bytes.extend_from_slice(head);
        waiting.redacted += redacted;
        Ok(())
    }

    /// Whether something is to be written now.
    pub fn is_waiting(&self) -> bool {
        self.waiting().is_some_and(|waiting| !waiting.bytes.is_empty())
    }

    /// What is to be written now, if anything.
    pub fn take(&self) -> Option<Vec<u8>> {
        let mut waiting = self.waiting()?;
        let bytes = std::mem::take(&mut waiting.bytes);
        self.close_door(&waiting);
        (!bytes.is_empty()).then_some(bytes)
    }

    fn close_door(&self, waiting: &Waiting) {
        if waiting.bytes.is_empty() && waiting.heads == 0 {
            self.any.store(false, Ordering::Release);
        }
    }

    /// Writes what is to be written. To be called where one message has ended and the next one has not begun.
    pub fn poll_write_out(
        &self,
        context: &mut Context<'_>,
        mut write: impl FnMut(&mut Context<'_>, &[u8]) -> Poll<io::Result<usize>>,
    ) -> Poll<io::Result<()>> {
        let Some(mut waiting) = self.waiting() else { return Poll::Ready(Ok(())) };
        while !waiting.bytes.is_empty() {
            let count = match ready!(write(context, &waiting.bytes)) {
                Ok(0) => Err(io::ErrorKind::WriteZero.into()),
                other => other,
            };
            waiting.bytes.drain(..count?);
        }
        self.close_door(&waiting);
        if let Some(answer) = waiting.answer.take() {
            answer.wake();
        }
        Poll::Ready(Ok(()))
    }

    /// Until everything has been written.
    pub async fn written_out(&self) {
        poll_fn(|context| match self.waiting() {
            Some(mut waiting) if !waiting.bytes.is_empty() => {
                waiting.answer = Some(context.waker().clone());
                Poll::Pending
            }
            _ => Poll::Ready(()),
        })
        .await;
    }

    /// The answer has begun: how many secrets were taken out of what came before it.
    pub fn ended(&self) -> u64 {
        let Some(mut waiting) = self.waiting() else { return 0 };
        (waiting.heads, waiting.length) = (0, 0);
        self.close_door(&waiting);
        std::mem::take(&mut waiting.redacted)
    }
}

/// Passes a head on to the client of a connection.
pub(crate) fn pass_on(inbound: &Inbound, head: Response<()>) -> Result<(), Flood> {
    let (mut parts, ()) = head.into_parts();
    hop::clean_response(&mut parts);
    // There is no body that it could be of, whatever it says.
    parts.headers.remove(CONTENT_LENGTH);
    let redacted = clean_head(inbound.engine.credentials.patterns().as_ref(), &mut parts);
    let mut bytes = Vec::new();
    by_hand::write_early(&parts, &mut bytes);
    inbound.verdict.early.add(&bytes, redacted)
}

/// Has the library show what it reads before the answer to a request. What is too much is left out: the library
/// would not listen to an objection.
pub(crate) fn listen<B>(inbound: &Arc<Inbound>, request: &mut Request<B>) {
    let inbound = inbound.clone();
    hyper::ext::on_informational(request, move |head| {
        let mut response = Response::new(());
        *response.status_mut() = head.status();
        *response.headers_mut() = head.headers().clone();
        let _ = pass_on(&inbound, response);
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn req_e22_what_comes_before_an_answer_is_bounded_and_counted_anew_for_each() {
        let early = Early::default();
        assert_eq!(early.take(), None);
        for _ in 0..MOST_HEADS {
            assert_eq!(early.add(b"x", 1), Ok(()));
        }
        assert_eq!(early.add(b"x", 1), Err(Flood));
        assert_eq!(early.take().map(|bytes| bytes.len()), Some(MOST_HEADS));
        assert_eq!((early.ended(), early.ended()), (MOST_HEADS as u64, 0));
        assert_eq!(early.add(&vec![b'x'; MOST_BYTES], 0), Ok(()));
        assert_eq!(early.add(b"x", 0), Err(Flood));
    }
}
