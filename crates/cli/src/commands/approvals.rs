//! `cofferdam approvals`: judges commands, asks about them, and shows the rules; nothing is run.

mod answers;
mod ask;
mod serve;

use std::io::{BufRead, BufReader, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::{env, fs, io};

use cofferdam_approvals::{Context, Decision, RULES, Verdict, judge_bytes};
use serde::{Deserialize, Serialize};

use crate::args::approvals::{Approvals, Check, Command};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;

pub fn run(args: Approvals) -> Result<Exit, Failure> {
    match args.command {
        Command::Check(check) => match &check.batch {
            Some(file) => batch(file, &check),
            None => one(&check),
        },
        Command::Rules(rules) => list(rules.json),
        Command::Ask(args) => ask::run(&args),
        Command::List(args) => answers::list(args.json),
        Command::Allow(args) => answers::allow(&args),
        Command::Deny(args) => answers::deny(args),
        Command::Serve => serve::run(),
        Command::Revoke(args) => match (&args.id, &args.session) {
            (_, Some(session)) => answers::revoke_session(session),
            (id, None) => answers::revoke(id.as_deref().unwrap_or_default()),
        },
    }
}

#[derive(Serialize)]
struct Judged<'a> {
    cmd: &'a str,
    #[serde(rename = "verdict")]
    decision: Decision,
    findings: &'a [cofferdam_approvals::Finding],
}

#[derive(Deserialize)]
struct Asked {
    cmd: String,
}

fn one(check: &Check) -> Result<Exit, Failure> {
    let command = check.command.as_deref().unwrap_or_default();
    let verdict = judge_bytes(command.as_bytes(), &context(check)?);
    if check.json {
        let text = command.to_string_lossy();
        output::json(&Judged { cmd: &text, decision: verdict.decision, findings: &verdict.findings })?;
    } else {
        output::text(&described(&verdict))?;
    }
    Ok(match verdict.decision {
        Decision::Allow => Exit::Success,
        Decision::Ask => Exit::Ask,
        Decision::Deny => Exit::Denied,
    })
}

fn described(verdict: &Verdict) -> String {
    let mut text = String::from(match verdict.decision {
        Decision::Allow => "allow\n",
        Decision::Ask => "ask\n",
        Decision::Deny => "deny\n",
    });
    for finding in &verdict.findings {
        text.push_str(&format!("  {} [{}]\n", finding.sentence, finding.rule));
        if !finding.words.is_empty() {
            text.push_str(&format!("    {}\n", finding.words.escape_debug()));
        }
    }
    text
}

/// One verdict a line, in the order of the questions. A line that is no question ends the run: an answer that
/// is missing could be read as an answer to the next one.
fn batch(file: &Path, check: &Check) -> Result<Exit, Failure> {
    let context = context(check)?;
    let reader: Box<dyn BufRead> = if file.as_os_str() == "-" {
        Box::new(io::stdin().lock())
    } else {
        let opened = fs::File::open(file).map_err(|error| {
            Failure::new(Exit::Unavailable, format!("cannot read {}: {error}", file.display()))
        })?;
        Box::new(BufReader::new(opened))
    };
    let mut out = io::BufWriter::new(io::stdout().lock());
    for (number, line) in reader.split(b'\n').enumerate() {
        let wrong = |why: String| {
            Failure::new(Exit::Usage, format!("line {} of {} {why}", number + 1, file.display()))
                .hint("each line is a JSON object with the command as a string: {\"cmd\": \"ls\"}")
        };
        let line = line.map_err(|error| wrong(format!("cannot be read: {error}")))?;
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        let asked: Asked =
            serde_json::from_slice(&line).map_err(|error| wrong(format!("is not a question: {error}")))?;
        let verdict = judge_bytes(asked.cmd.as_bytes(), &context);
        let judged = Judged { cmd: &asked.cmd, decision: verdict.decision, findings: &verdict.findings };
        let written =
            serde_json::to_writer(&mut out, &judged).map_err(io::Error::from).and_then(|()| writeln!(out));
        if let Err(error) = written {
            return ended(&error);
        }
    }
    match out.flush() {
        Ok(()) => Ok(Exit::Success),
        Err(error) => ended(&error),
    }
}

/// A reader that has seen enough is not a failure.
fn ended(error: &io::Error) -> Result<Exit, Failure> {
    if error.kind() == io::ErrorKind::BrokenPipe {
        return Ok(Exit::Success);
    }
    Err(Failure::new(Exit::Unavailable, format!("cannot write to standard output: {error}")))
}

fn list(json: bool) -> Result<Exit, Failure> {
    #[derive(Serialize)]
    struct Row {
        id: &'static str,
        category: cofferdam_approvals::Category,
        severity: cofferdam_approvals::Severity,
        decision: Decision,
        sentence: &'static str,
        examples: &'static [&'static str],
    }
    let rows: Vec<Row> = RULES
        .iter()
        .map(|rule| Row {
            id: rule.id,
            category: rule.category,
            severity: rule.severity,
            decision: rule.decision,
            sentence: rule.sentence,
            examples: rule.matches,
        })
        .collect();
    if json {
        output::json(&rows)?;
    } else {
        let cells: Vec<Vec<String>> = rows
            .iter()
            .map(|row| {
                let decision = if row.decision == Decision::Deny { "deny" } else { "ask" };
                vec![row.id.to_owned(), decision.to_owned(), row.sentence.to_owned()]
            })
            .collect();
        output::table(&["RULE", "VERDICT", "WHAT IT DOES"], &cells)?;
    }
    Ok(Exit::Success)
}

fn context(check: &Check) -> Result<Context, Failure> {
    let directory = match &check.directory {
        Some(directory) => std::path::absolute(directory),
        None => env::current_dir(),
    }
    .map_err(|error| {
        Failure::new(Exit::Unavailable, format!("the working directory is not known: {error}"))
            .hint("give it with --directory")
    })?;
    let home = env::var("HOME").unwrap_or_else(|_| "/nonexistent".to_owned());
    let user = env::var("USER").or_else(|_| env::var("LOGNAME")).unwrap_or_else(|_| "user".to_owned());
    let project = directory.ancestors().find(|above| above.join(".git").exists()).unwrap_or(&directory);
    Ok(Context {
        project: project.to_string_lossy().into_owned(),
        ..Context::new(directory.to_string_lossy(), home, user)
    })
}
