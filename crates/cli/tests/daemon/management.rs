//! Management: a Unix socket that knows who calls, and no port.

use std::fs;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::Path;

use cofferdam_testkit::Cofferdam;
use cofferdam_testkit::processes::wait_until;

use crate::scene::{Daemon, free_port, lives};
use crate::served::{HOST, Served, exchange, verdict};

/// The ports that a process listens on.
fn ports_of(pid: i32) -> Vec<u16> {
    let open: Vec<String> = fs::read_dir(format!("/proc/{pid}/fd"))
        .map(|entries| entries.flatten().filter_map(|entry| fs::read_link(entry.path()).ok()).collect())
        .map(|links: Vec<_>| links.iter().map(|link| link.to_string_lossy().into_owned()).collect())
        .unwrap_or_default();
    let mut ports = Vec::new();
    for table in ["/proc/self/net/tcp", "/proc/self/net/tcp6", "/proc/self/net/udp", "/proc/self/net/udp6"] {
        for line in fs::read_to_string(table).unwrap_or_default().lines().skip(1) {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let listens = fields[3] == "0A" || table.contains("udp");
            if listens && open.contains(&format!("socket:[{}]", fields[9])) {
                let port = fields[1].rsplit(':').next().expect("a port");
                ports.push(u16::from_str_radix(port, 16).expect("a number"));
            }
        }
    }
    ports.sort_unstable();
    ports.dedup();
    ports
}

#[test]
fn req_e32_there_is_no_port_but_the_proxys_own() {
    let daemon = Daemon::started("");
    let socket = fs::metadata(daemon.file("run/control.sock")).unwrap();
    assert!(socket.file_type().is_socket() && socket.permissions().mode() & 0o777 == 0o600);
    assert_eq!(fs::metadata(daemon.file("run")).unwrap().permissions().mode() & 0o777, 0o700);
    if rustix::process::geteuid().is_root() {
        // Nobody else may look at what a process that is not dumpable has open.
        for pid in [daemon.pid(), daemon.worker()] {
            assert_eq!(ports_of(pid), [daemon.port], "{pid}");
        }
    }
    // What is asked at that port is a request like any other, whatever it looks like.
    for path in ["/metrics", "/health", "/status", "/reload"] {
        let ask =
            format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nConnection: close\r\n\r\n", daemon.port);
        let stream = std::net::TcpStream::connect(("127.0.0.1", daemon.port)).unwrap();
        let answer = String::from_utf8_lossy(&exchange(stream, ask.as_bytes())).into_owned();
        assert_eq!(verdict(&answer).0, 403, "{path}: {answer}");
        assert!(!answer.contains("cofferdam_requests_total"));
    }
    // The twin: a port for counters is there when it was asked for, on loopback, and only counters are.
    let port = free_port();
    daemon.configure(&format!("metrics = \"127.0.0.1:{port}\"\n"));
    daemon.call(&["restart"]).run().expect_status(0);
    if rustix::process::geteuid().is_root() {
        let mut expected = vec![daemon.port, port];
        expected.sort_unstable();
        assert_eq!(ports_of(daemon.worker()), expected);
    }
}

