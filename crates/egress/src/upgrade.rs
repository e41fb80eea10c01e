//! WebSocket: a handshake with the credential put in, then two streams of frames.
//!
//! Compression is not offered to the upstream, so that messages can be looked into on the way: what comes back is
//! cleaned of secrets like any body, and a token in what goes out ends the connection. So does the next message after what
//! allowed it was taken back: a connection does not outlive its permission by more than the silence on it.
//!
//! A client of HTTP/2 asks in another way (RFC 8441). It is asked for at the upstream in the old one, which every
//! server understands; the frames inside are the same.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use aws_lc_rs::digest;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use cofferdam_audit::event::EgressReason;
use http::header::{
    CONNECTION, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_EXTENSIONS, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_VERSION,
    UPGRADE,
};
use http::request::Parts;
use http::{HeaderValue, Method, Response, StatusCode, Version};
use hyper::ext::Protocol;
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncReadExt, AsyncWriteExt, ReadHalf, WriteHalf};

use crate::authorize::Authorized;
use crate::body::{Answer, UpstreamBody, clean_headers};
use crate::exchange::Exchange;
use crate::frames::{Covered, Unmasked};
use crate::hop;
use crate::outgoing::Progress;
use crate::serve::Inbound;
use crate::watch::Watch;

const BUFFER: usize = 16 * 1024;
/// What a server appends to the key to show that it understood (RFC 6455).
const MAGIC: &[u8] = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
/// "This goes against what is allowed here."
const CLOSED_BY_POLICY: [u8; 4] = [0x88, 2, 0x03, 0xf0];

/// The client's side of a change of protocol.
pub(crate) struct Switching {
    client: OnUpgrade,
    asked: Asked,
}

enum Asked {
    /// In HTTP/1.1: the client itself checks what its key was answered with.
    Upgrade,
    /// In HTTP/2, with what our own key must be answered with.
    Connect { accept: HeaderValue },
}

/// Takes the client's side if it wants a WebSocket. Any other change of protocol is not passed on, and the
/// request is answered in the protocol that it came in, as a server may do.
pub(crate) fn prepare(parts: &mut Parts) -> Option<Switching> {
    let asked = match parts.version {
        Version::HTTP_11 => asks_for_upgrade(parts).then_some(Asked::Upgrade)?,
        Version::HTTP_2 => Asked::Connect { accept: translate(parts)? },
        _ => return None,
    };
    let client = parts.extensions.remove::<OnUpgrade>()?;
    parts.headers.remove(SEC_WEBSOCKET_EXTENSIONS);
    Some(Switching { client, asked })
}

fn asks_for_upgrade(parts: &Parts) -> bool {
    parts.headers.get(UPGRADE).is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(b"websocket"))
}

/// Makes the request of an HTTP/2 client one of HTTP/1.1, and says what its answer must hold.
fn translate(parts: &mut Parts) -> Option<HeaderValue> {
    let socket = parts.extensions.get::<Protocol>().is_some_and(|protocol| protocol.as_str() == "websocket");
    if !socket || parts.method != Method::CONNECT {
        return None;
    }
    let mut nonce = [0; 16];
    getrandom::fill(&mut nonce).ok()?;
    let key = STANDARD.encode(nonce);
    let accept = digest::digest(&digest::SHA1_FOR_LEGACY_USE_ONLY, &[key.as_bytes(), MAGIC].concat());
    parts.method = Method::GET;
    parts.extensions.remove::<Protocol>();
    let headers = &mut parts.headers;
    headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
    headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
    headers.insert(SEC_WEBSOCKET_VERSION, HeaderValue::from_static("13"));
    headers.insert(SEC_WEBSOCKET_KEY, HeaderValue::from_str(&key).ok()?);
    HeaderValue::from_str(&STANDARD.encode(accept)).ok()
}

