//! Running a command to its end, within a deadline, and keeping what it printed.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::process::ChildStdin;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::Errno;
use zeroize::{Zeroize, Zeroizing};

use super::command::{ChildCommand, Input, Output};
use super::{ChildError, Ended, Running};

/// How long a command may run and how much of what it prints is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    pub timeout: Duration,
    pub stdout: Keep,
    pub stderr: Keep,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// The stream goes to `/dev/null`.
    Nothing,
    /// This many bytes. The pipe is closed at the next one, as `head` closes it, so that a command that
    /// prints without end is ended by it.
    UpTo(usize),
}

/// What a command that ended left behind. No `Debug`: the output may be a secret.
pub struct Captured {
    pub status: Ended,
    pub stdout: Stream,
    pub stderr: Stream,
}

/// One output stream, wiped when it is dropped.
pub struct Stream {
    pub bytes: Zeroizing<Vec<u8>>,
    /// There was more than the limit.
    pub truncated: bool,
}

/// Runs a command and waits until it ends. At the deadline it is killed with everything below it; the same
/// happens to what it left in its session when it ended by itself. A process that left the session and
/// still holds the pipes is not waited for: what the command itself printed is complete when it has ended.
pub fn run_captured(mut command: ChildCommand<'_>, limits: Limits) -> Result<Captured, ChildError> {
    let started = Instant::now();
    let input = match std::mem::take(&mut command.input) {
        Input::Bytes(bytes) => {
            command.input = Input::Pipe;
            Some(bytes)
        }
        Input::Pipe | Input::Nothing => None,
        other @ (Input::Inherited | Input::Connection(_)) => {
            command.input = other;
            None
        }
    };
    command.stdout = limits.stdout.output();
    command.stderr = limits.stderr.output();
    let mut running = command.spawn()?;
    let mut pumps = Pumps::new(&mut running, input, limits);
    match pumps.run(running.pidfd(), started, limits.timeout) {
        Ok(End::Itself) => {}
        Ok(End::Deadline) => {
            let program = std::mem::take(&mut running.program);
            let _ = running.kill();
            return Err(ChildError::TimedOut { program, timeout: limits.timeout });
        }
        Err(cause) => {
            let program = std::mem::take(&mut running.program);
            let _ = running.kill();
            return Err(ChildError::Lost { program, cause });
        }
    }
    let program = running.program.clone();
    let status = running.kill().map_err(|cause| ChildError::Lost { program, cause })?;
    Ok(Captured { status, stdout: pumps.stdout.stream, stderr: pumps.stderr.stream })
}

impl Keep {
    fn output(self) -> Output {
        match self {
            Self::Nothing => Output::Nowhere,
            Self::UpTo(_) => Output::Pipe,
        }
    }

    fn bytes(self) -> usize {
        match self {
            Self::Nothing => 0,
            Self::UpTo(bytes) => bytes,
        }
    }
}

enum End {
    Itself,
    Deadline,
}

/// The three pipes of a running command. Each is gone as soon as nothing more is to be done with it.
struct Pumps {
    stdin: Option<(ChildStdin, Zeroizing<Vec<u8>>, usize)>,
    stdout: Drain,
    stderr: Drain,
}

impl Pumps {
    fn new(running: &mut Running, input: Option<Zeroizing<Vec<u8>>>, limits: Limits) -> Self {
        let boxed =
            |pipe: Option<std::process::ChildStdout>| pipe.map(|pipe| Box::new(pipe) as Box<dyn Pipe>);
        let stdout = boxed(running.take_stdout());
        let stderr = running.take_stderr().map(|pipe| Box::new(pipe) as Box<dyn Pipe>);
        Self {
            stdin: running.take_stdin().zip(input).map(|(pipe, bytes)| (pipe, bytes, 0)),
            stdout: Drain::new(stdout, limits.stdout.bytes()),
            stderr: Drain::new(stderr, limits.stderr.bytes()),
        }
    }

