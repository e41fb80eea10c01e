//! The record, written once for all who write at the same time.
//!
//! A request is on record before a byte of it leaves. What a record costs is its system calls, so those that are
//! ready together share them: the first to come leads, lets the others of the same moment come too, and writes for
//! all. The end of a request is not waited for: it goes along with the next that is written, at the latest after
//! [`OVERDUE`], and at once when nothing else is going on.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use cofferdam_audit::event::EgressReason;
use cofferdam_audit::{Event, Recorder};
use tokio::sync::{Notify, oneshot};

use crate::client::Client;
use crate::counts::Counts;

/// How long the end of a request may wait for company.
const OVERDUE: Duration = Duration::from_millis(5);
/// Room for more records than this is given back after a crowd.
const KEPT_ROOM: usize = 1024;
/// A request that is over sooner than this is probably one of many.
const BUSY: Duration = Duration::from_millis(1);

pub(crate) struct Ledger {
    recorder: Arc<Recorder>,
    counts: Arc<Counts>,
    queue: Mutex<Queue>,
    /// Requests that were let through and whose end is not known yet.
    under_way: AtomicUsize,
    ends: Notify,
    /// When something was written last.
    written: Mutex<Instant>,
}

#[derive(Default)]
struct Queue {
    entries: Vec<(Arc<Client>, Event)>,
    followers: Vec<oneshot::Sender<bool>>,
    led: bool,
    /// Room that was used before, so that it need not grow anew with every write.
    spare: Vec<Taken>,
}

type Taken = (Vec<(Arc<Client>, Event)>, Vec<oneshot::Sender<bool>>);

impl Queue {
    /// What is to be written, and who waits for it; nobody leads any more.
    fn take(&mut self) -> Taken {
        self.led = false;
        let (entries, followers) = self.spare.pop().unwrap_or_default();
        (std::mem::replace(&mut self.entries, entries), std::mem::replace(&mut self.followers, followers))
    }
}

impl Ledger {
    pub fn new(recorder: Arc<Recorder>, counts: Arc<Counts>) -> Self {
        Self {
            recorder,
            counts,
            queue: Mutex::default(),
            under_way: AtomicUsize::new(0),
            ends: Notify::new(),
            written: Mutex::new(Instant::now()),
        }
    }

    /// What cannot be recorded does not happen, unless the user said otherwise.
    pub async fn record(&self, client: &Arc<Client>, event: impl Into<Event>) -> Result<(), EgressReason> {
        self.record_all(client, [event.into()]).await
    }

    /// The same for several that belong together.
    pub async fn record_all(
        &self,
        client: &Arc<Client>,
        events: impl IntoIterator<Item = Event>,
    ) -> Result<(), EgressReason> {
        let written = match self.enter(client, events) {
            // A leader that was dropped before it wrote has written nothing: that is a no.
            Some(follower) => follower.await.unwrap_or(false),
            None => {
                let lead = Lead { ledger: self };
                if self.under_way.load(Ordering::Relaxed) > 1 {
                    tokio::task::yield_now().await;
                }
                lead.write()
            }
        };
        if written { Ok(()) } else { Err(EgressReason::RecordUnavailable) }
    }

    /// Nothing for who leads.
    fn enter(
        &self,
        client: &Arc<Client>,
        events: impl IntoIterator<Item = Event>,
    ) -> Option<oneshot::Receiver<bool>> {
        let mut queue = self.queue();
        queue.entries.extend(events.into_iter().map(|event| (client.clone(), event)));
        if !std::mem::replace(&mut queue.led, true) {
            return None;
        }
        let (sender, receiver) = oneshot::channel();
        queue.followers.push(sender);
        Some(receiver)
    }

    /// A request was let through; [`Ledger::ended`] must follow.
    pub fn began(&self) {
        self.under_way.fetch_add(1, Ordering::Relaxed);
    }

    /// The request itself is on record; that its end is not can only be counted, which the recorder does.
    pub fn ended(&self, client: &Arc<Client>, events: impl IntoIterator<Item = Event>) {
        let mut queue = self.queue();
        queue.entries.extend(events.into_iter().map(|event| (client.clone(), event)));
        let (led, last) = (queue.led, self.under_way.fetch_sub(1, Ordering::Relaxed) == 1);
        drop(queue);
        let busy = !last || self.written().elapsed() < BUSY;
        match (led, busy) {
            (true, _) => {}
            (false, false) => self.flush(),
            (false, true) => self.ends.notify_one(),
        }
    }

    /// Writes ends that nobody took along. Runs beside everything else, for ever.
    pub async fn tend(&self) {
        loop {
            self.ends.notified().await;
            tokio::time::sleep(OVERDUE).await;
            self.flush();
        }
    }

    /// Writes what is there, unless somebody leads and will.
    pub fn flush(&self) {
        let mut queue = self.queue();
        if !queue.led {
            let taken = queue.take();
            drop(queue);
            self.write(taken);
        }
    }

    fn write(&self, (mut entries, mut followers): Taken) -> bool {
        if entries.is_empty() {
            return true;
        }
        let lines = entries.iter().map(|(client, event)| (client.session.as_ref(), event));
        let written = self.recorder.record_all(lines).is_ok();
        *self.written() = Instant::now();
        for (client, event) in &entries {
            if !written {
                self.counts.count_unrecorded();
                continue;
            }
            self.counts.count(event);
            if let Some(watcher) = &client.watcher {
                watcher.saw(event);
            }
        }
        for follower in followers.drain(..) {
            let _ = follower.send(written);
        }
        entries.clear();
        if entries.capacity() <= KEPT_ROOM {
            self.queue().spare.push((entries, followers));
        }
        written
    }

    fn written(&self) -> MutexGuard<'_, Instant> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Who writes for all. If the one who leads goes away meanwhile, the others are still written.
struct Lead<'l> {
    ledger: &'l Ledger,
}

impl Lead<'_> {
    fn write(self) -> bool {
        let ledger = self.ledger;
        std::mem::forget(self);
        let taken = ledger.queue().take();
        ledger.write(taken)
    }
}

impl Drop for Lead<'_> {
    fn drop(&mut self) {
        let taken = self.ledger.queue().take();
        self.ledger.write(taken);
    }
}

impl Drop for Ledger {
    fn drop(&mut self) {
        self.flush();
    }
}
