//! What was found, as tables on a terminal.

use crate::entry::{Entry, Found, Line, Measured};
use crate::harness::Unit;

pub fn text(entry: &Entry) -> String {
    let title = &entry.title;
    match &entry.found {
        Found::SideBySide { unit, cases } => format!("\n{title}\n{}", side_by_side(*unit, cases)),
        Found::Growth { unit, of, lines } => format!("\n{title}\n{}", growth(*unit, of, lines)),
        Found::NotMeasured { why } => format!("\n{title}\n  not measured: {why}\n"),
        Found::Fact { text } => format!("{text}\n"),
    }
}

fn side_by_side(unit: Unit, cases: &[Measured]) -> String {
    let head = ["", "median", "p10 \u{2013} p90", "of best peer", "of limit", "rounds"].map(str::to_owned);
    let times = |ratio: Option<f64>| ratio.map_or("\u{2013}".to_owned(), |ratio| format!("{ratio:.2}\u{d7}"));
    let rows = cases.iter().map(|case| {
        [
            case.name.clone(),
            scaled(case.median, unit),
            format!("{} \u{2013} {}", scaled(case.p10, unit), scaled(case.p90, unit)),
            times(case.of_best_peer),
            times(case.of_limit),
            case.rounds.to_string(),
        ]
    });
    table(&[head].into_iter().chain(rows).map(Vec::from).collect::<Vec<_>>())
}

fn growth(unit: Unit, of: &str, lines: &[Line]) -> String {
    let amounts = lines.first().map(|line| line.points.as_slice()).unwrap_or_default();
    let head = [of.to_owned()].into_iter().chain(amounts.iter().map(|(amount, _)| count(*amount)));
    let rows = lines.iter().map(|line| {
        let values = line.points.iter().map(|(_, value)| scaled(*value, unit));
        [line.name.clone()].into_iter().chain(values).collect()
    });
    table(&[head.collect()].into_iter().chain(rows).collect::<Vec<Vec<String>>>())
}

fn table(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or_default();
    let width = |column: usize| {
        rows.iter()
            .filter_map(|row| row.get(column))
            .map(|cell| cell.chars().count())
            .max()
            .unwrap_or_default()
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for row in rows {
        for (column, cell) in row.iter().enumerate() {
            let width = widths[column];
            text.push_str(&if column == 0 {
                format!("  {cell:<width$}")
            } else {
                format!("  {cell:>width$}")
            });
        }
        text.push('\n');
    }
    text
}

/// A number of things.
pub fn count(amount: f64) -> String {
    match amount {
        amount if amount >= 1e6 => format!("{} M", amount / 1e6),
        amount if amount >= 1e3 => format!("{} k", amount / 1e3),
        amount => amount.to_string(),
    }
}

/// A number with three digits and the prefix that suits it.
pub fn scaled(value: f64, unit: Unit) -> String {
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
        assert_eq!([10.0, 1000.0, 1e7].map(count), ["10", "1 k", "10 M"]);
    }

    #[test]
    fn growth_is_a_row_for_each_line_and_a_column_for_each_amount() {
        let line = Line { name: "verify".to_owned(), points: vec![(1e3, 0.001), (1e6, 1.0)] };
        let shown = growth(Unit::Seconds, "records", &[line]);
        assert_eq!(shown, "  records      1 k     1 M\n  verify   1.00 ms  1.00 s\n");
    }
}
