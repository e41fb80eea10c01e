//! Raw mode, and the way out of it on every path.

use std::io::{self, IsTerminal};
use std::sync::{Mutex, Once, PoisonError};

use rustix::termios::{OptionalActions, Termios};

/// How the terminal was before. A panic may end the process without dropping anything, so it is kept where the
/// panic hook finds it.
static BEFORE: Mutex<Option<Termios>> = Mutex::new(None);

/// The terminal of standard input in raw mode: every key goes to the program inside, Ctrl-C too.
///
/// Signals that would end this process without running its code are taken over before one is made; only SIGKILL
/// leaves the terminal raw, and shells put it right at their next prompt.
#[derive(Debug)]
pub struct Raw(());

impl Raw {
    /// None if standard input is no terminal.
    pub fn enter() -> io::Result<Option<Self>> {
        static HOOK: Once = Once::new();
        if !io::stdin().is_terminal() {
            return Ok(None);
        }
        HOOK.call_once(|| {
            let tell = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |panic| {
                restore();
                tell(panic);
            }));
        });
        let before = rustix::termios::tcgetattr(io::stdin())?;
        *BEFORE.lock().unwrap_or_else(PoisonError::into_inner) = Some(before);
        let raw = Self(());
        set_raw()?;
        Ok(Some(raw))
    }

    /// Back to raw mode, after somebody else has used the terminal.
    pub fn again(&self) {
        // Closing a terminal continues its processes, too; then there is none to set.
        let _ = set_raw();
    }

    /// Gives the terminal back and stops this process, as Ctrl-Z in an ordinary program would; returns, with the
    /// terminal raw again, when it is continued.
    pub fn pause(&self) -> io::Result<()> {
        restore();
        rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::STOP)?;
        self.again();
        Ok(())
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        restore();
        *BEFORE.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

fn set_raw() -> io::Result<()> {
    let mut modes = rustix::termios::tcgetattr(io::stdin())?;
    modes.make_raw();
    Ok(rustix::termios::tcsetattr(io::stdin(), OptionalActions::Now, &modes)?)
}

fn restore() {
    // A lock that is held is held by a panic in the middle of storing; then nothing was changed yet.
    if let Ok(before) = BEFORE.try_lock()
        && let Some(before) = before.as_ref()
    {
        // If the terminal is gone, there is nothing to put right.
        let _ = rustix::termios::tcsetattr(io::stdin(), OptionalActions::Now, before);
    }
}
