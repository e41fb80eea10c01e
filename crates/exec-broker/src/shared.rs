//! The calling side of a connection that many threads use at once.

use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::connection::send_all;
use crate::door;
use crate::frame::{Arrived, Decoder, encode};
use crate::message::{ErrorKind, Outcome, Request, Response, ToolError};
use crate::tool::Tool;

/// Who waits for an answer, by the id of the call; nobody any more when the other side is gone.
type Waiting = Mutex<Option<HashMap<u64, Sender<Response>>>>;

/// The writing side of a connection to a host: whole frames, whoever sends them.
#[derive(Debug, Clone)]
pub struct Wire {
    stream: Arc<OwnedFd>,
    writing: Arc<Mutex<()>>,
}

impl Wire {
    /// Sends a body as one frame.
    pub fn send(&self, body: &[u8]) -> io::Result<()> {
        let frame = encode(body).ok_or_else(|| io::Error::other("the frame is too large"))?;
        let _turn = locked(&self.writing);
        send_all(self.stream.as_fd(), &frame)
    }

    /// Whether the other side has hung up.
    pub fn is_gone(&self) -> bool {
        let mut polled = [PollFd::new(&*self.stream, PollFlags::RDHUP)];
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        let gone = PollFlags::RDHUP | PollFlags::HUP | PollFlags::ERR;
        rustix::event::poll(&mut polled, Some(&now)).is_err() || polled[0].revents().intersects(gone)
    }
}

/// Tools that the program offers which this one works for.
pub struct HostTools {
    wire: Wire,
    waiting: Arc<Waiting>,
    next: AtomicU64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Offer {
    tools: Vec<Tool>,
}

impl HostTools {
    /// Reads what is offered: the first frame, `{"tools": [{"name", "description", "schema"}]}`.
    pub fn offered(stream: OwnedFd) -> Result<(Vec<Tool>, Unstarted), String> {
        let mut unstarted = Unstarted::over(stream);
        let body = unstarted.receive()?;
        let offer: Offer = serde_json::from_slice(&body).map_err(|error| error.to_string())?;
        Ok((offer.tools, unstarted))
    }

    /// Calls a tool of the host and waits for its answer.
    pub fn call(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
        timeout: Duration,
    ) -> Result<Value, ToolError> {
        let gone = || ErrorKind::Failed.with("the program that offers this tool is gone");
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let (tell, answer) = mpsc::channel();
        locked(&self.waiting).as_mut().ok_or_else(gone)?.insert(id, tell);
        let request = Request { id, tool: tool.to_owned(), arguments };
        let body = serde_json::to_vec(&request).map_err(|_| gone())?;
        self.wire.send(&body).map_err(|_| gone())?;
        match answer.recv_timeout(timeout) {
            Ok(Response { outcome: Outcome::Result(value), .. }) => Ok(value),
            Ok(Response { outcome: Outcome::Error(error), .. }) => Err(error),
            Err(RecvTimeoutError::Timeout) => {
                locked(&self.waiting).as_mut().map(|waiting| waiting.remove(&id));
                Err(ErrorKind::TimedOut.with("the tool did not answer in time"))
            }
            Err(RecvTimeoutError::Disconnected) => Err(gone()),
        }
    }
}

/// A connection whose answers nobody reads yet: a process that is to be copied may have no second thread.
pub struct Unstarted {
    wire: Wire,
    decoder: Decoder,
}

impl Unstarted {
    pub fn over(stream: OwnedFd) -> Self {
        let wire = Wire { stream: Arc::new(stream), writing: Arc::default() };
        Self { wire, decoder: Decoder::default() }
    }

    pub fn wire(&self) -> Wire {
        self.wire.clone()
    }

    /// Waits for the next frame.
    pub fn receive(&mut self) -> Result<Vec<u8>, String> {
        let mut buffer = [0; 64 << 10];
        loop {
            match self.decoder.pull() {
                Some(Arrived::Body(body)) => return Ok(body),
                Some(Arrived::TooLarge { .. }) => return Err("the frame is too large".to_owned()),
                None => match door::receive(self.wire.stream.as_fd(), &mut buffer) {
                    Ok(received) if received.bytes > 0 => self.decoder.push(&buffer[..received.bytes]),
                    Ok(_) => return Err("the other side is gone".to_owned()),
                    Err(error) => return Err(error.to_string()),
                },
            }
        }
    }

    /// Reads answers from here on; `gone` is called when the other side has hung up.
    pub fn start(self, gone: fn()) -> HostTools {
        let waiting = Arc::new(Mutex::new(Some(HashMap::new())));
        let (wire, told, mut decoder) = (self.wire.clone(), Arc::clone(&waiting), self.decoder);
        thread::spawn(move || {
            read_answers(&wire.stream, &told, &mut decoder);
            locked(&told).take();
            gone();
        });
        HostTools { wire: self.wire, waiting, next: AtomicU64::new(1) }
    }
}

fn read_answers(stream: &OwnedFd, waiting: &Waiting, decoder: &mut Decoder) {
    let mut buffer = [0; 64 << 10];
    loop {
        while let Some(arrived) = decoder.pull() {
            let Arrived::Body(body) = arrived else { continue };
            let Ok(response) = serde_json::from_slice::<Response>(&body) else { continue };
            let waiter = response.id.and_then(|id| locked(waiting).as_mut()?.remove(&id));
            if let Some(waiter) = waiter {
                // Who has waited long enough does not wait any more.
                let _ = waiter.send(response);
            }
        }
        match door::receive(stream.as_fd(), &mut buffer) {
            Ok(received) if received.bytes > 0 => decoder.push(&buffer[..received.bytes]),
            _ => return,
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
