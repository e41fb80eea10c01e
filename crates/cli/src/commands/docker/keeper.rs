//! The way out of one container: a client of the daemon, a directory that is mounted in, and a process that holds both
//! until the container is gone.
//!
//! The process is needed because the daemon serves a client for as long as somebody holds the connection, and neither
//! the engine nor the container can. It sees the container's first process by a descriptor of it, and ends with it.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpListener};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use cofferdam_control::connection::Connection;
use cofferdam_control::messages::egress::Socket;
use cofferdam_docker::options::Judged;
use cofferdam_docker::plan::{self, Behind, Image, Outside, Way};
use cofferdam_docker::{posture, programs};
use cofferdam_egress::upstream_ca;
use cofferdam_linux_sys::{clone, descriptors};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use rustix::process::{PidfdFlags, getpid, pidfd_open};

use super::door::Door;
use super::variables;
use super::way_out;
use crate::args::docker::ReachedArgs;
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
    name: String,
    /// Mounted in.
    directory: PathBuf,
    /// Not mounted in: the engine reads it.
    variables: PathBuf,
    posture: String,
    way: Way,
    connection: Connection,
    listener: OwnedFd,
}

/// Where a container is to find the proxy, before there is one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wished {
    Sealed,
    /// At the bridge's own address; 0: any port that is free.
    Bridge {
        address: Ipv4Addr,
        port: u16,
    },
}

impl Kept {
    /// Asks the daemon for a client and puts everything into place. Without a daemon, an authority or a place there is
    /// no container.
    pub fn open(
        settings: &Settings,
        reached: &ReachedArgs,
        wished: Wished,
        container: (&Judged, &Image),
    ) -> Result<Self, Failure> {
        let name = fresh_name()?;
        let (connection, opened) = way_out::open(&settings.places, &name, reached)?;
        way_out::refuse_empty(&settings.config, reached, &opened)?;
        let way = begin(&connection, wished)?;
        let all = variables::of_container(container, &opened, way)?;
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
        write(&directory.join(plan::JAVA_STORE), &java_store(&opened.authorities), 0o644).map_err(failed)?;
        write(&directory.join(way.door()), programs::DOOR, 0o755).map_err(failed)?;
        let listener = listen(&directory).map_err(failed)?;
        let posture = posture::of(&opened.authorities, way.name());
        Ok(Self { name, directory, variables, posture, way, connection, listener })
    }

    /// Our side of the container, as its plan wants it.
    pub fn outside(&self, behind: Behind) -> Outside<'_> {
        Outside {
            directory: &self.directory,
            variables: &self.variables,
            name: &self.name,
            posture: &self.posture,
            way: self.way,
            behind,
        }
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
            Door { connection: self.connection, listener: self.listener, launcher, way: self.way }.keep();
            let _ = fs::remove_dir_all(&place);
        });
        started
            .map_err(|error| Failure::new(Exit::NotStarted, format!("no process for the way out: {error}")))
    }
}

/// On a bridge the container's own port is served from here on: nobody but the daemon has it, and the tokens of this
/// container are good on it alone.
fn begin(connection: &Connection, wished: Wished) -> Result<Way, Failure> {
    let Wished::Bridge { address, port } = wished else { return Ok(Way::Sealed) };
    let failed = |error: io::Error| {
        Failure::new(Exit::NotStarted, format!("the proxy cannot listen at {address}, port {port}: {error}"))
            .hint("the bridge must be up and the port free")
    };
    let listener = TcpListener::bind((address, port)).map_err(failed)?;
    let SocketAddr::V4(proxy) = listener.local_addr().map_err(failed)? else {
        return Err(failed(io::Error::other("it is at another kind of address")));
    };
    way_out::serve(connection, &[(Socket::Proxy, listener.into())]).map_err(failed)?;
    Ok(Way::Bridge { proxy: SocketAddrV4::new(*proxy.ip(), proxy.port()) })
}

/// What Java trusts: the same, in its own form.
fn java_store(authorities: &str) -> Vec<u8> {
    let certificates = upstream_ca::certificates(authorities.as_bytes()).unwrap_or_default();
    cofferdam_egress::java_store(&certificates)
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
