//! Scripts with tools: what `exec-code` adds to a script, how fast a script calls, and how long a call takes.
//!
//! The smallest tools that there are: `read_file` of a small file, done by a process of the sandbox, and a tool of the
//! host, which answers at once. Both pass the gate and are on record before they are done.

use std::os::fd::{AsRawFd, OwnedFd};
use std::path::PathBuf;
use std::thread;

use cofferdam_exec_broker::Unstarted;
use rustix::io::FdFlags;
use rustix::net::{AddressFamily, SocketFlags, SocketType};
use serde_json::{Value, json};

use crate::harness::{Bench, Case, Unit};
use crate::peer::{self, Call};

const OVERHEAD: &str = "a Python script";
const CALLS: &str = "calls of a tool by one script";
const ONE: &str = "one call of a tool, as the script sees it";
const COUNT: u32 = 4_000;
/// Calls before the first that is measured alone, and then, in each of so many scripts.
const BEFORE: u32 = 300;
const ALONE: u32 = 1_000;
const SCRIPTS: u32 = 5;
const TOOLS: &[&str] = &["--tools", "read_file", "--max-calls", "1000000"];
const LIMIT: &str = "files opened by the script itself";

/// What is measured in, and with.
struct Place {
    cofferdam: PathBuf,
    python: PathBuf,
    home: PathBuf,
}

pub fn run(bench: &mut Bench) {
    let (Some(cofferdam), Some(python)) = (peer::cofferdam(), peer::on_path("python3")) else {
        bench.skip(OVERHEAD, "python3 or the program is not there; use `cargo xtask bench`");
        return;
    };
    let place = Place { cofferdam, python, home: bench.cache().join("exec-code") };
    if let Err(error) = place.prepare() {
        bench.skip(OVERHEAD, &format!("no workspace: {error}"));
        return;
    }
    if !place.exec(&["empty.py"]).status().is_ok_and(|status| status.success()) {
        bench.skip(OVERHEAD, "no sandbox can be made here; `cofferdam doctor` says why");
        return;
    }
    let cases = vec![
        case("python3 empty.py", || peer::finish(&mut place.plain("empty.py"))),
        case("exec-code empty.py", || peer::finish(&mut place.exec(&["empty.py"]))),
    ];
    bench.side_by_side(OVERHEAD, Unit::Seconds, 1.0, cases);
    let cases = vec![
        case(LIMIT, || peer::finish(&mut place.plain("opens.py"))),
        case("read_file, one after the other", || {
            peer::finish(&mut place.exec(&[TOOLS, &["calls.py"]].concat()));
        }),
        case("read_file, from eight threads", || {
            peer::finish(&mut place.exec(&[TOOLS, &["threads.py"]].concat()));
        }),
        case("a host's tool, one after the other", || place.with_host("host.py", peer::finish)),
    ];
    bench.side_by_side(CALLS, Unit::OperationsPerSecond, f64::from(COUNT), cases);
    let host = |command: &mut Call| printed(command, "/output");
    let cases = vec![
        (LIMIT.to_owned(), times(|| printed(&mut place.plain("opens-alone.py"), ""))),
        (
            "read_file".to_owned(),
            times(|| printed(&mut place.exec(&[TOOLS, &["calls-alone.py"]].concat()), "/output")),
        ),
        ("a host's tool".to_owned(), times(|| place.with_host("host-alone.py", host))),
    ];
    bench.taken(ONE, Unit::Seconds, cases);
}

