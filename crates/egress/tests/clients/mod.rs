//! Clients come with their listeners, get tokens of their own, and go.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};

use crate::proxied::{HOST, Proxied, SECRET, reason};
use cofferdam_audit::Label;
use cofferdam_egress::Door;
use cofferdam_egress::service::{Base, Covered, Listeners, OpenError, Opened, Opening, Service, Wanted};
use cofferdam_policy::document::Config;
use cofferdam_policy::host::HostPattern;
use cofferdam_policy::layers::Layered;
use cofferdam_policy::rules::AllowRule;
use cofferdam_testkit::upstream::{HttpVersion, Reply, Transport};

struct Fixture {
    proxied: Proxied,
    service: Service,
}

/// One client with its sockets; all of them are on the loopback of the test.
struct Sandbox {
    opened: Opened,
    proxy: SocketAddr,
    clear: SocketAddr,
    packets: SocketAddr,
    questions: SocketAddr,
}

impl Fixture {
    fn new(transport: Transport) -> Self {
        let proxied = Proxied::new(transport);
        let service = Service::new(proxied.proxy.clone(), base(&proxied), proxied.runtime.handle().clone());
        Self { proxied, service }
    }

    fn open(&self, allow: &[&str]) -> Sandbox {
        let pattern = |text: &&str| AllowRule::whole_host(HostPattern::parse(text).expect("a host"), None);
        let opened = self
            .service
            .open(Opening {
                session: Label::new("test"),
                providers: Wanted::Named(vec!["api".to_owned()]),
                without: Vec::new(),
                project: None,
                allow: allow.iter().map(pattern).collect(),
                watcher: None,
            })
            .unwrap_or_else(|error| panic!("{error}"));
        let listener = || TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        let (proxy, clear, questions) = (listener(), listener(), listener());
        let packets = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        let sandbox = Sandbox {
            proxy: proxy.local_addr().expect("bound"),
            clear: clear.local_addr().expect("bound"),
            packets: packets.local_addr().expect("bound"),
            questions: questions.local_addr().expect("bound"),
            opened,
        };
        let listeners = Listeners {
            doors: vec![(Door::Proxy, proxy), (Door::Transparent { port: 80 }, clear)],
            dns_packets: vec![packets],
            dns_connections: vec![questions],
            ..Listeners::default()
        };
        self.service.serve(sandbox.opened.id, listeners).expect("served");
        sandbox
    }

    /// What the host's status line and headers say to a token at the first provider.
    fn ask(&self, through: SocketAddr, token: &str) -> String {
        let (proxy, header) = (format!("http://{through}"), format!("Authorization: Bearer {token}"));
        let url = self.proxied.url("/");
        let asked = cofferdam_testkit::Cofferdam::new("/usr/bin/curl", &self.proxied.home)
            .args(["-q", "-sS", "-i", "--cacert", "ca.pem", "-x", &proxy, "-H", &header, &url]);
        asked.run().stdout()
    }
}

fn base(proxied: &Proxied) -> Base {
    let covered = |provider: &cofferdam_policy::provider::Provider| Covered {
        variables: vec![provider.variables[0].to_string()],
        provider: provider.clone(),
    };
    Base { layered: proxied.layered.clone(), providers: proxied.providers.iter().map(covered).collect() }
}