/// Passes the handshake's answer on and splices the two connections.
pub(crate) fn switch(
    inbound: &Arc<Inbound>,
    switching: Switching,
    mut response: Response<UpstreamBody>,
    (mut exchange, authorized): (Exchange, Authorized),
) -> Result<Response<Answer>, EgressReason> {
    let upstream = hyper::upgrade::on(&mut response);
    let patterns = inbound.engine.credentials.patterns();
    let covered = patterns.clone().map(Covered::new);
    let (mut parts, _) = response.into_parts();
    hop::clean_response(&mut parts);
    match switching.asked {
        Asked::Upgrade => {
            parts.headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
            parts.headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
            inbound.verdict.switch_protocol();
        }
        Asked::Connect { accept } => {
            if parts.headers.remove(SEC_WEBSOCKET_ACCEPT) != Some(accept) {
                exchange.failed(EgressReason::UpstreamMalformed);
                return Err(EgressReason::UpstreamMalformed);
            }
            parts.status = StatusCode::OK;
        }
    }
    exchange.redacted(clean_headers(patterns.as_ref(), &mut parts.headers));
    let connection = exchange.take_connection();
    let inbound = inbound.clone();
    tokio::spawn(async move {
        if let Some(connection) = connection {
            connection.end().await;
        }
        if let (Ok(client), Ok(upstream)) = (switching.client.await, upstream.await) {
            let permission = Permission::new(inbound, authorized);
            splice((client, upstream), covered, permission, &mut exchange).await;
        }
    });
    Ok(Response::from_parts(parts, Answer::Own(None)))
}

/// What a connection is kept for, and whether it still may be.
struct Permission {
    inbound: Arc<Inbound>,
    authorized: Authorized,
    watch: Watch,
}

impl Permission {
    fn new(inbound: Arc<Inbound>, authorized: Authorized) -> Self {
        let watch = Watch::new(inbound.clone(), authorized.elsewhere());
        Self { inbound, authorized, watch }
    }

    fn still_holds(&self) -> Result<(), EgressReason> {
        let Inbound { client, engine, .. } = &*self.inbound;
        self.authorized.still_holds(&client.policy.now(), &engine.tokens, client.id)
    }
}

type Side = TokioIo<Upgraded>;

/// Each direction ends by itself, so that one side may have the last word; one that must not go on ends both.
async fn splice(
    (client, upstream): (Upgraded, Upgraded),
    covered: Option<Covered>,
    permission: Permission,
    exchange: &mut Exchange,
) {
    let (client_in, mut client_out) = tokio::io::split(TokioIo::new(client));
    let (upstream_in, mut upstream_out) = tokio::io::split(TokioIo::new(upstream));
    let progress = exchange.progress().clone();
    let ended = tokio::try_join!(
        there(client_in, &mut upstream_out, &progress, permission),
        back(upstream_in, &mut client_out, exchange, covered),
    );
    match ended {
        Ok(_) => exchange.completed(),
        Err(reason) => {
            exchange.failed(reason);
            let _ = client_out.write_all(&CLOSED_BY_POLICY).await;
            let _ = client_out.shutdown().await;
        }
    }
}

async fn there(
    mut client: ReadHalf<Side>,
    upstream: &mut WriteHalf<Side>,
    progress: &Progress,
    mut permission: Permission,
) -> Result<(), EgressReason> {
    let (mut buffer, mut frames) = (vec![0; BUFFER], Unmasked::default());
    while let Ok(count @ 1..) = client.read(&mut buffer).await {
        let piece = &buffer[..count];
        progress.sent.fetch_add(count as u64, Ordering::Relaxed);
        progress.spend(count)?;
        permission.still_holds()?;
        let watch = &mut permission.watch;
        let mut found = Ok(());
        let look = |text: &[u8]| match text {
            [] => watch.begin_anew(),
            text if found.is_ok() => found = watch.look(text),
            _ => {}
        };
        frames.push(piece, look).map_err(|_| EgressReason::MalformedRequest)?;
        found?;
        if upstream.write_all(piece).await.is_err() {
            break;
        }
    }
    let _ = upstream.shutdown().await;
    Ok(())
}

async fn back(
    mut upstream: ReadHalf<Side>,
    client: &mut WriteHalf<Side>,
    exchange: &mut Exchange,
    mut covered: Option<Covered>,
) -> Result<(), EgressReason> {
    let (mut buffer, mut clean, mut known) = (vec![0; BUFFER], Vec::new(), 0);
    while let Ok(count @ 1..) = upstream.read(&mut buffer).await {
        exchange.received(count)?;
        let shown = match &mut covered {
            None => &buffer[..count],
            Some(covered) => {
                clean.clear();
                covered.push(&buffer[..count], &mut clean).map_err(|_| EgressReason::UpstreamMalformed)?;
                exchange.redacted(covered.matches() - std::mem::replace(&mut known, covered.matches()));
                &clean
            }
        };
        if client.write_all(shown).await.is_err() {
            break;
        }
    }
    let _ = client.shutdown().await;
    Ok(())
}
