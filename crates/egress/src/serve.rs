//! From an accepted connection to requests.
//!
//! One port takes three kinds of clients, told apart by their first bytes: a TLS handshake (somebody who thinks we are
//! the target), `CONNECT` (a proxy client that wants a tunnel), and any other request. A tunnel is intercepted: inside
//! it we are the target, with a certificate of our own.
//!
//! `CONNECT` is read by hand and not by the HTTP library, because nothing of what the library sets up for a connection
//! is needed once the tunnel is open.

use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use cofferdam_audit::HostName;
use cofferdam_audit::event::{EgressReason, EgressTunnel, Outcome};
use cofferdam_policy::host::Host;
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use rustls::server::Acceptor;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::LazyConfigAcceptor;

use crate::authorize::{self, Tunnel};
use crate::client::{Client, Door};
use crate::engine::Engine;
use crate::forward;
use crate::head;
use crate::prefixed::Prefixed;
use crate::refusal;
use crate::shard::Shard;
use crate::strict::{Strict, Verdict};
use crate::target::{Arrival, Protocol, Target, TargetError};

/// Until a client has said what it wants.
const OPENING_TIMEOUT: Duration = Duration::from_secs(30);
/// Between two requests, and for the head of one.
const IDLE_TIMEOUT: Duration = Duration::from_secs(300);
const CONNECT: &[u8] = b"CONNECT ";
const HANDSHAKE: u8 = 0x16;
const ESTABLISHED: &[u8] = b"HTTP/1.1 200 Connection established\r\n\r\n";
/// A fatal alert, "access denied": the only word a client understands before the handshake is over.
const ACCESS_DENIED: &[u8] = &[0x15, 0x03, 0x03, 0x00, 0x02, 0x02, 49];

/// What all requests of a connection have in common.
pub(crate) struct Inbound {
    pub engine: Arc<Engine>,
    pub shard: Arc<Shard>,
    pub client: Arc<Client>,
    pub arrival: Arrival,
    pub verdict: Arc<Verdict>,
}

/// Serves one connection to its end. How a client ends it is its own business, so errors go nowhere.
pub(crate) async fn connection(shard: Arc<Shard>, client: Arc<Client>, stream: std::net::TcpStream) {
    let Ok(stream) = TcpStream::from_std(stream) else { return };
    let _ = stream.set_nodelay(true);
    let _ = serve(shard, client, stream).await;
}

async fn serve(shard: Arc<Shard>, client: Arc<Client>, mut stream: TcpStream) -> io::Result<()> {
    let dialled = client.dialled(&stream);
    let first = opening(first_bytes(&mut stream)).await?;
    match first.as_slice() {
        [] => Ok(()),
        [HANDSHAKE, ..] => {
            let port = match client.door {
                Door::Proxy => Protocol::Https.default_port(),
                Door::Transparent { port } => port,
            };
            handshake(shard, client, Prefixed::new(stream, first), Named::InHandshake { dialled, port }).await
        }
        start if start.starts_with(CONNECT) => connect(shard, client, stream, first).await,
        _ => {
            let arrival = match client.door {
                Door::Proxy => Arrival::Proxy,
                Door::Transparent { port } => {
                    Arrival::Transparent { port, dialled: dialled.filter(|host| host.name().is_some()) }
                }
            };
            requests(Inbound::new(shard, client, arrival), stream, first).await
        }
    }
}

async fn opening<T>(future: impl Future<Output = io::Result<T>>) -> io::Result<T> {
    timeout(OPENING_TIMEOUT, future).await.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
}

/// Enough bytes to tell the three apart.
async fn first_bytes(stream: &mut (impl AsyncRead + Unpin)) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(1024);
    while bytes.len() < CONNECT.len() && CONNECT.starts_with(&bytes) {
        if stream.read_buf(&mut bytes).await? == 0 {
            break;
        }
    }
    Ok(bytes)
}

