//! The supervisor: holds what must outlive a crash of the worker, and answers for it meanwhile.

mod clients;
mod config_watch;
mod desk;
mod notify;
mod worker;

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use cofferdam_audit::event::DaemonStarted;
use cofferdam_audit::{AuditError, HostName, Label, OnWriteFailure, Recorder, Settings};
use cofferdam_control::CONTROL_SOCKET;
use cofferdam_control::channel::Channel;
use cofferdam_control::place::{Listener, Place};
use cofferdam_linux_sys::signals::Signals;
use cofferdam_linux_sys::sock_diag::SocketTable;
use cofferdam_sandbox::own_walls;
use zeroize::Zeroizing;

use super::handover::{Born, Mode, Setup};
use super::identity::{Found, Tenure};
use super::variables::Variables;
use super::{log, pairing};
use crate::exit::Exit;
use crate::failure::Failure;
use config_watch::ConfigWatch;
use desk::Desk;

const SIGNALS: [i32; 4] = [1, 2, 3, 15];

/// Everything that a supervisor works with.
pub struct Office {
    pub setup: Setup,
    pub variables: Variables,
    /// The same for every worker and every daemon, so that two-part tokens outlive one.
    pub pairing: Zeroizing<[u8; 32]>,
    /// For containers and others.
    pub shared: TcpListener,
    /// Made before the walls, behind which nobody makes one. None where the kernel has no such thing.
    pub sockets: Option<SocketTable>,
    pub metrics: Option<TcpListener>,
    pub control: Listener,
    pub signals: Signals,
    pub config: Option<ConfigWatch>,
    pub recorder: Recorder,
    pub walls: Vec<String>,
    /// Last: given back when everything else is.
    _tenure: Tenure,
}

/// The supervisor's whole life. Standard input is the connection to the one who wants it.
pub fn supervise(nonce: &str) -> Result<Exit, Failure> {
    log::begin();
    let lost = |error: io::Error| Failure::new(Exit::Unavailable, format!("no daemon: {error}"));
    let starter = Channel::from_connected(io::stdin().as_fd().try_clone_to_owned().map_err(lost)?);
    let Ok(Some((setup, descriptors))) = starter.receive::<Setup>() else {
        return Err(Failure::new(Exit::Usage, "this command is started by `cofferdam egress start`"));
    };
    let mode = setup.mode;
    let office = match prepare(setup, descriptors, nonce) {
        Ok(office) => office,
        Err(born) => return Ok(stillborn(&starter, &born, mode)),
    };
    let waits = (mode == Mode::Background).then_some(starter);
    Desk::new(office, waits).serve().map_err(lost)
}

fn stillborn(starter: &Channel, born: &Born, mode: Mode) -> Exit {
    if let Born::Failed { sentence, .. } = born {
        tracing::error!("not started: {sentence}");
    }
    if let (Born::RunsAlready { .. }, Mode::Foreground) = (born, mode) {
        tracing::error!("not started: the daemon runs already");
    }
    // Whoever started this is gone if it cannot be told.
    let _ = starter.send(born, &[]);
    Exit::Unavailable
}

fn prepare(setup: Setup, descriptors: Vec<OwnedFd>, nonce: &str) -> Result<Office, Born> {
    let places = setup.places();
    let tenure = Tenure::take(&places.runtime, nonce)
        .map_err(|error| failed(&error, Some(error.fix())))?
        .ok_or_else(|| runs_already(&places.runtime))?;
    // Without a record there is no daemon, so this comes before anybody can connect.
    let recorder = begin_record(&setup).map_err(|error| failed(&error, Some(error.fix())))?;
    let mut descriptors = descriptors.into_iter();
    let variables = descriptors
        .next()
        .ok_or_else(|| io::Error::other("the setup came without variables"))
        .and_then(Variables::from_file)
        .map_err(|error| failed(&error, None))?;
    let pairing = pairing::read_or_make(&places.state).map_err(|error| failed(&error, Some(error.fix())))?;
    let shared = listener(descriptors.next(), setup.listen)?;
    let metrics = setup.metrics_listen.map(|address| listener(None, address)).transpose()?;
    let control = Place::create(&places.runtime)
        .and_then(|place| place.listen(CONTROL_SOCKET))
        .map_err(|error| failed(&format!("no control socket: {error}"), None))?;
    let signals = Signals::take_over(&SIGNALS).map_err(|error| failed(&error, None))?;
    let config = ConfigWatch::of(&places.config_file());
    let sockets = SocketTable::open().ok();
    let walls = own_walls::raise(&[&places.state, &places.runtime, Path::new("/dev/null")])
        .map_err(|error| failed(&format!("the daemon cannot restrict itself: {error}"), None))?;
    Ok(Office {
        setup,
        variables,
        pairing,
        shared,
        sockets,
        metrics,
        control,
        signals,
        config,
        recorder,
        walls,
        _tenure: tenure,
    })
}

/// Opens the record and writes the first line of this daemon's life: what can be opened cannot always be written.
fn begin_record(setup: &Setup) -> Result<Recorder, AuditError> {
    let on_write_failure =
        if setup.record_required { OnWriteFailure::Refuse } else { OnWriteFailure::Continue };
    let settings = Settings { on_write_failure, ..Settings::default() };
    let recorder = Recorder::open(&setup.places().audit(), settings)?;
    let (version, listen) = (Label::new(env!("CARGO_PKG_VERSION")), HostName::new(setup.listen.to_string()));
    let started = DaemonStarted { version, pid: std::process::id(), listen };
    if let Err(error) = recorder.record(None, &started.into())?.place() {
        tracing::error!("not recorded: {error}");
    }
    Ok(recorder)
}

fn runs_already(runtime: &Path) -> Born {
    let found = Found::look(runtime).ok().flatten();
    Born::RunsAlready { pid: found.map(|found| found.identity.pid) }
}

fn failed(error: &impl ToString, hint: Option<String>) -> Born {
    Born::Failed { sentence: error.to_string(), hint }
}

/// The listener that was handed over, or a new one.
fn listener(given: Option<OwnedFd>, address: SocketAddr) -> Result<TcpListener, Born> {
    let bound = match given {
        Some(given) => Ok(TcpListener::from(given)),
        None => TcpListener::bind(address),
    };
    bound
        .and_then(|listener| {
            listener.set_nonblocking(true)?;
            listener.local_addr().map(|_| listener)
        })
        .map_err(|error| Born::Failed {
            sentence: format!("cannot listen on {address}: {error}"),
            hint: Some(
                "choose another address: `listen` in the section [egress] of the configuration".to_owned(),
            ),
        })
}
