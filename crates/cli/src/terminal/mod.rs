//! The person's terminal, while a program in a sandbox is shown on it.

mod raw;
mod relay;

pub use raw::Raw;
pub use relay::{Filtering, Heard, Relay, Side};

use std::io::IsTerminal;

use cofferdam_sandbox::messages::Window;

/// Signals that concern the terminal: its size has changed, it is to be left alone for a while, it is back.
pub const WINDOW_CHANGED: i32 = 28;
pub const STOP: i32 = 20;
pub const CONTINUE: i32 = 18;
pub const SIGNALS: [i32; 3] = [WINDOW_CHANGED, STOP, CONTINUE];

/// Whether a person sits at all three standard streams. With one of them redirected, a terminal inside would mix
/// what was meant to be kept apart.
pub fn is_interactive() -> bool {
    std::io::stdin().is_terminal() && std::io::stdout().is_terminal() && std::io::stderr().is_terminal()
}

/// The size of the person's terminal, or what terminals have been for fifty years.
pub fn window() -> Window {
    let size = rustix::termios::tcgetwinsize(std::io::stdout())
        .or_else(|_| rustix::termios::tcgetwinsize(std::io::stdin()));
    match size {
        Ok(size) if size.ws_row > 0 && size.ws_col > 0 => Window { rows: size.ws_row, columns: size.ws_col },
        _ => Window { rows: 24, columns: 80 },
    }
}
