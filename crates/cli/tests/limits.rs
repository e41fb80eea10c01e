//! Limits hold, and what ended a run is told. Every bomb here is bounded by itself as well.
#![expect(clippy::unwrap_used, reason = "a test that cannot prepare its files has failed")]

use cofferdam_testkit::{Cofferdam, Home, Outcome};

const BINARY: &str = env!("CARGO_BIN_EXE_cofferdam");

struct Ran {
    outcome: Outcome,
    report: String,
}

fn run(args: &[&str], script: &str) -> Ran {
    let home = Home::new();
    let workspace = home.path().join("project");
    std::fs::create_dir(&workspace).unwrap();
    let report = home.path().join("report.json");
    let outcome = Cofferdam::new(BINARY, &home)
        .current_dir(&workspace)
        .args(["run", "--report"])
        .arg(&report)
        .args(args)
        .args(["--", "sh", "-c", script])
        .run();
    Ran { outcome, report: std::fs::read_to_string(report).unwrap_or_default() }
}

impl Ran {
    #[track_caller]
    fn ended(self, status: i32, cause: &str) -> Self {
        assert_eq!(self.outcome.status(), status, "{}", self.outcome.stderr());
        assert!(self.report.contains(&format!("\"cause\": \"{cause}\"")), "{}", self.report);
        self
    }
}

#[test]
fn req_i12_processor_time_ends_a_run_and_is_named() {
    let ran = run(&["--cpu", "1s"], "while :; do :; done").ended(128 + 24, "cpu-limit");
    assert!(ran.outcome.stderr().contains("processor time"), "{}", ran.outcome.stderr());
}

#[test]
fn req_i12_a_file_that_grows_too_large_ends_a_run_and_is_named() {
    let write = "exec head -c 3000000 /dev/zero >big";
    run(&[], write).ended(0, "exited");
    let ran = run(&["--file-size", "1MiB"], write).ended(128 + 25, "file-size-limit");
    assert!(ran.outcome.stderr().contains("larger than its limit"), "{}", ran.outcome.stderr());
}

#[test]
fn req_i12_the_wall_clock_ends_a_run_and_is_named() {
    let ran = run(&["--timeout", "300ms"], "sleep 60").ended(124, "timeout");
    assert!(ran.outcome.stderr().contains("timeout"), "{}", ran.outcome.stderr());
}

#[test]
fn req_i12_memory_is_refused_beyond_the_limit() {
    let want = "exec python3 -c 'print(len(bytearray(400 << 20)))'";
    run(&[], want).ended(0, "exited");
    let ran = run(&["--memory", "200MiB"], want);
    assert_ne!(ran.outcome.status(), 0);
    assert!(ran.report.contains("\"name\": \"limits\""), "{}", ran.report);
}

#[test]
fn req_i12_open_files_are_limited() {
    let open = "exec python3 -c '
import os
held = []
try:
    while len(held) < 100000: held.append(os.open(\"/dev/null\", os.O_RDONLY))
except OSError as error: print(error.errno)'";
    assert_eq!(run(&[], open).ended(0, "exited").outcome.stdout().trim(), "24");
}

#[test]
fn req_i12_a_fork_bomb_is_bounded() {
    let bomb = "exec python3 -c '
import os, time
count = 0
try:
    for _ in range(1500):
        if os.fork() == 0: time.sleep(30); os._exit(0)
        count += 1
except OSError: pass
print(count)'";
    let ran = run(&["--pids", "400", "--timeout", "20s"], bomb);
    let count: u64 = ran.outcome.stdout().trim().parse().expect("a count");
    assert!(count < 420, "{count} processes were started");
}

#[test]
fn req_i12_what_does_not_hold_for_the_whole_sandbox_is_in_the_report() {
    let ran = run(&["--memory", "1GiB"], "true").ended(0, "exited");
    let whole = ran.report.contains("for the whole sandbox");
    assert!(whole || ran.report.contains("for each process only"), "{}", ran.report);
}
