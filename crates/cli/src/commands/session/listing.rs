//! What sessions there are, what runs in them, what it has written, and their end.

use std::io;
use std::time::SystemTime;

use cofferdam_sandbox::channel;

use super::client::{Client, sessions_directory};
use super::place::Sessions;
use super::protocol::{Kind, ProcessStatus, Reply, Request, Status};
use crate::args::session::{SessionKill, SessionList, SessionLogs, SessionPs};
use crate::commands::run::outcome;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::known_secrets::KnownSecrets;
use crate::output;

pub fn list(args: &SessionList) -> Result<Exit, Failure> {
    let statuses = statuses()?;
    if args.json {
        return output::json(&statuses).map(|()| Exit::Success);
    }
    let rows: Vec<Vec<String>> = statuses
        .iter()
        .map(|status| {
            let running = status.processes.iter().filter(|process| process.running).count();
            let workspace = status.workspace.to_string();
            vec![status.name.clone(), age(status.started), running.to_string(), walls(status), workspace]
        })
        .collect();
    output::table(&["NAME", "AGE", "RUNNING", "WALLS", "WORKSPACE"], &rows).map(|()| Exit::Success)
}

/// What stands around a session: all of it, or all but what the machine could not give.
fn walls(status: &Status) -> String {
    let missing: Vec<String> = status.missing.iter().map(ToString::to_string).collect();
    if missing.is_empty() { "all".to_owned() } else { format!("without {}", missing.join(", ")) }
}

/// Those that answer. A socket without a keeper is what is left of one that was killed, and is taken away.
fn statuses() -> Result<Vec<Status>, Failure> {
    let directory = sessions_directory()?;
    let unreadable = |error: io::Error| {
        Failure::new(Exit::Unavailable, format!("cannot read {}: {error}", directory.display()))
            .hint("it must be a directory of yours that nobody else can enter")
    };
    let sessions = match Sessions::open(&directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other.map_err(unreadable)?,
    };
    let mut statuses = Vec::new();
    for name in sessions.names().map_err(unreadable)? {
        sessions.forget(&name);
        // One that ends at this moment is none.
        if let Ok(client) = Client::connect(&name)
            && let Ok((Reply::Status(status), _)) = client.ask(&Request::Status)
        {
            statuses.push(status);
        }
    }
    Ok(statuses)
}

pub fn processes(args: &SessionPs) -> Result<Exit, Failure> {
    let client = Client::connect(&args.session)?;
    let (Reply::Status(status), _) = client.ask(&Request::Status)? else { return Err(client.confused()) };
    if args.json {
        return output::json(&status.processes).map(|()| Exit::Success);
    }
    let rows: Vec<Vec<String>> = status.processes.iter().map(row).collect();
    output::table(&["PROCESS", "KIND", "STATE", "AGE", "COMMAND"], &rows).map(|()| Exit::Success)
}

fn row(process: &ProcessStatus) -> Vec<String> {
    let kind = match process.kind {
        Kind::Foreground => "foreground",
        Kind::Background => "background",
        Kind::Terminal => "terminal",
    };
    let state = process.status.map_or_else(|| "running".to_owned(), |status| format!("ended {status}"));
    vec![
        process.process.to_string(),
        kind.to_owned(),
        state,
        age(process.started),
        process.command.chars().take(80).collect(),
    ]
}

fn age(started: u64) -> String {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |now| now.as_secs());
    match now.saturating_sub(started) {
        seconds @ 0..60 => format!("{seconds}s"),
        seconds @ 60..3600 => format!("{}m", seconds / 60),
        seconds @ 3600..86400 => format!("{}h", seconds / 3600),
        seconds => format!("{}d", seconds / 86400),
    }
}

pub fn logs(args: &SessionLogs) -> Result<Exit, Failure> {
    let client = Client::connect(&args.session)?;
    // Here and not in the keeper: that has no environment and reads no secret.
    let mut redactor = KnownSecrets::load()?.redactor();
    let mut from = 0;
    loop {
        let answer = client.ask(&Request::Log { process: args.process, from, wait: args.follow })?;
        let (Reply::Log { next, lost, how }, mut descriptors) = answer else { return Err(client.confused()) };
        let Some(bytes) = descriptors.pop() else { return Err(client.confused()) };
        if lost > 0 {
            eprintln!("cofferdam: {lost} bytes before this are not kept");
        }
        let bytes = channel::read_memory_file(bytes).map_err(|error| client.lost(&error))?;
        let mut shown = Vec::with_capacity(bytes.len());
        redactor.push_all(&bytes, &mut shown);
        let over = how.is_some() || !args.follow;
        if over {
            redactor.finish(&mut shown);
        }
        output::bytes(&shown)?;
        from = next;
        match how {
            Some(how) if args.follow => return Ok(Exit::Command(outcome::status(how))),
            _ if over => return Ok(Exit::Success),
            _ => {}
        }
    }
}

pub fn kill(args: &SessionKill) -> Result<Exit, Failure> {
    let client = Client::connect(&args.session)?;
    if let Some(process) = args.process {
        return match client.ask(&Request::End { process })?.0 {
            Reply::Done => Ok(Exit::Success),
            _ => Err(client.confused()),
        };
    }
    match client.ask(&Request::EndSession)?.0 {
        Reply::Gone { held } => {
            for held in held {
                eprintln!(
                    "cofferdam: the session made a file that your own tools would run; it is now {held}"
                );
            }
            Ok(Exit::Success)
        }
        _ => Err(client.confused()),
    }
}
