//! Names and addresses, in a network that the test has made for itself: what is looked up, and what is dialled.
//!
//! The addresses are real ones, public, private and of cloud metadata. All of them are this network's own loopback, and
//! nothing leads out of it.

use std::collections::HashMap;
use std::io::Write;
use std::net::{IpAddr, Ipv6Addr, TcpListener};
use std::sync::{Arc, Mutex};

use cofferdam_testkit::processes::wait_until;
use cofferdam_testkit::{Cofferdam, Home};

use crate::apart::apart;
use crate::name_server::NameServer;
use crate::scene::Daemon;
use crate::served::{exchange, head, verdict};

const PUBLIC: &str = "93.184.215.14";
const PUBLIC6: &str = "2606:2800:21f:cb07:6820:80da:af6b:8b2c";
/// Addresses that must not be reached, and the forms in which IPv6 hides those of IPv4.
const DENIED: [&str; 12] = [
    "127.0.0.1",
    "169.254.169.254",
    "10.1.2.3",
    "192.168.1.1",
    "100.100.100.200",
    "::1",
    "fd00:ec2::254",
    "fe80::1",
    "::ffff:169.254.169.254",
    "64:ff9b::a9fe:a9fe",
    "2002:a9fe:a9fe::1",
    "::169.254.169.254",
];

/// A server at every address, which says at which one it was reached.
#[derive(Default)]
struct Everywhere {
    reached: Arc<Mutex<HashMap<IpAddr, usize>>>,
}

impl Everywhere {
    fn start() -> Self {
        let everywhere = Self::default();
        // With both families: what comes by IPv4 is seen as such.
        let listener = TcpListener::bind((Ipv6Addr::UNSPECIFIED, 8080)).expect("a port of this network");
        let reached = everywhere.reached.clone();
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let at = stream.local_addr().expect("an address").ip().to_canonical();
                *reached.lock().expect("no panic").entry(at).or_default() += 1;
                head(&mut stream);
                let answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok";
                let _ = stream.write_all(answer.as_bytes());
            }
        });
        everywhere
    }

    fn count(&self, address: &str) -> usize {
        let address: IpAddr = address.parse().expect("an address");
        self.reached.lock().expect("no panic").get(&address.to_canonical()).copied().unwrap_or(0)
    }

    fn total(&self) -> usize {
        self.reached.lock().expect("no panic").values().sum()
    }
}

fn daemon(keys: &str) -> Daemon {
    Daemon::started(&format!(
        "{keys}\n[[egress.allow]]\nhosts = [\"*.reached.test\"]\nports = [8080]\n\
         [[egress.allow]]\nhosts = [\"narrow.test\"]\nports = [8080]\nmethods = [\"GET\"]\npaths = [\"/open\"]\n"
    ))
}

/// A plain request by absolute form; every one on a connection of its own, to the client and to the server.
fn ask(daemon: &Daemon, host: &str) -> (u16, Option<String>) {
    request(
        daemon,
        &format!("GET http://{host}:8080/ HTTP/1.1\r\nHost: {host}:8080\r\nConnection: close\r\n\r\n"),
    )
}

fn request(daemon: &Daemon, text: &str) -> (u16, Option<String>) {
    let stream = std::net::TcpStream::connect(("127.0.0.1", daemon.port)).expect("the proxy listens");
    let answer = String::from_utf8_lossy(&exchange(stream, text.as_bytes())).into_owned();
    let (status, reason) = verdict(&answer);
    (status, reason.map(str::to_owned))
}

fn addresses() -> Vec<&'static str> {
    [PUBLIC, PUBLIC6].into_iter().chain(DENIED).collect()
}

fn denied() -> (u16, Option<String>) {
    (403, Some("address-denied".to_owned()))
}

const REACHED: (u16, Option<String>) = (200, None);

