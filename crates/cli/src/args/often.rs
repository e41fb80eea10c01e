//! The commands that others start by the hundred, without the definitions of all the others: to make those takes longer
//! than a session needs for the command itself.
//!
//! Three ways, the shortest first: the plainest words of a command are read by hand, then by the definition of that
//! command alone, and whatever both do not take (a mistake, a question for help, another command) is for the whole
//! definition. So the first two only ever say yes, and help and mistakes are told in one place.

use std::ffi::OsString;

use clap::{Parser, Subcommand, ValueEnum};
use cofferdam_policy::units;

use super::Command;
use super::admission::Behalf;
use super::approvals::{self, Approvals, Check};
use super::egress::{EgressArgs, EgressCommand};
use super::hook::HookArgs;
use super::run::{Network, Profile, Run};
use super::session::{SessionArgs, SessionCommand, SessionExec};

#[derive(Debug, Parser)]
#[command(name = "cofferdam", disable_help_subcommand = true, disable_help_flag = true)]
struct Often<C: Subcommand> {
    #[command(subcommand)]
    command: C,
}

#[derive(Debug, Subcommand)]
enum RunAlone {
    Run(Box<Run>),
}

#[derive(Debug, Subcommand)]
enum SessionAlone {
    Session(SessionArgs),
}

#[derive(Debug, Subcommand)]
enum ApprovalsAlone {
    Approvals(Approvals),
}

#[derive(Debug, Subcommand)]
enum HookAlone {
    Hook(HookArgs),
}

pub fn parse() -> Option<Command> {
    by_hand(std::env::args_os().skip(1)).or_else(|| alone(std::env::args_os().collect()))
}

/// By the definition of one command.
fn alone(typed: Vec<OsString>) -> Option<Command> {
    match typed.get(1)?.to_str()? {
        "run" => {
            let RunAlone::Run(args) = Often::<RunAlone>::try_parse_from(typed).ok()?.command;
            Some(Command::Run(args))
        }
        "session" => {
            let SessionAlone::Session(args) = Often::<SessionAlone>::try_parse_from(typed).ok()?.command;
            Some(Command::Session(args))
        }
        "approvals" => {
            let ApprovalsAlone::Approvals(args) =
                Often::<ApprovalsAlone>::try_parse_from(typed).ok()?.command;
            Some(Command::Approvals(args))
        }
        "hook" => {
            let HookAlone::Hook(args) = Often::<HookAlone>::try_parse_from(typed).ok()?.command;
            Some(Command::Hook(args))
        }
        _ => None,
    }
}

/// What the definition would make of these words, for those that need no rule of it; nothing for all others.
fn by_hand(mut typed: impl Iterator<Item = OsString>) -> Option<Command> {
    match typed.next()?.to_str()? {
        "run" => Some(Command::Run(Box::new(run_by_hand(typed)?))),
        "session" => Some(Command::Session(SessionArgs { command: session_by_hand(typed)? })),
        "approvals" if typed.next()? == "check" => {
            let command = approvals::Command::Check(check_by_hand(typed)?);
            Some(Command::Approvals(Approvals { command }))
        }
        "egress" => Some(Command::Egress(EgressArgs { command: egress_by_hand(typed)? })),
        _ => None,
    }
}

/// One call, and the processes of a session. Those live for as long as it does, and would keep the memory that the
/// definitions took.
fn session_by_hand(mut typed: impl Iterator<Item = OsString>) -> Option<SessionCommand> {
    let command = match typed.next()?.to_str()? {
        "exec" => return exec_by_hand(typed).map(SessionCommand::Exec),
        "keep" => SessionCommand::Keep,
        "way-out" => SessionCommand::WayOut { session: text(&mut typed)? },
        _ => return None,
    };
    typed.next().is_none().then_some(command)
}

/// The two processes of the daemon, for the same reason.
fn egress_by_hand(mut typed: impl Iterator<Item = OsString>) -> Option<EgressCommand> {
    let command = match typed.next()?.to_str()? {
        "supervise" => EgressCommand::Supervise { nonce: text(&mut typed)? },
        "work" => EgressCommand::Work,
        _ => return None,
    };
    typed.next().is_none().then_some(command)
}

fn run_by_hand(mut typed: impl Iterator<Item = OsString>) -> Option<Run> {
    let mut run = Run::default();
    let sandbox = &mut run.sandbox;
    loop {
        let word = typed.next()?;
        match word.to_str()? {
            "--" => break,
            "--network" => once(&mut sandbox.network, Network::from_str(&text(&mut typed)?, false).ok()?)?,
            "--profile" => once(&mut sandbox.profile, Profile::from_str(&text(&mut typed)?, false).ok()?)?,
            "--workspace" => once(&mut sandbox.workspace, value(&mut typed)?.into())?,
            "--timeout" => once(&mut sandbox.timeout, units::duration(&text(&mut typed)?).ok()?)?,
            "--memory" => once(&mut sandbox.memory, units::size(&text(&mut typed)?).ok()?)?,
            "--read" => sandbox.read.push(value(&mut typed)?.into()),
            "--write" => sandbox.write.push(value(&mut typed)?.into()),
            "--hide" => sandbox.hide.push(value(&mut typed)?.into()),
            "--env" => sandbox.env.push(value(&mut typed)?),
            "--allow" => sandbox.allow.push(text(&mut typed)?),
            "--provider" => sandbox.provider.push(text(&mut typed)?),
            _ => return None,
        }
    }
    run.command = command(typed)?;
    Some(run)
}

fn exec_by_hand(mut typed: impl Iterator<Item = OsString>) -> Option<SessionExec> {
    let session = text(&mut typed)?;
    let (text, command) = match typed.next()?.to_str()? {
        "--" => (None, command(typed)?),
        "-c" => (Some(value(&mut typed).filter(|_| typed.next().is_none())?), Vec::new()),
        _ => return None,
    };
    Some(SessionExec { session, background: false, timeout: None, behalf: Behalf::default(), text, command })
}

