//! Files, by descriptor.

use core::ffi::CStr;

use super::Errno;
use super::call::{Plain, call, number, plain};

const AT_FDCWD: isize = -100;
const AT_EMPTY_PATH: usize = 0x1000;
const O_DIRECTORY: usize = if cfg!(target_arch = "aarch64") { 0o40_000 } else { 0o200_000 };
const O_NOFOLLOW: usize = if cfg!(target_arch = "aarch64") { 0o100_000 } else { 0o400_000 };
const O_NONBLOCK: usize = 0o4000;
const O_CLOEXEC: usize = 0o2_000_000;
const O_PATH: usize = 0o10_000_000;
const F_GETFD: usize = 1;
const STATX_BASIC_STATS: usize = 0x7ff;
const TCGETS: usize = 0x5401;

/// An open file that is closed when it is dropped, and not passed on.
#[derive(Debug)]
pub struct Descriptor(pub(super) i32);

impl Descriptor {
    /// Its number, for whoever closes it from now on.
    pub fn into_number(self) -> i32 {
        core::mem::ManuallyDrop::new(self).0
    }
}

impl Drop for Descriptor {
    fn drop(&mut self) {
        // Nothing can be done about a descriptor that cannot be closed.
        let _ = plain(Plain::Close, [self.0 as usize, 0, 0, 0, 0]);
    }
}

/// What kind of file it is; others are not told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Regular,
    Directory,
    Other,
}

/// What the kernel says about a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Status {
    pub kind: Kind,
    /// The twelve bits of `chmod`.
    pub mode: u32,
    pub owner: u32,
    pub size: u64,
    /// Device and number: the same for two names of one file.
    pub identity: (u32, u32, u64),
}

/// `struct statx`, as far as it is looked at.
#[repr(C)]
#[derive(Default)]
struct Statx {
    mask: u32,
    block_size: u32,
    attributes: u64,
    links: u32,
    owner: u32,
    group: u32,
    mode: u16,
    spare: u16,
    inode: u64,
    size: u64,
    blocks: u64,
    attributes_mask: u64,
    times: [u64; 8],
    special: [u32; 2],
    device: [u32; 2],
    rest: [u64; 14],
}

impl Descriptor {
    /// As it stands in `/proc/self/fd`.
    pub fn number(&self) -> u32 {
        self.0.cast_unsigned()
    }

    #[expect(unsafe_code, reason = "the kernel fills a structure of ours")]
    pub fn status(&self) -> Result<Status, Errno> {
        let mut found = Statx::default();
        let empty = c"";
        // SAFETY: the name is a string that ends with a zero byte and lives for ever; the structure is as large
        // as the kernel's (256 bytes, asserted below), is ours alone, and any bytes are a value of it.
        unsafe {
            call(
                number::STATX,
                [
                    self.0 as usize,
                    empty.as_ptr() as usize,
                    AT_EMPTY_PATH,
                    STATX_BASIC_STATS,
                    &raw mut found as usize,
                    0,
                ],
            )
        }?;
        let kind = match found.mode & 0o170_000 {
            0o100_000 => Kind::Regular,
            0o040_000 => Kind::Directory,
            _ => Kind::Other,
        };
        Ok(Status {
            kind,
            mode: u32::from(found.mode & 0o7777),
            owner: found.owner,
            size: found.size,
            identity: (found.device[0], found.device[1], found.inode),
        })
    }

    /// The next bytes; none at the end.
    #[expect(unsafe_code, reason = "the kernel fills a buffer of ours")]
    pub fn read(&self, buffer: &mut [u8]) -> Result<usize, Errno> {
        let (address, length) = (buffer.as_mut_ptr() as usize, buffer.len());
        // SAFETY: the address and the length are those of a slice that is borrowed alone for the call.
        unsafe { call(number::READ, [self.0 as usize, address, length, 0, 0, 0]) }
    }
}

const _: () = assert!(size_of::<Statx>() == 256);

/// Whether there is something open under this number.
pub fn is_open(descriptor: i32) -> bool {
    plain(Plain::Fcntl, [descriptor as usize, F_GETFD, 0, 0, 0]).is_ok()
}

/// Opens a file to read it, without following a link at its end and without waiting for a pipe's other side.
pub fn open_for_reading(path: &CStr) -> Result<Descriptor, Errno> {
    open(path, O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
}

/// Opens a file to read it, by way of links.
pub fn open_following(path: &CStr) -> Result<Descriptor, Errno> {
    open(path, O_NONBLOCK | O_CLOEXEC)
}

/// Opens a directory, without following a link at its end.
pub fn open_directory(path: &CStr) -> Result<Descriptor, Errno> {
    open(path, O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
}

/// A descriptor that stands for a file, by way of links, whatever it is; its contents are not reached by it.
pub fn open_path(path: &CStr) -> Result<Descriptor, Errno> {
    open(path, O_PATH | O_CLOEXEC)
}

#[expect(unsafe_code, reason = "the kernel reads a path of ours")]
fn open(path: &CStr, flags: usize) -> Result<Descriptor, Errno> {
    // SAFETY: the path is a string that ends with a zero byte and is borrowed for the call.
    let opened =
        unsafe { call(number::OPENAT, [AT_FDCWD as usize, path.as_ptr() as usize, flags, 0, 0, 0]) }?;
    Ok(Descriptor(opened as i32))
}

/// Whether a descriptor is a terminal.
#[expect(unsafe_code, reason = "the kernel fills a structure of ours")]
pub fn is_terminal(descriptor: i32) -> bool {
    let mut modes = [0_u8; 64];
    // SAFETY: the call fills the kernel's `struct termios`, which is 36 bytes, and the array is ours alone.
    unsafe { call(number::IOCTL, [descriptor as usize, TCGETS, modes.as_mut_ptr() as usize, 0, 0, 0]) }
        .is_ok()
}
