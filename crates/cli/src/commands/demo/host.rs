//! The host of the demo: it knows the key, answers who brings it, and remembers whoever comes without.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustls::{ServerConfig, ServerConnection, StreamOwned};

use super::tls;

/// What it says to who brings the key.
pub const ANSWER: &str = "welcome";
/// A request whose headers it sends back.
pub const ECHO: &str = "/echo";
const PATIENCE: Duration = Duration::from_secs(10);

pub struct Host {
    pub port: u16,
    /// In PEM.
    pub authority: String,
    seen: Arc<Mutex<Seen>>,
}

#[derive(Default)]
struct Seen {
    with_key: usize,
    strange: Vec<String>,
}

impl Host {
    /// Listens on a free port of loopback for as long as the program runs.
    pub fn start(name: &str, key: &str) -> io::Result<Self> {
        let (config, authority) = tls::server(name)?;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let port = listener.local_addr()?.port();
        let seen = Arc::new(Mutex::new(Seen::default()));
        let (expected, noted) = (format!("authorization: bearer {key}").to_ascii_lowercase(), seen.clone());
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (config, expected, noted) = (config.clone(), expected.clone(), noted.clone());
                // Who breaks a connection off is not answered.
                std::thread::spawn(move || serve(stream, config, &expected, &noted));
            }
        });
        Ok(Self { port, authority, seen })
    }

    pub fn got_the_key(&self) -> bool {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).with_key > 0
    }

    /// Requests that came with anything but the key.
    pub fn strange_requests(&self) -> Vec<String> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).strange.clone()
    }
}

fn serve(stream: TcpStream, config: Arc<ServerConfig>, expected: &str, seen: &Mutex<Seen>) -> io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    let connection = ServerConnection::new(config).map_err(io::Error::other)?;
    let mut stream = StreamOwned::new(connection, stream);
    loop {
        let Some(head) = read_head(&mut stream)? else { return Ok(()) };
        let path = head.split(' ').nth(1).unwrap_or_default();
        let has_key = head.lines().any(|line| line.to_ascii_lowercase() == expected);
        let body = {
            let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
            match has_key {
                true => seen.with_key += 1,
                false => seen.strange.push(path.to_owned()),
            }
            match (has_key, path) {
                (true, ECHO) => head.clone(),
                (true, _) => ANSWER.to_owned(),
                (false, _) => "who are you?".to_owned(),
            }
        };
        let length = body.len();
        write!(
            stream,
            "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: {length}\r\n\r\n{body}"
        )?;
        stream.flush()?;
    }
}

/// The head of a request; none when the client is gone. Nobody here sends a body.
fn read_head(stream: &mut impl Read) -> io::Result<Option<String>> {
    let mut bytes = Vec::new();
    while !bytes.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        if stream.read(&mut byte)? == 0 || bytes.len() > 64 << 10 {
            return Ok(None);
        }
        bytes.push(byte[0]);
    }
    Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
}
