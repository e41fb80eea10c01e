//! Sealed containers: real clients reach what is allowed with a token, and there is no other way out.

use crate::bed::{Bed, IMAGE, SECRET};
use cofferdam_testkit::container::{Kind, can_have_containers};
use cofferdam_testkit::upstream::Reply;

fn fixed(body: &str) -> Reply {
    Reply::Fixed { status: 200, headers: vec![], body: body.as_bytes().to_vec() }
}

const CURL: &str = r#"curl -sS -H "Authorization: Bearer $ACME_API_KEY" https://api.example.test/v1"#;

#[test]
fn req_e05_e17_clients_in_a_container_reach_a_provider_with_a_token() {
    if !can_have_containers() {
        return;
    }
    for kind in [Kind::Podman, Kind::Docker] {
        let bed = Bed::started(kind);
        bed.upstream.route("/v1", fixed("hello"));
        let python = "import os, urllib.request as u; r = u.Request('https://api.example.test/v1', \
                      headers={'Authorization': 'Bearer ' + os.environ['ACME_API_KEY']}); print(u.urlopen(r).read().decode())";
        let script = format!("{CURL} && echo && /usr/bin/python3 -I -c \"{python}\" && env && id -u");
        let run = bed.shell(&script).expect_status(0);
        let told = run.stdout();
        assert!(told.starts_with("hello\nhello\n"), "{told}");
        assert!(!told.contains(SECRET) && told.contains("ACME_API_KEY=cfd_"), "{told}");
        assert!(told.ends_with("1000\n"), "the image's own user: {told}");
        let asked = bed.upstream.requests();
        assert_eq!(asked.len(), 2);
        for request in asked {
            assert_eq!(request.header("authorization"), Some(format!("Bearer {SECRET}").as_bytes()));
        }
    }
}

#[test]
fn req_e26_node_and_plain_requests_work_in_a_container_and_other_hosts_are_refused() {
    if !can_have_containers() {
        return;
    }
    let bed = Bed::started(Kind::Podman);
    bed.upstream.route("/v1", fixed("hello"));
    let node = "const t=require('tls'),n=require('net'); const s=n.connect(9191,'127.0.0.1',()=>s.write('CONNECT api.example.test:443 \
                HTTP/1.1\\r\\nHost: api.example.test:443\\r\\n\\r\\n')); s.once('data',()=>{const c=t.connect({socket:s,servername:'api.example.test'},\
                ()=>c.write('GET /v1 HTTP/1.1\\r\\nHost: api.example.test\\r\\nAuthorization: Bearer '+process.env.ACME_API_KEY+'\\r\\nConnection: close\\r\\n\\r\\n'));\
                c.on('data',d=>process.stdout.write(d))})";
    let run = bed.shell(&format!("/usr/bin/node -e \"{node}\"")).expect_status(0);
    assert!(
        run.stdout().starts_with("HTTP/1.1 200 OK") && run.stdout().contains("hello"),
        "{}",
        run.stdout()
    );
    // Both ways on one port: a tunnel, and a plain request that names its whole address.
    let refused = bed.shell(
        "curl -sS -o /dev/null -w '%{http_code} ' http://evil.example/; curl -sS https://evil.example/",
    );
    assert!(refused.stdout().starts_with("403 "), "{}", refused.stdout());
    assert!(refused.status() != 0 && refused.stderr().contains("403"), "{}", refused.stderr());
}

#[test]
fn req_i10_there_is_no_other_way_out_of_a_sealed_container() {
    if !can_have_containers() {
        return;
    }
    let bed = Bed::started(Kind::Podman);
    let port = bed.upstream.port();
    let script = format!(
        r#"
import socket
def attempt(name, call):
    try:
        call()
        print(name, 'open')
    except OSError as error:
        print(name, type(error).__name__)
def tcp(host, port):
    return lambda: socket.create_connection((host, port), timeout=5)
def udp(address):
    def call():
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        s.settimeout(2)
        s.sendto(b'x', address)
        s.recv(1)
    return call
attempt('upstream', tcp('127.0.0.1', {port}))
attempt('literal', tcp('192.0.2.1', 443))
attempt('literal6', tcp('2001:db8::1', 443))
attempt('metadata', tcp('169.254.169.254', 80))
attempt('udp', udp(('192.0.2.1', 53)))
attempt('raw', lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1))
attempt('packet', lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0))
attempt('name', lambda: socket.getaddrinfo('secret.evil.example', 443))
"#
    );
    let run =
        bed.docker("run", &["--rm", "-v", "/usr:/usr:ro", IMAGE, "/usr/bin/python3", "-I", "-c", &script]);
    let told = run.run().expect_status(0).stdout();
    assert_eq!(told.lines().count(), 8, "{told}");
    assert!(!told.contains("open"), "{told}");
    assert!(bed.upstream.connections().is_empty());
}

/// Which kinds of sockets that belong to no network can be made; none is connected to anything.
const KINDS: &str = "
import socket
for name, family in [('vsock', 40), ('alg', 38), ('qipcrtr', 42), ('bluetooth', 31)]:
    try:
        socket.socket(family, socket.SOCK_SEQPACKET if name == 'alg' else socket.SOCK_STREAM if name == 'vsock' else socket.SOCK_DGRAM)
        print(name)
    except OSError:
        pass
socket.socket(socket.AF_UNIX)
socket.socket(socket.AF_INET6)
print('end')
";

