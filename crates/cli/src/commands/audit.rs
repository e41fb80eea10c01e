//! `audit`: follow, search, count, export and check the record.

mod report;

use std::io::{self, Write};
use std::ops::ControlFlow;
use std::path::Path;
use std::time::Duration;

use cofferdam_audit::{AuditError, Follower, Kind, Snapshot, export, show};

use crate::args::audit::{
    AuditArgs, AuditCommand, ExportArgs, Format, GrepArgs, StatsArgs, TailArgs, VerifyArgs,
};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;
use crate::places::Places;
use crate::waiting;

/// How long `tail -f` waits between two looks: quick for a person, nothing for the machine.
const PAUSE: Duration = Duration::from_millis(100);
const READING: &str = "reading the record";

pub fn run(args: AuditArgs) -> Result<Exit, Failure> {
    let path = Places::find()?.audit();
    match args.command {
        AuditCommand::Tail(args) => tail(&path, args),
        AuditCommand::Grep(args) => grep(&path, args),
        AuditCommand::Stats(args) => stats(&path, &args),
        AuditCommand::Export(args) => export(&path, args),
        AuditCommand::Verify(args) => verify(&path, &args),
    }
}

/// What concerns the proxy.
const EGRESS: [Kind; 12] = [
    Kind::EgressTunnel,
    Kind::EgressRequest,
    Kind::EgressResponse,
    Kind::DnsQuery,
    Kind::CredentialInjected,
    Kind::SecretRedacted,
    Kind::SecretSource,
    Kind::AuthorityChanged,
    Kind::TokensChanged,
    Kind::DaemonStarted,
    Kind::DaemonStopped,
    Kind::WorkerCrashed,
];

/// The same for the proxy alone. What is checked is the record as a whole.
pub fn run_for_egress(args: AuditArgs) -> Result<Exit, Failure> {
    run(AuditArgs { command: args.command.about(&EGRESS) })
}

fn tail(path: &Path, args: TailArgs) -> Result<Exit, Failure> {
    let style = Style::of(args.json);
    let matcher = args.filter.selection(None).compile();
    let snapshot = Snapshot::take(path)?;
    let mut out = Stream::new();
    if let Some(snapshot) = &snapshot {
        for line in snapshot.last(args.lines, |line| matcher.accepts(line))? {
            out.line(&line, style);
        }
    } else if !args.follow {
        say_there_is_none(path);
    }
    if args.follow {
        let mut follower = Follower::after(path, snapshot)?;
        while out.flush().is_continue() {
            let lines = follower.lines()?;
            if lines.is_empty() {
                std::thread::sleep(PAUSE);
            }
            each_line(&lines).filter(|line| matcher.accepts(line)).for_each(|line| out.line(line, style));
        }
    }
    out.finish()
}

fn grep(path: &Path, args: GrepArgs) -> Result<Exit, Failure> {
    let style = Style::of(args.json);
    let matcher = args.filter.selection(args.text).compile();
    let Some(snapshot) = Snapshot::take(path)? else {
        say_there_is_none(path);
        return Ok(Exit::Success);
    };
    let mut out = Stream::new();
    let found = |lines: Vec<u8>| match style {
        Style::Stored => out.bytes(&lines),
        Style::Shown => {
            each_line(&lines).for_each(|line| out.line(line, style));
            out.flush()
        }
    };
    snapshot.select(&matcher, found)?;
    out.finish()
}

fn stats(path: &Path, args: &StatsArgs) -> Result<Exit, Failure> {
    let stats = match Snapshot::take(path)? {
        Some(snapshot) => waiting::during(READING, || snapshot.stats(args.since, &args.kinds))?,
        None => cofferdam_audit::stats::Stats::default(),
    };
    match args.json {
        true => output::json(&stats)?,
        false => output::text(&report::stats(&stats))?,
    }
    Ok(Exit::Success)
}

