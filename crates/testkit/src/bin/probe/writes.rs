//! D. Writing and persistence. Each of these leaves what it made behind: that is the attack.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;

use rustix::fs::{CWD, FileType, Mode};

use crate::probe::{Mistake, Outcome, Probe, Words};

pub const PROBES: &[Probe] = &[
    Probe { name: "write-file", threat: 51, takes: "PATH", attack: write_file },
    Probe { name: "set-uid", threat: 57, takes: "PATH", attack: set_uid },
    Probe { name: "make-device", threat: 58, takes: "PATH", attack: make_device },
    Probe { name: "make-fifo", threat: 58, takes: "PATH", attack: make_fifo },
    Probe { name: "symbolic-link", threat: 60, takes: "TARGET PATH", attack: symbolic_link },
    Probe { name: "hard-link", threat: 61, takes: "TARGET PATH", attack: hard_link },
];

fn write_file(words: &mut Words) -> Result<Outcome, Mistake> {
    let path = words.text("a path")?;
    let written = OpenOptions::new()
        .create(true)
        .append(true)
        .open(path)
        .and_then(|mut file| file.write_all(b"# written by the probe\n"));
    Ok(Outcome::of(written, |()| "written".to_owned()))
}

/// Some sandboxes let the call succeed and drop the bit, so the file is looked at afterwards.
fn set_uid(words: &mut Words) -> Result<Outcome, Mistake> {
    let path = words.text("a path")?;
    let mode = fs::set_permissions(&path, fs::Permissions::from_mode(0o4755))
        .and_then(|()| fs::metadata(&path))
        .map(|metadata| metadata.permissions().mode());
    Ok(match mode {
        Ok(mode) if mode & 0o4000 != 0 => Outcome::Open(format!("mode {mode:o}")),
        Ok(mode) => Outcome::Closed(format!("mode {mode:o}")),
        Err(error) => Outcome::Closed(error.to_string()),
    })
}

/// A device node for `/dev/mem`.
fn make_device(words: &mut Words) -> Result<Outcome, Mistake> {
    make(words, FileType::CharacterDevice, rustix::fs::makedev(1, 1))
}

fn make_fifo(words: &mut Words) -> Result<Outcome, Mistake> {
    make(words, FileType::Fifo, 0)
}

fn make(words: &mut Words, kind: FileType, device: rustix::fs::Dev) -> Result<Outcome, Mistake> {
    let made = rustix::fs::mknodat(CWD, words.text("a path")?, kind, Mode::RUSR, device);
    Ok(Outcome::of(made.map_err(Into::into), |()| "made".to_owned()))
}

fn symbolic_link(words: &mut Words) -> Result<Outcome, Mistake> {
    let linked = std::os::unix::fs::symlink(words.text("a target")?, words.text("a path")?);
    Ok(Outcome::of(linked, |()| "linked".to_owned()))
}

fn hard_link(words: &mut Words) -> Result<Outcome, Mistake> {
    let linked = fs::hard_link(words.text("a target")?, words.text("a path")?);
    Ok(Outcome::of(linked, |()| "linked".to_owned()))
}
