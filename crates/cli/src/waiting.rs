//! What a person at a terminal sees while something takes its time: one line that moves, and is gone when it is over.
//!
//! Nothing is shown of what is over within half a second, and nothing is written where standard error is not a terminal.
//! There is no colour in it. A terminal that cannot go back in a line gets one plain line. Where it stops: a command that
//! runs has the terminal for itself, so whatever it waits for is not shown.

use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// What is over by then needs no word.
const PATIENCE: Duration = Duration::from_millis(500);
const FRAME: Duration = Duration::from_millis(125);
const FRAMES: [char; 4] = ['|', '/', '-', '\\'];
/// Back to the beginning of the line, and nothing behind it.
const CLEAR: &str = "\r\x1b[K";

/// Whether somebody shows something already; two would write over each other.
static SHOWN: AtomicBool = AtomicBool::new(false);

/// Shows what is waited for until it is dropped.
#[must_use = "it shows something only while it lives"]
pub struct Waiting {
    shown: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Waiting {
    /// `what` is said as it goes on: "starting the proxy".
    pub fn begin(what: &'static str) -> Self {
        let moves = match std::env::var_os("TERM") {
            Some(terminal) => !terminal.is_empty() && terminal != "dumb",
            None => false,
        };
        if !io::stderr().is_terminal() || SHOWN.swap(true, Ordering::AcqRel) {
            return Self { shown: None };
        }
        let (over, rest) = channel();
        let started = Instant::now();
        let lasts =
            move |time| !matches!(rest.recv_timeout(time), Ok(()) | Err(RecvTimeoutError::Disconnected));
        let thread = std::thread::spawn(move || {
            if !lasts(PATIENCE) {
                return;
            }
            if !moves {
                say(&format!("cofferdam: {what}\n"));
                return;
            }
            for frame in FRAMES.iter().cycle() {
                say(&format!("{CLEAR}{frame} {what}, {} s", started.elapsed().as_secs()));
                if !lasts(FRAME) {
                    return say(CLEAR);
                }
            }
        });
        Self { shown: Some((over, thread)) }
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if let Some((over, thread)) = self.shown.take() {
            drop(over);
            // It does not panic, and if it did, nothing would be lost but a line.
            let _ = thread.join();
            SHOWN.store(false, Ordering::Release);
        }
    }
}

/// Does something that may take its time.
pub fn during<T>(what: &'static str, work: impl FnOnce() -> T) -> T {
    let _shown = Waiting::begin(what);
    work()
}

/// A terminal that is gone sees nothing, and that is no failure.
fn say(text: &str) {
    let _ = io::stderr().lock().write_all(text.as_bytes());
}
