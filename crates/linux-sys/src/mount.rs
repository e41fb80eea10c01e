//! Mounts as detached trees: made or copied first, restricted next, and only then put in their place, so that
//! no path is ever visible with more rights than it should have.
#![expect(unsafe_code, reason = "mount_setattr has no safe wrapper")]

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::CWD;
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MountFlags, MountPropagationFlags, MoveMountFlags,
    OpenTreeFlags,
};

/// What programs may not do below a mount.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Restrictions(u64);

impl Restrictions {
    /// Set-user-id bits and device files have no effect; every mount of a sandbox has at least this.
    pub const BASE: Self = Self(libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV);
    pub const READ_ONLY: Self = Self(Self::BASE.0 | libc::MOUNT_ATTR_RDONLY);
    pub const NO_EXECUTION: Self = Self(Self::BASE.0 | libc::MOUNT_ATTR_NOEXEC);
    /// For the few device files that are bound one by one.
    pub const DEVICE: Self = Self(libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NOEXEC);

    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// A tree of mounts that is not attached anywhere yet.
#[derive(Debug)]
pub struct Tree(OwnedFd);

impl Tree {
    /// A copy of what is at `path`, with everything mounted below it. The last component is not followed if it
    /// is a link.
    pub fn copy(path: &Path) -> io::Result<Self> {
        let flags = OpenTreeFlags::OPEN_TREE_CLOEXEC
            | OpenTreeFlags::OPEN_TREE_CLONE
            | OpenTreeFlags::AT_RECURSIVE
            | OpenTreeFlags::AT_SYMLINK_NOFOLLOW;
        Ok(Self(rustix::mount::open_tree(CWD, path, flags)?))
    }

    /// A copy of the one mount at `path`, under the same condition as [`bind`].
    pub fn copy_at(path: &CStr) -> io::Result<Self> {
        let flags = OpenTreeFlags::OPEN_TREE_CLOEXEC | OpenTreeFlags::OPEN_TREE_CLONE;
        Ok(Self(rustix::mount::open_tree(CWD, path, flags)?))
    }

    /// A copy of the tree below an open descriptor.
    pub fn copy_of(descriptor: BorrowedFd<'_>) -> io::Result<Self> {
        let flags = OpenTreeFlags::OPEN_TREE_CLOEXEC
            | OpenTreeFlags::OPEN_TREE_CLONE
            | OpenTreeFlags::AT_RECURSIVE
            | OpenTreeFlags::AT_EMPTY_PATH;
        Ok(Self(rustix::mount::open_tree(descriptor, c"", flags)?))
    }

    /// A new file system with these options; one without a value is a flag. Device files in it are dead.
    pub fn new(kind: &CStr, options: &[(&CStr, Option<&CStr>)]) -> io::Result<Self> {
        let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
        Self::make(kind, options, attributes)
    }

    /// The same for a file system that consists of devices, as the one of terminals does.
    pub fn of_devices(kind: &CStr, options: &[(&CStr, Option<&CStr>)]) -> io::Result<Self> {
        Self::make(kind, options, MountAttrFlags::MOUNT_ATTR_NOSUID)
    }

    fn make(kind: &CStr, options: &[(&CStr, Option<&CStr>)], attributes: MountAttrFlags) -> io::Result<Self> {
        let context = rustix::mount::fsopen(kind, FsOpenFlags::FSOPEN_CLOEXEC)?;
        for (key, value) in options {
            match value {
                Some(value) => rustix::mount::fsconfig_set_string(context.as_fd(), *key, *value)?,
                None => rustix::mount::fsconfig_set_flag(context.as_fd(), *key)?,
            }
        }
        rustix::mount::fsconfig_create(context.as_fd())?;
        Ok(Self(rustix::mount::fsmount(context.as_fd(), FsMountFlags::FSMOUNT_CLOEXEC, attributes)?))
    }

    /// Restricts every mount of the tree.
    pub fn restrict(&self, restrictions: Restrictions) -> io::Result<()> {
        self.set_attributes(restrictions, libc::AT_RECURSIVE)
    }

