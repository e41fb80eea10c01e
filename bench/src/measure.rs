//! How times are taken: in turns, as many as it needs.

use std::time::{Duration, Instant};

use crate::harness::Case;

/// A sample is at least this long, so that the clock and the call do not count; short rounds are repeated.
const SAMPLE: Duration = Duration::from_millis(2);
/// Fewer samples say nothing about the spread.
const FEWEST: usize = 15;
/// More do not make a median any better.
const MOST: usize = 501;
/// However slow a round is, a median needs this many.
const AT_LEAST: usize = 3;
/// The median counts as known when the interval that holds it with 95 % is narrower than this part of it.
const STEADY: f64 = 0.02;

/// How much is done for a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effort {
    Full,
    /// A rough answer.
    Quick,
}

impl Effort {
    /// Enough is enough, however unsteady the machine is; the spread then says so.
    pub fn patience(self) -> Duration {
        match self {
            Self::Full => Duration::from_secs(6),
            Self::Quick => Duration::from_millis(1200),
        }
    }

    /// For one of the many points of a curve.
    pub fn patience_for_a_point(self) -> Duration {
        self.patience() / 4
    }
}

/// The times of one round, in seconds and ascending, for each case.
pub fn measure(cases: &mut [Case<'_>], patience: Duration) -> Vec<Vec<f64>> {
    let repeats: Vec<u32> = cases.iter_mut().map(calibrate).collect();
    let start = Instant::now();
    let mut times = in_turns(cases, &repeats, |turns, times| {
        let known = turns >= FEWEST && times.iter().all(|times| is_steady(times));
        known || turns == MOST || (turns >= AT_LEAST && start.elapsed() > patience)
    });
    for times in &mut times {
        times.sort_by(f64::total_cmp);
    }
    times
}

/// Takes one sample of each case in every turn, until it is enough. Every turn begins with another case, so
/// that none of them always comes after the same one.
fn in_turns(
    cases: &mut [Case<'_>],
    repeats: &[u32],
    is_enough: impl Fn(usize, &[Vec<f64>]) -> bool,
) -> Vec<Vec<f64>> {
    let mut times = vec![Vec::new(); cases.len()];
    let mut turns = 0;
    while !is_enough(turns, &times) {
        for offset in 0..cases.len() {
            let index = (turns + offset) % cases.len();
            let taken = sample(&mut cases[index], repeats[index]);
            times[index].push(taken.as_secs_f64() / f64::from(repeats[index]));
        }
        turns += 1;
    }
    times
}

/// How many rounds make a sample. The first round warms up and is not counted.
fn calibrate(case: &mut Case<'_>) -> u32 {
    let mut repeats = 1_u32;
    // A round that is long needs no second look.
    if sample(case, repeats) > 50 * SAMPLE {
        return repeats;
    }
    while sample(case, repeats) < SAMPLE {
        repeats = repeats.saturating_mul(2);
    }
    repeats
}

fn sample(case: &mut Case<'_>, repeats: u32) -> Duration {
    let start = Instant::now();
    for _ in 0..repeats {
        (case.round)();
    }
    start.elapsed()
}

/// Whether the median would be much the same if all were done again: the order statistics around it that
/// hold the true one with 95 % (binomial, n/2 ± 0.98 √n) lie close together.
fn is_steady(times: &[f64]) -> bool {
    let mut sorted = times.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = (sorted.len() - 1) as f64 / 2.0;
    let reach = 0.98 * (sorted.len() as f64).sqrt();
    let at = |position: f64| sorted[(position.max(0.0) as usize).min(sorted.len() - 1)];
    (at((middle + reach).ceil()) - at((middle - reach).floor())) <= STEADY * at(middle)
}

/// The value below which this part of the ascending values lies, between neighbours in proportion.
pub fn quantile(sorted: &[f64], part: f64) -> f64 {
    let position = part * (sorted.len() - 1) as f64;
    let below = sorted[position.floor() as usize];
    let above = sorted[position.ceil() as usize];
    below + (above - below) * position.fract()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_lie_between_neighbours() {
        let sorted = [1.0, 2.0, 3.0, 4.0];
        assert_eq!(quantile(&sorted, 0.5), 2.5);
        assert_eq!(quantile(&sorted, 0.0), 1.0);
        assert_eq!(quantile(&sorted, 1.0), 4.0);
        assert_eq!(quantile(&[7.0], 0.9), 7.0);
    }

    #[test]
    fn a_median_is_steady_when_the_middle_is_narrow() {
        let narrow: Vec<f64> = (0..101).map(|step| 1.0 + f64::from(step) * 1e-5).collect();
        let wide: Vec<f64> = (0..101).map(|step| 1.0 + f64::from(step) * 1e-2).collect();
        assert!(is_steady(&narrow));
        assert!(!is_steady(&wide));
    }

    #[test]
    fn all_cases_have_as_many_turns_and_none_is_always_first() {
        use std::cell::RefCell;
        let order = RefCell::new(Vec::new());
        let case = |name: usize| Case {
            name: name.to_string(),
            round: Box::new({
                let order = &order;
                move || order.borrow_mut().push(name)
            }),
        };
        let times = in_turns(&mut [case(0), case(1)], &[1, 2], |turns, _| turns == 3);
        assert_eq!(times.iter().map(Vec::len).collect::<Vec<_>>(), [3, 3]);
        assert_eq!(*order.borrow(), [0, 1, 1, 1, 1, 0, 0, 1, 1]);
    }
}
