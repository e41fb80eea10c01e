//! The answers of a host, and who reads them: whoever waits for one.
//!
//! A thread that does nothing but read would have to wake another one for every answer. So the first that waits has the
//! reading; it passes on what is for others, and leaves the reading to one of them when its own answer is there.

use std::collections::HashMap;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};

use crate::door;
use crate::frame::{Arrived, Decoder};
use crate::message::Response;

/// Bytes that are read at once.
const CHUNK: usize = 64 << 10;

/// What is still to be answered on a connection.
pub(crate) struct Answers {
    stream: Arc<OwnedFd>,
    state: Mutex<State>,
}

struct State {
    /// Who waits, by the id of the call; nobody any more when the other side is gone.
    waiting: Option<HashMap<u64, Sender<Told>>>,
    /// None while somebody has the reading.
    reader: Option<Reader>,
}

struct Reader {
    decoder: Decoder,
    buffer: Vec<u8>,
}

/// What one that waits is told by one that reads.
enum Told {
    Answer(Response),
    YourTurn,
}

/// A call that is waited for.
pub(crate) struct Expected {
    id: u64,
    told: Receiver<Told>,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NoAnswer {
    TimedOut,
    Gone,
}

impl Answers {
    pub fn over(stream: Arc<OwnedFd>, decoder: Decoder) -> Self {
        let reader = Some(Reader { decoder, buffer: vec![0; CHUNK] });
        Self { stream, state: Mutex::new(State { waiting: Some(HashMap::new()), reader }) }
    }

    /// To be said before the call is sent; none when the other side is gone.
    pub fn expect(&self, id: u64) -> Option<Expected> {
        let (tell, told) = mpsc::channel();
        self.state().waiting.as_mut()?.insert(id, tell);
        Some(Expected { id, told })
    }

    /// A call that could not be sent.
    pub fn forget(&self, expected: &Expected) {
        let mut state = self.state();
        let free = state.reader.is_some();
        let Some(waiting) = &mut state.waiting else { return };
        waiting.remove(&expected.id);
        if let (true, Some(next)) = (free, waiting.values().next()) {
            // One that does not wait any more passes the turn on when it leaves.
            let _ = next.send(Told::YourTurn);
        }
    }

    /// Waits for the answer.
    pub fn wait(&self, expected: &Expected, timeout: Duration) -> Result<Response, NoAnswer> {
        let deadline = Instant::now() + timeout;
        let outcome = loop {
            let turn = self.state().reader.take();
            if let Some(reader) = turn {
                break self.read(reader, Some(expected), Some(deadline));
            }
            match expected.told.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(Told::Answer(response)) => break Ok(response),
                Ok(Told::YourTurn) => {}
                Err(RecvTimeoutError::Timeout) => break Err(NoAnswer::TimedOut),
                Err(RecvTimeoutError::Disconnected) => break Err(NoAnswer::Gone),
            }
        };
        self.forget(expected);
        outcome
    }

    /// Waits until the other side hangs up. What it has said before is still passed on.
    pub fn watch(&self) {
        let mut polled = [PollFd::new(&*self.stream, PollFlags::RDHUP)];
        while rustix::event::poll(&mut polled, None) == Err(rustix::io::Errno::INTR) {}
        let turn = self.state().reader.take();
        // Somebody who has the reading finds the end as well.
        if let Some(reader) = turn {
            let _ = self.read(reader, None, None);
        }
    }

    /// Reads until the answer that is expected is there, or all of them are.
    fn read(
        &self,
        mut reader: Reader,
        expected: Option<&Expected>,
        deadline: Option<Instant>,
    ) -> Result<Response, NoAnswer> {
        // It may have been passed on before; from here on nobody else does.
        let passed_on = |told: Told| match told {
            Told::Answer(response) => Some(response),
            Told::YourTurn => None,
        };
        let mut own = expected.and_then(|expected| expected.told.try_iter().find_map(passed_on));
        loop {
            while let Some(arrived) = reader.decoder.pull() {
                let Arrived::Body(body) = arrived else { continue };
                let Ok(response) = serde_json::from_slice::<Response>(&body) else { continue };
                match expected {
                    Some(expected) if response.id == Some(expected.id) => own = own.or(Some(response)),
                    _ => self.pass_on(response),
                }
            }
            let ended = match own.take() {
                Some(response) => Ok(response),
                None => match self.receive(&mut reader, deadline) {
                    Ok(()) => continue,
                    Err(why) => Err(why),
                },
            };
            let mut state = self.state();
            state.reader = Some(reader);
            if matches!(ended, Err(NoAnswer::Gone)) {
                // Whoever waits hears it by the end of their channel.
                state.waiting = None;
            }
            return ended;
        }
    }

    fn pass_on(&self, response: Response) {
        let mut state = self.state();
        let waiter = response.id.and_then(|id| state.waiting.as_mut()?.remove(&id));
        if let Some(waiter) = waiter {
            // Who has waited long enough does not wait any more.
            let _ = waiter.send(Told::Answer(response));
        }
    }

    fn receive(&self, reader: &mut Reader, deadline: Option<Instant>) -> Result<(), NoAnswer> {
        if let Some(deadline) = deadline {
            let mut polled = [PollFd::new(&*self.stream, PollFlags::IN)];
            let left = deadline.saturating_duration_since(Instant::now());
            let left = Timespec { tv_sec: left.as_secs().cast_signed(), tv_nsec: left.subsec_nanos().into() };
            match rustix::event::poll(&mut polled, Some(&left)) {
                Ok(0) => return Err(NoAnswer::TimedOut),
                Ok(_) => {}
                Err(rustix::io::Errno::INTR) => return Ok(()),
                Err(_) => return Err(NoAnswer::Gone),
            }
        }
        match door::receive_bytes(self.stream.as_fd(), &mut reader.buffer) {
            Ok(bytes) if bytes > 0 => {
                reader.decoder.push(&reader.buffer[..bytes]);
                Ok(())
            }
            _ => Err(NoAnswer::Gone),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
