//! `session new`: a keeper of its own, and a sandbox in its hands.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::fd::AsFd;

use cofferdam_audit::event::RunWay;
use cofferdam_audit::{CommandText, Label};
use cofferdam_linux_sys::clone;
use cofferdam_linux_sys::exec::{self, Image};
use cofferdam_linux_sys::{descriptors, privileges, signals};
use cofferdam_policy::environment::ChildEnvironment;
use cofferdam_sandbox::channel::{self, Channel};
use cofferdam_sandbox::late::Late;
use cofferdam_sandbox::plan::Network;
use cofferdam_sandbox::report::Report;

use super::client::{Client, sessions_directory};
use super::place::{self, Sessions};
use super::protocol::{Born, Request, Setup, WayOut};
use crate::args::session::SessionNew;
use crate::commands::run::publish::Published;
use crate::commands::run::wish::Wished;
use crate::commands::run::{outcome, record};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::gatekeeper::Gatekeeper;
use crate::outlet::{Outlet, Server, Telling};
use crate::output;
use crate::waiting;

pub fn new(args: &SessionNew) -> Result<Exit, Failure> {
    let name = name(args.name.as_deref())?;
    let directory = sessions_directory()?;
    Sessions::create(&directory).map_err(|error| {
        Failure::new(Exit::NotStarted, format!("cannot use {}: {error}", directory.display()))
            .hint("it must be a directory of yours that nobody else can enter")
    })?;
    let published = Published::listen(&args.publish)?;
    let mut wished = Wished::read(&args.sandbox)?;
    if args.overlay {
        let layer = wished.add_layer(&["session".into(), name.clone().into()])?;
        eprintln!("cofferdam: what is written to the workspace goes to layer {}", layer.id);
        eprintln!(
            "hint: cofferdam overlay diff {0}, then cofferdam overlay apply {0} or discard {0}",
            layer.id
        );
    }
    // Behind the overlay's words, before the plan: what the proxy hands over goes into the tree.
    let mut outlet = wished.open_outlet(&name, Telling::AsTheyHappen, Server::DaemonOrApart)?;
    let image = wished.image(&args.sandbox.env, &[], outlet.as_ref())?;
    let line = outlet.as_mut().and_then(Outlet::take_line);
    let (connection, way_back) = line.map(|line| (line.connection, line.way_back)).unzip();
    let plan = wished.plan()?;
    let setup = Setup {
        name: name.clone(),
        sessions: directory.as_path().into(),
        late: Late::of(&wished.request, &plan),
        plan,
        workspace: wished.request.workspace.as_path().into(),
        published: args.publish.clone(),
        lifetime: wished.timeout,
        idle: args.idle_timeout,
        way_out: way_back.map(|way_back| WayOut { way_back }),
    };
    let failed = |error: io::Error| {
        Failure::new(Exit::NotStarted, format!("the session could not be started: {error}"))
    };
    let keeper = start_keeper().map_err(failed)?;
    let image = channel::memory_file(&image.to_bytes()).map_err(failed)?;
    let mut descriptors: Vec<_> = std::iter::once(image.as_fd()).chain(published.descriptors()).collect();
    descriptors.extend(connection.iter().map(AsFd::as_fd));
    keeper.send(&setup, &descriptors).map_err(failed)?;
    match waiting::during("starting the session", || keeper.receive()).map_err(failed)? {
        Some((Born::Ready(report), _)) => {
            if wished.request.network != Network::Host {
                outcome::tell_missing(&report);
            }
            write_down(&name, &wished, &report)?;
            output::text(&format!("{name}\n")).map(|()| Exit::Success)
        }
        Some((Born::NotBuilt(problem), _)) => Err(outcome::not_built(&problem)),
        Some((Born::NameTaken, _)) => {
            Err(Failure::new(Exit::NotStarted, format!("there is a session {name} already"))
                .hint(format!("use it, end it with `cofferdam session kill {name}`, or take another name")))
        }
        Some((Born::NoSocket(error) | Born::NoWayOut(error), _)) => Err(failed(io::Error::other(error))),
        None => Err(failed(io::Error::other("its keeper has ended"))),
    }
}

/// A session that cannot be written down must not be.
fn write_down(name: &str, wished: &Wished, report: &Report) -> Result<(), Failure> {
    let text = CommandText::already_redacted(format!("session {name}"));
    let walls = (wished.request.profile, wished.request.network);
    let started = record::started(report, walls, (RunWay::Session, text));
    let written =
        Gatekeeper::open().and_then(|keeper| record::write(&keeper.recorder, &Label::new(name), &started));
    written.inspect_err(|_| {
        // Its keeper ends it; whoever wanted it is told why.
        let _ = Client::connect(name).and_then(|client| client.ask(&Request::EndSession));
    })
}

fn name(typed: Option<&str>) -> Result<String, Failure> {
    match typed {
        Some(name) if place::is_name(name) => Ok(name.to_owned()),
        Some(_) => Err(Failure::new(Exit::Usage, "that cannot be the name of a session")
            .hint("letters, digits, - _ and . are fine, 48 of them, the first one a letter or a digit")),
        None => {
            let mut random = [0; 4];
            File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut random)).map_err(
                |error| {
                    Failure::new(Exit::Unavailable, format!("no random name: {error}"))
                        .hint("choose one with --name")
                },
            )?;
            Ok(format!("s-{:08x}", u32::from_ne_bytes(random)))
        }
    }
}

/// Starts this program anew as a process of nobody: its own session, no terminal, no environment, no descriptor but
/// the connection. It is not a copy of this process, which has read the person's environment.
fn start_keeper() -> io::Result<Channel> {
    let (ours, theirs) = Channel::pair()?;
    clone::start_detached(|| {
        // Whoever waits for the keeper sees the connection end.
        let _ = become_keeper(&theirs);
    })?;
    Ok(ours)
}

/// Returns only if it failed.
fn become_keeper(connection: &Channel) -> io::Result<()> {
    let image = Image::new(&["cofferdam", "session", "keep"], &ChildEnvironment::empty())?;
    let null = OpenOptions::new().read(true).write(true).open("/dev/null")?;
    rustix::process::chdir("/")?;
    signals::reset()?;
    let connection = connection.as_fd().try_clone_to_owned()?;
    descriptors::place(connection.as_fd(), 0)?;
    descriptors::place(null.as_fd(), 1)?;
    descriptors::place(null.as_fd(), 2)?;
    privileges::close_on_exec_from(3)?;
    Err(exec::exec(c"/proc/self/exe", &image))
}
