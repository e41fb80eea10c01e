//! The launcher's side: make the sandbox, start commands in it, hear how they ended.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use cofferdam_linux_sys::clone::{self, Cloned, Namespaces};
use cofferdam_linux_sys::early::{self, Early};
use cofferdam_linux_sys::exec::Image;
use rustix::process::Signal;

use crate::answers;
use crate::approved_files::ApprovedFile;
use crate::channel::{self, Channel};
use crate::control_group::ControlGroup;
pub use crate::control_group::Exceeded;
use crate::messages::{Ended, FromSandbox, Last, NotStarted, Problem, ToSandbox, Window};
use crate::nearness;
use crate::pid_one;
use crate::plan::{Identity, Isolation, Limits, Plan};
use crate::report::Report;
pub use crate::stages::Doors;
use crate::text::Text;

/// Namespaces that exist, with a first process in them that waits for its plan. Made before the launcher reads
/// anything secret, because that process begins as a copy of the launcher: here, or before the C library began.
#[derive(Debug)]
pub struct Prepared {
    channel: Channel,
    process: OwnedFd,
    pid: i32,
    /// Why there are no namespaces, if there are none.
    refused: Option<Problem>,
}

/// A sandbox that is ready for commands.
#[derive(Debug)]
pub struct Sandbox {
    channel: Channel,
    process: OwnedFd,
    pid: i32,
    group: Option<ControlGroup>,
    doors: Doors,
}

/// Something that a sandbox tells.
#[derive(Debug)]
pub enum News {
    Started {
        terminal: Option<OwnedFd>,
    },
    NotStarted(NotStarted),
    Ended {
        how: Ended,
        /// A limit of single processes that it had met, if it failed.
        met: Option<Exceeded>,
        /// Set aside meanwhile, where the sandbox stays.
        held: Vec<Text>,
    },
    /// A socket on its way to a port inside; none if nobody listens there.
    Connected(Option<OwnedFd>),
    /// A way into its tree of files: its user and its mount namespace; nothing where it has none.
    Namespaces(Vec<OwnedFd>),
    /// The sandbox is gone, with the command that was its last if that ended by itself; these names were set aside.
    Gone {
        ended: Option<Ended>,
        /// A limit of single processes that it had met, if it failed.
        met: Option<Exceeded>,
        held: Vec<Text>,
    },
}

/// A command as the launcher hands it over.
pub struct Start<'a> {
    pub image: &'a Image,
    pub directory: &'a Path,
    pub terminal: Option<Window>,
    pub limits: Limits,
    pub last: Last,
    /// What is looked at once more before the program starts.
    pub approved: &'a [ApprovedFile],
    pub descriptors: &'a [BorrowedFd<'a>],
    pub answer: Option<Answer<'a>>,
}

/// Somebody who waits for the end of a command and is told nothing but its status, if there is nothing else to tell.
#[derive(Clone, Copy)]
pub struct Answer<'a> {
    pub connection: BorrowedFd<'a>,
    /// What is sent in front of the status.
    pub head: &'a [u8],
}

/// Where a sandbox tells what it has answered by itself.
#[derive(Debug)]
pub struct Answered(Channel);

impl Answered {
    /// The next command whose end was told to the one who waited for it. Never waits.
    pub fn next(&self) -> Option<(u64, Ended)> {
        match self.0.receive() {
            Ok(Some((FromSandbox::Ended { id, how, .. }, _))) => Some((id, how)),
            _ => None,
        }
    }
}

/// Makes the namespaces. This process must have one thread. What the plan does not want of them (a network of its
/// own) is left unused: this comes before anybody knows what the plan will be. Where they are refused, there is a process
/// without them, which builds only what a plan for the best effort asks for.
pub fn prepare() -> io::Result<Prepared> {
    match early::take() {
        Early::Copy { channel, user, group } => {
            pid_one::run(&Channel::from_connected(channel), Identity { user, group })
        }
        Early::Copied { channel, process, pid } => {
            return Ok(Prepared { channel: Channel::from_connected(channel), process, pid, refused: None });
        }
        Early::Nothing => {}
    }
    make_namespaces().or_else(|error| {
        let step = NAMESPACES.to_owned();
        without_namespaces(Problem { step, error: error.to_string(), errno: error.raw_os_error() })
    })
}

/// The step at which a machine refuses namespaces.
pub const NAMESPACES: &str = "namespaces";

fn without_namespaces(why: Problem) -> io::Result<Prepared> {
    let (ours, theirs) = Channel::pair()?;
    match clone::copy()? {
        Cloned::Child => {
            drop(ours);
            pid_one::run_without_namespaces(&theirs, &why.to_string())
        }
        Cloned::Parent { child, pid } => {
            Ok(Prepared { channel: ours, process: child, pid, refused: Some(why) })
        }
    }
}

