//! Memory to give out.
//!
//! The programs live for a moment and then become another one, so nothing is given back.

use core::alloc::{GlobalAlloc, Layout};
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
