//! The hot paths, done a number of times and nothing else: what `cargo xtask check-instructions` counts. Counts of
//! instructions are the same on a busy machine and on an idle one.

use std::hint::black_box;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use cofferdam_approvals::{Context, judge};
use cofferdam_audit::{Label, Recorder, Settings};
use cofferdam_egress::{ClientId, Life, Tokens};
use cofferdam_policy::document::Config;
use cofferdam_secrets::redaction::{Patterns, Redactor, Replacement};

use crate::policy_match::{Set, by_host};
use crate::{audit, gate, redaction};

/// The first argument of a process whose instructions are counted.
pub const FLAG: &str = "--count";

/// What is done first, and what is then done so many times.
type Path = (&'static str, fn(usize));

const PATHS: [Path; 5] = [
    ("policy-match", policy_match),
    ("token-lookup", token_lookup),
    ("redaction", redact),
    ("gate", gate_verdict),
    ("audit-append", audit_append),
];

pub fn run(name: &str, times: &str) -> ExitCode {
    match (PATHS.iter().find(|(known, _)| *known == name), times.parse()) {
        (Some((_, path)), Ok(times)) => {
            path(times);
            ExitCode::SUCCESS
        }
        _ => {
            eprintln!("bench: {FLAG} PATH TIMES; there are {:?}", PATHS.map(|(name, _)| name));
            ExitCode::FAILURE
        }
    }
}

/// One question to a thousand rules.
fn policy_match(times: usize) {
    Set::new(1_000, by_host).ask_times(times);
}

/// A token among a thousand.
fn token_lookup(times: usize) {
    let text = "[[provider]]\nname = \"api\"\nhosts = [\"api.example\"]\nvariables = [\"API_KEY\"]\n\
                scheme = { header = \"Authorization\", template = \"Bearer {}\" }\n";
    let config = Config::parse("config.toml", text).expect("a configuration");
    let (tokens, client) = (Tokens::default(), ClientId::new());
    let mint = || tokens.mint(client, &config.providers[0], Life::Sandbox).expect("randomness");
    let all: Vec<_> = (0..1_000).map(|_| mint()).collect();
    let now = Instant::now();
    for turn in 0..times {
        let token = all[turn % all.len()].expose().as_bytes();
        black_box(tokens.worth(token, client, "api", now));
    }
}

/// A kilobyte of JSON, with fifty secrets to look for.
fn redact(times: usize) {
    let patterns: Arc<Patterns> = redaction::compiled(&redaction::keys(50));
    let text = redaction::json();
    let (mut redactor, mut out) = (Redactor::new(patterns, Replacement::Marker), Vec::new());
    for chunk in text.chunks(1024).cycle().take(times) {
        let _ = black_box(redactor.push(chunk, &mut out));
        out.clear();
    }
}

/// One line of the corpus.
fn gate_verdict(times: usize) {
    let context = Context::new("/home/me/project", "/home/me", "me");
    let lines: Vec<_> = gate::corpus("harmless").into_iter().chain(gate::corpus("dangerous")).collect();
    for line in lines.iter().cycle().take(times) {
        black_box(judge(&line.command, &context));
    }
}

/// One record, on the machine's memory file system if there is one.
fn audit_append(times: usize) {
    let directory = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).expect("a directory");
    let recorder = Recorder::open(&directory.path().join("record"), Settings::default()).expect("a record");
    let (session, event) = (Label::new("session-1"), audit::request(1));
    for _ in 0..times {
        assert!(recorder.record(Some(&session), &event).expect("a record").place().is_ok());
    }
}
