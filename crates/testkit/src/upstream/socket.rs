//! A WebSocket that says which credential it was opened with, and then repeats what it is told.

use aws_lc_rs::digest;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hyper::header::{CONNECTION, HeaderValue, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, UPGRADE};
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper::{HeaderMap, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::reply::Frames;

/// What a server appends to the key to show that it understood (RFC 6455).
const MAGIC: &[u8] = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
const CLOSE: u8 = 0x88;

/// Agrees to a WebSocket, and serves it on this thread.
pub(super) fn open(headers: &HeaderMap, client: OnUpgrade) -> Response<Frames> {
    let key = headers.get(SEC_WEBSOCKET_KEY).map_or(&b""[..], HeaderValue::as_bytes);
    let accept = digest::digest(&digest::SHA1_FOR_LEGACY_USE_ONLY, &[key, MAGIC].concat());
    let told = headers.get("authorization").map_or(&b"none"[..], HeaderValue::as_bytes).to_vec();
    tokio::task::spawn_local(async move {
        if let Ok(client) = client.await {
            // How a client ends its connection is its own business.
            let _ = converse(TokioIo::new(client), &told).await;
        }
    });
    let mut response = Response::new(Frames::of([]));
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    let headers = response.headers_mut();
    headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
    headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
    let accept = HeaderValue::from_str(&STANDARD.encode(accept));
    headers.insert(SEC_WEBSOCKET_ACCEPT, accept.expect("base64 is text"));
    response
}

async fn converse(mut client: TokioIo<Upgraded>, told: &[u8]) -> std::io::Result<()> {
    client.write_all(&frame(0x81, told)).await?;
    loop {
        let mut head = [0; 2];
        client.read_exact(&mut head).await?;
        let length = match head[1] & 0x7f {
            126 => u64::from(client.read_u16().await?),
            127 => client.read_u64().await?,
            short => u64::from(short),
        };
        let mut mask = [0; 4];
        client.read_exact(&mut mask).await?;
        let mut text = vec![0; usize::try_from(length).expect("a message of a test")];
        client.read_exact(&mut text).await?;
        text.iter_mut().zip(mask.iter().cycle()).for_each(|(byte, key)| *byte ^= key);
        client.write_all(&frame(head[0], &text)).await?;
        if head[0] == CLOSE {
            return client.shutdown().await;
        }
    }
}

fn frame(first: u8, text: &[u8]) -> Vec<u8> {
    let length = match text.len() {
        short @ ..126 => vec![u8::try_from(short).expect("less than 126")],
        longer => [&[127][..], &(longer as u64).to_be_bytes()].concat(),
    };
    [&[first][..], &length, text].concat()
}
