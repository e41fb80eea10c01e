//! Where the real value would lie if it had come out: files, what was printed, and what the kernel shows of our
//! processes, their memory as a core would hold it included.

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::Path;

use super::bed::{Bed, files};
use super::scene::CANARIES;

/// All places where a key was found.
pub fn found(bed: &Bed) -> Vec<String> {
    let mut found = Vec::new();
    for path in [bed.home.path(), &bed.disk.path("")].into_iter().flat_map(files) {
        let is_source = path.starts_with(bed.home.path().join("keys"));
        if !is_source && holds(&fs::read(&path).unwrap_or_default()) {
            found.push(path.display().to_string());
        }
    }
    if holds(&bed.printed()) {
        found.push("what was printed".to_owned());
    }
    let [supervisor, worker] = bed.processes().expect("both are there");
    // The worker's buffers are the transport's: a request on its way holds the key, and so does what is left of it.
    found.extend(in_a_core(supervisor));
    for pid in [supervisor, worker] {
        for file in ["environ", "cmdline", "maps", "status", "limits"] {
            let path = format!("/proc/{pid}/{file}");
            if fs::read(&path).is_ok_and(|bytes| holds(&bytes)) {
                found.push(path);
            }
        }
        // A core of one byte is none, and one that is handed to a program is not begun.
        let limits = fs::read_to_string(format!("/proc/{pid}/limits")).unwrap_or_default();
        let core = limits.lines().find_map(|line| line.strip_prefix("Max core file size"));
        if let Some(core) = core {
            assert!(["0", "1"].contains(&core.split_whitespace().next().unwrap_or_default()), "{core}");
        }
    }
    found
}

/// The memory that a core would hold, if root looks, who alone may.
fn in_a_core(pid: i32) -> Vec<String> {
    let Ok(memory) = fs::File::open(format!("/proc/{pid}/mem")) else { return Vec::new() };
    let smaps = fs::read_to_string(format!("/proc/{pid}/smaps")).expect("root reads this as well");
    let mut found = Vec::new();
    let mut region = None;
    for line in smaps.lines() {
        region = range(line).or(region);
        let Some((start, end)) = region else { continue };
        let Some(flags) = line.strip_prefix("VmFlags: ") else { continue };
        let has = |flag: &str| flags.split(' ').any(|word| word == flag);
        // Left out of a core, or not to be read at all.
        if has("dd") || has("io") || !has("rd") {
            continue;
        }
        let mut bytes = vec![0; usize::try_from(end - start).expect("memory")];
        if memory.read_exact_at(&mut bytes, start).is_ok() && holds(&bytes) {
            found.push(format!("memory of {pid} at {start:x}"));
        }
    }
    found
}

fn range(line: &str) -> Option<(u64, u64)> {
    let (start, end) = line.split(' ').next()?.split_once('-')?;
    Some((u64::from_str_radix(start, 16).ok()?, u64::from_str_radix(end, 16).ok()?))
}

fn holds(bytes: &[u8]) -> bool {
    CANARIES.iter().any(|canary| {
        let found = |text: &str| memchr::memmem::find(bytes, text.as_bytes()).is_some();
        let hex: String = canary.bytes().map(|byte| format!("{byte:02x}")).collect();
        found(canary) || found(&hex)
    })
}

/// Whether a directory has what a process that died leaves.
pub fn has_core(directory: &Path) -> bool {
    files(directory).iter().any(|path| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("core"))
            && fs::read(path).is_ok_and(|bytes| bytes.starts_with(b"\x7fELF"))
    })
}