fn make_namespaces() -> io::Result<Prepared> {
    let identity = Identity::own();
    // Only root can let go of its groups; anyone else keeps them inside, where a file may still be open to one.
    // The root of a container may be such another.
    if rustix::process::geteuid().is_root() {
        match rustix::thread::set_thread_groups(&[]) {
            Ok(()) | Err(rustix::io::Errno::PERM) => {}
            Err(error) => return Err(error.into()),
        }
    }
    let (ours, theirs) = Channel::pair()?;
    match clone::clone(Namespaces::OF_A_SANDBOX)? {
        Cloned::Child => {
            // Held open here, it would hide the launcher's end from this process for ever.
            drop(ours);
            pid_one::run(&theirs, identity)
        }
        Cloned::Parent { child, pid } => Ok(Prepared { channel: ours, process: child, pid, refused: None }),
    }
}

impl Prepared {
    /// For the best effort, while this process has one thread: where a security module lets the namespaces be made and
    /// takes the rights in them away, what comes back is a process without them. Later, with threads, there would be
    /// no way to make one.
    pub fn settled(self) -> io::Result<Self> {
        if self.refused.is_some() {
            return Ok(self);
        }
        // A process that could not begin has left word, and does not listen any more.
        let _ = self.channel.send(&ToSandbox::Begun, &[]);
        match self.channel.receive()? {
            Some((FromSandbox::Begun, _)) => Ok(self),
            Some((FromSandbox::NotBuilt(problem), _)) => without_namespaces(problem),
            _ => Err(io::Error::other("it ended before it was built")),
        }
    }

    /// Why there are no namespaces, if there are none.
    pub fn refused(&self) -> Option<&Problem> {
        self.refused.as_ref()
    }

    /// Builds the sandbox; nothing has been started in it yet.
    pub fn build(self, plan: &Plan) -> Result<(Sandbox, Report), Problem> {
        self.build_with(plan, |_| Ok(()))
    }

    /// Builds the sandbox for one command, which is sent right behind the plan, so that nobody waits for an answer
    /// in between. If the sandbox cannot be built, the command is never read.
    pub fn build_for(self, plan: &Plan, id: u64, start: &Start<'_>) -> Result<(Sandbox, Report), Problem> {
        self.build_with(plan, |sandbox| sandbox.start(id, start))
    }

    fn build_with(
        self,
        plan: &Plan,
        begin: impl Fn(&Sandbox) -> io::Result<()>,
    ) -> Result<(Sandbox, Report), Problem> {
        let had_namespaces = self.refused.is_none();
        match self.try_build(plan, &begin) {
            // A security module lets the namespaces be made and takes the rights in them away.
            Err(problem)
                if had_namespaces && problem.is_refusal() && plan.isolation == Isolation::BestEffort =>
            {
                let (step, errno) = (problem.step.clone(), problem.errno);
                let again = without_namespaces(problem);
                again
                    .map_err(|error| Problem { step, error: error.to_string(), errno })?
                    .try_build(plan, &begin)
            }
            other => other,
        }
    }

    fn try_build(
        self,
        plan: &Plan,
        begin: impl Fn(&Sandbox) -> io::Result<()>,
    ) -> Result<(Sandbox, Report), Problem> {
        // Fewer walls than were asked for are none.
        if let (Some(problem), Isolation::Required) = (&self.refused, plan.isolation) {
            return Err(problem.clone());
        }
        // Before anything can be started, so that nothing is outside of it.
        let group = ControlGroup::make(&plan.limits).filter(|group| group.add(self.pid).is_ok());
        let sent = self.channel.send(&ToSandbox::Build(plan.clone()), &[]);
        let (channel, process, pid) = (self.channel, self.process, self.pid);
        let mut sandbox = Sandbox { channel, process, pid, group, doors: Doors::new() };
        // A sandbox that could not be built has closed its end, even before the plan came; why comes with the answer.
        let begun = match sent {
            Ok(()) => begin(&sandbox),
            Err(error)
                if matches!(error.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset) =>
            {
                Err(error)
            }
            Err(error) => return Err(lost(&error)),
        };
        let report = sandbox.built(plan)?;
        begun.map_err(|error| lost(&error))?;
        Ok((sandbox, report))
    }
}

fn lost(error: &io::Error) -> Problem {
    Problem {
        step: "the connection to the sandbox".to_owned(),
        error: error.to_string(),
        errno: error.raw_os_error(),
    }
}

