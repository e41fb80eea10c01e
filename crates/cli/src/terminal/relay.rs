//! Bytes between the person's terminal and the one inside, in both directions, without ever waiting for one side.

use std::io::{self, IsTerminal};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use cofferdam_sandbox::terminal_filter::TerminalFilter;
use rustix::event::{PollFd, PollFlags};
use rustix::fs::{CWD, Mode, OFlags};
use rustix::io::Errno;
use rustix::termios::Winsize;

/// Held for a side that does not take it yet; past that the other side has to wait.
const MOST_HELD: usize = 64 << 10;
/// Ctrl-D: what a terminal says at the end of the input.
const END_OF_INPUT: u8 = 0x04;
/// Ctrl-].
const DETACH: u8 = 0x1d;

/// Whether what the program writes is sorted before the person's terminal gets it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Filtering {
    On,
    Off,
}

/// What the person has done, besides typing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heard {
    Nothing,
    /// Pressed the key to leave the program running.
    Detach,
    /// Closed the terminal.
    HungUp,
}

/// The three descriptors between which bytes are moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Input,
    /// The controlling side of the terminal inside.
    Program,
    Output,
}

#[derive(Debug)]
pub struct Relay {
    /// The controlling side of the terminal inside.
    controller: OwnedFd,
    output: OwnedFd,
    filter: Option<TerminalFilter>,
    to_program: Vec<u8>,
    to_terminal: Vec<u8>,
    input_open: bool,
    controller_open: bool,
    detachable: bool,
}

impl Relay {
    pub fn new(controller: OwnedFd, filtering: Filtering) -> io::Result<Self> {
        rustix::io::ioctl_fionbio(&controller, true)?;
        Ok(Self {
            controller,
            output: output()?,
            filter: (filtering == Filtering::On).then(TerminalFilter::new),
            to_program: Vec::new(),
            to_terminal: Vec::new(),
            input_open: true,
            controller_open: true,
            detachable: false,
        })
    }

    /// Lets Ctrl-] leave the program running. What it has written before is shown first.
    #[must_use]
    pub fn detachable(mut self, shown_before: &[u8]) -> Self {
        self.detachable = true;
        self.take(shown_before);
        self
    }

    /// Tells the program how large the person's terminal is.
    pub fn resize(&self) {
        let window = super::window();
        let size = Winsize { ws_row: window.rows, ws_col: window.columns, ws_xpixel: 0, ws_ypixel: 0 };
        // A terminal that is gone has no size.
        let _ = rustix::termios::tcsetwinsize(&self.controller, size);
    }

    /// What to wait for. A side that nothing is wanted of is left out: a closed one would always be ready.
    pub fn awaited(&self) -> Vec<(Side, PollFlags)> {
        let wish = |wished: bool, flag: PollFlags| if wished { flag } else { PollFlags::empty() };
        let input = self.input_open && self.to_program.len() < MOST_HELD;
        let from_program = self.controller_open && self.to_terminal.len() < MOST_HELD;
        let to_program = self.controller_open && !self.to_program.is_empty();
        let mut awaited = vec![
            (Side::Input, wish(input, PollFlags::IN)),
            (Side::Program, wish(from_program, PollFlags::IN) | wish(to_program, PollFlags::OUT)),
            (Side::Output, wish(!self.to_terminal.is_empty(), PollFlags::OUT)),
        ];
        awaited.retain(|(_, wished)| !wished.is_empty());
        awaited
    }

