//! `[egress]`: what may be reached, and how.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use super::reader::{Section, Wrong};
use super::{allow, path_text};
use crate::address::{CheckedAddress, Cidr, DenyList};
use crate::host::Host;
use crate::mistake::quoted;
use crate::rules::AllowRule;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Egress {
    pub enabled: bool,
    /// For containers and other clients; sandboxes bring their own sockets.
    pub listen: SocketAddr,
    /// Where counters can be read as well, on loopback; none: only on the control socket.
    pub metrics: Option<SocketAddr>,
    /// No working egress, no sandbox.
    pub enforce: bool,
    pub fail_on_uncovered_providers: bool,
    pub allow_env_fallback: bool,
    pub foreign_credentials: ForeignCredentials,
    pub deny: DenyList,
    /// Besides the public roots; see [`super::locate`].
    pub upstream_ca_files: Vec<String>,
    pub upstream_proxy: Option<(Host, u16)>,
    pub resolve: Resolve,
    pub limits: EgressLimits,
    pub allow: Vec<AllowRule>,
}

/// What happens to a credential that is not ours on a host that has one of ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ForeignCredentials {
    Refuse,
    Pass,
}

/// Limits of one sandbox; `None` is no limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct EgressLimits {
    pub requests_per_minute: Option<u32>,
    pub concurrent_requests: Option<u32>,
    /// Open connections of one client.
    pub connections: Option<u32>,
    /// The same for each provider, within the limits of all.
    pub provider_requests_per_minute: Option<u32>,
    pub provider_concurrent_requests: Option<u32>,
    /// Bodies in both directions together.
    pub bytes_per_minute: Option<u64>,
    /// One body.
    pub request_body: Option<u64>,
    pub connect_timeout: Option<Duration>,
    pub tls_timeout: Option<Duration>,
    /// Until a client has said what it wants: from the first byte of a handshake or a head to the last.
    pub head_timeout: Option<Duration>,
    /// Until an answer begins.
    pub first_byte_timeout: Option<Duration>,
    /// While nothing moves in either direction.
    pub idle_timeout: Option<Duration>,
}

/// Where a host and port are really dialled, like `curl --resolve`. The deny list is not asked: the user
/// wrote this very address.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Resolve(HashMap<(Host, u16), SocketAddr>);