/// One who may reach the socket and is not its owner: the kernel says who it is, and that is all it takes.
#[test]
fn req_e32_whoever_calls_is_known_by_the_kernel_and_others_are_not_answered() {
    let daemon = Daemon::started("");
    daemon.call(&["status"]).run().expect_status(0);
    if !rustix::process::geteuid().is_root() {
        eprintln!("SKIPPED: only root can become another user");
        return;
    }
    for path in [daemon.home.path(), &daemon.file(""), &daemon.file("run")] {
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    fs::set_permissions(daemon.file("run/control.sock"), fs::Permissions::from_mode(0o666)).unwrap();
    let another = "import os, socket, sys\nos.setuid(int(sys.argv[2]))\n\
        s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)\ns.settimeout(30)\n\
        try:\n    s.connect(sys.argv[1])\n    s.send(b'{}')\n    print('answered', s.recv(4096))\n\
        except OSError as error:\n    print('refused', error)\n";
    let call = |user: &str| {
        let socket = daemon.file("run/control.sock");
        let call = Cofferdam::new("/usr/bin/python3", &daemon.home).args(["-I", "-c", another]).arg(socket);
        call.arg(user).current_dir(Path::new("/")).run().stdout()
    };
    let (own, foreign) = (call("0"), call("65534"));
    assert!(own.starts_with("answered b'") && !own.starts_with("answered b''"), "{own}");
    assert!(foreign.starts_with("refused") || foreign.trim() == "answered b''", "{foreign}");
    // The command itself goes to no socket that others could have put there.
    fs::set_permissions(daemon.file("run"), fs::Permissions::from_mode(0o700)).unwrap();
    wait_until("it still serves its owner", || daemon.call(&["status"]).run().status() == 0);
}

#[test]
fn req_e09_the_daemon_has_only_what_it_needs_of_the_environment() {
    let served = Served::configured("", "");
    let mut start = served.daemon.call(&["start"]);
    for (name, value) in [
        ("ACME_API_KEY", crate::served::SECRET),
        ("OTHER_API_KEY", crate::served::OTHER_SECRET),
        ("HTTPS_PROXY", "http://127.0.0.1:1"),
        ("https_proxy", "http://127.0.0.1:1"),
        ("ALL_PROXY", "socks5://127.0.0.1:1"),
        ("NO_PROXY", "*"),
        ("LD_PRELOAD", ""),
        ("SSL_CERT_FILE", "/nowhere"),
        ("SSH_AUTH_SOCK", "/nowhere"),
        ("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nowhere"),
        ("PYTHONPATH", "/nowhere"),
        ("SOME_SETTING", "of a person"),
        ("LANG", "C.UTF-8"),
    ] {
        start = start.env(name, value);
    }
    start.run().expect_status(0);
    let mut served = served;
    served.set_up();
    // It works, and by no proxy.
    let line = format!("Authorization: Bearer {}\r\n", served.token("acme"));
    assert_eq!(verdict(&served.ask(HOST, "GET /", &line, "")), (200, None));
    if !rustix::process::geteuid().is_root() {
        eprintln!("SKIPPED: only root may look into a process that is not dumpable");
        return;
    }
    for pid in [served.daemon.pid(), served.daemon.worker()] {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap();
        let entries = environment.split(|byte| *byte == 0).filter(|entry| !entry.is_empty());
        let names: Vec<String> = entries
            .map(|entry| {
                String::from_utf8_lossy(entry.split(|byte| *byte == b'=').next().unwrap()).into_owned()
            })
            .collect();
        // Programs of password managers are started with it; the roots are those that the person trusts.
        let needed = [
            "SSL_CERT_FILE",
            "PYTHONUTF8",
            "PATH",
            "HOME",
            "LANG",
            "LC_ALL",
            "LC_CTYPE",
            "USER",
            "LOGNAME",
            "SHELL",
            "TERM",
            "TZ",
            "TMPDIR",
            "RUST_LOG",
        ];
        assert!(names.iter().all(|name| needed.contains(&&**name)), "{pid}: {names:?}");
        // Nothing but its own files, sockets and what the kernel makes or tells; none of them another's, none with a value in it.
        for entry in fs::read_dir(format!("/proc/{pid}/fd")).unwrap().flatten() {
            let Ok(link) = fs::read_link(entry.path()) else { continue };
            let link = link.to_string_lossy().into_owned();
            let own = link.starts_with(&*served.daemon.file("").to_string_lossy());
            let kernel = ["socket:[", "anon_inode:", "pipe:[", "/dev/null", "/dev/urandom", "/proc/"];
            assert!(own || kernel.iter().any(|start| link.starts_with(start)), "{pid}: {link}");
        }
        let limits = fs::read_to_string(format!("/proc/{pid}/limits")).unwrap();
        let core = limits.lines().find(|line| line.starts_with("Max core file size")).unwrap();
        // One byte is none, and keeps a program that collects cores from being started.
        assert!(matches!(core.split_whitespace().nth(4), Some("0" | "1")), "{core}");
        assert!(lives(pid));
    }
}

#[test]
fn req_e06_every_file_of_the_daemon_is_private_and_planted_links_are_named() {
    let mut served = Served::configured("", "");
    served.set_up();
    served.call(&["start"]).expect_status(0);
    served.call(&["rotate-tokens", "--yes"]).expect_status(0);
    served.call(&["rotate-ca"]).expect_status(0);
    served.ask(HOST, "GET /", "", "");
    fn check(directory: &Path, seen: &mut Vec<String>) {
        for entry in fs::read_dir(directory).unwrap().flatten() {
            let (name, mode) = (entry.file_name().to_string_lossy().into_owned(), entry.metadata().unwrap());
            let expected = match mode.is_dir() {
                true => 0o700,
                // Clients have to read it.
                false if name.ends_with(".crt") => 0o644,
                false => 0o600,
            };
            assert_eq!(mode.permissions().mode() & 0o777, expected, "{}", entry.path().display());
            seen.push(name);
            if mode.is_dir() {
                check(&entry.path(), seen);
            }
        }
    }
    let mut seen = Vec::new();
    check(&served.daemon.file("state"), &mut seen);
    check(&served.daemon.file("run"), &mut seen);
    for known in
        ["tokens.json", "pairing.key", "ca.key", "daemon.log", "00000001.jsonl", "daemon.pid", "control.sock"]
    {
        assert!(seen.iter().any(|name| name == known), "{known}: {seen:?}");
    }
    served.call(&["stop"]).expect_status(0);
    // Whatever is found in the place of one of them is not followed, by whoever writes it.
    for (planted, words) in [
        ("state/tokens.json", &["setup"][..]),
        ("state/tokens.lock", &["setup"]),
        ("state/pairing.key", &["start"]),
        ("state/ca/ca.key", &["start"]),
        ("state/ca/ca.crt", &["start"]),
        ("run/daemon.pid", &["start"]),
    ] {
        let (path, aside) = (served.daemon.file(planted), served.daemon.file("aside"));
        let target = served.daemon.home.write("elsewhere", "not ours");
        let moved = fs::rename(&path, &aside).is_ok();
        std::os::unix::fs::symlink(&target, &path).unwrap();
        let failed = served.call(words);
        assert_ne!(failed.status(), 0, "{planted}: {}", failed.stdout());
        assert!(failed.stderr().contains(planted), "{planted}: {}", failed.stderr());
        assert_eq!(fs::read_to_string(&target).unwrap(), "not ours", "{planted}");
        fs::remove_file(&path).unwrap();
        if moved {
            fs::rename(&aside, &path).unwrap();
        }
    }
    served.call(&["start"]).expect_status(0);
}
