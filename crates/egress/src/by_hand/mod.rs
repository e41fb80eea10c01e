//! The requests that almost all are, without the HTTP library on either side.
//!
//! A head that came whole, its body behind it or none, and nothing in it that concerns the connection: that is read, sent
//! on and answered here, with one buffer for each way. What the library sets up to be ready for everything else (channels
//! between tasks, a map of how names were written, buffers that wait) costs more than all that is decided about such
//! a request. Whatever is different in the least is given to the library, with all bytes that came: the request by
//! `inward`, the answer by `outward`. Neither decides anything about a request: both lead through `forward`.

mod heads;
mod inward;
mod outward;
mod replayed;

pub(crate) use heads::{Spelled, write_early};
pub(crate) use inward::{Rest, requests};
pub(crate) use outward::{ByHand, Held, Remaining, Unanswered};

use std::cell::RefCell;
use std::io;
use std::pin::pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use tokio::io::{AsyncRead, AsyncReadExt};

/// As much as one record of TLS holds.
const PIECE: usize = 16 * 1024;

thread_local! {
    /// What is read goes here first, so that a connection that waits has no buffer and one that is read from has one of
    /// just the size that is needed.
    static LANDING: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// The bytes that are there, or none at the end.
fn poll_bytes(stream: &mut (impl AsyncRead + Unpin), context: &mut Context<'_>) -> Poll<io::Result<Bytes>> {
    LANDING.with_borrow_mut(|landing| {
        landing.clear();
        landing.reserve(PIECE);
        ready!(pin!(stream.read_buf(landing)).poll(context))?;
        Poll::Ready(Ok(Bytes::copy_from_slice(landing)))
    })
}
