//! The broker: reads calls, holds them to what was granted, and answers.
//!
//! For each connection the thread that has read a frame serves it and reads on ([`crate::link`]): a call that is alone
//! wakes nobody else. When a call takes longer, [`crate::relief`] has another thread read meanwhile, so that many calls
//! are under way at once.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError, Weak};
use std::time::{Duration, Instant};

use serde_json::{Map, Value};

use crate::door::Door;
use crate::limits::Tally;
use crate::link::{Checked, Link};
use crate::message::{ErrorKind, ToolError};
use crate::peers::Peers;
use crate::relief::{self, Hands};
use crate::schema;
use crate::tool::Tool;

/// Connections that one script may have open.
const MOST_CONNECTIONS: usize = 256;
/// What does the work.
pub trait Tools: Send + Sync {
    /// Serves one call, on a thread of its own for as long as it takes. The tool was granted, and the arguments fit.
    fn call(&self, call: &Call<'_>, arguments: Map<String, Value>) -> Result<Value, ToolError>;

    /// A call was refused before it was counted: there is no such tool, its arguments do not fit, or it is one too many.
    fn refused(&self, _tool: &str, _: &ToolError) {}

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
    pub(crate) peers: Peers,
    pub(crate) tally: Tally,
    pub(crate) hands: Hands,
    pub(crate) links: Mutex<Vec<Weak<Link>>>,
    began: Instant,
    ended: AtomicBool,
    relieved: Once,
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
            hands: Hands::default(),
            links: Mutex::default(),
            began: Instant::now(),
            ended: AtomicBool::new(false),
            relieved: Once::new(),
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
        let link = Arc::new(Link::new(Arc::clone(self), stream, checked));
        {
            let mut links = locked(&self.links);
            links.retain(|link| link.strong_count() > 0);
            if links.len() >= MOST_CONNECTIONS {
                self.tally.refuse();
                return;
            }
            self.relieved.call_once(|| relief::begin(self));
            links.push(Arc::downgrade(&link));
        }
        link.begin();
    }

    /// One call, from the tool's name to its outcome. `begins` is called when nothing speaks against it.
    pub(crate) fn call(
        &self,
        name: &str,
        arguments: Map<String, Value>,
        begins: impl FnOnce(),
    ) -> Result<Value, ToolError> {
        let refused = |error| {
            self.tally.refuse();
            self.tools.refused(name, &error);
            Err(error)
        };
        let Some(tool) = self.granted.get(name) else {
            let granted: Vec<&str> = self.granted.keys().map(String::as_str).collect();
            let granted = if granted.is_empty() { "no tools".to_owned() } else { granted.join(", ") };
            return refused(
                ErrorKind::UnknownTool.with(format!("there is no such tool; granted: {granted}")),
            );
        };
        if let Err(wrong) = schema::check(&tool.schema, &arguments) {
            return refused(ErrorKind::BadArguments.with(format!("{name}: {wrong}")));
        }
        let Some(number) = self.tally.call(self.most_calls) else {
            let most = self.most_calls;
            return refused(
                ErrorKind::CallLimit.with(format!("this script may make {most} calls, and has made them")),
            );
        };
        begins();
        let began = Instant::now();
        let outcome = self.tools.call(&Call { number, tool }, arguments);
        self.tools.answered(&Called {
            number,
            tool: name.to_owned(),
            took: began.elapsed(),
            error: outcome.as_ref().err().map(|error| error.kind),
        });
        outcome
    }

    /// Nanoseconds since there is a broker, and never nothing.
    pub(crate) fn now(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_nanos()).unwrap_or(u64::MAX).max(1)
    }

    pub(crate) fn is_ended(&self) -> bool {
        self.ended.load(Ordering::Relaxed)
    }

    /// Ends all connections; calls that are under way have nobody to answer to any more.
    pub fn end(&self) {
        self.ended.store(true, Ordering::Relaxed);
        for link in locked(&self.links).iter().filter_map(Weak::upgrade) {
            link.end();
        }
    }
}

pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
