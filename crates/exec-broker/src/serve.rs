//! The broker: reads calls, holds them to what was granted, and answers.
//!
//! For each connection the thread that has read a frame serves it, after it has let another thread read on. So
//! many calls are under way at once, and a call that is alone is not handed from thread to thread.

use std::collections::{BTreeMap, HashSet};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

use rustix::net::Shutdown;
use serde_json::{Map, Value};

use crate::connection::send_all;
use crate::door::{self, Door};
use crate::frame::{Arrived, Decoder};
use crate::limits::Tally;
use crate::message::{self, ErrorKind, Response, ToolError};
use crate::peers::Peers;
use crate::schema;
use crate::tool::Tool;

/// Connections that one script may have open.
const MOST_CONNECTIONS: usize = 256;
/// Calls that are under way at once, of all connections; a connection serves at least one.
const MOST_AT_ONCE: usize = 128;

/// What does the work.
pub trait Tools: Send + Sync {
    /// Serves one call, on a thread of its own for as long as it takes. The tool was granted, and the arguments fit.
    fn call(&self, call: &Call<'_>, arguments: Map<String, Value>) -> Result<Value, ToolError>;

    /// A call that was counted has its answer.
    fn answered(&self, _: &Called) {}
}

/// A call that is being served.
#[derive(Debug, Clone, Copy)]
pub struct Call<'a> {
    /// Counted from 1, over all connections.
    pub number: u64,
    pub tool: &'a Tool,
}

/// A call that was served.
#[derive(Debug, Clone)]
pub struct Called {
    pub number: u64,
    pub tool: String,
    pub took: Duration,
    /// None if it went well.
    pub error: Option<ErrorKind>,
}

/// Serves the connections of one script.
pub struct Broker {
    tools: Box<dyn Tools>,
    granted: BTreeMap<String, Tool>,
    most_calls: u64,
    peers: Peers,
    tally: Tally,
    threads: AtomicUsize,
    links: Mutex<Vec<Weak<Link>>>,
}

impl std::fmt::Debug for Broker {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Broker").field("granted", &self.granted.keys()).finish_non_exhaustive()
    }
}

impl Broker {
    pub fn new(
        granted: impl IntoIterator<Item = Tool>,
        most_calls: u64,
        peers: Peers,
        tools: Box<dyn Tools>,
    ) -> Arc<Self> {
        Arc::new(Self {
            tools,
            granted: granted.into_iter().map(|tool| (tool.name.clone(), tool)).collect(),
            most_calls,
            peers,
            tally: Tally::default(),
            threads: AtomicUsize::new(0),
            links: Mutex::default(),
        })
    }

    pub fn tally(&self) -> &Tally {
        &self.tally
    }

    /// Serves whatever is handed in, until nobody holds the door any more.
    pub fn serve_door(self: &Arc<Self>, door: &Door) {
        while let Ok(Some(handed)) = door.accept() {
            match handed.stream {
                Some(stream) if self.peers.admit(handed.sender) => self.serve(stream, Checked::AtTheDoor),
                _ => self.tally.refuse(),
            }
        }
    }

    /// Serves a connection that was there from the beginning; who speaks on it is looked at with every read.
    pub fn serve_stream(self: &Arc<Self>, stream: OwnedFd) {
        self.serve(stream, Checked::EachTime);
    }

    fn serve(self: &Arc<Self>, stream: OwnedFd, checked: Checked) {
        let link = Arc::new(Link {
            broker: Arc::clone(self),
            stream,
            checked,
            reading: Mutex::default(),
            writing: Mutex::default(),
            under_way: Mutex::default(),
            idle: AtomicUsize::new(0),
        });
        {
            let mut links = locked(&self.links);
            links.retain(|link| link.strong_count() > 0);
            if links.len() >= MOST_CONNECTIONS {
                self.tally.refuse();
                return;
            }
            links.push(Arc::downgrade(&link));
        }
        link.hire();
    }

