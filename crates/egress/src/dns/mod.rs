//! The resolver of a sandbox. It asks nobody: a name that a rule lets be reached gets an address of its own, any other
//! name does not exist. So no question leaves, and what is dialled afterwards is known by its name.

mod addresses;
mod message;

use std::collections::HashSet;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use cofferdam_audit::HostName;
use cofferdam_audit::event::{DnsQuery, DnsReason, Outcome};
use cofferdam_policy::host::Host;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UdpSocket};
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::client::Client;
use crate::engine::Engine;
pub use addresses::{GivenAddresses, Range};
use message::{Malformed, Question, Reply, TYPE_A, TYPE_AAAA};

/// Names that are put on record for one client. Whoever asks for more is making them up.
const MOST_RECORDED: usize = 2048;
const MOST_CONNECTIONS: usize = 64;
const IDLE: Duration = Duration::from_secs(10);

/// Answers the questions of one client.
pub(crate) struct Resolver {
    engine: Arc<Engine>,
    client: Client,
    given: Arc<GivenAddresses>,
    /// What is on record already: each name once for what was decided about it.
    seen: Mutex<HashSet<(String, bool)>>,
}

impl Resolver {
    pub fn new(engine: Arc<Engine>, client: Client, given: Arc<GivenAddresses>) -> Self {
        Self { engine, client, given, seen: Mutex::default() }
    }

    /// Questions in packets, for ever.
    pub async fn serve_packets(self: Arc<Self>, socket: UdpSocket) {
        let mut buffer = vec![0; 4096];
        loop {
            match socket.recv_from(&mut buffer).await {
                Ok((length, from)) => {
                    if let Some(answer) = self.answer(&buffer[..length]) {
                        // Who does not take the answer asks again.
                        let _ = socket.send_to(&answer, from).await;
                    }
                }
                Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
            }
        }
    }

    /// Questions on connections, for ever.
    pub async fn serve_connections(self: Arc<Self>, listener: TcpListener) {
        let mut connections = JoinSet::new();
        loop {
            match listener.accept().await {
                Ok((stream, _)) => {
                    while connections.try_join_next().is_some() {}
                    if connections.len() < MOST_CONNECTIONS {
                        let resolver = self.clone();
                        connections.spawn(async move {
                            let _ = resolver.connection(stream).await;
                        });
                    }
                }
                Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
            }
        }
    }

    async fn connection(&self, mut stream: TcpStream) -> io::Result<()> {
        loop {
            let length = timeout(IDLE, stream.read_u16()).await??;
            let mut question = vec![0; usize::from(length)];
            timeout(IDLE, stream.read_exact(&mut question)).await??;
            let Some(answer) = self.answer(&question) else { return Ok(()) };
            // In one piece: there are clients that read only once.
            let framed = [&(answer.len() as u16).to_be_bytes()[..], &answer].concat();
            stream.write_all(&framed).await?;
        }
    }

    /// The answer to a message; none to what is no question.
    fn answer(&self, message: &[u8]) -> Option<Vec<u8>> {
        match Question::parse(message) {
            Ok(question) => Some(question.answer(self.decide(&question))),
            Err(Malformed::Told(answer)) => Some(answer),
            Err(Malformed::Silence) => None,
        }
    }

    fn decide(&self, question: &Question) -> Reply {
        let host = Host::parse(&question.name);
        if let Ok(Host::Name(name)) = &host
            && (name.as_str() == "localhost" || name.parents().last() == Some("localhost"))
        {
            return of_kind(question.kind, Ipv4Addr::LOCALHOST, Some(Ipv6Addr::LOCALHOST));
        }
        let policy = self.client.policy.now();
        let allowed = host.as_ref().is_ok_and(|host| policy.reach.knows(host) || policy.locals.know(host));
        if !self.on_record(question, allowed) {
            return Reply::Failure;
        }
        match host {
            Ok(Host::Name(name)) if allowed => match self.given.give(&name) {
                Some(given) => of_kind(question.kind, given.ipv4(), given.ipv6()),
                None => Reply::Failure,
            },
            _ => Reply::NoSuchName,
        }
    }

    /// Puts a decision on record, the first time. Whether it may be acted on.
    fn on_record(&self, question: &Question, allowed: bool) -> bool {
        let name = question.name.to_ascii_lowercase();
        let is_last = {
            let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
            if seen.len() >= MOST_RECORDED || !seen.insert((name.clone(), allowed)) {
                return true;
            }
            seen.len() == MOST_RECORDED
        };
        let outcome = match allowed {
            true => Outcome::Allowed,
            false => Outcome::Refused { reason: DnsReason::HostNotAllowed },
        };
        let event = DnsQuery { outcome, host: HostName::new(&name), query_type: question.kind };
        let mut recorded = self.engine.record(&self.client, event).is_ok();
        if recorded && is_last {
            // Where the list of names ends is on record too, under no name.
            let (outcome, host) =
                (Outcome::Refused { reason: DnsReason::NamesTooMany }, HostName::new(String::new()));
            let end = DnsQuery { outcome, host, query_type: question.kind };
            recorded = self.engine.record(&self.client, end).is_ok();
        }
        if !recorded {
            self.seen.lock().unwrap_or_else(PoisonError::into_inner).remove(&(name, allowed));
        }
        recorded
    }
}

fn of_kind(kind: u16, ipv4: Ipv4Addr, ipv6: Option<Ipv6Addr>) -> Reply {
    match kind {
        TYPE_A => Reply::Ipv4(ipv4),
        TYPE_AAAA => ipv6.map_or(Reply::Nothing, Reply::Ipv6),
        _ => Reply::Nothing,
    }
}
