//! What was found, as it goes from the process that measured to the one that shows it, and into `--json`.

use serde::{Deserialize, Serialize};

use crate::harness::Unit;
use crate::measure::quantile;
use crate::part::Part;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    pub benchmark: String,
    pub title: String,
    #[serde(flatten)]
    pub found: Found,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Found {
    /// The same work, done by several.
    SideBySide {
        unit: Unit,
        cases: Vec<Measured>,
    },
    /// The same thing done by one, while what it works on grows.
    Growth {
        unit: Unit,
        of: String,
        lines: Vec<Line>,
    },
    NotMeasured {
        why: String,
    },
    /// Something that is not a time.
    Fact {
        text: String,
    },
}

/// Median and the values that 10 % and 90 % of the rounds stay below, in the unit of the benchmark.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    pub name: String,
    pub part: Part,
    pub median: f64,
    pub p10: f64,
    pub p90: f64,
    pub rounds: usize,
    /// How many times as good as the best peer, and as the limit.
    pub of_best_peer: Option<f64>,
    pub of_limit: Option<f64>,
}

/// How one thing grows: what there was, and what it took.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Line {
    pub name: String,
    pub points: Vec<(f64, f64)>,
}

impl Measured {
    pub fn new(name: &str, unit: Unit, amount: f64, sorted: &[f64]) -> Self {
        let value = |seconds: f64| match unit {
            Unit::BytesPerSecond | Unit::OperationsPerSecond => amount / seconds,
            Unit::Seconds | Unit::Bytes => seconds / amount,
        };
        let (a, b) = (value(quantile(sorted, 0.1)), value(quantile(sorted, 0.9)));
        Self {
            name: name.to_owned(),
            part: Part::of(name),
            median: value(quantile(sorted, 0.5)),
            p10: a.min(b),
            p90: a.max(b),
            rounds: sorted.len(),
            of_best_peer: None,
            of_limit: None,
        }
    }
}

/// Sets each case against the best of the peers and against the limit.
pub fn compare(unit: Unit, cases: &mut [Measured]) {
    let best = |part: Part| {
        let medians = cases.iter().filter(|case| case.part == part).map(|case| case.median);
        medians.reduce(|a, b| if unit.is_better(a, b) { a } else { b })
    };
    let (peer, limit) = (best(Part::Peer), best(Part::Limit));
    for case in cases {
        case.of_best_peer = peer.map(|peer| unit.times_as_good(case.median, peer));
        case.of_limit = limit.map(|limit| unit.times_as_good(case.median, limit));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_case_is_set_against_the_best_peer_and_the_limit() {
        let seconds = |name: &str, seconds: f64| Measured::new(name, Unit::Seconds, 1.0, &[seconds]);
        let mut cases = [
            seconds("fork and exec", 1.0),
            seconds("cofferdam run", 2.0),
            seconds("bubblewrap", 8.0),
            seconds("firejail", 40.0),
        ];
        compare(Unit::Seconds, &mut cases);
        assert_eq!((cases[1].of_best_peer, cases[1].of_limit), (Some(4.0), Some(0.5)));
        let rate = |name: &str, seconds: f64| Measured::new(name, Unit::BytesPerSecond, 100.0, &[seconds]);
        let mut cases = [rate("no proxy", 1.0), rate("cofferdam", 2.0), rate("hudsucker", 4.0)];
        compare(Unit::BytesPerSecond, &mut cases);
        assert_eq!((cases[1].of_best_peer, cases[1].of_limit), (Some(2.0), Some(0.5)));
    }

    #[test]
    fn spread_is_given_from_low_to_high_whatever_the_unit() {
        let slow = Measured::new("c", Unit::Seconds, 10.0, &[1.0, 2.0, 3.0]);
        assert_eq!((slow.median, slow.p10 < slow.p90), (0.2, true));
        let fast = Measured::new("c", Unit::OperationsPerSecond, 10.0, &[1.0, 2.0, 3.0]);
        assert!(fast.p10 < fast.p90);
    }

    #[test]
    fn an_entry_survives_its_way_between_processes() {
        let found = Found::Growth {
            unit: Unit::Seconds,
            of: "rules".to_owned(),
            lines: vec![Line { name: "one question".to_owned(), points: vec![(10.0, 1e-7)] }],
        };
        let entry = Entry { benchmark: "growth".to_owned(), title: "rules".to_owned(), found };
        let text = serde_json::to_string(&entry).unwrap();
        assert_eq!(serde_json::from_str::<Entry>(&text).unwrap(), entry);
    }
}
