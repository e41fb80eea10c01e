//! `exec-code --serve`: scripts of other programs of this user, over a socket.
//!
//! One connection is one script. The first frame starts it; from then on events and calls of the host's tools go one
//! way and answers the other, all of them frames on that connection. Who connects is known by what the kernel says of
//! them; another user is not heard. Each script has a process of its own, as if it had been started by hand, so that
//! no two of them meet, and the end of the server is not theirs.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::time::Instant;

use clap::Parser;
use cofferdam_control::peer::Peer;
use cofferdam_exec_broker::Unstarted;
use cofferdam_exec_broker::tool::Tool;
use cofferdam_linux_sys::clone;
use rustix::process::Signal;
use serde::Deserialize;

use super::granted::Host;
use super::outcome::Teller;
use super::script::Script;
use crate::args::exec_code::ExecCode;
use crate::args::{Args, Command};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::own_socket;
use crate::settings::Settings;

/// The file name of the socket in the runtime directory.
const SOCKET: &str = "code.sock";

/// The first frame of a connection.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Start {
    /// Options of `exec-code`, as they would be typed.
    #[serde(default)]
    options: Vec<String>,
    code: String,
    /// Tools of whoever is on the other side.
    #[serde(default)]
    tools: Vec<Tool>,
}

pub fn run() -> Result<Exit, Failure> {
    let runtime = Settings::load()?.places.runtime;
    let unheard = |error: io::Error| {
        Failure::new(
            Exit::Unavailable,
            format!("cannot listen on {}: {error}", runtime.join(SOCKET).display()),
        )
    };
    let listener = own_socket::listen(&runtime, SOCKET).map_err(unheard)?;
    eprintln!("cofferdam: scripts on {}", runtime.join(SOCKET).display());
    for stream in listener.incoming() {
        let stream = stream.map_err(unheard)?;
        if !Peer::of(&stream).is_ok_and(Peer::may_control) {
            continue;
        }
        // Whoever could not be served sees the connection end.
        let started = clone::start_detached(|| converse(stream));
        if let Err(error) = started {
            eprintln!("cofferdam: a script could not be taken: {error}");
        }
    }
    Ok(Exit::Success)
}

/// Serves one connection, in a process of its own.
fn converse(stream: UnixStream) {
    let mut connection = Unstarted::over(OwnedFd::from(stream));
    let teller = Teller::over(connection.wire());
    let ended = connection
        .receive()
        .map_err(|why| Failure::new(Exit::Usage, format!("there is no start: {why}")))
        .and_then(|first| begin(&first, connection, &teller));
    if let Err(failure) = ended {
        teller.failed(&failure);
    }
}

fn begin(first: &[u8], connection: Unstarted, teller: &Teller) -> Result<Exit, Failure> {
    let start: Start = serde_json::from_slice(first)
        .map_err(|error| Failure::new(Exit::Usage, format!("this is no start: {error}")))?;
    let args = options(&start.options)?;
    let script = Script::given("the script", start.code, args.language, None)?;
    let host = Host { tools: start.tools, connection, gone: end_this_process };
    super::execute(&args, script, Some(host), teller.clone(), Instant::now())
}

fn options(options: &[String]) -> Result<Box<ExecCode>, Failure> {
    let words = ["cofferdam", "exec-code"].into_iter().chain(options.iter().map(String::as_str));
    let typed = Args::try_parse_from(words.chain(["--", "-"]))
        .map_err(|error| Failure::new(Exit::Usage, error.render().to_string()))?;
    match typed.command {
        Command::ExecCode(args) if args.host_tools.is_none() => Ok(args),
        _ => Err(Failure::new(Exit::Usage, "these are no options for a script of this connection")),
    }
}

/// A script whose host has hung up ends as if it had been interrupted, and everything that it started with it.
fn end_this_process() {
    let _ = rustix::process::kill_process(rustix::process::getpid(), Signal::TERM);
}
