//! Requests to an upstream, many on one connection.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use cofferdam_audit::event::EgressReason;
use h2::client::{Builder, SendRequest};
use http::header::CONTENT_LENGTH;
use http::{HeaderValue, Method, Request, Response};
use http_body::Body;
use tokio::io::{AsyncRead, AsyncWrite};

use super::piped::Piped;
use super::{CONNECTION_WINDOW, LONGEST_HEAD, Received, STREAM_WINDOW, gather};
use crate::body::UpstreamBody;
use crate::by_hand::Unanswered;
use crate::outgoing::Outgoing;

/// As many requests as are sent before the upstream has said how many it takes.
const AT_FIRST: usize = 100;
/// What may wait in a stream for the upstream to take it.
const MOST_UNSENT: usize = 1 << 20;

/// The sending end of a connection. It ends when the last of these is gone and all answers have come.
#[derive(Clone)]
pub(crate) struct Http2 {
    sender: SendRequest<Bytes>,
}

impl Http2 {
    pub async fn begin(
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    ) -> Result<Self, EgressReason> {
        let (stream, outlet) = gather(stream);
        let begun = Builder::new()
            .enable_push(false)
            .initial_max_send_streams(AT_FIRST)
            .initial_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .max_header_list_size(LONGEST_HEAD)
            .max_send_buffer_size(MOST_UNSENT)
            .handshake(stream)
            .await;
        let (sender, connection) = begun.map_err(|_| EgressReason::UpstreamClosed)?;
        // What breaks a connection is reported to the requests on it.
        tokio::spawn(outlet.follow(connection));
        Ok(Self { sender })
    }

    /// Whether it takes no more requests.
    pub fn is_closed(&mut self) -> bool {
        let ready = self.sender.poll_ready(&mut Context::from_waker(Waker::noop()));
        matches!(ready, Poll::Ready(Err(_)))
    }

    /// How many requests it takes at once. What is more would wait in the library, where it cannot be had back.
    pub fn most_streams(&self) -> usize {
        self.sender.current_max_send_streams()
    }

    /// Sends a request and waits for the head of its answer. A request is given back if nothing of it was sent.
    pub async fn send(mut self, request: Request<Outgoing>) -> Result<Response<UpstreamBody>, Unanswered> {
        if self.is_closed() {
            return Err((Some(request), EgressReason::UpstreamClosed));
        }
        let (mut parts, body) = request.into_parts();
        announce_length(&mut parts, &body);
        let ended = body.is_end_stream();
        let closed = |_| (None, EgressReason::UpstreamClosed);
        let (mut answer, stream) =
            self.sender.send_request(Request::from_parts(parts, ()), ended).map_err(closed)?;
        let mut piped = (!ended).then(|| Piped::new(body, stream));
        let answer = poll_fn(|context| {
            if piped.as_mut().is_some_and(|piped| Pin::new(piped).poll(context).is_ready()) {
                piped = None;
            }
            Pin::new(&mut answer).poll(context)
        });
        let answer = answer.await.map_err(closed)?;
        // An answer may begin before its request has ended.
        if let Some(rest) = piped {
            tokio::spawn(rest);
        }
        Ok(answer.map(|stream| UpstreamBody::Http2(Received::new(stream))))
    }
}

/// A length that is known is said, also that of no body where one is to be expected (RFC 9110, 8.6).
fn announce_length(parts: &mut http::request::Parts, body: &Outgoing) {
    let Some(length) = body.size_hint().exact() else { return };
    let expected = ![Method::GET, Method::HEAD, Method::DELETE, Method::CONNECT].contains(&parts.method);
    if (length != 0 || expected) && !parts.headers.contains_key(CONTENT_LENGTH) {
        parts.headers.insert(CONTENT_LENGTH, HeaderValue::from(length));
    }
}