fn export(path: &Path, args: ExportArgs) -> Result<Exit, Failure> {
    let matcher = args.filter.selection(None).compile();
    let mut out = Stream::new();
    let mut separator: &[u8] = b"";
    match args.format {
        Format::Csv => out.add(export::csv_head().as_bytes()),
        Format::Json => out.add(b"[\n"),
    }
    let mut row = String::new();
    let write = |lines: Vec<u8>| {
        for line in each_line(&lines) {
            match args.format {
                Format::Csv => {
                    row.clear();
                    export::csv_row(line, &mut row);
                    out.add(row.as_bytes());
                }
                Format::Json => {
                    out.add(separator);
                    out.add(line);
                    separator = b",\n";
                }
            }
        }
        out.flush()
    };
    match Snapshot::take(path)? {
        Some(snapshot) => snapshot.select(&matcher, write)?,
        None => say_there_is_none(path),
    }
    if args.format == Format::Json {
        out.add(b"\n]\n");
    }
    out.finish()
}

fn verify(path: &Path, args: &VerifyArgs) -> Result<Exit, Failure> {
    let Some(snapshot) = Snapshot::take(path)? else {
        return nothing_to_verify(path, args);
    };
    let verification = waiting::during(READING, || snapshot.verify(args.against))?;
    match args.json {
        true => output::json(&verification)?,
        false => output::text(&report::verification(&verification))?,
    }
    Ok(if verification.findings.is_empty() { Exit::Success } else { Exit::Found })
}

/// No record is what a new machine has, and what is left after all of it was taken away. Only a head that was
/// noted elsewhere tells the two apart.
fn nothing_to_verify(path: &Path, args: &VerifyArgs) -> Result<Exit, Failure> {
    if args.json {
        output::json(&serde_json::json!({ "records": 0, "head": null, "findings": [], "notes": [] }))?;
    } else {
        output::text(&format!("There is no record in {}.\n", path.display()))?;
    }
    match args.against {
        None => Ok(Exit::Success),
        Some(_) => Err(Failure::new(
            Exit::Found,
            "the head noted elsewhere is not in the record, because there is none",
        )
        .hint("the record was removed, or COFFERDAM_HOME names another place")),
    }
}

fn say_there_is_none(path: &Path) {
    // Standard error may be closed; there is nothing else to say then.
    let _ = writeln!(io::stderr(), "cofferdam: there is no record in {} yet", path.display());
}

impl From<AuditError> for Failure {
    fn from(error: AuditError) -> Self {
        Self::new(Exit::Unavailable, error.to_string()).hint(error.fix())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Style {
    /// As it is in the file.
    Stored,
    /// For people.
    Shown,
}

impl Style {
    fn of(json: bool) -> Self {
        if json { Self::Stored } else { Self::Shown }
    }
}

fn each_line(lines: &[u8]) -> impl Iterator<Item = &[u8]> {
    lines.split(|&byte| byte == b'\n').filter(|line| !line.is_empty())
}

/// Standard output in large pieces. A reader that has seen enough ends the work and is not a failure.
struct Stream {
    buffer: Vec<u8>,
    failure: Option<io::Error>,
}

impl Stream {
    fn new() -> Self {
        Self { buffer: Vec::new(), failure: None }
    }

    fn add(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    fn line(&mut self, line: &[u8], style: Style) {
        match style {
            Style::Stored => self.add(line),
            Style::Shown => self.add(show::line(line).as_bytes()),
        }
        self.buffer.push(b'\n');
    }

    fn bytes(&mut self, bytes: &[u8]) -> ControlFlow<()> {
        let written = io::stdout().lock().write_all(bytes);
        self.note(written)
    }

    fn flush(&mut self) -> ControlFlow<()> {
        let mut stdout = io::stdout().lock();
        let written = stdout.write_all(&self.buffer).and_then(|()| stdout.flush());
        self.buffer.clear();
        self.note(written)
    }

    fn note(&mut self, written: io::Result<()>) -> ControlFlow<()> {
        match written {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                self.failure.get_or_insert(error);
                ControlFlow::Break(())
            }
        }
    }

    fn finish(mut self) -> Result<Exit, Failure> {
        if self.failure.is_none() {
            let _ = self.flush();
        }
        match self.failure {
            Some(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                Err(Failure::new(Exit::Unavailable, format!("cannot write to standard output: {error}")))
            }
            _ => Ok(Exit::Success),
        }
    }
}
