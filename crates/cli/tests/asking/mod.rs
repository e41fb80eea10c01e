//! Questions and answers, asked and given as people do: at real terminals, in several processes.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::process::Child;
use std::time::{Duration, Instant};

use cofferdam_testkit::{Cofferdam, Home, Outcome};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

pub const COFFERDAM: &str = env!("CARGO_BIN_EXE_cofferdam");
/// A command that has to be asked about.
pub const ASKED: &str = "git push --force";
/// Nothing here takes that long; a test that waits so long has failed.
const PATIENCE: Duration = Duration::from_secs(60);

/// A home with this configuration, and a workspace.
pub fn home(config: &str) -> Home {
    let home = Home::new();
    home.write("cofferdam/config.toml", config);
    home.chmod("cofferdam", 0o700);
    home
}

pub fn call(home: &Home, args: &[&str]) -> Cofferdam {
    Cofferdam::new(COFFERDAM, home).args(args)
}

/// `approvals ask --json` in a session of its own, so that there is no terminal, whatever runs the tests.
pub fn ask(home: &Home, args: &[&str]) -> Cofferdam {
    Cofferdam::new("/usr/bin/setsid", home).args(["-w", COFFERDAM, "approvals", "ask", "--json"]).args(args)
}

/// The value of a key in printed JSON; empty when it is not there.
pub fn field(json: &str, key: &str) -> String {
    let mark = format!("\"{key}\": \"");
    json.split_once(&mark).and_then(|(_, rest)| rest.split('"').next()).unwrap_or_default().to_owned()
}

/// The reason of a refusal, or `approved`.
pub fn decided(outcome: &Outcome) -> String {
    let json = outcome.stdout();
    match outcome.status() {
        0 => field(&json, "decision"),
        3 => field(&json, "reason"),
        status => panic!("status {status}: {json}{}", outcome.stderr()),
    }
}

/// A process that waits for its answer.
pub struct Waiting {
    child: Option<Child>,
}

impl Waiting {
    pub fn start(home: &Home, args: &[&str]) -> Self {
        Self { child: Some(ask(home, args).spawn()) }
    }

    pub fn finish(mut self) -> (i32, String) {
        let output = self.child.take().expect("not finished before").wait_with_output().expect("it ends");
        (output.status.code().unwrap_or(-1), String::from_utf8_lossy(&output.stdout).into_owned())
    }

    pub fn decided(self) -> String {
        match self.finish() {
            (0, json) => field(&json, "decision"),
            (3, json) => field(&json, "reason"),
            (status, json) => panic!("status {status}: {json}"),
        }
    }

    /// Ends it without any chance to clean up.
    pub fn kill(mut self) {
        let mut child = self.child.take().expect("not finished before");
        child.kill().expect("it can be killed");
        child.wait().expect("it ends");
    }
}

/// The ids of what waits, once there are so many.
pub fn waiting(home: &Home, count: usize) -> Vec<String> {
    let began = Instant::now();
    loop {
        let json = call(home, &["approvals", "list", "--json"]).run().expect_status(0).stdout();
        let pending = json.split("\"rules\"").next().unwrap_or_default();
        let ids: Vec<String> = pending
            .split("\"id\": \"")
            .skip(1)
            .map(|rest| rest.split('"').next().unwrap_or_default().to_owned())
            .collect();
        if ids.len() == count {
            return ids;
        }
        assert!(began.elapsed() < PATIENCE, "waiting for {count} questions: {json}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A person at a terminal of their own, where one command was started.
pub struct AtTerminal {
    child: Child,
    keyboard: File,
    pub screen: String,
}

impl AtTerminal {
    pub fn start(home: &Home, args: &[&str]) -> Self {
        Self::typing_first(home, args, "")
    }

    /// Runs a script of a shell there.
    pub fn script(home: &Home, script: &str) -> Self {
        Self::open(home, &["/bin/sh", "-c", script], "")
    }

    /// Types something before the command starts.
    pub fn typing_first(home: &Home, args: &[&str], typed: &str) -> Self {
        let argv: Vec<&str> = [COFFERDAM].into_iter().chain(args.iter().copied()).collect();
        Self::open(home, &argv, typed)
    }

    fn open(home: &Home, argv: &[&str], typed: &str) -> Self {
        let keyboard =
            openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).expect("a terminal");
        grantpt(&keyboard).and_then(|()| unlockpt(&keyboard)).expect("a terminal that can be opened");
        let name = ptsname(&keyboard, Vec::new()).expect("its name");
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
        let screen: OwnedFd = rustix::fs::open(name.as_c_str(), flags, Mode::empty()).expect("its other end");
        let mut keyboard = File::from(keyboard);
        keyboard.write_all(typed.as_bytes()).expect("typed");
        let setsid = Cofferdam::new("/usr/bin/setsid", home).args(["-c", "-w"]).args(argv);
        let child = setsid.spawn_reading(screen);
        Self { child, keyboard, screen: String::new() }
    }

    /// Reads the screen until this stands there.
    pub fn see(&mut self, text: &str) {
        let began = Instant::now();
        while !self.screen.contains(text) {
            assert!(began.elapsed() < PATIENCE, "{text:?} never came up:\n{}", self.screen);
            let mut ready = [PollFd::new(&self.keyboard, PollFlags::IN)];
            let wait = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
            if poll(&mut ready, Some(&wait)).unwrap_or(0) == 0 {
                continue;
            }
            let mut buffer = [0; 4096];
            match self.keyboard.read(&mut buffer) {
                Ok(read) if read > 0 => self.screen.push_str(&String::from_utf8_lossy(&buffer[..read])),
                _ => panic!("the terminal closed before {text:?} came up:\n{}", self.screen),
            }
        }
    }

    pub fn type_line(&mut self, line: &str) {
        self.keyboard.write_all(format!("{line}\n").as_bytes()).expect("typed");
    }

    /// Waits for the end, with the terminal still open.
    pub fn finish(self) -> (i32, String) {
        let output = self.child.wait_with_output().expect("it ends");
        drop(self.keyboard);
        (output.status.code().unwrap_or(-1), String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Closes the terminal's window.
    pub fn close(self) -> (i32, String) {
        drop(self.keyboard);
        let output = self.child.wait_with_output().expect("it ends");
        (output.status.code().unwrap_or(-1), String::from_utf8_lossy(&output.stdout).into_owned())
    }
}
