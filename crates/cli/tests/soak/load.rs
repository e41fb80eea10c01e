//! Who uses the daemon meanwhile: users of the shared port, and sandboxes that come and go.

use std::fmt;
use std::fs;
use std::io::Read;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use cofferdam_testkit::processes::{PATIENCE, marker, wait_until, with_argument};

use super::bed::Bed;
use super::scene::{Manner, VARIABLE};
use super::tally::Tally;
use super::user::User;

/// Between two requests of a user: the load is to last, not to hurt.
const PAUSE: Duration = Duration::from_millis(10);
/// Requests of one sandbox.
const OF_A_SANDBOX: usize = 3;

pub struct Load<'a> {
    bed: &'a Bed,
    tally: &'a Tally,
}

/// What the daemon held after so many requests, and after as many again.
pub struct Growth {
    pub requests: usize,
    pub held: [Held; 2],
}

/// Of both processes: memory in kilobytes, and descriptors if they may be counted.
#[derive(Debug, Clone, Copy)]
pub struct Held {
    pub kilobytes: [u64; 2],
    pub descriptors: Option<[usize; 2]>,
}

/// How often growth is looked for before it is believed.
const TURNS: usize = 4;

impl<'a> Load<'a> {
    pub fn new(bed: &'a Bed, tally: &'a Tally) -> Self {
        Self { bed, tally }
    }

    pub fn while_asking(&self, act: impl FnOnce()) {
        let over = AtomicBool::new(false);
        let goes_on = || !over.load(Ordering::Relaxed);
        thread::scope(|scope| {
            scope.spawn(|| self.ask_for_all(goes_on, &Manner::ALL[..5]));
            scope.spawn(|| self.ask_for_all(goes_on, &[Manner::Well, Manner::NoTls, Manner::Absent]));
            scope.spawn(|| self.ask_for_all(goes_on, &[Manner::Stalls]));
            scope.spawn(|| {
                for number in (0..).take_while(|_| goes_on()) {
                    if number % 4 == 3 { self.killed_sandbox() } else { self.sandbox() }
                }
            });
            // Those who ask end with this, whatever becomes of it.
            let _ends = Ends(&over);
            act();
        });
    }

    fn ask_for_all(&self, goes_on: impl Fn() -> bool, manners: &[Manner]) {
        let mut user = User::new(self.bed, self.tally);
        for manner in manners.iter().cycle().take_while(|_| goes_on()) {
            // Most of what is asked is asked of hosts that answer.
            for _ in 0..if *manner == Manner::Well { 15 } else { 1 } {
                user.ask(*manner);
                thread::sleep(PAUSE);
            }
        }
    }

    /// A sandbox whose command asks a few times and ends.
    fn sandbox(&self) {
        let began = Instant::now();
        let numbers: Vec<u64> = (0..OF_A_SANDBOX).map(|_| self.tally.number()).collect();
        let outcome = self.bed.keep(self.bed.sandbox(&curl(&numbers)).run());
        let (said, complaint) = (outcome.stdout(), outcome.stderr());
        let mut lines = said.lines();
        for number in numbers {
            let end = lines.next().map_or("not started", end);
            self.tally.add(began, number, Manner::Well, (end, &complaint));
        }
    }

    /// One whose launcher is killed while its command runs; nothing of it is left.
    fn killed_sandbox(&self) {
        let (began, number, marker) = (Instant::now(), self.tally.number(), marker());
        let script = format!("{}; exec sleep {marker}", curl(&[number]));
        let mut child = self.bed.sandbox(&script).spawn();
        let mut said = Vec::new();
        let output = child.stdout.as_mut().expect("a pipe");
        while !said.ends_with(b"\n") && output.take(1).read_to_end(&mut said).is_ok_and(|count| count > 0) {}
        child.kill().expect("a process of ours");
        let rest = child.wait_with_output().expect("its end");
        let said = String::from_utf8_lossy(&said).into_owned();
        let end = said.lines().next().map_or("not started", end);
        self.tally.add(began, number, Manner::Well, (end, &String::from_utf8_lossy(&rest.stderr)));
        wait_until("the sandbox is gone with its launcher", || with_argument(&marker).is_empty());
    }

    /// Requests that nothing disturbs, and then as many again.
    pub fn measure_growth(&self, requests: usize) -> Growth {
        self.ask_undisturbed(requests);
        let mut first = self.held();
        for _ in 0..TURNS {
            self.ask_undisturbed(requests);
            if self.falls_to(&first) {
                return Growth { requests, held: [first, self.held()] };
            }
            // What is opened once, for the first that needs it, is no leak: a leak comes with every turn.
            first = self.held();
        }
        panic!("descriptors are not given back: {:?} and more in every turn", first.descriptors);
    }

    /// Whether there are no more descriptors than then; what is let go late is no leak either.
    fn falls_to(&self, first: &Held) -> bool {
        let end = Instant::now() + PATIENCE / 4;
        loop {
            let mut pairs = self.held().descriptors.into_iter().zip(first.descriptors);
            match pairs.all(|(now, first)| now[0] <= first[0] && now[1] <= first[1]) {
                true => return true,
                false if Instant::now() > end => return false,
                false => thread::sleep(Duration::from_millis(2)),
            }
        }
    }

    fn ask_undisturbed(&self, requests: usize) {
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let mut user = User::new(self.bed, self.tally);
                    (0..requests / 4).for_each(|_| drop(user.ask(Manner::Well)));
                });
            }
        });
        self.sandbox();
        self.sandbox();
        wait_until("everybody has left", || {
            self.bed.status()["serving"]["clients"] == 0 && self.bed.upstream.open() == 0
        });
    }

    fn held(&self) -> Held {
        let pids = self.bed.processes().expect("both are there");
        let descriptors = pids.map(|pid| fs::read_dir(format!("/proc/{pid}/fd")).map(Iterator::count).ok());
        let descriptors = match descriptors {
            [Some(supervisor), Some(worker)] => Some([supervisor, worker]),
            _ => None,
        };
        Held { kilobytes: pids.map(kilobytes), descriptors }
    }
}

/// Prints a line for each number: status, status of the tunnel, reason.
fn curl(numbers: &[u64]) -> String {
    let urls: String = numbers
        .iter()
        .map(|number| format!(" -o /dev/null https://{}/{number}", Manner::Well.host()))
        .collect();
    format!(
        "curl -sS -m 60 -w '%{{http_code}} %{{http_connect}} %header{{cofferdam-reason}}\\n' \
         -H \"Authorization: Bearer ${VARIABLE}\"{urls}"
    )
}

fn end(line: &str) -> &str {
    let words: Vec<&str> = line.split(' ').collect();
    match words[..] {
        [_, _, reason] if !reason.is_empty() => reason,
        // Refused before there was a tunnel: of such an answer curl tells the status alone.
        ["000", "502", ..] => "proxy-restarting",
        ["000", "503", ..] => "record-unavailable",
        ["000", ..] => "lost",
        [status, ..] => status,
        [] => "lost",
    }
}

/// Memory that belongs to a process alone.
fn kilobytes(pid: i32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("a process");
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).expect("its memory");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}

struct Ends<'a>(&'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl fmt::Display for Growth {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (held, count) in self.held.iter().zip([self.requests, 2 * self.requests]) {
            writeln!(
                formatter,
                "after {count} requests: supervisor and worker hold {:?} kB and {:?} descriptors",
                held.kilobytes, held.descriptors
            )?;
        }
        Ok(())
    }
}
