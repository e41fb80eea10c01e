//! What a client may use: requests, requests at once, and bytes; of everything, and of each provider.
//!
//! A minute's worth may be used at once, and comes back evenly over the minute. What is counted is the time at which
//! all that was used will have come back, in one number: no window that begins anew, in which twice as much would fit
//! around its border, and no list of what happened when.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Instant;

use cofferdam_audit::event::EgressReason;
use cofferdam_policy::document::EgressLimits;

use crate::client::Client;

const MINUTE: u64 = 60 * 1_000_000_000;

/// What a client has used.
#[derive(Debug, Default)]
pub struct Allowance {
    all: Arc<Used>,
    /// Connections that are open.
    connections: AtomicU32,
    /// By the name of the provider; only those of the policy come here, so there are few.
    providers: Mutex<HashMap<Box<str>, Arc<Used>>>,
}

#[derive(Debug, Default)]
struct Used {
    requests: Meter,
    bytes: Meter,
    at_once: AtomicU32,
}

/// When what was used will have come back, in nanoseconds of [`now`].
#[derive(Debug, Default)]
struct Meter(AtomicU64);

/// The right to one request. It counts as under way while this lives.
#[derive(Debug)]
pub(crate) struct Permit {
    all: Arc<Used>,
    provider: Option<Arc<Used>>,
    bytes_per_minute: Option<u64>,
}

/// One open connection.
pub(crate) struct Connected {
    client: Arc<Client>,
    pub crowd: Crowd,
}

/// How many connections a client has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Crowd {
    Fits,
    /// This one is too many, and can still be told so.
    TooMany,
    /// So many that nobody is told anything.
    FarTooMany,
}

impl Connected {
    pub fn new(client: &Arc<Client>) -> Self {
        let count = client.used.connections.fetch_add(1, Ordering::Relaxed) + 1;
        let limit = client.policy.now().egress.limits.connections.unwrap_or(u32::MAX);
        let crowd = match count {
            _ if count <= limit => Crowd::Fits,
            _ if count - limit <= limit.div_ceil(4) => Crowd::TooMany,
            _ => Crowd::FarTooMany,
        };
        Self { client: client.clone(), crowd }
    }
}

