//! The daemon starts when it says so, ends when it is told to, and leaves nothing behind.

use std::fs;
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::fs::PermissionsExt;

use crate::scene::{Daemon, free_port, lives, signal};
use cofferdam_testkit::processes::wait_until;
use rustix::process::Signal;

const CANARY: &str = "sk-canary-55aa55aa55aa55aa";

#[test]
fn req_e12_e14_start_comes_back_when_it_answers_and_status_tells_the_truth() {
    let daemon = Daemon::new("");
    let before = daemon.call(&["status"]).run().expect_status(1);
    assert!(before.stdout().contains("not running"));
    daemon.call(&["start"]).run().expect_status(0);
    assert!(daemon.ask("evil.example.test").starts_with("HTTP/1.1 403"));
    let status = daemon.status();
    assert_eq!(status["pid"], daemon.pid());
    assert_eq!(status["running"], true);
    assert_eq!(status["listening"], true);
    assert_eq!(status["listen"], format!("127.0.0.1:{}", daemon.port));
    daemon.call(&["status"]).run().expect_status(0);
    let (pid, worker) = (daemon.pid(), daemon.worker());
    daemon.call(&["stop"]).run().expect_status(0);
    assert!(!lives(pid) && !lives(worker));
    for left in ["run/daemon.pid", "run/control.sock"] {
        assert!(!daemon.file(left).exists(), "{left}");
    }
    daemon.call(&["status"]).run().expect_status(1);
    assert!(daemon.call(&["stop"]).run().expect_status(0).stdout().contains("was not running"));
}

#[test]
fn req_e12_of_two_starts_one_wins_and_the_other_says_so() {
    let daemon = Daemon::new("");
    let children = [daemon.call(&["start"]).spawn(), daemon.call(&["start"]).spawn()];
    let mut outcomes = children.map(|child| child.wait_with_output().unwrap());
    outcomes.sort_by_key(|outcome| outcome.status.code());
    assert_eq!(outcomes.each_ref().map(|outcome| outcome.status.code()), [Some(0), Some(69)]);
    let said = String::from_utf8_lossy(&outcomes[1].stderr);
    assert!(said.contains("is running already"), "{said}");
    daemon.call(&["status"]).run().expect_status(0);
}

#[test]
fn req_e12_what_a_crash_left_is_recovered_and_no_worker_is_left_over() {
    let daemon = Daemon::started("");
    let (pid, worker) = (daemon.pid(), daemon.worker());
    signal(pid, Signal::KILL);
    wait_until("both are gone", || !lives(pid) && !lives(worker));
    assert!(daemon.file("run/daemon.pid").exists() && daemon.file("run/control.sock").exists());
    daemon.call(&["status"]).run().expect_status(1);
    daemon.call(&["start"]).run().expect_status(0);
    assert_ne!(daemon.pid(), pid);
    daemon.call(&["status"]).run().expect_status(0);
}

#[test]
fn req_e12_a_start_that_fails_leaves_nothing_and_shows_the_log() {
    let daemon = Daemon::new("");
    let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, daemon.port)).unwrap();
    let failed = daemon.call(&["start"]).run().expect_status(69);
    assert!(failed.stderr().contains(&format!("cannot listen on 127.0.0.1:{}", daemon.port)));
    assert!(failed.stderr().contains("log: "), "{}", failed.stderr());
    assert!(failed.stderr().contains("hint: "));
    for left in ["run/daemon.pid", "run/control.sock"] {
        assert!(!daemon.file(left).exists(), "{left}");
    }
    drop(taken);
    // A worker that cannot begin: a certificate that is none.
    daemon.configure("upstream_ca_files = [\"none.pem\"]\n");
    daemon.home.write("cofferdam/none.pem", "nothing");
    let failed = daemon.call(&["start"]).run().expect_status(69);
    assert!(failed.stderr().contains("holds no certificate"), "{}", failed.stderr());
    assert!(!daemon.file("run/daemon.pid").exists());
    daemon.configure("");
    daemon.call(&["start"]).run().expect_status(0);
}

