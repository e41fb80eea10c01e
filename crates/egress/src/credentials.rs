//! The credentials of the providers, and what to look for in answers.
//!
//! A source may be slow, so it is asked away from the threads that move bytes, and only when the store has no answer
//! at hand that is still good.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwap;
use cofferdam_audit::event::EgressReason;
use cofferdam_secrets::redaction::Patterns;
use cofferdam_secrets::{Secret, Store};

use crate::scheme::sigv4::Keys;

/// An upstream may send back a value that was rotated since; so many are remembered, the oldest go first.
const REMEMBERED: usize = 256;

pub(crate) struct Credentials {
    store: ArcSwap<Store>,
    known: ArcSwap<Known>,
    /// Held while the list changes.
    changing: Mutex<()>,
    /// By provider.
    keys: Mutex<HashMap<Box<str>, KeysOf>>,
}

/// Keys, and the document they were read from.
type KeysOf = (Arc<Secret>, Arc<Keys>);

#[derive(Default)]
struct Known {
    /// The newest last.
    values: Vec<Arc<Value>>,
    patterns: Option<Arc<Patterns>>,
}

struct Value {
    provider: Box<str>,
    role: Role,
    secret: Arc<Secret>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    /// What the source gave.
    Stored,
    /// A part of that, or what was minted from it.
    Derived,
}

impl Credentials {
    pub fn new(store: Store) -> Self {
        let known = ArcSwap::from_pointee(Known::default());
        Self { store: ArcSwap::from_pointee(store), known, changing: Mutex::new(()), keys: Mutex::default() }
    }

    /// Asks another store from now on.
    pub fn replace(&self, store: Store) {
        self.store.store(Arc::new(store));
    }

    /// What must not come back to a client.
    pub fn patterns(&self) -> Option<Arc<Patterns>> {
        self.known.load().patterns.clone()
    }

    /// The credential of a provider. From here on it is looked for in every answer.
    pub async fn secret(&self, provider: &str) -> Result<Arc<Secret>, EgressReason> {
        if let Some(secret) = self.store.load().at_hand(provider) {
            return Ok(self.learn(provider, secret));
        }
        let (store, name) = (self.store.load_full(), provider.to_owned());
        let answer = tokio::task::spawn_blocking(move || store.get(&name)).await;
        match answer {
            Ok(Some(Ok(secret))) => Ok(self.learn(provider, secret)),
            _ => Err(EgressReason::SourceUnavailable),
        }
    }

    /// The parts of an AWS credential. Each of them is looked for in answers from here on.
    pub fn keys(&self, provider: &str, document: &Arc<Secret>) -> Result<Arc<Keys>, EgressReason> {
        let mut known = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, keys)) = known.get(provider).filter(|(from, _)| Arc::ptr_eq(from, document)) {
            return Ok(keys.clone());
        }
        let keys = Arc::new(Keys::read(document).map_err(|_| EgressReason::SourceUnavailable)?);
        self.hide(provider, keys.parts());
        known.insert(provider.into(), (document.clone(), keys.clone()));
        Ok(keys)
    }

    /// Looks for these in every answer from here on, besides what the source gave.
    pub fn hide(&self, provider: &str, secrets: Vec<Arc<Secret>>) {
        let _changing = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        self.remember(secrets.into_iter().map(|secret| Value {
            provider: provider.into(),
            role: Role::Derived,
            secret,
        }));
    }

    /// An upstream did not accept this value.
    pub fn rejected(&self, provider: &str, secret: &Arc<Secret>) {
        self.store.load().invalidate(provider, secret);
    }

    /// Whether it is the value of this provider that is looked for by now.
    fn is_known(&self, provider: &str, secret: &Arc<Secret>) -> bool {
        let known = self.known.load();
        let stored = known.values.iter().rev().filter(|value| value.role == Role::Stored);
        let newest = stored.into_iter().find(|value| *value.provider == *provider);
        newest.is_some_and(|value| Arc::ptr_eq(&value.secret, secret))
    }

    fn learn(&self, provider: &str, secret: Arc<Secret>) -> Arc<Secret> {
        if self.is_known(provider, &secret) {
            return secret;
        }
        let _changing = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        if !self.is_known(provider, &secret) {
            self.remember([Value { provider: provider.into(), role: Role::Stored, secret: secret.clone() }]);
        }
        secret
    }

    fn remember(&self, more: impl IntoIterator<Item = Value>) {
        let mut values = self.known.load().values.clone();
        values.extend(more.into_iter().map(Arc::new));
        values.drain(..values.len().saturating_sub(REMEMBERED));
        // No secret is short enough to be refused: that is checked when it is taken in.
        let (patterns, _) =
            Patterns::new(values.iter().map(|value| (&*value.provider, value.secret.expose())));
        self.known.store(Arc::new(Known { values, patterns: Some(Arc::new(patterns)) }));
    }
}
