//! Handing a command on without leaving the processor. To wake a process on another processor that rests takes ten times as
//! long as on the same one, and the kernel prefers the one that rests. Who hands over does nothing until the answer
//! comes, so nothing is won by a second one: the first process is bound to the launcher's processor for the start of a
//! command. The command itself may run wherever the first process could at its beginning.

use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity};

/// Binds a process that waits to the processor that this one runs on. Where that is refused, it only takes longer.
pub fn call_here(process: i32) {
    let here = sched_getcpu();
    if let Some(process) = Pid::from_raw(process)
        && here < CpuSet::MAX_CPU
    {
        let mut near = CpuSet::new();
        near.set(here);
        let _ = sched_setaffinity(Some(process), &near);
    }
}

/// Where this process may run, before anybody has bound it.
#[derive(Debug, Clone, Copy)]
pub struct Everywhere(Option<CpuSet>);

impl Everywhere {
    pub fn found() -> Self {
        Self(sched_getaffinity(None).ok())
    }

    /// Lets this process run wherever it could.
    pub fn spread_out(self) {
        if let Some(everywhere) = self.0 {
            let _ = sched_setaffinity(None, &everywhere);
        }
    }
}
