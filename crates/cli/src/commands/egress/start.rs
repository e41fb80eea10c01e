//! `egress start`: hands over to a supervisor, and comes back when the proxy answers or has left nothing behind.

use std::ffi::OsString;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use cofferdam_control::channel::Channel;
use cofferdam_linux_sys::descriptors;
use cofferdam_policy::document::OnWriteFailure;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::{coverage, stop};
use crate::args::egress::EgressStart;
use crate::daemon::handover::{Born, Mode, Setup};
use crate::daemon::variables::Variables;
use crate::daemon::{identity, launch, log};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;
use crate::proxy_parts;
use crate::settings::Settings;
use crate::waiting;

/// A start that has not come to an end by then has failed.
const DEADLINE: Duration = Duration::from_secs(30);
const ANSWERS_WITHIN: Duration = Duration::from_secs(2);
/// The first descriptor that systemd hands over.
const FIRST_HANDED: i32 = 3;

pub fn start(args: &EgressStart) -> Result<Exit, Failure> {
    let settings = Settings::load()?;
    let egress = &settings.config.egress;
    if !egress.enabled {
        return Err(Failure::new(Exit::Config, "the proxy is switched off in the configuration")
            .hint("set `enabled = true` in the section [egress], or run `cofferdam egress setup`"));
    }
    coverage::require(&settings.config)?;
    warn_of_all_interfaces(egress.listen.ip());
    if args.foreground { foreground(&settings) } else { background(&settings) }
}

pub fn restart() -> Result<Exit, Failure> {
    // The new one must have a chance before the old one is given up.
    let settings = Settings::load()?;
    coverage::require(&settings.config)?;
    stop::stop_if_running(&settings.places, stop::GRACE)?;
    start(&EgressStart { foreground: false })
}

fn warn_of_all_interfaces(listen: IpAddr) {
    if listen.is_unspecified() {
        eprintln!(
            "cofferdam: warning: listening on every interface ({listen}); whoever reaches this machine reaches the proxy"
        );
    }
}

fn setup(settings: &Settings, mode: Mode) -> Setup {
    let places = &settings.places;
    let variable = |name| std::env::var_os(name).filter(|_| mode == Mode::Foreground);
    let microseconds = variable("WATCHDOG_USEC").and_then(|text| text.to_str()?.parse().ok());
    Setup {
        config: places.config.as_path().into(),
        state: places.state.as_path().into(),
        runtime: places.runtime.as_path().into(),
        listen: settings.config.egress.listen,
        metrics_listen: settings.config.egress.metrics,
        mode,
        record_required: settings.config.audit.on_write_failure == OnWriteFailure::Refuse,
        notify: variable("NOTIFY_SOCKET").map(OsString::into),
        watchdog_microseconds: microseconds,
    }
}

fn background(settings: &Settings) -> Result<Exit, Failure> {
    let not_started = |error: io::Error| not_started(&error.to_string(), None);
    let mut log = log::open(&settings.places.state)
        .map_err(|error| Failure::new(Exit::Unavailable, error.to_string()).hint(error.fix()))?;
    let before = log.metadata().map_err(not_started)?.len();
    let registry = proxy_parts::registry(&settings.config);
    let nonce = identity::nonce().map_err(not_started)?;
    let supervisor =
        launch::start_supervisor(&nonce, &launch::environment(&registry), &log).map_err(not_started)?;
    let variables = Variables::needed_by(&settings.config, &registry).to_file().map_err(not_started)?;
    supervisor.send(&setup(settings, Mode::Background), &[variables.as_fd()]).map_err(not_started)?;
    let listen = settings.config.egress.listen;
    let became = waiting::during("starting the proxy", || born(&supervisor)).map_err(not_started)?;
    match became {
        Some(Born::Ready { pid }) => {
            answers(listen).map_err(|error| {
                not_started(io::Error::other(format!("it does not answer on {listen}: {error}")))
            })?;
            output::text(&format!(
                "the proxy is running (pid {pid}), on {listen} for containers and others\n"
            ))?;
            Ok(Exit::Success)
        }
        Some(Born::RunsAlready { pid }) => {
            let pid = pid.map_or(String::new(), |pid| format!(" (pid {pid})"));
            Err(Failure::new(Exit::Unavailable, format!("the proxy is running already{pid}"))
                .hint("`cofferdam egress status` tells how it is, `cofferdam egress restart` starts it anew"))
        }
        Some(Born::Failed { sentence, hint }) => {
            // The connection ends with the process, and that only after it has cleared up.
            born(&supervisor).map_err(not_started)?;
            show_log(&mut log, before);
            Err(self::not_started(&sentence, hint))
        }
        None => {
            show_log(&mut log, before);
            Err(self::not_started("it did not come up", None))
        }
    }
}

/// What became of the supervisor; nothing if it has ended without a word or takes too long. It ends itself when this
/// end of the connection is gone.
fn born(supervisor: &Channel) -> io::Result<Option<Born>> {
    let deadline = Timespec { tv_sec: DEADLINE.as_secs().cast_signed(), tv_nsec: 0 };
    let ready = poll(&mut [PollFd::new(supervisor, PollFlags::IN)], Some(&deadline))?;
    if ready == 0 {
        return Ok(None);
    }
    Ok(supervisor.receive::<Born>()?.map(|(born, _)| born))
}

fn answers(listen: SocketAddr) -> io::Result<()> {
    let mut target = listen;
    if target.ip().is_unspecified() {
        target.set_ip(match target {
            SocketAddr::V4(_) => IpAddr::from([127, 0, 0, 1]),
            SocketAddr::V6(_) => IpAddr::from(std::net::Ipv6Addr::LOCALHOST),
        });
    }
    TcpStream::connect_timeout(&target, ANSWERS_WITHIN).map(drop)
}

fn not_started(sentence: &str, hint: Option<String>) -> Failure {
    let failure = Failure::new(Exit::Unavailable, format!("the proxy was not started: {sentence}"));
    match hint {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}

fn show_log(log: &mut std::fs::File, before: u64) {
    for line in log::tail(log, before).unwrap_or_default() {
        eprintln!("log: {line}");
    }
}

/// This process becomes the supervisor: the same number, so that whoever started it keeps track of it, but a new
/// program, so that nothing of its environment is left.
fn foreground(settings: &Settings) -> Result<Exit, Failure> {
    let failed = |error: io::Error| not_started(&error.to_string(), None);
    let handed = handed_over().map_err(failed)?;
    let registry = proxy_parts::registry(&settings.config);
    let nonce = identity::nonce().map_err(failed)?;
    let (ours, theirs) = Channel::pair().map_err(failed)?;
    let variables = Variables::needed_by(&settings.config, &registry).to_file().map_err(failed)?;
    let mut given = vec![variables.as_fd()];
    given.extend(handed.iter().map(AsFd::as_fd));
    ours.send(&setup(settings, Mode::Foreground), &given).map_err(failed)?;
    Err(failed(launch::become_supervisor(&nonce, &launch::environment(&registry), &theirs)))
}

/// The socket that systemd has opened, if this very process was given one.
fn handed_over() -> io::Result<Option<OwnedFd>> {
    let number = |name| std::env::var(name).ok()?.parse::<u32>().ok();
    match (number("LISTEN_PID"), number("LISTEN_FDS")) {
        (Some(pid), Some(count)) if pid == std::process::id() && count > 0 => {
            descriptors::inherited(FIRST_HANDED).map(Some)
        }
        _ => Ok(None),
    }
}
