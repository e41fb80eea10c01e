//! The daemon's log: what happened to it, by name and never by value. Requests are in the record, not here.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use cofferdam_linux_sys::private::{PrivateDir, PrivateError};
use tracing_subscriber::EnvFilter;

pub const LOG_FILE: &str = "daemon.log";
const FORMER_FILE: &str = "daemon.log.1";
/// A longer one is put aside at a start; one such is kept.
const LONGEST: u64 = 8 << 20;
/// How much of it is shown when a start fails.
const SHOWN: u64 = 4096;

/// Writes what is worth it to standard error, which is the log's file or a terminal. `RUST_LOG` says what is worth it.
pub fn begin() {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    let subscriber =
        tracing_subscriber::fmt().with_env_filter(filter).with_writer(io::stderr).with_ansi(false).finish();
    // The only other one would be one of ours.
    let _ = tracing::subscriber::set_global_default(subscriber);
}

/// Opens the log for what comes next.
pub fn open(state: &Path) -> Result<File, PrivateError> {
    let directory = PrivateDir::open_or_create(state)?;
    let file = directory.open_append(LOG_FILE)?;
    if file.metadata().is_ok_and(|metadata| metadata.len() <= LONGEST) {
        return Ok(file);
    }
    let path = state.join(LOG_FILE);
    std::fs::rename(&path, state.join(FORMER_FILE))
        .map_err(|error| PrivateError::system(path, "put aside", error))?;
    directory.open_append(LOG_FILE)
}

/// The last lines that were written after this length.
pub fn tail(file: &mut File, from: u64) -> io::Result<Vec<String>> {
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(from.max(length.saturating_sub(SHOWN))))?;
    let mut bytes = Vec::new();
    file.take(SHOWN).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<String> = text.lines().map(str::to_owned).collect();
    Ok(lines[lines.len().saturating_sub(10)..].to_vec())
}
