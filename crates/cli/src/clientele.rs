//! What a client of a proxy says and is given: as messages between processes, and as what the proxy knows.

use std::net::{TcpListener, UdpSocket};
use std::os::fd::OwnedFd;
use std::sync::Arc;

use cofferdam_audit::Label;
use cofferdam_control::messages::egress::{self, HandedFile, HandedToken, Socket};
use cofferdam_egress::service::{Listeners, Opened, Opening, Service, Wanted};
use cofferdam_egress::{Door, KeptToken, Range, StandInFile, Watcher};
use cofferdam_policy::document::Project;
use cofferdam_policy::host::HostPattern;
use cofferdam_policy::registry::{InUse, Registry};
use cofferdam_policy::rules::AllowRule;

use crate::settings::PROJECT_FILE;

/// What was typed, judged by whoever serves: the one who sent it could have sent anything.
pub fn understood(
    wish: egress::Opening,
    registry: &Registry,
    watcher: Option<Arc<dyn Watcher>>,
) -> Result<Opening, String> {
    let project =
        match &wish.project {
            Some(text) => Some(Project::parse(PROJECT_FILE, text).map_err(|mistakes| {
                mistakes.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
            })?),
            None => None,
        };
    let typed = wish.allow.iter().map(|typed| match HostPattern::parse_with_port(typed) {
        Ok((host, port)) => Ok(AllowRule::whole_host(host, port)),
        Err(error) => Err(format!("a host that was to be allowed {error}")),
    });
    let mut allow = typed.collect::<Result<Vec<_>, _>>()?;
    // Where a real credential that was handed over is good, it may go.
    let inherited = wish.without.iter().filter_map(|name| registry.by_name(name));
    allow.extend(InUse::new(inherited.collect()).allow_rules());
    Ok(Opening {
        session: Label::new(&wish.session),
        providers: wish.providers.map_or(Wanted::Usual, Wanted::Named),
        without: wish.without,
        project,
        allow,
        watcher,
    })
}

/// What a client that was just taken in is told.
pub fn handed(service: &Service, opened: &Opened, authorities: &str) -> egress::Opened {
    let tokens = opened.tokens.iter();
    let tokens = tokens.map(|(name, token)| (name.clone(), HandedToken(token.expose().to_owned())));
    egress::Opened {
        providers: opened.providers.clone(),
        tokens: tokens.collect(),
        files: opened.files.iter().map(handed_file).collect(),
        authorities: authorities.to_owned(),
        kept: service.kept_tokens(opened.id).into_iter().map(written).collect(),
    }
}

fn handed_file(file: &StandInFile) -> HandedFile {
    HandedFile {
        variables: file.variables.iter().map(ToString::to_string).collect(),
        name: file.name.clone(),
        contents: HandedToken((*file.contents).clone()),
    }
}

/// The sockets of a client, each for what it is.
pub fn listeners(sockets: impl IntoIterator<Item = (Socket, OwnedFd)>) -> Listeners {
    let mut listeners = Listeners::default();
    for (socket, descriptor) in sockets {
        match socket {
            Socket::Proxy => listeners.doors.push((Door::Proxy, TcpListener::from(descriptor))),
            Socket::Transparent { port } => {
                listeners.doors.push((Door::Transparent { port }, TcpListener::from(descriptor)));
            }
            Socket::Loopback { port } => {
                listeners.range = Range::Loopback;
                listeners.doors.push((Door::Transparent { port }, TcpListener::from(descriptor)));
            }
            Socket::DnsPackets => listeners.dns_packets.push(UdpSocket::from(descriptor)),
            Socket::DnsConnections => listeners.dns_connections.push(TcpListener::from(descriptor)),
        }
    }
    listeners
}

/// A token as it is written down and sent.
pub fn written(kept: KeptToken) -> egress::KeptToken {
    egress::KeptToken { providers: kept.providers, digest: hexadecimal(&kept.digest) }
}

/// The same, read again; nothing if it is none.
pub fn read(written: &egress::KeptToken) -> Option<KeptToken> {
    Some(KeptToken { providers: written.providers.clone(), digest: digest_of(&written.digest)? })
}

pub fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub fn digest_of(text: &str) -> Option<[u8; 32]> {
    let bytes: Vec<u8> = text
        .as_bytes()
        .chunks(2)
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok())
        .collect::<Option<_>>()?;
    bytes.try_into().ok()
}
