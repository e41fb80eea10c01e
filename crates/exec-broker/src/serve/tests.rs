use std::os::fd::AsFd;
use std::sync::Barrier;
use std::thread;

use rustix::net::{AddressFamily, SocketFlags, SocketType};
use serde_json::json;

use super::*;
use crate::connection::{Client, send_all};
use crate::door;
use crate::frame::{Arrived, Decoder, encode};
use crate::message::{Outcome, Response};

struct Echo(Barrier);

impl Tools for Echo {
    fn call(&self, call: &Call<'_>, arguments: Map<String, Value>) -> Result<Value, ToolError> {
        if call.tool.name == "together" {
            self.0.wait();
        }
        Ok(Value::Object(arguments))
    }
}

fn tool(name: &str) -> Tool {
    Tool { name: name.to_owned(), description: String::new(), schema: json!({"type": "object"}) }
}

fn served(most_calls: u64) -> (Arc<Broker>, OwnedFd) {
    let tools = Box::new(Echo(Barrier::new(50)));
    let broker = Broker::new([tool("echo"), tool("together")], most_calls, Peers::Any, tools);
    let (ours, theirs) =
        rustix::net::socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)
            .expect("sockets");
    broker.serve_stream(ours);
    (broker, theirs)
}

fn frames(stream: &OwnedFd, count: usize) -> Vec<Response> {
    let (mut decoder, mut got, mut buffer) = (Decoder::default(), Vec::new(), [0; 4096]);
    while got.len() < count {
        match decoder.pull() {
            Some(Arrived::Body(body)) => got.push(serde_json::from_slice(&body).expect("an answer")),
            Some(Arrived::TooLarge { .. }) => panic!("an answer is not that large"),
            None => {
                let bytes = door::receive(stream.as_fd(), &mut buffer).expect("an answer").bytes;
                assert!(bytes > 0, "the broker is gone");
                decoder.push(&buffer[..bytes]);
            }
        }
    }
    got
}

fn kind(response: &Response) -> Option<ErrorKind> {
    match &response.outcome {
        Outcome::Result(_) => None,
        Outcome::Error(error) => Some(error.kind),
    }
}

#[test]
fn fifty_calls_are_under_way_at_once_on_one_connection() {
    let (broker, stream) = served(1000);
    for id in 0..50 {
        let body = json!({"id": id, "tool": "together", "arguments": {"n": id}}).to_string();
        send_all(stream.as_fd(), &encode(body.as_bytes()).expect("it is small")).expect("sent");
    }
    let mut got = frames(&stream, 50);
    got.sort_by_key(|response| response.id);
    for (id, response) in (0..).zip(&got) {
        assert_eq!(*response, Response::of(id, Ok(json!({"n": id}))));
    }
    assert_eq!(broker.tally().calls(), 50);
}

#[test]
fn what_is_wrong_is_answered_and_counted_and_the_next_call_is_served() {
    let (broker, stream) = served(2);
    let send = |body: &str| send_all(stream.as_fd(), &encode(body.as_bytes()).expect("small")).expect("sent");
    send("garbage");
    send(r#"{"id": 9, "tool": "echo", "session": "another"}"#);
    send(r#"{"id": 1, "tool": "no such tool"}"#);
    send_all(stream.as_fd(), &(1u32 << 30).to_be_bytes()).expect("sent");
    let seen: Vec<_> = frames(&stream, 4).iter().map(|response| (response.id, kind(response))).collect();
    let expected = [
        (None, Some(ErrorKind::Malformed)),
        (Some(9), Some(ErrorKind::Malformed)),
        (Some(1), Some(ErrorKind::UnknownTool)),
        (None, Some(ErrorKind::TooLarge)),
    ];
    assert_eq!(seen, expected);
    let chunk = vec![0; 1 << 20];
    for _ in 0..1 << 10 {
        send_all(stream.as_fd(), &chunk).expect("sent");
    }
    for id in 0..3 {
        send(&json!({"id": id, "tool": "echo"}).to_string());
    }
    let mut seen: Vec<_> = frames(&stream, 3).iter().map(|response| (response.id, kind(response))).collect();
    seen.sort_by_key(|(id, _)| *id);
    assert_eq!(seen.iter().filter(|(_, kind)| kind.is_none()).count(), 2, "{seen:?}");
    assert_eq!(broker.tally().refused(), 5);
}

#[test]
fn connections_that_are_handed_in_are_served_and_other_things_are_not() {
    let tools = Box::new(Echo(Barrier::new(1)));
    let broker = Broker::new([tool("echo")], 10, Peers::Any, tools);
    let (door, theirs) = Door::pair().expect("a door");
    let serving = Arc::clone(&broker);
    let thread = thread::spawn(move || serving.serve_door(&door));
    let file = tempfile::tempfile().expect("a file");
    door::hand_in(theirs.as_fd(), file.as_fd()).expect("handed in");
    for _ in 0..3 {
        let mut client = Client::through(theirs.as_fd()).expect("a connection");
        let answer = client.call("echo", Map::new()).expect("an answer");
        assert_eq!(kind(&answer), None);
    }
    drop(theirs);
    thread.join().expect("the door is closed");
    assert_eq!((broker.tally().calls(), broker.tally().refused()), (3, 1));
}

#[test]
fn a_process_outside_of_a_sandbox_is_a_stranger() {
    let peers = Peers::one_sandbox().expect("a namespace");
    let own = door::Sender {
        pid: i32::try_from(std::process::id()).expect("a number of a process"),
        user: rustix::process::getuid().as_raw(),
    };
    assert!(!peers.admit(Some(own)));
    assert!(!peers.admit(None));
}
