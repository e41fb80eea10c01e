//! Nothing starts without the gate's yes: the way of every command from what was typed to [`Approved`].

use std::ffi::{OsStr, OsString};
use std::path::Path;

use cofferdam_approvals::{Approved, Author, Backend, Gate, Reason, Refused, SessionContext, Weighed};
use cofferdam_audit::Recorder;
use cofferdam_policy::document::ScriptDigest;
use cofferdam_sandbox::approved_files::ApprovedFile;

use crate::args::admission::Behalf;
use crate::args::approvals::KindArg;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::gatekeeper::{self, Gatekeeper, warn_if_nobody};

/// Refused by policy, or denied.
pub const REFUSED: Exit = Exit::Command(77);

/// What is to run.
#[derive(Clone, Copy)]
pub enum Line<'a> {
    Words(&'a [OsString]),
    Text(&'a OsStr),
}

impl Line<'_> {
    /// As a shell would have to be given it. Bytes that are no text become a character that no rule knows and no
    /// program is called by.
    pub fn written(self) -> String {
        match self {
            Self::Text(text) => text.to_string_lossy().into_owned(),
            Self::Words(words) => {
                words.iter().map(|word| quoted(&word.to_string_lossy())).collect::<Vec<_>>().join(" ")
            }
        }
    }
}

/// Where it is to run.
#[derive(Clone, Copy)]
pub struct Where<'a> {
    pub directory: &'a Path,
    /// What the work is about.
    pub workspace: &'a Path,
    pub session: &'a str,
    pub backend: Backend,
}

/// A yes in hand, and the record it stands in.
pub struct Admitted {
    keeper: Gatekeeper,
    approved: Approved,
    redacted: String,
}

impl Admitted {
    pub fn approved(&self) -> &Approved {
        &self.approved
    }

    /// What a sandbox looks at once more before it starts the command.
    pub fn files(&self) -> Vec<ApprovedFile> {
        approved_files(&self.approved)
    }

    pub fn recorder(&self) -> &Recorder {
        &self.keeper.recorder
    }

    /// The command as it may be kept.
    pub fn redacted(&self) -> &str {
        &self.redacted
    }
}

/// The gate, for what is about to start.
pub fn gate() -> Result<Gatekeeper, Failure> {
    Gatekeeper::open().map_err(Failure::of_a_start)
}

/// What the gate says to somebody's own command when nobody can be asked: nothing, if somebody would have to be; then
/// nothing was written down either.
pub fn unasked(keeper: &Gatekeeper, line: Line<'_>, place: Where<'_>) -> Result<Option<Approved>, Failure> {
    let context = context(keeper, &Behalf::default(), place);
    // Words are written down and shown with a question alone, and none is asked here.
    let gate = Gate { redact: &|_| String::new(), second_opinion: None, ..keeper.gate(None) };
    match gate.weigh(&line.written(), &context) {
        Weighed::Approved(approved) => Ok(Some(approved)),
        Weighed::Refused(no) => Err(refused(&no)),
        Weighed::Ask(_) => Ok(None),
    }
}

fn context(keeper: &Gatekeeper, behalf: &Behalf, place: Where<'_>) -> SessionContext {
    let kind = behalf.session_kind.unwrap_or(KindArg::Interactive);
    let session = behalf.approval_session.as_deref().unwrap_or(place.session);
    let mut context = keeper.context(session.to_owned(), kind, place.directory, place.backend);
    context.place.project = place.workspace.to_string_lossy().into_owned();
    if behalf.session_kind.is_none() {
        context.author = Author::Caller;
    }
    context
}

/// Asks the gate. Whoever gets the answer has a yes in hand.
pub fn admit(
    keeper: Gatekeeper,
    line: Line<'_>,
    behalf: &Behalf,
    place: Where<'_>,
) -> Result<Admitted, Failure> {
    let context = context(&keeper, behalf, place);
    let approver = keeper.at_terminal(&context);
    if context.author == Author::Agent {
        warn_if_nobody(&context, &approver);
    }
    let command = line.written();
    // It is written down more than once.
    let redacted = gatekeeper::redacted(&command);
    let redact = |text: &str| if text == command { redacted.clone() } else { gatekeeper::redacted(text) };
    let gate = Gate { redact: &redact, ..keeper.gate(None) };
    let shown = gatekeeper::waiting_for(&approver);
    let approved = gate.decide(&command, &context, &approver).map_err(|no| refused(&no))?;
    drop(shown);
    if let Some(why) = approved.unkept() {
        eprintln!("cofferdam: warning: this holds once only: {why}");
    }
    Ok(Admitted { keeper, approved, redacted })
}

/// The files that were approved, for the sandbox that starts what runs them.
pub fn approved_files(approved: &Approved) -> Vec<ApprovedFile> {
    let known = |file: &ScriptDigest| ApprovedFile {
        path: Path::new(&file.path).into(),
        sha256: file.sha256.clone(),
    };
    approved.files().iter().map(known).collect()
}

/// For what no sandbox starts, to be asked last: what was approved is what runs.
pub fn still_holds(approved: &Approved) -> Result<(), Failure> {
    approved.still_holds().map_err(|changed| {
        Failure::new(REFUSED, format!("{} is not what was approved any more", changed.path))
            .hint("look at it again, and start the command again")
    })
}

pub fn refused(refused: &Refused) -> Failure {
    let exit = match refused.reason {
        Reason::Unrecorded => Exit::Unavailable,
        _ => REFUSED,
    };
    Failure::new(exit, refused.sentence())
}

/// One word as a shell reads it back.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@%+,".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_back_as_they_were() {
        let words: Vec<OsString> =
            ["rm", "-rf", "a b", "it's", "", "$HOME", "é"].map(OsString::from).to_vec();
        assert_eq!(Line::Words(&words).written(), r"rm -rf 'a b' 'it'\''s' '' '$HOME' 'é'");
    }
}
