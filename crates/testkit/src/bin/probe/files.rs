//! C. Reading files.

use std::fs::{self, File};
use std::io::{self, Read};

use crate::probe::{Mistake, Outcome, Probe, Words, holds_canary};

pub const PROBES: &[Probe] = &[
    Probe { name: "read-file", threat: 36, takes: "PATH", attack: read_file },
    Probe { name: "list-directory", threat: 36, takes: "PATH", attack: list_directory },
    Probe { name: "rename-and-read", threat: 41, takes: "FROM TO FILE", attack: rename_and_read },
    Probe { name: "machine-devices", threat: 43, takes: "", attack: machine_devices },
    Probe { name: "kernel-files", threat: 44, takes: "", attack: kernel_files },
    Probe { name: "file-holds", threat: 46, takes: "PATH TEXT", attack: file_holds },
    Probe { name: "path-exists", threat: 48, takes: "PATH", attack: path_exists },
];

/// Enough to tell what it is; an endless device ends here.
const LIMIT: u64 = 1 << 20;

fn read_file(words: &mut Words) -> Result<Outcome, Mistake> {
    let path = words.text("a path")?;
    Ok(Outcome::of(read(&path), |contents| {
        let canary = if holds_canary(&contents) { ", a canary among them" } else { "" };
        format!("{} bytes{canary}", contents.len())
    }))
}

fn read(path: &str) -> io::Result<Vec<u8>> {
    let mut contents = Vec::new();
    File::open(path)?.take(LIMIT).read_to_end(&mut contents)?;
    Ok(contents)
}

fn list_directory(words: &mut Words) -> Result<Outcome, Mistake> {
    let path = words.text("a path")?;
    let names = fs::read_dir(path).map(|entries| {
        entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect::<Vec<_>>()
    });
    Ok(match names {
        Ok(names) => Outcome::found(&names, "empty"),
        Err(error) => Outcome::Closed(error.to_string()),
    })
}

fn path_exists(words: &mut Words) -> Result<Outcome, Mistake> {
    let path = words.text("a path")?;
    Ok(Outcome::of(fs::symlink_metadata(path), |metadata| format!("{} bytes", metadata.len())))
}

/// Moves a directory and looks for a file below its new name.
fn rename_and_read(words: &mut Words) -> Result<Outcome, Mistake> {
    let (from, to, file) = (words.text("a path")?, words.text("a path")?, words.text("a path")?);
    Ok(match fs::rename(from, to).and_then(|()| read(&file)) {
        Ok(contents) if holds_canary(&contents) => Outcome::Open("a canary under another name".to_owned()),
        Ok(contents) => Outcome::Closed(format!("{} bytes without a canary", contents.len())),
        Err(error) => Outcome::Closed(error.to_string()),
    })
}

/// Device files that are more than a source or a sink of bytes.
fn machine_devices(_: &mut Words) -> Result<Outcome, Mistake> {
    use std::os::unix::fs::FileTypeExt;
    const PLAIN: &[&str] = &["full", "null", "ptmx", "random", "tty", "urandom", "zero"];
    let entries = fs::read_dir("/dev").into_iter().flatten().flatten();
    let devices = entries
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_block_device() || kind.is_char_device()));
    let names = devices.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let others: Vec<String> = names.filter(|name| !PLAIN.contains(&name.as_str())).collect();
    Ok(Outcome::found(&others, "only sources and sinks of bytes"))
}

/// Files in which the kernel tells about the whole machine.
fn kernel_files(_: &mut Words) -> Result<Outcome, Mistake> {
    const FILES: &[&str] = &[
        "bus/pci/devices",
        "cmdline",
        "config.gz",
        "consoles",
        "devices",
        "diskstats",
        "interrupts",
        "iomem",
        "kallsyms",
        "kcore",
        "key-users",
        "keys",
        "kmsg",
        "latency_stats",
        "locks",
        "modules",
        "mtrr",
        "partitions",
        "sched_debug",
        "slabinfo",
        "swaps",
        "sysvipc/shm",
        "timer_list",
        "vmallocinfo",
    ];
    let readable: Vec<String> = FILES
        .iter()
        .map(|name| format!("/proc/{name}"))
        .filter(|path| {
            !path.ends_with("kmsg")
                && File::open(path).is_ok_and(|mut file| file.read(&mut [0; 16]).is_ok_and(|n| n > 0))
        })
        .collect();
    Ok(Outcome::found(&readable, "none can be read"))
}

fn file_holds(words: &mut Words) -> Result<Outcome, Mistake> {
    let (path, text) = (words.text("a path")?, words.text("a text")?);
    Ok(match read(&path) {
        Ok(contents) if contents.windows(text.len()).any(|window| window == text.as_bytes()) => {
            Outcome::Open("it is there".to_owned())
        }
        Ok(contents) => Outcome::Closed(format!("{} bytes without it", contents.len())),
        Err(error) => Outcome::Closed(error.to_string()),
    })
}
