//! The way into a sandbox, in one line from top to bottom: reading order is execution order, and each stage
//! says what becomes impossible with it. It runs in the first process of the new namespaces, which is a copy of
//! the launcher made before the launcher has read anything that is secret.

use std::fs;
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;

use cofferdam_linux_sys::{
    beside::{self, Beside},
    descriptors, hardening, known_file,
    privileges::{self, Bounded},
    seccomp as filter, signals,
};
use rustix::process::{DumpableBehavior, Signal};

use crate::channel::Channel;
use crate::doors::{self, Door};
use crate::landlock::{self, Enforcement, Right};
use crate::messages::Problem;
use crate::plan::{Identity, Isolation, Network, Plan};
use crate::report::{LayerName, Report};
use crate::root::Root;
use crate::survey::Machine;
use crate::{layout, planner, seccomp};

const NO_LANDLOCK: &str = "the kernel does not know it, or it is switched off";

/// The proof that every stage has been passed. Only [`confine`] makes one, and no program starts without one.
#[derive(Debug)]
pub struct Confined(());

/// Listeners for whoever serves the network.
pub type Doors = Vec<(Door, OwnedFd)>;

/// What is done before the plan has come, because it is the same for all of them.
#[derive(Debug)]
pub struct Begun {
    root: Root,
    /// How many operations are done already.
    ahead: usize,
    report: Report,
    /// How many processes there may be; opened before the host's `/proc` is out of sight.
    most_processes: Option<fs::File>,
    bounded: Bounded,
    beside: Beside,
}

/// Leaves the launcher behind and makes everything that does not depend on the plan.
pub fn begin(channel: &Channel, identity: Identity) -> Result<Begun, Problem> {
    let mut report = Report::default();

    // From here on this process dies with the launcher, however that ends.
    step("the end with the launcher", rustix::process::set_parent_process_death_signal(Some(Signal::KILL)))?;
    // From here on nobody finds the launcher's variables in the memory of this copy.
    step("forgetting the environment", privileges::forget_environment())?;
    // From here on the standard streams of the launcher are not held open by this process.
    step("leaving the standard streams", leave_standard_streams())?;
    // From here on nothing that the launcher had open, or was started with, is held by this process.
    step("leaving the descriptors", descriptors::keep_only(channel.as_fd()))?;
    // The network is made beside all that follows, because that takes about as long.
    let beside = step("a network of its own", beside::begin())?;
    // From here on nothing that the launcher ignored or caught is ignored or caught by a command.
    step("forgetting signal handlers", signals::forget_handlers())?;

    // From here on this process is nobody but the person who started it: one user and one group are mapped. The
    // kernel gives the files of a closed process to root, so it is open for as long as the maps are written; the
    // launcher's environment is forgotten by now.
    step("opening /proc/self", rustix::process::set_dumpable_behavior(DumpableBehavior::Dumpable))?;
    step("the user map", map_identity(identity))?;
    // From here on no other process can read this one's memory, descriptors or environment.
    step("closing /proc/1", rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable))?;
    report.enforced(LayerName::Namespaces, "user, pid, mount, network, ipc, uts, cgroup");

    // From here on the keys of the person's session are out of reach. A kernel without keyrings has none to keep.
    match privileges::join_new_keyring() {
        Err(error) if error.raw_os_error() != Some(38) => return step("a keyring of its own", Err(error)),
        _ => report.enforced(LayerName::Keyring, "a new, empty session keyring"),
    }

    // From here on no crash hands memory to a file, or to a program of the host.
    step("no core dumps", hardening::no_core_dumps())?;
    // From here on no program that this process starts could gain a capability, even while this one has them.
    let bounded = step("bounding capabilities", privileges::drop_bounding_set())?;
    let most_processes = fs::OpenOptions::new().write(true).open("/proc/sys/kernel/pid_max").ok();
    let ahead = planner::of_the_system(&Machine::look());
    let root = Root::begin().and_then(|root| {
        root.carry_out(&layout::fixed())?;
        root.carry_out(&ahead)?;
        Ok(root)
    });
    let root = root.map_err(|failure| problem(failure.operation, &failure.error))?;
    Ok(Begun { root, ahead: ahead.len(), report, most_processes, bounded, beside })
}