#[test]
fn req_e12_whoever_is_interrupted_while_starting_leaves_no_orphan() {
    let daemon = Daemon::new("");
    let mut child = daemon.call(&["start"]).spawn();
    wait_until("the supervisor is there", || daemon.file("run/daemon.pid").exists());
    let pid = daemon.pid();
    child.kill().unwrap();
    child.wait().unwrap();
    // It had come up in the very moment, and is whole; or it is gone, and nothing is left.
    wait_until("it is one or the other", || {
        let gone = !lives(pid) && !daemon.file("run/daemon.pid").exists();
        gone || daemon.call(&["status"]).run().status() == 0
    });
}

#[test]
fn req_e13_a_process_that_merely_has_the_number_is_left_alone() {
    let daemon = Daemon::started("");
    let genuine = fs::read_to_string(daemon.file("run/daemon.pid")).unwrap();
    let pid = daemon.pid();
    daemon.call(&["stop"]).run().expect_status(0);
    // The number is another process's now: this very test.
    let own = std::process::id();
    fs::write(daemon.file("run/daemon.pid"), genuine.replace(&pid.to_string(), &own.to_string())).unwrap();
    fs::set_permissions(daemon.file("run/daemon.pid"), fs::Permissions::from_mode(0o600)).unwrap();
    let stopped = daemon.call(&["stop"]).run().expect_status(0);
    assert!(stopped.stdout().contains("was not running"));
    assert!(daemon.status()["running"] == false);
}

#[test]
fn req_e13_one_that_does_not_end_is_killed_after_the_grace() {
    let daemon = Daemon::started("");
    let (pid, worker) = (daemon.pid(), daemon.worker());
    signal(pid, Signal::STOP);
    let stopped = daemon.call(&["stop", "--grace", "50ms"]).run().expect_status(0);
    assert!(stopped.stdout().contains("had to be killed"), "{}", stopped.stdout());
    wait_until("both are gone", || !lives(pid) && !lives(worker));
}

#[test]
fn req_e09_neither_process_holds_a_credential_or_a_proxy_in_its_environment() {
    let daemon = Daemon::new("");
    let start = daemon.call(&["start"]).env("OPENAI_API_KEY", CANARY);
    start.env("HTTPS_PROXY", "http://127.0.0.1:1").run().expect_status(0);
    let status = daemon.status();
    assert!(status["serving"]["providers"].as_array().unwrap().iter().any(|name| name == "openai-api"));
    for pid in [daemon.pid(), daemon.worker()] {
        for file in ["environ", "cmdline"] {
            // Nobody but root may look into a process that is not dumpable, and root finds nothing.
            match fs::read(format!("/proc/{pid}/{file}")) {
                Ok(bytes) => {
                    let text = String::from_utf8_lossy(&bytes);
                    assert!(!text.contains(CANARY) && !text.contains("PROXY"), "{file}");
                }
                Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::PermissionDenied),
            }
        }
    }
    assert!(!daemon.log().contains(CANARY));
}

#[test]
fn req_e09_the_daemon_is_walled_in() {
    let daemon = Daemon::started("");
    for pid in [daemon.pid(), daemon.worker()] {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
            line.trim().to_owned()
        };
        assert_eq!(field("NoNewPrivs:"), "1");
        assert_eq!(field("Seccomp:"), "2");
        assert_eq!(field("CapEff:"), "0000000000000000");
    }
    // The twin: this test has none of it.
    let own = fs::read_to_string("/proc/self/status").unwrap();
    assert!(own.contains("Seccomp:\t0"));
}

#[test]
fn req_e20_a_worker_that_dies_is_replaced_at_once_and_it_is_said() {
    let daemon = Daemon::started("");
    let worker = daemon.worker();
    signal(worker, Signal::KILL);
    wait_until("another worker", || {
        daemon.status()["worker"].as_i64().is_some_and(|pid| pid != i64::from(worker))
    });
    daemon.wait_until_serving();
    assert!(daemon.ask("evil.example.test").contains("cofferdam-reason: host-not-allowed"));
    assert_eq!(daemon.status()["restarts"], 1);
    assert!(daemon.log().contains("the worker has ended (signal 9)"));
    let record = daemon.record();
    assert!(record.contains("\"worker-crashed\"") && record.contains("\"daemon-started\""));
}

