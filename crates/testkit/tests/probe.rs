//! Every probe is shown to succeed where nothing stops it, and to fail where there is nothing to reach.

use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};
use std::process::Child;

use cofferdam_testkit::{CANARY, Cofferdam, Home, Probed};

const PROBE: &str = env!("CARGO_BIN_EXE_cofferdam-probe");

fn probe(home: &Home, args: &[&str]) -> Probed {
    let outcome = Cofferdam::new(PROBE, home).args(args).run().expect_status(0);
    Probed::parse(&outcome.stdout())
}

#[track_caller]
fn assert_open(home: &Home, args: &[&str]) {
    let probed = probe(home, args);
    assert!(probed.open, "{args:?}: {}", probed.detail);
}

#[track_caller]
fn assert_closed(home: &Home, args: &[&str]) {
    let probed = probe(home, args);
    assert!(!probed.open, "{args:?}: {}", probed.detail);
}

/// A process with a canary in its environment and in its arguments, which waits until it is dropped.
struct Victim(Child);

impl Victim {
    fn new(home: &Home) -> Self {
        let canary = format!("{CANARY}victim");
        let mut child = Cofferdam::new("/bin/cat", home).args(["-", &canary]).env("SECRET", &canary).spawn();
        // Once a byte came back it runs, with the environment that it was given.
        use std::io::{Read, Write};
        child.stdin.as_mut().expect("a pipe").write_all(b"x").expect("a byte");
        child.stdout.as_mut().expect("a pipe").read_exact(&mut [0]).expect("the byte");
        Self(child)
    }

    fn pid(&self) -> String {
        self.0.id().to_string()
    }
}

impl Drop for Victim {
    fn drop(&mut self) {
        self.0.kill().expect("a process of our own");
        self.0.wait().expect("its end");
    }
}

/// Whether a process may debug another one of the same user; where not, the kernel does the sandbox's work.
fn may_trace() -> bool {
    let scope = std::fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope").unwrap_or_default();
    let free = matches!(scope.trim(), "" | "0") || rustix::process::geteuid().is_root();
    if !free {
        eprintln!("SKIPPED: ptrace_scope is {} here", scope.trim());
    }
    free
}

/// Above the largest process number that the kernel gives.
const NOBODY: &str = "2147483647";

#[test]
fn the_list_names_every_probe_once_in_the_order_of_the_threats() {
    let list = Cofferdam::new(PROBE, &Home::new()).arg("--list").run().expect_status(0).stdout();
    let rows: Vec<(u16, &str)> = list
        .lines()
        .map(|line| {
            let mut words = line.split_whitespace();
            let threat = words.next().expect("a number").parse().expect("a number");
            (threat, words.next().expect("a name"))
        })
        .collect();
    assert!(rows.len() > 20);
    for (place, (threat, name)) in rows.iter().enumerate() {
        let later = &rows[place + 1..];
        assert!(later.iter().all(|(other, twin)| threat <= other && name != twin), "{name}");
    }
}

#[test]
fn a_probe_that_cannot_run_is_not_an_outcome() {
    let home = Home::new();
    for args in [&[][..], &["no-such-probe"], &["tcp"], &["tcp", "nowhere"], &["signal", "0"]] {
        let outcome = Cofferdam::new(PROBE, &home).args(args).run().expect_status(64);
        assert_eq!(outcome.stdout(), "");
    }
}

#[test]
fn a_secrets_of_other_processes_are_in_the_open() {
    let home = Home::new();
    let canary = format!("{CANARY}own");
    let own = |value: &str| {
        let outcome = Cofferdam::new(PROBE, &home).arg("own-environment").env("INNOCENT", value).run();
        let printed = outcome.expect_status(0).stdout();
        assert!(!printed.contains(CANARY), "the probe printed a canary");
        Probed::parse(&printed)
    };
    assert_eq!((own(&canary).open, own(&canary).detail.as_str()), (true, "INNOCENT"));
    assert!(!own("harmless").open);

    let script = format!("{PROBE} parent-environment; exit $?");
    let sh = || Cofferdam::new("/bin/sh", &home).args(["-c", &script]);
    assert!(Probed::parse(&sh().env("SECRET", &canary).run().stdout()).open);
    assert!(!Probed::parse(&sh().run().stdout()).open);

    let victim = Victim::new(&home);
    for name in ["environment", "handles", "signal"] {
        assert_open(&home, &[name, &victim.pid()]);
        assert_closed(&home, &[name, NOBODY]);
    }
    for (name, file) in [("every-environment", "environ"), ("every-cmdline", "cmdline")] {
        let probed = probe(&home, &[name]);
        let place = format!("/proc/{}/{file}", victim.pid());
        assert!(probed.open && probed.detail.split(' ').any(|found| found == place), "{}", probed.detail);
    }
    probe(&home, &["init-environment"]);
}

#[test]
fn a_other_processes_can_be_taken_hold_of() {
    let home = Home::new();
    let victim = Victim::new(&home);
    for args in [&["ptrace", NOBODY][..], &["process-vm-read", NOBODY], &["steal-descriptor", NOBODY, "0"]] {
        assert_closed(&home, args);
    }
    if may_trace() {
        assert_open(&home, &["ptrace", &victim.pid()]);
        assert_open(&home, &["process-vm-read", &victim.pid()]);
        assert_open(&home, &["steal-descriptor", &victim.pid(), "0"]);
        assert_closed(&home, &["steal-descriptor", &victim.pid(), "999"]);
    }
}

