//! How long a script may run and how often it may call.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// What a script is held to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    pub time: Duration,
    pub calls: u64,
    /// Bytes of the script's standard output that are kept.
    pub stdout: usize,
    pub stderr: usize,
    /// Bytes of one tool's result.
    pub result: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { time: Duration::from_secs(300), calls: 50, stdout: 50_000, stderr: 10_000, result: 100_000 }
    }
}

/// The time that counts: it stands still while somebody is being asked.
#[derive(Debug)]
pub struct Clock {
    limit: Duration,
    inner: Mutex<Inner>,
}

#[derive(Debug)]
struct Inner {
    started: Instant,
    /// How many wait for a person, and since when at least one does.
    waiting: u32,
    since: Instant,
    waited: Duration,
}

/// Somebody is being asked for as long as this lives.
#[derive(Debug)]
pub struct Waiting<'a>(&'a Clock);

impl Clock {
    pub fn start(limit: Duration) -> Self {
        let now = Instant::now();
        let inner = Inner { started: now, waiting: 0, since: now, waited: Duration::ZERO };
        Self { limit, inner: Mutex::new(inner) }
    }

    pub fn wait(&self) -> Waiting<'_> {
        let mut inner = self.lock();
        if inner.waiting == 0 {
            inner.since = Instant::now();
        }
        inner.waiting += 1;
        Waiting(self)
    }

    /// What is left; nothing when the time is up. While somebody is being asked it does not become less.
    pub fn left(&self) -> Duration {
        let inner = self.lock();
        let end = if inner.waiting > 0 { inner.since } else { Instant::now() };
        let counted = end.saturating_duration_since(inner.started).saturating_sub(inner.waited);
        self.limit.saturating_sub(counted)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let mut inner = self.0.lock();
        inner.waiting -= 1;
        if inner.waiting == 0 {
            let waited = inner.since.elapsed();
            inner.waited += waited;
        }
    }
}

/// How many calls were made, and how many frames were refused.
#[derive(Debug, Default)]
pub struct Tally {
    calls: AtomicU64,
    refused: AtomicU64,
}

impl Tally {
    /// Counts a call and gives its number, unless that would be one too many.
    pub fn call(&self, limit: u64) -> Option<u64> {
        let count = |calls| (calls < limit).then_some(calls + 1);
        self.calls.fetch_update(Ordering::Relaxed, Ordering::Relaxed, count).ok().map(|before| before + 1)
    }

    pub fn refuse(&self) {
        self.refused.fetch_add(1, Ordering::Relaxed);
    }

    pub fn calls(&self) -> u64 {
        self.calls.load(Ordering::Relaxed)
    }

    pub fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_stands_still_while_somebody_is_asked() {
        let clock = Clock::start(Duration::from_secs(100));
        let (first, second) = (clock.wait(), clock.wait());
        let before = clock.left();
        std::thread::sleep(Duration::from_millis(5));
        assert_eq!(clock.left(), before);
        drop(first);
        assert_eq!(clock.left(), before);
        drop(second);
        assert!(clock.left() <= before);
    }

    #[test]
    fn there_is_no_call_beyond_the_limit() {
        let tally = Tally::default();
        let made: Vec<Option<u64>> = (0..5).map(|_| tally.call(3)).collect();
        assert_eq!(made, [Some(1), Some(2), Some(3), None, None]);
        assert_eq!(tally.calls(), 3);
    }
}
