//! One target for a request, however many mouths name it.
//!
//! The CONNECT target, the name in the TLS handshake, `Host`, `:authority` and an absolute request target must all
//! mean the same host and port. Each is brought into the one canonical form before they are compared, so that
//! spelling is no disagreement; anything else is, and is refused rather than decided in favour of one of them.
//! Everything after this module sees a [`Target`] and none of the spellings.

use std::fmt;
use std::sync::Arc;

use cofferdam_audit::event::EgressReason;
use cofferdam_policy::host::Host;
use http::header::HOST;
use http::request::Parts;
use http::uri::Authority;

/// Where a request goes: the proof that all who named it agreed. Only this module makes one.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Target {
    protocol: Protocol,
    /// Shared, because a request hands its target on several times.
    host: Arc<Host>,
    port: u16,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Protocol {
    Http,
    Https,
}

impl Protocol {
    pub fn default_port(self) -> u16 {
        match self {
            Self::Http => 80,
            Self::Https => 443,
        }
    }

    fn of(uri_scheme: &str) -> Option<Self> {
        match uri_scheme {
            "http" => Some(Self::Http),
            "https" => Some(Self::Https),
            _ => None,
        }
    }
}

/// Why there is no one target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TargetError {
    /// A name that is none: user information, a zone, an odd spelling of an address, port 0.
    Malformed,
    /// Two that name the target do not agree.
    Mismatch,
    /// TLS was asked for in the clear, or the other way round.
    Protocol,
}

impl TargetError {
    pub fn reason(self) -> EgressReason {
        match self {
            Self::Malformed => EgressReason::TargetMalformed,
            Self::Mismatch => EgressReason::TargetMismatch,
            Self::Protocol => EgressReason::SchemeNotAllowed,
        }
    }
}

/// What the connection itself says about the targets of the requests on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// In the clear, at a port for proxies: each request names its own target.
    Proxy,
    /// In the clear, dialled as if it were the target itself: the port is known, the name is in each request.
    /// If the sandbox's resolver gave out the address that was dialled, the name it gave it out for is known too.
    Transparent { port: u16, dialled: Option<Host> },
    /// Inside a tunnel or a handshake that named the target already.
    Agreed(Target),
}

impl Target {
    pub fn protocol(&self) -> Protocol {
        self.protocol
    }