/// Carries the plan out. After it, this process and everything it starts is confined for good.
pub fn confine(begun: Begun, plan: &Plan) -> Result<(Confined, Report, Doors), Problem> {
    let Begun { root, ahead, mut report, most_processes, bounded, beside } = begun;

    // From here on no number of processes exhausts the host's: root has no other limit without a control group.
    // A kernel before 6.14 has one number for the whole machine, and does not let us change it.
    if let Some(mut file) = most_processes {
        let _ = file.write_all(processes_at_most(plan).to_string().as_bytes());
    }
    step("the host name", rustix::system::sethostname(plan.hostname.as_bytes()))?;
    step("the domain name", rustix::system::setdomainname(b"(none)"))?;
    // From here on no path leads to a file of the host that the plan does not name.
    let built = root.carry_out(&plan.files).and_then(|()| root.enter());
    built.map_err(|failure| problem(failure.operation, &failure.error))?;
    // The old root goes beside what follows.
    beside.detach_old_root();
    report.enforced(LayerName::Files, format!("{} operations", ahead + plan.files.len()));
    // Whatever can be is done here: the network takes longer than all that came before.
    let landlock = step("Landlock", landlock::get_ready(&plan.writable))?;
    known_file::get_ready();

    // From here on the only network is a loopback that nobody else has.
    let mut doors = Doors::new();
    match plan.network {
        Network::None => {
            step("a network of its own", beside.enter_network())?;
            report.enforced(LayerName::Network, "a loopback of its own");
        }
        // From here on whatever is dialled, by name or by address, arrives at a listener of the launcher's or nowhere.
        Network::Proxy => {
            step("a network of its own", beside.enter_network())?;
            doors = step("the doors of the network", doors::open(&plan.further_ports))?;
            report.enforced(LayerName::Network, "sealed: every address leads to the egress proxy");
        }
        Network::Host => report.missing(LayerName::Network, "the host's network, by request"),
    }

    // From here on no program gains rights by being started, set-user-id programs included.
    step("no new privileges", rustix::thread::set_no_new_privs(true))?;
    // From here on no mount, route, host name or other process's identity can be changed.
    step("dropping capabilities", privileges::drop_all_capabilities(&bounded))?;
    report.enforced(LayerName::Capabilities, "none left in any set, and locked");

    // From here on nothing outside the writable paths can be written to, whatever the mounts say.
    match (step("Landlock", landlock.enforce())?, plan.isolation) {
        (Enforcement::Full, _) => report.enforced(LayerName::Landlock, "files, signals, abstract sockets"),
        // What an older kernel lacks of it (truncation, device requests, signals, abstract sockets) the mounts and
        // the other namespaces close as well; refusing there would leave people with no sandbox at all.
        (Enforcement::Part, _) => {
            report.enforced(LayerName::Landlock, "files, as far as this kernel's older version of it goes");
        }
        (Enforcement::None, Isolation::BestEffort) => report.missing(LayerName::Landlock, NO_LANDLOCK),
        (Enforcement::None, Isolation::Required) => {
            return step("Landlock", Err(io::Error::other(NO_LANDLOCK)));
        }
    }

    // From here on most of the kernel does not exist.
    step("the system call filter", filter::install(seccomp::FILTER))?;
    report.enforced(LayerName::Seccomp, format!("{} instructions", seccomp::FILTER.len()));

    // From here on nothing else of the host exists at all, and this process is the only one.
    step("letting go of the old root", beside.finish())?;

    // From here on the end of the launcher still ends everything, but leaves time to look over the workspace.
    step("the end with the launcher", rustix::process::set_parent_process_death_signal(Some(Signal::TERM)))?;
    Ok((Confined(()), report, doors))
}

/// The same where there are no namespaces: what can be done before the plan has come. This process is not the first
/// of anything and is not confined itself, so that no command can signal it or look into it.
pub fn begin_without_namespaces(channel: &Channel) -> Result<Report, Problem> {
    let mut report = Report::default();
    // From here on this process is asked to end with the launcher, however that ends, and takes all others along.
    step("the end with the launcher", rustix::process::set_parent_process_death_signal(Some(Signal::TERM)))?;
    // From here on whoever loses its parent becomes a child of this process, so that none is lost.
    step("looking after orphans", rustix::process::set_child_subreaper(Some(rustix::process::getpid())))?;
    step("forgetting the environment", privileges::forget_environment())?;
    step("leaving the standard streams", leave_standard_streams())?;
    step("leaving the descriptors", descriptors::keep_only(channel.as_fd()))?;
    step("forgetting signal handlers", signals::forget_handlers())?;
    match privileges::join_new_keyring() {
        Err(error) => report.missing(LayerName::Keyring, format!("a new session keyring: {error}")),
        Ok(()) => report.enforced(LayerName::Keyring, "a new, empty session keyring"),
    }
    step("no core dumps", hardening::no_core_dumps())?;
    Ok(report)
}

/// Confines the process of one command where there are no namespaces. Whether Landlock could be had is in the answer;
/// without it there is no wall around the files at all, which only the best effort takes.
pub fn confine_without_namespaces(
    network: Network,
    grants: &[(PathBuf, Right)],
) -> Result<(Confined, Enforcement), Problem> {
    // From here on no program gains rights by being started, set-user-id programs included.
    step("no new privileges", rustix::thread::set_no_new_privs(true))?;
    step("dropping capabilities", privileges::drop_own_capabilities())?;
    // From here on nothing of the host can be opened that the plan does not show, and no process outside be signalled.
    let landlock = step("Landlock", landlock::restrict_to(grants))?;
    // From here on most of the kernel does not exist, and no socket can be made.
    let calls = if network == Network::Host { seccomp::FILTER } else { seccomp::WITHOUT_NAMESPACES };
    step("the system call filter", filter::install(calls))?;
    Ok((Confined(()), landlock))
}

/// The kernel takes nothing below 301, which is little enough.
fn processes_at_most(plan: &Plan) -> u64 {
    const ENOUGH: u64 = 8192;
    plan.limits.processes.unwrap_or(ENOUGH).clamp(301, 1 << 22)
}

fn map_identity(identity: Identity) -> io::Result<()> {
    let Identity { user, group } = identity;
    // Without this the kernel refuses a group map to anyone without privileges: dropping a group could open files.
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/gid_map", format!("{group} {group} 1\n"))?;
    fs::write("/proc/self/uid_map", format!("{user} {user} 1\n"))
}

/// Nothing is read from, or written to, whatever this process was started with.
pub fn leave_standard_streams() -> io::Result<()> {
    let null = fs::OpenOptions::new().read(true).write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdin(&null)?;
    rustix::stdio::dup2_stdout(&null)?;
    Ok(rustix::stdio::dup2_stderr(&null)?)
}

fn step<T, E: Into<io::Error>>(name: &str, result: Result<T, E>) -> Result<T, Problem> {
    result.map_err(|error| problem(name.to_owned(), &error.into()))
}

fn problem(step: String, error: &io::Error) -> Problem {
    Problem { step, error: error.to_string(), errno: error.raw_os_error() }
}
