//! Another configuration takes effect at once or not at all, and nobody is disconnected.

use std::fs;
use std::net::{Ipv4Addr, TcpStream};

use crate::scene::{Daemon, exchange, signal};
use cofferdam_testkit::processes::{PATIENCE, wait_until};
use rustix::process::Signal;

const HOST: &str = "reached.example.test";
/// Allowed, and nobody is there: whoever is let through is told that the host cannot be reached.
const ALLOWED: &str = "[[egress.allow]]\nhosts = [\"reached.example.test\"]\n\
    [egress.resolve]\n\"reached.example.test:80\" = \"127.0.0.1:1\"\n";

fn connection(daemon: &Daemon) -> TcpStream {
    let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, daemon.port)).expect("a connection");
    stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    stream
}

#[test]
fn req_e10_a_new_policy_holds_for_the_next_request_on_a_connection_that_stays() {
    let daemon = Daemon::started("");
    let mut stream = connection(&daemon);
    assert!(exchange(&mut stream, HOST).contains("host-not-allowed"));
    daemon.configure(ALLOWED);
    daemon.call(&["reload"]).run().expect_status(0);
    assert!(exchange(&mut stream, HOST).contains("upstream-connect-failed"));
    assert_eq!(daemon.status()["restarts"], 0);
}

#[test]
fn a_bad_configuration_changes_nothing_and_is_reported() {
    let daemon = Daemon::started(ALLOWED);
    let mut stream = connection(&daemon);
    daemon.configure("lissten = 1\nenforce = 2\n");
    let refused = daemon.call(&["reload"]).run().expect_status(78);
    assert!(refused.stderr().contains("lissten") && refused.stderr().contains("enforce"));
    assert!(refused.stderr().contains("the old one is still in force"));
    assert!(exchange(&mut stream, HOST).contains("upstream-connect-failed"));
    let mistakes = daemon.status()["config_mistakes"].clone();
    assert!(mistakes.as_array().is_some_and(|mistakes| mistakes.len() >= 2), "{mistakes}");
    assert!(daemon.log().contains("the new configuration is not used"));
    daemon.configure(ALLOWED);
    daemon.call(&["reload"]).run().expect_status(0);
    assert_eq!(daemon.status()["config_mistakes"].as_array().map(Vec::len), Some(0));
}

#[test]
fn saving_the_file_and_a_hangup_do_the_same() {
    let daemon = Daemon::started("");
    let mut stream = connection(&daemon);
    daemon.configure(ALLOWED);
    wait_until("the saved file is in force", || daemon.ask(HOST).contains("upstream-connect-failed"));
    // Moved over the old one, as editors do, and seen as well.
    fs::write(daemon.file("new.toml"), format!("[egress]\nlisten = \"127.0.0.1:{}\"\n", daemon.port))
        .unwrap();
    fs::rename(daemon.file("new.toml"), daemon.file("config.toml")).unwrap();
    wait_until("the moved file is in force", || daemon.ask(HOST).contains("host-not-allowed"));
    // A change that is not seen in the directory: a file that the configuration names.
    signal(daemon.pid(), Signal::HUP);
    wait_until("the signal is heeded", || daemon.log().matches("was read again").count() >= 3);
    assert!(exchange(&mut stream, HOST).contains("host-not-allowed"));
}