    pub fn descriptor(&self, side: Side) -> BorrowedFd<'_> {
        match side {
            Side::Input => rustix::stdio::stdin(),
            Side::Program => self.controller.as_fd(),
            Side::Output => self.output.as_fd(),
        }
    }

    /// Moves what can be moved without waiting.
    pub fn serve(&mut self, ready: &[(Side, PollFlags)]) -> io::Result<Heard> {
        let mut heard = Heard::Nothing;
        for (side, _) in ready.iter().filter(|(_, ready)| !ready.is_empty()) {
            match side {
                Side::Input => heard = self.read_input(),
                Side::Program => {
                    self.read_program();
                }
                Side::Output => self.write_terminal()?,
            }
        }
        self.write_program();
        Ok(heard)
    }

    /// Shows what the program has written to its end, and puts the terminal's modes back.
    pub fn finish(mut self) -> io::Result<()> {
        while self.controller_open && self.read_program() {
            self.write_all()?;
        }
        self.leave()
    }

    /// Leaves the program to itself, and the terminal as it was.
    pub fn leave(mut self) -> io::Result<()> {
        if let Some(filter) = &self.filter {
            self.to_terminal.extend(filter.farewell());
        }
        self.write_all()
    }

    fn read_input(&mut self) -> Heard {
        let mut buffer = [0; 4096];
        match rustix::io::read(io::stdin(), &mut buffer) {
            Err(Errno::AGAIN | Errno::INTR) => Heard::Nothing,
            Ok(0) if !io::stdin().is_terminal() => {
                self.input_open = false;
                self.to_program.push(END_OF_INPUT);
                Heard::Nothing
            }
            Ok(0) | Err(_) => {
                self.input_open = false;
                Heard::HungUp
            }
            Ok(count) => {
                let typed = &buffer[..count];
                match typed.iter().position(|byte| *byte == DETACH).filter(|_| self.detachable) {
                    Some(at) => {
                        self.to_program.extend_from_slice(&typed[..at]);
                        Heard::Detach
                    }
                    None => {
                        self.to_program.extend_from_slice(typed);
                        Heard::Nothing
                    }
                }
            }
        }
    }

    /// Whether something came.
    fn read_program(&mut self) -> bool {
        let mut buffer = [0; 16 << 10];
        match rustix::io::read(&self.controller, &mut buffer) {
            Ok(count) if count > 0 => {
                self.take(&buffer[..count]);
                true
            }
            Err(Errno::INTR) => true,
            Err(Errno::AGAIN) => false,
            // The last process that had the terminal open is gone.
            Ok(_) | Err(_) => {
                self.controller_open = false;
                false
            }
        }
    }

    fn take(&mut self, bytes: &[u8]) {
        match &mut self.filter {
            None => self.to_terminal.extend_from_slice(bytes),
            Some(filter) => {
                let sorted = filter.sort(bytes);
                self.to_terminal.extend(sorted.to_terminal);
                self.to_program.extend(sorted.to_program);
            }
        }
    }

    fn write_program(&mut self) {
        if self.to_program.is_empty() {
            return;
        }
        match rustix::io::write(&self.controller, &self.to_program) {
            Ok(count) => drop(self.to_program.drain(..count)),
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(_) => self.to_program.clear(),
        }
    }

    fn write_terminal(&mut self) -> io::Result<()> {
        match rustix::io::write(&self.output, &self.to_terminal) {
            Ok(count) => drop(self.to_terminal.drain(..count)),
            Err(Errno::AGAIN | Errno::INTR) => {}
            // Nobody looks any more; the program hears of it when the terminal is closed.
            Err(Errno::IO | Errno::PIPE) => self.to_terminal.clear(),
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    fn write_all(&mut self) -> io::Result<()> {
        while !self.to_terminal.is_empty() {
            let mut ready = [PollFd::new(&self.output, PollFlags::OUT)];
            match rustix::event::poll(&mut ready, None) {
                Err(Errno::INTR) => {}
                other => {
                    other?;
                    self.write_terminal()?;
                }
            }
        }
        Ok(())
    }
}

/// Standard output, opened anew where it is a terminal: not waiting is a property of the opening, which is shared
/// with whoever else has this one.
fn output() -> io::Result<OwnedFd> {
    let stdout = io::stdout();
    if stdout.is_terminal() {
        let flags = OFlags::WRONLY | OFlags::NOCTTY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        if let Ok(again) = rustix::fs::openat(CWD, c"/proc/self/fd/1", flags, Mode::empty()) {
            return Ok(again);
        }
    }
    stdout.as_fd().try_clone_to_owned()
}
