//! The hostile child. One probe per call, one line of JSON per probe:
//!
//! ```text
//! $ cofferdam-probe init-environment
//! {"probe":"init-environment","threat":3,"outcome":"closed","detail":"Permission denied (os error 13)"}
//! ```
//!
//! `open` means that the attack works, `closed` that it does not. The status is 0 for both, so that a test
//! judges the outcome and never a crash. `cofferdam-probe --list` names them all.
//!
//! A canary is any value that begins with `cofferdam-canary-`. A probe says where it found one, never what
//! it is: what the probe prints is itself searched for canaries.

mod descriptors;
mod files;
mod kernel;
mod namespaces;
mod network;
mod probe;
mod processes;
mod resources;
mod terminal;
mod writes;

use std::process::ExitCode;

use probe::{Probe, Words};

/// One table per section of the threat model.
const SECTIONS: &[&[Probe]] = &[
    processes::PROBES,
    descriptors::PROBES,
    files::PROBES,
    writes::PROBES,
    namespaces::PROBES,
    kernel::PROBES,
    network::PROBES,
    terminal::PROBES,
    resources::PROBES,
];

fn main() -> ExitCode {
    let mut words = Words::of_this_process();
    let Some(name) = words.next() else { return usage("which probe?") };
    let mut probes = SECTIONS.iter().copied().flatten();
    if name == "--list" {
        let mut all: Vec<_> = probes.collect();
        all.sort_by_key(|probe| probe.threat);
        all.iter().for_each(|probe| println!("{:3} {} {}", probe.threat, probe.name, probe.takes));
        return ExitCode::SUCCESS;
    }
    let Some(probe) = probes.find(|probe| *probe.name == *name) else {
        return usage(&format!("there is no probe {name}"));
    };
    match probe.run(words) {
        Ok(line) => {
            println!("{line}");
            ExitCode::SUCCESS
        }
        Err(mistake) => usage(&format!("{name} {}: {mistake}", probe.takes)),
    }
}

fn usage(mistake: &str) -> ExitCode {
    eprintln!("cofferdam-probe: {mistake}\nhint: cofferdam-probe --list names them all");
    ExitCode::from(64)
}
