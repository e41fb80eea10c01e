//! Who is asked, and how.

mod notifier;
mod opinion;
mod terminal;

use std::time::Instant;

use cofferdam_audit::event;

pub use notifier::Notifier;
pub(crate) use opinion::{Opinion, opinion};
pub use terminal::Terminal;

use crate::gate::LOOK;
use crate::{Answer, Broker, Pending};

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

/// A question that is being put.
pub(crate) struct Asking<'a> {
    /// As it is, for eyes at a terminal.
    pub question: &'a Pending,
    /// Without what looks like a key, for programs.
    pub redacted: &'a Pending,
    pub deadline: Instant,
    pub broker: &'a Broker,
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
    pub(crate) fn ask(&self, asking: &Asking<'_>, answered: &mut dyn FnMut() -> bool) -> Reply {
        let deadline = asking.deadline;
        match self {
            Self::Terminal(terminal) => terminal.ask(asking, answered),
            Self::Command(notifier) => notifier.ask(asking.redacted, deadline, answered),
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
