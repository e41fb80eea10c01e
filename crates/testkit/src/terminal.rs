//! A program on a terminal of its own, typed to and read as a person would.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::{CWD, Mode, OFlags};
use rustix::pty::OpenptFlags;
use rustix::termios::{LocalModes, Winsize};

use crate::processes::PATIENCE;

/// A running program and the person's side of its terminal.
#[derive(Debug)]
pub struct OnTerminal {
    controller: File,
    /// Kept open, so that the terminal can be looked at when the program has ended.
    terminal: OwnedFd,
    child: Child,
    seen: Vec<u8>,
}

impl OnTerminal {
    /// Starts a command with a new terminal as its controlling one.
    #[expect(clippy::disallowed_methods, reason = "the tests' one way to start a process")]
    pub(crate) fn start(command: &Command) -> Self {
        let controller = rustix::pty::openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)
            .expect("a terminal");
        rustix::pty::unlockpt(&controller).expect("its other side");
        let name = rustix::pty::ptsname(&controller, Vec::new()).expect("its name");
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
        let terminal = rustix::fs::openat(CWD, &name, flags, Mode::empty()).expect("its other side, opened");
        let stream = || Stdio::from(terminal.try_clone().expect("a copy"));
        let mut wrapped = Command::new("setsid");
        wrapped.arg("--ctty").arg(command.get_program()).args(command.get_args());
        wrapped.env_clear().env("TERM", "xterm");
        wrapped.envs(command.get_envs().filter_map(|(name, value)| value.map(|value| (name, value))));
        wrapped.current_dir(command.get_current_dir().expect("a directory"));
        wrapped.stdin(stream()).stdout(stream()).stderr(stream());
        let child = wrapped.spawn().expect("the built binary starts");
        Self { controller: controller.into(), terminal, child, seen: Vec::new() }
    }

    pub fn pid(&self) -> i32 {
        i32::try_from(self.child.id()).expect("a number of a process")
    }

    pub fn type_in(&mut self, text: &str) {
        self.controller.write_all(text.as_bytes()).expect("the terminal takes it");
    }

    pub fn resize(&self, rows: u16, columns: u16) {
        let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        rustix::termios::tcsetwinsize(&self.controller, size).expect("another size");
    }

    /// Reads until the text has appeared, and gives all that came before it and it; what follows is kept.
    #[track_caller]
    pub fn until(&mut self, text: &str) -> String {
        let end = Instant::now() + PATIENCE;
        loop {
            let found = self.seen.windows(text.len()).position(|window| window == text.as_bytes());
            if let Some(at) = found {
                let rest = self.seen.split_off(at + text.len());
                return String::from_utf8_lossy(&std::mem::replace(&mut self.seen, rest)).into_owned();
            }
            let seen = String::from_utf8_lossy(&self.seen).into_owned();
            assert!(self.read_more(end), "no {text:?} in {seen:?}");
        }
    }

    fn read_more(&mut self, end: Instant) -> bool {
        let left = end.saturating_duration_since(Instant::now());
        let left = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: i64::from(left.subsec_nanos()) };
        let mut ready = [PollFd::new(&self.controller, PollFlags::IN)];
        if rustix::event::poll(&mut ready, Some(&left)) == Ok(0) {
            return false;
        }
        let mut buffer = [0; 4096];
        match self.controller.read(&mut buffer) {
            Ok(count) if count > 0 => {
                self.seen.extend_from_slice(&buffer[..count]);
                true
            }
            _ => false,
        }
    }

    /// Whether keys reach the program one by one and without a meaning of their own.
    pub fn is_raw(&self) -> bool {
        let modes = rustix::termios::tcgetattr(&self.terminal).expect("the terminal's modes").local_modes;
        !modes.intersects(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG)
    }

    /// Waits for the end and gives the status, and what was written last.
    pub fn end(mut self) -> (i32, String) {
        use std::os::unix::process::ExitStatusExt;
        let status = self.child.wait().expect("the program ends");
        rustix::io::ioctl_fionbio(self.controller.as_fd(), true).expect("reading without waiting");
        let mut buffer = [0; 4096];
        while let Ok(count @ 1..) = self.controller.read(&mut buffer) {
            self.seen.extend_from_slice(&buffer[..count]);
        }
        assert!(!self.is_raw(), "the terminal is left raw");
        let status = status.code().unwrap_or_else(|| 128 + status.signal().expect("a code or a signal"));
        (status, String::from_utf8_lossy(&self.seen).into_owned())
    }

    /// Closes the terminal, as a person closes a window, and waits for the program's end.
    pub fn close(self) {
        let Self { controller, terminal, mut child, .. } = self;
        drop((controller, terminal));
        child.wait().expect("the program ends");
    }
}
