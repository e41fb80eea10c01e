//! The daemon as a service of systemd: a socket that is handed over, word of when it serves, and signs of life.

use std::fs;
use std::os::unix::net::UnixDatagram;
use std::path::Path;

use cofferdam_testkit::processes::PATIENCE;
use cofferdam_testkit::{Cofferdam, Home};
use rustix::process::Signal;

use crate::scene::{Daemon, ask, signal};

/// Does what systemd does before it starts a service of a socket.
const HAND_OVER: &str = "\
import os, socket, sys
listener = socket.create_server(('127.0.0.1', 0))
print(listener.getsockname()[1], flush=True)
os.dup2(listener.fileno(), 3)
os.set_inheritable(3, True)
os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS='1')
os.execv(sys.argv[1], [sys.argv[1], 'egress', 'start', '--foreground'])
";

#[test]
fn req_e12_e20_a_socket_is_taken_over_and_systemd_is_told_how_it_is() {
    let daemon = Daemon::new("");
    let place = daemon.home.path().join("notify");
    let notified = UnixDatagram::bind(&place).unwrap();
    notified.set_read_timeout(Some(PATIENCE)).unwrap();
    let heard = || {
        let mut text = [0; 128];
        let length = notified.recv(&mut text).expect("a word from the daemon");
        String::from_utf8_lossy(&text[..length]).into_owned()
    };
    let mut child = Cofferdam::new("/usr/bin/python3", &daemon.home)
        .args(["-I", "-c", HAND_OVER, env!("CARGO_BIN_EXE_cofferdam")])
        .env("NOTIFY_SOCKET", &place)
        .env("WATCHDOG_USEC", "200000")
        .spawn();
    let mut port = String::new();
    let mut output = std::io::BufReader::new(child.stdout.take().unwrap());
    std::io::BufRead::read_line(&mut output, &mut port).unwrap();
    let port: u16 = port.trim().parse().unwrap();
    while heard() != "READY=1" {}
    assert_eq!(heard(), "WATCHDOG=1");
    assert!(ask(port, "evil.example.test").contains("host-not-allowed"));
    assert!(std::net::TcpStream::connect(("127.0.0.1", daemon.port)).is_err(), "no other socket is opened");
    assert_eq!(
        i32::try_from(child.id()).unwrap(),
        daemon.pid(),
        "the process that was started is the daemon"
    );
    signal(daemon.pid(), Signal::TERM);
    while heard() != "STOPPING=1" {}
    assert!(child.wait().unwrap().success());
}

#[test]
fn req_e20_a_worker_that_hangs_is_replaced() {
    let daemon = Daemon::started("");
    let worker = daemon.worker();
    signal(worker, Signal::STOP);
    cofferdam_testkit::processes::wait_until("another worker serves", || {
        let status = daemon.status();
        status["worker"].as_i64().is_some_and(|now| now != i64::from(worker)) && status["serving"].is_object()
    });
    assert!(daemon.log().contains("hangs"), "{}", daemon.log());
}

#[test]
fn the_units_are_what_systemd_understands() {
    let home = Home::new();
    let contrib = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../contrib");
    let verify = |change: fn(String) -> String| {
        for unit in ["cofferdam-egress.service", "cofferdam-egress.socket"] {
            let text = fs::read_to_string(contrib.join(unit)).unwrap();
            let text = text.replace("/usr/local/bin/cofferdam", env!("CARGO_BIN_EXE_cofferdam"));
            home.write(unit, change(text));
        }
        Cofferdam::new("/usr/bin/systemd-analyze", &home)
            .args(["verify", "--user", "--man=no", "./cofferdam-egress.service", "./cofferdam-egress.socket"])
            .env("XDG_RUNTIME_DIR", home.path())
            .run()
    };
    let understood = verify(|text| text).expect_status(0);
    assert_eq!(understood.stderr(), "");
    let slip = verify(|text| text.replace("WatchdogSec=", "WatchdogSecs="));
    assert!(slip.stderr().contains("WatchdogSecs"), "{}", slip.stderr());
}

#[test]
fn req_e04_e32_another_user_of_the_machine_is_not_served_at_the_shared_port() {
    let daemon = Daemon::started("");
    assert!(daemon.ask("evil.example.test").contains("host-not-allowed"), "one's own process is");
    if !rustix::process::geteuid().is_root() {
        eprintln!("SKIPPED: only root can become another user");
        return;
    }
    let another = "import os, socket, sys\nos.setuid(65534)\n\
        s = socket.create_connection(('127.0.0.1', int(sys.argv[1])))\n\
        s.sendall(b'GET http://evil.example.test/ HTTP/1.1\\r\\nhost: evil.example.test\\r\\n\\r\\n')\n\
        print(s.makefile('rb').read().decode())";
    let asked = Cofferdam::new("/usr/bin/python3", &daemon.home)
        .args(["-I", "-c", another, &daemon.port.to_string()])
        .current_dir(Path::new("/"))
        .run();
    assert!(asked.stdout().contains("client-unidentified"), "{}{}", asked.stdout(), asked.stderr());
    let record = daemon.record();
    assert!(record.contains("client-unidentified"));
}
