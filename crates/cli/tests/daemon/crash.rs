//! A crash loses no record: what reached an upstream is written down, whoever died meanwhile.

use std::net::{Ipv4Addr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use cofferdam_testkit::processes::{PATIENCE, wait_until};
use cofferdam_testkit::upstream::{Transport, Upstream, UpstreamOptions};
use rustix::process::Signal;

use crate::scene::{Daemon, signal};

const HOST: &str = "busy.example.test";

#[test]
fn req_e20_every_request_that_reached_the_upstream_is_on_record_though_workers_are_killed() {
    let options = UpstreamOptions { names: vec![HOST.to_owned()], transport: Transport::Plain };
    let upstream = Upstream::start(&options);
    let daemon = Daemon::started(&format!(
        "[egress.limits]\nrequests_per_minute = 1000000\n\
         [[egress.allow]]\nhosts = [\"{HOST}\"]\n[egress.resolve]\n\"{HOST}:80\" = \"{}\"\n",
        upstream.address()
    ));
    let (over, number) = (AtomicBool::new(false), AtomicU64::new(0));
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    ask(daemon.port, number.fetch_add(1, Ordering::Relaxed));
                }
            });
        }
        for round in 1..=3_u64 {
            let before = upstream.requests().len();
            wait_until("requests arrive", || upstream.requests().len() > before + 20);
            signal(daemon.worker(), Signal::KILL);
            wait_until("another worker serves", || {
                let status = daemon.status();
                status["restarts"] == round && status["serving"].is_object()
            });
        }
        over.store(true, Ordering::Relaxed);
    });
    let record = daemon.record();
    let arrived = upstream.requests();
    assert!(arrived.len() > 60);
    for request in &arrived {
        let path = request.target.as_str();
        assert!(record.contains(&format!("\"path\":\"{path}\"")), "{path} is not on record");
    }
    assert_eq!(record.matches("\"worker-crashed\"").count(), 3);
    let verified = daemon.call(&["audit", "verify"]).run();
    verified.expect_status(0);
}

/// One request on a connection of its own, which may be cut off.
fn ask(port: u16, number: u64) {
    use std::io::{Read, Write};
    let Ok(mut stream) = TcpStream::connect((Ipv4Addr::LOCALHOST, port)) else { return };
    let _ = stream.set_read_timeout(Some(PATIENCE));
    let request =
        format!("GET http://{HOST}/number-{number}-x HTTP/1.1\r\nhost: {HOST}\r\nconnection: close\r\n\r\n");
    let mut answer = Vec::new();
    let _ = stream.write_all(request.as_bytes()).and_then(|()| stream.read_to_end(&mut answer).map(drop));
}
