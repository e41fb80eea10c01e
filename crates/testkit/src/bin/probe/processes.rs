//! A. Secrets of the parent and of other processes.

use std::fs;
use std::os::fd::AsFd;

use cofferdam_linux_sys::clone::{self, Forked};
use cofferdam_linux_sys::probe::{
    PROCESS_CALLS, keyring_round_trip, process_vm_read, process_vm_write, ptrace_seize,
};
use rustix::process::{
    DumpableBehavior, Pid, PidfdFlags, PidfdGetfdFlags, Resource, Rlimit, Signal, WaitOptions,
};

use crate::probe::{Mistake, Outcome, Probe, Words, holds_canary};

pub const PROBES: &[Probe] = &[
    Probe { name: "own-environment", threat: 1, takes: "", attack: own_environment },
    Probe { name: "environment", threat: 2, takes: "PID", attack: environment },
    Probe { name: "parent-environment", threat: 2, takes: "", attack: parent_environment },
    Probe { name: "every-environment", threat: 2, takes: "", attack: every_environment },
    Probe { name: "init-environment", threat: 3, takes: "", attack: init_environment },
    Probe { name: "init-files", threat: 3, takes: "", attack: init_files },
    Probe { name: "every-cmdline", threat: 4, takes: "", attack: every_cmdline },
    Probe { name: "handles", threat: 5, takes: "PID", attack: handles },
    Probe { name: "ptrace", threat: 6, takes: "PID", attack: ptrace },
    Probe { name: "trace-child", threat: 7, takes: "", attack: trace_child },
    Probe { name: "process-vm-read", threat: 8, takes: "PID", attack: vm_read },
    Probe { name: "process-vm-write", threat: 8, takes: "PID", attack: vm_write },
    Probe { name: "steal-descriptor", threat: 9, takes: "PID FD", attack: steal_descriptor },
    Probe { name: "signal", threat: 10, takes: "PID", attack: signal },
    Probe { name: "steer-process", threat: 11, takes: "PID", attack: steer },
    Probe { name: "core-dump", threat: 14, takes: "", attack: core_dump },
    Probe { name: "keyring", threat: 16, takes: "", attack: keyring },
];

fn own_environment(_: &mut Words) -> Result<Outcome, Mistake> {
    let names: Vec<String> = std::env::vars_os()
        .filter(|(_, value)| holds_canary(value.as_encoded_bytes()))
        .map(|(name, _)| name.to_string_lossy().into_owned())
        .collect();
    Ok(Outcome::found(&names, "no variable holds a canary"))
}

fn environment(words: &mut Words) -> Result<Outcome, Mistake> {
    let pid: u32 = words.parsed("process number")?;
    Ok(canary_in(&format!("/proc/{pid}/environ")))
}

fn parent_environment(_: &mut Words) -> Result<Outcome, Mistake> {
    Ok(canary_in(&format!("/proc/{}/environ", std::os::unix::process::parent_id())))
}

fn init_environment(_: &mut Words) -> Result<Outcome, Mistake> {
    Ok(canary_in("/proc/1/environ"))
}

fn init_files(_: &mut Words) -> Result<Outcome, Mistake> {
    let readable: Vec<String> = ["environ", "cmdline", "status", "mountinfo"]
        .iter()
        .map(|name| format!("/proc/1/{name}"))
        .filter(|path| fs::read(path).is_ok_and(|contents| !contents.is_empty()))
        .collect();
    Ok(Outcome::found(&readable, "nothing of it can be read"))
}

fn canary_in(path: &str) -> Outcome {
    match fs::read(path) {
        Ok(contents) if holds_canary(&contents) => Outcome::Open(format!("a canary in {path}")),
        Ok(contents) => Outcome::Closed(format!("{} bytes without a canary", contents.len())),
        Err(error) => Outcome::Closed(error.to_string()),
    }
}

fn every_environment(_: &mut Words) -> Result<Outcome, Mistake> {
    Ok(scan("environ"))
}

fn every_cmdline(_: &mut Words) -> Result<Outcome, Mistake> {
    Ok(scan("cmdline"))
}

/// Looks into one file of every other process that can be seen.
fn scan(file: &str) -> Outcome {
    let own = std::process::id().to_string();
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let others: Vec<String> =
        names.filter(|name| *name != own && name.bytes().all(|byte| byte.is_ascii_digit())).collect();
    let holding: Vec<String> = others
        .iter()
        .map(|pid| format!("/proc/{pid}/{file}"))
        .filter(|path| fs::read(path).is_ok_and(|contents| holds_canary(&contents)))
        .collect();
    Outcome::found(&holding, &format!("{} other processes, no canary", others.len()))
}

fn handles(words: &mut Words) -> Result<Outcome, Mistake> {
    let pid: u32 = words.parsed("process number")?;
    let links = ["root", "cwd", "exe"].map(|name| format!("/proc/{pid}/{name}"));
    let files = ["maps", "mem"].map(|name| format!("/proc/{pid}/{name}"));
    let list = format!("/proc/{pid}/fd");
    let open: Vec<String> = links
        .into_iter()
        .filter(|path| fs::read_link(path).is_ok())
        .chain(files.into_iter().filter(|path| fs::File::open(path).is_ok()))
        .chain(Some(list).filter(|path| fs::read_dir(path).is_ok()))
        .collect();
    Ok(Outcome::found(&open, "none can be opened"))
}

