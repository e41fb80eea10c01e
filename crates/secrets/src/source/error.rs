//! Why a source gave no value.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use cofferdam_linux_sys::child::{ChildError, Ended};

use super::{DotenvMistake, HttpMistake, JsonMistake};
use crate::secret::Rejected;

/// One sentence by `Display`, what to do about it by [`SourceError::hint`]; a value by neither.
#[derive(Debug)]
pub enum SourceError {
    VariableNotSet {
        name: String,
    },
    NoVariableSet {
        names: Vec<String>,
    },
    /// The configuration asks for a home directory, and there is none.
    NoHome {
        path: String,
    },
    FileNotOpened {
        path: PathBuf,
        cause: io::Error,
    },
    FileNotRead {
        path: PathBuf,
        cause: io::Error,
    },
    NotARegularFile {
        path: PathBuf,
    },
    TooManyLinks {
        path: PathBuf,
    },
    /// A symbolic link that somebody else made, and could change.
    ForeignLink {
        path: PathBuf,
        owner: u32,
    },
    ForeignFile {
        path: PathBuf,
        owner: u32,
    },
    /// Others than the owner may read or write it.
    OpenToOthers {
        path: PathBuf,
        mode: u32,
    },
    FileTooLarge {
        path: PathBuf,
        limit: u64,
    },
    Dotenv {
        path: PathBuf,
        mistakes: Vec<DotenvMistake>,
    },
    DotenvKeyMissing {
        path: PathBuf,
        key: String,
    },
    Json {
        path: PathBuf,
        key: String,
        mistake: JsonMistake,
    },
    EmptyCommand,
    Command {
        cause: ChildError,
    },
    CommandFailed {
        program: String,
        ended: Ended,
    },
    CommandTooLong {
        program: String,
        limit: usize,
    },
    /// The scheme needs more than one text.
    NotADocument {
        needs: &'static str,
    },
    /// A store that was asked gave no value.
    Store {
        store: &'static str,
        mistake: StoreMistake,
    },
    /// The credential of a store would have to come out of a store.
    StoreInStore,
    /// What opens a store cannot be had itself.
    StoreCredential {
        store: &'static str,
        cause: Box<SourceError>,
    },
    Rejected(Rejected),
}

/// What a store did.
#[derive(Debug)]
pub enum StoreMistake {
    /// Its own credential is not one of its kind.
    Credential,
    Http(HttpMistake),
    /// It does not accept its credential, or not for this secret.
    Denied,
    Missing,
    Status(u16),
    Field(JsonMistake),
    /// What it sent was changed, or sealed with another key.
    Sealed,
    Answer,
}

impl fmt::Display for StoreMistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Credential => f.write_str("its credential is not of the kind that it hands out"),
            Self::Http(mistake) => mistake.fmt(f),
            Self::Denied => f.write_str("it did not accept the credential, or not for this secret"),
            Self::Missing => f.write_str("it has no such secret"),
            Self::Status(status) => write!(f, "it answered with status {status}"),
            Self::Field(mistake) => mistake.fmt(f),
            Self::Sealed => f.write_str("its answer cannot be opened with this credential"),
            Self::Answer => f.write_str("its answer cannot be read"),
        }
    }
}

impl SourceError {
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::VariableNotSet { name } => format!("set {name} in the environment of cofferdam"),
            Self::NoVariableSet { names } => {
                format!("set {}, or configure a secret for the provider", or(names))
            }
            Self::NoHome { .. } => "set HOME, or write the whole path".to_owned(),
            Self::OpenToOthers { path, .. } => format!("run: chmod 600 {}", shell_quoted(path)),
            Self::ForeignFile { path, .. } => format!(
                "make a copy of your own: install -m 600 {} COPY, and name the copy",
                shell_quoted(path)
            ),
            Self::ForeignLink { .. } => "name the file itself, or make the link yourself".to_owned(),
            Self::Dotenv { .. } => {
                "write one NAME=VALUE a line, quoted where the value has spaces".to_owned()
            }
            Self::DotenvKeyMissing { path, key } => format!("add a line {key}=… to {}", shell_quoted(path)),
            Self::Json { .. } => {
                "name a member, or a JSON pointer such as /data/token, that is a string".to_owned()
            }
            Self::Command { cause: ChildError::TimedOut { .. } } => {
                "run it yourself to see what it waits for, or raise its timeout".to_owned()
            }
            Self::Command { cause: ChildError::NotFound { .. } | ChildError::RelativeProgram { .. } } => {
                "write the absolute path of the program".to_owned()
            }
            Self::CommandFailed { .. } => {
                "run it yourself to see what it says; its output is never shown".to_owned()
            }
            Self::Store { mistake: StoreMistake::Http(HttpMistake::Untrusted), .. } => {
                "name the certificate of its authority as ca_file in the store's section".to_owned()
            }
            Self::Store { mistake: StoreMistake::Denied, .. } => {
                "check that its credential has not expired and may read this secret".to_owned()
            }
            Self::StoreCredential { cause, .. } => return cause.hint(),
            Self::Rejected(Rejected::Empty) => "the source answered, but with nothing".to_owned(),
            _ => return None,
        })
    }
}

