//! A running daemon in the place of a proxy of our own: it is told what is wished for and handed the listeners.

use std::io;
use std::os::fd::AsFd;

use cofferdam_control::connection::{ConnectError, Connection};
use cofferdam_control::messages::egress::{Opened, Opening, Reply as Answer, Request as Ask, Socket};
use cofferdam_control::messages::{Refusal, Reply, Request};
use cofferdam_sandbox::doors::Door;
use cofferdam_sandbox::launch::Doors;

use super::Wish;
use crate::exit::Exit;
use crate::failure::Failure;

/// Opens a client of the daemon; none where no daemon runs. What was opened ends with the connection.
pub fn open(wish: &Wish<'_>) -> Result<Option<(Connection, Opened)>, Failure> {
    let failed = |why: String| {
        Failure::new(Exit::NotStarted, format!("the egress daemon does not serve this sandbox: {why}"))
            .hint("cofferdam egress status says more; cofferdam egress restart starts it again")
    };
    let connection = match Connection::open(&wish.places.runtime) {
        Ok(connection) => connection,
        Err(ConnectError::NotRunning) => return Ok(None),
        Err(error) => return Err(failed(error.to_string())),
    };
    let opening = Opening {
        session: wish.session.as_str().to_owned(),
        providers: (!wish.providers.is_empty()).then(|| wish.providers.to_vec()),
        project: wish.project_text.clone(),
        allow: wish.typed.to_vec(),
    };
    let reply = connection.ask(&Request::Egress(Ask::Open(opening)), &[]);
    match reply.map_err(|error| failed(error.to_string()))?.0 {
        Reply::Egress(Answer::Opened(opened)) => Ok(Some((connection, opened))),
        Reply::Egress(Answer::NotOpened(why)) | Reply::Refused(Refusal::Failed(why)) => Err(failed(why)),
        _ => Err(failed("it answered something else".to_owned())),
    }
}

/// Hands the listeners over.
pub fn serve(connection: &Connection, doors: &Doors) -> io::Result<()> {
    let socket = |(door, _): &(Door, _)| match door {
        Door::Proxy => Socket::Proxy,
        Door::Transparent { port } => Socket::Transparent { port: *port },
        Door::DnsPackets => Socket::DnsPackets,
        Door::DnsConnections => Socket::DnsConnections,
    };
    let sockets = doors.iter().map(socket).collect();
    let handed: Vec<_> = doors.iter().map(|(_, listener)| listener.as_fd()).collect();
    match connection.ask(&Request::Egress(Ask::Serve(sockets)), &handed)?.0 {
        Reply::Egress(Answer::Served) => Ok(()),
        _ => Err(io::Error::other("the egress daemon did not take the sandbox's listeners")),
    }
}
