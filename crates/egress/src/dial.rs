//! Connections to upstreams: TCP to an address that was looked at, TLS by the target's name, and HTTP on top.

use std::future::poll_fn;
use std::io;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};
use std::thread;
use std::time::Duration;

use cofferdam_audit::event::EgressReason;
use cofferdam_policy::host::Host;
use http::{Request, Response};
use hyper::body::Incoming;
use hyper::client::conn::{TrySendError, http1};
use hyper_util::rt::TokioIo;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, DnsName, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::unconstrained;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use crate::by_hand::ByHand;
use crate::drawn::Drawn;
use crate::filled::Filled;
use crate::http2::Http2;
use crate::outgoing::Outgoing;
use crate::pool::{Reader, Way};
use crate::quiet::Quiet;
use crate::resolve::{Endpoint, Through};
use crate::target::{Protocol, Target};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
const TLS_TIMEOUT: Duration = Duration::from_secs(10);
/// Of a proxy to `CONNECT`.
const LONGEST_ANSWER: usize = 8 * 1024;

/// What may be spoken with an upstream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Wire {
    /// What an HTTP/1.1 client is answered from: the same version keeps the case of headers, allows upgrades, and
    /// needs no translation.
    Http1,
    /// HTTP/2 where the upstream has it.
    Best,
}

/// The sending end of a connection.
pub(crate) enum Sender {
    ByHand(ByHand),
    Http1(Http1),
    Http2(Http2),
}

/// A connection of HTTP/1.1, which carries one request at a time. It has no task of its own: whoever has the request
/// moves it, so that a request wakes one task and not two that wake each other.
pub(crate) struct Http1 {
    quiet: Quiet,
    sender: http1::SendRequest<Outgoing>,
    /// None when it has ended.
    connection: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    /// Until the next request, if what is written leads nowhere.
    muted: Option<Arc<AtomicBool>>,
}

/// A connection that nothing was said on yet, or nothing that is not over.
pub(crate) type Stream = Box<dyn ReadAndWrite>;

pub(crate) trait ReadAndWrite: AsyncRead + AsyncWrite + Unpin + Send {}

impl<S: AsyncRead + AsyncWrite + Unpin + Send> ReadAndWrite for S {}

impl Http1 {
    /// Lets the library have a connection.
    pub async fn begin(
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
        muted: Option<Arc<AtomicBool>>,
    ) -> Result<Self, EgressReason> {
        let (sender, connection) = http1::Builder::new()
            .preserve_header_case(true)
            .handshake(TokioIo::new(stream))
            .await
            .map_err(|_| EgressReason::UpstreamClosed)?;
        // What breaks a connection is reported to the request on it.
        let connection = connection.with_upgrades();
        let connection: Pin<Box<dyn Future<Output = ()> + Send>> =
            Box::pin(async move { _ = connection.await });
        Ok(Self { quiet: Quiet::new(), sender, connection: Some(connection), muted })
    }

    /// Sends a request and waits for the head of its answer.
    pub fn send(
        &mut self,
        request: Request<Outgoing>,
    ) -> impl Future<Output = Result<Response<Incoming>, TrySendError<Request<Outgoing>>>> {
        let mut answer = Box::pin(self.sender.try_send_request(request));
        let (quiet, connection) = (&self.quiet, &mut self.connection);
        poll_fn(move |context| {
            quiet.poll(context, |context| {
                drive(connection, context);
                answer.as_mut().poll(context)
            })
        })
    }