impl Drop for Connected {
    fn drop(&mut self) {
        self.client.used.connections.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Allowance {
    /// Takes one request out of what is left.
    pub(crate) fn take(&self, limits: &EgressLimits, provider: Option<&str>) -> Result<Permit, EgressReason> {
        self.take_at(limits, provider, now())
    }

    fn take_at(
        &self,
        limits: &EgressLimits,
        provider: Option<&str>,
        now: u64,
    ) -> Result<Permit, EgressReason> {
        let provider = provider.map(|name| self.provider(name));
        let limited = limits.provider_requests_per_minute.zip(provider.as_ref());
        if limits.bytes_per_minute.is_some_and(|_| self.all.bytes.is_used_up(now)) {
            return Err(EgressReason::BytesLimited);
        }
        if limited.is_some_and(|(limit, used)| !used.requests.take(u64::from(limit), now))
            || limits.requests_per_minute.is_some_and(|limit| !self.all.requests.take(limit.into(), now))
        {
            return Err(EgressReason::RateLimited);
        }
        // From here on dropping it gives back what was taken.
        let permit = Permit { all: self.all.clone(), provider, bytes_per_minute: limits.bytes_per_minute };
        let all = permit.all.enter();
        let of_provider = permit.provider.as_ref().map_or(0, |used| used.enter());
        let is_over = |count: u32, limit: Option<u32>| limit.is_some_and(|limit| count > limit);
        match is_over(all, limits.concurrent_requests)
            || is_over(of_provider, limits.provider_concurrent_requests)
        {
            true => Err(EgressReason::ConcurrencyLimited),
            false => Ok(permit),
        }
    }

    fn provider(&self, name: &str) -> Arc<Used> {
        let mut providers = self.providers.lock().unwrap_or_else(PoisonError::into_inner);
        match providers.get(name) {
            Some(used) => used.clone(),
            None => providers.entry(name.into()).or_default().clone(),
        }
    }
}

impl Used {
    fn enter(&self) -> u32 {
        self.at_once.fetch_add(1, Ordering::Relaxed) + 1
    }
}

impl Permit {
    /// Bytes have gone through; whether there may be more.
    pub fn spend(&self, bytes: usize) -> Result<(), EgressReason> {
        let Some(limit) = self.bytes_per_minute else { return Ok(()) };
        match self.all.bytes.spend(bytes as u64, limit, now()) {
            true => Ok(()),
            false => Err(EgressReason::BytesLimited),
        }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.all.at_once.fetch_sub(1, Ordering::Relaxed);
        if let Some(provider) = &self.provider {
            provider.at_once.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

impl Meter {
    /// Uses one of so many in a minute, if there is one.
    fn take(&self, limit: u64, now: u64) -> bool {
        let taken = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |back| {
            let back = back.max(now) + MINUTE / limit.max(1);
            (back <= now + MINUTE).then_some(back)
        });
        taken.is_ok()
    }

    /// Uses what has been used anyway; whether that was still within the limit.
    fn spend(&self, amount: u64, limit: u64, now: u64) -> bool {
        let cost = u64::try_from(u128::from(amount) * u128::from(MINUTE) / u128::from(limit.max(1)));
        let cost = cost.unwrap_or(MINUTE).min(2 * MINUTE);
        let before = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |back| {
            Some(back.max(now).saturating_add(cost).min(now + 2 * MINUTE))
        });
        before.unwrap_or_default().max(now) + cost <= now + MINUTE
    }

    fn is_used_up(&self, now: u64) -> bool {
        self.0.load(Ordering::Relaxed) > now + MINUTE
    }
}

/// Nanoseconds since something was first counted.
fn now() -> u64 {
    static START: OnceLock<Instant> = OnceLock::new();
    u64::try_from(START.get_or_init(Instant::now).elapsed().as_nanos()).unwrap_or(u64::MAX / 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn req_e22_a_minutes_worth_at_once_and_then_as_it_comes_back() {
        let (allowance, limits) =
            (Allowance::default(), EgressLimits { requests_per_minute: Some(60), ..EgressLimits::default() });
        let take = |now| allowance.take_at(&limits, None, now).map(drop);
        for _ in 0..60 {
            assert_eq!(take(5 * SECOND), Ok(()));
        }
        assert_eq!(take(5 * SECOND), Err(EgressReason::RateLimited));
        assert_eq!(take(6 * SECOND), Ok(()));
        assert_eq!(take(6 * SECOND), Err(EgressReason::RateLimited));
        assert_eq!((0..99).filter(|_| take(500 * SECOND).is_ok()).count(), 60);
    }

    #[test]
    fn req_e22_requests_at_once_are_counted_until_they_end() {
        let limits = EgressLimits {
            concurrent_requests: Some(3),
            provider_concurrent_requests: Some(2),
            provider_requests_per_minute: Some(4),
            ..EgressLimits::default()
        };
        let allowance = Allowance::default();
        let take = |provider| allowance.take_at(&limits, provider, 0);
        let first = take(Some("a")).unwrap();
        let _second = take(Some("a")).unwrap();
        assert_eq!(take(Some("a")).unwrap_err(), EgressReason::ConcurrencyLimited);
        let _other = take(Some("b")).unwrap();
        assert_eq!(take(None).unwrap_err(), EgressReason::ConcurrencyLimited);
        drop(first);
        assert!(take(Some("a")).is_ok());
        assert_eq!(take(Some("a")).unwrap_err(), EgressReason::RateLimited);
        assert!(take(Some("b")).is_ok());
    }

    #[test]
    fn req_e22_bytes_are_used_up_and_come_back() {
        let limits = EgressLimits { bytes_per_minute: Some(1000), ..EgressLimits::default() };
        let allowance = Allowance::default();
        assert!(allowance.all.bytes.spend(600, 1000, 0));
        assert!(allowance.take_at(&limits, None, 0).is_ok());
        assert!(!allowance.all.bytes.spend(600, 1000, 0));
        assert_eq!(allowance.take_at(&limits, None, 0).unwrap_err(), EgressReason::BytesLimited);
        assert!(allowance.take_at(&limits, None, 13 * SECOND).is_ok());
        // However much it was, two minutes are enough.
        assert!(!allowance.all.bytes.spend(u64::MAX, 1, 13 * SECOND));
        assert!(allowance.take_at(&limits, None, 134 * SECOND).is_ok());
    }
}
