//! Turns `seccomp/calls.toml` into the filter program of the target's architecture, so that a launch neither
//! reads nor compiles anything. A mistake in the data stops the build.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::str::FromStr;
use std::{env, fs};

use serde::Deserialize;
use syscalls::Errno;

#[path = "src/seccomp/emit.rs"]
mod emit;
use emit::{Action, Condition, Exception, Half, Step, Test};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Calls {
    allow: Vec<Allow>,
    refuse: Vec<Refuse>,
    except: Vec<Except>,
    without_namespaces: Vec<Besides>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Allow {
    reason: String,
    calls: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Refuse {
    reason: String,
    errno: String,
    calls: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Except {
    call: String,
    reason: String,
    errno: String,
    when: Vec<When>,
}

/// What is refused besides where there are no namespaces: always, or with certain arguments.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Besides {
    reason: String,
    errno: String,
    calls: String,
    #[serde(default)]
    when: Vec<When>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct When {
    argument: u32,
    #[serde(default)]
    high_half: bool,
    masked: Option<u32>,
    is: Option<Vec<u32>>,
    is_not: Option<Vec<u32>>,
    has_any: Option<u32>,
}

fn main() {
    println!("cargo::rerun-if-changed=seccomp/calls.toml");
    println!("cargo::rerun-if-changed=src/seccomp/emit.rs");
    let text = fs::read_to_string("seccomp/calls.toml").expect("seccomp/calls.toml");
    let calls: Calls = toml::from_str(&text).expect("seccomp/calls.toml");
    let (architecture, number_of) = target();
    let actions = actions(&calls, number_of);
    let program = |actions: &[(u32, Action)]| emit::program(architecture, errno("ENOSYS"), actions);
    let narrower = narrowed(actions.clone(), &calls.without_namespaces, number_of);
    let text = render("FILTER", &program(&actions)) + &render("WITHOUT_NAMESPACES", &program(&narrower));
    let path = format!("{}/filter.rs", env::var("OUT_DIR").expect("OUT_DIR"));
    fs::write(path, text).expect("the filter in OUT_DIR");
}

/// The architecture's number for the kernel, and how its calls are named.
fn target() -> (u32, fn(&str) -> Option<u32>) {
    fn x86_64(name: &str) -> Option<u32> {
        syscalls::x86_64::Sysno::from_str(name).ok().map(|call| call.id() as u32)
    }
    fn aarch64(name: &str) -> Option<u32> {
        syscalls::aarch64::Sysno::from_str(name).ok().map(|call| call.id() as u32)
    }
    match env::var("CARGO_CFG_TARGET_ARCH").as_deref() {
        Ok("x86_64") => (0xc000_003e, x86_64),
        Ok("aarch64") => (0xc000_00b7, aarch64),
        other => panic!("no system call filter for {other:?}"),
    }
}

fn actions(calls: &Calls, number_of: fn(&str) -> Option<u32>) -> Vec<(u32, Action)> {
    let mut actions: BTreeMap<u32, Action> = BTreeMap::new();
    let mut set = |name: &str, action: Action| {
        assert!(
            syscalls::x86_64::Sysno::from_str(name).is_ok()
                || syscalls::aarch64::Sysno::from_str(name).is_ok(),
            "no system call is called {name}"
        );
        // Old calls do not exist on every architecture.
        let Some(number) = number_of(name) else { return };
        match (actions.get_mut(&number), action) {
            (Some(Action::Except(before)), Action::Except(more)) => before.extend(more),
            (Some(_), _) => panic!("{name} is named twice"),
            (None, action) => {
                actions.insert(number, action);
            }
        }
    };
    for entry in &calls.allow {
        assert!(!entry.reason.is_empty());
        entry.calls.split_whitespace().for_each(|name| set(name, Action::Allow));
    }
    for entry in &calls.refuse {
        assert!(!entry.reason.is_empty());
        entry.calls.split_whitespace().for_each(|name| set(name, Action::Refuse(errno(&entry.errno))));
    }
    for entry in &calls.except {
        assert!(!entry.reason.is_empty());
        let when = entry.when.iter().map(condition).collect();
        set(&entry.call, Action::Except(vec![Exception { errno: errno(&entry.errno), when }]));
    }
    actions.into_iter().collect()
}

/// The same calls with what is refused besides, which comes first.
fn narrowed(
    mut actions: Vec<(u32, Action)>,
    besides: &[Besides],
    number_of: fn(&str) -> Option<u32>,
) -> Vec<(u32, Action)> {
    for entry in besides {
        assert!(!entry.reason.is_empty());
        for number in entry.calls.split_whitespace().filter_map(number_of) {
            let action = actions.iter_mut().find(|(call, _)| *call == number).map(|(_, action)| action);
            let Some(action) = action else { panic!("one of {} is refused already", entry.calls) };
            let first =
                Exception { errno: errno(&entry.errno), when: entry.when.iter().map(condition).collect() };
            *action = match std::mem::replace(action, Action::Allow) {
                _ if first.when.is_empty() => Action::Refuse(first.errno),
                Action::Allow => Action::Except(vec![first]),
                Action::Except(others) => Action::Except([vec![first], others].concat()),
                refused @ Action::Refuse(_) => refused,
            };
        }
    }
    actions
}

fn condition(when: &When) -> Condition {
    let masked = when.masked.unwrap_or(u32::MAX);
    let (mask, test) = match (&when.is, &when.is_not, when.has_any) {
        (Some(values), None, None) => (masked, Test::Is(values.clone())),
        (None, Some(values), None) => (masked, Test::IsNot(values.clone())),
        (None, None, Some(mask)) => (mask, Test::HasAny),
        _ => panic!("a condition has one of is, is_not and has_any"),
    };
    let half = if when.high_half { Half::High } else { Half::Low };
    Condition { argument: when.argument, half, mask, test }
}

fn errno(name: &str) -> u16 {
    let errno = match name {
        // The call is not made and answers that it was: for what already holds.
        "DONE" => return 0,
        "EPERM" => Errno::EPERM,
        "EINVAL" => Errno::EINVAL,
        "ENOSYS" => Errno::ENOSYS,
        "EOPNOTSUPP" => Errno::EOPNOTSUPP,
        "EAFNOSUPPORT" => Errno::EAFNOSUPPORT,
        "EPROTONOSUPPORT" => Errno::EPROTONOSUPPORT,
        _ => panic!("the filter does not use {name}"),
    };
    u16::try_from(errno.into_raw()).expect("an error number")
}

fn render(name: &str, steps: &[Step]) -> String {
    let mut out = format!("pub static {name}: &[Instruction] = &[\n");
    for (code, if_true, if_false, value) in steps {
        writeln!(
            out,
            "Instruction {{ code: {code}, if_true: {if_true}, if_false: {if_false}, value: {value} }},"
        )
        .expect("a string takes all that is written");
    }
    out.push_str("];\n");
    out
}