async fn connect(
    shard: Arc<Shard>,
    client: Arc<Client>,
    mut stream: TcpStream,
    mut bytes: Vec<u8>,
) -> io::Result<()> {
    let head = opening(async {
        loop {
            match head::head_end(&bytes) {
                Ok(Some(end)) => return Ok(Ok(end)),
                Err(violation) => return Ok(Err(violation.reason())),
                Ok(None) if stream.read_buf(&mut bytes).await? == 0 => {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
                Ok(None) => {}
            }
        }
    });
    let asked = head.await?.and_then(|end| tunnel_target(&bytes[..end]).map(|target| (target, end)));
    let (target, end) = match asked {
        Ok(asked) => asked,
        Err(reason) => return refuse(&mut stream, reason).await,
    };
    let tunnel = match open_tunnel(&shard, &client, target).await {
        Ok(tunnel) => tunnel,
        Err(reason) => return refuse(&mut stream, reason).await,
    };
    stream.write_all(ESTABLISHED).await?;
    let mut first = bytes.split_off(end);
    if first.is_empty() && opening(stream.read_buf(&mut first)).await? == 0 {
        return Ok(());
    }
    match first[0] {
        HANDSHAKE => handshake(shard, client, Prefixed::new(stream, first), Named::ByTunnel(tunnel)).await,
        _ => {
            let target = tunnel.target().clone().in_the_clear();
            requests(Inbound::new(shard, client, Arrival::Agreed(target)), stream, first).await
        }
    }
}

/// The target of a `CONNECT`, with which a `Host` must agree.
fn tunnel_target(bytes: &[u8]) -> Result<Target, EgressReason> {
    head::check(bytes).map_err(head::Violation::reason)?;
    let mut headers = [httparse::EMPTY_HEADER; 100];
    let mut request = httparse::Request::new(&mut headers);
    request.parse(bytes).map_err(|_| EgressReason::MalformedRequest)?;
    let text = request.path.ok_or(EgressReason::MalformedRequest)?;
    let target = Target::of_connect(text, Protocol::Https).map_err(TargetError::reason)?;
    let mut hosts = request.headers.iter().filter(|header| header.name.eq_ignore_ascii_case("host"));
    match (hosts.next(), hosts.next()) {
        (None, _) => Ok(target),
        (Some(host), None) if agrees(&target, host.value) => Ok(target),
        _ => Err(EgressReason::TargetMismatch),
    }
}

fn agrees(target: &Target, host: &[u8]) -> bool {
    let named = std::str::from_utf8(host).ok().and_then(|text| Host::parse_with_port(text).ok());
    named.is_some_and(|(host, port)| host == *target.host() && port.is_none_or(|port| port == target.port()))
}

async fn open_tunnel(shard: &Shard, client: &Arc<Client>, target: Target) -> Result<Tunnel, EgressReason> {
    let host = HostName::new(target.host().to_string());
    let port = target.port();
    let judged = authorize::tunnel(&client.policy.now(), target);
    let outcome = match &judged {
        Ok(_) => Outcome::Allowed,
        Err(reason) => Outcome::Refused { reason: *reason },
    };
    let event = EgressTunnel { outcome, host, port, rule: None };
    shard.ledger.record(client, event).await?;
    judged
}

async fn refuse(stream: &mut (impl AsyncWrite + Unpin), reason: EgressReason) -> io::Result<()> {
    stream.write_all(&refusal::bytes(reason)).await?;
    stream.shutdown().await
}

/// Who named the target of a handshake.
enum Named {
    ByTunnel(Tunnel),
    /// Only the handshake itself, and what was dialled.
    InHandshake {
        dialled: Option<Host>,
        port: u16,
    },
}

async fn handshake(
    shard: Arc<Shard>,
    client: Arc<Client>,
    stream: Prefixed<TcpStream>,
    named: Named,
) -> io::Result<()> {
    let mut start = opening(LazyConfigAcceptor::new(Acceptor::default(), stream)).await?;
    let name = start.client_hello().server_name().map(str::to_owned);
    let tunnel = agreed_tunnel(&shard, &client, name.as_deref(), named).await;
    let config = tunnel.and_then(|tunnel| {
        Ok((shard.engine.leaves.config(&tunnel).map_err(|_| EgressReason::MintFailed)?, tunnel))
    });
    let Ok((config, tunnel)) = config else {
        start.io.write_all(ACCESS_DENIED).await?;
        return start.io.shutdown().await;
    };
    let stream = opening(start.into_stream(config)).await?;
    let h2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
    let inbound = Inbound::new(shard, client, Arrival::Agreed(tunnel.target().clone()));
    match h2 {
        true => streams(inbound, stream).await,
        false => requests(inbound, stream, Vec::new()).await,
    }
}

async fn agreed_tunnel(
    shard: &Shard,
    client: &Arc<Client>,
    server_name: Option<&str>,
    named: Named,
) -> Result<Tunnel, EgressReason> {
    match named {
        Named::ByTunnel(tunnel) => {
            tunnel.target().confirmed_by(server_name).map_err(TargetError::reason)?;
            Ok(tunnel)
        }
        Named::InHandshake { dialled, port } => {
            let named = server_name.map(str::to_owned).or_else(|| dialled.as_ref().map(Host::to_string));
            match Target::of_handshake(server_name, dialled, port).map_err(TargetError::reason) {
                Ok(target) => open_tunnel(shard, client, target).await,
                Err(reason) => {
                    let (outcome, host) =
                        (Outcome::Refused { reason }, HostName::new(named.unwrap_or_default()));
                    shard.ledger.record(client, EgressTunnel { outcome, host, port, rule: None }).await?;
                    Err(reason)
                }
            }
        }
    }
}

impl Inbound {
    fn new(shard: Arc<Shard>, client: Arc<Client>, arrival: Arrival) -> Arc<Self> {
        Arc::new(Self { engine: shard.engine.clone(), shard, client, arrival, verdict: Arc::default() })
    }
}

/// HTTP/1.1.
async fn requests<S>(inbound: Arc<Inbound>, stream: S, first: Vec<u8>) -> io::Result<()>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let stream = Strict::new(stream, first, inbound.verdict.clone());
    let service = service_fn(move |request| {
        let inbound = inbound.clone();
        async move { Ok::<_, Infallible>(forward::answer(&inbound, request).await) }
    });
    http1::Builder::new()
        .preserve_header_case(true)
        .half_close(true)
        .auto_date_header(false)
        .timer(TokioTimer::new())
        .header_read_timeout(IDLE_TIMEOUT)
        .serve_connection(TokioIo::new(stream), service)
        .with_upgrades()
        .await
        .map_err(io::Error::other)
}

/// HTTP/2.
async fn streams<S>(inbound: Arc<Inbound>, stream: S) -> io::Result<()>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let service = service_fn(move |request| {
        let inbound = inbound.clone();
        async move { Ok::<_, Infallible>(forward::answer(&inbound, request).await) }
    });
    http2::Builder::new(TokioExecutor::new())
        .auto_date_header(false)
        .max_header_list_size(64 * 1024)
        .max_concurrent_streams(256)
        .initial_stream_window_size(1 << 20)
        .initial_connection_window_size(4 << 20)
        .timer(TokioTimer::new())
        .serve_connection(TokioIo::new(stream), service)
        .await
        .map_err(io::Error::other)
}
