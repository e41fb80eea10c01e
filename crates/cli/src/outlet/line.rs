//! The line to a proxy in another process: the daemon, or one that serves a session alone. It is told what is wished
//! for and handed the listeners, and says what the person should know.
//!
//! The listeners are kept here as well. Should the daemon go, whoever knocks is told so, and the next daemon gets the
//! same listeners and the same tokens: what runs in the sandbox does not have to be started again.

mod keeping;

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use cofferdam_control::connection::{ConnectError, Connection};
use cofferdam_control::messages::egress::{
    KeptToken, Opened, Opening, Reply as Answer, Request as Ask, Socket,
};
use cofferdam_control::messages::{Refusal, Reply, Request};
use cofferdam_sandbox::doors::Door;
use cofferdam_sandbox::launch::Doors;
use cofferdam_sandbox::text::Text;
use serde::{Deserialize, Serialize};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::places::Places;
use keeping::Keeping;

/// Somebody who is told what the person should know.
pub type Teller = Arc<dyn Fn(String) + Send + Sync>;

/// How to come back when the one at the other end is gone.
#[derive(Debug, Serialize, Deserialize)]
pub struct Return {
    /// Where the daemon's socket is.
    runtime: Text,
    opening: Opening,
    tokens: Vec<KeptToken>,
}

/// A client that was taken in and is not served yet.
#[derive(Debug)]
pub struct Line {
    pub connection: Connection,
    /// Nothing where nobody would be there to come back to.
    pub way_back: Option<Return>,
}

/// A client that is served.
pub struct Held {
    shared: Arc<Shared>,
    /// Closed when everything has been told.
    told: Mutex<Receiver<()>>,
}

/// What the two threads know.
struct Shared {
    /// Who serves, or did last.
    connection: Mutex<Arc<Connection>>,
    leaving: AtomicBool,
}

impl Shared {
    fn connection(&self) -> Arc<Connection> {
        self.connection.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

const STACK: usize = 128 << 10;
/// A proxy that does not say goodbye within this time hangs.
const GOODBYE: Duration = Duration::from_secs(1);

impl Line {
    /// Has the daemon take a client in; none where no daemon runs. What was opened ends with the connection.
    pub fn to_daemon(places: &Places, opening: &Opening) -> Result<Option<(Self, Opened)>, Failure> {
        let connection = match Connection::open(&places.runtime) {
            Ok(connection) => connection,
            Err(ConnectError::NotRunning) => return Ok(None),
            Err(error) => return Err(not_served(&error.to_string())),
        };
        let opened = open(&connection, opening)?;
        let way_back = Return {
            runtime: places.runtime.as_path().into(),
            opening: opening.clone(),
            tokens: opened.kept.clone(),
        };
        Ok(Some((Self { connection, way_back: Some(way_back) }, opened)))
    }

    /// Hands the listeners over, and stays with them.
    pub fn serve(self, doors: Doors, tell: Teller) -> io::Result<Held> {
        let doors: Vec<(Socket, OwnedFd)> =
            doors.into_iter().map(|(door, listener)| (socket(door), listener)).collect();
        // Without a network of its own there is nothing to serve.
        if !doors.is_empty() {
            hand_over(&self.connection, &doors, &tell)?;
        }
        let connection = Mutex::new(Arc::new(self.connection));
        let shared = Arc::new(Shared { connection, leaving: AtomicBool::new(false) });
        let (telling, told) = mpsc::channel();
        let keeping = Keeping::new(Arc::clone(&shared), doors, self.way_back, tell);
        let keep = move || {
            let _until_the_end = telling;
            keeping.keep();
        };
        std::thread::Builder::new().name("way out".to_owned()).stack_size(STACK).spawn(keep)?;
        Ok(Held { shared, told: Mutex::new(told) })
    }
}

impl Held {
    /// The sandbox is gone. Comes back when everything that was to be told has been.
    pub fn leave(&self) {
        self.shared.leaving.store(true, Ordering::SeqCst);
        // One that cannot be told is gone, and has nothing to tell.
        if self.shared.connection().say(&Request::Egress(Ask::Leave)).is_ok() {
            let _ = self.told.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(GOODBYE);
        }
    }
}

pub fn open(connection: &Connection, opening: &Opening) -> Result<Opened, Failure> {
    let reply = connection.ask(&Request::Egress(Ask::Open(opening.clone())), &[]);
    match reply.map_err(|error| not_served(&error.to_string()))?.0 {
        Reply::Egress(Answer::Opened(opened)) => Ok(opened),
        Reply::Egress(Answer::NotOpened(why)) | Reply::Refused(Refusal::Failed(why)) => Err(not_served(&why)),
        _ => Err(not_served("it answered something else")),
    }
}

fn not_served(why: &str) -> Failure {
    Failure::new(Exit::NotStarted, format!("the egress daemon does not serve this sandbox: {why}"))
        .hint("cofferdam egress status says more; cofferdam egress restart starts it again")
}

fn hand_over(connection: &Connection, doors: &[(Socket, OwnedFd)], tell: &Teller) -> io::Result<()> {
    let sockets = doors.iter().map(|(socket, _)| *socket).collect();
    let handed: Vec<_> = doors.iter().map(|(_, listener)| listener.as_fd()).collect();
    let mut answer = connection.ask(&Request::Egress(Ask::Serve(sockets)), &handed)?.0;
    // What runs in the sandbox may be quicker than the answer.
    while let Reply::Egress(Answer::Told(line)) = answer {
        tell(line);
        answer = connection.next()?.0;
    }
    match answer {
        Reply::Egress(Answer::Served) => Ok(()),
        _ => Err(io::Error::other("the egress daemon did not take the sandbox's listeners")),
    }
}

pub fn socket(door: Door) -> Socket {
    match door {
        Door::Proxy => Socket::Proxy,
        Door::Transparent { port } => Socket::Transparent { port },
        Door::DnsPackets => Socket::DnsPackets,
        Door::DnsConnections => Socket::DnsConnections,
    }
}