fn ptrace(words: &mut Words) -> Result<Outcome, Mistake> {
    let pid = words.parsed("process number")?;
    Ok(Outcome::of(ptrace_seize(pid), |()| format!("{pid} is traced")))
}

/// A child of our own, held by a pipe until it has been tried.
fn trace_child(_: &mut Words) -> Result<Outcome, Mistake> {
    let (end, held) = rustix::pipe::pipe().map_err(|error| error.to_string())?;
    match clone::fork().map_err(|error| error.to_string())? {
        Forked::Child => {
            drop(held);
            let _ = rustix::io::read(&end, &mut [0; 1]);
            std::process::exit(0)
        }
        Forked::Parent { child } => {
            let traced = ptrace_seize(child);
            drop(held);
            Ok(Outcome::of(traced, |()| "a child is traced".to_owned()))
        }
    }
}

fn vm_write(words: &mut Words) -> Result<Outcome, Mistake> {
    let pid: i32 = words.parsed("process number")?;
    // Writable memory, and what stands there already: nothing is changed.
    let address = fs::read_to_string(format!("/proc/{pid}/maps"))
        .ok()
        .and_then(|maps| {
            let line = maps.lines().find(|line| line.contains(" rw-p "))?;
            usize::from_str_radix(line.split('-').next()?, 16).ok()
        })
        .unwrap_or(0x1000);
    let mut byte = [0];
    let written =
        process_vm_read(pid, address, &mut byte).and_then(|_| process_vm_write(pid, address, &byte));
    Ok(Outcome::of(written, |_| format!("a byte of {pid}")))
}

fn steer(words: &mut Words) -> Result<Outcome, Mistake> {
    let pid: u32 = words.parsed("process number")?;
    let refused = [rustix::io::Errno::SRCH, rustix::io::Errno::PERM, rustix::io::Errno::NOSYS];
    let reached: Vec<String> = PROCESS_CALLS
        .iter()
        .filter(|call| match call.make(pid) {
            Ok(()) => true,
            Err(error) => !refused.iter().any(|errno| error.raw_os_error() == Some(errno.raw_os_error())),
        })
        .map(|call| call.name.to_owned())
        .collect();
    Ok(Outcome::found(&reached, "there is no such process"))
}

/// Crashes a child that has done everything to be dumped, and asks the kernel whether it was.
fn core_dump(_: &mut Words) -> Result<Outcome, Mistake> {
    match clone::fork().map_err(|error| error.to_string())? {
        Forked::Child => {
            // Each of these may be refused; what counts is what happens then.
            let _ = rustix::process::set_dumpable_behavior(DumpableBehavior::Dumpable);
            let maximum = rustix::process::getrlimit(Resource::Core).maximum;
            let _ = rustix::process::setrlimit(Resource::Core, Rlimit { current: maximum, maximum });
            let _ = rustix::process::kill_process(rustix::process::getpid(), Signal::QUIT);
            std::process::exit(0)
        }
        Forked::Parent { child } => {
            let pid = Pid::from_raw(child);
            let ended =
                rustix::process::waitpid(pid, WaitOptions::empty()).map_err(|error| error.to_string())?;
            const DUMPED: i32 = 0x80;
            Ok(match ended {
                Some((_, status)) if status.as_raw() & DUMPED != 0 => Outcome::Open("dumped".to_owned()),
                other => Outcome::Closed(format!("{:?}", other.map(|(_, status)| status))),
            })
        }
    }
}

fn keyring(_: &mut Words) -> Result<Outcome, Mistake> {
    Ok(Outcome::of(keyring_round_trip(), |()| "a key of the user was made and found".to_owned()))
}

fn vm_read(words: &mut Words) -> Result<Outcome, Mistake> {
    let pid: i32 = words.parsed("process number")?;
    // An address that is surely mapped, if we may know it; otherwise any will show whether the door is open.
    let address = fs::read_to_string(format!("/proc/{pid}/maps"))
        .ok()
        .and_then(|maps| usize::from_str_radix(maps.split('-').next()?, 16).ok())
        .unwrap_or(0x1000);
    Ok(Outcome::of(process_vm_read(pid, address, &mut [0; 16]), |read| format!("{read} bytes of {pid}")))
}

fn steal_descriptor(words: &mut Words) -> Result<Outcome, Mistake> {
    let pid = Pid::from_raw(words.parsed("process number")?).ok_or("zero is no process number")?;
    let wanted: i32 = words.parsed("descriptor")?;
    let stolen = rustix::process::pidfd_open(pid, PidfdFlags::empty())
        .and_then(|pidfd| rustix::process::pidfd_getfd(pidfd.as_fd(), wanted, PidfdGetfdFlags::empty()));
    Ok(Outcome::of(stolen.map_err(Into::into), |_| format!("a copy of descriptor {wanted}")))
}

fn signal(words: &mut Words) -> Result<Outcome, Mistake> {
    let pid = Pid::from_raw(words.parsed("process number")?).ok_or("zero is no process number")?;
    let sent = rustix::process::test_kill_process(pid).map_err(Into::into);
    Ok(Outcome::of(sent, |()| "it can be signalled".to_owned()))
}
