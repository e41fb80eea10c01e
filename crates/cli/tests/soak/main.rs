//! The daemon under load while everything around it goes wrong: nothing is lost without a reason, everything is on
//! record, nothing grows, and no secret lies anywhere.
//!
//! The short form runs with the tests. `cargo xtask soak --minutes N` runs the same for longer.

mod bed;
mod canary;
mod clock;
mod disk;
mod faults;
mod load;
mod reckoning;
mod scene;
mod tally;
mod upstream;
mod user;

use std::time::{Duration, Instant};

use bed::Bed;
use load::Load;
use tally::Tally;

/// Set by `cargo xtask soak`.
const LENGTH: &str = "COFFERDAM_SOAK_SECONDS";

#[test]
fn req_e15_e20_nothing_is_lost_and_nothing_leaks_while_everything_goes_wrong() {
    let length = std::env::var(LENGTH).ok().and_then(|text| text.parse().ok()).map(Duration::from_secs);
    let bed = Bed::new();
    let tally = Tally::default();
    let start = Instant::now();
    let mut rounds = 0;
    let load = Load::new(&bed, &tally);
    load.while_asking(|| {
        while rounds == 0 || length.is_some_and(|length| start.elapsed() < length) {
            faults::all(&bed, &tally);
            rounds += 1;
        }
    });
    let growth = load.measure_growth(if length.is_some() { 2000 } else { 150 });
    println!(
        "{rounds} rounds of faults in {:.0} s\n{}{growth}",
        start.elapsed().as_secs_f64(),
        tally.table()
    );
    reckoning::settle(&bed, &tally, &growth);
}
