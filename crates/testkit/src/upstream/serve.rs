//! The server on its own thread.

use std::net::TcpListener;
use std::rc::Rc;
use std::sync::Arc;

use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::header::UPGRADE;
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use rustls::ServerConfig;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::task::LocalSet;
use tokio_rustls::TlsAcceptor;

use super::Routes;
use super::record::{self, HttpVersion, Record, Recorded, Tap, Tapped};
use super::reply::{Frames, Reply};
use super::socket;

pub(super) struct Server {
    pub listener: TcpListener,
    pub tls: Option<Arc<ServerConfig>>,
    pub record: Arc<Record>,
    pub routes: Arc<Routes>,
}

impl Server {
    /// Serves until it is told to stop; connections that are still open then are cut.
    pub fn run(self, stopped: oneshot::Receiver<()>) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().expect("a runtime");
        LocalSet::new().block_on(&runtime, async move {
            tokio::task::spawn_local(self.accept());
            // An upstream that was dropped without a word stops as well.
            let _ = stopped.await;
        });
    }

    async fn accept(self) {
        self.listener.set_nonblocking(true).expect("a socket that does not block");
        let server = Rc::new(self);
        let listener = server.listener.try_clone().expect("a copy of the listener");
        let listener = tokio::net::TcpListener::from_std(listener).expect("a listener of the runtime");
        loop {
            let (stream, _) = listener.accept().await.expect("a connection");
            let connection = server.record.connection();
            tokio::task::spawn_local(server.clone().connection(stream, connection));
        }
    }

    async fn connection(self: Rc<Self>, stream: TcpStream, connection: usize) {
        let Some(config) = self.tls.clone() else {
            self.record.agreed(connection, None, HttpVersion::Http1);
            return self.http1(stream, connection).await;
        };
        // A client that does not trust us, or speaks something else, leaves a connection without a version.
        let Ok(stream) = TlsAcceptor::from(config).accept(stream).await else { return };
        let tls = stream.get_ref().1;
        let h2 = tls.alpn_protocol() == Some(HttpVersion::Http2.alpn());
        let version = if h2 { HttpVersion::Http2 } else { HttpVersion::Http1 };
        self.record.agreed(connection, tls.server_name().map(str::to_owned), version);
        match version {
            HttpVersion::Http1 => self.http1(stream, connection).await,
            HttpVersion::Http2 => self.http2(stream, connection).await,
        }
    }

    async fn http1(
        self: Rc<Self>,
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
        connection: usize,
    ) {
        let tapped = Tapped::default();
        let tap = TokioIo::new(Tap { stream, tapped: tapped.clone() });
        let service = service_fn(|request| self.clone().answer(request, connection, Some(tapped.clone())));
        // How a client ends its connection is its own business.
        let _ = http1::Builder::new().serve_connection(tap, service).with_upgrades().await;
    }

    async fn http2(self: Rc<Self>, stream: impl AsyncRead + AsyncWrite + Unpin, connection: usize) {
        let service = service_fn(move |request| self.clone().answer(request, connection, None));
        let _ = http2::Builder::new(Local).serve_connection(TokioIo::new(stream), service).await;
    }

    /// Takes the request in whole, records it, and answers: what a client has an answer to is on record.
    async fn answer(
        self: Rc<Self>,
        mut request: Request<Incoming>,
        connection: usize,
        tapped: Option<Tapped>,
    ) -> Result<Response<Frames>, hyper::Error> {
        let client = hyper::upgrade::on(&mut request);
        let (head, body) = request.into_parts();
        let body = body.collect().await?;
        let recorded = Recorded {
            connection,
            version: if tapped.is_some() { HttpVersion::Http1 } else { HttpVersion::Http2 },
            method: head.method.to_string(),
            target: head.uri.to_string(),
            headers: record::lines(&head.headers),
            trailers: body.trailers().map(record::lines).unwrap_or_default(),
            body: body.to_bytes().to_vec(),
            raw: tapped.as_ref().map(take).unwrap_or_default(),
        };
        self.record.request(recorded.clone());
        let mut routes = self.routes.lock().expect("no panic in the test");
        let reply = routes.get_mut(head.uri.path());
        if let Some(Reply::Socket) = reply
            && head.headers.contains_key(UPGRADE)
        {
            return Ok(socket::open(&head.headers, client));
        }
        let answer =
            reply.map_or_else(|| Reply::default().answer(&recorded), |reply| reply.answer(&recorded));
        // Over HTTP/2 nobody else leaves out the body that was not asked for.
        Ok(if recorded.method == "HEAD" { answer.map(|_| Frames::none()) } else { answer })
    }
}

fn take(tapped: &Tapped) -> Vec<u8> {
    std::mem::take(&mut *tapped.lock().expect("no panic in the server"))
}

/// Runs the streams of one HTTP/2 connection on this thread.
#[derive(Clone)]
struct Local;

impl<F: Future<Output = ()> + 'static> hyper::rt::Executor<F> for Local {
    fn execute(&self, future: F) {
        tokio::task::spawn_local(future);
    }
}
