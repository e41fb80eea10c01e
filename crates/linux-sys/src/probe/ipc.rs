//! Memory, queues and keys that processes of one machine share by name.
#![expect(unsafe_code, reason = "System V shared memory, message queues and keys have no safe wrapper")]

use std::ffi::CString;
use std::io;

/// A segment of System V shared memory that a test plants; gone when it is dropped.
#[derive(Debug)]
pub struct SharedMemory {
    id: i32,
}

impl SharedMemory {
    const SIZE: usize = 4096;

    /// Makes a segment that everybody may read and write, with this in it.
    pub fn plant(key: i32, contents: &[u8]) -> io::Result<Self> {
        // SAFETY: the call takes numbers alone.
        let id = unsafe { libc::shmget(key, Self::SIZE, libc::IPC_CREAT | libc::IPC_EXCL | 0o666) };
        super::done(id.into())?;
        let segment = Self { id };
        let length = contents.len().min(Self::SIZE);
        with_attached(id, |address| {
            // SAFETY: the segment has SIZE bytes at `address`, of which `length` are written; the two do not overlap.
            unsafe { std::ptr::copy_nonoverlapping(contents.as_ptr(), address, length) };
        })?;
        Ok(segment)
    }

    /// Finds a segment by its key and reads it.
    pub fn read(key: i32) -> io::Result<Vec<u8>> {
        // SAFETY: the call takes numbers alone.
        let id = unsafe { libc::shmget(key, 0, 0) };
        super::done(id.into())?;
        let mut contents = vec![0; Self::SIZE];
        with_attached(id, |address| {
            // SAFETY: a segment is at least one page long, and `contents` is one page.
            unsafe { std::ptr::copy_nonoverlapping(address, contents.as_mut_ptr(), Self::SIZE) };
        })?;
        Ok(contents)
    }
}

fn with_attached(id: i32, work: impl FnOnce(*mut u8)) -> io::Result<()> {
    // SAFETY: a null address lets the kernel choose a free one.
    let address = unsafe { libc::shmat(id, std::ptr::null(), 0) };
    if address.addr() == usize::MAX {
        return Err(io::Error::last_os_error());
    }
    work(address.cast());
    // SAFETY: the segment was attached there just now, and nothing points into it any more.
    super::done(unsafe { libc::shmdt(address) }.into())
}

impl Drop for SharedMemory {
    fn drop(&mut self) {
        // SAFETY: removing takes no pointer; whoever has it attached keeps it until they let go.
        unsafe { libc::shmctl(self.id, libc::IPC_RMID, std::ptr::null_mut()) };
    }
}

/// A POSIX message queue that a test plants; gone when it is dropped.
#[derive(Debug)]
pub struct MessageQueue {
    name: CString,
}

impl MessageQueue {
    pub fn plant(name: &str) -> io::Result<Self> {
        let name = CString::new(name)?;
        open(&name, libc::O_CREAT | libc::O_EXCL | libc::O_RDWR)?;
        Ok(Self { name })
    }

    pub fn find(name: &str) -> io::Result<()> {
        open(&CString::new(name)?, libc::O_RDONLY)
    }
}

fn open(name: &CString, flags: libc::c_int) -> io::Result<()> {
    let mode: libc::c_uint = 0o666;
    // SAFETY: plain numbers, of which zero is one.
    let mut attributes: libc::mq_attr = unsafe { std::mem::zeroed() };
    // The smallest there is: all queues of a user share one limit, also those that killed tests have left.
    (attributes.mq_maxmsg, attributes.mq_msgsize) = (1, 1);
    // SAFETY: `name` is a C string, and the attributes outlive the call.
    let queue = unsafe { libc::mq_open(name.as_ptr(), flags, mode, &raw const attributes) };
    super::done(queue.into())?;
    // SAFETY: the descriptor was opened just now, and nobody else has it.
    super::done(unsafe { libc::mq_close(queue) }.into())
}

impl Drop for MessageQueue {
    fn drop(&mut self) {
        // SAFETY: `name` is a C string.
        unsafe { libc::mq_unlink(self.name.as_ptr()) };
    }
}

/// Puts a key into the keyring of the user, finds it there again, and takes it out.
pub fn keyring_round_trip() -> io::Result<()> {
    const USER_KEYRING: libc::c_long = -4;
    const SEARCH: libc::c_long = 10;
    const UNLINK: libc::c_long = 9;
    let (kind, name, value) = (c"user", c"cofferdam-probe", b"probe");
    // SAFETY: two C strings, and a value of the length given; all of them outlive the call.
    let key = unsafe {
        libc::syscall(
            libc::SYS_add_key,
            kind.as_ptr(),
            name.as_ptr(),
            value.as_ptr(),
            value.len(),
            USER_KEYRING,
        )
    };
    super::done(key)?;
    // SAFETY: two C strings; the last argument asks for no link.
    let found =
        unsafe { libc::syscall(libc::SYS_keyctl, SEARCH, USER_KEYRING, kind.as_ptr(), name.as_ptr(), 0) };
    // SAFETY: the call takes numbers alone.
    unsafe { libc::syscall(libc::SYS_keyctl, UNLINK, key, USER_KEYRING) };
    super::done(found)
}
