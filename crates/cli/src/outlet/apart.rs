//! A proxy in a process of its own, for a sandbox that outlives the one who made it: a session where no daemon runs. It
//! begins as a new program with an environment built by the rules, speaks the daemon's language over one connection, and
//! ends with it.

use std::io;
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::Arc;

use cofferdam_control::channel::Channel;
use cofferdam_control::connection::{ConnectError, Connection, Hello};
use cofferdam_control::messages::egress::{Opened, Opening, Reply as Answer, Request as Ask};
use cofferdam_control::messages::{Refusal, Reply, Request};
use cofferdam_sandbox::own_walls;
use cofferdam_sandbox::text::Text;
use serde::{Deserialize, Serialize};

use super::embedded::{Embedded, From};
use super::line::{self, Line};
use super::tally::Tally;
use crate::daemon::launch;
use crate::daemon::variables::Variables;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::places::Places;
use crate::proxy_parts;
use crate::settings::{Settings, Unusable, read_config};

/// The first message, with the variables.
#[derive(Debug, Serialize, Deserialize)]
struct Setup {
    config: Text,
    state: Text,
    runtime: Text,
}

/// Starts one and has it take a client in.
pub fn open(settings: &Settings, opening: &Opening) -> Result<(Line, Opened), Failure> {
    let failed =
        |error: io::Error| Failure::new(Exit::NotStarted, format!("no process for the way out: {error}"));
    let registry = proxy_parts::registry(&settings.config);
    let places = &settings.places;
    let channel = launch::start_apart(&opening.session, &launch::environment(&registry)).map_err(failed)?;
    let setup = Setup {
        config: places.config.as_path().into(),
        state: places.state.as_path().into(),
        runtime: places.runtime.as_path().into(),
    };
    let variables = Variables::needed_by(&settings.config, &registry).to_file().map_err(failed)?;
    channel.send(&setup, &[variables.as_fd()]).map_err(failed)?;
    let connection = Connection::over(channel).map_err(|error| match error {
        ConnectError::Failed(error) => failed(error),
        other => failed(io::Error::other(other.to_string())),
    })?;
    let opened = line::open(&connection, opening)?;
    Ok((Line { connection, way_back: None }, opened))
}

/// The process's whole life. Standard input is the connection.
pub fn serve_one() -> Result<Exit, Failure> {
    let lost = |error: io::Error| Failure::new(Exit::Unavailable, format!("no way out: {error}"));
    let channel = Channel::from_connected(io::stdin().as_fd().try_clone_to_owned().map_err(lost)?);
    let Ok(Some((setup, descriptors))) = channel.receive::<Setup>() else {
        return Err(Failure::new(Exit::Usage, "this command is started by `cofferdam session new`"));
    };
    let mut descriptors = descriptors.into_iter();
    let variables = descriptors.next().ok_or_else(|| io::Error::other("no variables"));
    let variables = variables.and_then(Variables::from_file).map_err(lost)?;
    let greeted = channel.receive::<Hello>().map_err(lost)?.is_some_and(|(hello, _)| hello.fits());
    channel.send(&Hello::own(), &[]).map_err(lost)?;
    let places =
        Places { config: setup.config.into(), state: setup.state.into(), runtime: setup.runtime.into() };
    let channel = Arc::new(channel);
    let Some((Request::Egress(Ask::Open(opening)), _)) = channel.receive::<Request>().map_err(lost)? else {
        return Ok(Exit::Unavailable);
    };
    let embedded = match embed(&places, &variables, opening, &channel) {
        Ok((embedded, opened)) if greeted => {
            channel.send(&Reply::Egress(Answer::Opened(opened)), &[]).map_err(lost)?;
            embedded
        }
        Ok(_) => return Ok(Exit::Unavailable),
        Err(failure) => {
            let sentence = failure.sentence().to_owned();
            channel.send(&Reply::Egress(Answer::NotOpened(sentence)), &[]).map_err(lost)?;
            return Ok(Exit::NotStarted);
        }
    };
    // Nobody needs the person's values twice.
    drop(variables);
    while let Some((request, descriptors)) = channel.receive::<Request>().map_err(lost)? {
        let reply = match request {
            Request::Egress(Ask::Serve(sockets)) if sockets.len() == descriptors.len() => {
                match embedded.serve(sockets.into_iter().zip(descriptors)) {
                    Ok(()) => Reply::Egress(Answer::Served),
                    Err(error) => Reply::Refused(Refusal::Failed(error.to_string())),
                }
            }
            Request::Egress(Ask::Leave) => {
                embedded.close();
                Reply::Egress(Answer::Left)
            }
            Request::Egress(_) => Reply::Refused(Refusal::NotUnderstood),
        };
        channel.send(&reply, &[]).map_err(lost)?;
    }
    embedded.close();
    Ok(Exit::Success)
}

fn embed(
    places: &Places,
    variables: &Variables,
    opening: Opening,
    channel: &Arc<Channel>,
) -> Result<(Embedded, Opened), Failure> {
    let config = read_config(places).map_err(|unusable| match unusable {
        Unusable::Unreadable(failure) => failure,
        Unusable::Mistakes(_) => Failure::new(Exit::Config, "the configuration has mistakes"),
    })?;
    let recorder = proxy_parts::recorder(places, &config).map_err(Failure::of_a_start)?;
    own_walls::raise(&[&places.state, &places.runtime, Path::new("/dev/null")]).map_err(|error| {
        Failure::new(Exit::NotStarted, format!("the proxy cannot restrict itself: {error}"))
    })?;
    let listener = Arc::clone(channel);
    let watcher = Arc::new(Tally::new(Arc::new(move |line| {
        // Whoever does not listen any more is about to go.
        let _ = listener.send(&Reply::Egress(Answer::Told(line)), &[]);
    })));
    Embedded::open(From { places, config: &config, host: variables.to_host(), recorder, watcher }, opening)
}
