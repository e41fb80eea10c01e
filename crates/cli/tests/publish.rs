//! `--publish`: a port of the sandbox is reachable from this machine's loopback, and others are not.
#![expect(clippy::unwrap_used, reason = "a test that cannot prepare its files has failed")]

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::process::Child;

use cofferdam_testkit::processes::wait_until;
use cofferdam_testkit::{Cofferdam, Home};

const BINARY: &str = env!("CARGO_BIN_EXE_cofferdam");

/// An echo in capitals, on two ports.
const SERVER: &str = "
import socket, sys, threading
def serve(listener):
    while True:
        peer, _ = listener.accept()
        def talk(peer=peer):
            while True:
                data = peer.recv(65536)
                if not data: break
                peer.sendall(data.upper())
            peer.close()
        threading.Thread(target=talk, daemon=True).start()
for port in sys.argv[1:]:
    listener = socket.create_server((\"127.0.0.1\", int(port)))
    threading.Thread(target=serve, args=(listener,)).start()
print(\"ready\", flush=True)
";

/// A port that nobody has at the moment.
fn free_port() -> u16 {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port()
}

fn serve(home: &Home, published: u16, hidden: u16) -> Child {
    let workspace = home.path().join("project");
    std::fs::create_dir(&workspace).unwrap();
    let mut child = Cofferdam::new(BINARY, home)
        .current_dir(&workspace)
        .args(["run", "--publish", &published.to_string(), "--", "python3", "-c", SERVER])
        .args([published.to_string(), hidden.to_string()])
        .spawn();
    let mut ready = [0; 6];
    child.stdout.as_mut().unwrap().read_exact(&mut ready).unwrap();
    child
}

#[test]
fn req_i10_a_published_port_is_reached_and_another_is_not() {
    let home = Home::new();
    let (published, hidden) = (free_port(), free_port());
    let mut child = serve(&home, published, hidden);
    assert!(TcpStream::connect((Ipv4Addr::LOCALHOST, hidden)).is_err());
    let large: Vec<u8> = (0..2_000_000u32).map(|number| b'a' + (number % 26) as u8).collect();
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, published)).unwrap();
    let mut writer = stream.try_clone().unwrap();
    let sent = large.clone();
    let writing = std::thread::spawn(move || {
        writer.write_all(&sent).unwrap();
        writer.shutdown(std::net::Shutdown::Write).unwrap();
    });
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    writing.join().unwrap();
    assert!(answer == large.to_ascii_uppercase(), "{} bytes came back", answer.len());
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(TcpStream::connect((Ipv4Addr::LOCALHOST, published)).is_err());
}

#[test]
fn a_port_where_nobody_listens_inside_is_closed_at_once_and_one_that_is_taken_starts_nothing() {
    let home = Home::new();
    std::fs::create_dir(home.path().join("project")).unwrap();
    let port = free_port();
    let run = |port: u16, command: &[&str]| {
        Cofferdam::new(BINARY, &home)
            .current_dir(&home.path().join("project"))
            .args(["run", "--publish", &port.to_string(), "--"])
            .args(command)
    };
    let mut child = run(port, &["sh", "-c", "echo ready; sleep 60"]).spawn();
    let mut ready = [0; 6];
    child.stdout.as_mut().unwrap().read_exact(&mut ready).unwrap();
    let mut answer = Vec::new();
    let read = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap().read_to_end(&mut answer);
    assert!(read.is_err() || answer.is_empty());
    let taken = run(port, &["touch", "made"]).run().expect_status(125);
    assert!(taken.stderr().contains("cannot be published"), "{}", taken.stderr());
    assert!(!home.path().join("project/made").exists());
    child.kill().unwrap();
    child.wait().unwrap();
}

/// A session publishes for as long as it is there, whatever runs in it.
#[test]
fn req_i10_a_session_publishes_a_port() {
    let home = Home::new();
    home.write("project/README", "");
    let (published, hidden) = (free_port(), free_port());
    let session = |args: &[&str]| {
        let workspace = home.path().join("project");
        Cofferdam::new(BINARY, &home).current_dir(&workspace).arg("session").args(args).run()
    };
    session(&["new", "--name", "web", "--publish", &published.to_string()]).expect_status(0);
    let ports = [published.to_string(), hidden.to_string()];
    session(&["exec", "web", "--background", "--", "python3", "-c", SERVER, &ports[0], &ports[1]])
        .expect_status(0);
    let echoed = |port| {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).ok()?;
        stream.set_read_timeout(Some(std::time::Duration::from_secs(5))).ok()?;
        stream.write_all(b"hello").ok()?;
        let mut answer = [0; 5];
        stream.read_exact(&mut answer).ok()?;
        Some(answer)
    };
    wait_until("the server answers", || echoed(published) == Some(*b"HELLO"));
    // Somebody else on this machine may have taken the number meanwhile, and answers something else.
    assert_ne!(echoed(hidden), Some(*b"HELLO"));
    session(&["kill", "web"]).expect_status(0);
    wait_until("the port is closed", || TcpStream::connect((Ipv4Addr::LOCALHOST, published)).is_err());
}