    /// Ends all connections; calls that are under way have nobody to answer to any more.
    pub fn end(&self) {
        for link in locked(&self.links).iter().filter_map(Weak::upgrade) {
            let _ = rustix::net::shutdown(&link.stream, Shutdown::Both);
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Checked {
    AtTheDoor,
    EachTime,
}

/// One connection.
struct Link {
    broker: Arc<Broker>,
    stream: OwnedFd,
    checked: Checked,
    reading: Mutex<Decoder>,
    writing: Mutex<()>,
    under_way: Mutex<HashSet<u64>>,
    /// Threads that wait to read.
    idle: AtomicUsize,
}

/// What was read.
enum Next {
    Frame(Arrived),
    Stranger,
    End,
}

impl Link {
    /// Lets one more thread read and serve.
    fn hire(self: &Arc<Self>) {
        let link = Arc::clone(self);
        self.idle.fetch_add(1, Ordering::SeqCst);
        self.broker.threads.fetch_add(1, Ordering::SeqCst);
        let hired = thread::Builder::new().stack_size(1 << 20).spawn(move || link.work());
        if hired.is_err() {
            self.idle.fetch_sub(1, Ordering::SeqCst);
            self.broker.threads.fetch_sub(1, Ordering::SeqCst);
        }
    }

    fn work(self: Arc<Self>) {
        loop {
            let next = self.read();
            self.idle.fetch_sub(1, Ordering::SeqCst);
            let going_on = match next {
                Next::End => false,
                Next::Stranger => self.refuse(None, ErrorKind::Stranger.with("this connection is not yours")),
                Next::Frame(Arrived::TooLarge { length }) => {
                    let largest = crate::frame::LARGEST;
                    let error =
                        ErrorKind::TooLarge.with(format!("a frame of {length} bytes; {largest} is the most"));
                    self.refuse(None, error)
                }
                Next::Frame(Arrived::Body(body)) => self.serve(&body),
            };
            // Counted as idle again before anybody could think that nobody reads.
            self.idle.fetch_add(1, Ordering::SeqCst);
            if !going_on {
                break;
            }
        }
        self.idle.fetch_sub(1, Ordering::SeqCst);
        self.broker.threads.fetch_sub(1, Ordering::SeqCst);
    }

    fn read(&self) -> Next {
        let mut decoder = locked(&self.reading);
        let mut buffer = [0; 64 << 10];
        loop {
            if let Some(arrived) = decoder.pull() {
                return Next::Frame(arrived);
            }
            match door::receive(self.stream.as_fd(), &mut buffer) {
                Ok(received) if received.bytes == 0 => return Next::End,
                Ok(received) => {
                    if self.checked == Checked::EachTime && !self.broker.peers.admit(received.sender) {
                        return Next::Stranger;
                    }
                    decoder.push(&buffer[..received.bytes]);
                }
                Err(_) => return Next::End,
            }
        }
    }

    /// Serves one frame; `false` when there is nobody to answer to.
    fn serve(self: &Arc<Self>, body: &[u8]) -> bool {
        let request = match message::read(body) {
            Ok(request) => request,
            Err(response) => {
                self.broker.tally.refuse();
                return self.answer(&response);
            }
        };
        let id = request.id;
        if !locked(&self.under_way).insert(id) {
            return self.refuse(Some(id), ErrorKind::IdInUse.with("a call with this id is still under way"));
        }
        let outcome = self.call(&request.tool, request.arguments);
        locked(&self.under_way).remove(&id);
        self.answer(&Response::of(id, outcome))
    }

    fn call(self: &Arc<Self>, name: &str, arguments: Map<String, Value>) -> Result<Value, ToolError> {
        let broker = &self.broker;
        let refused = |error| {
            broker.tally.refuse();
            Err(error)
        };
        let Some(tool) = broker.granted.get(name) else {
            let granted: Vec<&str> = broker.granted.keys().map(String::as_str).collect();
            let granted = if granted.is_empty() { "no tools".to_owned() } else { granted.join(", ") };
            return refused(
                ErrorKind::UnknownTool.with(format!("there is no such tool; granted: {granted}")),
            );
        };
        if let Err(wrong) = schema::check(&tool.schema, &arguments) {
            return refused(ErrorKind::BadArguments.with(format!("{name}: {wrong}")));
        }
        let Some(number) = broker.tally.call(broker.most_calls) else {
            let most = broker.most_calls;
            return refused(
                ErrorKind::CallLimit.with(format!("this script may make {most} calls, and has made them")),
            );
        };
        if self.idle.load(Ordering::SeqCst) == 0 && broker.threads.load(Ordering::SeqCst) < MOST_AT_ONCE {
            self.hire();
        }
        let began = Instant::now();
        let outcome = broker.tools.call(&Call { number, tool }, arguments);
        broker.tools.answered(&Called {
            number,
            tool: name.to_owned(),
            took: began.elapsed(),
            error: outcome.as_ref().err().map(|error| error.kind),
        });
        outcome
    }

    fn refuse(&self, id: Option<u64>, error: ToolError) -> bool {
        self.broker.tally.refuse();
        self.answer(&Response::error(id, error))
    }

    fn answer(&self, response: &Response) -> bool {
        let frame = response.to_frame();
        let _turn = locked(&self.writing);
        send_all(self.stream.as_fd(), &frame).is_ok()
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