#[test]
fn req_e20_while_there_is_no_worker_clients_are_told_so_and_it_recovers_by_itself() {
    let daemon = Daemon::started("");
    let key = daemon.file("state/ca/ca.key");
    let genuine = fs::read(&key).unwrap();
    fs::write(&key, "no key").unwrap();
    signal(daemon.worker(), Signal::KILL);
    wait_until("the supervisor answers", || {
        let answer = daemon.ask("evil.example.test");
        answer.starts_with("HTTP/1.1 502") && answer.contains("cofferdam-reason: proxy-restarting")
    });
    assert!(daemon.call(&["status"]).run().expect_status(1).stdout().contains("starting again"));
    daemon.call(&["reload"]).run().expect_status(69);
    fs::write(&key, genuine).unwrap();
    daemon.wait_until_serving();
    assert!(daemon.ask("evil.example.test").starts_with("HTTP/1.1 403"));
}

#[test]
fn req_e15_without_a_record_there_is_no_start() {
    let daemon = Daemon::new("");
    fs::create_dir_all(daemon.file("state")).unwrap();
    fs::set_permissions(daemon.file("state"), fs::Permissions::from_mode(0o700)).unwrap();
    std::os::unix::fs::symlink(daemon.home.path(), daemon.file("state/audit")).unwrap();
    let failed = daemon.call(&["start"]).run().expect_status(69);
    assert!(failed.stderr().contains("state/audit"), "{}", failed.stderr());
    assert!(!daemon.file("run/daemon.pid").exists());
    fs::remove_file(daemon.file("state/audit")).unwrap();
    daemon.call(&["start"]).run().expect_status(0);
}

#[test]
fn req_e06_planted_links_are_errors_that_name_the_path_and_files_are_private() {
    let daemon = Daemon::started("");
    let mode = |path: &str| fs::metadata(daemon.file(path)).unwrap().permissions().mode() & 0o777;
    for file in ["run/daemon.pid", "run/control.sock", "state/daemon.log", "state/ca/ca.key"] {
        assert_eq!(mode(file), 0o600, "{file}");
    }
    for directory in ["run", "state", "state/ca", "state/audit"] {
        assert_eq!(mode(directory), 0o700, "{directory}");
    }
    daemon.call(&["stop"]).run().expect_status(0);
    for planted in ["state/daemon.log", "run/daemon.pid", "run/daemon.lock"] {
        let path = daemon.file(planted);
        let _ = fs::remove_file(&path);
        std::os::unix::fs::symlink(daemon.home.path().join("elsewhere"), &path).unwrap();
        let failed = daemon.call(&["start"]).run().expect_status(69);
        assert!(failed.stderr().contains(planted), "{planted}: {}", failed.stderr());
        fs::remove_file(&path).unwrap();
    }
    assert!(!daemon.home.path().join("elsewhere").exists());
}

#[test]
fn req_e16_counters_have_a_port_of_their_own_or_none() {
    let daemon = Daemon::new("");
    daemon.configure(&format!("metrics = \"127.0.0.1:{}\"\n", daemon.port));
    let failed = daemon.call(&["start"]).run().expect_status(78);
    assert!(failed.stderr().contains("has the port of the proxy itself"), "{}", failed.stderr());
    daemon.configure("metrics = \"192.0.2.1:9192\"\n");
    daemon.call(&["start"]).run().expect_status(78);
    let port = free_port();
    daemon.configure(&format!("metrics = \"127.0.0.1:{port}\"\n"));
    daemon.call(&["start"]).run().expect_status(0);
    daemon.ask("evil.example.test");
    let counted = "cofferdam_requests_total{outcome=\"refused\",reason=\"host-not-allowed\"} 1";
    let metrics = || daemon.call(&["metrics"]).run().expect_status(0).stdout();
    wait_until("it is counted", || metrics().contains(counted));
    assert!(metrics().contains("cofferdam_worker_restarts_total 0"));
    let mut stream = std::net::TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
    std::io::Write::write_all(&mut stream, b"GET /metrics HTTP/1.1\r\n\r\n").unwrap();
    let mut text = String::new();
    std::io::Read::read_to_string(&mut stream, &mut text).unwrap();
    assert!(text.contains(counted), "{text}");
}

/// Two providers of the registry read this variable, for the same hosts.
#[test]
fn req_e12_a_credential_that_two_providers_know_does_not_keep_it_from_starting() {
    let daemon = Daemon::new("");
    daemon
        .call(&["start"])
        .env("GITHUB_TOKEN", "ghp_0123456789abcdefghijklmnopqrstuvwxyz")
        .run()
        .expect_status(0);
    daemon.call(&["status"]).run().expect_status(0);
}
