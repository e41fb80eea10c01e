//! Limits for a sandbox as a whole, where the machine lets its user have them: a control group (version 2) beside
//! the one this process is in.
//!
//! Nothing is switched on for that: only controllers that the group above hands down already are used. Version 1 has
//! no safe way to hand anything down, and is not used at all.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::plan::Limits;

/// The kernel's number for the file system of version 2.
const VERSION_2: u64 = 0x6367_7270;

/// A control group that holds one sandbox; it is gone with this value.
#[derive(Debug)]
pub struct ControlGroup {
    directory: PathBuf,
    held: Vec<&'static str>,
}

/// A limit of the whole sandbox that something ran into.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Exceeded {
    Memory,
    Processes,
}

impl ControlGroup {
    /// Makes the group, if this user may and it would hold one of the limits.
    pub fn make(limits: &Limits) -> Option<Self> {
        let root = Path::new("/sys/fs/cgroup");
        if rustix::fs::statfs(root).ok()?.f_type as u64 != VERSION_2 {
            return None;
        }
        let parent = parent(&fs::read_to_string("/proc/self/cgroup").ok()?, root)?;
        let available = fs::read_to_string(parent.join("cgroup.subtree_control")).ok()?;
        let wanted = wanted(limits, &available);
        if wanted.is_empty() {
            return None;
        }
        let directory = parent.join(format!("cofferdam-{}", std::process::id()));
        fs::create_dir(&directory).ok()?;
        let mut group = Self { directory, held: Vec::new() };
        for (controller, file, value) in wanted {
            if fs::write(group.directory.join(file), value).is_ok() {
                group.held.push(controller);
            }
        }
        Some(group)
    }

    /// Moves a process in; whatever it starts from then on is in as well.
    pub fn add(&self, process: i32) -> io::Result<()> {
        fs::write(self.directory.join("cgroup.procs"), process.to_string())
    }

    /// What it holds for the sandbox as a whole.
    pub fn held(&self) -> &[&'static str] {
        &self.held
    }

    /// What something in the sandbox ran into.
    pub fn exceeded(&self) -> Option<Exceeded> {
        let count = |file: &str, key: &str| {
            let events = fs::read_to_string(self.directory.join(file)).unwrap_or_default();
            event(&events, key)
        };
        if count("memory.events", "oom_kill") > 0 {
            return Some(Exceeded::Memory);
        }
        (count("pids.events", "max") > 0).then_some(Exceeded::Processes)
    }
}

impl Drop for ControlGroup {
    fn drop(&mut self) {
        // All in it are dead or about to be; a kernel before 5.14 has no such file.
        let _ = fs::write(self.directory.join("cgroup.kill"), "1");
        // The last of them may need a moment. What stays is empty and holds nothing.
        for _ in 0..20 {
            match fs::remove_dir(&self.directory) {
                Err(error) if error.kind() == io::ErrorKind::ResourceBusy => {
                    std::thread::sleep(std::time::Duration::from_millis(1));
                }
                _ => return,
            }
        }
    }
}

fn wanted(limits: &Limits, available: &str) -> Vec<(&'static str, &'static str, String)> {
    let has = |controller: &str| available.split_whitespace().any(|word| word == controller);
    let mut wanted = Vec::new();
    if let (Some(bytes), true) = (limits.memory, has("memory")) {
        wanted.push(("memory", "memory.max", bytes.to_string()));
        // Swapping would turn a limit into a slow machine. It is absent where there is no swap.
        wanted.push(("swap", "memory.swap.max", "0".to_owned()));
    }
    if let (Some(count), true) = (limits.processes, has("pids")) {
        wanted.push(("processes", "pids.max", count.to_string()));
    }
    wanted
}

/// The group above the one of this process; at the top, that one itself.
fn parent(own: &str, root: &Path) -> Option<PathBuf> {
    let path = own.lines().find_map(|line| line.strip_prefix("0::/"))?;
    // A path that leads out of what is mounted belongs to somebody else's part of the tree.
    if path.split('/').any(|part| part == "..") {
        return None;
    }
    Some(root.join(Path::new(path).parent().unwrap_or(Path::new(""))))
}

fn event(events: &str, key: &str) -> u64 {
    let value = events.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(' '));
    value.and_then(|value| value.trim().parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_group_above_is_found_and_foreign_parts_are_not_touched() {
        let root = Path::new("/sys/fs/cgroup");
        let own = "5:memory:/x\n0::/user.slice/user-7.slice/session.scope\n";
        assert_eq!(parent(own, root), Some(root.join("user.slice/user-7.slice")));
        assert_eq!(parent("0::/\n", root), Some(root.to_owned()));
        assert_eq!(parent("0::/../other\n", root), None);
        assert_eq!(parent("1:memory:/\n", root), None);
    }

    #[test]
    fn only_what_is_handed_down_is_asked_for() {
        let limits = Limits { memory: Some(9), processes: Some(7), ..Limits::default() };
        let names = |available: &str| -> Vec<&str> {
            wanted(&limits, available).into_iter().map(|(name, ..)| name).collect()
        };
        assert_eq!(names("cpu memory pids"), ["memory", "swap", "processes"]);
        assert_eq!(names("cpu pids"), ["processes"]);
        assert!(names("").is_empty());
        assert!(wanted(&Limits::default(), "memory pids").is_empty());
    }

    #[test]
    fn req_i12_events_are_read_by_their_whole_name() {
        let events = "low 0\noom 3\noom_kill 2\nmax 5\n";
        assert_eq!((event(events, "oom_kill"), event(events, "max"), event(events, "high")), (2, 5, 0));
    }
}
