//! What a benchmark is written against.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::entry::{Entry, Found, Line, Measured, compare};
use crate::measure::{Effort, measure, quantile};

/// What a number means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Unit {
    #[serde(rename = "bytes/s")]
    BytesPerSecond,
    #[serde(rename = "operations/s")]
    OperationsPerSecond,
    /// For one operation.
    #[serde(rename = "s")]
    Seconds,
    /// Of memory.
    #[serde(rename = "bytes")]
    Bytes,
}

impl Unit {
    pub fn more_is_better(self) -> bool {
        matches!(self, Self::BytesPerSecond | Self::OperationsPerSecond)
    }

    pub fn is_better(self, one: f64, other: f64) -> bool {
        if self.more_is_better() { one > other } else { one < other }
    }

    pub fn times_as_good(self, one: f64, other: f64) -> f64 {
        if self.more_is_better() { one / other } else { other / one }
    }
}

/// One of the things that are compared. A round does the same amount of work in each of them.
pub struct Case<'a> {
    pub name: String,
    pub round: Box<dyn FnMut() + 'a>,
}

/// Runs one benchmark and tells what it found, a line for each thing, as soon as it is known.
pub struct Bench {
    name: String,
    cache: PathBuf,
    effort: Effort,
}

impl Bench {
    /// What is fetched or generated for benchmarks stays in the project's cache directory.
    pub fn new(name: &str, effort: Effort) -> io::Result<Self> {
        let cache = std::env::var_os("COFFERDAM_BENCH_CACHE").unwrap_or_else(|| ".cache/bench".into());
        std::fs::create_dir_all(&cache)?;
        Ok(Self { name: name.to_owned(), cache: std::path::absolute(cache)?, effort })
    }

    /// Measures all cases in turns, so that whatever else the machine does meets all of them alike. `amount`
    /// is the work of one round in bytes or operations.
    pub fn side_by_side(&mut self, title: &str, unit: Unit, amount: f64, mut cases: Vec<Case<'_>>) {
        eprintln!("measuring {title}");
        let times = measure(&mut cases, self.effort.patience());
        let results =
            cases.iter().zip(&times).map(|(case, times)| Measured::new(&case.name, unit, amount, times));
        self.compared(title, unit, results.collect());
    }

    /// Reports what was measured elsewhere: for each case the seconds that one operation or byte took, or the
    /// memory.
    pub fn taken(&mut self, title: &str, unit: Unit, cases: Vec<(String, Vec<f64>)>) {
        let results = cases.into_iter().map(|(name, mut samples)| {
            samples.sort_by(f64::total_cmp);
            Measured::new(&name, unit, 1.0, &samples)
        });
        self.compared(title, unit, results.collect());
    }

    fn compared(&self, title: &str, unit: Unit, mut cases: Vec<Measured>) {
        compare(unit, &mut cases);
        self.tell(title, Found::SideBySide { unit, cases });
    }

    /// Reports how something grows. `of` says what there is more and more of.
    pub fn growth(&mut self, title: &str, unit: Unit, of: &str, lines: Vec<Line>) {
        self.tell(title, Found::Growth { unit, of: of.to_owned(), lines });
    }

    /// The median time of a round, for one point of a curve.
    pub fn median(&self, round: impl FnMut()) -> f64 {
        let case = Case { name: String::new(), round: Box::new(round) };
        let times = measure(&mut [case], self.effort.patience_for_a_point());
        quantile(&times[0], 0.5)
    }

    /// Says something that is not a time.
    pub fn fact(&mut self, text: &str) {
        self.tell("", Found::Fact { text: text.to_owned() });
    }

    /// Says that something could not be measured here.
    pub fn skip(&mut self, title: &str, why: &str) {
        self.tell(title, Found::NotMeasured { why: why.to_owned() });
    }

    /// The project's cache directory: peers that were installed, inputs that were generated.
    pub fn cache(&self) -> &Path {
        &self.cache
    }

    /// Whether a rough answer will do.
    pub fn is_quick(&self) -> bool {
        self.effort == Effort::Quick
    }

    fn tell(&self, title: &str, found: Found) {
        let entry = Entry { benchmark: self.name.clone(), title: title.to_owned(), found };
        println!("{}", serde_json::to_string(&entry).expect("plain data"));
    }
}

impl Effort {
    /// How long one benchmark may take; then it is ended, and what it has found so far stands.
    pub fn longest(self) -> Duration {
        Duration::from_secs(match self {
            Self::Full => 240,
            Self::Quick => 45,
        })
    }

    /// How long all of them may take together.
    pub fn longest_of_all(self) -> Duration {
        Duration::from_secs(
            60 * match self {
                Self::Full => 25,
                Self::Quick => 6,
            },
        )
    }
}
