//! H. Terminal.

use std::os::fd::{AsFd, OwnedFd};

use cofferdam_linux_sys::probe::terminal_request;
use rustix::fs::{CWD, Mode, OFlags};
use rustix::pty::OpenptFlags;

use crate::probe::{Mistake, Outcome, Probe, Words};

pub const PROBES: &[Probe] = &[
    Probe { name: "terminal-requests", threat: 102, takes: "", attack: requests },
    Probe { name: "controlling-terminal", threat: 102, takes: "", attack: controlling },
];

/// Typing into a terminal, the console, the line discipline, keyboards; the first once more with a bit that the
/// kernel does not look at and a careless filter does.
const REQUESTS: &[(&str, u64)] = &[
    ("TIOCSTI", 0x5412),
    ("TIOCLINUX", 0x541c),
    ("TIOCCONS", 0x541d),
    ("TIOCSETD", 0x5423),
    ("KDGKBMODE", 0x4b44),
    ("VT_GETSTATE", 0x5603),
    ("TIOCSTI with bit 32", 0x1_0000_5412),
];

/// On the standard streams and on a terminal of our own, which is always there.
fn requests(_: &mut Words) -> Result<Outcome, Mistake> {
    let own = own_terminal().map_err(|error| error.to_string())?;
    let (stdin, stdout, stderr) = (std::io::stdin(), std::io::stdout(), std::io::stderr());
    let descriptors = [own.as_fd(), stdin.as_fd(), stdout.as_fd(), stderr.as_fd()];
    let refused = Some(rustix::io::Errno::PERM.raw_os_error());
    let reached: Vec<String> = REQUESTS
        .iter()
        .filter(|(_, request)| {
            descriptors.iter().any(|descriptor| match terminal_request(*descriptor, *request) {
                Ok(()) => true,
                Err(error) => error.raw_os_error() != refused,
            })
        })
        .map(|(name, _)| (*name).to_owned())
        .collect();
    Ok(Outcome::found(&reached, "all refused"))
}

fn own_terminal() -> rustix::io::Result<OwnedFd> {
    let controller = rustix::pty::openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY)?;
    rustix::pty::unlockpt(&controller)?;
    let name = rustix::pty::ptsname(&controller, Vec::new())?;
    rustix::fs::openat(CWD, &name, OFlags::RDWR | OFlags::NOCTTY, Mode::empty())
}

fn controlling(_: &mut Words) -> Result<Outcome, Mistake> {
    let opened = std::fs::OpenOptions::new().read(true).write(true).open("/dev/tty");
    Ok(Outcome::of(opened, |_| "opened".to_owned()))
}