#[test]
fn req_e03_special_addresses_are_refused_in_all_disguises_and_only_an_empty_list_turns_that_off() {
    apart(
        &addresses(),
        "names::req_e03_special_addresses_are_refused_in_all_disguises_and_only_an_empty_list_turns_that_off",
        || {
            let (names, everywhere) = (NameServer::start(), Everywhere::start());
            let hosts: Vec<&'static str> = (0..DENIED.len())
                .map(|number| &*Box::leak(format!("n{number}.reached.test").into_boxed_str()))
                .collect();
            for (host, address) in hosts.iter().zip(DENIED) {
                names.knows(host, &[&[address]]);
            }
            names.knows("public.reached.test", &[&[PUBLIC]]);
            names.knows("public6.reached.test", &[&[PUBLIC6]]);
            // A list of one's own adds to the one that is built in.
            for keys in ["", "deny_cidrs = [\"203.0.113.0/24\"]"] {
                let daemon = daemon(keys);
                for (host, address) in hosts.iter().zip(DENIED) {
                    assert_eq!(ask(&daemon, host), denied(), "{address} with {keys:?}");
                    assert_eq!(everywhere.count(address), 0, "{address}");
                }
                assert_eq!(ask(&daemon, "public.reached.test"), REACHED);
                assert_eq!(ask(&daemon, "public6.reached.test"), REACHED);
                let record = daemon.record();
                assert_eq!(record.matches("\"reason\":\"address-denied\"").count(), DENIED.len());
            }
            let more = daemon(&format!("deny_cidrs = [\"{PUBLIC}/32\"]"));
            assert_eq!(ask(&more, "public.reached.test"), denied());
            drop(more);
            assert_eq!((everywhere.count(PUBLIC), everywhere.count(PUBLIC6), everywhere.total()), (2, 2, 4));
            // The twin: written down, the empty list lets all of them be reached that are there.
            let off = daemon("deny_cidrs = []");
            for (host, address) in hosts.iter().zip(DENIED) {
                let answer = ask(&off, host);
                assert_ne!(answer, denied(), "{address}");
                if ["127.0.0.1", "::1", "169.254.169.254", "10.1.2.3"].contains(&address) {
                    assert_eq!(answer, REACHED, "{address}");
                    assert!(everywhere.count(address) > 0, "{address}");
                }
            }
        },
    );
}

#[test]
fn req_e03_a_name_that_changes_its_address_is_judged_by_the_one_that_is_dialled() {
    apart(
        &addresses(),
        "names::req_e03_a_name_that_changes_its_address_is_judged_by_the_one_that_is_dialled",
        || {
            let (names, everywhere) = (NameServer::start(), Everywhere::start());
            names.knows("rebound.reached.test", &[&[PUBLIC], &["127.0.0.1", "::1"]]);
            names.knows("mixed.reached.test", &[&["127.0.0.1", PUBLIC, "169.254.169.254"]]);
            names.knows("hidden.reached.test", &[&["::ffff:127.0.0.1", PUBLIC6]]);
            let daemon = daemon("");
            assert_eq!(ask(&daemon, "rebound.reached.test"), REACHED);
            // One lookup for a request, of both families: between looking at an address and dialling it nobody is asked.
            assert_eq!(names.asked("rebound.reached.test"), 2, "{:?}", names.names());
            wait_until("the other answer counts", || ask(&daemon, "rebound.reached.test") == denied());
            assert_eq!(everywhere.count("127.0.0.1") + everywhere.count("::1"), 0);
            // Of many answers only those count that may be reached.
            assert_eq!(ask(&daemon, "mixed.reached.test"), REACHED);
            assert_eq!(ask(&daemon, "hidden.reached.test"), REACHED);
            assert_eq!(everywhere.count("127.0.0.1") + everywhere.count("169.254.169.254"), 0);
            assert!(everywhere.count(PUBLIC) >= 2 && everywhere.count(PUBLIC6) == 1);
            // The same at a tunnel, for each request in it.
            names.knows("later.reached.test", &[&["127.0.0.1"]]);
            let stream = std::net::TcpStream::connect(("127.0.0.1", daemon.port)).expect("the proxy listens");
            let tunnel = "CONNECT later.reached.test:8080 HTTP/1.1\r\n\r\n";
            let inside = "GET / HTTP/1.1\r\nHost: later.reached.test:8080\r\nConnection: close\r\n\r\n";
            let answer = exchange(stream, (tunnel.to_owned() + inside).as_bytes());
            assert!(String::from_utf8_lossy(&answer).contains("cofferdam-reason: address-denied"));
            // The twin: with the list off the second answer is taken.
            names.knows("again.reached.test", &[&[PUBLIC], &["127.0.0.1"]]);
            let off = self::daemon("deny_cidrs = []");
            wait_until("it is reached there", || {
                ask(&off, "again.reached.test") == REACHED && everywhere.count("127.0.0.1") > 0
            });
        },
    );
}

