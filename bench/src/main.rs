//! Speed, measured side by side: each benchmark sets what we do against what a user would take instead, and
//! against the limit, in one run. `cargo xtask bench [NAME…]` builds and runs it.

mod audit;
mod conduct;
mod counts;
mod egress;
mod exec_code;
mod gate;
mod growth;
mod inside;
mod policy_match;
mod redaction;
mod sandbox;
mod session;
mod shim;
mod start;
mod verdict;

use std::process::ExitCode;

use cofferdam_bench::{harness, peer};
use harness::Bench;

/// A benchmark by the name that is typed.
type Benchmark = (&'static str, fn(&mut Bench));

/// All benchmarks, in the order in which they run.
const BENCHMARKS: &[Benchmark] = &[
    ("start", start::run),
    ("sandbox", sandbox::run),
    ("session", session::run),
    ("inside", inside::run),
    ("shim", shim::run),
    ("exec_code", exec_code::run),
    ("policy_match", policy_match::run),
    ("redaction", redaction::run),
    ("audit", audit::run),
    ("gate", gate::run),
    ("verdict", verdict::run),
    ("egress_requests", egress::requests),
    ("egress_tunnels", egress::tunnels),
    ("egress_streams", egress::streams),
    ("egress_bodies", egress::bodies),
    ("egress_latency", egress::latency),
    ("egress_memory", egress::memory),
    ("sealed_first", egress::first_request),
    ("sealed_many", egress::many_sandboxes),
    ("growth_rules", growth::rules),
    ("growth_scripts", growth::scripts),
    ("growth_sandboxes", growth::sandboxes),
    ("growth_tunnels", egress::growth),
    ("growth_records", growth::records),
];

/// This program in other roles: a process that is measured, one benchmark, and work whose instructions are counted.
fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        [egress::role::FLAG, ..] => egress::role::play(&arguments[1..]),
        [conduct::ONE, name, effort] => conduct::one(name, effort),
        [counts::FLAG, name, times] => counts::run(name, times),
        _ => conduct::all(&words),
    }
}
