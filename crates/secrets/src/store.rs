//! Secrets that are kept for as long as their source says.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use cofferdam_policy::provider::{Provider, SecretSource};

use crate::loader::{LoadError, Loader};
use crate::secret::Secret;
use crate::stamp::Stamp;

/// A file that looks the same is read again all the same after this.
const FILE_TTL: Duration = Duration::from_secs(5);
/// A source that fails is not asked again for each of a thousand waiting requests, nor is one whose value an
/// upstream rejects: whoever can cause rejections must not be able to run the command in a loop.
const PAUSE: Duration = Duration::from_secs(5);

/// The secrets of a set of providers. One source is never read twice at the same time: whoever comes second
/// waits for the first one's answer.
pub struct Store {
    loader: Loader,
    slots: HashMap<String, Slot>,
}

struct Slot {
    provider: Provider,
    /// Held while the source is read.
    kept: RwLock<Option<Kept>>,
}

/// The last answer of a source. An old value is dropped before a new one is asked for: a source that has
/// stopped answering may have been told to.
struct Kept {
    answer: Result<Arc<Secret>, Arc<LoadError>>,
    at: Instant,
    /// What the source's file looked like just before it was read.
    stamp: Option<Stamp>,
}

impl Store {
    pub fn new(loader: Loader, providers: impl IntoIterator<Item = Provider>) -> Self {
        let slot =
            |provider: Provider| (provider.name.to_string(), Slot { provider, kept: RwLock::new(None) });
        Self { loader, slots: providers.into_iter().map(slot).collect() }
    }

    /// The secret of a provider, read now or a short while ago; nothing for a provider the store does not
    /// know.
    pub fn get(&self, provider: &str) -> Option<Result<Arc<Secret>, Arc<LoadError>>> {
        self.get_at(provider, Instant::now())
    }

    /// The secret of a provider if it need not be read now: nobody waits for anything but a look at a file.
    pub fn at_hand(&self, provider: &str) -> Option<Arc<Secret>> {
        let slot = self.slots.get(provider)?;
        // Somebody who reads the source just now holds this.
        let kept = slot.kept.try_read().ok()?;
        let kept = kept.as_ref().filter(|kept| kept.is_fresh(&slot.provider, Instant::now()))?;
        kept.answer.as_ref().ok().cloned()
    }

    /// Says that an upstream did not accept this value, so that the next [`Store::get`] reads the source
    /// again. A value that has already been replaced, or that was read a moment ago, stays.
    pub fn invalidate(&self, provider: &str, rejected: &Arc<Secret>) {
        self.invalidate_at(provider, rejected, Instant::now());
    }

    fn get_at(&self, provider: &str, now: Instant) -> Option<Result<Arc<Secret>, Arc<LoadError>>> {
        let slot = self.slots.get(provider)?;
        let mut kept = slot.kept.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(kept) = kept.as_ref().filter(|kept| kept.is_fresh(&slot.provider, now)) {
            return Some(kept.answer.clone());
        }
        *kept = None;
        let stamp = self.loader.file(&slot.provider).map(Stamp::of);
        let asked = Instant::now();
        let answer = self.loader.load(&slot.provider).map(|loaded| loaded.secret);
        // A value may be as old as the question; the pause after a failure starts when it is known, or a
        // source that fails slowly would be asked again at once.
        let at = if answer.is_ok() { now } else { now + asked.elapsed() };
        *kept = Some(Kept { answer: answer.clone(), at, stamp });
        Some(answer)
    }

    fn invalidate_at(&self, provider: &str, rejected: &Arc<Secret>, now: Instant) {
        let Some(slot) = self.slots.get(provider) else { return };
        let mut kept = slot.kept.write().unwrap_or_else(PoisonError::into_inner);
        let is_rejected =
            |kept: &Kept| kept.answer.as_ref().is_ok_and(|secret| Arc::ptr_eq(secret, rejected));
        if kept.as_ref().is_some_and(|kept| is_rejected(kept) && kept.age(now) >= PAUSE) {
            *kept = None;
        }
    }
}

impl Kept {
    fn is_fresh(&self, provider: &Provider, now: Instant) -> bool {
        let ttl = match (&self.answer, &provider.secret) {
            (Err(_), _) => PAUSE,
            // The environment of a process does not change.
            (Ok(_), None | Some(SecretSource::Env { .. })) => return true,
            (Ok(_), Some(SecretSource::Dotenv { .. } | SecretSource::File { .. })) if self.is_as_it_was() => {
                FILE_TTL
            }
            (Ok(_), Some(SecretSource::Dotenv { .. } | SecretSource::File { .. })) => return false,
            (
                Ok(_),
                Some(
                    SecretSource::Command { ttl, .. }
                    | SecretSource::Bitwarden { ttl, .. }
                    | SecretSource::OnePassword { ttl, .. }
                    | SecretSource::Vault { ttl, .. }
                    | SecretSource::Keyring { ttl, .. },
                ),
            ) => *ttl,
        };
        self.age(now) < ttl
    }