#[test]
fn b_descriptors_and_local_services_are_reached() {
    let home = Home::new();
    // Whoever runs the tests may have left descriptors open; they are closed first.
    let close = "for fd in /proc/$$/fd/*; do n=${fd##*/}; [ $n -le 2 ] || eval \"exec $n>&-\"; done;";
    let inherit = |opening: &str, name: &str| {
        let script = format!("{close} {opening} exec {PROBE} {name}");
        Probed::parse(&Cofferdam::new("/bin/bash", &home).args(["-c", &script]).run().stdout())
    };
    assert_eq!(inherit("exec 9</etc/passwd 50</;", "inherited-descriptors").detail, "9 50");
    assert_eq!(inherit("exec 9</etc/passwd 50</;", "inherited-directories").detail, "50");
    assert!(!inherit("", "inherited-descriptors").open);
    assert!(!inherit("exec 9</etc/passwd;", "inherited-directories").open);

    let at = |name: &str| home.path().join(name).to_str().expect("a plain path").to_owned();
    let name = at("abstract");
    let address = SocketAddr::from_abstract_name(&name).unwrap();
    let _abstract = UnixListener::bind_addr(&address).unwrap();
    let _stream = UnixListener::bind(at("stream")).unwrap();
    let _datagram = UnixDatagram::bind(at("datagram")).unwrap();
    for (probe, place) in [
        ("abstract-socket", name.as_str()),
        ("unix-socket", &at("stream")),
        ("unix-datagram", &at("datagram")),
    ] {
        assert_open(&home, &[probe, place]);
        assert_closed(&home, &[probe, &at("nobody")]);
    }
}

#[test]
fn c_files_are_read() {
    let home = Home::new();
    home.write(".ssh/id_rsa", format!("{CANARY}key"));
    let probed = probe(&home, &["read-file", ".ssh/id_rsa"]);
    assert_eq!((probed.open, probed.detail.as_str()), (true, "20 bytes, a canary among them"));
    assert_open(&home, &["read-file", "/dev/zero"]);
    assert_open(&home, &["list-directory", ".ssh"]);
    assert_open(&home, &["path-exists", ".ssh/id_rsa"]);
    for probe in ["read-file", "list-directory", "path-exists"] {
        assert_closed(&home, &[probe, "missing"]);
    }
}

#[test]
fn d_files_are_written() {
    let home = Home::new();
    home.write("target", "");
    assert_open(&home, &["write-file", ".bashrc"]);
    assert_open(&home, &["set-uid", "target"]);
    assert_open(&home, &["make-fifo", "fifo"]);
    assert_open(&home, &["symbolic-link", "/etc", "soft"]);
    assert_open(&home, &["hard-link", "target", "hard"]);
    for args in [
        &["write-file", "missing/file"][..],
        &["set-uid", "missing"],
        &["make-fifo", "fifo"],
        &["make-device", "missing/device"],
        &["symbolic-link", "/etc", "soft"],
        &["hard-link", "missing", "other"],
    ] {
        assert_closed(&home, args);
    }
    if rustix::process::geteuid().is_root() {
        assert_open(&home, &["make-device", "device"]);
    }
}

#[test]
fn e_privileges_can_be_raised() {
    let home = Home::new();
    let locked = |name: &str| {
        let args = ["--no-new-privs", "--bounding-set=-all", "--inh-caps=-all", "--ambient-caps=-all"];
        let user = ["--reuid=65534", "--regid=65534", "--clear-groups", PROBE, name];
        Probed::parse(
            &Cofferdam::new("/usr/bin/setpriv", &home).args(args).args(user).run().expect_status(0).stdout(),
        )
    };
    assert_open(&home, &["new-privileges"]);
    // The bounding set is full for everybody, until somebody empties it.
    assert_open(&home, &["capabilities"]);
    if rustix::process::geteuid().is_root() {
        assert!(!locked("new-privileges").open);
        assert!(!locked("capabilities").open, "{}", locked("capabilities").detail);
    }
    let probed = probe(&home, &["user-namespace"]);
    if !probed.open {
        eprintln!("SKIPPED: no user namespace here: {}", probed.detail);
    }
}

#[test]
fn f_the_kernel_is_reached() {
    let home = Home::new();
    assert_open(&home, &["kernel-calls"]);
    assert_open(&home, &["netlink-protocols"]);
    assert_open(&home, &["unknown-calls"]);
}

#[test]
fn g_the_network_is_reached() {
    let home = Home::new();
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let tcp_address = tcp.local_addr().unwrap().to_string();
    assert_open(&home, &["tcp", &tcp_address]);
    drop(tcp);
    assert_closed(&home, &["tcp", &tcp_address]);

    let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
    let udp_address = udp.local_addr().unwrap().to_string();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut buffer = [0; 16];
            let (length, from) = udp.recv_from(&mut buffer).unwrap();
            udp.send_to(&buffer[..length], from).unwrap();
        });
        assert_open(&home, &["udp", &udp_address]);
    });
    drop(udp);
    assert_closed(&home, &["udp", &udp_address]);

    assert_open(&home, &["resolve", "localhost"]);
    assert_closed(&home, &["resolve", "name.invalid"]);
    assert_closed(&home, &["vsock", "1", "4294967294"]);
    if rustix::process::geteuid().is_root() {
        assert_open(&home, &["raw-socket"]);
    } else {
        assert_closed(&home, &["raw-socket"]);
    }
}

#[test]
fn other_packages_find_the_built_probe() {
    let path = cofferdam_testkit::probe_binary();
    let list = Cofferdam::new(path.to_str().expect("a plain path"), &Home::new()).arg("--list").run();
    assert!(list.expect_status(0).stdout().contains("own-environment"));
}
