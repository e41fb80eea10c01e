//! `read-guard`.

use std::env;
use std::io;
use std::path::{Path, PathBuf};

use cofferdam_linux_sys::read_guard::{GuardedFile, NotOpened, ReadGuard, Refusal};
use cofferdam_policy::secret_paths::Bases;
use serde::Serialize;

use crate::args::ReadGuardArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;
use crate::places::Places;

#[derive(Serialize)]
struct Verdict<'a> {
    path: String,
    /// Where it really is; only told of a file that may be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    resolved: Option<String>,
    verdict: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<String>,
}

pub fn run(args: &ReadGuardArgs) -> Result<Exit, Failure> {
    match guard()?.open(&args.path) {
        Ok(file) => allowed(args, file),
        Err(NotOpened::Refused(refusal)) => refused(args, refusal),
        Err(NotOpened::NoProc) => Err(Failure::new(
            Exit::Unavailable,
            "there is no procfs at /proc, so nothing can be told about a file",
        )
        .hint("mount one: mount -t proc proc /proc")),
        Err(NotOpened::Failed(error)) => Err(failed(&args.path, &error)),
    }
}

/// The built-in list, the places below this user's home, and our own files wherever they are.
fn guard() -> Result<ReadGuard, Failure> {
    let directory = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let mut guard = ReadGuard::default();
    if let Some(home) = directory("HOME") {
        guard = guard.home(&Bases {
            home,
            config: directory("XDG_CONFIG_HOME"),
            data: directory("XDG_DATA_HOME"),
            state: directory("XDG_STATE_HOME"),
            cache: directory("XDG_CACHE_HOME"),
        });
    }
    // Without a home there is no place for our files, so there are none to keep.
    if directory("HOME").is_some() || directory("COFFERDAM_HOME").is_some() {
        let places = Places::find()?;
        guard = guard.own_state(places.config).own_state(places.state).own_state(places.runtime);
    }
    Ok(guard)
}

fn allowed(args: &ReadGuardArgs, file: GuardedFile) -> Result<Exit, Failure> {
    if args.print {
        copy(args, file)?;
    } else if args.json {
        output::json(&Verdict {
            path: args.path.to_string_lossy().into_owned(),
            resolved: Some(file.path().to_string_lossy().into_owned()),
            verdict: "allow",
            reason: None,
            detail: None,
        })?;
    } else {
        output::text(&format!("{} may be read\n", shown(&args.path)))?;
    }
    Ok(Exit::Success)
}

fn copy(args: &ReadGuardArgs, file: GuardedFile) -> Result<(), Failure> {
    match io::copy(&mut file.into_file(), &mut io::stdout().lock()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(failed(&args.path, &error)),
        _ => Ok(()),
    }
}

fn refused(args: &ReadGuardArgs, refusal: Refusal) -> Result<Exit, Failure> {
    if args.json {
        output::json(&Verdict {
            path: args.path.to_string_lossy().into_owned(),
            resolved: None,
            verdict: "deny",
            reason: Some(refusal.code()),
            detail: Some(refusal.reason()),
        })?;
        return Ok(Exit::Denied);
    }
    let failure = Failure::new(Exit::Denied, format!("{} {}", shown(&args.path), refusal.reason()));
    Err(match refusal {
        Refusal::Process => {
            failure.hint("of /proc, cpuinfo, loadavg, meminfo, uptime and version can be read")
        }
        Refusal::Directory => failure.hint("name a file in it"),
        Refusal::MagicLink => failure.hint("name the file itself"),
        _ => failure.hint("ask the person you work for to show you what you need of it"),
    })
}

fn failed(path: &Path, error: &io::Error) -> Failure {
    let failure = Failure::new(Exit::Unavailable, format!("cannot read {}: {error}", shown(path)));
    match error.kind() {
        io::ErrorKind::NotFound => failure.hint("check the spelling, and the directory you are in"),
        io::ErrorKind::PermissionDenied => failure.hint("the file's owner and mode do not let you read it"),
        io::ErrorKind::Unsupported => failure.hint("the guard needs Linux 5.6 or newer, for openat2"),
        _ => failure,
    }
}

/// A name as it can be shown on a terminal, whatever is in it.
fn shown(path: &Path) -> String {
    format!("\u{201c}{}\u{201d}", path.to_string_lossy().escape_debug())
}