impl Resolve {
    pub fn get(&self, host: &Host, port: u16) -> Option<(CheckedAddress, u16)> {
        // An empty map is the common case, and the key would have to be cloned to ask.
        if self.0.is_empty() {
            return None;
        }
        let target = self.0.get(&(host.clone(), port))?;
        Some((CheckedAddress::written_by_the_user(target.ip()), target.port()))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Default for Egress {
    fn default() -> Self {
        Self {
            enabled: true,
            listen: SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 9191),
            metrics: None,
            enforce: true,
            fail_on_uncovered_providers: true,
            allow_env_fallback: false,
            foreign_credentials: ForeignCredentials::Refuse,
            deny: DenyList::BuiltIn,
            upstream_ca_files: Vec::new(),
            upstream_proxy: None,
            resolve: Resolve::default(),
            limits: EgressLimits::STANDARD,
            allow: Vec::new(),
        }
    }
}

impl Egress {
    /// An address of the proxy that the user configured; the deny list is not asked.
    pub fn at_upstream_proxy(&self, address: IpAddr) -> Option<CheckedAddress> {
        self.upstream_proxy.as_ref().map(|_| CheckedAddress::written_by_the_user(address))
    }
}

impl EgressLimits {
    /// Answers of models may begin minutes after the question, and downloads be large.
    pub const STANDARD: Self = Self {
        requests_per_minute: Some(600),
        concurrent_requests: Some(64),
        connections: Some(1024),
        provider_requests_per_minute: None,
        provider_concurrent_requests: None,
        bytes_per_minute: Some(8 << 30),
        request_body: Some(64 << 20),
        connect_timeout: Some(Duration::from_secs(10)),
        tls_timeout: Some(Duration::from_secs(10)),
        head_timeout: Some(Duration::from_secs(20)),
        first_byte_timeout: Some(Duration::from_secs(600)),
        idle_timeout: Some(Duration::from_secs(300)),
    };
}

pub(super) fn read(section: &Section<'_>) -> Egress {
    section.allow_keys(&[
        "enabled",
        "listen",
        "metrics",
        "enforce",
        "fail_on_uncovered_providers",
        "allow_env_fallback",
        "foreign_credentials",
        "deny_cidrs",
        "upstream_ca_files",
        "upstream_proxy",
        "resolve",
        "limits",
        "allow",
    ]);
    let default = Egress::default();
    let foreign = [("refuse", ForeignCredentials::Refuse), ("pass", ForeignCredentials::Pass)];
    let fail = section.flag("fail_on_uncovered_providers");
    let listen = section.parsed("listen", socket).unwrap_or(default.listen);
    Egress {
        enabled: section.flag("enabled").unwrap_or(default.enabled),
        listen,
        metrics: section.parsed("metrics", |text| beside(text, listen)),
        enforce: section.flag("enforce").unwrap_or(default.enforce),
        fail_on_uncovered_providers: fail.unwrap_or(default.fail_on_uncovered_providers),
        allow_env_fallback: section.flag("allow_env_fallback").unwrap_or(default.allow_env_fallback),
        foreign_credentials: section
            .choice("foreign_credentials", &foreign)
            .unwrap_or(default.foreign_credentials),
        deny: deny(section),
        upstream_ca_files: path_text(section, "upstream_ca_files"),
        upstream_proxy: section.parsed("upstream_proxy", proxy),
        resolve: section.section("resolve").map(|section| resolve(&section)).unwrap_or_default(),
        limits: section
            .section("limits")
            .map_or(default.limits, |section| read_limits(&section, EgressLimits::STANDARD)),
        allow: allow::read_all(section),
    }
}

pub(super) fn read_limits(section: &Section<'_>, otherwise: EgressLimits) -> EgressLimits {
    section.allow_keys(&[
        "requests_per_minute",
        "concurrent_requests",
        "connections",
        "provider_requests_per_minute",
        "provider_concurrent_requests",
        "bytes_per_minute",
        "request_body",
        "connect_timeout",
        "tls_timeout",
        "head_timeout",
        "first_byte_timeout",
        "idle_timeout",
    ]);
    let count = |key: &str, otherwise: Option<u32>| section.count(key).or(otherwise);
    let size = |key: &str, otherwise: Option<u64>| section.size(key).or(otherwise);
    let time = |key: &str, otherwise: Option<Duration>| section.duration(key).or(otherwise);
    EgressLimits {
        requests_per_minute: count("requests_per_minute", otherwise.requests_per_minute),
        concurrent_requests: count("concurrent_requests", otherwise.concurrent_requests),
        connections: count("connections", otherwise.connections),
        provider_requests_per_minute: count(
            "provider_requests_per_minute",
            otherwise.provider_requests_per_minute,
        ),
        provider_concurrent_requests: count(
            "provider_concurrent_requests",
            otherwise.provider_concurrent_requests,
        ),
        bytes_per_minute: size("bytes_per_minute", otherwise.bytes_per_minute),
        request_body: size("request_body", otherwise.request_body),
        connect_timeout: time("connect_timeout", otherwise.connect_timeout),
        tls_timeout: time("tls_timeout", otherwise.tls_timeout),
        head_timeout: time("head_timeout", otherwise.head_timeout),
        first_byte_timeout: time("first_byte_timeout", otherwise.first_byte_timeout),
        idle_timeout: time("idle_timeout", otherwise.idle_timeout),
    }
}

fn deny(section: &Section<'_>) -> DenyList {
    if !section.has("deny_cidrs") {
        return DenyList::BuiltIn;
    }
    let ranges = section.list("deny_cidrs", |text| {
        Cidr::parse(text)
            .map_err(|error| (error.to_string(), Some("write a range such as \"10.0.0.0/8\"".into())))
    });
    // A list of nothing but mistakes is empty too, but then the document is refused as a whole.
    if ranges.is_empty() { DenyList::Off } else { DenyList::BuiltInAnd(ranges) }
}

fn resolve(section: &Section<'_>) -> Resolve {
    let mut map = HashMap::new();
    for key in section.keys() {
        let target = section.parsed(key, socket);
        let hint = || Some("write it as \"host:port\" = \"address:port\"".to_owned());
        match Host::parse_with_port(key) {
            Ok((host, Some(port))) => {
                if let Some(target) = target
                    && map.insert((host, port), target).is_some()
                {
                    section.wrong_key(key, format!("{} is here twice, in two spellings", quoted(key)), None);
                }
            }
            Ok((_, None)) => section.wrong_key(key, format!("{} has no port", quoted(key)), hint()),
            Err(error) => section.wrong_key(key, format!("{} {error}", quoted(key)), hint()),
        }
    }
    Resolve(map)
}

/// An address with a port, never a name: what is listened on or dialled must not depend on a resolver.
fn socket(text: &str) -> Result<SocketAddr, Wrong> {
    let hint = || Some("write an address and a port from 1 to 65535, such as \"127.0.0.1:9191\"".to_owned());
    match text.parse::<SocketAddr>() {
        Ok(SocketAddr::V6(address)) if address.scope_id() != 0 => Err(("has a zone".into(), hint())),
        Ok(address) if address.port() != 0 => Ok(address),
        Ok(_) => Err(("has port 0".into(), hint())),
        Err(_) => Err(("is not an address with a port".into(), hint())),
    }
}

/// An address of loopback that is not the proxy's own.
fn beside(text: &str, listen: SocketAddr) -> Result<SocketAddr, Wrong> {
    let address = socket(text)?;
    if !address.ip().is_loopback() {
        let hint = "write an address of loopback, such as \"127.0.0.1:9192\"".to_owned();
        return Err(("can be reached from elsewhere".into(), Some(hint)));
    }
    // A proxy that listens on every address listens on this one too.
    if address.port() == listen.port() {
        return Err(("has the port of the proxy itself".into(), Some("choose another port".into())));
    }
    Ok(address)
}

fn proxy(text: &str) -> Result<(Host, u16), Wrong> {
    let hint = || Some("write it as \"http://host:port\"".to_owned());
    let rest =
        text.strip_prefix("http://").ok_or_else(|| ("does not begin with http://".to_owned(), hint()))?;
    match Host::parse_with_port(rest.strip_suffix('/').unwrap_or(rest)) {
        Ok((host, Some(port))) => Ok((host, port)),
        Ok((_, None)) => Err(("has no port".into(), hint())),
        Err(error) => Err((error.to_string(), hint())),
    }
}
