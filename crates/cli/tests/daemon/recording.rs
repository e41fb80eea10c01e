//! Each request has its record, and what cannot be recorded is decided as the configuration says.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use cofferdam_testkit::processes::wait_until;
use cofferdam_testkit::{Cofferdam, Home};

use crate::apart::apart;
use crate::served::{HOST, PLAIN, SECRET, Served, head, verdict};

#[test]
fn req_e15_every_request_is_on_record_with_its_end_and_without_secrets() {
    let served = Served::started("", "");
    let line = format!("Authorization: Bearer {}\r\n", served.token("acme"));
    assert_eq!(verdict(&served.ask(HOST, "GET /a?note=in-the-query", &line, "")), (200, None));
    served.ask(PLAIN, "POST /b", "", "a body of the client");
    served.ask(PLAIN, &format!("GET /{}/c", served.token("acme")), "", "");
    served.daemon.ask("evil.example.test");
    let count = |kind: &str| served.record().matches(&format!("\"{kind}\"")).count();
    wait_until("both ends are there", || count("egress-response") == 2);
    let record = served.record();
    assert_eq!((count("egress-request"), count("egress-tunnel"), count("credential-injected")), (4, 3, 1));
    for known in [
        "\"path\":\"/a\"",
        "\"method\":\"POST\"",
        "\"host\":\"evil.example.test\"",
        "\"status\":200",
        "\"provider\":\"acme\"",
    ] {
        assert!(record.contains(known), "{known}: {record}");
    }
    for hidden in [SECRET, served.token("acme"), "in-the-query", "a body of the client", "Bearer"] {
        assert!(!record.contains(hidden) && !served.daemon.log().contains(hidden), "{hidden}: {record}");
    }
    assert!(!served.daemon.log().contains("evil.example.test"), "requests are not in the log");
    served.call(&["audit", "verify"]).expect_status(0);
}

/// A record on a disk of its own, which the test can fill.
struct Disk {
    filler: std::path::PathBuf,
}

impl Disk {
    fn under(served: &Served) -> Self {
        let audit = served.daemon.file("state/audit");
        fs::create_dir_all(&audit).expect("a directory");
        fs::set_permissions(served.daemon.file("state"), fs::Permissions::from_mode(0o700)).expect("a mode");
        let mount = ["-t", "tmpfs", "-o", "size=256k,mode=0700", "tmpfs"];
        Cofferdam::new("/usr/bin/mount", &Home::new()).args(mount).arg(&audit).run().expect_status(0);
        Self { filler: audit.join("filler") }
    }

    fn fill(&self) {
        let _ = fs::write(&self.filler, vec![0; 1 << 20]);
    }

    fn free(&self) {
        fs::remove_file(&self.filler).expect("what fills it");
    }
}

#[test]
fn req_e15_what_cannot_be_recorded_is_refused_until_it_can() {
    apart(&[], "recording::req_e15_what_cannot_be_recorded_is_refused_until_it_can", || {
        let mut served = Served::configured("", "");
        let disk = Disk::under(&served);
        served.set_up();
        served.call(&["start"]).expect_status(0);
        assert_eq!(verdict(&served.ask(PLAIN, "GET /", "", "")), (200, None));
        disk.fill();
        // What is open already: the request in it is the one that is not recorded.
        wait_until("the disk is full", || ask(&served) == Some("record-unavailable".to_owned()));
        let before = served.upstream.requests().len();
        wait_until("no tunnel is opened either", || {
            let mut stream = served.connection();
            let tunnel = format!("CONNECT {PLAIN}:443 HTTP/1.1\r\n\r\n");
            std::io::Write::write_all(&mut stream, tunnel.as_bytes()).expect("the proxy reads");
            verdict(&head(&mut stream)) == (503, Some("record-unavailable"))
        });
        assert_eq!(served.upstream.requests().len(), before, "nobody was contacted");
        let status = served.call(&["status"]);
        assert!(status.stdout().contains("cannot be written"), "{}", status.stdout());
        let doctor = served.call(&["doctor", "--no-network"]).expect_status(1);
        assert!(
            doctor.stdout().contains("record") && doctor.stdout().contains("hint:"),
            "{}",
            doctor.stdout()
        );
        // A last short line may still fit; then there is no start without a record.
        wait_until("no start", || {
            let refused = served.daemon.call(&["restart"]).run();
            refused.status() == 69 && refused.stderr().contains("hint:")
        });
        assert!(!served.daemon.file("run/daemon.pid").exists());
        disk.free();
        served.call(&["start"]).expect_status(0);
        assert_eq!(verdict(&served.ask(PLAIN, "GET /", "", "")), (200, None));
    });
}

/// By a request that is refused in any case, and on record for that, without a name being looked up.
fn ask(served: &Served) -> Option<String> {
    let answer = served.daemon.ask("evil.example.test");
    verdict(&answer).1.map(str::to_owned)
}

#[test]
fn req_e15_going_on_without_a_record_is_a_choice_and_never_silent() {
    apart(&[], "recording::req_e15_going_on_without_a_record_is_a_choice_and_never_silent", || {
        let mut served = Served::configured("", "[audit]\non_write_failure = \"continue\"\n");
        let disk = Disk::under(&served);
        served.set_up();
        served.call(&["start"]).expect_status(0);
        disk.fill();
        for _ in 0..20 {
            assert_eq!(verdict(&served.ask(PLAIN, "GET /", "", "")), (200, None), "it was chosen to go on");
        }
        assert_eq!(served.upstream.requests().len(), 20);
        let status = served.call(&["status"]);
        assert!(status.stdout().contains("cannot be written"), "{}", status.stdout());
        let unrecorded = |line: &str| line.starts_with("cofferdam_unrecorded_total") && !line.ends_with(" 0");
        assert!(served.metrics().lines().any(unrecorded), "{}", served.metrics());
        served.call(&["doctor", "--no-network"]).expect_status(1);
        disk.free();
        assert_eq!(verdict(&served.ask(PLAIN, "GET /", "", "")), (200, None));
        wait_until("what is missing is told in the record itself", || {
            served.record().contains("records-unwritten")
        });
    });
}
