//! `approvals list`, `allow`, `deny` and `revoke`: for the person, never for the agent.

use cofferdam_approvals::{Answer, Answered, Fate, Pending, Scope, visible};
use cofferdam_policy::document::{Covers, Prohibited, StoredApprovals};
use serde::Serialize;

use crate::args::approvals::{Allow, Deny, ScopeArg};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::gatekeeper::{broker, broker_failure, grants, grants_failure};
use crate::output;
use crate::settings::Settings;

#[derive(Serialize)]
struct Listed {
    pending: Vec<Pending>,
    rules: Vec<Rule>,
}

#[derive(Serialize)]
struct Rule {
    id: String,
    decision: &'static str,
    session: &'static str,
    covers: String,
    directory: Option<String>,
}

pub fn list(json: bool) -> Result<Exit, Failure> {
    let settings = Settings::load()?;
    let pending = broker(&settings)?.list().map_err(|error| broker_failure(&error))?;
    let rules = rules(&grants(&settings)?.stored);
    if json {
        output::json(&Listed { pending, rules })?;
        return Ok(Exit::Success);
    }
    for question in &pending {
        output::text(&described(question))?;
    }
    if pending.is_empty() {
        output::text("Nothing waits for an answer.\n")?;
    }
    let rows: Vec<Vec<String>> = rules
        .into_iter()
        .map(|rule| {
            let directory = rule.directory.map(|directory| format!("  in {}", visible::one_line(&directory)));
            let covers = format!("{}{}", visible::one_line(&rule.covers), directory.unwrap_or_default());
            vec![rule.id, rule.decision.to_owned(), rule.session.to_owned(), covers]
        })
        .collect();
    if !rows.is_empty() {
        output::text("\n")?;
        output::table(&["RULE", "SAYS", "SESSION", "COVERS"], &rows)?;
    }
    Ok(Exit::Success)
}

fn described(question: &Pending) -> String {
    let mut text = format!(
        "{}  session {}, {}, in {}\n",
        question.id,
        visible::one_line(&question.session),
        question.kind,
        visible::one_line(&question.directory)
    );
    for line in visible::lines(&question.command) {
        text.push_str(&format!("  \u{2502} {line}\n"));
    }
    for reason in &question.reasons {
        text.push_str(&format!("  ! {}\n", visible::one_line(reason)));
    }
    text.push_str(&format!("  digest {}\n", question.digest));
    text
}

fn rules(stored: &StoredApprovals) -> Vec<Rule> {
    let allowed = stored.allow.iter().map(|rule| {
        let (covers, directory) = match &rule.covers {
            Covers::Command { command, directory, .. } => (command.clone(), Some(directory.clone())),
            Covers::Rule(name) => (format!("rule {name}"), None),
        };
        Rule { id: rule.id.clone(), decision: "allow", session: rule.session.name(), covers, directory }
    });
    let denied = stored.deny.iter().map(|rule| {
        let covers = match &rule.covers {
            Prohibited::Rule(name) => format!("rule {name}"),
            Prohibited::Program { program, arguments } => format!("{program} with {}", arguments.join(" ")),
        };
        Rule { id: rule.id.clone(), decision: "deny", session: "every", covers, directory: None }
    });
    allowed.chain(denied).collect()
}

pub fn allow(args: &Allow) -> Result<Exit, Failure> {
    let scope = match args.scope {
        ScopeArg::Once => Scope::Once,
        ScopeArg::Session => Scope::Session,
        ScopeArg::Always => Scope::Always,
    };
    answer(&args.id, args.digest.as_deref(), &Answer::Allow { scope })
}

pub fn deny(args: Deny) -> Result<Exit, Failure> {
    answer(&args.id, args.digest.as_deref(), &Answer::Deny { comment: args.comment })
}

fn answer(id: &str, digest: Option<&str>, said: &Answer) -> Result<Exit, Failure> {
    let settings = Settings::load()?;
    let broker = broker(&settings)?;
    match broker.answer(id, digest, said).map_err(|error| broker_failure(&error))? {
        Answered::Taken(question) => {
            let what = match said {
                Answer::Allow { scope } if *scope != Scope::Once && !question.can_be_kept => {
                    "allowed once (it has parts that are only known when it runs, so it cannot be allowed for longer)"
                }
                Answer::Allow { scope: Scope::Once } => "allowed once",
                Answer::Allow { scope: Scope::Session } => "allowed for its session",
                Answer::Allow { scope: Scope::Always } => "allowed from now on",
                Answer::Deny { .. } => "denied",
            };
            output::text(&format!("{what}:\n{}", described(&question)))?;
            Ok(Exit::Success)
        }
        Answered::TooLate(fate) => Err(too_late(id, &fate)),
        Answered::NoSuchQuestion => {
            Err(Failure::new(Exit::Found, "nothing was changed: there is no such question")
                .hint("cofferdam approvals list shows what waits for an answer"))
        }
    }
}

fn too_late(id: &str, fate: &Fate) -> Failure {
    Failure::new(Exit::Found, format!("nothing was changed: {id} {}", fate_in_words(fate)))
}

/// What became of a question, after its name.
pub fn fate_in_words(fate: &Fate) -> &'static str {
    match fate {
        Fate::Answered { said: Answer::Allow { .. } } => "was already allowed",
        Fate::Answered { said: Answer::Deny { .. } } => "was already denied",
        Fate::Expired => "has expired, and counts as not approved",
        Fate::Abandoned => "is no longer waited for: whoever asked is gone",
    }
}

pub fn revoke(id: &str) -> Result<Exit, Failure> {
    let settings = Settings::load()?;
    let broker = broker(&settings)?;
    if grants(&settings)?.revoke(&broker, id).map_err(|error| grants_failure(&error))? {
        output::text("revoked\n")?;
        return Ok(Exit::Success);
    }
    Err(Failure::new(Exit::Found, "nothing was changed: there is no such rule")
        .hint("cofferdam approvals list shows the rules"))
}

/// What was approved for the session is forgotten, and what runs in its name ends.
pub fn revoke_session(session: &str) -> Result<Exit, Failure> {
    let broker = broker(&Settings::load()?)?;
    broker.revoke_session(session).map_err(|error| grants_failure(&error))?;
    output::text("revoked\n")?;
    Ok(Exit::Success)
}
