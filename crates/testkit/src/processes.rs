//! Processes of the machine, found by what only they have on their command line.

use std::fs;
use std::time::{Duration, Instant};

/// How long a test waits for something that must happen before it fails. Nothing is measured by it.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// An argument that no other process of the machine has; `sleep` takes it as a very long time.
pub fn marker() -> String {
    use std::sync::atomic::{AtomicU32, Ordering};
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("7{:010}.{number}", std::process::id())
}

/// The processes with this argument. Those that wait to be collected have no command line any more.
pub fn with_argument(argument: &str) -> Vec<i32> {
    let entries = fs::read_dir("/proc").expect("a list of processes").flatten();
    entries
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|pid: &i32| {
            let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            line.split(|byte| *byte == 0).any(|found| found == argument.as_bytes())
        })
        .collect()
}

/// Waits until something holds.
///
/// # Panics
///
/// When it does not, after [`PATIENCE`].
#[track_caller]
pub fn wait_until(what: &str, holds: impl Fn() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < end, "still waiting: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}
