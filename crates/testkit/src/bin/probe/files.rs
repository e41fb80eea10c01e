//! C. Reading files.

use std::fs::{self, File};
use std::io::{self, Read};

use crate::probe::{Mistake, Outcome, Probe, Words, holds_canary};

pub const PROBES: &[Probe] = &[
    Probe { name: "read-file", threat: 36, takes: "PATH", attack: read_file },
    Probe { name: "list-directory", threat: 36, takes: "PATH", attack: list_directory },
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
