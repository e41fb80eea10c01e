//! What became of every request, and what was wrong at the time.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::Instant;

use super::scene::Manner;

/// More do not make it clearer.
const SHOWN: usize = 20;

/// One request, as its client saw it.
#[derive(Debug, Clone)]
pub struct Asked {
    pub number: u64,
    pub manner: Manner,
    /// A status, a reason, `broken off` in the middle of an answer, or `lost` without any.
    pub end: String,
    /// What the client's library said, if it said more.
    detail: String,
    began: Instant,
    ended: Instant,
}

#[derive(Debug)]
struct Wrong {
    what: &'static str,
    /// The ends of requests that it accounts for.
    explains: &'static [&'static str],
    since: Instant,
    until: Option<Instant>,
}

#[derive(Debug, Default)]
pub struct Tally {
    next: AtomicU64,
    asked: Mutex<Vec<Asked>>,
    wrong: Mutex<Vec<Wrong>>,
}

impl Tally {
    pub fn number(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    pub fn add(&self, began: Instant, number: u64, manner: Manner, (end, detail): (&str, &str)) {
        let (end, detail) = (end.to_owned(), detail.to_owned());
        self.asked().push(Asked { number, manner, end, detail, began, ended: Instant::now() });
    }

    pub fn all(&self) -> Vec<Asked> {
        self.asked().clone()
    }

    /// Does something that accounts for these ends of requests that are under way meanwhile.
    pub fn while_wrong<T>(
        &self,
        what: &'static str,
        explains: &'static [&'static str],
        act: impl FnOnce() -> T,
    ) -> T {
        let at = {
            let mut wrong = self.wrong();
            wrong.push(Wrong { what, explains, since: Instant::now(), until: None });
            wrong.len() - 1
        };
        let done = act();
        self.wrong()[at].until = Some(Instant::now());
        done
    }

    /// The requests that ended as nothing that happened accounts for.
    pub fn unexplained(&self) -> Vec<String> {
        let wrong = self.wrong();
        let explained = |asked: &Asked| {
            asked.manner.ends().contains(&asked.end.as_str())
                || wrong.iter().any(|wrong| {
                    wrong.explains.contains(&asked.end.as_str())
                        && wrong.since <= asked.ended
                        && wrong.until.is_none_or(|until| asked.began <= until)
                })
        };
        let nearest = |asked: &Asked| wrong.iter().rfind(|wrong| wrong.since <= asked.ended);
        let asked = self.asked();
        let odd = asked.iter().filter(|asked| !explained(asked));
        let told = odd.map(|asked| {
            let before = nearest(asked).map_or("nothing", |wrong| wrong.what);
            let Asked { number, manner, end, detail, .. } = asked;
            format!("{number} to {manner:?}: {end}, after this was wrong: {before} {detail}")
        });
        told.take(SHOWN).collect()
    }

    pub fn table(&self) -> String {
        let mut counts = BTreeMap::<(&str, String), usize>::new();
        for asked in self.asked().iter() {
            *counts.entry((asked.manner.host(), asked.end.clone())).or_default() += 1;
        }
        counts.iter().map(|((host, end), count)| format!("{count:>7}  {host:<24}{end}\n")).collect()
    }

    fn asked(&self) -> MutexGuard<'_, Vec<Asked>> {
        self.asked.lock().expect("no panic while counting")
    }

    fn wrong(&self) -> MutexGuard<'_, Vec<Wrong>> {
        self.wrong.lock().expect("no panic while counting")
    }
}
