//! One way to start a process.
//!
//! Clippy refuses `std::process::Command::new` by its type, which no alias escapes. This looks at the words
//! for everything else that starts or replaces a process, and at who asked clippy to look away.

use crate::failure::{Done, none_of};
use crate::root::Root;
use crate::rust_text::{Word, code_only, line_of, words};

/// Where a process may be started: a file, or a directory with a `/` at its end.
const PLACES: &[(&str, &str)] = &[
    ("crates/linux-sys/src/child.rs", "the product's one way"),
    ("crates/linux-sys/src/child/", "the product's one way"),
    ("crates/linux-sys/src/clone.rs", "the first process of a sandbox, and the commands that it starts"),
    ("crates/linux-sys/src/exec.rs", "the end of a launch"),
    ("crates/linux-sys/src/beside.rs", "a helper that makes a namespace, lets go of the old root and ends"),
    ("crates/linux-sys/src/probe/", "calls of a hostile program, for tests"),
    ("crates/linux-sys/src/bare/copy.rs", "the first process of a sandbox, before the C library"),
    ("crates/linux-sys/src/bare/replace.rs", "the end of the shim, which becomes another program"),
    ("crates/docker/build.rs", "the compiler, for the programs that are put into containers"),
    ("crates/cli/build.rs", "the compiler, for the first instructions of the program"),
    (
        "crates/linux-sys/tests/own_environment.rs",
        "a test that starts itself again with variables of its own",
    ),
    ("crates/testkit/src/", "tests start the built binary and real clients"),
    ("xtask/src/process.rs", "the build's tools"),
    ("bench/src/peer.rs", "what is measured against"),
];

/// Names that start or replace a process, in whichever crate they are found.
const NAMES: &[&str] = &[
    "fork",
    "vfork",
    "clone3",
    "posix_spawn",
    "posix_spawnp",
    "execv",
    "execve",
    "execvp",
    "execvpe",
    "execl",
    "execle",
    "execlp",
    "execveat",
    "fexecve",
    "popen",
    "kernel_fork",
    "CommandExt",
    "SYS_fork",
    "SYS_vfork",
    "SYS_clone",
    "SYS_clone3",
    "SYS_execve",
    "SYS_execveat",
    "__NR_execve",
    "__NR_clone",
    "duct",
    "subprocess",
];

/// Names that mean it only when they are taken from `libc`; elsewhere they are everyday words.
const NAMES_OF_LIBC: &[&str] = &["clone", "system"];

/// Modules that start a process when `Command` (or everything) is taken from them.
const MODULES: &[&str] = &["process"];

pub fn run(root: &Root) -> Done {
    let mut findings = Vec::new();
    let files = root.sources()?;
    for file in &files {
        if !is_allowed(file) {
            findings.extend(sites(file, &root.read(file)?));
        }
    }
    none_of(findings, "a process is started outside the one module (linux_sys::child)")?;
    println!("spawns: {} files, no process started outside the one module", files.len());
    Ok(())
}

fn is_allowed(file: &str) -> bool {
    PLACES
        .iter()
        .any(|(place, _)| if place.ends_with('/') { file.starts_with(place) } else { file == *place })
}

/// Every place in a file that starts a process or prepares to.
fn sites(file: &str, source: &str) -> Vec<String> {
    let code = code_only(source);
    let words = words(&code);
    let mut findings = Vec::new();
    for (index, word) in words.iter().enumerate() {
        let what = if is_called_or_taken(&words, index) || is_taken_from_libc(&words[..=index]) {
            format!("`{}`", word.text)
        } else if MODULES.contains(&word.text) && takes_command(&words[index + 1..]) {
            format!("`{}::Command`", word.text)
        } else if word.text == "disallowed_methods" {
            "an exception from `disallowed_methods`".to_owned()
        } else {
            continue;
        };
        findings.push(format!("{file}:{}: {what}", line_of(&code, word.at)));
    }
    findings
}

/// One of the names, used as a path or a call. A field, a variable or a definition of that name is no spawn:
/// it would have to call one of them itself.
fn is_called_or_taken(words: &[Word<'_>], index: usize) -> bool {
    if !NAMES.contains(&words[index].text) {
        return false;
    }
    let before = index.checked_sub(1).map(|before| words[before].text);
    let after = words.get(index + 1).map(|word| word.text);
    before != Some("fn")
        && before != Some(".")
        && (before == Some(":") || matches!(after, Some("(" | ":" | ";" | "," | "}")))
}

/// `libc::clone`, written out. Inside a list of imports it is not told from other things of that name.
fn is_taken_from_libc(until: &[Word<'_>]) -> bool {
    match until {
        [.., module, a, b, name] => {
            module.text == "libc" && a.text == ":" && b.text == ":" && NAMES_OF_LIBC.contains(&name.text)
        }
        _ => false,
    }
}

/// Whether what follows a module's name takes `Command` or everything out of it, or gives it another name.
fn takes_command(rest: &[Word<'_>]) -> bool {
    let texts: Vec<&str> = rest.iter().take(40).map(|word| word.text).collect();
    match texts.as_slice() {
        [":", ":", "Command" | "*", ..] | ["as", ..] => true,
        [":", ":", "{", group @ ..] => {
            group.iter().take_while(|text| **text != "}").any(|text| matches!(*text, "Command" | "*"))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_to_start_a_process_is_found() {
        let found = [
            "use std::process::Command;",
            "use std::process::{Child, Command};",
            "use std::process::{\n    Child, Command as Start,\n};",
            "use std::process as p;",
            "use std::process::*;",
            "let c = process::Command::new(\"sh\");",
            "use tokio::process::Command;",
            "libc::fork();",
            "libc::clone(f, s, 0, a);",
            "libc::system(c);",
            "use libc::execve;",
            "use libc::{c_char, execvp};",
            "syscall(libc::SYS_clone3, 1);",
            "use std::os::unix::process::CommandExt;",
            "#[expect(clippy::disallowed_methods, reason = \"\")]",
        ];
        for source in found {
            assert!(!sites("x.rs", source).is_empty(), "{source}");
        }
    }

    #[test]
    fn what_only_sounds_like_it_is_not() {
        let fine = [
            "use std::process::ExitCode;",
            "use std::process::{Child, ExitCode};",
            "pub enum Command { Run }",
            "clap::Command::new(\"x\")",
            "// libc::fork()",
            "let text = \"std::process::Command\";",
            "rule.fork = true;",
            "Arc::clone(&x); y.clone(); std::alloc::system();",
            "Event::Spawned { process: 1 }",
        ];
        for source in fine {
            assert_eq!(sites("x.rs", source), Vec::<String>::new(), "{source}");
        }
    }

    #[test]
    fn req_s05_only_the_named_places_may_start_a_process() {
        assert!(is_allowed("crates/linux-sys/src/child/spawn.rs"));
        assert!(!is_allowed("crates/linux-sys/src/children.rs"));
        assert!(!is_allowed("crates/cli/src/commands/env.rs"));
        let finding = sites("crates/cli/src/x.rs", "\nlibc::execve(a, b, c);");
        assert_eq!(finding, ["crates/cli/src/x.rs:2: `execve`"]);
    }
}
