//! What comes before a program's first function, and after its last.

use alloc::vec::Vec;
use core::arch::global_asm;
use core::ffi::{CStr, c_char};
use core::panic::PanicInfo;

use crate::bare::{Given, write_all};
use crate::end::exit;

/// What a program does, by its one name.
#[macro_export]
macro_rules! program {
    ($main:path) => {
        #[unsafe(no_mangle)]
        fn cofferdam_main(given: &$crate::bare::Given) -> i32 {
            $main(given)
        }
    };
}

unsafe extern "Rust" {
    /// Made by [`program!`] in the program itself.
    safe fn cofferdam_main(given: &Given) -> i32;
}

// The stack holds the count, the arguments, a null, the environment, a null. Its address is the only argument of the
// function below, which is called with the alignment that the convention asks for.
#[cfg(target_arch = "x86_64")]
global_asm!(
    ".globl _start",
    "_start:",
    "xor %ebp, %ebp",
    "mov %rsp, %rdi",
    "and $-16, %rsp",
    "call cofferdam_start",
    options(att_syntax)
);
#[cfg(target_arch = "aarch64")]
global_asm!(".globl _start", "_start:", "mov x29, #0", "mov x30, #0", "mov x0, sp", "bl cofferdam_start");

/// # Safety
///
/// Called once, by the lines above, with the stack as the kernel left it.
#[unsafe(no_mangle)]
unsafe extern "C" fn cofferdam_start(stack: *const usize) -> ! {
    // SAFETY: the kernel puts the count of the arguments here.
    let count = unsafe { *stack };
    // SAFETY: the arguments follow it, `count` of them and a null.
    let arguments = unsafe { stack.add(1) };
    // SAFETY: the environment follows those.
    let environment = unsafe { arguments.add(count + 1) };
    // SAFETY: both lists end with a null, and their words stay where they are until the program ends.
    let given = unsafe { Given { arguments: words(arguments), environment: words(environment) } };
    exit(cofferdam_main(&given))
}

/// # Safety
///
/// `list` must point to addresses of strings that end with a zero byte and are never freed, and end with a null.
unsafe fn words(list: *const usize) -> Vec<&'static CStr> {
    let mut all = Vec::new();
    let mut at = list;
    // SAFETY: `at` is within the list until its null has been seen, and each word is as the caller says.
    unsafe {
        while *at != 0 {
            all.push(CStr::from_ptr(*at as *const c_char));
            at = at.add(1);
        }
    }
    all
}

/// A mistake in the program itself. 126: privileges were not dropped, and nothing was started.
#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    write_all(2, b"cofferdam: a mistake in this program; nothing was started\n");
    exit(126)
}
