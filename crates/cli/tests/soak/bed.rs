//! A daemon with its hosts, its source of credentials and its small disk.

use std::fs;
use std::io::Read;
use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;
use std::sync::{Mutex, MutexGuard};

use cofferdam_testkit::{Cofferdam, Home, Outcome};
use serde_json::Value;

use super::disk::Disk;
use super::scene::{CANARIES, Manner, VARIABLE};
use super::upstream::Upstream;

pub const COFFERDAM: &str = env!("CARGO_BIN_EXE_cofferdam");

pub struct Bed {
    pub home: Home,
    pub port: u16,
    pub upstream: Upstream,
    pub disk: Disk,
    token: Mutex<String>,
    /// Everything that was printed by anybody.
    printed: Mutex<Vec<u8>>,
}

impl Bed {
    pub fn new() -> Self {
        let home = Home::outside_tmp();
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        drop(listener);
        let upstream = Upstream::start();
        home.write("project/README", "a project\n");
        home.write("keys/value", CANARIES[0]);
        home.write("keys/tell", "cd \"${0%/*}\" && [ ! -e broken ] && exec cat value\n");
        home.write("cofferdam/upstream.pem", &upstream.authority_pem);
        home.chmod("cofferdam", 0o700);
        let disk = Disk::mounted(&home, home.path().join("cofferdam/state"));
        let token = Mutex::default();
        let bed = Self { home, port, upstream, disk, token, printed: Mutex::default() };
        bed.configure(0);
        bed.egress(&["start"]).expect_status(0);
        bed.take_token(&bed.egress(&["setup", "--yes", "--json"]).expect_status(0).stdout());
        bed
    }

    /// The configuration, with so many rules that nobody needs.
    pub fn configure(&self, rules: usize) {
        let hosts = Manner::ALL.map(Manner::host);
        let resolve: String = Manner::ALL
            .iter()
            .map(|manner| format!("\"{}:443\" = \"{}\"\n", manner.host(), self.address(*manner)))
            .collect();
        let more: String = (0..rules)
            .map(|rule| format!("[[egress.allow]]\nhosts = [\"more-{rule}.example.test\"]\n"))
            .collect();
        let tell = self.home.path().join("keys/tell");
        self.save_config(&format!(
            "[egress]\nlisten = \"127.0.0.1:{port}\"\nupstream_ca_files = [\"upstream.pem\"]\n\
                 [egress.limits]\nrequests_per_minute = 1000000\nfirst_byte_timeout = \"5s\"\n\
                 [egress.resolve]\n{resolve}{more}\
                 [[provider]]\nname = \"acme\"\nhosts = {hosts:?}\nvariables = [\"{VARIABLE}\"]\n\
                 scheme = {{ header = \"Authorization\", template = \"Bearer {{}}\" }}\n\
                 secret = {{ command = [\"/bin/sh\", {tell:?}], ttl = \"1s\" }}\n",
            port = self.port,
        ));
    }

    /// As editors save: sandboxes start all the time, and must not read a half.
    pub fn save_config(&self, text: &str) {
        let new = self.home.write("cofferdam/config.new", text);
        fs::rename(new, self.home.path().join("cofferdam/config.toml")).expect("a rename");
    }

    fn address(&self, manner: Manner) -> String {
        match manner {
            Manner::NoTls => self.upstream.without_tls.to_string(),
            // Reserved, and nobody listens there.
            Manner::Absent => "127.0.0.1:1".to_owned(),
            _ => self.upstream.address.to_string(),
        }
    }

    pub fn cofferdam(&self) -> Cofferdam {
        self.disk.call(&self.home, "project", COFFERDAM)
    }

    pub fn egress(&self, words: &[&str]) -> Outcome {
        self.keep(self.cofferdam().arg("egress").args(words).run())
    }

    /// A shell script in a sandbox that uses the daemon.
    pub fn sandbox(&self, script: &str) -> Cofferdam {
        self.cofferdam().args(["run", "--", "/bin/sh", "-c", script])
    }

    pub fn status(&self) -> Value {
        serde_json::from_str(&self.egress(&["status", "--json"]).stdout()).unwrap_or_default()
    }

    /// Supervisor and worker.
    pub fn processes(&self) -> Option<[i32; 2]> {
        let status = self.status();
        let number = |name: &str| status[name].as_i64().and_then(|pid| i32::try_from(pid).ok());
        Some([number("pid")?, number("worker")?])
    }

    pub fn take_token(&self, json: &str) {
        let made: Value = serde_json::from_str(json).expect("JSON");
        let token = made["tokens"][0]["token"].as_str().expect("a token was made");
        *self.token.lock().expect("no panic with it") = token.to_owned();
    }

    pub fn token(&self) -> String {
        self.token.lock().expect("no panic with it").clone()
    }

    /// Remembers what was printed, to be searched at the end. What makes tokens prints them; only keys are searched for.
    pub fn keep(&self, outcome: Outcome) -> Outcome {
        let mut printed = self.printed();
        printed.extend_from_slice(outcome.stdout_bytes());
        printed.extend_from_slice(outcome.stderr().as_bytes());
        drop(printed);
        outcome
    }

    pub fn printed(&self) -> MutexGuard<'_, Vec<u8>> {
        self.printed.lock().expect("no panic while printing")
    }

    /// All lines of the record.
    pub fn record(&self) -> Vec<Value> {
        let mut text = String::new();
        for path in files(&self.disk.path("audit")) {
            if path.extension().is_some_and(|end| end == "jsonl") {
                let mut file = fs::File::open(path).expect("a file of the record");
                file.read_to_string(&mut text).expect("text");
            }
        }
        text.lines().map(|line| serde_json::from_str(line).expect("a record is JSON")).collect()
    }
}

/// All files below a directory, in order.
pub fn files(directory: &Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => found.extend(files(&entry.path())),
            Ok(kind) if kind.is_file() => found.push(entry.path()),
            _ => {}
        }
    }
    found.sort();
    found
}

impl Drop for Bed {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let log = fs::read_to_string(self.disk.path("daemon.log")).unwrap_or_default();
            println!("the daemon's log:\n{log}\nits status: {:#}", self.status());
        }
        // Whatever became of the test, nothing of its daemon is left.
        let _ = self.cofferdam().args(["egress", "stop", "--grace", "2s"]).run();
    }
}
