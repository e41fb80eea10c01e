//! What a person is told about the end of a run, or about why there was none.

use std::ffi::OsString;
use std::io;

use cofferdam_sandbox::diagnosis::Facts;
use cofferdam_sandbox::launch::{self, Exceeded};
use cofferdam_sandbox::messages::{Ended, NotStarted, Problem};
use cofferdam_sandbox::overlay::Layer;
use cofferdam_sandbox::report::Report;
use cofferdam_sandbox::text::Text;
use serde::Serialize;

use super::report_file::ReportFile;
use super::supervise::{End, How};
use crate::exit::Exit;
use crate::failure::Failure;

const SIGXCPU: i32 = 24;
const SIGXFSZ: i32 = 25;

/// Not even a process could be made to begin with.
pub fn not_begun(error: &io::Error) -> Failure {
    Failure::new(Exit::NotStarted, format!("no process could be started: {error}"))
        .hint("see how many processes you may have, and how many there are")
}

/// What there was to say meanwhile, at a moment when nobody else has the terminal.
pub fn tell_rest(end: &End) {
    eprint!("{}", rest(end));
}

/// The same as a text.
pub fn rest(end: &End) -> String {
    end.told.iter().map(|line| format!("cofferdam: {line}\n")).collect()
}

pub fn not_built(problem: &Problem) -> Failure {
    let failure = Failure::new(Exit::NotStarted, format!("the sandbox could not be made: {problem}"));
    match problem.step.as_str() {
        launch::NAMESPACES => {
            let error = &problem.error;
            let sentence = format!("this machine does not let you make the namespaces of a sandbox: {error}");
            with_causes(Failure::new(Exit::NotStarted, sentence)).hint(
                "--isolation best-effort goes on with Landlock and a system call filter, and says what is missing",
            )
        }
        "Landlock" => failure
            .hint(
                "a newer kernel has all of it; switch it on with lsm=landlock,… on the kernel's command line",
            )
            .hint("--isolation best-effort goes without, and says so"),
        // A security module lets the namespaces be made and takes the rights in them away.
        _ if problem.is_refusal() => with_causes(failure),
        _ => failure.hint("`cofferdam run --dry-run` shows the plan that it follows"),
    }
}

fn with_causes(failure: Failure) -> Failure {
    Facts::read()
        .hints()
        .into_iter()
        .fold(failure, Failure::hint)
        .hint("`cofferdam doctor` tries every layer")
}

/// Says what is missing, loudly: whoever asked for the best effort must not think that it was everything.
pub fn tell_missing(report: &Report) {
    for layer in report.lacking() {
        eprintln!("cofferdam: not enforced: {} ({})", layer.name, layer.detail);
    }
}

/// Says where the changes are; a layer without any is gone at once.
pub fn tell_layer(layer: Layer) {
    let id = layer.id.clone();
    match layer.changes() {
        Ok(changes) if changes.is_empty() => match layer.discard() {
            Ok(()) => eprintln!("cofferdam: the command changed nothing in the workspace"),
            Err(error) => eprintln!("cofferdam: the empty layer {id} could not be removed: {error}"),
        },
        Ok(changes) => {
            let count = changes.len();
            let changes =
                if count == 1 { "one change is".to_owned() } else { format!("{count} changes are") };
            eprintln!("cofferdam: {changes} in layer {id}, and none in the workspace");
            eprintln!("hint: cofferdam overlay diff {id}, then cofferdam overlay apply {id} or discard {id}");
        }
        Err(error) => eprintln!("cofferdam: the layer {id} cannot be read: {error}"),
    }
}

/// What a run was, for machines.
#[derive(Serialize)]
struct Account<'a> {
    report: &'a Report,
    cause: &'static str,
    status: u8,
    held: &'a [Text],
}

pub fn write_report(file: ReportFile, report: &Report, end: &End) -> Result<(), Failure> {
    let account = Account { report, cause: cause(end.how), status: status(end.how), held: &end.held };
    let text = serde_json::to_string_pretty(&account)
        .map_err(|error| Failure::new(Exit::Unavailable, format!("the report cannot be written: {error}")))?;
    file.write(&(text + "\n"))
}

pub fn exit(end: &End, command: &[OsString]) -> Result<Exit, Failure> {
    let name = Text::from(command.first().cloned().unwrap_or_default());
    let told =
        |sentence: String, hint: &str| Err(Failure::new(Exit::Command(status(end.how)), sentence).hint(hint));
    match end.how {
        How::Exceeded(Exceeded::Memory, _) => {
            told(format!("{name} needed more memory than it may have"), "give it more with --memory")
        }
        How::Exceeded(Exceeded::Processes, _) => {
            told(format!("{name} wanted more processes than it may have"), "give it more with --pids")
        }
        How::Ended(Ended::Killed(SIGXCPU)) => {
            told(format!("{name} used up its processor time"), "give it more with --cpu")
        }
        How::Ended(Ended::Killed(SIGXFSZ)) => told(
            format!("{name} wrote a file that is larger than its limit"),
            "raise the limit of the file size",
        ),
        How::Ended(_) => Ok(Exit::Command(status(end.how))),
        How::TimedOut => told(format!("{name} was ended at its timeout"), "give it longer with --timeout"),
        How::Lost => told("the sandbox was ended from outside".to_owned(), "see who has ended it"),
        How::NotStarted(NotStarted::NotFound) => told(
            format!("{name} was not found in the sandbox"),
            "name its whole path, or show the directory it is in with --read",
        ),
        How::NotStarted(NotStarted::NotExecutable(errno)) => told(
            format!("{name} cannot be executed: {}", io::Error::from_raw_os_error(errno)),
            "check its mode, and its first line if it is a script",
        ),
        How::NotStarted(NotStarted::Directory(errno)) => told(
            format!("the working directory cannot be entered: {}", io::Error::from_raw_os_error(errno)),
            "check its mode",
        ),
        How::NotStarted(NotStarted::NotApproved) => told(
            format!("{name} was not started: a file that it runs is not what was approved any more"),
            "look at it again, and start the command again",
        ),
        How::NotStarted(NotStarted::Other(errno)) => told(
            format!("{name} could not be started: {}", io::Error::from_raw_os_error(errno)),
            "see the limits it was given",
        ),
    }
}

pub fn status(how: How) -> u8 {
    let status = match how {
        How::Ended(Ended::Exited(code)) | How::Exceeded(_, Ended::Exited(code)) => code,
        How::Ended(Ended::Killed(signal)) | How::Exceeded(_, Ended::Killed(signal)) => 128 + signal,
        How::TimedOut => 124,
        How::NotStarted(NotStarted::NotApproved) => 77,
        How::Lost | How::NotStarted(NotStarted::Other(_) | NotStarted::Directory(_)) => 125,
        How::NotStarted(NotStarted::NotExecutable(_)) => 126,
        How::NotStarted(NotStarted::NotFound) => 127,
    };
    // Only the last eight bits of a status exist.
    (status & 0xff) as u8
}

fn cause(how: How) -> &'static str {
    match how {
        How::Exceeded(Exceeded::Memory, _) => "memory-limit",
        How::Exceeded(Exceeded::Processes, _) => "process-limit",
        How::Ended(Ended::Exited(_)) => "exited",
        How::Ended(Ended::Killed(SIGXCPU)) => "cpu-limit",
        How::Ended(Ended::Killed(SIGXFSZ)) => "file-size-limit",
        How::Ended(Ended::Killed(_)) => "signal",
        How::TimedOut => "timeout",
        How::Lost => "lost",
        How::NotStarted(_) => "not-started",
    }
}