    pub fn host(&self) -> &Host {
        &self.host
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// The target of a `CONNECT`: host and port, both. Which protocol is spoken inside shows later.
    pub fn of_connect(text: &str, protocol: Protocol) -> Result<Self, TargetError> {
        match Host::parse_with_port(text) {
            Ok((host, Some(port))) => Ok(Self { protocol, host: Arc::new(host), port }),
            _ => Err(TargetError::Malformed),
        }
    }

    /// The target of a handshake that nothing announced: the name in it, or what was dialled. A name that our own
    /// resolver gave the address for must be the name in the handshake; any other address says nothing against it.
    pub fn of_handshake(name: Option<&str>, dialled: Option<Host>, port: u16) -> Result<Self, TargetError> {
        let named = name.map(Host::parse).transpose().map_err(|_| TargetError::Malformed)?;
        let host = match (named, dialled) {
            (Some(named), Some(Host::Name(dialled))) if named != Host::Name(dialled.clone()) => {
                return Err(TargetError::Mismatch);
            }
            (Some(host), _) | (None, Some(host)) => host,
            (None, None) => return Err(TargetError::Malformed),
        };
        Ok(Self { protocol: Protocol::Https, host: Arc::new(host), port })
    }

    /// The target of an address that we call ourselves, over TLS.
    pub(crate) fn of_https(url: &http::Uri) -> Option<Self> {
        let authority = url.authority().filter(|_| url.scheme_str() == Some("https"))?;
        let (host, port) = Host::parse_with_port(authority.as_str()).ok()?;
        let (protocol, port) = (Protocol::Https, port.unwrap_or(Protocol::Https.default_port()));
        Some(Self { protocol, host: Arc::new(host), port })
    }

    /// A handshake inside a tunnel: the name in it, if there is one, must be the tunnel's. A client that dialled an
    /// address sends none.
    pub fn confirmed_by(&self, server_name: Option<&str>) -> Result<(), TargetError> {
        let Some(name) = server_name else { return Ok(()) };
        match Host::parse(name) {
            Ok(host) if host == *self.host => Ok(()),
            Ok(_) => Err(TargetError::Mismatch),
            Err(_) => Err(TargetError::Malformed),
        }
    }

    /// The same host and port, spoken to without TLS: what a tunnel turned out to hold.
    pub(crate) fn in_the_clear(self) -> Self {
        Self { protocol: Protocol::Http, ..self }
    }

    /// Whether a request that came where this target was agreed on names it once, in `Host`, and spells it as we do. It
    /// almost always does, and then there is nothing to read and to compare.
    fn is_spelled_out_in(&self, parts: &Parts) -> bool {
        let mut values = parts.headers.get_all(HOST).iter();
        let (value, another) = (values.next(), values.next());
        let alone = parts.uri.authority().is_none() && another.is_none();
        value.is_some_and(|value| alone && self.is_spelled(value.as_bytes()))
    }

    fn is_spelled(&self, text: &[u8]) -> bool {
        let Host::Name(name) = &*self.host else { return false };
        match text.strip_prefix(name.as_str().as_bytes()) {
            Some([]) => self.port == self.protocol.default_port(),
            Some([b':', port @ ..]) => {
                let number = std::str::from_utf8(port).ok().and_then(|port| port.parse().ok());
                matches!(port, [b'1'..=b'9', ..]) && number == Some(self.port)
            }
            _ => false,
        }
    }

    /// As in `Host`: without the port that goes without saying.
    pub(crate) fn authority(&self) -> String {
        match self.port == self.protocol.default_port() {
            true => self.host.to_string(),
            false => self.to_string(),
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

/// Brings together everything that names the target of a request.
pub(crate) fn agree(arrival: &Arrival, parts: &Parts) -> Result<Target, TargetError> {
    if let Arrival::Agreed(target) = arrival
        && target.is_spelled_out_in(parts)
    {
        return Ok(target.clone());
    }
    let header = host_header(parts)?;
    let uri = uri_target(parts)?;
    let protocol = match (arrival, uri.as_ref().map(|(protocol, ..)| *protocol)) {
        (Arrival::Agreed(target), None) => target.protocol,
        (Arrival::Agreed(target), Some(protocol)) if protocol == target.protocol => protocol,
        (Arrival::Proxy | Arrival::Transparent { .. }, None | Some(Protocol::Http)) => Protocol::Http,
        _ => return Err(TargetError::Protocol),
    };
    let known_port = match arrival {
        Arrival::Proxy => None,
        Arrival::Transparent { port, .. } => Some(*port),
        Arrival::Agreed(target) => Some(target.port),
    };
    let port_of = |written: Option<u16>| written.unwrap_or(protocol.default_port());
    let uri = uri.map(|(_, host, port)| (host, port_of(port)));
    let header = header.map(|(host, port)| (host, port_of(port)));
    let agreed = match arrival {
        Arrival::Agreed(target) => Some(((*target.host).clone(), target.port)),
        Arrival::Transparent { port, dialled } => dialled.clone().map(|host| (host, *port)),
        Arrival::Proxy => None,
    };
    let mut named = [agreed, uri, header].into_iter().flatten();
    let (host, port) = named.next().ok_or(TargetError::Malformed)?;
    let all = named.all(|(its_host, its_port)| its_host == host && its_port == port);
    let same = all && known_port.is_none_or(|known| known == port);
    let agreed = Target { protocol, host: Arc::new(host), port };
    if same { Ok(agreed) } else { Err(TargetError::Mismatch) }
}

type Named = (Host, Option<u16>);

/// HTTP/1.1 must have one `Host`; HTTP/2 says it in `:authority`, and may repeat it.
fn host_header(parts: &Parts) -> Result<Option<Named>, TargetError> {
    let mut values = parts.headers.get_all(HOST).iter();
    match (values.next(), values.next()) {
        (Some(value), None) => {
            let text = value.to_str().map_err(|_| TargetError::Malformed)?;
            named(text).map(Some)
        }
        (None, None) if parts.version != http::Version::HTTP_11 => Ok(None),
        (None, None) => Err(TargetError::Malformed),
        _ => Err(TargetError::Mismatch),
    }
}

fn uri_target(parts: &Parts) -> Result<Option<(Protocol, Host, Option<u16>)>, TargetError> {
    let Some(authority) = parts.uri.authority() else { return Ok(None) };
    // Host and port alone, as in CONNECT, are no target of any other method.
    let protocol = parts.uri.scheme_str().and_then(Protocol::of).ok_or(TargetError::Protocol)?;
    let (host, port) = named(Authority::as_str(authority))?;
    Ok(Some((protocol, host, port)))
}

fn named(text: &str) -> Result<Named, TargetError> {
    Host::parse_with_port(text).map_err(|_| TargetError::Malformed)
}

#[cfg(test)]
mod tests {
    use http::{Request, Version};

    use super::*;

    fn request(version: Version, uri: &str, hosts: &[&str]) -> Parts {
        let mut builder = Request::builder().version(version).uri(uri);
        for host in hosts {
            builder = builder.header(HOST, *host);
        }
        builder.body(()).unwrap().into_parts().0
    }

    fn tunnel() -> Arrival {
        Arrival::Agreed(Target::of_connect("API.example.com.:443", Protocol::Https).unwrap())
    }

    fn shown(arrival: &Arrival, parts: &Parts) -> Result<String, TargetError> {
        agree(arrival, parts).map(|target| format!("{:?} {target}", target.protocol()))
    }

    #[test]
    fn spellings_of_one_target_agree() {
        let h1 = |uri: &str, host: &str| request(Version::HTTP_11, uri, &[host]);
        let expected = Ok("Https api.example.com:443".to_owned());
        for host in ["api.example.com", "API.EXAMPLE.COM.", "api.example.com:443"] {
            assert_eq!(shown(&tunnel(), &h1("/x", host)), expected, "{host}");
        }
        assert_eq!(shown(&tunnel(), &h1("https://api.example.com/x", "api.example.com")), expected);
        let h2 = request(Version::HTTP_2, "https://api.example.com/x", &[]);
        assert_eq!(shown(&tunnel(), &h2), expected);
        let proxied = h1("http://XN--bcher-kva.example:8080/x", "xn--bcher-kva.example:8080");
        assert_eq!(shown(&Arrival::Proxy, &proxied), Ok("Http xn--bcher-kva.example:8080".to_owned()));
        let transparent = Arrival::Transparent { port: 8080, dialled: None };
        assert_eq!(
            shown(&transparent, &h1("/", "[2001:db8::1]:8080")),
            Ok("Http [2001:db8::1]:8080".to_owned())
        );
        let old = request(Version::HTTP_10, "http://a.example/", &[]);
        assert_eq!(shown(&Arrival::Proxy, &old), Ok("Http a.example:80".to_owned()));
    }

    #[test]
    fn req_e02_what_is_taken_for_spelled_out_is_what_would_have_been_read() {
        let target = Target::of_connect("api.example.com:443", Protocol::Https).unwrap();
        let other = Target::of_connect("api.example.com:8443", Protocol::Https).unwrap();
        for text in ["api.example.com", "api.example.com:443", "api.example.com:8443"] {
            let read = Host::parse_with_port(text).unwrap();
            for target in [&target, &other] {
                let same = read.0 == *target.host && read.1.unwrap_or(443) == target.port;
                assert_eq!(target.is_spelled(text.as_bytes()), same, "{text} {target}");
            }
        }
        for odd in [
            "api.example.com:",
            "api.example.com:+443",
            "api.example.com:0443",
            "api.example.com.",
            ":443",
            "",
        ] {
            assert!(!target.is_spelled(odd.as_bytes()), "{odd}");
        }
        let address = Target::of_connect("192.0.2.1:443", Protocol::Https).unwrap();
        assert!(!address.is_spelled(b"192.0.2.1"));
    }

    #[test]
    fn req_e02_disagreement_is_refused_and_not_decided() {
        use TargetError::*;
        let h1 = |uri: &str, hosts: &[&str]| request(Version::HTTP_11, uri, hosts);
        for (arrival, parts, error) in [
            (tunnel(), h1("/", &["other.example"]), Mismatch),
            (tunnel(), h1("/", &["api.example.com:8443"]), Mismatch),
            (tunnel(), h1("/", &["api.example.com", "api.example.com"]), Mismatch),
            (tunnel(), h1("/", &["api.example.com", "other.example"]), Mismatch),
            (tunnel(), h1("https://other.example/", &["api.example.com"]), Mismatch),
            (tunnel(), h1("https://api.example.com/", &["other.example"]), Mismatch),
            (tunnel(), h1("http://api.example.com:443/", &["api.example.com:443"]), Protocol),
            (tunnel(), request(Version::HTTP_2, "https://other.example/", &[]), Mismatch),
            (tunnel(), request(Version::HTTP_2, "https://api.example.com/", &["other.example"]), Mismatch),
            (tunnel(), h1("/", &[]), Malformed),
            (tunnel(), h1("/", &["user@api.example.com"]), Malformed),
            (tunnel(), h1("/", &["api.example.com:0"]), Malformed),
            (tunnel(), h1("/", &["api.example.com:99999"]), Malformed),
            (tunnel(), h1("/", &["api.example.com, other.example"]), Malformed),
            (tunnel(), h1("/", &[""]), Malformed),
            (Arrival::Proxy, h1("http://user:pass@a.example/", &["a.example"]), Malformed),
            (Arrival::Proxy, h1("http://a.example/", &["b.example"]), Mismatch),
            (Arrival::Proxy, h1("http://a.example:8080/", &["a.example"]), Mismatch),
            (Arrival::Proxy, h1("https://a.example/", &["a.example"]), Protocol),
            (Arrival::Proxy, h1("ftp://a.example/", &["a.example"]), Protocol),
            (Arrival::Proxy, h1("a.example:80", &["a.example"]), Protocol),
            (Arrival::Proxy, h1("http://0x7f.1/", &["0x7f.1"]), Malformed),
            (Arrival::Proxy, request(Version::HTTP_10, "/", &[]), Malformed),
            (Arrival::Transparent { port: 80, dialled: None }, h1("/", &["a.example:8080"]), Mismatch),
            (Arrival::Transparent { port: 8080, dialled: None }, h1("/", &["a.example"]), Mismatch),
        ] {
            assert_eq!(agree(&arrival, &parts), Err(error), "{:?} {:?}", parts.uri, parts.headers);
        }
    }

    #[test]
    fn a_tunnel_names_host_and_port_and_its_handshake_the_same_host() {
        for wrong in [
            "a.example",
            "a.example:0",
            "user@a.example:443",
            "a.example:443x",
            ":443",
            "[fe80::1%25eth0]:443",
        ] {
            assert_eq!(Target::of_connect(wrong, Protocol::Https), Err(TargetError::Malformed), "{wrong}");
        }
        let target = Target::of_connect("a.example:443", Protocol::Https).unwrap();
        assert_eq!(target.confirmed_by(Some("A.EXAMPLE")), Ok(()));
        assert_eq!(target.confirmed_by(None), Ok(()));
        assert_eq!(target.confirmed_by(Some("b.example")), Err(TargetError::Mismatch));
        assert_eq!(target.confirmed_by(Some("a@example")), Err(TargetError::Malformed));
        assert_eq!(target.authority(), "a.example");
        let shake = |name, dialled: Option<&str>| {
            Target::of_handshake(name, dialled.map(|host| Host::parse(host).unwrap()), 8443)
                .map(|target| target.authority())
        };
        assert_eq!(shake(Some("a.example"), None), Ok("a.example:8443".to_owned()));
        assert_eq!(shake(Some("a.example"), Some("A.example")), Ok("a.example:8443".to_owned()));
        assert_eq!(shake(None, Some("a.example")), Ok("a.example:8443".to_owned()));
        assert_eq!(shake(Some("a.example"), Some("192.0.2.1")), Ok("a.example:8443".to_owned()));
        assert_eq!(shake(None, Some("192.0.2.1")), Ok("192.0.2.1:8443".to_owned()));
        assert_eq!(shake(Some("a.example"), Some("b.example")), Err(TargetError::Mismatch));
        assert_eq!(shake(None, None), Err(TargetError::Malformed));
    }
}
