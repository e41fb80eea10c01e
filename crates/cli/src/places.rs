//! Where the program keeps its files: everything below `$COFFERDAM_HOME` if that is set, otherwise the
//! places that the XDG base directory specification names.

use std::path::PathBuf;

use crate::caller::Caller;
use crate::exit::Exit;
use crate::failure::Failure;

/// The directories that everything else is found in. Nothing is created by finding them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Places {
    /// `config.toml` and `approvals.toml`.
    pub config: PathBuf,
    /// The record, the certificate authority, the token map.
    pub state: PathBuf,
    /// Sockets and the pid file.
    pub runtime: PathBuf,
}

impl Places {
    /// Finds the directories from the environment of this process.
    pub fn find() -> Result<Self, Failure> {
        Self::of(&Caller::This)
    }

    /// Finds the directories of whoever asks.
    pub fn of(caller: &Caller) -> Result<Self, Failure> {
        let absolute = |variable: &str| absolute(caller, variable);
        if let Some(home) = absolute("COFFERDAM_HOME")? {
            return Ok(Self { config: home.clone(), state: home.join("state"), runtime: home.join("run") });
        }
        let home = absolute("HOME")?;
        let below_home = |tail: &str| {
            home.as_ref().map(|home| home.join(tail)).ok_or_else(|| {
                Failure::new(
                    Exit::Unavailable,
                    "neither COFFERDAM_HOME nor HOME is set, so there is no place for files",
                )
                .hint("set COFFERDAM_HOME to a directory of your own")
            })
        };
        let pick = |variable: &str, tail: &str| match absolute(variable)? {
            Some(base) => Ok(base.join("cofferdam")),
            None => below_home(tail).map(|base| base.join("cofferdam")),
        };
        let state = pick("XDG_STATE_HOME", ".local/state")?;
        Ok(Self {
            config: pick("XDG_CONFIG_HOME", ".config")?,
            runtime: match absolute("XDG_RUNTIME_DIR")? {
                Some(base) => base.join("cofferdam"),
                None => state.join("run"),
            },
            state,
        })
    }

    pub fn config_file(&self) -> PathBuf {
        self.config.join("config.toml")
    }

    /// What commands wrote with `run --overlay`.
    pub fn overlays(&self) -> PathBuf {
        self.state.join("overlays")
    }

    /// The certificate authority that sandboxes trust.
    pub fn authority(&self) -> PathBuf {
        self.state.join("ca")
    }

    pub fn audit(&self) -> PathBuf {
        self.state.join("audit")
    }
}

/// A directory named by a variable. Empty counts as not set; a relative path is a mistake, because it would
/// mean another place after every `cd`.
fn absolute(caller: &Caller, variable: &str) -> Result<Option<PathBuf>, Failure> {
    let Some(value) = caller.variable(variable).filter(|value| !value.is_empty()) else {
        return Ok(None);
    };
    let path = PathBuf::from(value);
    if path.is_absolute() {
        return Ok(Some(path));
    }
    Err(Failure::new(
        Exit::Usage,
        format!("{variable} is \u{201c}{}\u{201d}, which is not an absolute path", path.display()),
    )
    .hint(format!("set {variable} to a path that starts with /, or unset it")))
}
