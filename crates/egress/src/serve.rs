//! From an accepted connection to requests.
//!
//! One port takes three kinds of clients, told apart by their first bytes: a TLS handshake (somebody who thinks we are
//! the target), `CONNECT` (a proxy client that wants a tunnel), and any other request. A tunnel is intercepted: inside
//! it we are the target, with a certificate of our own.
//!
//! `CONNECT` is read by hand and not by the HTTP library, because nothing of what the library sets up for a connection
//! is needed once the tunnel is open.

use std::convert::Infallible;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;
use std::time::Duration;

use cofferdam_audit::HostName;
use cofferdam_audit::event::{EgressReason, EgressTunnel, Outcome};
use cofferdam_policy::host::Host;
use http::{Request, Response};
use hyper::body::{Body, Incoming};
use hyper::server::conn::http1;
use hyper::server::conn::http2::Builder;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::server::Acceptor;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::LazyConfigAcceptor;
use tokio_rustls::server::TlsStream;

use crate::authorize::{self, Tunnel};
use crate::body::Answer;
use crate::by_hand::{self, Rest};
use crate::client::{Client, Door};
use crate::connect;
use crate::drawn::Drawn;
use crate::engine::Engine;
use crate::filled::Filled;
use crate::forward;
use crate::head;
use crate::http2;
use crate::outgoing::ClientBody;
use crate::presence::Socket;
use crate::refusal;
use crate::shard::Shard;
use crate::strict::{Strict, Verdict};
use crate::target::{Arrival, Protocol, Target, TargetError};
use crate::ticketed::Ticketed;
use crate::vigil::{Vigil, Watched};

/// For somebody who is not served.
const MOMENT: Duration = Duration::from_secs(1);
const CONNECT: &[u8] = b"CONNECT ";
const HANDSHAKE: u8 = 0x16;
const ESTABLISHED: &[u8] = b"HTTP/1.1 200 Connection established\r\n\r\n";
/// Room for the greeting of a client: `CONNECT`, and a handshake with the longest keys in use.
const GREETING: usize = 2048;
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
    let _ = serve(shard, client, stream).await;
}

/// What a connection turned out to be. What it took to find out is thrown away before it is served, because it may be
/// idle for hours and should cost little then.
enum Opened {
    /// Nothing that is served any further.
    Over,
    Clear(Arc<Inbound>, TcpStream, Vec<u8>),
    Http1(Arc<Inbound>, Tls),
    Http2(Arc<Inbound>, Tls),
}

type Tls = Box<TlsStream<Ticketed<Drawn<TcpStream>>>>;

impl Socket for Tls {
    fn socket(&self) -> &TcpStream {
        self.get_ref().0.socket()
    }
}

async fn serve(shard: Arc<Shard>, client: Arc<Client>, stream: TcpStream) -> io::Result<()> {
    let opened = Box::pin(open(shard, client, stream)).await?;
    match opened {
        Opened::Over => Ok(()),
        Opened::Clear(inbound, stream, first) => Box::pin(requests(inbound, stream, first)).await,
        Opened::Http1(inbound, stream) => Box::pin(requests(inbound, stream, Vec::new())).await,
        Opened::Http2(inbound, stream) => Box::pin(streams(inbound, stream)).await,
    }
}

/// Tells somebody why nothing is served on this connection, if it says something within a moment. Whoever leaves without
/// a word, as one does who only wants to know whether somebody listens, was refused nothing.
pub(crate) async fn turn_away(
    shard: &Shard,
    (client, stream): (&Arc<Client>, std::net::TcpStream),
    reason: EgressReason,
) {
    let Ok(mut stream) = TcpStream::from_std(stream) else { return };
    let first = match timeout(MOMENT, first_bytes(&mut stream)).await {
        Ok(Ok(first)) if first.is_empty() => return,
        Ok(Err(_)) => return,
        Ok(Ok(first)) => first,
        Err(_) => Vec::new(),
    };
    let (outcome, host) = (Outcome::Refused { reason }, HostName::new(String::new()));
    let _ = shard.ledger.record(client, EgressTunnel { outcome, host, port: 0, rule: None }).await;
    let told = async {
        match first.first() {
            None => return Ok(0),
            Some(&HANDSHAKE) => stream.write_all(ACCESS_DENIED).await?,
            Some(_) => stream.write_all(&refusal::bytes(reason)).await?,
        }
        stream.shutdown().await?;
        // What is closed while there is something to read is reset, and the answer may be lost.
        tokio::io::copy(&mut stream, &mut tokio::io::sink()).await
    };
    let _ = timeout(MOMENT, told).await;
}

