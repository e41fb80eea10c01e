//! Who is asked, and how.

mod notifier;
mod terminal;

use std::time::Instant;

use cofferdam_audit::event;

pub use notifier::Notifier;
pub use terminal::Terminal;

use crate::gate::LOOK;
use crate::{Answer, Pending};

/// Where a question goes. Whoever it is, it can be answered with `approvals allow` as well.
pub enum Approver {
    /// The person at the terminal of this process.
    Terminal(Terminal),
    /// A program that reaches somebody, and gives back what they said.
    Command(Notifier),
    /// Whoever looks at the list: a gateway, a dashboard, another terminal.
    Queue,
    Nobody,
}

/// What came of asking.
pub(crate) enum Reply {
    Said(Answer),
    /// The question was answered in another place.
    Elsewhere,
    Expired,
    /// The approver is gone or broken, or made no sense.
    Lost,
}

impl Approver {
    /// Asks and waits until the deadline. `answered` tells whether an answer came in from elsewhere.
    /// A terminal shows the question as it is; a program gets it without known secrets.
    pub(crate) fn ask(
        &self,
        question: &Pending,
        redacted: &Pending,
        deadline: Instant,
        answered: &mut dyn FnMut() -> bool,
    ) -> Reply {
        match self {
            Self::Terminal(terminal) => terminal.ask(question, deadline, answered),
            Self::Command(notifier) => notifier.ask(redacted, deadline, answered),
            Self::Queue => loop {
                if answered() {
                    return Reply::Elsewhere;
                }
                let left = deadline.saturating_duration_since(Instant::now());
                if left.is_zero() {
                    return Reply::Expired;
                }
                std::thread::sleep(left.min(LOOK));
            },
            Self::Nobody => Reply::Lost,
        }
    }

    pub(crate) fn recorded(&self) -> event::Approver {
        match self {
            Self::Terminal(_) => event::Approver::Terminal,
            Self::Command(_) => event::Approver::Command,
            Self::Queue => event::Approver::ControlSocket,
            Self::Nobody => event::Approver::Nobody,
        }
    }
}
