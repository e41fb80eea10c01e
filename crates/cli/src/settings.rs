//! The user's configuration, as every command gets it.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use cofferdam_policy::document::Config;
use cofferdam_policy::mistake::Mistake;
use rustix::fs::{Mode, OFlags};

use crate::caller::Caller;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::places::Places;

/// What a project says about itself, in the directory that it is in.
pub const PROJECT_FILE: &str = ".cofferdam.toml";

/// No person writes more than this.
const LONGEST: u64 = 16 << 20;

/// Where everything is, and what the user has configured.
#[derive(Debug)]
pub struct Settings {
    pub places: Places,
    pub config: Config,
}

impl Settings {
    /// Finds and reads the configuration. Without a file the defaults hold; a file that cannot be trusted, read
    /// or understood is a failure, never a default.
    pub fn load() -> Result<Self, Failure> {
        Self::of(&Caller::This)
    }

    /// The same for whoever asks.
    pub fn of(caller: &Caller) -> Result<Self, Failure> {
        let places = Places::of(caller)?;
        let path = places.config_file();
        let config = read_config(&places).map_err(|unusable| match unusable {
            Unusable::Mistakes(mistakes) => report(&path, &mistakes),
            Unusable::Unreadable(failure) => failure,
        })?;
        Ok(Self { places, config })
    }
}

/// Why there is no configuration to go by.
pub enum Unusable {
    Mistakes(Vec<Mistake>),
    Unreadable(Failure),
}

/// Reads the configuration that is there.
pub fn read_config(places: &Places) -> Result<Config, Unusable> {
    let path = places.config_file();
    match read_own(&path).map_err(Unusable::Unreadable)? {
        None => Ok(Config::default()),
        Some(text) => Config::parse(&path.display().to_string(), &text).map_err(Unusable::Mistakes),
    }
}

/// Shows every mistake where it is, and gives the failure that counts them.
pub fn report(path: &Path, mistakes: &[Mistake]) -> Failure {
    let mut stderr = io::stderr().lock();
    for mistake in mistakes {
        // A closed standard error is no reason to end differently.
        let _ = writeln!(stderr, "{mistake}");
        if let Some(hint) = &mistake.hint {
            let _ = writeln!(stderr, "hint: {hint}");
        }
    }
    let count = match mistakes.len() {
        1 => "one mistake".to_owned(),
        count => format!("{count} mistakes"),
    };
    Failure::new(Exit::Config, format!("{count} in {}", path.display()))
}

/// Reads the user's own configuration, if there is one. It decides what is allowed, so it must be a file that
/// only the user (or root) can change.
pub fn read_own(path: &Path) -> Result<Option<String>, Failure> {
    let file = match open(path) {
        Ok(file) => file,
        // A link that leads nowhere is there all the same, and was meant to lead somewhere.
        Err(error) if error.kind() == io::ErrorKind::NotFound && fs::symlink_metadata(path).is_err() => {
            return Ok(None);
        }
        Err(error) => return Err(unreadable(path, &error)),
    };
    // The open file is what is judged: whatever happens to the name afterwards, this is what is read.
    let opened = file.metadata().map_err(|error| unreadable(path, &error))?;
    let named = fs::symlink_metadata(path).map_err(|error| unreadable(path, &error))?;
    let shown = path.display();
    let us = rustix::process::geteuid().as_raw();
    if let Some(other) = [named.uid(), opened.uid()].into_iter().find(|owner| *owner != us && *owner != 0) {
        let what = if named.is_symlink() && other == named.uid() { "a link of" } else { "owned by" };
        return Err(Failure::new(Exit::Config, format!("{shown} is {what} another user (uid {other})"))
            .hint("replace it with a file of your own"));
    }
    if opened.is_file() && opened.mode() & 0o022 != 0 {
        return Err(Failure::new(Exit::Config, format!("{shown} can be changed by other users"))
            .hint(format!("run: chmod go-w {shown}")));
    }
    text(path, &file).map(Some)
}

/// Reads a document that need not be there. A link that leads nowhere is there.
pub fn read_if_there(path: &Path) -> Result<Option<String>, Failure> {
    match open(path) {
        Ok(file) => text(path, &file).map(Some),
        Err(error)
            if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
                && fs::symlink_metadata(path).is_err() =>
        {
            Ok(None)
        }
        Err(error) => Err(unreadable(path, &error)),
    }
}

/// Reads any document.
pub fn read_text(path: &Path) -> Result<String, Failure> {
    let file = open(path).map_err(|error| unreadable(path, &error))?;
    text(path, &file)
}

/// Opens without waiting, so that a pipe in the place of the file cannot hold the program up.
fn open(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    Ok(rustix::fs::open(path, flags, Mode::empty())?.into())
}

fn text(path: &Path, file: &File) -> Result<String, Failure> {
    let shown = path.display();
    let metadata = file.metadata().map_err(|error| unreadable(path, &error))?;
    if !metadata.is_file() {
        return Err(Failure::new(Exit::Config, format!("{shown} is not a regular file"))
            .hint("put a file there, or remove what is there"));
    }
    let mut bytes = Vec::new();
    file.take(LONGEST + 1).read_to_end(&mut bytes).map_err(|error| unreadable(path, &error))?;
    if bytes.len() as u64 > LONGEST {
        return Err(Failure::new(Exit::Config, format!("{shown} is larger than {} MiB", LONGEST >> 20)));
    }
    String::from_utf8(bytes).map_err(|error| {
        let valid = error.utf8_error().valid_up_to();
        let line = error.as_bytes()[..valid].iter().filter(|byte| **byte == b'\n').count() + 1;
        Failure::new(Exit::Config, format!("{shown} is not UTF-8 text (line {line})"))
            .hint("save the file as UTF-8")
    })
}

fn unreadable(path: &Path, error: &io::Error) -> Failure {
    Failure::new(Exit::Unavailable, format!("cannot read {}: {error}", path.display()))
        .hint("check that the file exists and that you may read it")
}