    /// Restricts the topmost mount of the tree and leaves what is mounted below it as it is.
    pub fn restrict_top(&self, restrictions: Restrictions) -> io::Result<()> {
        self.set_attributes(restrictions, 0)
    }

    fn set_attributes(&self, restrictions: Restrictions, recursive: libc::c_int) -> io::Result<()> {
        set_attributes(self.0.as_raw_fd(), c"", libc::AT_EMPTY_PATH | recursive, restrictions)
    }

    /// Puts the tree over what `target` is a descriptor of.
    pub fn attach(&self, target: BorrowedFd<'_>) -> io::Result<()> {
        let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
        Ok(rustix::mount::move_mount(self.0.as_fd(), c"", target, c"", flags)?)
    }
}

impl AsFd for Tree {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

fn set_attributes(at: i32, path: &CStr, flags: libc::c_int, restrictions: Restrictions) -> io::Result<()> {
    let attributes = libc::mount_attr { attr_set: restrictions.0, attr_clr: 0, propagation: 0, userns_fd: 0 };
    // SAFETY: the path is a C string, and `attributes` is a live `mount_attr` of the size given.
    let result = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            at,
            path.as_ptr(),
            flags,
            &raw const attributes,
            size_of::<libc::mount_attr>(),
        )
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Shows `source`, with everything mounted below it, at `target` as well. Both are followed by path, in one call:
/// only for places that nobody but root can change, or that the caller has just made itself.
pub fn bind(source: &CStr, target: &CStr) -> io::Result<()> {
    Ok(rustix::mount::mount_bind_recursive(source, target)?)
}

/// Restricts every mount at this path and below, under the same condition as [`bind`].
pub fn restrict(path: &CStr, restrictions: Restrictions) -> io::Result<()> {
    set_attributes(libc::AT_FDCWD, path, libc::AT_RECURSIVE | libc::AT_SYMLINK_NOFOLLOW, restrictions)
}

/// Restricts the mount at this path alone, under the same condition as [`bind`].
pub fn restrict_top(path: &CStr, restrictions: Restrictions) -> io::Result<()> {
    set_attributes(libc::AT_FDCWD, path, libc::AT_SYMLINK_NOFOLLOW, restrictions)
}

/// Mounts a new file system at `target` in one call, under the same condition as [`bind`].
pub fn new_at(kind: &CStr, target: &CStr, restrictions: Restrictions, options: &CStr) -> io::Result<()> {
    let mut flags = MountFlags::NOSUID;
    for (attribute, flag) in [
        (libc::MOUNT_ATTR_NODEV, MountFlags::NODEV),
        (libc::MOUNT_ATTR_NOEXEC, MountFlags::NOEXEC),
        (libc::MOUNT_ATTR_RDONLY, MountFlags::RDONLY),
    ] {
        if restrictions.0 & attribute != 0 {
            flags |= flag;
        }
    }
    Ok(rustix::mount::mount(kind, target, kind, flags, options)?)
}

/// Leaves the mounts that this process shares with others for a copy of its own. It must have one thread.
pub fn own_namespace() -> io::Result<()> {
    // SAFETY: a process with one thread shares its root and its directories with nobody in this memory.
    Ok(unsafe { rustix::thread::unshare_unsafe(rustix::thread::UnshareFlags::NEWNS) }?)
}

/// Cuts all mounts of this namespace off from the host's: nothing that is mounted on one side from now on
/// appears on the other.
pub fn make_private() -> io::Result<()> {
    let flags = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    Ok(rustix::mount::mount_change(c"/", flags)?)
}

/// Makes the current directory the root. The old one lies over it, where no path leads to, until it is let go of.
pub fn pivot_to_current_directory() -> io::Result<()> {
    // Old and new root at the same place: the old one ends up on top and can be detached without a directory
    // of its own to stand in (pivot_root(2), "pivot_root(".", ".")").
    rustix::process::pivot_root(c".", c".")?;
    Ok(rustix::process::chdir(c"/")?)
}
