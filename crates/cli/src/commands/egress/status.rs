//! `egress status`: what is true right now, each line found out and not remembered.

use std::net::TcpStream;
use std::time::Duration;

use cofferdam_control::connection::ConnectError;
use cofferdam_control::messages::egress::{Reply, Request, Status};
use cofferdam_policy::document::Config;
use serde::Serialize;

use super::client::{Client, confused};
use super::coverage::{self, Uncovered};
use crate::args::egress::EgressStatus;
use crate::daemon::identity::Found;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;
use crate::places::Places;
use crate::settings::read_config;

const ANSWERS_WITHIN: Duration = Duration::from_secs(2);

#[derive(Debug, Serialize)]
struct Report {
    running: bool,
    /// Whether a connection to the address it is to listen on was taken just now.
    listening: bool,
    serving: bool,
    /// Why it cannot be asked, if it runs and cannot.
    problem: Option<String>,
    /// Whether the configuration as it is on disk has no mistake.
    config_valid: bool,
    uncovered: Vec<Uncovered>,
    #[serde(flatten)]
    status: Option<Box<Status>>,
}

pub fn status(args: &EgressStatus) -> Result<Exit, Failure> {
    let places = Places::find()?;
    // A mistake in the file is a fact to be told like the others: the proxy goes on with the last good one.
    let config = read_config(&places).ok();
    let report = look(&places, config.as_ref())?;
    if args.json {
        output::json(&report)?;
    } else {
        print(&report, config.as_ref())?;
    }
    Ok(if report.serving && report.listening { Exit::Success } else { Exit::Found })
}

fn look(places: &Places, config: Option<&Config>) -> Result<Report, Failure> {
    let found = Found::look(&places.runtime)
        .map_err(|error| Failure::new(Exit::Unavailable, error.to_string()).hint(error.fix()))?;
    let (status, problem) = match Client::connect(places) {
        Ok(client) => match client.ask(Request::Status)? {
            Reply::Status(status) => (Some(status), None),
            _ => return Err(confused()),
        },
        Err(ConnectError::NotRunning) if found.is_none() => (None, None),
        Err(error) => (None, Some(error.to_string())),
    };
    let listening = status
        .as_ref()
        .is_some_and(|status| TcpStream::connect_timeout(&status.listen, ANSWERS_WITHIN).is_ok());
    Ok(Report {
        running: found.is_some(),
        listening,
        serving: status.as_ref().is_some_and(|status| status.serving.is_some()),
        problem,
        config_valid: config.is_some(),
        uncovered: coverage::uncovered(config.unwrap_or(&Config::default())),
        status,
    })
}

fn print(report: &Report, config: Option<&Config>) -> Result<(), Failure> {
    let mut rows: Vec<(&str, String)> = Vec::new();
    match &report.status {
        None => rows.push(("state", "not running".to_owned())),
        Some(status) => {
            let state = if report.serving { "serving" } else { "starting again" };
            rows.push(("state", state.to_owned()));
            rows.extend(facts(status, report.listening));
            let configured = config.map_or(status.listen, |config| config.egress.listen);
            if status.listen != configured {
                rows.push(("note", format!("configured is {configured}; restart to use it")));
            }
        }
    }
    if !report.config_valid {
        rows.push(("problem", "the configuration has mistakes: cofferdam config check".to_owned()));
    }
    rows.extend(report.problem.iter().map(|problem| ("problem", problem.clone())));
    rows.extend(report.uncovered.iter().map(|uncovered| ("not covered", uncovered.variable.clone())));
    let width = rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let lines: Vec<String> = rows.iter().map(|(name, fact)| format!("{name:width$}  {fact}\n")).collect();
    output::text(&lines.concat())
}

fn facts(status: &Status, listening: bool) -> Vec<(&'static str, String)> {
    let answers = if listening { "answers" } else { "does not answer" };
    let mut facts = vec![
        ("version", status.version.clone()),
        ("pid", status.pid.to_string()),
        ("worker", status.worker.map_or_else(|| "none".to_owned(), |pid| pid.to_string())),
        ("restarts", status.restarts.to_string()),
        ("running for", format!("{} s", status.uptime)),
        ("listens on", format!("{} ({answers})", status.listen)),
        ("configuration", status.config.clone()),
        ("walls", status.walls.join(", ")),
    ];
    facts.extend(status.config_mistakes.iter().map(|mistake| ("not in force", mistake.clone())));
    if let Some(serving) = &status.serving {
        let none = |list: &[String]| if list.is_empty() { "none".to_owned() } else { list.join(", ") };
        facts.extend([
            ("sandboxes", serving.clients.to_string()),
            ("providers", none(&serving.providers)),
            ("named tokens", none(&serving.named_tokens)),
            ("authority", serving.authority.clone()),
            ("record", if serving.recording { "is written" } else { "cannot be written" }.to_owned()),
        ]);
    }
    facts
}
