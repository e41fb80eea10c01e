//! What a benchmark is written against.

use std::io;
use std::path::{Path, PathBuf};

use crate::measure::measure;
use crate::report::{Form, Measured, Report};

/// What a number means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    BytesPerSecond,
    OperationsPerSecond,
    /// For one operation.
    Seconds,
    /// Of memory.
    Bytes,
}

/// One of the things that are compared. A round does the same amount of work in each of them.
pub struct Case<'a> {
    pub name: String,
    pub round: Box<dyn FnMut() + 'a>,
}

/// Runs benchmarks and keeps what they found.
pub struct Bench {
    cache: PathBuf,
    report: Report,
}

impl Bench {
    /// What is fetched or generated for benchmarks stays in the project's cache directory.
    pub fn new(form: Form) -> io::Result<Self> {
        let cache = std::env::var_os("COFFERDAM_BENCH_CACHE").unwrap_or_else(|| ".cache/bench".into());
        std::fs::create_dir_all(&cache)?;
        Ok(Self { cache: std::path::absolute(cache)?, report: Report::new(form) })
    }

    pub fn begin(&mut self, name: &str) {
        self.report.begin(name);
    }

    /// Measures all cases in turns, so that whatever else the machine does meets all of them alike. `amount`
    /// is the work of one round in bytes or operations.
    pub fn side_by_side(&mut self, title: &str, unit: Unit, amount: f64, mut cases: Vec<Case<'_>>) {
        eprintln!("measuring {title}");
        let times = measure(&mut cases);
        let results =
            cases.iter().zip(&times).map(|(case, times)| Measured::new(&case.name, unit, amount, times));
        self.report.add(title, unit, &results.collect::<Vec<_>>());
    }

    /// Reports what was measured elsewhere: for each case the seconds that one operation or byte took, or the
    /// memory.
    pub fn taken(&mut self, title: &str, unit: Unit, cases: Vec<(String, Vec<f64>)>) {
        let results = cases.into_iter().map(|(name, mut samples)| {
            samples.sort_by(f64::total_cmp);
            Measured::new(&name, unit, 1.0, &samples)
        });
        self.report.add(title, unit, &results.collect::<Vec<_>>());
    }

    /// Says that something could not be measured here.
    pub fn skip(&mut self, title: &str, why: &str) {
        self.report.skip(title, why);
    }

    /// The project's cache directory: peers that were installed, inputs that were generated.
    pub fn cache(&self) -> &Path {
        &self.cache
    }

    pub fn finish(&self) {
        self.report.finish();
    }
}
