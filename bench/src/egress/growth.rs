//! What tunnels cost as there are more and more of them, open and idle after one request each.

use std::time::Instant;

use cofferdam_bench::entry::Line;
use cofferdam_bench::harness::{Bench, Unit};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::Field;
use super::role::Wire;

const TUNNELS: [usize; 5] = [1, 10, 100, 1_000, 10_000];
/// A proxy has two for each tunnel, and some of its own.
const DESCRIPTORS: u64 = 24_000;
const OWN_DESCRIPTORS: u64 = 1_000;

pub fn growth(bench: &mut Bench) {
    let most = most_tunnels();
    if !bench.is_quick() && most < TUNNELS[4] {
        bench.fact(&format!("{most} tunnels at most: this user may have no more files open (ulimit -Hn)"));
    }
    let sizes = TUNNELS.map(|tunnels| tunnels.min(most));
    let sizes = if bench.is_quick() { &sizes[..4] } else { &sizes[..] };
    let field = Field::new(bench, Wire::Http1);
    let (mut memory, mut time) = (Vec::new(), Vec::new());
    for contender in &field.contenders {
        let Some(process) = &contender.process else { continue };
        let mut open = Vec::new();
        let (mut held, mut taken) = (Vec::new(), Vec::new());
        for size in sizes {
            let (start, more) = (Instant::now(), size - open.len());
            let mut new = field.connections(&contender.way, more);
            field.runtime.block_on(async {
                for connection in &mut new {
                    connection.exchange(&contender.way.request("/")).await.expect("an answer");
                }
            });
            open.append(&mut new);
            taken.push((*size as f64, start.elapsed().as_secs_f64() / more as f64));
            held.push((*size as f64, process.memory()));
        }
        memory.push(Line { name: contender.name.to_owned(), points: held });
        time.push(Line { name: contender.name.to_owned(), points: taken });
    }
    bench.growth("memory with tunnels open", Unit::Bytes, "tunnels", memory);
    bench.growth("time for one more tunnel and a request in it", Unit::Seconds, "tunnels", time);
}

/// As many as a proxy that this process starts has descriptors for; root may go beyond its limit.
fn most_tunnels() -> usize {
    let enough = Rlimit { current: Some(DESCRIPTORS), maximum: Some(DESCRIPTORS) };
    let limits = getrlimit(Resource::Nofile);
    let has = match limits.current {
        Some(has) if has < DESCRIPTORS && setrlimit(Resource::Nofile, enough).is_err() => has,
        _ => DESCRIPTORS,
    };
    usize::try_from(has.saturating_sub(OWN_DESCRIPTORS) / 2).unwrap_or(TUNNELS[4])
}