impl Sandbox {
    fn built(&mut self, plan: &Plan) -> Result<Report, Problem> {
        match self.channel.receive().map_err(|error| lost(&error))? {
            Some((FromSandbox::Built { mut report, doors }, listeners)) => {
                self.doors = doors.into_iter().zip(listeners).collect();
                let held = self.group.as_ref().map_or(&[][..], ControlGroup::held);
                report.limits(&plan.limits, plan.identity, held);
                Ok(report)
            }
            Some((FromSandbox::NotBuilt(problem), _)) => Err(problem),
            _ => Err(lost(&io::Error::other("it ended before it was built"))),
        }
    }

    pub fn start(&self, id: u64, start: &Start<'_>) -> io::Result<()> {
        let message = ToSandbox::Start {
            id,
            directory: start.directory.into(),
            terminal: start.terminal,
            limits: start.limits,
            last: start.last,
            approved: start.approved.to_vec(),
            answer: start.answer.map(|answer| answer.head.to_vec()),
        };
        let image = start.image.to_bytes();
        let mut descriptors = start.descriptors.to_vec();
        if let Some(answer) = start.answer {
            descriptors.push(answer.connection);
            nearness::call_here(self.pid);
        }
        if self.channel.send_with_bytes(&message, &image, &descriptors)? {
            return Ok(());
        }
        let image = channel::memory_file(&image)?;
        descriptors.insert(0, image.as_fd());
        self.channel.send(&message, &descriptors)
    }

    /// Lets it answer by itself, except while this descriptor can be read.
    pub fn let_answer(&self, more_to_say: BorrowedFd<'_>) -> io::Result<Answered> {
        let (ours, theirs) = answers::quiet_pair()?;
        self.channel.send(&ToSandbox::Answer, &[theirs.as_fd(), more_to_say])?;
        Ok(Answered(ours))
    }

    /// The listeners of a sealed network, once: whoever has them is the way out of it.
    pub fn take_doors(&mut self) -> Doors {
        std::mem::take(&mut self.doors)
    }

    pub fn signal(&self, id: u64, signal: i32) -> io::Result<()> {
        self.channel.send(&ToSandbox::Signal { id, signal }, &[])
    }

    /// Asks for a connection to a port of the sandbox's loopback; it comes as news with this number.
    pub fn connect(&self, id: u64, port: u16) -> io::Result<()> {
        self.channel.send(&ToSandbox::Connect { id, port }, &[])
    }

    /// Asks for a way into the tree of files; it comes as news.
    pub fn ask_for_namespaces(&self) -> io::Result<()> {
        self.channel.send(&ToSandbox::Namespaces, &[])
    }

    /// Ends a command and everything it has started, and nothing else.
    pub fn end(&self, id: u64) -> io::Result<()> {
        self.channel.send(&ToSandbox::End { id }, &[])
    }

    /// The next news of a command, by its number.
    pub fn news(&self) -> io::Result<(u64, News)> {
        Ok(match self.channel.receive()? {
            Some((FromSandbox::Started { id }, mut descriptors)) => {
                (id, News::Started { terminal: descriptors.pop() })
            }
            Some((FromSandbox::NotStarted { id, why }, _)) => (id, News::NotStarted(why)),
            Some((FromSandbox::Ended { id, how, met, held }, _)) => (id, News::Ended { how, met, held }),
            Some((FromSandbox::Connected { id }, mut descriptors)) => {
                (id, News::Connected(descriptors.pop()))
            }
            Some((FromSandbox::Namespaces, descriptors)) => (0, News::Namespaces(descriptors)),
            Some((FromSandbox::Over { ended, met, held }, _)) => (0, News::Gone { ended, met, held }),
            Some((FromSandbox::Begun | FromSandbox::Built { .. } | FromSandbox::NotBuilt(_), _)) | None => {
                (0, News::Gone { ended: None, met: None, held: Vec::new() })
            }
        })
    }

    /// Asks the sandbox to end: every process in it dies, and the last news says so.
    pub fn finish(&self) -> io::Result<()> {
        Ok(rustix::net::shutdown(&self.channel, rustix::net::Shutdown::Write)?)
    }

    /// The limit of the whole sandbox that something in it ran into.
    pub fn exceeded(&self) -> Option<Exceeded> {
        self.group.as_ref()?.exceeded()
    }

    /// Ends the sandbox without asking.
    pub fn kill(&self) {
        // It is gone already if this fails.
        let _ = rustix::process::pidfd_send_signal(&self.process, Signal::KILL);
    }
}

impl AsFd for Sandbox {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.channel.as_fd()
    }
}
