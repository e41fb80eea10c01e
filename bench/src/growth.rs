//! What things cost as there is more and more of what they work on.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::Instant;

use cofferdam_approvals::{Context, judge};
use cofferdam_audit::{Event, Label, Recorder, Settings};
use cofferdam_bench::entry::Line;

use crate::harness::{Bench, Unit};
use crate::policy_match::{Set, by_host};
use crate::{audit, gate, peer};

fn line(name: &str, points: Vec<(f64, f64)>) -> Line {
    Line { name: name.to_owned(), points }
}

pub fn rules(bench: &mut Bench) {
    let mut points = Vec::new();
    for size in [10, 100, 1_000, 10_000, 100_000] {
        let set = Set::new(size, by_host);
        points.push((size as f64, bench.median(|| set.ask_compiled()) / set.asked()));
    }
    bench.growth(
        "one question to the allow rules",
        Unit::Seconds,
        "rules",
        vec![line("one question", points)],
    );
}

pub fn scripts(bench: &mut Bench) {
    let context = Context::new("/home/me/project", "/home/me", "me");
    let lines = [
        ("blocks that come again", gate::script as fn(usize) -> String),
        ("no two blocks alike", gate::varied),
    ];
    let lines = lines.map(|(name, make)| {
        let points = [1_000, 10_000, 100_000, 1_000_000].map(|size| {
            let script = make(size);
            (size as f64, bench.median(|| drop(std::hint::black_box(judge(&script, &context)))))
        });
        line(name, points.into())
    });
    bench.growth("the gate's verdict on a script", Unit::Seconds, "bytes", lines.into());
}

const RECORDS: [u64; 5] = [1_000, 10_000, 100_000, 1_000_000, 10_000_000];
const APPENDED: u32 = 1_000;

pub fn records(bench: &mut Bench) {
    let sizes = if bench.is_quick() { &RECORDS[..3] } else { &RECORDS[..] };
    let mut lines = ["verify", "count", "find one host", "append one"].map(|name| line(name, Vec::new()));
    for size in sizes {
        let record = record_of(bench.cache(), *size);
        // The longest takes long enough to be measured once.
        let time = |round: &mut dyn FnMut()| {
            if *size < 10_000_000 {
                return bench.median(round);
            }
            let start = Instant::now();
            round();
            start.elapsed().as_secs_f64()
        };
        let verify = time(&mut || {
            assert!(audit::snapshot(&record).verify(None).expect("a look").findings.is_empty());
        });
        let count = time(&mut || drop(audit::snapshot(&record).stats(None, &[]).expect("counts")));
        let find = time(&mut || drop(audit::found(&record, "h7.example")));
        let append = time(&mut append(&record)) / f64::from(APPENDED);
        for (line, value) in lines.iter_mut().zip([verify, count, find, append]) {
            line.points.push((*size as f64, value));
        }
    }
    bench.growth("questions to the record", Unit::Seconds, "records", lines.into());
}

fn append(record: &Path) -> impl FnMut() + use<> {
    let recorder = Recorder::open(record, all_kept()).expect("a record in the cache");
    let event = audit::request(1);
    move || {
        for _ in 0..APPENDED {
            assert!(recorder.record(None, &event).expect("a record").place().is_ok());
        }
    }
}

fn all_kept() -> Settings {
    Settings { keep_files: usize::MAX, ..Settings::default() }
}

/// Made once and kept. What was appended in earlier runs stays; it is little.
fn record_of(cache: &Path, size: u64) -> PathBuf {
    let record = cache.join(format!("audit-{size}"));
    let made = record.join("made");
    if !made.exists() {
        let _ = fs::remove_dir_all(&record);
        let recorder = Recorder::open(&record, all_kept()).expect("a record in the cache");
        let session = Label::new("session");
        let events: Vec<Event> = (0..1000).map(audit::request).collect();
        for _ in 0..size / 1000 {
            let lines = events.iter().map(|event| (Some(&session), event));
            recorder.record_all(lines).expect("a record in the cache");
        }
        fs::write(made, "").expect("a file in the cache");
    }
    record
}

const AT_ONCE: [usize; 4] = [1, 10, 50, 200];

pub fn sandboxes(bench: &mut Bench) {
    const TITLE: &str = "sandboxes at once, time for each";
    let Some(cofferdam) = peer::cofferdam() else {
        bench.skip(TITLE, "the program is not built beside this one; use `cargo xtask bench`");
        return;
    };
    let (workspace, home) = (bench.cache().join("workspace"), bench.cache().join("home"));
    for directory in [&workspace, &home] {
        fs::create_dir_all(directory).expect("a directory in the cache");
    }
    let run = |arguments: &[&str]| {
        let mut call = peer::command(&cofferdam);
        call.args(["run", "--network", "none", "--"])
            .args(arguments)
            .current_dir(&workspace)
            .env("HOME", &home);
        call
    };
    let mut started = [line("cofferdam run", Vec::new()), line("fork and exec", Vec::new())];
    let mut memory = Vec::new();
    let counts = if bench.is_quick() { &AT_ONCE[..3] } else { &AT_ONCE[..] };
    for &count in counts {
        for (line, ours) in started.iter_mut().zip([true, false]) {
            let round = || {
                let call = || if ours { run(&["/bin/true"]) } else { peer::command("/bin/true") };
                let children: Vec<Child> = (0..count).map(|_| call().spawn().expect("a process")).collect();
                for mut child in children {
                    assert!(child.wait().expect("its end").success());
                }
            };
            line.points.push((count as f64, bench.median(round) / count as f64));
        }
        memory.push((count as f64, waiting(count, || run(&["/bin/sh", "-c", "echo; exec sleep 100"]))));
    }
    bench.growth(TITLE, Unit::Seconds, "sandboxes", started.into());
    bench.growth("memory of a waiting launcher", Unit::Bytes, "sandboxes", vec![line("of each", memory)]);
}

/// The share of memory that each of so many launchers has while its command runs.
fn waiting(count: usize, call: impl Fn() -> peer::Call) -> f64 {
    let mut children: Vec<Child> =
        (0..count).map(|_| call().stdout(Stdio::piped()).spawn().expect("a process")).collect();
    for child in &mut children {
        let output = child.stdout.take().expect("a pipe");
        BufReader::new(output).read_line(&mut String::new()).expect("a word from inside");
    }
    let all: f64 = children.iter().map(|child| share(child.id())).sum();
    for child in &mut children {
        let _ = child.kill();
        let _ = child.wait();
    }
    all / count as f64
}

fn share(pid: u32) -> f64 {
    let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("Pss:")).unwrap_or("0 kB");
    line.trim().trim_end_matches(" kB").parse::<f64>().unwrap_or(0.0) * 1024.0
}
