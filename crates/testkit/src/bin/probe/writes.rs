//! D. Writing and persistence. Each of these leaves what it made behind: that is the attack.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;

use rustix::fs::{CWD, FileType, Mode, OFlags, RenameFlags, XattrFlags};

use crate::probe::{Mistake, Outcome, Probe, Words, holds_canary};

pub const PROBES: &[Probe] = &[
    Probe { name: "write-file", threat: 51, takes: "PATH", attack: write_file },
    Probe { name: "set-uid", threat: 57, takes: "PATH", attack: set_uid },
    Probe { name: "set-uid-otherwise", threat: 57, takes: "PATH", attack: set_uid_otherwise },
    Probe { name: "make-device", threat: 58, takes: "PATH", attack: make_device },
    Probe { name: "make-fifo", threat: 58, takes: "PATH", attack: make_fifo },
    Probe { name: "whiteout", threat: 58, takes: "PATH", attack: whiteout },
    Probe { name: "file-capability", threat: 59, takes: "PATH", attack: file_capability },
    Probe { name: "symbolic-link", threat: 60, takes: "TARGET PATH", attack: symbolic_link },
    Probe { name: "link-and-read", threat: 60, takes: "TARGET PATH", attack: link_and_read },
    Probe { name: "hard-link", threat: 61, takes: "TARGET PATH", attack: hard_link },
    Probe { name: "fill", threat: 62, takes: "PATH MIB", attack: fill },
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

/// Every other call that makes a file with a mode of its own.
fn set_uid_otherwise(words: &mut Words) -> Result<Outcome, Mistake> {
    let path = words.text("a path")?;
    let mode = Mode::from_raw_mode(0o4755);
    let at = |way: &str| format!("{path}-{way}");
    let create = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY;
    // Whether a call fails does not matter: the file it leaves behind does.
    let _ = rustix::fs::openat(CWD, at("open"), create, mode);
    let _ = rustix::fs::openat2(CWD, at("openat2"), create, mode, rustix::fs::ResolveFlags::empty());
    let _ = rustix::fs::mknodat(CWD, at("mknod"), FileType::RegularFile, mode, 0);
    if let Ok(file) = fs::File::create(at("fchmod")) {
        let _ = rustix::fs::fchmod(&file, mode);
    }
    let made: Vec<String> = ["open", "openat2", "mknod", "fchmod"]
        .iter()
        .filter(|way| fs::metadata(at(way)).is_ok_and(|file| file.permissions().mode() & 0o6000 != 0))
        .map(|way| (*way).to_owned())
        .collect();
    Ok(Outcome::found(&made, "no file has the bit"))
}

fn whiteout(words: &mut Words) -> Result<Outcome, Mistake> {
    let path = words.text("a path")?;
    let made = fs::write(&path, "").and_then(|()| {
        let other = format!("{path}-moved");
        Ok(rustix::fs::renameat_with(CWD, &path, CWD, other, RenameFlags::WHITEOUT)?)
    });
    Ok(Outcome::of(made, |()| "made".to_owned()))
}

/// All capabilities for whoever runs the file.
fn file_capability(words: &mut Words) -> Result<Outcome, Mistake> {
    let path = words.text("a path")?;
    let mut value = vec![1, 0, 0, 2];
    value.extend([0xff; 4]);
    value.extend([0; 12]);
    let set = fs::write(&path, "").and_then(|()| {
        Ok(rustix::fs::setxattr(path.as_str(), "security.capability", &value, XattrFlags::empty())?)
    });
    Ok(Outcome::of(set, |()| "set".to_owned()))
}

fn link_and_read(words: &mut Words) -> Result<Outcome, Mistake> {
    let (target, path) = (words.text("a target")?, words.text("a path")?);
    Ok(match std::os::unix::fs::symlink(target, &path).and_then(|()| fs::read(&path)) {
        Ok(contents) if holds_canary(&contents) => Outcome::Open("a canary behind the link".to_owned()),
        Ok(contents) => Outcome::Closed(format!("{} bytes without a canary", contents.len())),
        Err(error) => Outcome::Closed(error.to_string()),
    })
}

/// Writes until all is written or nothing more fits, and takes it away again.
fn fill(words: &mut Words) -> Result<Outcome, Mistake> {
    let (path, mebibytes): (String, usize) = (words.text("a path")?, words.parsed("number")?);
    let block = vec![0x5a; 1 << 20];
    let filled =
        fs::File::create(&path).and_then(|mut file| (0..mebibytes).try_for_each(|_| file.write_all(&block)));
    let _ = fs::remove_file(&path);
    Ok(Outcome::of(filled, |()| format!("{mebibytes} MiB written")))
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
