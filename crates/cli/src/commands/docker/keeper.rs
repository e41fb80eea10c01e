//! The way out of one container: a client of the daemon, a directory that is mounted in, and a process that holds both
//! until the container is gone.
//!
//! The process is needed because the daemon serves a client for as long as somebody holds the connection, and neither
//! the engine nor the container can. It sees the container's first process by a descriptor of it, and ends with it.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use cofferdam_control::connection::Connection;
use cofferdam_docker::options::Judged;
use cofferdam_docker::plan::{self, Image};
use cofferdam_docker::{posture, programs};
use cofferdam_linux_sys::{clone, descriptors};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use rustix::process::{PidfdFlags, getpid, pidfd_open};

use super::door::Door;
use super::variables;
use super::way_out;
use crate::args::docker::StartArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::settings::Settings;

/// Who calls the engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Caller {
    ThisProcess,
    SomebodyElse,
}

/// What is there for one container before it is.
pub struct Kept {
    pub name: String,
    /// Mounted in.
    pub directory: PathBuf,
    /// Not mounted in: the engine reads it.
    pub variables: PathBuf,
    pub posture: String,
    connection: Connection,
    listener: OwnedFd,
}

impl Kept {
    /// Asks the daemon for a client and puts everything into place. Without a daemon, an authority or a place there is
    /// no container.
    pub fn open(
        settings: &Settings,
        args: &StartArgs,
        (judged, image): (&Judged, &Image),
    ) -> Result<Self, Failure> {
        let name = fresh_name()?;
        let (connection, opened) = way_out::open(&settings.places, &name, args)?;
        let all = variables::of_container(judged, image, &opened)?;
        let place = settings.places.runtime.join("containers").join(&name);
        let failed = |error: io::Error| {
            Failure::new(Exit::NotStarted, format!("{} cannot be made: {error}", place.display()))
                .hint("the runtime directory must be yours to write to")
        };
        let directory = place.join("inside");
        let variables = place.join("env");
        make(&place, 0o700).map_err(failed)?;
        write(&variables, all.as_bytes(), 0o600).map_err(failed)?;
        make(&directory, 0o755).map_err(failed)?;
        write(&directory.join(plan::BUNDLE), opened.authorities.as_bytes(), 0o644).map_err(failed)?;
        write(&directory.join(plan::RESOLVER), plan::RESOLVER_TEXT.as_bytes(), 0o644).map_err(failed)?;
        write(&directory.join(plan::DOOR), programs::DOOR, 0o755).map_err(failed)?;
        let listener = listen(&directory).map_err(failed)?;
        let posture = posture::of(&opened.authorities);
        Ok(Self { name, directory, variables, posture, connection, listener })
    }

    /// Leaves a process behind that lets the container out, and goes on without it. `caller` says whether this process
    /// calls the engine: then nothing is left when the engine could not start the container.
    pub fn wait_for_the_container(self, caller: Caller) -> Result<(), Failure> {
        let launcher = match caller {
            Caller::ThisProcess => pidfd_open(getpid(), PidfdFlags::empty()).ok(),
            Caller::SomebodyElse => None,
        };
        let place = self.variables.parent().unwrap_or(Path::new("/")).to_owned();
        let started = clone::start_detached(move || {
            // Whoever reads our output sees it end with us.
            if let Ok(null) = File::options().read(true).write(true).open("/dev/null") {
                let _ = (0..3).try_for_each(|stream| descriptors::place(null.as_fd(), stream));
            }
            Door { connection: self.connection, listener: self.listener, launcher }.keep();
            let _ = fs::remove_dir_all(&place);
        });
        started
            .map_err(|error| Failure::new(Exit::NotStarted, format!("no process for the way out: {error}")))
    }
}

fn fresh_name() -> Result<String, Failure> {
    let mut bytes = [0; 8];
    rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())
        .map_err(|error| Failure::new(Exit::NotStarted, format!("no randomness for a name: {error}")))?;
    Ok(format!("container-{:016x}", u64::from_ne_bytes(bytes)))
}

fn make(directory: &Path, mode: u32) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    fs::set_permissions(directory, Permissions::from_mode(mode))
}

/// The mode is set by the descriptor, because the mask of whoever started us may be anything.
fn write(path: &Path, contents: &[u8], mode: u32) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(contents)?;
    file.set_permissions(Permissions::from_mode(mode))
}

/// A socket that only this container has: the directory around it is closed to other users of the machine, and what is
/// mounted in is seen by this container alone. Inside, whoever the image's user is may knock.
fn listen(directory: &Path) -> io::Result<OwnedFd> {
    let opened = File::open(directory)?;
    let socket = rustix::net::socket_with(
        AddressFamily::UNIX,
        SocketType::SEQPACKET,
        SocketFlags::CLOEXEC | SocketFlags::NONBLOCK,
        None,
    )?;
    // By the open directory: the address of a socket has room for a hundred bytes only.
    let name = format!("/proc/self/fd/{}/{}", opened.as_raw_fd(), plan::SOCKET);
    rustix::net::bind(&socket, &SocketAddrUnix::new(name)?)?;
    fs::set_permissions(directory.join(plan::SOCKET), Permissions::from_mode(0o666))?;
    rustix::net::listen(&socket, 4)?;
    Ok(socket)
}
