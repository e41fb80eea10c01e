//! Layers: everything that a command wrote to its workspace, kept beside it until a person has looked.
//!
//! A layer is a directory of the user's own, `ID/` with `about.json` (what it is for), `upper` (what was written, as
//! overlayfs leaves it) and `work` (the kernel's own). `about.json` is there before anything is written, so a layer
//! is listed whatever ended the run.

mod apply;
mod diff;
mod files;

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags};
use rustix::rand::GetRandomFlags;
use serde::{Deserialize, Serialize};

pub use apply::Applied;
pub use diff::{Change, Held, What};

use crate::text::Text;

const ABOUT: &str = "about.json";

/// What a layer is for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct About {
    /// The directory that the layer lies over.
    pub workspace: Text,
    pub command: Text,
    /// Seconds and nanoseconds of the moment before the first write: what is newer in the workspace was changed by
    /// somebody else.
    pub created: (i64, i64),
}

/// One layer.
#[derive(Debug)]
pub struct Layer {
    pub id: String,
    pub about: About,
    directory: PathBuf,
}

impl Layer {
    /// Makes an empty layer below `layers`, which is made too where it is missing.
    pub fn create(layers: &Path, workspace: &Path, command: Text) -> io::Result<Self> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(layers)?;
        let mut random = [0; 6];
        rustix::rand::getrandom(&mut random, GetRandomFlags::empty())?;
        let id: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
        let directory = layers.join(&id);
        let private = || {
            let mut builder = fs::DirBuilder::new();
            builder.mode(0o700);
            builder
        };
        private().create(&directory)?;
        let created = rustix::time::clock_gettime(rustix::time::ClockId::RealtimeCoarse);
        let about =
            About { workspace: workspace.into(), command, created: (created.tv_sec, created.tv_nsec) };
        let mut file =
            fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(directory.join(ABOUT))?;
        file.write_all(&serde_json::to_vec(&about)?)?;
        for part in ["upper", "work"] {
            private().create(directory.join(part))?;
        }
        // The top of the workspace looks as it does without the layer.
        let mode = fs::metadata(workspace)?.permissions();
        fs::set_permissions(directory.join("upper"), mode)?;
        Ok(Self { id, about, directory })
    }

    /// The layer with this name; none where there is no such layer.
    pub fn open(layers: &Path, id: &str) -> io::Result<Option<Self>> {
        if id.is_empty() || !id.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Ok(None);
        }
        let directory = layers.join(id);
        let bytes = match fs::read(directory.join(ABOUT)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            other => other?,
        };
        Ok(Some(Self { id: id.to_owned(), about: serde_json::from_slice(&bytes)?, directory }))
    }

    /// All layers, the oldest first.
    pub fn list(layers: &Path) -> io::Result<Vec<Self>> {
        let entries = match fs::read_dir(layers) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            other => other?,
        };
        let mut found = Vec::new();
        for entry in entries {
            let name = entry?.file_name();
            if let Some(layer) = name.to_str().map(|id| Self::open(layers, id)).transpose()?.flatten() {
                found.push(layer);
            }
        }
        found.sort_by_key(|layer| layer.about.created);
        Ok(found)
    }

    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// What is different in the layer, in the order of the paths.
    pub fn changes(&self) -> io::Result<Vec<Change>> {
        let (upper, lower) = (self.upper()?, self.workspace()?);
        diff::changes(&upper, &lower, self.about.created)
    }

    /// Carries the changes over into the workspace, as far as nothing speaks against it, and forgets each that was
    /// carried over; so it can be called again after it was interrupted.
    pub fn apply(&self) -> io::Result<Applied> {
        let (upper, lower) = (self.upper()?, self.workspace()?);
        let changes = diff::changes(&upper, &lower, self.about.created)?;
        apply::apply(&upper, &lower, changes, &self.id)
    }

    /// Removes the layer and everything in it.
    pub fn discard(self) -> io::Result<()> {
        let parent = self.directory.parent().unwrap_or(Path::new("/"));
        let parent = files::open_directory(CWD, parent.as_os_str())?;
        files::remove(&parent, self.id.as_ref())
    }

    fn upper(&self) -> io::Result<std::os::fd::OwnedFd> {
        files::open_directory(CWD, self.directory.join("upper").as_os_str())
    }

    fn workspace(&self) -> io::Result<std::os::fd::OwnedFd> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(rustix::fs::openat(CWD, self.about.workspace.as_path(), flags, Mode::empty())?)
    }
}
