//! A file that is known again by its bytes, read from the one descriptor that is used afterwards.
#![expect(unsafe_code, reason = "fcntl has no safe wrapper for leases")]

use std::collections::BTreeMap;
use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Mutex;
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::fs::{Mode, OFlags};
use sha2::{Digest, Sha256};

/// Of a larger file, its length and this much of its beginning count.
const MOST: u64 = 64 << 20;
/// Asks for the signal that tells of a writer who waits; the C library's crate does not name it.
const F_SETSIG: libc::c_int = 10;

/// Opens a regular file without waiting, so that a pipe in its place holds nobody up.
pub fn open(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("it is not a regular file")) }
}

/// Finds out how this processor hashes fastest, before somebody waits for a hash: to ask it is slow in a virtual machine.
/// A process that shares this one's memory need not ask again.
pub fn get_ready() {
    let _ = Sha256::digest(b"");
}

/// A state of a file. Whoever writes to it, or changes its mode or its owner, changes one of these numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct State([i64; 7]);

impl State {
    pub fn of(found: &Metadata) -> Self {
        let [device, inode, size] = [found.dev(), found.ino(), found.size()].map(u64::cast_signed);
        Self([device, inode, size, found.mtime(), found.mtime_nsec(), found.ctime(), found.ctime_nsec()])
    }

    /// Whether it is old enough: a younger file can be written again without its times telling.
    pub fn is_settled(&self) -> bool {
        const YOUNG_SECONDS: i64 = 2;
        let [_, _, _, written, _, changed, _] = self.0;
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        written.max(changed) + YOUNG_SECONDS < now.map_or(0, |since| since.as_secs().cast_signed())
    }
}

/// What files were known by, for a process that is asked about the same ones again and again.
struct Remembered {
    is_steady: Box<dyn Fn(&File) -> bool + Send>,
    known: BTreeMap<State, String>,
}

static REMEMBERED: Mutex<Option<Remembered>> = Mutex::new(None);
/// More than a session runs of different programs; then it begins anew.
const MOST_REMEMBERED: usize = 256;

/// From here on this process reads a steady file once for every state that it is in. Steady is one that nobody writes to
/// by a mapping, which would leave no trace in its state: only the caller can know. One with a second name is never taken
/// for steady, because the other name may be elsewhere.
pub fn remember(is_steady: impl Fn(&File) -> bool + Send + 'static) {
    if let Ok(mut remembered) = REMEMBERED.lock() {
        *remembered = Some(Remembered { is_steady: Box::new(is_steady), known: BTreeMap::new() });
    }
}

impl Remembered {
    fn sha256(&mut self, file: &File) -> io::Result<String> {
        let found = file.metadata()?;
        let state = State::of(&found);
        if let Some(known) = self.known.get(&state).filter(|_| found.nlink() == 1) {
            return Ok(known.clone());
        }
        let sha256 = read_sha256(file)?;
        let unchanged = State::of(&file.metadata()?) == state;
        if unchanged && found.nlink() == 1 && state.is_settled() && (self.is_steady)(file) {
            if self.known.len() == MOST_REMEMBERED {
                self.known.clear();
            }
            self.known.insert(state, sha256.clone());
        }
        Ok(sha256)
    }
}

/// The SHA-256 of what is in a file, in hexadecimal digits.
pub fn sha256(file: &File) -> io::Result<String> {
    // Not waited for: who has it may be a process that shared this memory and was ended meanwhile.
    match REMEMBERED.try_lock().as_deref_mut() {
        Ok(Some(remembered)) => remembered.sha256(file),
        _ => read_sha256(file),
    }
}

fn read_sha256(mut file: &File) -> io::Result<String> {
    let length = file.metadata()?.len();
    let mut hash = Sha256::new();
    if length > MOST {
        hash.update(length.to_le_bytes());
    }
    // Most programs and scripts are read with a few calls; room for more would take longer to get than it saves.
    let mut buffer = vec![0; 16 << 10];
    let mut rest = Read::by_ref(&mut file).take(MOST);
    loop {
        match rest.read(&mut buffer)? {
            0 => return Ok(hexadecimal(hash.finalize().as_ref())),
            read => hash.update(&buffer[..read]),
        }
    }
}

