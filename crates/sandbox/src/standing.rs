//! The bytes that a person has approved, in a sandbox that is there already: while the command runs that they were
//! approved for, they stand where they were read, and nobody writes to them.
//!
//! It is done by a process of its own, as it is for secrets that appear (`late`): it enters the sandbox's user and mount
//! namespace with the rights of the person who owns them, runs nothing, and nothing inside can name it. The covers go
//! when its connection ends.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use cofferdam_linux_sys::mount::{self, Restrictions, Tree};
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags, Stat, Timespec, Timestamps};
use rustix::mount::UnmountFlags;
use rustix::process::DumpableBehavior;
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use crate::channel::Channel;
use crate::plan::Operation;
use crate::stages;

/// Where the bytes are before they are put over anything, in a namespace that is this process's alone.
const PLACE: &str = "/dev";

/// Serves whoever is at the other end, until they are gone. The first message has the covers, with the sandbox's user
/// and mount namespace; the answers are why it cannot be done, if it cannot, and nothing once it is undone. This process
/// must have one thread.
pub fn serve(holder: &Channel) -> io::Result<()> {
    let Some((covers, namespaces)) = holder.receive::<Vec<Operation>>()? else { return Ok(()) };
    let standing = put(&covers, namespaces);
    holder.send(&standing.as_ref().err().map(ToString::to_string), &[])?;
    let standing = standing?;
    // Nothing is ever said from the other end, so that its end is all that can be heard.
    let _ = holder.receive::<()>();
    standing.iter().for_each(Standing::take_away);
    holder.send(&None::<String>, &[])
}

/// A cover that is not attached anywhere yet.
struct Prepared<'a> {
    path: &'a Path,
    tree: Tree,
    file: (u64, u64),
}

/// One that stands, known by what it is made of: a device and an inode.
struct Standing {
    directory: OwnedFd,
    name: PathBuf,
    file: (u64, u64),
}

fn put(covers: &[Operation], namespaces: Vec<OwnedFd>) -> io::Result<Vec<Standing>> {
    let [user, mounts] = <[OwnedFd; 2]>::try_from(namespaces)
        .map_err(|_| io::Error::other("the sandbox has no tree of files of its own"))?;
    stages::leave_standard_streams()?;
    // The order is the kernel's: the rights over the mounts are those in the user namespace.
    move_into_link_name_space(user.as_fd(), Some(LinkNameSpaceType::User))?;
    rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    let trees = prepared(covers)?;
    move_into_link_name_space(mounts.as_fd(), Some(LinkNameSpaceType::Mount))?;
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let root = rustix::fs::openat(CWD, c"/", flags, Mode::empty())?;
    let mut standing = Vec::new();
    for Prepared { path, tree, file } in trees {
        match attach(&root, path, &tree) {
            Ok((directory, name)) => standing.push(Standing { directory, name, file }),
            Err(error) => {
                standing.iter().for_each(Standing::take_away);
                return Err(error);
            }
        }
    }
    Ok(standing)
}

/// The covers as trees that are not attached anywhere. Made where nobody else is, so that nobody writes to one of them
/// before it is read-only.
fn prepared(covers: &[Operation]) -> io::Result<Vec<Prepared<'_>>> {
    let covers = covers.iter().filter_map(|cover| match cover {
        Operation::Approved { path, contents } => {
            let path = path.as_path();
            Some(rustix::fs::stat(path).map(|found| (path, contents.as_os_str().as_bytes(), found)))
        }
        _ => None,
    });
    let covers: Vec<(&Path, &[u8], Stat)> = covers.collect::<Result<_, _>>()?;
    mount::own_namespace()?;
    mount::make_private()?;
    let memory = Tree::new(c"tmpfs", &[(c"mode", Some(c"755"))])?;
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    memory.attach(rustix::fs::openat(CWD, PLACE, flags, Mode::empty())?.as_fd())?;
    let make = |(number, (path, contents, found)): (usize, (_, &[u8], Stat))| {
        let place = PathBuf::from(format!("{PLACE}/{number}"));
        std::fs::write(&place, contents)?;
        look_like(&place, &found)?;
        let file = rustix::fs::stat(&place)?;
        let tree = Tree::copy(&place)?;
        tree.restrict(Restrictions::READ_ONLY)?;
        Ok(Prepared { path, tree, file: (file.st_dev, file.st_ino) })
    };
    covers.into_iter().enumerate().map(make).collect()
}

/// As it was, for programs that compare times and for those that start it.
fn look_like(place: &Path, found: &Stat) -> io::Result<()> {
    let time = |seconds, nanoseconds| Timespec { tv_sec: seconds, tv_nsec: nanoseconds };
    let times = Timestamps {
        last_access: time(found.st_atime, found.st_atime_nsec as i64),
        last_modification: time(found.st_mtime, found.st_mtime_nsec as i64),
    };
    rustix::fs::utimensat(CWD, place, &times, AtFlags::empty())?;
    Ok(rustix::fs::chmod(place, Mode::from_raw_mode(found.st_mode & 0o555))?)
}

/// Puts a cover over a path, in which no link leads elsewhere. Where there is no file by now somebody has moved it, and may
/// put another one there.
fn attach(root: &OwnedFd, path: &Path, tree: &Tree) -> io::Result<(OwnedFd, PathBuf)> {
    let gone = || io::Error::from(io::ErrorKind::NotFound);
    let (Some(above), Some(name)) = (path.parent(), path.file_name()) else { return Err(gone()) };
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let above = Path::new(".").join(above.strip_prefix("/").unwrap_or(above));
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let directory = rustix::fs::openat2(root, &above, flags | OFlags::DIRECTORY, Mode::empty(), resolve)?;
    let target = rustix::fs::openat2(&directory, name, flags | OFlags::NOFOLLOW, Mode::empty(), resolve)?;
    if !FileType::from_raw_mode(rustix::fs::fstat(&target)?.st_mode).is_file() {
        return Err(gone());
    }
    tree.attach(target.as_fd())?;
    Ok((directory, name.into()))
}

impl Standing {
    /// Where the host has put another file there, the kernel has taken it away already; whatever else stands there is
    /// not this process's.
    fn take_away(&self) {
        let is_ours = rustix::fs::statat(&self.directory, &self.name, AtFlags::SYMLINK_NOFOLLOW)
            .is_ok_and(|found| (found.st_dev, found.st_ino) == self.file);
        if is_ours && rustix::process::fchdir(&self.directory).is_ok() {
            let flags = UnmountFlags::DETACH | UnmountFlags::NOFOLLOW;
            let _ = rustix::mount::unmount(&self.name, flags);
        }
    }
}
