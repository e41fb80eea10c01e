//! The calling side of a connection that many threads use at once.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::answers::{Answers, NoAnswer};
use crate::connection::send_all;
use crate::door;
use crate::frame::{Arrived, Decoder, encode};
use crate::message::{ErrorKind, Outcome, Request, Response, ToolError};
use crate::tool::Tool;

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
        let _turn = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
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
    answers: Arc<Answers>,
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
        let request = Request { id, tool: tool.to_owned(), arguments, soon: false };
        let body = serde_json::to_vec(&request).map_err(|_| gone())?;
        let expected = self.answers.expect(id).ok_or_else(gone)?;
        if self.wire.send(&body).is_err() {
            self.answers.forget(&expected);
            return Err(gone());
        }
        match self.answers.wait(&expected, timeout) {
            Ok(Response { outcome: Outcome::Result(value), .. }) => Ok(value),
            Ok(Response { outcome: Outcome::Error(error), .. }) => Err(error),
            Err(NoAnswer::TimedOut) => Err(ErrorKind::TimedOut.with("the tool did not answer in time")),
            Err(NoAnswer::Gone) => Err(gone()),
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

    /// From here on there are calls; `gone` is called when the other side has hung up.
    pub fn start(self, gone: fn()) -> HostTools {
        let answers = Arc::new(Answers::over(Arc::clone(&self.wire.stream), self.decoder));
        let watched = Arc::clone(&answers);
        thread::spawn(move || {
            watched.watch();
            gone();
        });
        HostTools { wire: self.wire, answers, next: AtomicU64::new(1) }
    }
}

#[cfg(test)]
mod tests {
    use rustix::net::{AddressFamily, SocketFlags, SocketType};
    use serde_json::json;

    use super::*;

    const LONG: Duration = Duration::from_secs(600);

    fn connected() -> (HostTools, Unstarted) {
        let (ours, theirs) =
            rustix::net::socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)
                .expect("sockets");
        (Unstarted::over(ours).start(|| {}), Unstarted::over(theirs))
    }

    fn next(host: &mut Unstarted) -> Request {
        serde_json::from_slice(&host.receive().expect("a call")).expect("JSON of ours")
    }

    fn answer(host: &Unstarted, request: &Request) {
        let response = Response::of(request.id, Ok(Value::Object(request.arguments.clone())));
        host.wire().send(&serde_json::to_vec(&response).expect("an answer is JSON")).expect("sent");
    }

    fn call(tools: &HostTools, number: u64, timeout: Duration) -> Result<Value, ToolError> {
        tools.call("echo", json!({"n": number}).as_object().cloned().unwrap_or_default(), timeout)
    }

    #[test]
    fn every_caller_gets_its_own_answer_in_whatever_order_they_come() {
        let (tools, mut host) = connected();
        thread::scope(|scope| {
            let calls: Vec<_> = (0..20)
                .map(|number| {
                    scope.spawn({
                        let tools = &tools;
                        move || call(tools, number, LONG)
                    })
                })
                .collect();
            let mut requests: Vec<Request> = (0..20).map(|_| next(&mut host)).collect();
            requests.sort_by_key(|request| std::cmp::Reverse(request.id));
            requests.iter().for_each(|request| answer(&host, request));
            for (number, called) in (0..).zip(calls) {
                assert_eq!(called.join().expect("it ends"), Ok(json!({"n": number})));
            }
        });
    }

    #[test]
    fn an_answer_that_comes_too_late_is_nobody_elses() {
        let (tools, mut host) = connected();
        assert_eq!(call(&tools, 1, Duration::ZERO).expect_err("no time").kind, ErrorKind::TimedOut);
        let late = next(&mut host);
        thread::scope(|scope| {
            let called = scope.spawn(|| call(&tools, 2, LONG));
            let request = next(&mut host);
            answer(&host, &late);
            answer(&host, &request);
            assert_eq!(called.join().expect("it ends"), Ok(json!({"n": 2})));
        });
    }

    #[test]
    fn a_host_that_hangs_up_has_answered_what_it_answered_and_nothing_else() {
        let (tools, mut host) = connected();
        thread::scope(|scope| {
            let calls: Vec<_> = (0..3)
                .map(|number| {
                    scope.spawn({
                        let tools = &tools;
                        move || call(tools, number, LONG)
                    })
                })
                .collect();
            let requests: Vec<Request> = (0..3).map(|_| next(&mut host)).collect();
            answer(&host, &requests[1]);
            drop(host);
            let ended: Vec<_> = calls.into_iter().map(|call| call.join().expect("it ends")).collect();
            assert_eq!(ended.iter().filter(|ended| ended.is_ok()).count(), 1, "{ended:?}");
        });
        assert_eq!(call(&tools, 4, LONG).expect_err("nobody is there").kind, ErrorKind::Failed);
    }
}
