//! Memory, and the four functions that the compiler takes for granted.
//!
//! The programs live for a moment and then become another one, so nothing is given back.

use core::alloc::{GlobalAlloc, Layout};
use core::arch::asm;
use core::cell::UnsafeCell;

/// More than the largest files that are read, the environment, and what is made of them.
const ROOM: usize = 8 << 20;

#[repr(C, align(16))]
struct Room(UnsafeCell<[u8; ROOM]>, UnsafeCell<usize>);

// SAFETY: the programs have one thread.
unsafe impl Sync for Room {}

/// Zeroes of the program's own image: pages that are not touched cost nothing.
#[global_allocator]
static MEMORY: Room = Room(UnsafeCell::new([0; ROOM]), UnsafeCell::new(0));

// SAFETY: every block is a part of the room that was not given out before, with the alignment that was asked for.
unsafe impl GlobalAlloc for Room {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let used = self.1.get();
        let room = self.0.get().cast::<u8>();
        // SAFETY: one thread; nobody else holds this number.
        let free = unsafe { *used };
        let start = (room as usize + free).next_multiple_of(layout.align()) - room as usize;
        let Some(end) = start.checked_add(layout.size()).filter(|end| *end <= ROOM) else {
            return core::ptr::null_mut();
        };
        // SAFETY: as above.
        unsafe { *used = end };
        // SAFETY: `start` is within the room.
        unsafe { room.add(start) }
    }

    unsafe fn dealloc(&self, _: *mut u8, _: Layout) {}
}

// With the machine's own instruction, or in steps that the compiler cannot turn into a call of the same function.

/// # Safety
///
/// As in C.
#[unsafe(no_mangle)]
unsafe extern "C" fn memcpy(to: *mut u8, from: *const u8, count: usize) -> *mut u8 {
    // SAFETY: as the caller says.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        asm!("rep movsb", inout("rcx") count => _, inout("rdi") to => _, inout("rsi") from => _, options(nostack));
    }
    #[cfg(not(target_arch = "x86_64"))]
    for at in 0..count {
        // SAFETY: as the caller says.
        unsafe { to.add(at).write_volatile(from.add(at).read_volatile()) };
    }
    to
}

/// # Safety
///
/// As in C.
#[unsafe(no_mangle)]
unsafe extern "C" fn memmove(to: *mut u8, from: *const u8, count: usize) -> *mut u8 {
    if (to as usize) <= from as usize {
        // SAFETY: as the caller says; upwards is right when the target is below.
        return unsafe { memcpy(to, from, count) };
    }
    for at in (0..count).rev() {
        // SAFETY: as the caller says.
        unsafe { to.add(at).write_volatile(from.add(at).read_volatile()) };
    }
    to
}

/// # Safety
///
/// As in C.
#[unsafe(no_mangle)]
unsafe extern "C" fn memset(to: *mut u8, value: i32, count: usize) -> *mut u8 {
    for at in 0..count {
        // SAFETY: as the caller says.
        unsafe { to.add(at).write_volatile(value as u8) };
    }
    to
}

/// # Safety
///
/// As in C.
#[unsafe(no_mangle)]
unsafe extern "C" fn memcmp(one: *const u8, other: *const u8, count: usize) -> i32 {
    for at in 0..count {
        // SAFETY: as the caller says.
        let (a, b) = unsafe { (one.add(at).read_volatile(), other.add(at).read_volatile()) };
        if a != b {
            return i32::from(a) - i32::from(b);
        }
    }
    0
}

/// # Safety
///
/// As in C.
#[unsafe(no_mangle)]
unsafe extern "C" fn bcmp(one: *const u8, other: *const u8, count: usize) -> i32 {
    // SAFETY: as the caller says.
    unsafe { memcmp(one, other, count) }
}

/// # Safety
///
/// As in C.
#[unsafe(no_mangle)]
unsafe extern "C" fn strlen(string: *const u8) -> usize {
    let mut length = 0;
    // SAFETY: as the caller says.
    while unsafe { string.add(length).read_volatile() } != 0 {
        length += 1;
    }
    length
}
