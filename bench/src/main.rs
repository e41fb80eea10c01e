//! Speed, measured side by side: each benchmark sets what we do against what a user would take instead, and
//! against the limit, in one run. `cargo xtask bench [NAME…] [--json]` builds and runs it.

mod audit;
mod egress;
mod exec_code;
mod gate;
mod policy_match;
mod redaction;
mod sandbox;
mod session;
mod shim;
mod start;

use std::process::ExitCode;

use cofferdam_bench::{harness, peer, report};
use harness::Bench;

/// A benchmark by the name that is typed.
type Benchmark = (&'static str, fn(&mut Bench));

/// All benchmarks, in the order in which they run.
const BENCHMARKS: &[Benchmark] = &[
    ("start", start::run),
    ("sandbox", sandbox::run),
    ("session", session::run),
    ("shim", shim::run),
    ("exec_code", exec_code::run),
    ("policy_match", policy_match::run),
    ("redaction", redaction::run),
    ("audit", audit::run),
    ("gate", gate::run),
    ("egress_requests", egress::requests),
    ("egress_tunnels", egress::tunnels),
    ("egress_streams", egress::streams),
    ("egress_bodies", egress::bodies),
    ("egress_latency", egress::latency),
    ("egress_memory", egress::memory),
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [flag, rest @ ..] = &arguments[..]
        && flag == egress::role::FLAG
    {
        return egress::role::play(rest);
    }
    let json = arguments.iter().any(|argument| argument == "--json");
    let wanted: Vec<&String> = arguments.iter().filter(|argument| *argument != "--json").collect();
    for name in &wanted {
        if !BENCHMARKS.iter().any(|(known, _)| known == name) {
            let known: Vec<&str> = BENCHMARKS.iter().map(|(name, _)| *name).collect();
            eprintln!("bench: no benchmark \u{201c}{name}\u{201d}\nhint: there are {}", known.join(", "));
            return ExitCode::FAILURE;
        }
    }
    let mut bench = match Bench::new(if json { report::Form::Json } else { report::Form::Table }) {
        Ok(bench) => bench,
        Err(error) => {
            eprintln!("bench: the cache directory cannot be made: {error}");
            return ExitCode::FAILURE;
        }
    };
    for (name, run) in BENCHMARKS {
        if wanted.is_empty() || wanted.iter().any(|wanted| wanted == name) {
            bench.begin(name);
            run(&mut bench);
        }
    }
    bench.finish();
    ExitCode::SUCCESS
}