    /// Moves what is under way, and polls what waits for it. Bodies go on only while this is called.
    pub fn drive<T>(
        &mut self,
        context: &mut Context<'_>,
        mut waiting: impl FnMut(&mut Context<'_>) -> Poll<T>,
    ) -> Poll<T> {
        self.quiet.poll(context, |context| {
            drive(&mut self.connection, context);
            waiting(context)
        })
    }

    /// Whether it can take a request now; what the other side did meanwhile is looked at first.
    pub async fn is_usable(&mut self) -> bool {
        // The runtime makes who has done much wait, which would look as if nothing had come.
        unconstrained(poll_fn(|context| self.drive(context, |_| Poll::Ready(())))).await;
        if let Some(muted) = self.muted.take() {
            muted.store(false, Ordering::Release);
        }
        self.connection.is_some() && self.sender.is_ready()
    }

    /// Until it ends, or becomes something else.
    pub async fn end(mut self) {
        if let Some(connection) = self.connection.take() {
            connection.await;
        }
    }
}

fn drive(connection: &mut Option<Pin<Box<dyn Future<Output = ()> + Send>>>, context: &mut Context<'_>) {
    if connection.as_mut().is_some_and(|connection| connection.as_mut().poll(context).is_ready()) {
        *connection = None;
    }
}

fn config(provider: &Arc<CryptoProvider>, roots: RootCertStore) -> Result<ClientConfig, rustls::Error> {
    Ok(ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth())
}

/// How upstreams are spoken to.
pub(crate) struct Dialler {
    provider: Arc<CryptoProvider>,
    extra: RootCertStore,
    /// Made for the first upstream: to read the system's authorities takes longer than to start a sandbox, and many
    /// ask for nothing.
    connectors: OnceLock<Connectors>,
    /// Whether they are made already, or about to be.
    begun: AtomicBool,
}

struct Connectors {
    http1: TlsConnector,
    best: TlsConnector,
}

impl Dialler {
    /// Trusts the system's authorities and `extra`.
    pub fn new(
        provider: Arc<CryptoProvider>,
        extra: Vec<CertificateDer<'static>>,
    ) -> Result<Self, rustls::Error> {
        let mut roots = RootCertStore::empty();
        for certificate in extra {
            roots.add(certificate)?;
        }
        // What the provider cannot do is told now, and not to the first request.
        config(&provider, RootCertStore::empty())?;
        Ok(Self { provider, extra: roots, connectors: OnceLock::new(), begun: AtomicBool::new(false) })
    }

    /// Begins what the first upstream would wait for. Whoever has said a word will ask for one as soon as both sides have
    /// shown their certificates, and meanwhile another processor has time. Who only looks whether somebody listens, as
    /// `egress start` does, has no use for it.
    pub fn get_ready(self: &Arc<Self>) {
        if self.begun.swap(true, Ordering::Relaxed) {
            return;
        }
        let dialler = self.clone();
        let begun = thread::Builder::new().name("authorities".to_owned()).spawn(move || {
            dialler.connectors();
        });
        // Without a thread the first upstream waits after all.
        drop(begun);
    }

    fn connectors(&self) -> &Connectors {
        self.connectors.get_or_init(|| {
            let mut roots = self.extra.clone();
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
            let config = config(&self.provider, roots).expect("the same versions were taken before");
            let offering = |protocols: &[&[u8]]| {
                let mut config = config.clone();
                config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
                TlsConnector::from(Arc::new(config))
            };
            Connectors { http1: offering(&[b"http/1.1"]), best: offering(&[b"h2", b"http/1.1"]) }
        })
    }

    fn connector(&self, wire: Wire) -> &TlsConnector {
        let connectors = self.connectors();
        match wire {
            Wire::Http1 => &connectors.http1,
            Wire::Best => &connectors.best,
        }
    }