async fn open(shard: Arc<Shard>, client: Arc<Client>, mut stream: TcpStream) -> io::Result<Opened> {
    let dialled = client.dialled(&stream);
    let first = opening(&client, first_bytes(&mut stream)).await?;
    if first.is_empty() {
        return Ok(Opened::Over);
    }
    shard.pool.get_ready();
    match first.as_slice() {
        [HANDSHAKE, ..] => {
            let port = match client.door {
                Door::Proxy | Door::Shared => Protocol::Https.default_port(),
                Door::Transparent { port } => port,
            };
            handshake(shard, client, Drawn::new(stream, first), Named::InHandshake { dialled, port }).await
        }
        start if start.starts_with(CONNECT) => tunnelled(shard, client, stream, first).await,
        _ => {
            let arrival = match client.door {
                Door::Proxy | Door::Shared => Arrival::Proxy,
                Door::Transparent { port } => {
                    Arrival::Transparent { port, dialled: dialled.filter(|host| host.name().is_some()) }
                }
            };
            Ok(Opened::Clear(Inbound::new(shard, client, arrival), stream, first))
        }
    }
}

async fn opening<T>(client: &Client, future: impl Future<Output = io::Result<T>>) -> io::Result<T> {
    timeout(client.head_timeout(), future).await.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
}

/// Enough bytes to tell the three apart.
async fn first_bytes(stream: &mut (impl AsyncRead + Unpin)) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(GREETING);
    while bytes.len() < CONNECT.len() && CONNECT.starts_with(&bytes) {
        if stream.read_buf(&mut bytes).await? == 0 {
            break;
        }
    }
    Ok(bytes)
}

