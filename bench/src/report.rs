//! What was found, for a person or for a program.

use serde_json::{Value, json};

use crate::harness::Unit;
use crate::measure::quantile;

/// How it is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    Table,
    Json,
}

/// One case: median and the values that 10 % and 90 % of the rounds stay below, in the unit of the benchmark.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    name: String,
    median: f64,
    low: f64,
    high: f64,
    rounds: usize,
    /// Median time of a round, for the ratio.
    seconds: f64,
}

impl Measured {
    pub fn new(name: &str, unit: Unit, amount: f64, sorted: &[f64]) -> Self {
        let value = |seconds: f64| match unit {
            Unit::BytesPerSecond | Unit::OperationsPerSecond => amount / seconds,
            Unit::Seconds | Unit::Bytes => seconds / amount,
        };
        let (a, b) = (value(quantile(sorted, 0.1)), value(quantile(sorted, 0.9)));
        let seconds = quantile(sorted, 0.5);
        Self {
            name: name.to_owned(),
            median: value(seconds),
            low: a.min(b),
            high: a.max(b),
            rounds: sorted.len(),
            seconds,
        }
    }

    /// How many times as fast as another.
    fn ratio(&self, first: &Self) -> f64 {
        first.seconds / self.seconds
    }
}

#[derive(Debug)]
pub struct Report {
    form: Form,
    benchmark: String,
    entries: Vec<Value>,
}

impl Report {
    pub fn new(form: Form) -> Self {
        Self { form, benchmark: String::new(), entries: Vec::new() }
    }

    pub fn begin(&mut self, benchmark: &str) {
        benchmark.clone_into(&mut self.benchmark);
    }

    pub fn add(&mut self, title: &str, unit: Unit, results: &[Measured]) {
        match self.form {
            Form::Table => print!("{}", table(title, unit, results)),
            Form::Json => self.entries.push(self.measured(title, unit, results)),
        }
    }

    pub fn skip(&mut self, title: &str, why: &str) {
        match self.form {
            Form::Table => println!("\n{title}\n  not measured: {why}"),
            Form::Json => {
                let entry = json!({"benchmark": self.benchmark, "title": title, "not_measured": why});
                self.entries.push(entry);
            }
        }
    }

    pub fn finish(&self) {
        if self.form == Form::Json {
            println!("{:#}", Value::from(self.entries.clone()));
        }
    }

    fn measured(&self, title: &str, unit: Unit, results: &[Measured]) -> Value {
        let unit = match unit {
            Unit::BytesPerSecond => "bytes/s",
            Unit::OperationsPerSecond => "operations/s",
            Unit::Seconds => "s",
            Unit::Bytes => "bytes",
        };
        let cases: Vec<Value> = results
            .iter()
            .map(|result| {
                json!({
                    "name": result.name, "median": result.median, "p10": result.low, "p90": result.high,
                    "rounds": result.rounds, "times_as_fast_as_first": result.ratio(&results[0]),
                })
            })
            .collect();
        json!({"benchmark": self.benchmark, "title": title, "unit": unit, "cases": cases})
    }
}

/// A table as it is shown on a terminal.
fn table(title: &str, unit: Unit, results: &[Measured]) -> String {
    let mut rows = vec![["", "median", "p10 \u{2013} p90", "as fast as first", "rounds"].map(str::to_owned)];
    for result in results {
        rows.push([
            result.name.clone(),
            scaled(result.median, unit),
            format!("{} \u{2013} {}", scaled(result.low, unit), scaled(result.high, unit)),
            format!("{:.2}\u{d7}", result.ratio(&results[0])),
            result.rounds.to_string(),
        ]);
    }
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or_default();
    let widths = [0, 1, 2, 3, 4].map(width);
    let mut text = format!("\n{title}\n");
    for row in &rows {
        let [name, numbers @ ..] = row;
        text.push_str(&format!("  {name:<0$}", widths[0]));
        for (cell, width) in numbers.iter().zip(&widths[1..]) {
            text.push_str(&format!("  {cell:>width$}"));
        }
        text.push('\n');
    }
    text
}

/// A number with three digits and the prefix that suits it.
fn scaled(value: f64, unit: Unit) -> String {
    let suffix = match unit {
        Unit::BytesPerSecond => "B/s",
        Unit::OperationsPerSecond => "/s",
        Unit::Seconds => "s",
        Unit::Bytes => "B",
    };
    let prefixes =
        [(1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""), (1e-3, "m"), (1e-6, "\u{b5}"), (1e-9, "n")];
    let (factor, prefix) = prefixes.into_iter().find(|(factor, _)| value >= *factor).unwrap_or((1e-9, "n"));
    let number = value / factor;
    let digits = if number >= 100.0 {
        0
    } else if number >= 10.0 {
        1
    } else {
        2
    };
    format!("{number:.digits$} {prefix}{suffix}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits_and_a_prefix() {
        let cases = [
            (1.234e9, Unit::BytesPerSecond, "1.23 GB/s"),
            (45_600.0, Unit::OperationsPerSecond, "45.6 k/s"),
            (0.000_789, Unit::Seconds, "789 \u{b5}s"),
            (2.0, Unit::Seconds, "2.00 s"),
            (0.0, Unit::Seconds, "0.00 ns"),
        ];
        for (value, unit, text) in cases {
            assert_eq!(scaled(value, unit), text);
        }
    }

    #[test]
    fn the_ratio_says_how_many_times_as_fast() {
        let first = Measured::new("a", Unit::BytesPerSecond, 100.0, &[2.0]);
        let twice = Measured::new("b", Unit::BytesPerSecond, 100.0, &[1.0]);
        assert_eq!((first.median, twice.median, twice.ratio(&first)), (50.0, 100.0, 2.0));
        let slow = Measured::new("c", Unit::Seconds, 10.0, &[1.0, 2.0, 3.0]);
        assert_eq!((slow.median, slow.low < slow.high), (0.2, true));
    }
}