#[test]
fn req_e34_a_name_that_is_refused_is_never_looked_up() {
    apart(&addresses(), "names::req_e34_a_name_that_is_refused_is_never_looked_up", || {
        let (names, everywhere) = (NameServer::start(), Everywhere::start());
        names.knows("one.reached.test", &[&[PUBLIC]]);
        names.knows("narrow.test", &[&[PUBLIC]]);
        let daemon = daemon("");
        let secret = "c2VjcmV0LWRhdGE.evil.test";
        for (text, expected) in [
            (format!("GET http://{secret}/ HTTP/1.1\r\nHost: {secret}\r\nConnection: close\r\n\r\n"), "host-not-allowed"),
            (format!("GET / HTTP/1.1\r\nHost: {secret}\r\nConnection: close\r\n\r\n"), "host-not-allowed"),
            (format!("CONNECT {secret}:443 HTTP/1.1\r\n\r\n"), "host-not-allowed"),
            (format!("CONNECT {secret}:8080 HTTP/1.1\r\n\r\n"), "host-not-allowed"),
            ("CONNECT one.reached.test:25 HTTP/1.1\r\n\r\n".to_owned(), "port-not-allowed"),
            ("GET http://narrow.test:8080/closed HTTP/1.1\r\nHost: narrow.test:8080\r\nConnection: close\r\n\r\n".to_owned(), "path-not-allowed"),
            ("POST http://narrow.test:8080/open HTTP/1.1\r\nHost: narrow.test:8080\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".to_owned(), "method-not-allowed"),
            (format!("GET http://{secret}/ HTTP/1.1\r\nHost: one.reached.test:8080\r\nConnection: close\r\n\r\n"), "target-mismatch"),
        ] {
            assert_eq!(request(&daemon, &text).1.as_deref(), Some(expected), "{text}");
        }
        // A tunnel alone asks for nothing either.
        let mut tunnel = std::net::TcpStream::connect(("127.0.0.1", daemon.port)).expect("the proxy listens");
        tunnel.write_all(b"CONNECT one.reached.test:8080 HTTP/1.1\r\n\r\n").expect("it reads");
        assert!(head(&mut tunnel).starts_with("HTTP/1.1 200 "));
        assert_eq!(names.names(), Vec::<String>::new());
        assert_eq!(everywhere.total(), 0);
        // The twin: what is allowed is looked up, under its whole name and no other.
        assert_eq!(ask(&daemon, "one.reached.test"), REACHED);
        assert_eq!(ask(&daemon, "none.reached.test"), (502, Some("name-not-found".to_owned())));
        assert!(
            names.names().iter().all(|name| ["one.reached.test", "none.reached.test"].contains(&&**name))
        );
        assert!(names.asked("one.reached.test") > 0 && names.asked("none.reached.test") > 0);
        // Inside of a sandbox it is the same, for whoever asks for an address by itself.
        let project = Home::outside_tmp();
        let before = names.names().len();
        let script =
            format!("getent ahosts {secret}; getent ahosts x.{secret}; getent ahosts one.reached.test");
        let run = Cofferdam::new(env!("CARGO_BIN_EXE_cofferdam"), &daemon.home)
            .current_dir(project.path())
            .args(["run", "--", "/bin/sh", "-c", &script])
            .run();
        assert!(run.expect_status(0).stdout().contains("one.reached.test"));
        assert_eq!(names.names().len(), before, "{:?}", names.names());
    });
}
