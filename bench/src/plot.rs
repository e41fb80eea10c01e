//! What was found, as a picture: bars for what was done side by side, with a line at the limit, and curves on
//! logarithmic axes for what grows. Plain SVG, light or dark as the reader likes.

use std::fmt::Write;

use crate::entry::{Entry, Found, Line, Measured};
use crate::harness::Unit;
use crate::part::Part;
use crate::show::{count, scaled};

const WIDTH: f64 = 960.0;
const LEFT: f64 = 330.0;
const RIGHT: f64 = 250.0;
const BAR: f64 = 22.0;
const CURVES: f64 = 260.0;
const COLOURS: [&str; 4] = ["#2f7ed8", "#d9702e", "#3f9a5f", "#9457b5"];
const STYLE: &str = "\
text{font:13px system-ui,sans-serif;fill:#222}.title{font-weight:600;font-size:15px}.faint{fill:#777}\
.ours{fill:#2f7ed8}.peer{fill:#b9bec7}.limit{fill:#e3c26b}line{stroke:#999}.mark{stroke:#c0392b;stroke-dasharray:4 3}\
rect.page{fill:#fff}@media(prefers-color-scheme:dark){rect.page{fill:#16181d}text{fill:#e6e6e6}.faint{fill:#9a9a9a}\
.peer{fill:#5b626e}}";

/// All of it, one panel below the other.
pub fn svg(entries: &[Entry]) -> String {
    let mut panels = String::new();
    let mut y = 20.0;
    for entry in entries {
        y += match &entry.found {
            Found::SideBySide { unit, cases } => bars(&mut panels, y, &entry.title, (*unit, cases)),
            Found::Growth { unit, of, lines } => curves(&mut panels, y, &entry.title, (*unit, of, lines)),
            Found::NotMeasured { .. } | Found::Fact { .. } => 0.0,
        };
    }
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {y}\"><style>{STYLE}</style>\
         <rect class=\"page\" width=\"{WIDTH}\" height=\"{y}\"/>\n{panels}</svg>\n"
    )
}

/// The longer the better: a bar is as long as it is many times as good as the worst, up to the best.
fn bars(out: &mut String, y: f64, title: &str, (unit, cases): (Unit, &[Measured])) -> f64 {
    text(out, (20.0, y + 16.0), "title", title);
    let good = |value: f64| if unit.more_is_better() { value } else { 1.0 / value };
    let best = cases.iter().map(|case| good(case.median)).fold(f64::MIN_POSITIVE, f64::max);
    let room = WIDTH - LEFT - RIGHT;
    let length = |value: f64| (good(value) / best * room).max(1.0);
    for (row, case) in cases.iter().enumerate() {
        let top = y + 28.0 + row as f64 * BAR;
        let class = match case.part {
            Part::Ours => "ours",
            Part::Peer => "peer",
            Part::Limit => "limit",
        };
        let _ = writeln!(
            out,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text><rect class=\"{class}\" x=\"{LEFT}\" y=\"{top:.1}\" \
             width=\"{:.1}\" height=\"{:.1}\"/>",
            LEFT - 8.0,
            top + 14.0,
            escaped(&case.name),
            length(case.median),
            BAR - 5.0
        );
        spread(out, top, [case.p10, case.p90].map(length));
        let of_peer = case.of_best_peer.filter(|_| case.part == Part::Ours);
        let of_peer = of_peer.map(|ratio| format!(", {ratio:.2}\u{d7} the best peer")).unwrap_or_default();
        let label = format!("{}{of_peer}", scaled(case.median, unit));
        text(out, (LEFT + length(case.median) + 8.0, top + 14.0), "", &label);
    }
    let height = cases.len() as f64 * BAR;
    if let Some(limit) = cases.iter().find(|case| case.part == Part::Limit) {
        line(
            out,
            "mark",
            [LEFT + length(limit.median), y + 24.0],
            [LEFT + length(limit.median), y + 30.0 + height],
        );
    }
    height + 60.0
}

/// From 10 % to 90 % of the rounds.
fn spread(out: &mut String, top: f64, ends: [f64; 2]) {
    let middle = top + (BAR - 5.0) / 2.0;
    line(out, "", [LEFT + ends[0], middle], [LEFT + ends[1], middle]);
}

