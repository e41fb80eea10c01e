//! What a container asks of the daemon.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use cofferdam_control::connection::Connection;
use cofferdam_control::messages::egress::{Opened, Opening, Reply as Egress, Request as Asked, Socket};
use cofferdam_control::messages::{Refusal, Reply, Request};

use cofferdam_policy::document::Config;

use crate::args::docker::ReachedArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::places::Places;

/// A client of the daemon's for this container. Without a daemon there is none.
pub fn open(places: &Places, name: &str, args: &ReachedArgs) -> Result<(Connection, Opened), Failure> {
    let providers = (!args.provider.is_empty()).then(|| args.provider.clone());
    let opening = Opening {
        session: name.to_owned(),
        providers,
        without: Vec::new(),
        project: None,
        allow: args.allow.clone(),
        telling: false,
    };
    let (connection, opened) = ask(places, opening)?;
    // A daemon goes on with what it has read. What is gone from the disk was taken away by somebody.
    let authority = std::fs::read_to_string(places.authority().join("ca.crt")).unwrap_or_default();
    if authority.is_empty() || !opened.authorities.contains(authority.trim()) {
        return Err(Failure::new(Exit::NotStarted, "the proxy's authority is not there any more").hint(
            "cofferdam egress rotate-ca makes a new one, cofferdam egress doctor says what is missing",
        ));
    }
    Ok((connection, opened))
}

/// Whether a container would have anybody to talk to: without one token and without one rule it has not.
pub fn refuse_empty(config: &Config, args: &ReachedArgs, opened: &Opened) -> Result<(), Failure> {
    let nothing = opened.tokens.is_empty() && opened.files.is_empty();
    if !nothing || !args.allow.is_empty() || !config.egress.allow.is_empty() || !config.egress.enforce {
        return Ok(());
    }
    Err(Failure::new(Exit::NotStarted, "there is no token for the container, and no host that it may reach")
        .hint("set a provider's credential where the daemon finds it (cofferdam secrets check), or use --allow HOST"))
}

/// What a client would have to trust now.
pub fn authorities(places: &Places) -> Result<String, Failure> {
    let nothing = Opening {
        session: "looking".to_owned(),
        providers: Some(Vec::new()),
        without: Vec::new(),
        project: None,
        allow: Vec::new(),
        telling: false,
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

/// Has sockets served.
pub fn serve(connection: &Connection, sockets: &[(Socket, OwnedFd)]) -> io::Result<()> {
    let kinds = sockets.iter().map(|(kind, _)| *kind).collect();
    let descriptors: Vec<_> = sockets.iter().map(|(_, socket)| socket.as_fd()).collect();
    match connection.ask(&Request::Egress(Asked::Serve(kinds)), &descriptors)?.0 {
        Reply::Egress(Egress::Served) => Ok(()),
        _ => Err(io::Error::other("the daemon does not serve it")),
    }
}
