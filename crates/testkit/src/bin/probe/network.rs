//! G. Network.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream, ToSocketAddrs, UdpSocket};
use std::time::Duration;

use cofferdam_linux_sys::probe::connect_vsock;
use rustix::net::{AddressFamily, SocketFlags, SocketType, ipproto};

use crate::probe::{Mistake, Outcome, Probe, Words};

pub const PROBES: &[Probe] = &[
    Probe { name: "tcp", threat: 89, takes: "ADDRESS:PORT", attack: tcp },
    Probe { name: "http", threat: 91, takes: "ADDRESS:PORT", attack: http },
    Probe { name: "resolve", threat: 92, takes: "NAME", attack: resolve },
    Probe { name: "udp", threat: 94, takes: "ADDRESS:PORT", attack: udp },
    Probe { name: "raw-socket", threat: 94, takes: "", attack: raw_socket },
    Probe { name: "vsock", threat: 98, takes: "CONTEXT PORT", attack: vsock },
    Probe { name: "change-network", threat: 101, takes: "", attack: change_network },
];

/// How long an answer may take before the door counts as closed.
const PATIENCE: Duration = Duration::from_secs(2);

fn tcp(words: &mut Words) -> Result<Outcome, Mistake> {
    let address: SocketAddr = words.parsed("address with a port")?;
    Ok(Outcome::of(TcpStream::connect_timeout(&address, PATIENCE), |_| "connected".to_owned()))
}

/// A request in the clear. A proxy that answers in the place of the host and says so has not let it through.
fn http(words: &mut Words) -> Result<Outcome, Mistake> {
    let address: SocketAddr = words.parsed("address with a port")?;
    let answer = TcpStream::connect_timeout(&address, PATIENCE).and_then(|mut stream| {
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.write_all(
            format!("GET / HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").as_bytes(),
        )?;
        let mut answer = [0; 256];
        let length = stream.read(&mut answer)?;
        Ok(String::from_utf8_lossy(&answer[..length]).into_owned())
    });
    Ok(match answer {
        Ok(answer) if answer.contains("cofferdam-reason") => {
            Outcome::Closed("refused by the proxy".to_owned())
        }
        answer => Outcome::of(answer, |_| "answered".to_owned()),
    })
}

fn resolve(words: &mut Words) -> Result<Outcome, Mistake> {
    let name = words.text("a name")?;
    Ok(Outcome::of((name.as_str(), 443).to_socket_addrs(), |found| {
        found.map(|address| address.ip().to_string()).collect::<Vec<_>>().join(" ")
    }))
}

/// A datagram that is sent may still lead nowhere, so only an answer counts.
fn udp(words: &mut Words) -> Result<Outcome, Mistake> {
    let address: SocketAddr = words.parsed("address with a port")?;
    let local: SocketAddr = match address {
        SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
        SocketAddr::V6(_) => (std::net::Ipv6Addr::UNSPECIFIED, 0).into(),
    };
    let answered = UdpSocket::bind(local).and_then(|socket| {
        socket.connect(address)?;
        socket.set_read_timeout(Some(PATIENCE))?;
        socket.send(b"probe")?;
        socket.recv(&mut [0; 64])
    });
    Ok(Outcome::of(answered, |length| format!("{length} bytes came back")))
}

fn raw_socket(_: &mut Words) -> Result<Outcome, Mistake> {
    let opened = rustix::net::socket_with(
        AddressFamily::INET,
        SocketType::RAW,
        SocketFlags::CLOEXEC,
        Some(ipproto::ICMP),
    );
    Ok(Outcome::of(opened.map_err(Into::into), |_| "opened".to_owned()))
}

fn vsock(words: &mut Words) -> Result<Outcome, Mistake> {
    let (context, port) = (words.parsed("context")?, words.parsed("port")?);
    Ok(Outcome::of(connect_vsock(context, port), |()| "connected".to_owned()))
}

/// The gentlest change there is: the loopback, which is up already, is set up.
fn change_network(_: &mut Words) -> Result<Outcome, Mistake> {
    Ok(Outcome::of(cofferdam_linux_sys::netlink::loopback_up(), |()| "changed".to_owned()))
}