/// What is in a file of at most `most` bytes, if that is what was known: read once, so that the bytes that are given are
/// the bytes that were compared.
pub fn known_contents(path: &Path, sha256: &str, most: u64) -> io::Result<Option<Vec<u8>>> {
    let file = open(path)?;
    let mut bytes = Vec::new();
    (&file).take(most.min(MOST) + 1).read_to_end(&mut bytes)?;
    let known =
        bytes.len() as u64 <= most.min(MOST) && hexadecimal(Sha256::digest(&bytes).as_ref()) == sha256;
    Ok(known.then_some(bytes))
}

fn hexadecimal(digest: &[u8]) -> String {
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// From here on whoever opens this file for writing waits, until the descriptor is closed or the kernel's patience
/// (45 seconds) is over. It must be open for reading alone. Refused with `WouldBlock` where somebody has it open for
/// writing, and with other errors for a file of another user or on a file system that knows no leases.
pub fn keep_from_writers(file: &File) -> io::Result<()> {
    // The usual signal would end this process.
    for (request, value) in [(F_SETSIG, libc::SIGURG), (libc::F_SETLEASE, libc::F_RDLCK)] {
        // SAFETY: both requests take a number and touch no memory; the descriptor is open.
        if unsafe { libc::fcntl(file.as_raw_fd(), request, value) } == -1 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_known_by_its_bytes_and_a_pipe_is_none() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("file");
        std::fs::write(&path, "abc").unwrap();
        let known = sha256(&open(&path).unwrap()).unwrap();
        assert_eq!(known, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        assert_eq!(known_contents(&path, &known, 3).unwrap(), Some(b"abc".to_vec()));
        assert_eq!(known_contents(&path, &known, 2).unwrap(), None, "it is longer");
        std::fs::write(&path, "abd").unwrap();
        assert_eq!(known_contents(&path, &known, 3).unwrap(), None);
        let pipe = place.path().join("pipe");
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, Mode::RWXU, 0).unwrap();
        assert!(open(&pipe).is_err() && open(place.path()).is_err());
    }

    #[test]
    fn a_steady_file_is_read_once_and_every_change_is_seen() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("file");
        let put = |text: &str, age: u64| {
            std::fs::write(&path, text).unwrap();
            let then = SystemTime::now() - std::time::Duration::from_secs(age);
            File::options().append(true).open(&path).unwrap().set_modified(then).unwrap();
        };
        let mut remembered = Remembered { is_steady: Box::new(|_| true), known: BTreeMap::new() };
        let mut look = |steady: bool| {
            remembered.is_steady = Box::new(move |_| steady);
            let told = remembered.sha256(&open(&path).unwrap()).unwrap();
            assert_eq!(told, read_sha256(&open(&path).unwrap()).unwrap());
            remembered.known.len()
        };
        put("abc", 10);
        assert_eq!(look(true), 0, "its inode was changed a moment ago");
        std::thread::sleep(std::time::Duration::from_millis(3100));
        assert_eq!(look(false), 0);
        assert_eq!([look(true), look(true)], [1, 1]);
        put("abd", 10);
        look(true);
        let second = place.path().join("second");
        std::fs::hard_link(&path, &second).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(3100));
        assert_eq!(look(true), 1, "it can be written to by another name");
    }

    #[test]
    fn nobody_gets_to_write_meanwhile() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("file");
        std::fs::write(&path, "abc").unwrap();
        let write = || {
            let flags = OFlags::WRONLY | OFlags::NONBLOCK;
            rustix::fs::open(&path, flags, Mode::empty()).map(drop)
        };
        let file = open(&path).unwrap();
        keep_from_writers(&file).unwrap();
        assert_eq!(write(), Err(rustix::io::Errno::WOULDBLOCK));
        drop(file);
        assert_eq!(write(), Ok(()));
        let writer = File::options().append(true).open(&path).unwrap();
        let refused = keep_from_writers(&open(&path).unwrap()).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::WouldBlock);
        drop(writer);
    }
}
