//! A name server of the test's own, which writes down what it is asked.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, UdpSocket};
use std::sync::{Arc, Mutex};

const TYPE_A: u16 = 1;
const TYPE_AAAA: u16 = 28;
const NO_SUCH_NAME: u8 = 3;

/// What a name means, the first time and after that: of the last answers there is no end.
type Answers = HashMap<&'static str, Vec<Vec<IpAddr>>>;

#[derive(Clone)]
pub struct NameServer {
    asked: Arc<Mutex<Vec<(String, u16)>>>,
    answers: Arc<Mutex<Answers>>,
}

impl NameServer {
    /// At the place where everybody looks for one.
    pub fn start() -> Self {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 53)).expect("port 53 of a network of one's own");
        let server = Self { asked: Arc::default(), answers: Arc::default() };
        let serving = server.clone();
        std::thread::spawn(move || {
            let mut question = [0; 512];
            while let Ok((length, from)) = socket.recv_from(&mut question) {
                let _ = socket.send_to(&serving.answer(&question[..length]), from);
            }
        });
        server
    }

    /// Every turn is one lookup: both kinds of addresses are asked for in it.
    pub fn knows(&self, name: &'static str, turns: &[&[&str]]) {
        let address = |text: &&str| text.parse().expect("an address");
        let turns = turns.iter().map(|turn| turn.iter().map(address).collect()).collect();
        self.answers.lock().expect("no panic in the server").insert(name, turns);
    }

    /// How often a name was asked for, by one kind of address or the other.
    pub fn asked(&self, name: &str) -> usize {
        let asked = self.asked.lock().expect("no panic in the server");
        asked.iter().filter(|(known, _)| known == name).count()
    }

    pub fn names(&self) -> Vec<String> {
        let asked = self.asked.lock().expect("no panic in the server");
        asked.iter().map(|(name, _)| name.clone()).collect()
    }

    fn answer(&self, question: &[u8]) -> Vec<u8> {
        let (name, end) = name(question);
        let kind = u16::from_be_bytes([question[end], question[end + 1]]);
        let mut asked = self.asked.lock().expect("no panic in the test");
        let turn = asked.iter().filter(|(known, of)| *known == name && *of == kind).count();
        asked.push((name.clone(), kind));
        let answers = self.answers.lock().expect("no panic in the test");
        let turns = answers.get(&*name);
        let addresses = turns.map(|turns| turns[turn.min(turns.len() - 1)].clone());
        let records: Vec<Vec<u8>> =
            addresses.iter().flatten().filter_map(|address| record(*address, kind)).collect();
        let code = if addresses.is_some() { 0 } else { NO_SUCH_NAME };
        let count = u16::try_from(records.len()).expect("a few").to_be_bytes();
        let mut answer = [&question[..2], &[0x84, code, 0, 1], &count, &[0, 0, 0, 0]].concat();
        answer.extend_from_slice(&question[12..end + 4]);
        answer.extend(records.concat());
        answer
    }
}

/// The name that is asked for, and where its type stands.
fn name(question: &[u8]) -> (String, usize) {
    let (mut labels, mut at) = (Vec::new(), 12);
    while question[at] != 0 {
        let length = usize::from(question[at]);
        labels.push(String::from_utf8_lossy(&question[at + 1..at + 1 + length]).to_lowercase());
        at += 1 + length;
    }
    (labels.join("."), at + 1)
}

/// One that may not be remembered.
fn record(address: IpAddr, kind: u16) -> Option<Vec<u8>> {
    let (of, octets) = match address {
        IpAddr::V4(address) => (TYPE_A, address.octets().to_vec()),
        IpAddr::V6(address) => (TYPE_AAAA, address.octets().to_vec()),
    };
    let head = [0xc0, 0x0c, 0, of.to_be_bytes()[1], 0, 1, 0, 0, 0, 0, 0, u8::try_from(octets.len()).ok()?];
    (of == kind).then(|| [&head[..], &octets].concat())
}
