//! I. Resources and lifecycle.

use std::fs::File;

use cofferdam_linux_sys::clone::{self, Forked};
use rustix::fs::FlockOperation;
use rustix::process::{Pid, Signal, WaitOptions};

use crate::probe::{Mistake, Outcome, Probe, Words};

pub const PROBES: &[Probe] = &[
    Probe { name: "fork-many", threat: 105, takes: "COUNT", attack: fork_many },
    Probe { name: "allocate", threat: 105, takes: "MIB", attack: allocate },
    Probe { name: "outlive", threat: 106, takes: "PATH", attack: outlive },
];

/// Children that wait on a pipe, until there are enough or the kernel says no.
fn fork_many(words: &mut Words) -> Result<Outcome, Mistake> {
    let count: usize = words.parsed("number")?;
    let (end, held) = rustix::pipe::pipe().map_err(|error| error.to_string())?;
    let mut children = Vec::new();
    let stopped = loop {
        if children.len() == count {
            break None;
        }
        match clone::fork() {
            Ok(Forked::Child) => {
                drop(held);
                let _ = rustix::io::read(&end, &mut [0; 1]);
                std::process::exit(0)
            }
            Ok(Forked::Parent { child }) => children.push(child),
            Err(error) => break Some(error),
        }
    };
    drop(held);
    for child in &children {
        let _ = rustix::process::waitpid(Pid::from_raw(*child), WaitOptions::empty());
    }
    Ok(match stopped {
        None => Outcome::Open(format!("{count} processes at once")),
        Some(error) => Outcome::Closed(format!("{error} after {}", children.len())),
    })
}

/// Asked for in a way that may be refused, and written to, so that it counts.
fn allocate(words: &mut Words) -> Result<Outcome, Mistake> {
    let mebibytes: usize = words.parsed("number")?;
    let mut memory: Vec<u8> = Vec::new();
    if let Err(error) = memory.try_reserve_exact(mebibytes << 20) {
        return Ok(Outcome::Closed(error.to_string()));
    }
    memory.resize(mebibytes << 20, 0x5a);
    Ok(Outcome::Open(format!("{} MiB", std::hint::black_box(&memory).len() >> 20)))
}

/// Leaves a process behind: twice forked, in a session of its own, deaf to every signal that can be ignored. It
/// holds a lock on the file for as long as it lives.
fn outlive(words: &mut Words) -> Result<Outcome, Mistake> {
    let path = words.text("a path")?;
    let (ready, tell) = rustix::pipe::pipe().map_err(|error| error.to_string())?;
    if let Forked::Parent { .. } = clone::fork().map_err(|error| error.to_string())? {
        drop(tell);
        let mut number = [0; 4];
        let told = rustix::io::read(&ready, &mut number).map_err(|error| error.to_string())?;
        return Ok(if told == number.len() {
            Outcome::Open(i32::from_ne_bytes(number).to_string())
        } else {
            Outcome::Closed("it did not come up".to_owned())
        });
    }
    let stay = || -> std::io::Result<()> {
        rustix::process::setsid()?;
        if let Forked::Parent { .. } = clone::fork()? {
            return Ok(());
        }
        let file = File::create(path)?;
        rustix::fs::flock(&file, FlockOperation::LockExclusive)?;
        let deaf: Vec<i32> = (1..=31).filter(|signal| ![9, 19].contains(signal)).collect();
        let _signals = cofferdam_linux_sys::signals::Signals::take_over(&deaf)?;
        // Whoever waits for the end of our output must not wait for us.
        let null = std::fs::OpenOptions::new().read(true).write(true).open("/dev/null")?;
        rustix::stdio::dup2_stdout(&null)?;
        rustix::stdio::dup2_stderr(&null)?;
        rustix::io::write(&tell, &std::process::id().to_ne_bytes())?;
        drop(tell);
        std::thread::sleep(std::time::Duration::from_secs(600));
        let _ = rustix::process::kill_process(rustix::process::getpid(), Signal::KILL);
        Ok(())
    };
    std::process::exit(i32::from(stay().is_err()))
}