/// A question for the address of a name.
fn question(name: &str, kind: u8) -> Vec<u8> {
    let mut message = vec![7, 7, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
    for label in name.split('.') {
        message.push(label.len() as u8);
        message.extend(label.bytes());
    }
    message.extend([0, 0, kind, 0, 1]);
    message
}

fn resolve(at: SocketAddr, name: &str, kind: u8) -> (u8, Vec<u8>) {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    socket.send_to(&question(name, kind), at).expect("sent");
    let mut answer = vec![0; 512];
    let length = socket.recv(&mut answer).expect("an answer");
    let asked = question(name, kind).len();
    (answer[3] & 15, answer[asked.min(length)..length].to_vec())
}

#[test]
fn req_e23_a_token_is_worth_nothing_at_another_clients_listener_nor_after_the_end() {
    let fixture = Fixture::new(Transport::Tls(vec![HttpVersion::Http1]));
    fixture.proxied.upstream.route("/", Reply::Fixed { status: 200, headers: vec![], body: Vec::new() });
    let (one, two) = (fixture.open(&[]), fixture.open(&[]));
    let [own, foreign] = [&one, &two].map(|sandbox| sandbox.opened.tokens[0].1.expose().to_owned());
    assert_eq!(one.opened.tokens[0].0, "API_KEY");
    assert!(fixture.ask(one.proxy, &own).starts_with("HTTP/1.1 200"));
    let got = fixture.proxied.upstream.requests();
    assert_eq!(got[0].header("authorization"), Some(format!("Bearer {SECRET}").as_bytes()));
    assert_eq!(reason(&fixture.ask(one.proxy, &foreign)), Some("token-wrong-client"));
    assert!(fixture.proxied.record().contains("token-wrong-client"));
    assert!(fixture.ask(two.proxy, &foreign).starts_with("HTTP/1.1 200"));
    fixture.service.close(two.opened.id);
    assert_eq!(reason(&fixture.ask(one.proxy, &foreign)), Some("credential-foreign"));
    assert_eq!(fixture.proxied.upstream.requests().len(), 2);
    assert_eq!(fixture.service.clients(), 1);
}

#[test]
fn a_closed_client_loses_its_listeners_and_the_connections_it_has() {
    let fixture = Fixture::new(Transport::Plain);
    let sandbox = fixture.open(&[]);
    let mut idle = TcpStream::connect(sandbox.clear).expect("it listens");
    idle.write_all(b"GET / HTTP/1.1\r\nHost: plain.example.test\r\n\r\n").expect("it reads");
    let mut first = [0; 12];
    idle.read_exact(&mut first).expect("an answer");
    assert_eq!(&first, b"HTTP/1.1 200");
    fixture.service.close(sandbox.opened.id);
    let mut rest = Vec::new();
    // A reset is an end as well.
    let _ = idle.read_to_end(&mut rest);
    for address in [sandbox.proxy, sandbox.clear, sandbox.questions] {
        // Tasks are taken down one after the other; a listener that is still there does not accept.
        let refused = (0..1000).any(|_| {
            std::thread::yield_now();
            TcpStream::connect(address).is_err()
        });
        assert!(refused, "{address}");
    }
}

#[test]
fn req_e34_names_get_addresses_of_our_own_and_only_those_that_may_be_reached() {
    let fixture = Fixture::new(Transport::Plain);
    let sandbox = fixture.open(&["typed.example.test", "*.wild.example.test"]);
    let (code, answer) = resolve(sandbox.packets, HOST, 1);
    assert_eq!((code, &answer[answer.len() - 4..]), (0, &[198, 18, 0, 1][..]));
    let (code, answer) = resolve(sandbox.packets, "API.Example.TEST", 28);
    assert_eq!((code, &answer[answer.len() - 16..][..3]), (0, &[0xfd, 0xc0, 0xff][..]));
    for name in ["typed.example.test", "plain.example.test", "a.b.wild.example.test"] {
        assert_eq!(resolve(sandbox.packets, name, 1).0, 0, "{name}");
    }
    // Other kinds of a name that is there: nothing. Kept for TLS by name and mail, which both go without.
    assert_eq!(resolve(sandbox.packets, HOST, 65), (0, Vec::new()));
    for name in
        ["evil.example", "secret.evil.example", "example.test", "other.example.test", "169.254.169.254"]
    {
        assert_eq!(resolve(sandbox.packets, name, 1), (3, Vec::new()), "{name}");
        assert_eq!(resolve(sandbox.packets, name, 16), (3, Vec::new()), "{name}");
    }
    let (_, local) = resolve(sandbox.packets, "localhost", 1);
    assert_eq!(&local[local.len() - 4..], [127, 0, 0, 1]);
    let record = fixture.proxied.record();
    assert_eq!(record.matches("\"secret.evil.example\"").count(), 1, "once, however often it was asked for");
    assert_eq!(record.matches("dns-query").count(), 9);
}

#[test]
fn req_e34_names_after_the_last_that_is_on_record_are_answered_and_the_record_says_where_it_ends() {
    let fixture = Fixture::new(Transport::Plain);
    let sandbox = fixture.open(&["*.many.example"]);
    let given = |number: usize| resolve(sandbox.packets, &format!("n{number}.many.example"), 1).0;
    assert!((0..2060).all(|number| given(number) == 0), "every name may be reached");
    let record = fixture.proxied.record();
    let names: Vec<&str> = record.lines().filter(|line| line.contains(".many.example")).collect();
    assert_eq!(names.len(), 2048);
    assert!(names.iter().all(|line| line.contains("\"decision\":\"allowed\"")), "none of them was refused");
    assert_eq!(record.matches("names-too-many").count(), 1);
    assert!(!record.contains("rate-limited"));
}

#[test]
fn questions_on_connections_are_answered_alike() {
    let fixture = Fixture::new(Transport::Plain);
    let sandbox = fixture.open(&[]);
    let mut stream = TcpStream::connect(sandbox.questions).expect("it listens");
    for (name, code) in [(HOST, 0), ("evil.example", 3)] {
        let asked = question(name, 1);
        stream.write_all(&[0, asked.len() as u8]).expect("it reads");
        stream.write_all(&asked).expect("it reads");
        let mut length = [0; 2];
        stream.read_exact(&mut length).expect("an answer");
        let mut answer = vec![0; usize::from(u16::from_be_bytes(length))];
        stream.read_exact(&mut answer).expect("an answer");
        assert_eq!(answer[3] & 15, code, "{name}");
    }
}

#[test]
fn clients_reach_what_was_typed_for_them_and_a_new_configuration_keeps_that() {
    let fixture = Fixture::new(Transport::Plain);
    let (with, without) = (fixture.open(&["typed.example.test"]), fixture.open(&[]));
    assert_eq!(resolve(with.packets, "typed.example.test", 1).0, 0);
    assert_eq!(resolve(without.packets, "typed.example.test", 1).0, 3);
    let providers = base(&fixture.proxied).providers;
    fixture.service.reload(Base { layered: Layered::new(Config::default()), providers });
    assert_eq!(resolve(with.packets, "typed.example.test", 1).0, 0);
    assert_eq!(resolve(with.packets, HOST, 1).0, 0, "a provider in use");
    assert_eq!(resolve(with.packets, "plain.example.test", 1).0, 3, "no rule any more");
    fixture.service.reload(Base { layered: Layered::new(Config::default()), providers: Vec::new() });
    assert_eq!(resolve(with.packets, HOST, 1).0, 3, "no provider any more");
}

#[test]
fn a_provider_without_a_credential_is_refused_by_name() {
    let fixture = Fixture::new(Transport::Plain);
    let opening = Opening {
        session: Label::new("test"),
        providers: Wanted::Named(vec!["nobody".to_owned()]),
        without: Vec::new(),
        project: None,
        allow: Vec::new(),
        watcher: None,
    };
    let refused = fixture.service.open(opening).err();
    assert_eq!(refused, Some(OpenError::Provider("nobody".to_owned())));
}