impl fmt::Display for SourceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::VariableNotSet { name } => write!(f, "the variable {name} is not set"),
            Self::NoVariableSet { names } => {
                write!(f, "no source is configured, and {} is not set", or(names))
            }
            Self::NoHome { path } => write!(f, "{path} is below the home directory, and HOME is not set"),
            Self::FileNotOpened { path, cause } => write!(f, "{} cannot be opened: {cause}", shown(path)),
            Self::FileNotRead { path, cause } => write!(f, "{} cannot be read: {cause}", shown(path)),
            Self::NotARegularFile { path } => write!(f, "{} is not a regular file", shown(path)),
            Self::TooManyLinks { path } => write!(f, "{} leads through too many links", shown(path)),
            Self::ForeignLink { path, owner } => {
                write!(f, "{} is a link that belongs to user {owner}", shown(path))
            }
            Self::ForeignFile { path, owner } => write!(f, "{} belongs to user {owner}", shown(path)),
            Self::OpenToOthers { path, mode } => {
                write!(f, "{} is open to other users (mode {mode:04o})", shown(path))
            }
            Self::FileTooLarge { path, limit } => {
                write!(f, "{} is larger than {} KiB", shown(path), limit / 1024)
            }
            Self::Dotenv { path, mistakes } => {
                write!(f, "{} is not a list of variables: ", shown(path))?;
                for (index, mistake) in mistakes.iter().enumerate() {
                    write!(f, "{}{mistake}", if index == 0 { "" } else { "; " })?;
                }
                Ok(())
            }
            Self::DotenvKeyMissing { path, key } => write!(f, "{} has no {key}", shown(path)),
            Self::Json { path, key, mistake } => write!(f, "{}: {key}: {mistake}", shown(path)),
            Self::EmptyCommand => write!(f, "the command of the source is empty"),
            Self::Command { cause } => write!(f, "{cause}"),
            Self::CommandFailed { program, ended: Ended::Exited(status) } => {
                write!(f, "{program} exited with {status}")
            }
            Self::CommandFailed { program, ended: Ended::Signalled(signal) } => {
                write!(f, "{program} was ended by signal {signal}")
            }
            Self::CommandTooLong { program, limit } => {
                write!(f, "{program} printed more than {} KiB", limit / 1024)
            }
            Self::Store { store, mistake } => write!(f, "{store}: {mistake}"),
            Self::StoreInStore => f.write_str("a store cannot be opened with what is in a store"),
            Self::StoreCredential { store, cause } => {
                write!(f, "the credential of {store} itself cannot be had: {cause}")
            }
            Self::NotADocument { needs } => write!(f, "the value must be {needs}"),
            Self::Rejected(reason) => write!(f, "the value cannot be used: {reason}"),
        }
    }
}

impl From<Rejected> for SourceError {
    fn from(reason: Rejected) -> Self {
        Self::Rejected(reason)
    }
}

fn or(names: &[String]) -> String {
    match names {
        [] => "any variable".to_owned(),
        names => names.join(" or "),
    }
}

/// A path for a terminal. Whoever made a link chose the name it leads to, so what a terminal would act on, or
/// show in another order, is written out.
fn shown(path: &Path) -> String {
    let active = |c: char| {
        c.is_control()
            || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    let escaped = |c: char| if active(c) { c.escape_default().to_string() } else { c.to_string() };
    path.display().to_string().chars().map(escaped).collect()
}

/// A path that can be pasted into a shell.
fn shell_quoted(path: &Path) -> String {
    let text = shown(path);
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+,:@%".contains(c);
    if text.chars().all(plain) { text } else { format!("'{}'", text.replace('\'', r"'\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_to_run_can_be_pasted() {
        let hint = |path: &str| SourceError::OpenToOthers { path: path.into(), mode: 0o644 }.hint();
        assert_eq!(hint("/home/me/key").as_deref(), Some("run: chmod 600 /home/me/key"));
        assert_eq!(shown(Path::new("/a\u{1b}[2J/\u{202e}b")), r"/a\u{1b}[2J/\u{202e}b");
        assert_eq!(hint("/a b/it's").as_deref(), Some(r"run: chmod 600 '/a b/it'\''s'"));
    }
}
