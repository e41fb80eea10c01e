//! The sealed network as a person meets it: how long a command that has only just been started waits for its first answer,
//! and whether many sandboxes on one daemon slow each other down.
//!
//! The client is curl, in and outside the sandbox the same one, so what it takes itself is in all of them.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use cofferdam_bench::harness::{Bench, Unit};
use cofferdam_bench::peer::{self, Call};

use super::certificates::{self, SEALED};
use super::role::{self, Running};

const SANDBOXES: usize = 50;

/// An upstream, and a home whose configuration leads to it.
struct Place {
    cofferdam: PathBuf,
    curl: PathBuf,
    home: PathBuf,
    upstream: Running,
}

impl Place {
    fn new(bench: &mut Bench, title: &str) -> Option<Self> {
        let (Some(cofferdam), Some(curl)) = (peer::cofferdam(), peer::on_path("curl")) else {
            bench
                .skip(title, "it needs curl, and the program built beside this one; use `cargo xtask bench`");
            return None;
        };
        let home = bench.cache().join("sealed");
        // A daemon may be left of a run that was interrupted.
        let _ = call(&cofferdam, &home, &["egress", "stop"]).status();
        let _ = fs::remove_dir_all(&home);
        for directory in ["project", "cofferdam"] {
            fs::create_dir_all(home.join(directory)).expect("a directory in the cache");
        }
        certificates::create(&home.join("cofferdam"));
        let upstream = role::start("upstream", &home.join("cofferdam"), &[]);
        let place = Self { cofferdam, curl, home, upstream };
        fs::write(place.home.join("cofferdam/config.toml"), place.configuration()).expect("a configuration");
        Some(place)
    }

    fn configuration(&self) -> String {
        let listen = std::net::TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr());
        format!(
            "[egress]\nlisten = \"{}\"\nupstream_ca_files = [\"ca.pem\"]\n\
             [egress.resolve]\n\"{SEALED}:443\" = \"{}\"\n[[egress.allow]]\nhosts = [\"{SEALED}\"]\n\
             [egress.limits]\nrequests_per_minute = 1000000000\nconcurrent_requests = 1000000\n",
            listen.expect("a free port"),
            self.upstream.address
        )
    }

    fn call(&self, words: &[&str]) -> Call {
        let mut call = call(&self.cofferdam, &self.home, words);
        call.current_dir(self.home.join("project"));
        call
    }

    /// One request past everything.
    fn outside(&self) -> Call {
        let (host, port) = (self.upstream.address.ip(), self.upstream.address.port());
        let mut call = peer::command(&self.curl);
        call.arg("--cacert").arg(self.home.join("cofferdam/ca.pem"));
        call.args([
            "-fsS",
            "--resolve",
            &format!("{SEALED}:{port}:{host}"),
            &format!("https://{SEALED}:{port}/"),
        ]);
        call
    }

    /// The same in a sandbox of its own.
    fn inside(&self) -> Call {
        let mut call = self.call(&["run", "--"]);
        call.arg(&self.curl).args(["-fsS", &format!("https://{SEALED}/")]);
        call
    }
}

fn call(cofferdam: &Path, home: &Path, words: &[&str]) -> Call {
    let mut call = peer::command(cofferdam);
    call.env("HOME", home).env("COFFERDAM_HOME", home.join("cofferdam")).args(words);
    call
}

/// Until the answer is there. What it takes to end afterwards is nobody's waiting.
fn until_answered(mut call: Call) -> f64 {
    let start = Instant::now();
    let mut child = call.stdout(Stdio::piped()).spawn().expect("a program that was found starts");
    let read = child.stdout.take().expect("a pipe").read(&mut [0; 64]).expect("an answer");
    let taken = start.elapsed().as_secs_f64();
    let status = child.wait().expect("its end");
    assert!(read > 0 && status.success(), "{call:?} ended with {status}");
    taken
}

