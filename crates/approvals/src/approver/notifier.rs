//! Something that reaches somebody: a program, or a webhook.
//!
//! It gets the question as one JSON object (a program on its standard input) and gives back one JSON object:
//! `{"digest": "…", "answer": "allow", "scope": "once"}` or `{"digest": "…", "answer": "deny", "comment": "…"}`.
//! The digest is that of the question. A program that only passes the question on, and whose answer comes back by
//! `approvals allow`, prints `{"digest": "…", "answer": "later"}`. Anything else, a status other than zero and
//! silence included, is nobody's yes.

use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use cofferdam_linux_sys::child::{ChildCommand, Input, Keep, Limits, Program, run_captured};
use cofferdam_policy::environment::ChildEnvironment;
use serde::Deserialize;
use zeroize::Zeroizing;

use super::Reply;
use crate::gate::LOOK;
use crate::{Answer, Pending, Scope};

const LONGEST_REPLY: usize = 64 << 10;

/// Carries a question away and brings back what was said, within this time; nothing when that failed.
type Carrier = dyn Fn(Vec<u8>, Duration) -> Option<Vec<u8>> + Send + Sync;

pub struct Notifier {
    carrier: Arc<Carrier>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Said {
    digest: String,
    answer: Word,
    scope: Option<Scope>,
    comment: Option<String>,
}

#[derive(Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum Word {
    Allow,
    Deny,
    Later,
}

enum Heard {
    Answer(Answer),
    Later,
    Nonsense,
}

impl Notifier {
    /// A program that is told on its standard input and prints what was said.
    pub fn program(argv: Vec<String>, environment: ChildEnvironment) -> Self {
        Self::carried_by(move |question, timeout| {
            printed(&argv, &environment, question, timeout).map(|bytes| bytes.to_vec())
        })
    }

    pub fn carried_by(
        carrier: impl Fn(Vec<u8>, Duration) -> Option<Vec<u8>> + Send + Sync + 'static,
    ) -> Self {
        Self { carrier: Arc::new(carrier) }
    }

    /// What was said, as it came.
    pub fn carry(&self, question: Vec<u8>, timeout: Duration) -> Option<Vec<u8>> {
        (self.carrier)(question, timeout)
    }

    pub(super) fn ask(
        &self,
        question: &Pending,
        deadline: Instant,
        answered: &mut dyn FnMut() -> bool,
    ) -> Reply {
        let (sender, receiver) = channel();
        let input = serde_json::to_vec(question).expect("a question has only string keys");
        let carrier = Arc::clone(&self.carrier);
        let (digest, timeout) = (question.digest.clone(), deadline.saturating_duration_since(Instant::now()));
        // The program dies with this thread, and the thread with the process.
        std::thread::spawn(move || {
            // A little more than the deadline, so that the one who waits is the one who says that time is up.
            let said = carrier(input, timeout + Duration::from_secs(1));
            sender.send(said.map_or(Heard::Nonsense, |bytes| heard(&bytes, &digest)))
        });
        let mut passed_on = false;
        loop {
            if answered() {
                return Reply::Elsewhere;
            }
            if Instant::now() >= deadline {
                return Reply::Expired;
            }
            if passed_on {
                std::thread::sleep(LOOK);
                continue;
            }
            match receiver.recv_timeout(LOOK) {
                Ok(Heard::Answer(said)) => return Reply::Said(said),
                Ok(Heard::Later) => passed_on = true,
                Ok(Heard::Nonsense) | Err(RecvTimeoutError::Disconnected) => return Reply::Lost,
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }
}

/// What a program prints, if it ends in time and with success, and prints no more than an answer.
fn printed(
    argv: &[String],
    environment: &ChildEnvironment,
    input: Vec<u8>,
    timeout: Duration,
) -> Option<Zeroizing<Vec<u8>>> {
    let (program, arguments) = argv.split_first()?;
    let program = Program::new(program).ok()?;
    let command =
        ChildCommand::new(program, environment).args(arguments).input(Input::Bytes(Zeroizing::new(input)));
    let limits = Limits { timeout, stdout: Keep::UpTo(LONGEST_REPLY), stderr: Keep::Nothing };
    let captured = run_captured(command, limits).ok()?;
    (captured.status.success() && !captured.stdout.truncated).then_some(captured.stdout.bytes)
}

fn heard(bytes: &[u8], digest: &str) -> Heard {
    let Ok(said) = serde_json::from_slice::<Said>(bytes) else { return Heard::Nonsense };
    match said.answer {
        _ if said.digest != digest => Heard::Nonsense,
        Word::Later => Heard::Later,
        Word::Allow => Heard::Answer(Answer::Allow { scope: said.scope.unwrap_or(Scope::Once) }),
        Word::Deny => Heard::Answer(Answer::Deny { comment: said.comment }),
    }
}
