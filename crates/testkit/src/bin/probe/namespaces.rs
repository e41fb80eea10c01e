//! E. Namespaces and privilege.

use std::fs;

use cofferdam_linux_sys::probe::{Group, unshare_user};
use rustix::thread::LinkNameSpaceType;

use crate::kernel::reached;
use crate::probe::{Mistake, Outcome, Probe, Words};

pub const PROBES: &[Probe] = &[
    Probe { name: "user-namespace", threat: 67, takes: "", attack: user_namespace },
    Probe { name: "namespace-calls", threat: 68, takes: "", attack: namespace_calls },
    Probe { name: "join-namespace", threat: 69, takes: "", attack: join_namespace },
    Probe { name: "mount-calls", threat: 70, takes: "", attack: mount_calls },
    Probe { name: "new-privileges", threat: 71, takes: "", attack: new_privileges },
    Probe { name: "capabilities", threat: 72, takes: "", attack: capabilities },
    Probe { name: "control-groups", threat: 73, takes: "", attack: control_groups },
    Probe { name: "machine-calls", threat: 74, takes: "", attack: machine_calls },
    Probe { name: "write-kernel-files", threat: 75, takes: "", attack: write_kernel_files },
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

fn namespace_calls(_: &mut Words) -> Result<Outcome, Mistake> {
    Ok(reached(Group::Namespaces))
}

fn mount_calls(_: &mut Words) -> Result<Outcome, Mistake> {
    Ok(reached(Group::Mounts))
}

fn machine_calls(_: &mut Words) -> Result<Outcome, Mistake> {
    Ok(reached(Group::Machine))
}

/// The one it is in already: whether the door opens is the question, not where it leads.
fn join_namespace(_: &mut Words) -> Result<Outcome, Mistake> {
    let joined = fs::File::open("/proc/self/ns/uts").and_then(|namespace| {
        use std::os::fd::AsFd;
        let kind = Some(LinkNameSpaceType::HostNameAndNISDomainName);
        Ok(rustix::thread::move_into_link_name_space(namespace.as_fd(), kind)?)
    });
    Ok(Outcome::of(joined, |()| "joined".to_owned()))
}

/// The tree of control groups, of either version, wherever it is.
fn control_groups(_: &mut Words) -> Result<Outcome, Mistake> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").map_err(|error| error.to_string())?;
    let groups = mounts.lines().filter(|line| line.contains(" - cgroup"));
    let mut places: Vec<String> =
        groups.filter_map(|line| line.split(' ').nth(4)).map(str::to_owned).collect();
    places.extend(Some("/sys/fs/cgroup".to_owned()).filter(|path| fs::metadata(path).is_ok()));
    Ok(Outcome::found(&places, "there is none"))
}

/// Opened for writing and not written to.
fn write_kernel_files(_: &mut Words) -> Result<Outcome, Mistake> {
    const FILES: &[&str] = &[
        "/proc/irq/default_smp_affinity",
        "/proc/self/attr/current",
        "/proc/self/coredump_filter",
        "/proc/self/gid_map",
        "/proc/self/loginuid",
        "/proc/self/oom_score_adj",
        "/proc/self/setgroups",
        "/proc/self/uid_map",
        "/proc/sys/fs/binfmt_misc/register",
        "/proc/sys/kernel/core_pattern",
        "/proc/sys/kernel/modprobe",
        "/proc/sys/kernel/ns_last_pid",
        "/proc/sys/kernel/pid_max",
        "/proc/sys/net/ipv4/ip_forward",
        "/proc/sys/vm/drop_caches",
        "/proc/sysrq-trigger",
        "/sys/kernel/uevent_helper",
    ];
    let open: Vec<String> = FILES
        .iter()
        .filter(|path| fs::OpenOptions::new().write(true).open(path).is_ok())
        .map(|path| (*path).to_owned())
        .collect();
    Ok(Outcome::found(&open, "none can be opened for writing"))
}
