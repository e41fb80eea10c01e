//! Promise: processes are started in one module, with an environment that was built from nothing.

use std::fs;
use std::path::{Path, PathBuf};

/// Calls that start a process. Written in two halves, so that this file does not find itself.
const SPAWNS: [&str; 12] = [
    concat!("Command", "::new("),
    concat!("Command", "::from("),
    concat!("exec", "ve("),
    concat!("exec", "veat("),
    concat!("exec", "v("),
    concat!("exec", "vp("),
    concat!("posix_", "spawn("),
    concat!("posix_", "spawnp("),
    concat!("fo", "rk("),
    concat!("vfo", "rk("),
    concat!("clo", "ne3("),
    concat!(".ex", "ec("),
];

/// The same by number. Only together with a call: a filter of system calls names them too.
const NUMBERS: [&str; 4] = ["SYS_clone", "SYS_exec", "SYS_fork", "SYS_vfork"];

const CALL: &str = concat!("sys", "call(");

/// The one module of the product, and the harness of the tests.
const ALLOWED: [&str; 2] = ["crates/linux-sys/src/child/", "crates/testkit/"];

/// The places in a source where a process could be started, by line. Comments do not count, nor do names that
/// only end in one of the words (`ChildCommand`).
fn spawn_sites(source: &str) -> Vec<(usize, &'static str)> {
    let mut sites = Vec::new();
    for (at, line) in source.lines().enumerate() {
        let code = line.split("//").next().unwrap_or_default();
        if let Some(number) = NUMBERS.into_iter().find(|number| code.contains(CALL) && code.contains(number))
        {
            sites.push((at + 1, number));
        }
        for spawn in SPAWNS {
            let found = code.match_indices(spawn).any(|(start, _)| {
                let before = code[..start].chars().next_back();
                spawn.starts_with('.') || !before.is_some_and(|c| c.is_alphanumeric() || c == '_')
            });
            if found {
                sites.push((at + 1, spawn));
            }
        }
    }
    sites
}

fn sources(directory: &Path, into: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).expect("a directory of sources") {
        let path = entry.expect("an entry of it").path();
        if path.is_dir() && !path.ends_with("target") {
            sources(&path, into);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            into.push(path);
        }
    }
}

#[test]
fn req_s05_no_process_is_started_outside_the_one_module() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    let mut files = Vec::new();
    sources(&root.join("crates"), &mut files);
    assert!(files.len() > 30, "the sources were not found: {files:?}");
    let mut found = Vec::new();
    for file in files {
        let name = file.strip_prefix(&root).unwrap().to_str().unwrap().to_owned();
        if ALLOWED.iter().any(|allowed| name.starts_with(allowed)) {
            continue;
        }
        for (line, spawn) in spawn_sites(&fs::read_to_string(&file).unwrap()) {
            found.push(format!("{name}:{line}: {spawn}"));
        }
    }
    assert_eq!(found, Vec::<String>::new(), "start processes with linux_sys::child");
}

#[test]
fn req_s05_a_planted_spawn_site_is_found() {
    for planted in [
        concat!("    let child = std::process::Command", "::new(\"sh\").spawn();"),
        concat!("let pid = unsafe { libc::fo", "rk() };"),
        concat!("use x; Command", "::new(program)"),
        concat!("let error = command.ex", "ec();"),
        concat!("libc::sys", "call(libc::SYS_clone3, &args);"),
        concat!("libc::posix_", "spawnp(&mut pid)"),
    ] {
        assert_eq!(spawn_sites(planted).len(), 1, "{planted}");
    }
    for innocent in [
        "ChildCommand::new(program, &environment)",
        concat!("// a call of fo", "rk() would be wrong here"),
        "self.executed(now)",
        "deny(libc::SYS_clone3, Errno::NOSYS)",
    ] {
        assert_eq!(spawn_sites(innocent), [], "{innocent}");
    }
}
