//! What comes before the C library: a look at what was asked for. Either that is done here and now, or everything is
//! as the kernel left it and the C library begins; where a sandbox is wanted, in two processes at once.

use core::arch::global_asm;
use core::panic::PanicInfo;

use crate::bare::{Asked, Laid, Left, copy_into_namespaces, write_all};
use crate::end::exit;

/// What is done first, by its one name.
#[macro_export]
macro_rules! first {
    ($first:path) => {
        #[unsafe(no_mangle)]
        fn cofferdam_asked(laid: $crate::bare::Laid<'_>) -> $crate::bare::Asked {
            $first(laid)
        }
    };
}

unsafe extern "Rust" {
    /// Made by [`first!`] in the program itself.
    safe fn cofferdam_asked(laid: Laid<'_>) -> Asked;
}

unsafe extern "C" {
    /// In the program that these instructions are linked in front of (`early.rs`).
    safe static cofferdam_left: Left;
}

// The stack, and the register in which the kernel may hand over something else, are kept for the C library.
#[cfg(target_arch = "x86_64")]
global_asm!(
    ".globl cofferdam_first",
    "cofferdam_first:",
    "xor %ebp, %ebp",
    "mov %rsp, %rbx",
    "mov %rdx, %r12",
    "mov %rsp, %rdi",
    "and $-16, %rsp",
    "call cofferdam_before",
    "mov %rbx, %rsp",
    "mov %r12, %rdx",
    "jmp _start",
    options(att_syntax)
);
#[cfg(target_arch = "aarch64")]
global_asm!(
    ".globl cofferdam_first",
    "cofferdam_first:",
    "mov x29, #0",
    "mov x30, #0",
    "mov x19, sp",
    "mov x20, x0",
    "mov x0, sp",
    "bl cofferdam_before",
    "mov sp, x19",
    "mov x0, x20",
    "b _start",
);

/// # Safety
///
/// Called once, by the lines above, with the stack as the kernel left it: the count of the arguments, their addresses, a
/// null, those of the environment, a null.
#[unsafe(no_mangle)]
unsafe extern "C" fn cofferdam_before(stack: *const usize) {
    // SAFETY: as the caller says.
    let count = unsafe { *stack };
    // SAFETY: as the caller says; with an argument or a variable at least, or nothing is read.
    let Some(bytes) = (unsafe { one_piece(stack.add(1)) }) else { return };
    match cofferdam_asked(Laid { arguments: count, bytes }) {
        Asked::Done(status) => exit(i32::from(status)),
        // What could not be begun here is tried again on the long way, which tells why.
        Asked::Sandbox => drop(copy_into_namespaces(&cofferdam_left)),
        Asked::LongWay => {}
    }
}

/// The strings of both lists, if they follow each other without a gap, as the kernel lays them.
///
/// # Safety
///
/// `list` must point to the addresses of strings, a null, the addresses of further strings, and a null; each string
/// ends with a zero byte and is never freed.
unsafe fn one_piece(list: *const usize) -> Option<&'static [u8]> {
    // SAFETY: the first address, or the null.
    let first = unsafe { *list };
    if first == 0 {
        return None;
    }
    let (mut at, mut end, mut nulls) = (list, first, 0);
    while nulls < 2 {
        // SAFETY: within the lists until the second null has been seen.
        let string = unsafe { *at };
        // SAFETY: at most the place behind the second null, which is not read.
        at = unsafe { at.add(1) };
        if string == 0 {
            nulls += 1;
        } else if string == end {
            // SAFETY: a string as the caller says.
            end += unsafe { core::ffi::CStr::from_ptr(string as *const _) }.to_bytes_with_nul().len();
        } else {
            return None;
        }
    }
    // SAFETY: all bytes from the first string to the end of the last are those of strings that are never freed.
    Some(unsafe { core::slice::from_raw_parts(first as *const u8, end - first) })
}

/// A mistake in these instructions.
#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    write_all(2, b"cofferdam: a mistake in this program\n");
    exit(125)
}
