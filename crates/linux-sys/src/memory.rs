//! Memory for secrets: pages of their own that are not swapped out, not in core dumps, not copied by
//! `fork`, and wiped before they are given back.
//!
//! Whole pages for each value: a page shared by two values could only be unlocked and wiped when both are
//! gone, and the handful of secrets in a process is worth a page each. There are no guard pages; nothing
//! here is indexed without a bounds check, so they would guard against other code only.

use std::io;
use std::ptr::{self, NonNull};

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mlock, mmap_anonymous, munmap};
use zeroize::Zeroize;

/// What the kernel really agreed to. Locking fails where `RLIMIT_MEMLOCK` is used up; the advice fails only
/// on kernels that do not know it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Protection {
    /// Never written to swap.
    pub locked: bool,
    /// Not part of a core dump.
    pub excluded_from_dumps: bool,
    /// A forked child sees zeros.
    pub wiped_on_fork: bool,
}

/// Private anonymous pages with as much [`Protection`] as the kernel gives.
///
/// No `Debug`, `Clone` or comparison: it holds secrets.
pub struct LockedPages {
    start: NonNull<u8>,
    mapped: usize,
    length: usize,
    protection: Protection,
}

impl LockedPages {
    /// Room for `length` bytes, all zero. Fails only if there is no memory.
    pub fn zeroed(length: usize) -> io::Result<Self> {
        let page = rustix::param::page_size();
        let mapped = length
            .max(1)
            .checked_next_multiple_of(page)
            .filter(|&mapped| isize::try_from(mapped).is_ok())
            .ok_or(io::ErrorKind::OutOfMemory)?;
        let start = map(mapped)?;
        Ok(Self { start, mapped, length, protection: protect(start, mapped) })
    }

    pub fn protection(&self) -> Protection {
        self.protection
    }

    #[expect(unsafe_code, reason = "the pages are known by address")]
    pub fn as_slice(&self) -> &[u8] {
        // SAFETY: `start` is the start of a live private mapping of `mapped >= length` bytes, readable and
        // zero-filled by the kernel; it is unmapped only in `drop`, and `&self` keeps writers away.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.length) }
    }

    #[expect(unsafe_code, reason = "the pages are known by address")]
    pub fn as_mut_slice(&mut self) -> &mut [u8] {
        // SAFETY: as in `as_slice`, and `&mut self` makes this the only reference.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.length) }
    }
}

// SAFETY: the pages belong to this value alone and have no tie to a thread.
#[expect(unsafe_code, reason = "a raw pointer is not Send by itself")]
unsafe impl Send for LockedPages {}
// SAFETY: through a shared reference the pages can only be read.
#[expect(unsafe_code, reason = "a raw pointer is not Sync by itself")]
unsafe impl Sync for LockedPages {}

impl Drop for LockedPages {
    #[expect(unsafe_code, reason = "unmapping")]
    fn drop(&mut self) {
        self.as_mut_slice().zeroize();
        #[cfg(test)]
        tests::before_unmapping(self.as_slice());
        // SAFETY: the mapping was made by `map` with this start and length, and nothing refers to it: both
        // accessors borrow from `self`, which is being dropped. Unmapping also unlocks.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.mapped) };
    }
}

#[expect(unsafe_code, reason = "mapping memory")]
fn map(length: usize) -> io::Result<NonNull<u8>> {
    // SAFETY: an anonymous private mapping at an address of the kernel's choice touches no existing memory.
    let start = unsafe {
        mmap_anonymous(ptr::null_mut(), length, ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE)
    }?;
    NonNull::new(start.cast()).ok_or_else(|| io::ErrorKind::OutOfMemory.into())
}

/// Before anything is written: a page that was swapped out once is on the disk.
#[expect(unsafe_code, reason = "the pages are known by address")]
fn protect(start: NonNull<u8>, length: usize) -> Protection {
    let start = start.as_ptr().cast();
    // SAFETY: the range is a whole mapping made by `map` that nothing else refers to yet. Locking does not
    // change its contents.
    let locked = unsafe { mlock(start, length) }.is_ok();
    // SAFETY: as above; this advice changes what a dump contains, not the memory.
    let excluded_from_dumps = unsafe { madvise(start, length, Advice::LinuxDontDump) }.is_ok();
    // SAFETY: as above; this advice changes what a forked child sees, not the memory of this process.
    let wiped_on_fork = unsafe { madvise(start, length, Advice::LinuxWipeOnFork) }.is_ok();
    Protection { locked, excluded_from_dumps, wiped_on_fork }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::fs;

    use super::*;

    thread_local! {
        static LAST_WORDS: RefCell<Option<Vec<u8>>> = const { RefCell::new(None) };
    }

    pub(super) fn before_unmapping(bytes: &[u8]) {
        LAST_WORDS.with_borrow_mut(|last| *last = Some(bytes.to_vec()));
    }

    fn filled() -> LockedPages {
        let mut pages = LockedPages::zeroed(40).expect("memory");
        pages.as_mut_slice().copy_from_slice(&[0xA5; 40]);
        pages
    }

    /// The flags of the mapping that holds an address.
    fn kernel_flags(address: usize) -> Vec<String> {
        let smaps = fs::read_to_string("/proc/self/smaps").expect("smaps");
        let mut inside = false;
        for line in smaps.lines() {
            let range = line.split(' ').next().and_then(|range| range.split_once('-'));
            if let Some((low, high)) = range
                && let (Ok(low), Ok(high)) = (usize::from_str_radix(low, 16), usize::from_str_radix(high, 16))
            {
                inside = (low..high).contains(&address);
            } else if inside && let Some(flags) = line.strip_prefix("VmFlags:") {
                return flags.split_whitespace().map(str::to_owned).collect();
            }
        }
        panic!("the mapping is not in smaps");
    }

    #[test]
    fn req_e28_the_kernel_says_locked_not_dumped_wiped_on_fork() {
        let pages = filled();
        let flags = kernel_flags(pages.as_slice().as_ptr() as usize);
        let Protection { locked, excluded_from_dumps, wiped_on_fork } = pages.protection();
        assert!(locked && excluded_from_dumps && wiped_on_fork);
        for flag in ["lo", "dd", "wf"] {
            assert!(flags.iter().any(|found| found == flag), "{flag} is not in {flags:?}");
        }
        let ordinary = Box::new([1u8; 40]);
        let flags = kernel_flags(ordinary.as_ptr() as usize);
        assert!(!flags.iter().any(|found| found == "dd"), "the probe sees the difference");
    }

    #[test]
    fn req_e28_the_bytes_are_gone_before_the_pages_are_given_back() {
        let pages = filled();
        assert_eq!(pages.as_slice(), [0xA5; 40]);
        drop(pages);
        assert_eq!(LAST_WORDS.take().expect("the pages were dropped"), [0; 40]);
    }

    #[test]
    fn an_absurd_length_is_an_error() {
        assert!(LockedPages::zeroed(usize::MAX).is_err());
        assert!(LockedPages::zeroed(isize::MAX as usize).is_err());
        assert!(LockedPages::zeroed(0).expect("memory").as_slice().is_empty());
    }
}
