//! What is measured runs in processes of its own, so that what it costs can be told apart. They are this very
//! program under another name: it is started with a role, says on which port it listens, and ends with its input.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, ExitCode, Stdio};
use std::time::Duration;

use cofferdam_bench::peer;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use super::{certificates, hudsucker, opaque, ours, upstream};

/// The first argument of a process with a role.
pub const FLAG: &str = "--role";

/// What a peer speaks with the upstream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wire {
    Http1,
    Http2,
}

impl Wire {
    pub fn name(self) -> &'static str {
        match self {
            Self::Http1 => "http1",
            Self::Http2 => "http2",
        }
    }

    fn of(rest: &[String]) -> Self {
        match rest.last().map(String::as_str) {
            Some("http2") => Self::Http2,
            _ => Self::Http1,
        }
    }
}

/// Another process, which ends when this value does.
pub struct Running {
    child: Child,
    pub address: SocketAddr,
    /// What else it said: of the proxy its token.
    pub said: String,
}

/// Starts this program in a role. `directory` has what all roles share.
pub fn start(role: &str, directory: &Path, arguments: &[&str]) -> Running {
    let program = std::env::current_exe().expect("this program");
    let mut child = peer::command(program)
        .arg(FLAG)
        .arg(role)
        .arg(directory)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .expect("this program starts");
    let mut line = String::new();
    let output = child.stdout.take().expect("a pipe");
    BufReader::new(output).read_line(&mut line).expect("the address");
    let (address, said) = line.trim().split_once(' ').expect("an address and more");
    Running { child, address: address.parse().expect("an address"), said: said.to_owned() }
}

impl Running {
    /// A program that was started elsewhere and answers at this address.
    pub fn other(child: Child, address: SocketAddr) -> Self {
        Self { child, address, said: String::new() }
    }

    /// Processor time of all its threads so far.
    pub fn processor_time(&self) -> Duration {
        processor_time(self.child.id())
    }

    /// Resident memory in bytes.
    pub fn memory(&self) -> f64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or("0 kB");
        let kilobytes: f64 = line.trim().trim_end_matches(" kB").parse().unwrap_or(0.0);
        kilobytes * 1024.0
    }
}

/// Processor time of all threads of a process so far.
pub fn processor_time(pid: u32) -> Duration {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten();
    let times = tasks.flatten().filter_map(|task| {
        let text = std::fs::read_to_string(task.path().join("schedstat")).ok()?;
        text.split(' ').next()?.parse::<u64>().ok()
    });
    Duration::from_nanos(times.sum())
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The other side of [`start`].
pub fn play(arguments: &[String]) -> ExitCode {
    std::thread::spawn(|| {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        std::process::exit(0);
    });
    let [role, directory, rest @ ..] = arguments else { return ExitCode::FAILURE };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    runtime.expect("a runtime").block_on(part(role, Path::new(directory), rest));
    ExitCode::SUCCESS
}

async fn part(role: &str, directory: &Path, rest: &[String]) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("a bound address");
    let ready = |said: &str| {
        println!("{address} {said}");
        let _ = std::io::stdout().flush();
    };
    match role {
        "upstream" => {
            ready("-");
            let _ = upstream::serve(listener, TlsAcceptor::from(certificates::server(directory))).await;
        }
        "opaque" => {
            ready("-");
            let _ = opaque::serve(listener).await;
        }
        "hudsucker" => {
            ready("-");
            hudsucker::serve(listener, directory, Wire::of(rest)).await;
        }
        _ => ours::serve(listener, directory, rest, ready).await,
    }
}
