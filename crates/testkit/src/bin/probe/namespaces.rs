//! E. Namespaces and privilege.

use std::fs;

use cofferdam_linux_sys::probe::unshare_user;

use crate::probe::{Mistake, Outcome, Probe, Words};

pub const PROBES: &[Probe] = &[
    Probe { name: "user-namespace", threat: 67, takes: "", attack: user_namespace },
    Probe { name: "new-privileges", threat: 71, takes: "", attack: new_privileges },
    Probe { name: "capabilities", threat: 72, takes: "", attack: capabilities },
];

fn user_namespace(_: &mut Words) -> Result<Outcome, Mistake> {
    Ok(Outcome::of(unshare_user(), |()| "in a user namespace of its own".to_owned()))
}

/// Lines of this process's own status that begin with one of these words, as (word, value).
fn status(wanted: &str) -> Result<Vec<(String, String)>, Mistake> {
    let status = fs::read_to_string("/proc/self/status").map_err(|error| error.to_string())?;
    let lines = status.lines().filter_map(|line| line.split_once(':'));
    let lines = lines.filter(|(name, _)| name.starts_with(wanted));
    Ok(lines.map(|(name, value)| (name.to_owned(), value.trim().to_owned())).collect())
}

fn new_privileges(_: &mut Words) -> Result<Outcome, Mistake> {
    let locked = status("NoNewPrivs")?.iter().any(|(_, value)| value == "1");
    Ok(if locked {
        Outcome::Closed("no_new_privs is set".to_owned())
    } else {
        Outcome::Open("a set-user-ID program would raise privileges".to_owned())
    })
}

fn capabilities(_: &mut Words) -> Result<Outcome, Mistake> {
    let held: Vec<String> = status("Cap")?
        .into_iter()
        .filter(|(_, value)| value.bytes().any(|digit| digit != b'0'))
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    Ok(Outcome::found(&held, "every set is empty"))
}
