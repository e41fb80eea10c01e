//! What is told: lines for a person, events for a host, and one object at the end.

use std::io::{self, Write};
use std::time::Duration;

use cofferdam_exec_broker::{Called, Wire};
use serde::Serialize;

use super::script::Script;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    Success,
    Error,
    Timeout,
    Interrupted,
    Denied,
}

/// The result.
#[derive(Debug, Serialize)]
pub struct Outcome {
    pub status: Status,
    pub output: String,
    pub stderr: String,
    pub exit_code: Option<i32>,
    pub error: Option<String>,
    pub calls: Vec<CallMade>,
    pub calls_made: u64,
    /// Frames that were no calls, or calls that could not be made.
    pub frames_refused: u64,
    pub duration_seconds: f64,
    pub cut: Cut,
    pub script_sha256: String,
    #[serde(skip)]
    teller: Teller,
}

#[derive(Debug, Default, Serialize)]
pub struct Cut {
    pub output_bytes: u64,
    pub stderr_bytes: u64,
    /// Calls that were made and are not in the list.
    pub calls: u64,
}

#[derive(Debug, Clone, Serialize)]
pub struct CallMade {
    pub tool: String,
    pub seconds: f64,
    pub verdict: &'static str,
}

impl Outcome {
    pub fn new(status: Status, script: &Script, took: Duration, teller: Teller) -> Self {
        Self {
            status,
            output: String::new(),
            stderr: String::new(),
            exit_code: None,
            error: None,
            calls: Vec::new(),
            calls_made: 0,
            frames_refused: 0,
            duration_seconds: took.as_secs_f64(),
            cut: Cut::default(),
            script_sha256: script.sha256.clone(),
            teller,
        }
    }

    /// Prints the result and gives the status to end with.
    pub fn finish(&self) -> Result<Exit, Failure> {
        match self.teller.json {
            true => self.teller.event("result", self),
            false => output::json(self)?,
        }
        Ok(match self.status {
            Status::Success => Exit::Success,
            Status::Denied => Exit::Command(77),
            Status::Timeout => Exit::Command(124),
            Status::Error | Status::Interrupted => {
                let code = self.exit_code.and_then(|code| u8::try_from(code).ok()).filter(|code| *code != 0);
                Exit::Command(code.unwrap_or(1))
            }
        })
    }
}

/// Says what is going on: to a person on standard error, to a host as events on standard output.
#[derive(Debug, Clone)]
pub struct Teller {
    pub json: bool,
    /// A host that is connected gets its events there, as frames.
    wire: Option<Wire>,
}

#[derive(Serialize)]
struct Event<'a, T: Serialize> {
    event: &'a str,
    #[serde(flatten)]
    what: &'a T,
}

impl Teller {
    pub fn new(json: bool) -> Self {
        Self { json, wire: None }
    }

    pub fn over(wire: Wire) -> Self {
        Self { json: true, wire: Some(wire) }
    }

    /// Nothing is started, and this is why.
    pub fn failed(&self, failure: &Failure) {
        #[derive(Serialize)]
        struct Failed<'a> {
            message: &'a str,
            hint: Option<String>,
            status: u8,
        }
        let what = Failed { message: failure.sentence(), hint: failure.hints(), status: failure.status() };
        self.event("error", &what);
    }

    pub fn asking(&self, script: &Script) {
        #[derive(Serialize)]
        struct Asking<'a> {
            language: &'static str,
            bytes: usize,
            sha256: &'a str,
        }
        let what =
            Asking { language: script.language.name(), bytes: script.text.len(), sha256: &script.sha256 };
        self.tell("script", &what, || format!("{} script, {} bytes", what.language, what.bytes));
    }

    pub fn started(&self, tools: &[&str]) {
        #[derive(Serialize)]
        struct Started<'a> {
            tools: &'a [&'a str],
        }
        self.tell("start", &Started { tools }, || "running".to_owned());
    }

    pub fn calling(&self, number: u64, tool: &str, about: impl FnOnce() -> String) {
        #[derive(Serialize)]
        struct Calling<'a> {
            number: u64,
            tool: &'a str,
        }
        self.tell("call", &Calling { number, tool }, || format!("{number}. {tool} {}", about()));
    }

    pub fn called(&self, called: &Called) {
        #[derive(Serialize)]
        struct Made<'a> {
            number: u64,
            #[serde(flatten)]
            made: &'a CallMade,
        }
        let made = CallMade::of(called);
        if self.json {
            self.event("called", &Made { number: called.number, made: &made });
        } else if called.error.is_some() {
            self.line(&format!("{}. {}: {}", called.number, called.tool, made.verdict));
        }
    }

    fn tell(&self, event: &str, what: &impl Serialize, line: impl FnOnce() -> String) {
        if self.json { self.event(event, what) } else { self.line(&line()) }
    }

    fn line(&self, text: &str) {
        // A closed standard error is no reason to end differently.
        let _ = io::stderr().lock().write_all(format!("cofferdam: {text}\n").as_bytes());
    }

    fn event(&self, event: &str, what: &impl Serialize) {
        let Ok(mut line) = serde_json::to_vec(&Event { event, what }) else { return };
        if let Some(wire) = &self.wire {
            let _ = wire.send(&line);
            return;
        }
        line.push(b'\n');
        let mut out = io::stdout().lock();
        // A reader that is gone is told nothing more.
        let _ = out.write_all(&line).and_then(|()| out.flush());
    }
}

impl CallMade {
    pub fn of(called: &Called) -> Self {
        Self {
            tool: called.tool.clone(),
            seconds: called.took.as_secs_f64(),
            verdict: called.error.map_or("ok", cofferdam_exec_broker::message::ErrorKind::name),
        }
    }
}
