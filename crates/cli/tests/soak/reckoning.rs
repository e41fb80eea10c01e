//! What must hold when it is over.

use std::collections::{BTreeMap, HashSet};

use super::bed::Bed;
use super::canary;
use super::load::Growth;
use super::scene::CANARIES;
use super::tally::Tally;

/// More than this after as many requests again is a leak.
const KILOBYTES: u64 = 1024;

pub fn settle(bed: &Bed, tally: &Tally, growth: &Growth) {
    let odd = tally.unexplained();
    assert!(odd.is_empty(), "requests that ended without a reason:\n{}", odd.join("\n"));
    nothing_grew(growth);
    keys_alone_arrived(bed);
    all_is_on_record(bed, tally);
    bed.egress(&["audit", "verify"]).expect_status(0);
    let found = canary::found(bed);
    assert!(found.is_empty(), "the key was found in:\n{}", found.join("\n"));
    assert!(!canary::has_core(bed.home.path()) && !canary::has_core(&bed.disk.path("")));
}

fn nothing_grew(growth: &Growth) {
    let [before, after] = growth.held;
    for (before, after) in before.kilobytes.into_iter().zip(after.kilobytes) {
        assert!(after <= before + KILOBYTES, "memory grows:\n{growth}");
    }
}

fn keys_alone_arrived(bed: &Bed) {
    for arrived in bed.upstream.arrived() {
        assert!(CANARIES.contains(&arrived.credential.as_str()), "a host got {arrived:?}");
    }
}

/// Whatever reached a host, was answered or was refused is there, and every answer has its end.
fn all_is_on_record(bed: &Bed, tally: &Tally) {
    let record = bed.record();
    let of_kind = |kind: &'static str| record.iter().filter(move |line| line["kind"] == kind);
    let numbers: HashSet<u64> = of_kind("egress-request")
        .filter_map(|line| line["path"].as_str()?.trim_start_matches('/').parse().ok())
        .collect();
    let arrived = bed.upstream.arrived();
    let missing: Vec<_> = arrived.iter().filter(|arrived| !numbers.contains(&arrived.number)).collect();
    assert!(missing.is_empty(), "they reached a host and are not on record: {missing:?}");
    let nowhere = ["lost", "not started", "proxy-restarting", "record-unavailable"];
    let asked = tally.all();
    let answered = asked.iter().filter(|asked| !nowhere.contains(&asked.end.as_str()));
    let missing: Vec<_> = answered.filter(|asked| !numbers.contains(&asked.number)).collect();
    assert!(missing.is_empty(), "they were answered and are not on record: {missing:?}");
    let mut open = BTreeMap::<&str, i64>::new();
    for (kind, step) in [("egress-request", 1), ("egress-response", -1)] {
        for line in of_kind(kind).filter(|line| line["decision"] != "refused") {
            *open.entry(line["host"].as_str().unwrap_or_default()).or_default() += step;
        }
    }
    let crashes = i64::try_from(of_kind("worker-crashed").count()).expect("few");
    // Each crash may cut off what all clients had under way.
    let most = 8 * crashes;
    assert!(open.values().all(|open| (0..=most).contains(open)), "ends are missing: {open:?}");
}
