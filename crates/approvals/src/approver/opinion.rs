//! A second opinion: a program, often with a model behind it, that looks at a question before a person does.
//!
//! It gets the question as JSON on its standard input, without what looks like a key, and prints
//! `{"digest": "…", "opinion": "deny", "comment": "…"}` or `{"digest": "…", "opinion": "ask"}`. It may say no, and it may
//! pass the question on. It may say yes only where every rule that found something is marked as one that it may
//! (`reviewable`); everywhere else `allow` passes the question on, and so do silence, a failure and nonsense.

use std::time::Duration;

use serde::Deserialize;

use super::Notifier;
use crate::Pending;

/// A person waits behind it.
const LONGEST: Duration = Duration::from_secs(30);

pub(crate) enum Opinion {
    Allow,
    Deny { comment: Option<String> },
    AskPerson,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Said {
    digest: String,
    opinion: Word,
    comment: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Word {
    Allow,
    Ask,
    Deny,
}

pub(crate) fn opinion(program: &Notifier, redacted: &Pending, timeout: Duration) -> Opinion {
    let input = serde_json::to_vec(redacted).expect("a question has only string keys");
    let bytes = program.carry(input, timeout.min(LONGEST));
    let said = bytes.and_then(|bytes| serde_json::from_slice::<Said>(&bytes).ok());
    match said {
        Some(Said { digest, opinion: Word::Deny, comment }) if digest == redacted.digest => {
            Opinion::Deny { comment }
        }
        Some(Said { digest, opinion: Word::Allow, .. }) if digest == redacted.digest => Opinion::Allow,
        Some(Said { opinion: Word::Allow | Word::Ask | Word::Deny, .. }) | None => Opinion::AskPerson,
    }
}