async fn tunnelled(
    shard: Arc<Shard>,
    client: Arc<Client>,
    mut stream: TcpStream,
    mut bytes: Vec<u8>,
) -> io::Result<Opened> {
    let head = opening(&client, async {
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
    let asked = head.await?.and_then(|end| connect::target(&bytes[..end]).map(|target| (target, end)));
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
    if first.is_empty() {
        first.reserve(GREETING);
        if opening(&client, stream.read_buf(&mut first)).await? == 0 {
            return Ok(Opened::Over);
        }
    }
    match first[0] {
        HANDSHAKE => handshake(shard, client, Drawn::new(stream, first), Named::ByTunnel(tunnel)).await,
        _ => {
            let target = tunnel.target().clone().in_the_clear();
            Ok(Opened::Clear(Inbound::new(shard, client, Arrival::Agreed(target)), stream, first))
        }
    }
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

async fn refuse(stream: &mut (impl AsyncWrite + Unpin), reason: EgressReason) -> io::Result<Opened> {
    stream.write_all(&refusal::bytes(reason)).await?;
    stream.shutdown().await?;
    Ok(Opened::Over)
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
    stream: Drawn<TcpStream>,
    named: Named,
) -> io::Result<Opened> {
    let hello = LazyConfigAcceptor::new(Acceptor::default(), Ticketed::new(stream));
    let mut start = opening(&client, hello).await?;
    let name = start.client_hello().server_name().map(str::to_owned);
    let tunnel = agreed_tunnel(&shard, &client, name.as_deref(), named).await;
    let config = tunnel.and_then(|tunnel| {
        Ok((shard.engine.leaves.config(&tunnel).map_err(|_| EgressReason::MintFailed)?, tunnel))
    });
    let Ok((config, tunnel)) = config else {
        start.io.write_all(ACCESS_DENIED).await?;
        start.io.shutdown().await?;
        return Ok(Opened::Over);
    };
    let mut stream = Box::new(opening(&client, start.into_stream(config)).await?);
    stream.get_mut().0.open();
    let h2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
    let inbound = Inbound::new(shard, client, Arrival::Agreed(tunnel.target().clone()));
    Ok(if h2 { Opened::Http2(inbound, stream) } else { Opened::Http1(inbound, stream) })
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

    /// Whether a request is under way: each of them holds on to this, besides the connection, who answers its requests and
    /// who keeps an eye on it.
    pub fn is_busy(self: &Arc<Self>) -> bool {
        Arc::strong_count(self) > 3
    }

    /// Whether nothing is under way, nothing is left to be said, and there are so many connections that room counts.
    fn rests(self: &Arc<Self>) -> bool {
        self.verdict.is_resting() && !self.is_busy() && self.shard.is_crowded()
    }
}

/// One request. The library has room for it in every connection, used or not, so it is put elsewhere.
fn answered(
    inbound: Arc<Inbound>,
    request: Request<Incoming>,
) -> Pin<Box<dyn Future<Output = Result<Response<Answer>, Infallible>> + Send>> {
    Box::pin(async move {
        let answer = forward::answer(&inbound, request.map(ClientBody::Library)).await;
        inbound.verdict.early.written_out().await;
        Ok(answer)
    })
}

/// A request that was answered before the library saw it. Its body was taken as well, and is only read over here.
fn answered_before(
    mut body: Incoming,
    answer: Response<Answer>,
) -> Pin<Box<dyn Future<Output = Result<Response<Answer>, Infallible>> + Send>> {
    Box::pin(async move {
        while poll_fn(|context| Pin::new(&mut body).poll_frame(context))
            .await
            .is_some_and(|frame| frame.is_ok())
        {}
        Ok(answer)
    })
}

/// HTTP/1.1: what is ordinary by hand, anything else by the library.
///
/// The library holds on to as much room between two requests as it would need for the next one, and a client may be idle
/// for hours. So where there are many, it leaves when a client has nothing to say. It does not know the difference: there
/// is nothing between two requests that the second depends on.
async fn requests<S>(inbound: Arc<Inbound>, mut stream: S, mut first: Vec<u8>) -> io::Result<()>
where
    S: AsyncRead + AsyncWrite + Socket + Unpin + Send + 'static,
{
    loop {
        let Some(rest) = by_hand::requests(&inbound, stream, first).await? else { return Ok(()) };
        match Box::pin(others(&inbound, rest)).await? {
            Some(resting) => (stream, first) = (resting, Vec::new()),
            None => return Ok(()),
        }
    }
}

/// HTTP/1.1, whatever it is, until there is none of it for now: then the connection comes back.
async fn others<S>(inbound: &Arc<Inbound>, Rest { stream, before, answer }: Rest<S>) -> io::Result<Option<S>>
where
    S: AsyncRead + AsyncWrite + Socket + Unpin + Send + 'static,
{
    let stream = Strict::new(Filled::new(stream), before, inbound);
    let (answer, of_requests) = (Mutex::new(answer), inbound.clone());
    let service = service_fn(move |request: Request<Incoming>| {
        match answer.lock().unwrap_or_else(PoisonError::into_inner).take() {
            Some(answer) => answered_before(request.into_body(), answer),
            None => answered(of_requests.clone(), request),
        }
    });
    let mut connection = http1::Builder::new()
        .preserve_header_case(true)
        .half_close(true)
        .auto_date_header(false)
        .serve_connection(TokioIo::new(stream), service)
        .with_upgrades();
    let ended = poll_fn(|context| match Pin::new(&mut connection).poll(context) {
        Poll::Ready(ended) => Poll::Ready(Some(ended)),
        Poll::Pending if inbound.rests() => Poll::Ready(None),
        Poll::Pending => Poll::Pending,
    });
    match ended.await {
        Some(ended) => ended.map(|()| None).map_err(io::Error::other),
        None => Ok(connection.into_parts().map(|parts| parts.io.into_inner().into_stream().into_stream())),
    }
}

/// HTTP/2.
async fn streams<S>(inbound: Arc<Inbound>, stream: S) -> io::Result<()>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (stream, outlet) = http2::gather(stream);
    let stream = Watched::new(stream, Vigil::new(inbound.clone()));
    let of_requests = inbound.clone();
    let service = service_fn(move |request| answered(of_requests.clone(), request));
    let connection = Builder::new(TokioExecutor::new())
        .auto_date_header(false)
        .max_header_list_size(http2::LONGEST_HEAD)
        .max_concurrent_streams(256)
        .enable_connect_protocol()
        .initial_stream_window_size(http2::STREAM_WINDOW)
        .initial_connection_window_size(http2::CONNECTION_WINDOW)
        .serve_connection(TokioIo::new(stream), service);
    let ended = outlet.follow(connection).await;
    drop(inbound);
    ended.map_err(io::Error::other)
}
