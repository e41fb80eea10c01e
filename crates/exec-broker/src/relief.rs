//! Threads for connections, and who sees to it that none is left unattended.
//!
//! Waking a thread for every call, so that it could read while the call is served, costs more than most calls do. So
//! nobody is woken: one thread looks now and then whether a call takes long, and has somebody else read on that
//! connection. Not too soon: on a machine with much to do every call takes a while, and to hand it on then makes it worse.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, Weak};
use std::thread;
use std::time::Duration;

use crate::link::Link;
use crate::serve::{Broker, locked};

/// Threads of all connections; a connection has at least one.
const MOST: usize = 128;
/// How long a thread that has nothing to do stays.
const STAYS: Duration = Duration::from_secs(1);
/// A call that takes longer than this is relieved of the reading; in nanoseconds.
const LONG: u64 = 20_000_000;
const LOOK: Duration = Duration::from_millis(10);

/// The threads that read and serve.
#[derive(Default)]
pub(crate) struct Hands {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    work: Condvar,
}

#[derive(Default)]
struct State {
    /// Connections that somebody is to read.
    waiting: VecDeque<Arc<Link>>,
    idle: usize,
    threads: usize,
}

impl Hands {
    /// Gives a connection to a thread, a new one if all are busy.
    pub fn put(&self, link: Arc<Link>) -> bool {
        self.give(link, usize::MAX)
    }

    /// The same, unless there are many already.
    pub fn spare(&self, link: Arc<Link>) -> bool {
        self.give(link, MOST)
    }

    fn give(&self, link: Arc<Link>, most: usize) -> bool {
        let mut state = locked(&self.shared.state);
        if state.idle > state.waiting.len() {
            state.waiting.push_back(link);
            self.shared.work.notify_one();
            return true;
        }
        if state.threads >= most {
            return false;
        }
        state.threads += 1;
        drop(state);
        let shared = Arc::clone(&self.shared);
        let hired = thread::Builder::new().stack_size(1 << 20).spawn(move || work(&shared, link));
        if hired.is_err() {
            locked(&self.shared.state).threads -= 1;
        }
        hired.is_ok()
    }
}

fn work(shared: &Shared, first: Arc<Link>) {
    let mut next = Some(first);
    while let Some(link) = next.take() {
        link.work();
        drop(link);
        let mut state = locked(&shared.state);
        state.idle += 1;
        let (mut state, _) = shared
            .work
            .wait_timeout_while(state, STAYS, |state| state.waiting.is_empty())
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        state.idle -= 1;
        next = state.waiting.pop_front();
        if next.is_none() {
            state.threads -= 1;
        }
    }
}

/// Begins to look after a broker's connections, for as long as there is a broker.
pub(crate) fn begin(broker: &Arc<Broker>) {
    let broker = Arc::downgrade(broker);
    // Without this thread a connection serves one call at a time, which is all that most do.
    let _ = thread::Builder::new().stack_size(64 << 10).spawn(move || look_after(&broker));
}

fn look_after(broker: &Weak<Broker>) {
    while let Some(broker) = broker.upgrade() {
        if broker.is_ended() {
            return;
        }
        let links: Vec<Arc<Link>> = locked(&broker.links).iter().filter_map(Weak::upgrade).collect();
        links.iter().for_each(|link| link.relieve(LONG));
        drop((links, broker));
        thread::sleep(LOOK);
    }
}
