//! How often what was decided: numbers for whoever watches the proxy, without a lock on the way of a request.

use std::sync::atomic::{AtomicU64, Ordering};

use cofferdam_audit::Event;
use cofferdam_audit::event::{EgressReason, Outcome};

/// Counted since the proxy was made.
#[derive(Debug)]
pub struct Counts {
    requests: Decisions,
    tunnels: Decisions,
    unrecorded: AtomicU64,
}

#[derive(Debug)]
struct Decisions {
    allowed: AtomicU64,
    /// In the order of the list of reasons.
    refused: Box<[AtomicU64]>,
}

impl Default for Counts {
    fn default() -> Self {
        Self { requests: Decisions::new(), tunnels: Decisions::new(), unrecorded: AtomicU64::new(0) }
    }
}

impl Counts {
    pub(crate) fn count(&self, event: &Event) {
        match event {
            Event::EgressRequest(request) => self.requests.count(&request.outcome),
            Event::EgressTunnel(tunnel) => self.tunnels.count(&tunnel.outcome),
            _ => {}
        }
    }

    pub(crate) fn count_unrecorded(&self) {
        self.unrecorded.fetch_add(1, Ordering::Relaxed);
    }

    /// Those that were let through, then every reason for which some were not.
    pub fn requests(&self) -> Vec<(Option<EgressReason>, u64)> {
        self.requests.read()
    }

    pub fn tunnels(&self) -> Vec<(Option<EgressReason>, u64)> {
        self.tunnels.read()
    }

    pub fn unrecorded(&self) -> u64 {
        self.unrecorded.load(Ordering::Relaxed)
    }
}

impl Decisions {
    fn new() -> Self {
        let refused = EgressReason::ALL.iter().map(|_| AtomicU64::new(0)).collect();
        Self { allowed: AtomicU64::new(0), refused }
    }

    fn count(&self, outcome: &Outcome<EgressReason>) {
        let counter = match outcome {
            Outcome::Allowed => &self.allowed,
            Outcome::Refused { reason } => &self.refused[*reason as usize],
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    fn read(&self) -> Vec<(Option<EgressReason>, u64)> {
        let refused = EgressReason::ALL.iter().zip(&self.refused);
        let refused = refused.map(|(reason, count)| (Some(*reason), count.load(Ordering::Relaxed)));
        let refused = refused.filter(|(_, count)| *count > 0);
        std::iter::once((None, self.allowed.load(Ordering::Relaxed))).chain(refused).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_has_a_counter_of_its_own() {
        let decisions = Decisions::new();
        for reason in EgressReason::ALL {
            decisions.count(&Outcome::Refused { reason: *reason });
        }
        decisions.count(&Outcome::Allowed);
        let expected = std::iter::once(None).chain(EgressReason::ALL.iter().copied().map(Some));
        assert_eq!(decisions.read(), expected.map(|reason| (reason, 1)).collect::<Vec<_>>());
    }
}
