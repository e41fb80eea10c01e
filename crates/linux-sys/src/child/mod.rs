//! The one way to start a process.
//!
//! A [`ChildCommand`] cannot be made without a [`ChildEnvironment`], so nothing of the launcher's own
//! environment reaches a child by accident. Every child
//!
//! * has descriptors 0, 1 and 2 and no others,
//! * leads a session of its own, without a controlling terminal,
//! * can gain no privileges by `execve` and leaves no core dump,
//! * and, unless it is [`Lifetime::Detached`], dies with the thread that started it.
//!
//! [`run_captured`] runs a command to its end or to a deadline, and leaves nothing of it behind.
//!
//! # Where it stops
//!
//! A process that calls `setsid`, forks, and whose parent then ends is no longer anyone's descendant: the
//! kernel gives it to `init`. It is not found again, whether it is a daemon that is meant to stay (an agent
//! that holds the key of a password store) or one that hides. A subreaper would find it, but that is a
//! property of the whole launcher, which would then collect the orphans of every library in it. Code that
//! is not trusted runs in a PID namespace, where there is no such way out.
//!
//! [`ChildEnvironment`]: cofferdam_policy::environment::ChildEnvironment

mod capture;
mod command;
mod descendants;
mod error;
mod program;
mod running;

pub use capture::{Captured, Keep, Limits, Stream, run_captured};
pub use command::{ChildCommand, Input, Lifetime, Output};
pub use error::ChildError;
pub use program::Program;
pub use running::{Ended, Running};

#[cfg(test)]
mod tests;
