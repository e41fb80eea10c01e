//! `docker shim install` and `docker shim heal`.

use cofferdam_docker::heal::{Doing, Finding, Outcome, Owner, heal};
use cofferdam_docker::shim_install::Installation;
use serde::Serialize;

use crate::args::docker::{ShimCommand, ShimHealArgs, ShimInstallArgs};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;

pub fn run(command: &ShimCommand) -> Result<Exit, Failure> {
    match command {
        ShimCommand::Install(args) => install(args),
        ShimCommand::Heal(args) => heal_directory(args),
    }
}

fn install(args: &ShimInstallArgs) -> Result<Exit, Failure> {
    let installation = Installation {
        tool: args.tool.clone(),
        directory: args.directory.clone(),
        user: args.user.clone(),
        target: args.target.clone(),
        opt_out: args.opt_out.clone(),
        umask: args.umask.clone(),
    };
    let installed = installation
        .into_tree(&args.root)
        .map_err(|why| Failure::new(Exit::Unavailable, why.sentence()).hint(why.hint()))?;
    output::text(&format!(
        "{} runs {} as {}\nconfigured by {}\n",
        installed.shim.display(),
        args.target.display(),
        args.user,
        installed.configuration.display()
    ))?;
    Ok(Exit::Success)
}

#[derive(Serialize)]
struct Shown {
    path: String,
    outcome: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
}

fn heal_directory(args: &ShimHealArgs) -> Result<Exit, Failure> {
    let owner = owner(&args.user)?;
    let doing = if args.apply { Doing::Apply } else { Doing::Look };
    let findings = heal(&args.directory, owner, doing).map_err(|error| {
        Failure::new(
            Exit::Unavailable,
            format!("cannot walk {}: {error}", output::inert(args.directory.as_os_str())),
        )
        .hint("name a directory, not a link to one")
    })?;
    let shown: Vec<Shown> = findings.iter().map(show).collect();
    if args.json {
        output::json(&shown)?;
    } else {
        for finding in &shown {
            let why = finding.why.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
            output::text(&format!("{:<7} {}{why}\n", finding.outcome, finding.path))?;
        }
    }
    let open = findings.iter().any(|finding| finding.outcome != Outcome::Healed);
    Ok(if open { Exit::Found } else { Exit::Success })
}

fn show(finding: &Finding) -> Shown {
    let (outcome, why) = match &finding.outcome {
        Outcome::Found => ("root's", None),
        Outcome::Healed => ("healed", None),
        Outcome::Left(why) => ("left", Some(why.words())),
    };
    Shown { path: output::inert(finding.path.as_os_str()), outcome, why }
}

/// A name of this machine's `/etc/passwd`, or two numbers.
fn owner(user: &str) -> Result<Owner, Failure> {
    let wrong = || {
        Failure::new(Exit::Usage, format!("there is no user {user} here"))
            .hint("name a user of /etc/passwd, or its numbers, as UID:GID; not root")
    };
    let owner = match user.split_once(':') {
        Some((user, group)) => user.parse().ok().zip(group.parse().ok()),
        None => std::fs::read_to_string("/etc/passwd").ok().and_then(|users| find(&users, user)),
    };
    let (user, group) = owner.filter(|(user, _)| *user != 0).ok_or_else(wrong)?;
    Ok(Owner { user, group })
}

fn find(users: &str, wanted: &str) -> Option<(u32, u32)> {
    users.lines().find_map(|line| {
        let fields: Vec<&str> = line.split(':').collect();
        let (name, user, group) = (fields.first()?, fields.get(2)?, fields.get(3)?);
        if *name == wanted || *user == wanted { user.parse().ok().zip(group.parse().ok()) } else { None }
    })
}
