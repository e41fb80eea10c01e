//! The clock of one process, moved while it runs.
//!
//! The machine's clock is everybody's, a time namespace has no other wall clock, and nothing can be preloaded into a
//! static program. But a process asks for the time by a function that the kernel maps into it, and whoever may trace
//! it may write there, for this process alone: a system call, and so many seconds more.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicI64, Ordering};

use cofferdam_testkit::processes::wait_until;
use rustix::process::{Pid, Signal, kill_process};

static MOVED_BY: AtomicI64 = AtomicI64::new(0);

/// By how many seconds the daemon's clock is ahead.
pub fn moved_by() -> i64 {
    MOVED_BY.load(Ordering::Relaxed)
}

pub fn can_be_moved(pid: i32) -> bool {
    cfg!(target_arch = "x86_64") && memory(pid).is_ok()
}

fn memory(pid: i32) -> std::io::Result<File> {
    OpenOptions::new().read(true).write(true).open(format!("/proc/{pid}/mem"))
}

pub fn move_by(pid: i32, seconds: i64) {
    let memory = memory(pid).expect("it can be moved");
    let mapped = mapped(pid);
    let mut image = vec![0; usize::try_from(mapped.end - mapped.start).expect("a few pages")];
    memory.read_exact_at(&mut image, mapped.start).expect("the kernel's code");
    let function = mapped.start + symbol(&image, b"__vdso_clock_gettime").expect("the function");
    stopped_outside(pid, &mapped, || {
        memory.write_all_at(&code(seconds), function).expect("the code is replaced");
    });
    MOVED_BY.store(seconds, Ordering::Relaxed);
}

/// `clock_gettime` as a system call; to the wall clock's answer the seconds are added.
fn code(seconds: i64) -> Vec<u8> {
    let seconds = i32::try_from(seconds).expect("less than a lifetime").to_le_bytes();
    let call = [0xb8, 228, 0, 0, 0, 0x0f, 0x05]; // mov eax, 228; syscall
    let only_for_the_wall_clock = [0x85, 0xff, 0x75, 0x07]; // test edi, edi; jne to the end
    let add = [0x48, 0x81, 0x06]; // add qword [rsi], …
    [&call[..], &only_for_the_wall_clock, &add, &seconds, &[0xc3]].concat()
}

/// Where the kernel's code is.
fn mapped(pid: i32) -> std::ops::Range<u64> {
    let maps = fs::read_to_string(format!("/proc/{pid}/maps")).expect("its memory");
    let line = maps.lines().find(|line| line.ends_with("[vdso]")).expect("the kernel's code");
    let (start, rest) = line.split_once('-').expect("a range");
    let number = |text: &str| u64::from_str_radix(text, 16).expect("an address");
    number(start)..number(rest.split(' ').next().expect("an end"))
}

/// Does something while all threads stand still, and none of them in the code that is replaced.
fn stopped_outside(pid: i32, mapped: &std::ops::Range<u64>, act: impl Fn()) {
    let signal = |signal| kill_process(Pid::from_raw(pid).expect("a number"), signal).expect("a signal");
    let mut done = false;
    while !done {
        signal(Signal::STOP);
        wait_until("it stands still", || threads(pid).iter().all(|thread| is_stopped(thread)));
        if !threads(pid).iter().any(|thread| place(thread).is_some_and(|at| mapped.contains(&at))) {
            act();
            done = true;
        }
        signal(Signal::CONT);
    }
}

fn threads(pid: i32) -> Vec<String> {
    let entries = fs::read_dir(format!("/proc/{pid}/task")).expect("a process").flatten();
    entries.map(|entry| entry.path().display().to_string()).collect()
}

fn is_stopped(thread: &str) -> bool {
    fs::read_to_string(format!("{thread}/stat"))
        .map_or(true, |stat| stat.rsplit(')').next().is_some_and(|rest| rest.starts_with(" T")))
}

/// The address of the instruction that is next.
fn place(thread: &str) -> Option<u64> {
    let line = fs::read_to_string(format!("{thread}/syscall")).ok()?;
    u64::from_str_radix(line.trim().rsplit(' ').next()?.trim_start_matches("0x"), 16).ok()
}

/// The offset of a function in an image of 64 bits.
fn symbol(image: &[u8], name: &[u8]) -> Option<u64> {
    const DYNAMIC_SYMBOLS: u64 = 11;
    let number = |at: u64, bytes: u64| {
        let (at, bytes) = (usize::try_from(at).ok()?, usize::try_from(bytes).ok()?);
        let mut value = [0; 8];
        value[..bytes].copy_from_slice(image.get(at..at + bytes)?);
        Some(u64::from_le_bytes(value))
    };
    let (sections, size, count) = (number(0x28, 8)?, number(0x3a, 2)?, number(0x3c, 2)?);
    let section = |index: u64| sections + index * size;
    let symbols = (0..count).map(section).find(|at| number(at + 4, 4) == Some(DYNAMIC_SYMBOLS))?;
    let names = number(section(number(symbols + 0x28, 4)?) + 0x18, 8)?;
    let (first, length) = (number(symbols + 0x18, 8)?, number(symbols + 0x20, 8)?);
    let found = (first..first + length).step_by(24).find(|at| {
        let at = number(*at, 4).map(|offset| usize::try_from(names + offset).unwrap_or(usize::MAX));
        at.and_then(|at| image.get(at..)).is_some_and(|rest| rest.starts_with(&[name, b"\0"].concat()))
    })?;
    number(found + 8, 8)
}
