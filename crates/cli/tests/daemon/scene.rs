//! A daemon of its own for every test, which is gone with it.

use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::PathBuf;

use cofferdam_testkit::processes::{PATIENCE, wait_until};
use cofferdam_testkit::{Cofferdam, Home, Outcome, record_in};

pub struct Daemon {
    pub home: Home,
    pub port: u16,
}

/// A port that nobody listens on at this moment.
pub fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    listener.local_addr().expect("an address").port()
}

impl Daemon {
    /// Configured and not started; `extra` is more of the configuration.
    pub fn new(extra: &str) -> Self {
        let daemon = Self { home: Home::new(), port: free_port() };
        daemon.configure(extra);
        daemon
    }

    pub fn started(extra: &str) -> Self {
        let daemon = Self::new(extra);
        daemon.call(&["start"]).run().expect_status(0);
        daemon
    }

    pub fn configure(&self, extra: &str) {
        let port = self.port;
        self.home.write("cofferdam/config.toml", format!("[egress]\nlisten = \"127.0.0.1:{port}\"\n{extra}"));
        self.home.chmod("cofferdam", 0o700);
    }

    pub fn call(&self, words: &[&str]) -> Cofferdam {
        Cofferdam::new(env!("CARGO_BIN_EXE_cofferdam"), &self.home).arg("egress").args(words)
    }

    pub fn file(&self, relative: &str) -> PathBuf {
        self.home.path().join("cofferdam").join(relative)
    }

    pub fn status(&self) -> serde_json::Value {
        serde_json::from_str(&self.call(&["status", "--json"]).run().stdout()).expect("JSON")
    }

    pub fn pid(&self) -> i32 {
        let text = fs::read(self.file("run/daemon.pid")).expect("a pid file");
        let identity: serde_json::Value = serde_json::from_slice(&text).expect("JSON");
        i32::try_from(identity["pid"].as_i64().expect("a number")).expect("a pid")
    }

    pub fn worker(&self) -> i32 {
        i32::try_from(self.status()["worker"].as_i64().expect("a worker")).expect("a pid")
    }

    pub fn log(&self) -> String {
        fs::read_to_string(self.file("state/daemon.log")).unwrap_or_default()
    }

    /// All lines of the record.
    pub fn record(&self) -> String {
        record_in(&self.file("state/audit"))
    }

    /// What the shared port answers to a plain request for this host; nothing if it was closed without a word.
    pub fn ask(&self, host: &str) -> String {
        ask(self.port, host)
    }

    pub fn wait_until_serving(&self) {
        wait_until("the proxy serves", || self.status()["serving"].as_object().is_some());
    }
}

pub fn ask(port: u16, host: &str) -> String {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).expect("a connection");
    stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    exchange(&mut stream, host)
}

/// One request on a connection that may be used again.
pub fn exchange(stream: &mut TcpStream, host: &str) -> String {
    let request = format!("GET http://{host}/ HTTP/1.1\r\nhost: {host}\r\n\r\n");
    let mut answer = Vec::new();
    let mut buffer = [0; 4096];
    if stream.write_all(request.as_bytes()).is_err() {
        return String::new();
    }
    loop {
        let text = String::from_utf8_lossy(&answer).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            if length.is_some_and(|length| length.parse().is_ok_and(|length: usize| body.len() >= length)) {
                return text;
            }
        }
        match stream.read(&mut buffer) {
            Ok(count) if count > 0 => answer.extend_from_slice(&buffer[..count]),
            _ => return text,
        }
    }
}

#[track_caller]
pub fn signal(pid: i32, signal: rustix::process::Signal) {
    let pid = rustix::process::Pid::from_raw(pid).expect("a pid");
    rustix::process::kill_process(pid, signal).expect("a signal");
}

/// Whether a process is there and not merely waiting to be collected.
pub fn lives(pid: i32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat"))
        .is_ok_and(|stat| !stat.rsplit(')').next().is_some_and(|rest| rest.starts_with(" Z")))
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // Whatever became of the test, nothing of its daemon is left.
        let _: Outcome = self.call(&["stop", "--grace", "2s"]).run();
    }
}
