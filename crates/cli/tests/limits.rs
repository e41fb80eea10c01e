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

/// One request that is too large, in whichever process it comes, and many small ones.
#[test]
fn req_i12_memory_that_ends_a_run_is_named() {
    const AT_ONCE: &str = "python3 -c 'bytearray(400 << 20)'";
    const BELOW: &str = "sh -c \"python3 -c 'bytearray(400 << 20)'\" || exit 9";
    const BIT_BY_BIT: &str = "exec python3 -c '
kept = []
while True: kept.append(bytes(2000))'";
    for (script, status) in [(AT_ONCE, 1), (BELOW, 9), (BIT_BY_BIT, 1)] {
        let ran = run(&["--memory", "200MiB"], script).ended(status, "memory-limit");
        assert!(ran.outcome.stderr().contains("more memory than it may have"), "{}", ran.outcome.stderr());
    }
}

#[test]
fn req_i12_memory_that_ends_a_command_of_a_session_is_named() {
    let home = Home::new();
    let workspace = home.path().join("project");
    std::fs::create_dir(&workspace).unwrap();
    let call = |args: &[&str]| Cofferdam::new(BINARY, &home).current_dir(&workspace).args(args).run();
    call(&["session", "new", "--name", "one", "--memory", "200MiB"]).expect_status(0);
    let exec = |script: &str| call(&["session", "exec", "one", "-c", script]);
    let ended = [exec("python3 -c 'bytearray(400 << 20)'"), exec("exit 3")];
    call(&["session", "kill", "one"]).expect_status(0);
    let [met, other] = ended;
    assert_eq!((met.status(), other.status()), (1, 3), "{} {}", met.stderr(), other.stderr());
    assert!(met.stderr().contains("more memory than it may have"), "{}", met.stderr());
    assert_eq!(other.stderr(), "");
}

/// The twins: a limit that was met and got over, and a failure that has nothing to do with it.
#[test]
fn req_i12_a_limit_that_ended_nothing_is_not_named() {
    let limits = ["--memory", "200MiB", "--pids", "400"];
    let over = "exec python3 -c '
try: bytearray(400 << 20)
except MemoryError: print(1)'";
    run(&limits, over).ended(0, "exited");
    let asked_to_end = "exec python3 -c '
try: bytearray(400 << 20)
except MemoryError: import os; os.kill(os.getpid(), 15)'";
    run(&limits, asked_to_end).ended(128 + 15, "signal");
    for (script, status, cause) in [
        ("exit 3", 3, "exited"),
        ("python3 -c 'bytearray(90 << 20); exit(4)'", 4, "exited"),
        ("for i in 1 2 3 4 5; do sleep 60 & done; exit 5", 5, "exited"),
        ("kill -9 $$", 128 + 9, "signal"),
    ] {
        let ran = run(&limits, script).ended(status, cause);
        assert!(!ran.outcome.stderr().contains("may have"), "{script}: {}", ran.outcome.stderr());
    }
}

#[test]
fn req_i12_processes_that_end_a_run_are_named() {
    let bomb = "exec python3 -c '
import os, time
for _ in range(1500):
    if os.fork() == 0: time.sleep(60); os._exit(0)'";
    let ran = run(&["--pids", "400", "--timeout", "60s"], bomb).ended(1, "process-limit");
    assert!(ran.outcome.stderr().contains("more processes than it may have"), "{}", ran.outcome.stderr());
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
