//! A body on its way into a stream of HTTP/2, no faster than the other side takes it.

use std::error::Error;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use h2::{Reason, SendStream};
use http_body::Body;

/// Ends when all of the body is in the stream, or the stream is no more.
pub(super) struct Piped<B> {
    body: B,
    stream: SendStream<Bytes>,
    /// A piece that there is no room for yet, and whether it is the last one.
    waiting: Option<(Bytes, bool)>,
}

impl<B> Piped<B>
where
    B: Body<Data = Bytes> + Unpin,
    B::Error: Error + 'static,
{
    pub fn new(body: B, stream: SendStream<Bytes>) -> Self {
        Self { body, stream, waiting: None }
    }

    /// Ready with whether there may be more.
    fn poll_step(&mut self, context: &mut Context<'_>) -> Poll<Result<bool, h2::Error>> {
        // Whoever is told that nobody listens any more stops, whatever it waits for.
        if let Poll::Ready(reason) = self.stream.poll_reset(context)? {
            return Poll::Ready(Err(reason.into()));
        }
        if self.waiting.is_some() {
            while self.stream.capacity() == 0 {
                if ready!(self.stream.poll_capacity(context)).transpose()?.is_none() {
                    return Poll::Ready(Ok(false));
                }
            }
            let (piece, last) = self.waiting.take().unwrap_or_default();
            self.stream.send_data(piece, last)?;
            return Poll::Ready(Ok(!last));
        }
        // Room is asked for when there is something to put in: what one stream has reserved, others of the connection lack.
        match ready!(Pin::new(&mut self.body).poll_frame(context)) {
            None => {
                self.stream.send_data(Bytes::new(), true)?;
                Poll::Ready(Ok(false))
            }
            Some(Err(error)) => {
                self.stream.send_reset(reason_of(&error));
                Poll::Ready(Ok(false))
            }
            Some(Ok(frame)) => match frame.into_data() {
                Ok(piece) => {
                    let last = self.body.is_end_stream();
                    if piece.is_empty() {
                        self.stream.send_data(piece, last)?;
                        return Poll::Ready(Ok(!last));
                    }
                    // More is not needed to begin, and would be taken from others while this one waits.
                    self.stream.reserve_capacity(1);
                    self.waiting = Some((piece, last));
                    Poll::Ready(Ok(true))
                }
                Err(frame) => {
                    let Ok(trailers) = frame.into_trailers() else { return Poll::Ready(Ok(true)) };
                    self.stream.reserve_capacity(0);
                    self.stream.send_trailers(trailers)?;
                    Poll::Ready(Ok(false))
                }
            },
        }
    }
}

impl<B> Future for Piped<B>
where
    B: Body<Data = Bytes> + Unpin,
    B::Error: Error + 'static,
{
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let this = self.get_mut();
        while let Ok(true) = ready!(this.poll_step(context)) {}
        Poll::Ready(())
    }
}

/// What the stream of a body that broke off says: the same as the one that it came from, if it came from one.
fn reason_of(error: &(dyn Error + 'static)) -> Reason {
    let mut cause = Some(error);
    while let Some(error) = cause {
        if let Some(reason) = error.downcast_ref::<h2::Error>().and_then(h2::Error::reason) {
            return reason;
        }
        cause = error.source();
    }
    Reason::INTERNAL_ERROR
}
