//! What a probe is.

use std::io;
use std::str::FromStr;

use serde_json::json;

/// How every canary begins.
pub const CANARY: &str = cofferdam_testkit::CANARY;

pub struct Probe {
    pub name: &'static str,
    /// Its number in the threat model.
    pub threat: u16,
    /// What it takes after its name, for people.
    pub takes: &'static str,
    pub attack: fn(&mut Words) -> Result<Outcome, Mistake>,
}

/// A probe that was called wrongly.
pub type Mistake = String;

/// What an attack came to, with what it reached or what stopped it.
pub enum Outcome {
    Open(String),
    Closed(String),
}

impl Outcome {
    /// An attack that works when a call does.
    pub fn of<T>(result: io::Result<T>, reached: impl FnOnce(T) -> String) -> Self {
        match result {
            Ok(value) => Self::Open(reached(value)),
            Err(error) => Self::Closed(error.to_string()),
        }
    }

    /// An attack that works when it found something.
    pub fn found(places: &[String], nothing: &str) -> Self {
        if places.is_empty() { Self::Closed(nothing.to_owned()) } else { Self::Open(places.join(" ")) }
    }
}

impl Probe {
    pub fn run(&self, mut words: Words) -> Result<serde_json::Value, Mistake> {
        let (outcome, detail) = match (self.attack)(&mut words)? {
            Outcome::Open(detail) => ("open", detail),
            Outcome::Closed(detail) => ("closed", detail),
        };
        Ok(json!({ "probe": self.name, "threat": self.threat, "outcome": outcome, "detail": detail }))
    }
}

/// What was typed after the name.
pub struct Words(std::env::Args);

impl Words {
    pub fn of_this_process() -> Self {
        let mut words = std::env::args();
        words.next();
        Self(words)
    }

    pub fn next(&mut self) -> Option<String> {
        self.0.next()
    }

    pub fn text(&mut self, what: &str) -> Result<String, Mistake> {
        self.next().ok_or_else(|| format!("{what} is missing"))
    }

    pub fn parsed<T: FromStr>(&mut self, what: &str) -> Result<T, Mistake> {
        let word = self.text(what)?;
        word.parse().map_err(|_| format!("{word} is no {what}"))
    }
}

pub fn holds_canary(bytes: &[u8]) -> bool {
    bytes.windows(CANARY.len()).any(|window| window == CANARY.as_bytes())
}
