//! The threads that move bytes.
//!
//! Each has a runtime of its own, and what is best not shared between processors: connections to upstreams and the
//! queue of the record. A connection stays on the thread that it was given to, so that nothing of a request wakes
//! another thread, as it would in one runtime with several threads.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;

use crate::dial::Dialler;
use crate::engine::Engine;
use crate::ledger::Ledger;
use crate::pool::Pool;

/// More would not be faster: by then the memory and the network are what is waited for.
const MOST: usize = 8;
/// With as many connections on a thread what each of them holds on to while it is idle begins to count.
const CROWD: usize = 64;
/// How often what is kept for later is looked through.
const SWEEP: Duration = Duration::from_secs(10);

/// What the connections of one thread share.
pub(crate) struct Shard {
    pub engine: Arc<Engine>,
    pub pool: Arc<Pool>,
    pub ledger: Arc<Ledger>,
    /// Connections that are on this thread now.
    load: AtomicUsize,
}

impl Shard {
    pub fn is_crowded(&self) -> bool {
        self.load.load(Ordering::Relaxed) > CROWD
    }
}

/// One thread for each processor. They end with this value, and with them all connections.
pub(crate) struct Shards {
    threads: Vec<Thread>,
    places: Arc<Places>,
    /// How many listeners were given to a thread.
    listeners: AtomicUsize,
}

/// Where connections can be put. Whoever has this holds no thread.
pub(crate) struct Places(Vec<Place>);

struct Place {
    shard: Arc<Shard>,
    runtime: Handle,
}

struct Thread {
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// Where a connection was put; it counts there as long as this value lives.
pub(crate) struct Seat {
    pub shard: Arc<Shard>,
}

impl Shards {
    pub fn start(engine: &Arc<Engine>, dialler: &Arc<Dialler>) -> io::Result<Self> {
        let count = thread::available_parallelism().map_or(1, usize::from).min(MOST);
        let (mut threads, mut places) = (Vec::new(), Vec::new());
        for _ in 0..count {
            let (thread, place) = Thread::start(engine, dialler)?;
            threads.push(thread);
            places.push(place);
        }
        Ok(Self { threads, places: Arc::new(Places(places)), listeners: AtomicUsize::new(0) })
    }

    /// Writes what waits to be written.
    pub fn flush(&self) {
        self.places.0.iter().for_each(|place| place.shard.ledger.flush());
    }

    pub fn places(&self) -> Arc<Places> {
        self.places.clone()
    }

    /// A thread for one more listener: each in its turn.
    pub fn for_listener(&self) -> &Handle {
        let turn = self.listeners.fetch_add(1, Ordering::Relaxed);
        &self.places.0[turn % self.threads.len()].runtime
    }
}

impl Places {
    /// A place for one more connection, where there are fewest.
    pub fn seat(&self) -> (Seat, &Handle) {
        let least = self.0.iter().min_by_key(|place| place.shard.load.load(Ordering::Relaxed));
        let place = least.expect("there is at least one thread");
        place.shard.load.fetch_add(1, Ordering::Relaxed);
        (Seat { shard: place.shard.clone() }, &place.runtime)
    }
}

impl Thread {
    fn start(engine: &Arc<Engine>, dialler: &Arc<Dialler>) -> io::Result<(Self, Place)> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let handle = runtime.handle().clone();
        let shard = Arc::new(Shard {
            engine: engine.clone(),
            pool: Arc::new(Pool::new(dialler.clone())),
            ledger: Arc::new(Ledger::new(engine.recorder.clone(), engine.counts.clone())),
            load: AtomicUsize::new(0),
        });
        let (stop, stopped) = oneshot::channel();
        let (pool, ledger) = (shard.pool.clone(), shard.ledger.clone());
        let life = async move {
            tokio::select! {
                _ = stopped => {}
                () = ledger.tend() => {}
                () = sweep(&pool) => {}
            }
        };
        let run = move || {
            runtime.block_on(life);
            // A source that is being asked and does not answer holds nobody up.
            runtime.shutdown_background();
        };
        let thread = thread::Builder::new().name("egress".to_owned()).spawn(run)?;
        Ok((Self { stop: Some(stop), thread: Some(thread) }, Place { shard, runtime: handle }))
    }
}

/// Connections to upstreams that nobody uses any more are closed, also when nothing happens.
async fn sweep(pool: &Pool) {
    loop {
        tokio::time::sleep(SWEEP).await;
        pool.sweep();
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.shard.load.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Drop for Thread {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take()
            && thread.thread().id() != thread::current().id()
        {
            let _ = thread.join();
        }
    }
}
