//! A body that comes in a stream of HTTP/2.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use h2::{Reason, RecvStream};
use http_body::{Body, Frame};

pub(crate) struct Received {
    stream: RecvStream,
    /// Only trailers may follow.
    data_ended: bool,
}

impl Received {
    pub fn new(stream: RecvStream) -> Self {
        Self { stream, data_ended: false }
    }
}

impl Body for Received {
    type Data = Bytes;
    type Error = h2::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, h2::Error>>> {
        let this = self.get_mut();
        if !this.data_ended {
            match ready!(this.stream.poll_data(context)) {
                Some(Ok(data)) => {
                    // Whoever asks for the next piece has passed this one on.
                    let _ = this.stream.flow_control().release_capacity(data.len());
                    return Poll::Ready(Some(Ok(Frame::data(data))));
                }
                Some(Err(error)) => return Poll::Ready(unless_complete(error).map(Err)),
                None => this.data_ended = true,
            }
        }
        Poll::Ready(match ready!(this.stream.poll_trailers(context)) {
            Ok(trailers) => trailers.map(|trailers| Ok(Frame::trailers(trailers))),
            Err(error) => unless_complete(error).map(Err),
        })
    }

    fn is_end_stream(&self) -> bool {
        self.stream.is_end_stream()
    }
}

/// A server that has said all it wants to say ends a stream without an error (RFC 9113, 8.1).
fn unless_complete(error: h2::Error) -> Option<h2::Error> {
    (error.reason() != Some(Reason::NO_ERROR)).then_some(error)
}