fn check_by_hand(mut typed: impl Iterator<Item = OsString>) -> Option<Check> {
    let mut command = typed.next()?;
    let json = command == "--json";
    if json {
        command = typed.next()?;
    }
    let plain = !command.as_encoded_bytes().starts_with(b"-") && typed.next().is_none();
    plain.then_some(Check { command: Some(command), batch: None, directory: None, json })
}

/// What belongs to an option. What could be another option, and nothing at all, are for the definition to judge.
fn value(typed: &mut impl Iterator<Item = OsString>) -> Option<OsString> {
    typed.next().filter(|word| !word.is_empty() && !word.as_encoded_bytes().starts_with(b"-"))
}

fn text(typed: &mut impl Iterator<Item = OsString>) -> Option<String> {
    value(typed)?.into_string().ok()
}

/// For what may be typed once only.
fn once<T>(place: &mut Option<T>, value: T) -> Option<()> {
    place.replace(value).is_none().then_some(())
}

/// All that is left.
fn command(typed: impl Iterator<Item = OsString>) -> Option<Vec<OsString>> {
    Some(typed.collect()).filter(|words: &Vec<_>| !words.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Args;

    fn shown(command: Option<Command>) -> Option<String> {
        command.map(|command| format!("{command:?}"))
    }

    /// What is read by hand, by the definition of one command, and by that of all.
    fn three_ways(typed: &[&str]) -> [Option<String>; 3] {
        let all: Vec<OsString> = ["cofferdam"].iter().chain(typed).map(OsString::from).collect();
        let whole = Args::try_parse_from(&all).ok().map(|args| args.command);
        [by_hand(all.iter().skip(1).cloned()), alone(all), whole].map(shown)
    }

    #[test]
    fn what_is_read_by_hand_is_what_the_definition_says() {
        let read: &[&[&str]] = &[
            &["run", "--", "true"],
            &["run", "--network", "none", "--", "/bin/true"],
            &["run", "--network", "proxy", "--profile", "strict", "--", "sh", "-c", "a b", "--", "--help"],
            &["run", "--read", "/a", "--write", "b c", "--read", "~", "--hide", "x", "--", "--", "-x", ""],
            &["run", "--env", "A=b c", "--env", "B", "--allow", "a.example", "--allow", "b:8", "--", "x"],
            &["run", "--provider", "openai", "--workspace", ".", "--timeout", "10m", "--", "x"],
            &["run", "--memory", "2GiB", "--timeout", "1s", "--", "x"],
            &["session", "exec", "s", "--", "make", "test"],
            &["session", "exec", "s", "--", "--", "-c"],
            &["session", "exec", "s", "-c", "cd src; x"],
            &["session", "keep"],
            &["session", "way-out", "s"],
            &["approvals", "check", "rm -rf x"],
            &["approvals", "check", "help"],
            &["approvals", "check", ""],
            &["approvals", "check", "--json", "a | b"],
        ];
        for typed in read {
            let [hand, alone, whole] = three_ways(typed);
            assert!(whole.is_some(), "{typed:?}");
            assert_eq!((&hand, &alone), (&whole, &whole), "{typed:?}");
        }
    }

    #[test]
    fn the_processes_of_the_daemon_are_read_by_hand() {
        for typed in [&["egress", "work"][..], &["egress", "supervise", "0123abc"]] {
            let [hand, alone, whole] = three_ways(typed);
            assert!(whole.is_some() && alone.is_none(), "{typed:?}");
            assert_eq!(hand, whole, "{typed:?}");
        }
    }

    #[test]
    fn what_needs_a_rule_of_the_definition_is_left_to_it() {
        let left: &[&[&str]] = &[
            &["run"],
            &["run", "--"],
            &["run", "true"],
            &["run", "--help"],
            &["run", "--network", "--", "x"],
            &["run", "--network", "all", "--", "x"],
            &["run", "--network", "none", "--network", "none", "--", "x"],
            &["run", "--network=none", "--", "x"],
            &["run", "--workspace", "", "--", "x"],
            &["run", "--workspace", "-", "--", "x"],
            &["run", "--timeout", "soon", "--", "x"],
            &["run", "--read", "--write", "--", "x"],
            &["run", "--dry-run", "--json", "--", "x"],
            &["run", "--danger-host-network", "--publish", "80", "--", "x"],
            &["session"],
            &["session", "exec"],
            &["session", "exec", "s"],
            &["session", "exec", "s", "--"],
            &["session", "exec", "-c", "x", "s"],
            &["session", "exec", "s", "-c", "x", "--", "y"],
            &["session", "exec", "s", "-c", ""],
            &["session", "exec", "s", "-c", "-x"],
            &["session", "exec", "--", "x"],
            &["session", "list"],
            &["session", "keep", "s"],
            &["session", "way-out"],
            &["session", "way-out", "s", "t"],
            &["egress"],
            &["egress", "start"],
            &["egress", "supervise"],
            &["egress", "supervise", "-x"],
            &["egress", "work", "x"],
            &["approvals"],
            &["approvals", "check"],
            &["approvals", "check", "--json"],
            &["approvals", "check", "-x"],
            &["approvals", "check", "--help"],
            &["approvals", "check", "x", "y"],
            &["approvals", "check", "x", "--json"],
            &["approvals", "check", "--batch", "x"],
            &["approvals", "list"],
            &["hook", "codex"],
            &["doctor"],
        ];
        for typed in left {
            assert_eq!(three_ways(typed)[0], None, "{typed:?}");
        }
    }
}