    /// Connects to the first of the endpoints that answers, and says which.
    pub async fn connect(
        &self,
        Way { target, route, wire, limits, reader, .. }: Way<'_>,
    ) -> Result<(Sender, Endpoint), EgressReason> {
        let connect_timeout = limits.connect_timeout.unwrap_or(CONNECT_TIMEOUT);
        let (mut stream, endpoint) = tcp(&route.endpoints, connect_timeout).await?;
        // A request is written whole; waiting for more to send would only delay it.
        let _ = stream.set_nodelay(true);
        if route.through == Through::Proxy {
            let opened = timeout(connect_timeout, open_tunnel(&mut stream, target)).await;
            opened.map_err(|_| EgressReason::UpstreamConnectTimeout)??;
        }
        let sender = match target.protocol() {
            Protocol::Http => http1(stream, reader).await?,
            Protocol::Https => {
                let connector = self.connector(wire);
                let stream = Drawn::new(stream, Vec::new());
                let handshake = connector.connect(server_name(target.host())?, stream);
                let stream = timeout(limits.tls_timeout.unwrap_or(TLS_TIMEOUT), handshake)
                    .await
                    .map_err(|_| EgressReason::UpstreamConnectTimeout)?
                    .map_err(|error| tls_reason(&error))?;
                match stream.get_ref().1.alpn_protocol() {
                    Some(b"h2") => Sender::Http2(Http2::begin(stream).await?),
                    _ => http1(stream, reader).await?,
                }
            }
        };
        Ok((sender, endpoint))
    }
}

/// Asks the proxy that the user configured for a way to the target. What is said to the target goes through it
/// unseen, so it is told nothing but the name.
async fn open_tunnel(stream: &mut TcpStream, target: &Target) -> Result<(), EgressReason> {
    let failed = |_| EgressReason::UpstreamProxyFailed;
    let asked = format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n");
    stream.write_all(asked.as_bytes()).await.map_err(failed)?;
    let mut answer = Vec::with_capacity(512);
    // The target speaks second, so that nothing but the head of the answer can be here.
    while !answer.ends_with(b"\r\n\r\n") {
        let count = stream.read_buf(&mut answer).await.map_err(failed)?;
        if count == 0 || answer.len() > LONGEST_ANSWER {
            return Err(EgressReason::UpstreamProxyFailed);
        }
    }
    match answer.starts_with(b"HTTP/1.1 200") || answer.starts_with(b"HTTP/1.0 200") {
        true => Ok(()),
        false => Err(EgressReason::UpstreamProxyFailed),
    }
}

async fn tcp(endpoints: &[Endpoint], limit: Duration) -> Result<(TcpStream, Endpoint), EgressReason> {
    let mut reason = EgressReason::UpstreamConnectFailed;
    // The last one has all the time there is; the others leave some for those after them.
    for (at, endpoint) in endpoints.iter().enumerate() {
        let patience = if at + 1 == endpoints.len() { limit } else { limit / 4 };
        match timeout(patience, TcpStream::connect(endpoint.socket())).await {
            Ok(Ok(stream)) => return Ok((stream, *endpoint)),
            Ok(Err(_)) => reason = EgressReason::UpstreamConnectFailed,
            Err(_) => reason = EgressReason::UpstreamConnectTimeout,
        }
    }
    Err(reason)
}

fn server_name(host: &Host) -> Result<ServerName<'static>, EgressReason> {
    match host {
        Host::Name(name) => DnsName::try_from(name.as_str().to_owned())
            .map(ServerName::DnsName)
            .map_err(|_| EgressReason::TargetMalformed),
        Host::Address(address) => Ok(ServerName::IpAddress(IpAddr::into(*address))),
    }
}

fn tls_reason(error: &io::Error) -> EgressReason {
    let tls = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    match tls {
        Some(rustls::Error::InvalidCertificate(_)) => EgressReason::UpstreamUntrusted,
        _ => EgressReason::UpstreamTlsFailed,
    }
}

async fn http1(stream: impl ReadAndWrite + 'static, reader: Reader) -> Result<Sender, EgressReason> {
    let stream = Filled::new(stream);
    match reader {
        Reader::ByHand => Ok(Sender::ByHand(ByHand::new(Box::new(stream)))),
        Reader::Library => Http1::begin(stream, None).await.map(Sender::Http1),
    }
}

/// What it means that a request could not be sent, or was not answered.
pub(crate) fn reason_of<T>(error: &TrySendError<T>) -> EgressReason {
    match error.error().is_parse() {
        true => EgressReason::UpstreamMalformed,
        false => EgressReason::UpstreamClosed,
    }
}
