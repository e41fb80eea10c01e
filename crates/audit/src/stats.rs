//! Counts over the record, and what in them is out of the ordinary.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::time::Duration;

use serde::Serialize;

use crate::chain::body;
use crate::error::AuditError;
use crate::event::Kind;
use crate::fields::Summary;
use crate::outside::HostName;
use crate::snapshot::{Snapshot, lines};
use crate::time::{Moment, WIDTH};

/// More refusals than this share of all decisions is worth a look.
const REFUSAL_SHARE: f64 = 0.05;
/// Without a time of its own, "new" means: not seen before the last day.
const RECENT: Duration = Duration::from_secs(24 * 60 * 60);

#[derive(Debug, Default, Serialize)]
pub struct Stats {
    pub records: u64,
    pub first: Option<String>,
    pub last: Option<String>,
    pub allowed: u64,
    pub refused: u64,
    pub kinds: Vec<Count>,
    pub reasons: Vec<Count>,
    pub hosts: Vec<HostCount>,
    pub anomalies: Vec<Anomaly>,
    /// Lines that are not records; `verify` says what is wrong with them.
    pub unreadable: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Count {
    pub name: String,
    pub count: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HostCount {
    pub host: String,
    pub allowed: u64,
    pub refused: u64,
    pub first_seen: String,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "anomaly", rename_all = "kebab-case")]
pub enum Anomaly {
    /// A host that was not asked for before the time that is looked at.
    FirstTimeHost { host: String, first_seen: String, refused: u64 },
    /// More than one in twenty decisions was a refusal.
    ManyRefusals { refused: u64, decisions: u64, percent: f64 },
}

impl Stats {
    pub fn refusal_percent(&self) -> Option<f64> {
        let decisions = self.allowed + self.refused;
        #[expect(clippy::cast_precision_loss, reason = "a share that people read")]
        (decisions > 0).then(|| self.refused as f64 / decisions as f64 * 100.0)
    }
}

/// What is counted in one chunk, and then in all of them.
#[derive(Default)]
struct Tally {
    records: u64,
    unreadable: u64,
    first: Option<[u8; WIDTH]>,
    last: Option<[u8; WIDTH]>,
    earliest: Option<[u8; WIDTH]>,
    allowed: u64,
    refused: u64,
    kinds: HashMap<Vec<u8>, u64>,
    reasons: HashMap<Vec<u8>, u64>,
    hosts: HashMap<Vec<u8>, HostTally>,
}

#[derive(Clone, Copy)]
struct HostTally {
    allowed: u64,
    refused: u64,
    /// Asked about within the time that is looked at.
    counted: bool,
    first: [u8; WIDTH],
}

impl Snapshot {
    /// Counts the records of some kinds since a moment; no kinds mean all. Hosts are compared with all that came
    /// before it.
    pub fn stats(&self, since: Option<Moment>, kinds: &[Kind]) -> Result<Stats, AuditError> {
        let since_text = since.map(Moment::to_text);
        let names: Vec<&[u8]> = kinds.iter().map(|kind| kind.name().as_bytes()).collect();
        let mut total = Tally::default();
        self.in_order(
            |chunk| {
                let mut tally = Tally::default();
                lines(chunk.bytes).for_each(|line| tally.add(line, since_text, &names));
                tally
            },
            |tally| {
                total.merge(&tally);
                ControlFlow::Continue(())
            },
        )?;
        Ok(total.finish(since.unwrap_or_else(|| Moment::now().before(RECENT))))
    }
}

impl Tally {
    fn add(&mut self, line: &[u8], since: Option<[u8; WIDTH]>, kinds: &[&[u8]]) {
        let Some((summary, time)) =
            Summary::of(body(line)).and_then(|found| Some((found, found.time.try_into().ok()?)))
        else {
            self.unreadable += 1;
            return;
        };
        if !kinds.is_empty() && !kinds.contains(&summary.kind) {
            return;
        }
        self.earliest = Some(self.earliest.map_or(time, |earliest| earliest.min(time)));
        let counted = since.is_none_or(|since| time >= since);
        let (allowed, refused) = match summary.decision {
            b"allowed" if counted => (1, 0),
            b"refused" if counted => (0, 1),
            _ => (0, 0),
        };
        if !summary.host.is_empty() {
            let host = HostTally { allowed, refused, counted, first: time };
            self.add_host(summary.host, host);
        }
        if !counted {
            return;
        }
        self.records += 1;
        self.first = Some(self.first.map_or(time, |first| first.min(time)));
        self.last = Some(self.last.map_or(time, |last| last.max(time)));
        self.allowed += allowed;
        self.refused += refused;
        count(&mut self.kinds, summary.kind, 1);
        if !summary.reason.is_empty() {
            count(&mut self.reasons, summary.reason, 1);
        }
    }

