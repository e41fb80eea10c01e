//! `approvals ask`.

use std::env;

use cofferdam_approvals::{Backend, Reason, Refused};
use serde::Serialize;

use crate::args::approvals::Ask;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::gatekeeper::{self, Gatekeeper, warn_if_nobody};
use crate::output;

#[derive(Serialize)]
struct Decided {
    decision: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    comment: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    digest: Option<String>,
}

pub fn run(args: &Ask) -> Result<Exit, Failure> {
    let directory = match &args.session.directory {
        Some(directory) => std::path::absolute(directory),
        None => env::current_dir(),
    }
    .map_err(|error| {
        Failure::new(Exit::Unavailable, format!("the working directory is not known: {error}"))
            .hint("give it with --directory")
    })?;
    let keeper = Gatekeeper::open()?;
    let backend = if args.isolated { Backend::Isolated } else { Backend::Host };
    let context =
        keeper.context(args.session.session.clone(), args.session.session_kind, &directory, backend);
    let approver = keeper.at_terminal(&context);
    warn_if_nobody(&context, &approver);
    let shown = gatekeeper::waiting_for(&approver);
    let decided = keeper.gate(None).decide(&args.command, &context, &approver);
    drop(shown);
    match decided {
        Ok(approved) => {
            if let Some(why) = approved.unkept() {
                eprintln!("cofferdam: warning: this holds once only: {why}");
            }
            let digest = approved.digest().to_string();
            show(
                args,
                &Decided { decision: "approved", reason: None, comment: None, digest: Some(digest) },
                "approved\n",
            )?;
            Ok(Exit::Success)
        }
        Err(refused) => {
            let sentence = format!("{}\n", refused.sentence());
            show(args, &told(refused), &sentence)?;
            Ok(Exit::Denied)
        }
    }
}

fn told(refused: Refused) -> Decided {
    let reason = match refused.reason {
        Reason::Floor => "never-allowed",
        Reason::UserRule => "ruled-out",
        Reason::Unattended => "unattended",
        Reason::Denied => "denied",
        Reason::SecondOpinion => "second-opinion",
        Reason::Expired => "expired",
        Reason::NobodyAsked => "nobody-asked",
        Reason::Unrecorded => "not-recorded",
    };
    Decided { decision: "refused", reason: Some(reason), comment: refused.comment, digest: None }
}

fn show(args: &Ask, decided: &Decided, text: &str) -> Result<(), Failure> {
    if args.json { output::json(decided) } else { output::text(text) }
}