    fn run(&mut self, pidfd: BorrowedFd<'_>, started: Instant, timeout: Duration) -> io::Result<End> {
        self.set_non_blocking()?;
        loop {
            let Some(left) = timeout.checked_sub(started.elapsed()) else { return Ok(End::Deadline) };
            let ended = self.wait(pidfd, left)?;
            // In this order: whatever was printed before the end is in the pipe once the end is seen.
            self.feed()?;
            self.stdout.read_available(started, timeout)?;
            self.stderr.read_available(started, timeout)?;
            if ended {
                return Ok(End::Itself);
            }
        }
    }

    /// Blocks until something can be done; true when the child has ended.
    fn wait(&self, pidfd: BorrowedFd<'_>, left: Duration) -> io::Result<bool> {
        let mut fds = vec![PollFd::from_borrowed_fd(pidfd, PollFlags::IN)];
        fds.extend(self.stdin.iter().map(|(pipe, ..)| PollFd::new(pipe, PollFlags::OUT)));
        for drain in [&self.stdout, &self.stderr] {
            fds.extend(drain.pipe.iter().map(|pipe| PollFd::from_borrowed_fd(pipe.as_fd(), PollFlags::IN)));
        }
        // A timeout too long for the kernel is as good as none.
        let left = Timespec::try_from(left).ok();
        match poll(&mut fds, left.as_ref()) {
            Ok(_) => Ok(!fds[0].revents().is_empty()),
            Err(Errno::INTR) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    fn set_non_blocking(&self) -> io::Result<()> {
        let stdin = self.stdin.iter().map(|(pipe, ..)| pipe.as_fd());
        let outputs = [&self.stdout, &self.stderr].into_iter().flat_map(|drain| &drain.pipe);
        for fd in stdin.chain(outputs.map(|pipe| pipe.as_fd())) {
            fcntl_setfl(fd, fcntl_getfl(fd)? | OFlags::NONBLOCK)?;
        }
        Ok(())
    }

    fn feed(&mut self) -> io::Result<()> {
        while let Some((pipe, bytes, written)) = &mut self.stdin {
            match pipe.write(&bytes[*written..]) {
                Ok(count) => *written += count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                // The command does not want the rest.
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => *written = bytes.len(),
                Err(error) => return Err(error),
            }
            if *written == bytes.len() {
                self.stdin = None;
            }
        }
        Ok(())
    }
}

trait Pipe: Read + AsFd {}
impl<T: Read + AsFd> Pipe for T {}

struct Drain {
    pipe: Option<Box<dyn Pipe>>,
    stream: Stream,
    limit: usize,
}

impl Drain {
    fn new(pipe: Option<Box<dyn Pipe>>, limit: usize) -> Self {
        Self { pipe, stream: Stream { bytes: Zeroizing::new(Vec::new()), truncated: false }, limit }
    }

    /// Reads until the pipe is empty, closed, or over its limit. The deadline is looked at here as well,
    /// because a fast writer never lets the pipe run empty.
    fn read_available(&mut self, started: Instant, timeout: Duration) -> io::Result<()> {
        let mut buffer = Zeroizing::new([0; 8192]);
        while let Some(pipe) = &mut self.pipe {
            match pipe.read(&mut buffer[..]) {
                Ok(0) => self.pipe = None,
                Ok(count) => self.keep(&buffer[..count]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
            if started.elapsed() >= timeout {
                return Ok(());
            }
        }
        Ok(())
    }

    fn keep(&mut self, bytes: &[u8]) {
        let room = self.limit - self.stream.bytes.len();
        append_wiping(&mut self.stream.bytes, &bytes[..bytes.len().min(room)]);
        if bytes.len() > room {
            self.stream.truncated = true;
            self.pipe = None;
        }
    }
}

/// Appends without leaving a copy behind: a vector that grows by itself frees its old memory unwiped.
fn append_wiping(kept: &mut Zeroizing<Vec<u8>>, more: &[u8]) {
    if kept.capacity() - kept.len() < more.len() {
        let mut larger = Vec::with_capacity((kept.len() + more.len()).next_power_of_two());
        larger.extend_from_slice(kept);
        kept.zeroize();
        **kept = larger;
    }
    kept.extend_from_slice(more);
}