    fn add_host(&mut self, host: &[u8], more: HostTally) {
        match self.hosts.get_mut(host) {
            Some(tally) => {
                tally.allowed += more.allowed;
                tally.refused += more.refused;
                tally.counted |= more.counted;
                tally.first = tally.first.min(more.first);
            }
            None => {
                self.hosts.insert(host.to_vec(), more);
            }
        }
    }

    fn merge(&mut self, other: &Self) {
        self.records += other.records;
        self.unreadable += other.unreadable;
        self.allowed += other.allowed;
        self.refused += other.refused;
        self.first = self.first.into_iter().chain(other.first).min();
        self.last = self.last.into_iter().chain(other.last).max();
        self.earliest = self.earliest.into_iter().chain(other.earliest).min();
        other.kinds.iter().for_each(|(name, number)| count(&mut self.kinds, name, *number));
        other.reasons.iter().for_each(|(name, number)| count(&mut self.reasons, name, *number));
        other.hosts.iter().for_each(|(host, tally)| self.add_host(host, *tally));
    }

    fn finish(self, recent: Moment) -> Stats {
        let mut stats = Stats {
            records: self.records,
            unreadable: self.unreadable,
            first: self.first.map(|time| text(&time)),
            last: self.last.map(|time| text(&time)),
            allowed: self.allowed,
            refused: self.refused,
            kinds: counts(self.kinds),
            reasons: counts(self.reasons),
            ..Stats::default()
        };
        let recent = recent.to_text();
        // In a record that begins within the time looked at, every host would be new.
        let reaches_back = self.earliest.is_some_and(|earliest| earliest < recent);
        let mut hosts: Vec<_> = self.hosts.into_iter().filter(|(_, tally)| tally.counted).collect();
        hosts.sort_by(|(a, x), (b, y)| (y.allowed + y.refused, a).cmp(&(x.allowed + x.refused, b)));
        for (host, tally) in hosts {
            let (host, first_seen) = (text(&host), text(&tally.first));
            if reaches_back && tally.first >= recent {
                let (host, first_seen) = (host.clone(), first_seen.clone());
                stats.anomalies.push(Anomaly::FirstTimeHost { host, first_seen, refused: tally.refused });
            }
            let (allowed, refused) = (tally.allowed, tally.refused);
            stats.hosts.push(HostCount { host, allowed, refused, first_seen });
        }
        if let Some(percent) = stats.refusal_percent().filter(|percent| *percent > REFUSAL_SHARE * 100.0) {
            let decisions = stats.allowed + stats.refused;
            stats.anomalies.push(Anomaly::ManyRefusals { refused: stats.refused, decisions, percent });
        }
        stats
    }
}

fn count(counts: &mut HashMap<Vec<u8>, u64>, name: &[u8], number: u64) {
    match counts.get_mut(name) {
        Some(count) => *count += number,
        None => {
            counts.insert(name.to_vec(), number);
        }
    }
}

fn counts(counts: HashMap<Vec<u8>, u64>) -> Vec<Count> {
    let mut counts: Vec<Count> =
        counts.into_iter().map(|(name, count)| Count { name: text(&name), count }).collect();
    counts.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.name.cmp(&b.name)));
    counts
}

/// What stands in a file may have been put there by anybody, so it is made visible once more.
fn text(bytes: &[u8]) -> String {
    HostName::new(bytes).as_str().to_owned()
}
