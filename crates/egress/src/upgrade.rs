//! WebSocket: a handshake with the credential put in, then two streams of bytes.
//!
//! Compression is not offered to the upstream, and frames from a server are not masked, so a secret in one stands there
//! as it is: what comes back goes through the same search as any body, with as many bytes put in as are taken out,
//! which leaves the frames as they are. Frames that a secret is spread over are not put together.

use cofferdam_secrets::redaction::{Passed, Redactor, Replacement};
use http::header::{CONNECTION, SEC_WEBSOCKET_EXTENSIONS, UPGRADE};
use http::request::Parts;
use http::{HeaderValue, Response, Version};
use hyper::body::Incoming;
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::body::{Answer, clean_headers};
use crate::exchange::Exchange;
use crate::hop;
use crate::serve::Inbound;

const BUFFER: usize = 16 * 1024;

/// The client's side of a change of protocol.
pub(crate) struct Switching {
    client: OnUpgrade,
}

/// Takes the client's side if it wants a WebSocket. Any other change of protocol is not passed on, and the
/// request is answered in the protocol that it came in, as a server may do.
pub(crate) fn prepare(parts: &mut Parts) -> Option<Switching> {
    let socket =
        parts.headers.get(UPGRADE).is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(b"websocket"));
    if !socket || parts.version != Version::HTTP_11 {
        return None;
    }
    let client = parts.extensions.remove::<OnUpgrade>()?;
    parts.headers.remove(SEC_WEBSOCKET_EXTENSIONS);
    Some(Switching { client })
}

/// Passes the handshake's answer on and splices the two connections.
pub(crate) fn switch(
    inbound: &Inbound,
    switching: Switching,
    mut response: Response<Incoming>,
    mut exchange: Exchange,
) -> Response<Answer> {
    let upstream = hyper::upgrade::on(&mut response);
    let patterns = inbound.engine.credentials.patterns();
    let redactor = patterns.clone().map(|patterns| Redactor::new(patterns, Replacement::SameLength(b'*')));
    let (mut parts, _) = response.into_parts();
    hop::clean_response(&mut parts);
    parts.headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
    parts.headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
    exchange.redacted(clean_headers(patterns.as_ref(), &mut parts.headers));
    inbound.verdict.switch_protocol();
    let connection = exchange.take_connection();
    tokio::spawn(async move {
        if let Some(connection) = connection {
            connection.end().await;
        }
        if let (Ok(client), Ok(upstream)) = (switching.client.await, upstream.await) {
            splice(client, upstream, redactor, &mut exchange).await;
            exchange.completed();
        }
    });
    Response::from_parts(parts, Answer::Own(None))
}

/// Each direction ends by itself, so that one side may have the last word.
async fn splice(
    client: Upgraded,
    upstream: Upgraded,
    mut redactor: Option<Redactor>,
    exchange: &mut Exchange,
) {
    let (mut client_in, mut client_out) = tokio::io::split(TokioIo::new(client));
    let (mut upstream_in, mut upstream_out) = tokio::io::split(TokioIo::new(upstream));
    let there = async {
        let _ = tokio::io::copy(&mut client_in, &mut upstream_out).await;
        let _ = upstream_out.shutdown().await;
    };
    let back = async {
        let (mut buffer, mut cleaned) = (vec![0; BUFFER], Vec::new());
        while let Ok(count @ 1..) = upstream_in.read(&mut buffer).await {
            if let Err(reason) = exchange.received(count) {
                exchange.failed(reason);
                break;
            }
            let piece = &buffer[..count];
            let shown = match redactor.as_mut().map(|redactor| redactor.push(piece, &mut cleaned)) {
                None => piece,
                Some(Passed::Prefix(end)) => &piece[..end],
                Some(Passed::Written) => &cleaned,
            };
            if client_out.write_all(shown).await.is_err() {
                break;
            }
            cleaned.clear();
        }
        if let Some(redactor) = &mut redactor {
            redactor.finish(&mut cleaned);
            exchange.redacted(redactor.matches());
            let _ = client_out.write_all(&cleaned).await;
        }
        let _ = client_out.shutdown().await;
    };
    tokio::join!(there, back);
}
