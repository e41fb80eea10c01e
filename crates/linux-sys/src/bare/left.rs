//! What the first instructions of the program leave behind for what comes after the C library.

use core::sync::atomic::{AtomicI32, AtomicU32, Ordering};

const NOTHING: u32 = 0;
const COPIED: u32 = 1;
const COPY: u32 = 2;

/// Room for it, in the memory of the program.
#[derive(Debug)]
#[repr(C)]
pub struct Left {
    what: AtomicU32,
    channel: AtomicI32,
    process: AtomicI32,
    pid: AtomicI32,
    user: AtomicU32,
    group: AtomicU32,
}

/// What was left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    Nothing,
    /// This process has made a copy of itself: the descriptors of the connection to it and of the process, and its number.
    Copied {
        channel: i32,
        process: i32,
        pid: i32,
    },
    /// This process is the copy, in namespaces of its own: the connection to the other, and who the person is.
    Copy {
        channel: i32,
        user: u32,
        group: u32,
    },
}

impl Left {
    pub const fn nothing() -> Self {
        Self {
            what: AtomicU32::new(NOTHING),
            channel: AtomicI32::new(-1),
            process: AtomicI32::new(-1),
            pid: AtomicI32::new(-1),
            user: AtomicU32::new(0),
            group: AtomicU32::new(0),
        }
    }

    pub fn leave(&self, found: Found) {
        let (what, of_channel) = match found {
            Found::Nothing => (NOTHING, -1),
            Found::Copied { channel, process, pid } => {
                self.process.store(process, Ordering::Relaxed);
                self.pid.store(pid, Ordering::Relaxed);
                (COPIED, channel)
            }
            Found::Copy { channel, user, group } => {
                self.user.store(user, Ordering::Relaxed);
                self.group.store(group, Ordering::Relaxed);
                (COPY, channel)
            }
        };
        self.channel.store(of_channel, Ordering::Relaxed);
        self.what.store(what, Ordering::Release);
    }

    /// Takes it, once.
    pub fn take(&self) -> Found {
        let channel = || self.channel.load(Ordering::Relaxed);
        match self.what.swap(NOTHING, Ordering::AcqRel) {
            COPIED => Found::Copied {
                channel: channel(),
                process: self.process.load(Ordering::Relaxed),
                pid: self.pid.load(Ordering::Relaxed),
            },
            COPY => Found::Copy {
                channel: channel(),
                user: self.user.load(Ordering::Relaxed),
                group: self.group.load(Ordering::Relaxed),
            },
            _ => Found::Nothing,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Found, Left};

    #[test]
    fn what_is_left_is_found_once() {
        let left = Left::nothing();
        assert_eq!(left.take(), Found::Nothing);
        for found in
            [Found::Copied { channel: 3, process: 4, pid: 5 }, Found::Copy { channel: 6, user: 7, group: 8 }]
        {
            left.leave(found);
            assert_eq!(left.take(), found);
            assert_eq!(left.take(), Found::Nothing);
        }
    }
}
