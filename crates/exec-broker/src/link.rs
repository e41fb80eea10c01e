//! One connection: who reads it, who serves what was read, and what is answered.
//!
//! There is never more than one reader. The thread that has read a frame serves it and takes the reading up again; in
//! between the connection is *unattended* since a certain moment. Whoever changes that moment to none has the reading:
//! the thread itself when it is done, or another one that relieves it because the call takes long.

use std::collections::HashSet;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustix::net::Shutdown;

use crate::connection::send_all;
use crate::door;
use crate::frame::{Arrived, Decoder};
use crate::message::{self, ErrorKind, Response, ToolError};
use crate::serve::{Broker, locked};

/// Bytes that are read at once.
const CHUNK: usize = 16 << 10;
/// How long the next call is waited for awake where it was said that it comes soon. Longer than a script takes that does
/// nothing in between.
const SOON: Duration = Duration::from_micros(60);
/// Somebody reads.
const ATTENDED: u64 = 0;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Checked {
    AtTheDoor,
    EachTime,
}

/// One connection.
pub(crate) struct Link {
    broker: Arc<Broker>,
    stream: OwnedFd,
    checked: Checked,
    reading: Mutex<Reading>,
    writing: Mutex<()>,
    under_way: Mutex<HashSet<u64>>,
    unattended: AtomicU64,
    /// Whether the next call was said to come soon.
    soon: AtomicBool,
}

/// What whoever reads works with.
struct Reading {
    decoder: Decoder,
    buffer: Vec<u8>,
}

/// What was read.
enum Next {
    Frame {
        arrived: Arrived,
        /// Whether the next one is there already.
        more: bool,
    },
    Stranger,
    End,
}

/// Why nothing was read.
enum Unread {
    Stranger,
    Lost,
}

impl Link {
    pub fn new(broker: Arc<Broker>, stream: OwnedFd, checked: Checked) -> Self {
        Self {
            broker,
            stream,
            checked,
            reading: Mutex::new(Reading { decoder: Decoder::default(), buffer: vec![0; CHUNK] }),
            writing: Mutex::default(),
            under_way: Mutex::default(),
            unattended: AtomicU64::new(ATTENDED),
            soon: AtomicBool::new(false),
        }
    }

    /// Has a thread of its own, whatever else is going on.
    pub fn begin(self: &Arc<Self>) {
        let broker = Arc::clone(&self.broker);
        // Without a thread nobody answers; the other side is told by the end of the connection.
        if !broker.hands.put(Arc::clone(self)) {
            self.end();
        }
    }

    pub fn end(&self) {
        let _ = rustix::net::shutdown(&self.stream, Shutdown::Both);
    }

    /// Has somebody else read if nobody has done so for this long.
    pub fn relieve(self: &Arc<Self>, longer_than: u64) {
        let since = self.unattended.load(Ordering::Acquire);
        let waits = since != ATTENDED && self.broker.now().saturating_sub(since) >= longer_than;
        if waits && self.take_up(since) && !self.broker.hands.spare(Arc::clone(self)) {
            // There is nobody to spare: whoever serves reads on when that is done.
            self.unattended.store(since, Ordering::Release);
        }
    }

    fn take_up(&self, since: u64) -> bool {
        self.unattended.compare_exchange(since, ATTENDED, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    /// Reads and serves until the connection ends or another thread has taken the reading up.
    pub fn work(self: &Arc<Self>) {
        loop {
            let next = self.read();
            if matches!(next, Next::End) {
                return;
            }
            let since = self.broker.now();
            self.unattended.store(since, Ordering::Release);
            let going_on = match next {
                Next::End => false,
                Next::Stranger => self.refuse(None, ErrorKind::Stranger.with("this connection is not yours")),
                Next::Frame { arrived, more } => self.serve_frame(arrived, more),
            };
            if !self.take_up(since) || !going_on {
                return;
            }
        }
    }

    fn read(&self) -> Next {
        let mut reading = locked(&self.reading);
        let Reading { decoder, buffer } = &mut *reading;
        loop {
            if let Some(arrived) = decoder.pull() {
                return Next::Frame { arrived, more: decoder.has_frame() };
            }
            match self.receive(buffer) {
                Ok(0) | Err(Unread::Lost) => return Next::End,
                Err(Unread::Stranger) => return Next::Stranger,
                Ok(bytes) => decoder.push(&buffer[..bytes]),
            }
        }
    }

    fn receive(&self, buffer: &mut [u8]) -> Result<usize, Unread> {
        if self.checked == Checked::AtTheDoor {
            if self.soon.swap(false, Ordering::Relaxed)
                && let Some(bytes) = door::receive_awake(self.stream.as_fd(), buffer, SOON)
            {
                return Ok(bytes);
            }
            return door::receive_bytes(self.stream.as_fd(), buffer).map_err(|_| Unread::Lost);
        }
        let received = door::receive(self.stream.as_fd(), buffer).map_err(|_| Unread::Lost)?;
        match received.bytes == 0 || self.broker.peers.admit(received.sender) {
            true => Ok(received.bytes),
            false => Err(Unread::Stranger),
        }
    }

    /// Serves one frame; `false` when there is nobody to answer to.
    fn serve_frame(self: &Arc<Self>, arrived: Arrived, more: bool) -> bool {
        match arrived {
            Arrived::TooLarge { length } => {
                let largest = crate::frame::LARGEST;
                let error =
                    ErrorKind::TooLarge.with(format!("a frame of {length} bytes; {largest} is the most"));
                self.refuse(None, error)
            }
            Arrived::Body(body) => self.serve(&body, more),
        }
    }

    /// With `more` to read, somebody else does that as soon as a tool is really called.
    fn serve(self: &Arc<Self>, body: &[u8], more: bool) -> bool {
        let request = match message::read(body) {
            Ok(request) => request,
            Err(response) => {
                self.broker.tally.refuse();
                return self.answer(&response);
            }
        };
        let id = request.id;
        self.soon.store(request.soon, Ordering::Relaxed);
        if !locked(&self.under_way).insert(id) {
            return self.refuse(Some(id), ErrorKind::IdInUse.with("a call with this id is still under way"));
        }
        let outcome = self.broker.call(&request.tool, request.arguments, || {
            if more {
                self.relieve(0);
            }
        });
        locked(&self.under_way).remove(&id);
        self.answer(&Response::of(id, outcome))
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