    fn is_as_it_was(&self) -> bool {
        self.stamp.as_ref().is_none_or(Stamp::is_current)
    }

    fn age(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.at)
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;
    use std::fs;
    use std::path::Path;

    use super::*;
    use crate::loader::{EnvironmentFallback, tests::loader, tests::provider};

    const TTL: Duration = Duration::from_secs(300);

    /// A command that counts its calls in a file and prints `canary-N`.
    fn counting(directory: &Path, then: &str) -> Store {
        let script = format!(
            "cd {} && echo x >> calls && echo canary-$(grep -c x calls); {then}",
            directory.display()
        );
        let argv = ["/bin/sh".to_owned(), "-c".to_owned(), format!("PATH=/usr/bin:/bin; {script}")];
        let argv = Cow::Owned(argv.into_iter().map(Cow::Owned).collect());
        let source = SecretSource::Command { argv, ttl: TTL, timeout: Duration::from_secs(20) };
        Store::new(loader(&[], EnvironmentFallback::Refuse), [provider(Some(source))])
    }

    fn calls(directory: &Path) -> usize {
        fs::read_to_string(directory.join("calls")).map_or(0, |calls| calls.lines().count())
    }

    fn get(store: &Store, now: Instant) -> Arc<Secret> {
        store.get_at("acme", now).expect("known").expect("loaded")
    }

    #[test]
    fn req_e10_a_value_is_kept_for_its_time_and_then_read_again() {
        let directory = tempfile::tempdir().expect("a directory");
        let store = counting(directory.path(), "true");
        let start = Instant::now();
        assert_eq!(get(&store, start).expose(), b"canary-1");
        assert_eq!(get(&store, start + TTL - Duration::from_nanos(1)).expose(), b"canary-1");
        assert_eq!(get(&store, start + TTL).expose(), b"canary-2");
        assert!(store.get_at("unknown", start).is_none());
    }

    #[test]
    fn req_e10_a_rejected_value_is_read_again_but_not_in_a_loop() {
        let directory = tempfile::tempdir().expect("a directory");
        let store = counting(directory.path(), "true");
        let start = Instant::now();
        let first = get(&store, start);
        store.invalidate_at("acme", &first, start);
        assert_eq!(get(&store, start).expose(), b"canary-1", "it was read a moment ago");
        store.invalidate_at("acme", &first, start + PAUSE);
        let second = get(&store, start + PAUSE);
        assert_eq!(second.expose(), b"canary-2");
        store.invalidate_at("acme", &first, start + 3 * PAUSE);
        assert!(Arc::ptr_eq(&second, &get(&store, start + 3 * PAUSE)), "the first one is gone already");
    }

    #[test]
    fn a_failure_is_remembered_for_a_moment_and_no_old_value_is_kept() {
        let directory = tempfile::tempdir().expect("a directory");
        let store = counting(directory.path(), "[ $(grep -c x calls) = 1 ]");
        let start = Instant::now();
        get(&store, start);
        let late = start + TTL;
        assert!(store.get_at("acme", late).expect("known").is_err());
        assert!(store.get_at("acme", late + PAUSE / 2).expect("known").is_err());
        assert_eq!(calls(directory.path()), 2);
        assert!(store.get_at("acme", late + 60 * PAUSE).expect("known").is_err());
        assert_eq!(calls(directory.path()), 3);
    }

    #[test]
    fn many_at_once_read_the_source_once() {
        let directory = tempfile::tempdir().expect("a directory");
        let store = counting(directory.path(), "true");
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| assert_eq!(get(&store, Instant::now()).expose(), b"canary-1"));
            }
        });
        assert_eq!(calls(directory.path()), 1);
    }

    #[test]
    fn req_e10_a_changed_file_reaches_the_next_request_without_a_restart() {
        use std::os::unix::fs::PermissionsExt;
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("key");
        fs::write(&path, "canary-old").expect("a file");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("chmod");
        let file = Cow::Owned(path.to_str().expect("text").to_owned());
        let source = SecretSource::File { file, key: None };
        let store = Store::new(loader(&[], EnvironmentFallback::Refuse), [provider(Some(source))]);
        let start = Instant::now();
        assert_eq!(get(&store, start).expose(), b"canary-old");
        fs::write(&path, "canary-new").expect("a file");
        assert_eq!(get(&store, start + FILE_TTL).expose(), b"canary-new");
    }
}