#[test]
fn req_i10_sockets_that_belong_to_no_network_do_not_exist_in_a_container() {
    if !can_have_containers() {
        return;
    }
    for kind in [Kind::Podman, Kind::Docker] {
        let bed = Bed::started(kind);
        let python = ["/usr/bin/python3", "-I", "-c", KINDS];
        let usual = bed.engine.usual_options();
        let plain = [&["run", "--rm"], usual, &["-v", "/usr:/usr:ro", IMAGE], &python].concat();
        let plain = bed.engine.call(plain).expect_status(0).stdout();
        assert!(
            plain.contains("vsock") || plain.contains("alg"),
            "the engine alone lets them be made: {plain}"
        );
        let words = [&["-d", "--name", "kinds", "-v", "/usr:/usr:ro", IMAGE, "sleep", "10000"][..]].concat();
        bed.docker("run", &words).run().expect_status(0);
        let later = bed.docker_exec(&[&["kinds"], &python[..]].concat()).expect_status(0).stdout();
        assert_eq!(later, "end\n", "in what is started later");
        bed.engine.call(["rm", "--force", "kinds"]).expect_status(0);
        let words = [&["--rm", "-v", "/usr:/usr:ro", IMAGE][..], &python].concat();
        assert_eq!(bed.docker("run", &words).run().expect_status(0).stdout(), "end\n");
    }
}

#[test]
fn req_e23_a_token_of_one_container_is_worth_nothing_in_another() {
    if !can_have_containers() {
        return;
    }
    let bed = Bed::started(Kind::Podman);
    bed.upstream.route("/v1", fixed("hello"));
    let first = bed.shell("echo $ACME_API_KEY").expect_status(0).stdout();
    let stolen = first.trim();
    let ask = format!("curl -sS -H 'Authorization: Bearer {stolen}' https://api.example.test/v1");
    let told = bed.shell(&ask).stdout();
    assert!(!told.contains("hello"), "{told}");
    assert!(bed.upstream.requests().is_empty());
}

#[test]
fn req_e33_what_is_started_later_has_the_same_variables() {
    if !can_have_containers() {
        return;
    }
    for kind in [Kind::Podman, Kind::Docker] {
        let bed = Bed::started(kind);
        bed.upstream.route("/v1", fixed("hello"));
        let words = [
            "-d",
            "--name",
            "later",
            "-v",
            "/usr:/usr:ro",
            "-e",
            "MINE=1",
            IMAGE,
            "sh",
            "-c",
            "env > /tmp/env; sleep 10000",
        ];
        bed.docker("run", &words).run().expect_status(0);
        let sorted = |text: String| {
            let mut lines: Vec<String> = text
                .lines()
                .filter(|line| !line.starts_with("PWD=") && !line.starts_with("SHLVL="))
                .map(str::to_owned)
                .collect();
            lines.sort();
            lines
        };
        cofferdam_testkit::processes::wait_until("the first command has written", || {
            bed.engine.call(["exec", "later", "test", "-s", "/tmp/env"]).status() == 0
        });
        let at_run = sorted(bed.engine.call(["exec", "later", "cat", "/tmp/env"]).expect_status(0).stdout());
        let at_exec = sorted(bed.engine.call(["exec", "later", "env"]).expect_status(0).stdout());
        assert!(at_run.iter().any(|line| line == "MINE=1"), "{at_run:?}");
        let differing: Vec<_> =
            at_exec.iter().filter(|line| !at_run.contains(line) && !line.starts_with("TERM=")).collect();
        assert!(differing.is_empty(), "{differing:?}");
        let told = bed.engine.call(["exec", "later", "sh", "-c", CURL]).expect_status(0).stdout();
        assert_eq!(told, "hello");
        let through = bed.docker_exec(&["later", "sh", "-c", "env"]).expect_status(0).stdout();
        assert_eq!(sorted(through), at_exec);
        bed.engine.call(["rm", "--force", "later"]).expect_status(0);
        // The way out ends with the container.
        let left = || {
            std::fs::read_dir(bed.home.path().join("cofferdam/run/containers"))
                .is_ok_and(|mut all| all.next().is_none())
        };
        cofferdam_testkit::processes::wait_until("nothing of the container is left", left);
    }
}

#[test]
fn req_a01_a_command_in_a_container_passes_the_gate_and_a_strange_container_is_not_used() {
    if !can_have_containers() {
        return;
    }
    let bed = Bed::started(Kind::Podman);
    bed.docker("run", &["-d", "--name", "gated", IMAGE, "sleep", "10000"]).run().expect_status(0);
    assert_eq!(bed.docker_exec(&["gated", "echo", "fine"]).expect_status(0).stdout(), "fine\n");
    let refused = bed.docker_exec(&["gated", "mkfs.ext4", "/dev/sda"]).expect_status(77);
    assert_eq!(refused.stdout(), "");
    let strange = bed.engine.container(&[], IMAGE);
    let told = bed.docker_exec(&[strange.name(), "true"]).expect_status(77).stderr();
    assert!(told.contains("was not started by cofferdam docker"), "{told}");
    // The daemon is another one now: the way out of the container is gone, and with it the use of it.
    bed.egress(&["stop"]).expect_status(0);
    bed.egress(&["start"]).expect_status(0);
    cofferdam_testkit::processes::wait_until("the way out is gone", || {
        bed.docker_exec(&["gated", "true"]).status() == 77
    });
    bed.engine.call(["rm", "--force", "gated"]).expect_status(0);
}
