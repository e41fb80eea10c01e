//! The credentials of the providers, and what to look for in answers.
//!
//! A source may be slow, so it is asked away from the threads that move bytes. A value is asked for again after a
//! moment, so that a rotated one is in use almost at once and the request path pays for one look at a clock.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use arc_swap::ArcSwap;
use cofferdam_audit::event::EgressReason;
use cofferdam_secrets::redaction::Patterns;
use cofferdam_secrets::{Secret, Store};

/// How old an answer of the store may be, in milliseconds.
const FRESH: u64 = 1000;
/// An upstream may send back a value that was rotated since; so many are remembered, the oldest go first.
const REMEMBERED: usize = 256;

pub(crate) struct Credentials {
    store: ArcSwap<Store>,
    start: Instant,
    known: ArcSwap<Known>,
    /// Held while the list changes.
    changing: Mutex<()>,
}

#[derive(Default)]
struct Known {
    /// The newest last.
    values: Vec<Arc<Value>>,
    patterns: Option<Arc<Patterns>>,
}

struct Value {
    provider: Box<str>,
    secret: Arc<Secret>,
    /// Milliseconds since the start.
    checked: AtomicU64,
}

impl Credentials {
    pub fn new(store: Store) -> Self {
        let known = ArcSwap::from_pointee(Known::default());
        Self { store: ArcSwap::from_pointee(store), start: Instant::now(), known, changing: Mutex::new(()) }
    }

    /// Asks another store from now on.
    pub fn replace(&self, store: Store) {
        self.store.store(Arc::new(store));
        self.known.load().values.iter().for_each(|value| value.checked.store(0, Ordering::Relaxed));
    }

    /// What must not come back to a client.
    pub fn patterns(&self) -> Option<Arc<Patterns>> {
        self.known.load().patterns.clone()
    }

    /// The credential of a provider. From here on it is looked for in every answer.
    pub async fn secret(&self, provider: &str) -> Result<Arc<Secret>, EgressReason> {
        let now = u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX);
        if let Some(value) = self.newest(provider)
            && now.saturating_sub(value.checked.load(Ordering::Relaxed)) < FRESH
        {
            return Ok(value.secret.clone());
        }
        let (store, name) = (self.store.load_full(), provider.to_owned());
        let answer = tokio::task::spawn_blocking(move || store.get(&name)).await;
        match answer {
            Ok(Some(Ok(secret))) => Ok(self.learn(provider, secret, now)),
            _ => Err(EgressReason::SourceUnavailable),
        }
    }

    /// An upstream did not accept this value.
    pub fn rejected(&self, provider: &str, secret: &Arc<Secret>) {
        self.store.load().invalidate(provider, secret);
        if let Some(value) = self.newest(provider) {
            value.checked.store(0, Ordering::Relaxed);
        }
    }

    fn newest(&self, provider: &str) -> Option<Arc<Value>> {
        self.known.load().values.iter().rev().find(|value| *value.provider == *provider).cloned()
    }

    fn learn(&self, provider: &str, secret: Arc<Secret>, now: u64) -> Arc<Secret> {
        let _changing = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(value) = self.newest(provider)
            && Arc::ptr_eq(&value.secret, &secret)
        {
            value.checked.store(now, Ordering::Relaxed);
            return secret;
        }
        let mut values = self.known.load().values.clone();
        if values.len() >= REMEMBERED {
            values.remove(0);
        }
        let checked = AtomicU64::new(now);
        values.push(Arc::new(Value { provider: provider.into(), secret: secret.clone(), checked }));
        // No secret is short enough to be refused: that is checked when it is taken in.
        let (patterns, _) =
            Patterns::new(values.iter().map(|value| (&*value.provider, value.secret.expose())));
        self.known.store(Arc::new(Known { values, patterns: Some(Arc::new(patterns)) }));
        secret
    }
}