fn curves(out: &mut String, y: f64, title: &str, (unit, of, lines): (Unit, &str, &[Line])) -> f64 {
    text(out, (20.0, y + 16.0), "title", title);
    let points = || lines.iter().flat_map(|line| &line.points);
    let (x_axis, y_axis) =
        (Axis::over(points().map(|point| point.0)), Axis::over(points().map(|point| point.1)));
    let (top, bottom) = (y + 34.0, y + 34.0 + CURVES);
    let (left, right) = (90.0, WIDTH - RIGHT);
    for power in x_axis.powers() {
        let x = left + x_axis.part(10_f64.powi(power)) * (right - left);
        line(out, "", [x, bottom], [x, bottom + 5.0]);
        text(out, (x - 8.0, bottom + 20.0), "faint", &count(10_f64.powi(power)));
    }
    for power in y_axis.powers() {
        let y = bottom - y_axis.part(10_f64.powi(power)) * (bottom - top);
        line(out, "", [left - 5.0, y], [right, y]);
        text(out, (10.0, y + 4.0), "faint", &scaled(10_f64.powi(power), unit));
    }
    for (curve, colour) in lines.iter().zip(COLOURS.iter().cycle()) {
        let place = |(x, y): &(f64, f64)| {
            [left + x_axis.part(*x) * (right - left), bottom - y_axis.part(*y) * (bottom - top)]
        };
        let path: Vec<String> =
            curve.points.iter().map(place).map(|[x, y]| format!("{x:.1},{y:.1}")).collect();
        let _ = writeln!(
            out,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>",
            path.join(" ")
        );
        if let Some([x, y]) = curve.points.last().map(place) {
            let _ = writeln!(
                out,
                "<text x=\"{:.1}\" y=\"{:.1}\" style=\"fill:{colour}\">{}</text>",
                x + 8.0,
                y + 4.0,
                escaped(&curve.name)
            );
        }
    }
    text(out, (right - 40.0, bottom + 38.0), "faint", of);
    CURVES + 90.0
}

/// A logarithmic axis over whole powers of ten.
struct Axis {
    first: i32,
    last: i32,
}

impl Axis {
    fn over(values: impl Iterator<Item = f64>) -> Self {
        let (mut low, mut high) = (f64::MAX, f64::MIN_POSITIVE);
        for value in values.filter(|value| *value > 0.0) {
            (low, high) = (low.min(value), high.max(value));
        }
        let first = low.log10().floor() as i32;
        Self { first, last: (high.log10().ceil() as i32).max(first + 1) }
    }

    fn powers(&self) -> std::ops::RangeInclusive<i32> {
        self.first..=self.last
    }

    /// Where a value lies between the ends.
    fn part(&self, value: f64) -> f64 {
        (value.log10() - f64::from(self.first)) / f64::from(self.last - self.first)
    }
}

fn text(out: &mut String, (x, y): (f64, f64), class: &str, words: &str) {
    let _ = writeln!(out, "<text x=\"{x:.1}\" y=\"{y:.1}\" class=\"{class}\">{}</text>", escaped(words));
}

fn line(out: &mut String, class: &str, from: [f64; 2], to: [f64; 2]) {
    let _ = writeln!(
        out,
        "<line class=\"{class}\" x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\"/>",
        from[0], from[1], to[0], to[1]
    );
}

fn escaped(words: &str) -> String {
    words.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::compare;

    #[test]
    fn a_picture_has_bars_the_limit_and_curves() {
        let mut cases = [("no proxy", 1.0), ("cofferdam", 2.0), ("hudsucker <1>", 4.0)]
            .map(|(name, seconds)| Measured::new(name, Unit::Seconds, 1.0, &[seconds]));
        compare(Unit::Seconds, &mut cases);
        let bars = Found::SideBySide { unit: Unit::Seconds, cases: cases.to_vec() };
        let line = Line { name: "verify".to_owned(), points: vec![(1e3, 1e-3), (1e6, 0.9)] };
        let curves = Found::Growth { unit: Unit::Seconds, of: "records".to_owned(), lines: vec![line] };
        let entry = |found| Entry { benchmark: "b".to_owned(), title: "t".to_owned(), found };
        let picture = svg(&[entry(bars), entry(curves)]);
        assert_eq!(picture.matches("class=\"ours\"").count(), 1);
        assert_eq!(picture.matches("class=\"mark\"").count(), 1);
        assert!(picture.contains("2.00\u{d7} the best peer") && picture.contains("hudsucker &lt;1&gt;"));
        assert!(picture.contains("<polyline") && picture.ends_with("</svg>\n"));
    }

    #[test]
    fn an_axis_covers_whole_powers_of_ten() {
        let axis = Axis::over([20.0, 9000.0].into_iter());
        assert_eq!(axis.powers(), 1..=4);
        assert!((axis.part(100.0) - 1.0 / 3.0).abs() < 1e-9);
    }
}