/// From the start of a command to its first answer: in a fresh sandbox, with a proxy of its own and with the daemon, and
/// without any.
pub fn first_request(bench: &mut Bench) {
    const TITLE: &str = "first HTTPS request of a fresh sandbox";
    let Some(place) = Place::new(bench, TITLE) else { return };
    peer::finish(&mut place.inside());
    let rounds = if bench.is_quick() { 10 } else { 60 };
    let mut taken = ["outside", "cofferdam run", "cofferdam run, with a daemon"]
        .map(|name| (name.to_owned(), Vec::with_capacity(rounds)));
    // Whoever runs a sandbox while a daemon is there uses that, so those without one come first.
    for _ in 0..rounds {
        taken[0].1.push(until_answered(place.outside()));
        taken[1].1.push(until_answered(place.inside()));
    }
    let daemon = Daemon::start(&place);
    for _ in 0..rounds {
        taken[2].1.push(until_answered(place.inside()));
    }
    drop(daemon);
    let median = |samples: &[f64]| {
        let mut sorted = samples.to_vec();
        sorted.sort_by(f64::total_cmp);
        sorted[sorted.len() / 2] * 1e3
    };
    let [alone, own, shared] = [0, 1, 2].map(|at: usize| median(&taken[at].1));
    bench.taken(TITLE, Unit::Seconds, taken.into());
    bench.fact(&format!(
        "beyond the same request outside: {:.1} ms, with a daemon {:.1} ms (promised: 15 ms)",
        own - alone,
        shared - alone
    ));
}

/// The shared proxy, until this value ends.
struct Daemon<'a> {
    place: &'a Place,
    worker: u32,
}

impl<'a> Daemon<'a> {
    fn start(place: &'a Place) -> Self {
        peer::finish(&mut place.call(&["egress", "start"]));
        let status = place.call(&["egress", "status", "--json"]).stdout(Stdio::piped()).output();
        let status: serde_json::Value =
            serde_json::from_slice(&status.expect("its answer").stdout).expect("JSON");
        let worker = status["worker"].as_u64().and_then(|pid| u32::try_from(pid).ok()).expect("a worker");
        Self { place, worker }
    }

    fn processor_time(&self) -> Duration {
        role::processor_time(self.worker)
    }
}

impl Drop for Daemon<'_> {
    fn drop(&mut self) {
        let _ = self.place.call(&["egress", "stop"]).status();
    }
}

/// A command in a sandbox that waits for the word and then asks and asks.
struct Asking(Child);

impl Asking {
    /// With so many clients at once, and so many requests of each.
    fn start(place: &Place, clients: usize, requests: usize) -> Self {
        let url = format!("https://{SEALED}/?[1-{requests}]");
        let one = format!("{} -fsS -o /dev/null '{url}'", place.curl.display());
        let script = format!(
            "echo ready; read go; i=0; while [ $i -lt {clients} ]; do {one} & i=$((i+1)); done; wait; echo done"
        );
        let mut call = place.call(&["run", "--", "/bin/sh", "-c", &script]);
        let mut child =
            call.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the program starts");
        let mut line = String::new();
        let output = child.stdout.as_mut().expect("a pipe");
        // One line has been written, and there is no other before the word was given.
        BufReader::with_capacity(1, output).read_line(&mut line).expect("a word from inside");
        assert_eq!(line, "ready\n");
        Self(child)
    }

    fn go(&mut self) {
        self.0.stdin.take().expect("a pipe").write_all(b"go\n").expect("it reads");
    }

    fn end(mut self) {
        assert!(self.0.wait().expect("its end").success());
    }
}

/// As many clients and requests in one sandbox as in fifty, on one daemon.
pub fn many_sandboxes(bench: &mut Bench) {
    const TITLE: &str = "50 sandboxes on one daemon";
    let Some(place) = Place::new(bench, TITLE) else { return };
    let daemon = Daemon::start(&place);
    let (rounds, requests) = if bench.is_quick() { (1, 50) } else { (7, 200) };
    let total = (SANDBOXES * requests) as f64;
    let names = ["one sandbox, 50 clients", "50 sandboxes, one client each"];
    let (mut times, mut processor) =
        (names.map(|name| (name.to_owned(), vec![])), names.map(|name| (name.to_owned(), vec![])));
    for _ in 0..rounds {
        for (at, (sandboxes, clients)) in [(1, SANDBOXES), (SANDBOXES, 1)].into_iter().enumerate() {
            let mut asking: Vec<Asking> =
                (0..sandboxes).map(|_| Asking::start(&place, clients, requests)).collect();
            let (before, start) = (daemon.processor_time(), Instant::now());
            asking.iter_mut().for_each(Asking::go);
            asking.into_iter().for_each(Asking::end);
            times[at].1.push(start.elapsed().as_secs_f64() / total);
            let spent = daemon.processor_time().saturating_sub(before);
            processor[at].1.push(spent.as_secs_f64() / total);
        }
    }
    bench.taken(TITLE, Unit::OperationsPerSecond, times.into());
    bench.taken(&format!("{TITLE}: processor time of the daemon"), Unit::Seconds, processor.into());
}