impl Place {
    fn prepare(&self) -> std::io::Result<()> {
        use std::os::unix::fs::PermissionsExt;
        let (own, project) = (self.home.join("cofferdam"), self.home.join("project"));
        std::fs::create_dir_all(&own)?;
        std::fs::set_permissions(&own, std::fs::Permissions::from_mode(0o700))?;
        std::fs::create_dir_all(&project)?;
        std::fs::write(own.join("config.toml"), "[approval]\nmode = \"off\"\n")?;
        std::fs::write(project.join("note"), "a note\n")?;
        std::fs::write(project.join("empty.py"), "")?;
        let import = "import cofferdam_tools as t\n";
        let (tool, host) = ("t.read_file('note')", "t.nothing()");
        for (name, before, call) in
            [("opens", "", "open('note').read()"), ("calls", import, tool), ("host", import, host)]
        {
            let many = format!("{before}for _ in range({COUNT}): {call}\n");
            std::fs::write(project.join(format!("{name}.py")), many)?;
            let alone = format!(
                "from time import perf_counter as now\n{before}def one():\n    began = now(); {call}; return now() - began\n\
                 for _ in range({BEFORE}): one()\nfor _ in range({ALONE}): print(one())\n"
            );
            std::fs::write(project.join(format!("{name}-alone.py")), alone)?;
        }
        let threads =
            "from concurrent.futures import ThreadPoolExecutor\nwith ThreadPoolExecutor(8) as pool:\n";
        let body = format!("    list(pool.map(lambda _: {tool}, range({COUNT})))\n");
        std::fs::write(project.join("threads.py"), format!("{import}{threads}{body}"))
    }

    fn plain(&self, script: &str) -> Call {
        let mut command = peer::command(&self.python);
        command.current_dir(self.home.join("project")).args(["-u", script]);
        command
    }

    fn exec(&self, arguments: &[&str]) -> Call {
        let mut command = peer::command(&self.cofferdam);
        command.env("HOME", &self.home).env("COFFERDAM_HOME", self.home.join("cofferdam"));
        command.current_dir(self.home.join("project"));
        command.arg("exec-code").args(arguments);
        command
    }

    /// Runs a script with a tool of this process, which does nothing.
    fn with_host<T>(&self, script: &str, run: impl FnOnce(&mut Call) -> T) -> T {
        let (ours, theirs) =
            rustix::net::socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)
                .expect("there are sockets");
        rustix::io::fcntl_setfd(&theirs, FdFlags::empty()).expect("a socket can be inherited");
        let serving = thread::spawn(move || answer_all(ours));
        let inherited = theirs.as_raw_fd().to_string();
        let mut command = self.exec(&[TOOLS, &["--host-tools", &inherited, script]].concat());
        let ended = run(&mut command);
        drop(theirs);
        serving.join().expect("the host ends with its script");
        ended
    }
}

fn answer_all(stream: OwnedFd) {
    let mut connection = Unstarted::over(stream);
    let wire = connection.wire();
    let send = |value: Value| wire.send(value.to_string().as_bytes());
    let offered = send(json!({"tools": [{"name": "nothing", "schema": {"type": "object"}}]}));
    while let (Ok(()), Ok(body)) = (&offered, connection.receive()) {
        let id = serde_json::from_slice::<Value>(&body).ok().and_then(|call| call.get("id").cloned());
        if send(json!({"id": id, "result": null})).is_err() {
            return;
        }
    }
}

/// The numbers that a script has printed, where its output stands in what the program prints.
fn printed(command: &mut Call, output: &str) -> Vec<f64> {
    let ended =
        command.stdout(std::process::Stdio::piped()).output().expect("a program that was found starts");
    assert!(ended.status.success(), "{command:?} ended with {}", ended.status);
    let text = String::from_utf8_lossy(&ended.stdout);
    let text = match output {
        "" => text.into_owned(),
        place => {
            let result: Value = serde_json::from_str(&text).expect("a result is JSON");
            result.pointer(place).and_then(Value::as_str).unwrap_or_default().to_owned()
        }
    };
    text.lines().filter_map(|line| line.parse().ok()).collect()
}

fn times(script: impl Fn() -> Vec<f64>) -> Vec<f64> {
    (0..SCRIPTS).flat_map(|_| script()).collect()
}

fn case<'a>(name: &str, round: impl Fn() + 'a) -> Case<'a> {
    Case { name: name.to_owned(), round: Box::new(round) }
}
