//! A real upstream on loopback: TLS with an authority of its own, HTTP/1.1 and HTTP/2, answers as scripted,
//! and a record of exactly what arrived.
//!
//! The interface is synchronous; the server runs on a thread of its own and is gone when the value is
//! dropped. Nothing here waits for time to pass: a stream goes on when the test says so.
//!
//! Where it stops: what a pipelining client sends ahead is counted to the request before it, and HTTP/1.1
//! trailers are only sent to a client that asks for them (`TE: trailers`).

mod authority;
mod record;
mod reply;
mod serve;
mod socket;

use std::collections::HashMap;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use tokio::sync::oneshot;

use authority::Authority;
use record::Record;
pub use record::{Connection, HttpVersion, Recorded};
pub use reply::{Coding, EchoPlace, Made, Reply, Stream};

/// How an upstream speaks.
#[derive(Debug, Clone)]
pub struct UpstreamOptions {
    /// The names and addresses that its certificate is for.
    pub names: Vec<String>,
    pub transport: Transport,
}

impl Default for UpstreamOptions {
    fn default() -> Self {
        Self {
            names: vec!["localhost".to_owned(), "127.0.0.1".to_owned()],
            transport: Transport::Tls(vec![HttpVersion::Http2, HttpVersion::Http1]),
        }
    }
}

#[derive(Debug, Clone)]
pub enum Transport {
    /// TLS that offers these versions, the best first.
    Tls(Vec<HttpVersion>),
    /// HTTP/1.1 in the clear.
    Plain,
}

/// A running upstream.
#[derive(Debug)]
pub struct Upstream {
    address: SocketAddr,
    ca_pem: String,
    record: Arc<Record>,
    routes: Arc<Routes>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

type Routes = Mutex<HashMap<String, Reply>>;

impl Upstream {
    /// Starts to listen on a free port of loopback.
    pub fn start(options: &UpstreamOptions) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        let address = listener.local_addr().expect("a bound address");
        let authority = Authority::new();
        let tls = match &options.transport {
            Transport::Tls(versions) => Some(authority.server_config(&options.names, versions)),
            Transport::Plain => None,
        };
        let record = Arc::new(Record::default());
        let routes = Arc::new(Routes::default());
        let (stop, stopped) = oneshot::channel();
        let server = serve::Server { listener, tls, record: record.clone(), routes: routes.clone() };
        let thread = std::thread::spawn(move || server.run(stopped));
        Self { address, ca_pem: authority.pem(), record, routes, stop: Some(stop), thread: Some(thread) }
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// The certificate that a client must trust.
    pub fn ca_pem(&self) -> &str {
        &self.ca_pem
    }

    /// Sets the answer for a path. A path without one echoes the request in its body.
    pub fn route(&self, path: &str, reply: Reply) {
        self.routes.lock().expect("no panic in the server").insert(path.to_owned(), reply);
    }

    /// Sets the answer for a path to a stream that the test feeds; the first request for the path gets it.
    pub fn stream(&self, path: &str, content_type: &str) -> Stream {
        let (stream, reply) = reply::stream(content_type);
        self.route(path, reply);
        stream
    }

    /// Every request that arrived whole, in the order in which they did.
    pub fn requests(&self) -> Vec<Recorded> {
        self.record.requests()
    }

    /// Every connection that was opened, with or without a request on it.
    pub fn connections(&self) -> Vec<Connection> {
        self.record.connections()
    }
}

impl Drop for Upstream {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            // A server that has ended already hears nothing.
            let _ = stop.send(());
        }
        let ended = self.thread.take().map(JoinHandle::join);
        if !std::thread::panicking() {
            assert!(!matches!(ended, Some(Err(_))), "the upstream panicked");
        }
    }
}
