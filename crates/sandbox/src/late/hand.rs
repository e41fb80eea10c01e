//! The process that covers: outside of the sandbox but for its user and its mount namespace, which it enters with the
//! rights of the person who owns them. It runs nothing, and nothing inside can name it: it is not in the sandbox's
//! namespace of processes.

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use cofferdam_linux_sys::clone::{self, Cloned};
use cofferdam_linux_sys::mount::Tree;
use cofferdam_linux_sys::{descriptors, footprint};
use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags, Stat};
use rustix::io::Errno;
use rustix::process::{DumpableBehavior, Pid, Signal, WaitOptions};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use serde::{Deserialize, Serialize};

use crate::channel::Channel;
use crate::stages;
use crate::text::Text;

/// Places at which every sandbox has the cover for a file and the one for a directory: of the kernel's own files hidden
/// ones, which are there on every machine (`layout::fixed`).
const FILE: &CStr = c"/proc/sys/kernel/random/boot_id";
const DIRECTORY: &CStr = c"/proc/driver";

/// What became of a path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Covered {
    Now,
    /// It was already.
    Before,
    /// Nothing is there in the sandbox.
    Absent,
    Not(String),
}

/// The way to the process, which ends with this.
#[derive(Debug)]
pub struct Hand {
    /// None only while this is dropped.
    channel: Option<Channel>,
    process: Option<Pid>,
}

impl Hand {
    /// `namespaces` are the user and the mount namespace.
    pub fn reach_in(namespaces: Vec<OwnedFd>) -> io::Result<Self> {
        let [user, mounts] = <[OwnedFd; 2]>::try_from(namespaces)
            .map_err(|_| io::Error::other("the sandbox has no tree of files of its own"))?;
        let (ours, theirs) = Channel::pair()?;
        let parent = rustix::process::getpid();
        let copied = clone::copy()?;
        if matches!(copied, Cloned::Child) {
            drop(ours);
            let entered = enter(&theirs, user, mounts).and_then(|()| {
                // The parent may have died before the line that binds this process to it.
                if rustix::process::getppid() != Some(parent) {
                    return Err(io::Error::from_raw_os_error(3));
                }
                Covers::find()
            });
            let why = entered.as_ref().err().map(ToString::to_string);
            footprint::shrink();
            let served = theirs.send(&why, &[]).and_then(|()| entered?.serve(&theirs));
            std::process::exit(i32::from(served.is_err()));
        }
        drop(theirs);
        let process = match copied {
            Cloned::Parent { pid, .. } => Pid::from_raw(pid),
            Cloned::Child => None,
        };
        match ours.receive::<Option<String>>()? {
            Some((None, _)) => Ok(Self { channel: Some(ours), process }),
            Some((Some(why), _)) => Err(io::Error::other(why)),
            None => Err(gone()),
        }
    }

    /// Covers what is at these paths in the sandbox.
    pub fn cover(&self, paths: &[PathBuf]) -> io::Result<Vec<(Text, Covered)>> {
        let paths: Vec<Text> = paths.iter().map(|path| path.as_path().into()).collect();
        let channel = self.channel.as_ref().ok_or_else(gone)?;
        channel.send(&paths, &[])?;
        let (covered, _) = channel.receive::<Vec<Covered>>()?.ok_or_else(gone)?;
        Ok(paths.into_iter().zip(covered).collect())
    }
}

impl Drop for Hand {
    /// Waits for its end, so that the sandbox's tree is let go of before this process is.
    fn drop(&mut self) {
        drop(self.channel.take());
        while matches!(rustix::process::waitpid(self.process, WaitOptions::empty()), Err(Errno::INTR)) {}
    }
}

fn gone() -> io::Error {
    io::Error::other("the process that covers has ended")
}

fn enter(channel: &Channel, user: OwnedFd, mounts: OwnedFd) -> io::Result<()> {
    // From here on the connection to whoever holds the sandbox is not held by this process.
    stages::leave_standard_streams()?;
    // The order is the kernel's: the rights over the mounts are those in the user namespace.
    move_into_link_name_space(user.as_fd(), Some(LinkNameSpaceType::User))?;
    move_into_link_name_space(mounts.as_fd(), Some(LinkNameSpaceType::Mount))?;
    drop((user, mounts));
    descriptors::keep_only(channel.as_fd())?;
    // Both were forgotten with the old identity.
    rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    Ok(rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?)
}

/// The covers of the sandbox, and its root.
struct Covers {
    root: OwnedFd,
    /// The file system that both are in.
    device: u64,
}

impl Covers {
    fn find() -> io::Result<Self> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = rustix::fs::openat(CWD, c"/", flags, Mode::empty())?;
        let [file, directory] = [look(FILE)?, look(DIRECTORY)?];
        let covers = Self { root, device: file.st_dev };
        if covers.is_one(&file) && covers.is_one(&directory) {
            return Ok(covers);
        }
        Err(io::Error::other("the sandbox has no cover"))
    }

    fn is_one(&self, found: &Stat) -> bool {
        found.st_dev == self.device && found.st_mode & 0o7777 == 0
    }

    fn serve(&self, channel: &Channel) -> io::Result<()> {
        while let Some((paths, _)) = channel.receive::<Vec<Text>>()? {
            let covered: Vec<Covered> = paths
                .iter()
                .map(|path| {
                    self.cover(path.as_path()).unwrap_or_else(|error| Covered::Not(error.to_string()))
                })
                .collect();
            channel.send(&covered, &[])?;
        }
        Ok(())
    }

    fn cover(&self, path: &Path) -> io::Result<Covered> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        // A link on the way was made meanwhile, and what it leads to has a path of its own.
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        let path = path.strip_prefix("/").unwrap_or(path);
        let target = match rustix::fs::openat2(&self.root, path, flags, Mode::empty(), resolve) {
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(Covered::Absent),
            other => other?,
        };
        let found = rustix::fs::fstat(&target)?;
        if self.is_one(&found) {
            return Ok(Covered::Before);
        }
        let cover = match FileType::from_raw_mode(found.st_mode) {
            FileType::Directory => DIRECTORY,
            _ => FILE,
        };
        Tree::copy_at(cover)?.attach(target.as_fd())?;
        Ok(Covered::Now)
    }
}

fn look(path: &CStr) -> io::Result<Stat> {
    Ok(rustix::fs::lstat(path)?)
}
