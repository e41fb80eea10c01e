//! What a container asks of the daemon.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use cofferdam_control::connection::Connection;
use cofferdam_control::messages::egress::{Opened, Opening, Reply as Egress, Request as Asked, Socket};
use cofferdam_control::messages::{Refusal, Reply, Request};

use crate::args::docker::StartArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::places::Places;

/// A client of the daemon's for this container. Without a daemon there is none.
pub fn open(places: &Places, name: &str, args: &StartArgs) -> Result<(Connection, Opened), Failure> {
    let providers = (!args.provider.is_empty()).then(|| args.provider.clone());
    ask(places, Opening { session: name.to_owned(), providers, project: None, allow: args.allow.clone() })
}

/// What a client would have to trust now.
pub fn authorities(places: &Places) -> Result<String, Failure> {
    let nothing = Opening {
        session: "looking".to_owned(),
        providers: Some(Vec::new()),
        project: None,
        allow: Vec::new(),
    };
    ask(places, nothing).map(|(_, opened)| opened.authorities)
}

fn ask(places: &Places, opening: Opening) -> Result<(Connection, Opened), Failure> {
    let refused = |sentence: String| {
        Failure::new(Exit::NotStarted, sentence).hint("cofferdam egress status tells how the proxy is")
    };
    let connection = Connection::open(&places.runtime).map_err(|error| {
        Failure::new(Exit::NotStarted, format!("no container without a way out: {error}"))
            .hint("start it: cofferdam egress start")
    })?;
    let (reply, _) = connection
        .ask(&Request::Egress(Asked::Open(opening)), &[])
        .map_err(|error| refused(format!("the proxy did not answer: {error}")))?;
    match reply {
        Reply::Egress(Egress::Opened(opened)) if opened.authorities.contains("BEGIN CERTIFICATE") => {
            Ok((connection, opened))
        }
        Reply::Egress(Egress::Opened(_)) => {
            Err(refused("the proxy has no authority to be trusted".to_owned()))
        }
        Reply::Egress(Egress::NotOpened(why)) | Reply::Refused(Refusal::Failed(why)) => Err(refused(why)),
        _ => Err(refused("the proxy is not ready".to_owned())),
    }
}

/// Has the sockets of a door served: the proxy's, and the two of the resolver.
pub fn serve(connection: &Connection, sockets: &[OwnedFd; 3]) -> io::Result<()> {
    let kinds = vec![Socket::Proxy, Socket::DnsPackets, Socket::DnsConnections];
    let descriptors = sockets.each_ref().map(AsFd::as_fd);
    match connection.ask(&Request::Egress(Asked::Serve(kinds)), &descriptors)?.0 {
        Reply::Egress(Egress::Served) => Ok(()),
        _ => Err(io::Error::other("the daemon does not serve it")),
    }
}
