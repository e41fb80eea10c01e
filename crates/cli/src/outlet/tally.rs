//! What a sandbox asked for, by host: told to the person while it happens, and summed up at the end.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::{Mutex, MutexGuard, PoisonError};

use cofferdam_audit::Event;
use cofferdam_audit::event::{DnsReason, EgressReason, Outcome};
use cofferdam_egress::Watcher;
use cofferdam_policy::address::DenyList;
use cofferdam_policy::host::Host;

use super::line::Teller;

/// Whoever is refused at more hosts than this is trying them all.
const MOST_TOLD: usize = 50;
/// Whoever asks for more names of one domain than this is making them up.
const MOST_OF_ONE: usize = 5;

/// Counts for one sandbox.
pub struct Tally {
    tell: Teller,
    seen: Mutex<Seen>,
}

#[derive(Debug, Default)]
struct Seen {
    hosts: BTreeMap<String, Counts>,
    told: BTreeSet<String>,
    /// How many hosts of a domain were told.
    domains: BTreeMap<String, usize>,
    /// Hosts and ports that would have to be allowed.
    needed: BTreeSet<(String, Option<u16>)>,
}

/// Addresses that lead into the machine or its network stay closed, whatever a rule says.
fn may_be_allowed(host: &str) -> bool {
    match Host::parse(host) {
        Ok(Host::Address(address)) => DenyList::BuiltIn.check(address).is_ok(),
        Ok(Host::Name(name)) => name.as_str() != "localhost" && !name.as_str().ends_with(".localhost"),
        Err(_) => true,
    }
}

/// The last two labels of a name; an address is itself.
fn domain(host: &str) -> &str {
    match Host::parse(host) {
        Ok(Host::Name(_)) => host.rmatch_indices('.').nth(1).map_or(host, |(at, _)| &host[at + 1..]),
        _ => host,
    }
}

#[derive(Debug, Default, Clone, Copy)]
struct Counts {
    requests: u64,
    refused: u64,
    sent: u64,
    received: u64,
}

impl Watcher for Tally {
    fn saw(&self, event: &Event) {
        match event {
            Event::EgressTunnel(tunnel) => {
                if let Outcome::Refused { reason } = tunnel.outcome {
                    self.refused(tunnel.host.as_str(), tunnel.port, reason);
                }
            }
            Event::EgressRequest(request) => {
                let host = request.host.as_str();
                self.seen().hosts.entry(host.to_owned()).or_default().requests += 1;
                if let Outcome::Refused { reason } = request.outcome {
                    self.refused(host, request.port, reason);
                }
            }
            Event::EgressResponse(response) => {
                let mut seen = self.seen();
                let counts = seen.hosts.entry(response.host.as_str().to_owned()).or_default();
                counts.sent += response.bytes_sent;
                counts.received += response.bytes_received;
            }
            Event::DnsQuery(query) => {
                if let Outcome::Refused { reason: DnsReason::HostNotAllowed } = query.outcome {
                    self.unknown_name(query.host.as_str());
                }
            }
            _ => {}
        }
    }
}

impl Tally {
    pub fn new(tell: Teller) -> Self {
        Self { tell, seen: Mutex::default() }
    }

    fn refused(&self, host: &str, port: u16, reason: EgressReason) {
        self.seen().hosts.entry(host.to_owned()).or_default().refused += 1;
        match reason {
            EgressReason::HostNotAllowed | EgressReason::PortNotAllowed if may_be_allowed(host) => {
                let port = (![80, 443].contains(&port)).then_some(port);
                let flag = port.map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
                self.seen().needed.insert((host.to_owned(), port));
                self.tell_host(host, format!("refused {flag}; --allow {flag} lets the command reach it"));
            }
            reason => self.tell(format!("refused a request to {host}: {}", reason.name())),
        }
    }

    fn unknown_name(&self, host: &str) {
        // What no rule could allow is no host that somebody wants to reach.
        if !matches!(Host::parse(host), Ok(Host::Name(name)) if name.as_str().contains('.'))
            || host.ends_with(".arpa")
        {
            return;
        }
        let mut seen = self.seen();
        seen.hosts.entry(host.to_owned()).or_default().refused += 1;
        seen.needed.insert((host.to_owned(), None));
        drop(seen);
        self.tell_host(host, format!("refused {host}; --allow {host} lets the command reach it"));
    }

    /// The first few of a domain, and then that there are more.
    fn tell_host(&self, host: &str, line: String) {
        let domain = domain(host);
        let mut seen = self.seen();
        if seen.told.contains(&line) {
            return;
        }
        let told = seen.domains.entry(domain.to_owned()).or_default();
        *told += 1;
        let count = *told;
        drop(seen);
        match count {
            0..=MOST_OF_ONE => self.tell(line),
            _ => self.tell(format!("refused more names of {domain}, which are not told one by one")),
        }
    }

    /// Each thing once.
    fn tell(&self, line: String) {
        let mut seen = self.seen();
        if seen.told.len() >= MOST_TOLD || !seen.told.insert(line.clone()) {
            return;
        }
        drop(seen);
        (self.tell)(line);
    }

    /// Requests, refusals and bytes, by host.
    pub fn summary(&self) -> String {
        let seen = self.seen();
        if seen.hosts.is_empty() {
            return "cofferdam: nothing was asked of the network\n".to_owned();
        }
        let width = seen.hosts.keys().map(String::len).max().unwrap_or_default().max("host".len());
        let mut text = format!("{:width$}  requests  refused  bytes out  bytes in\n", "host");
        for (host, counts) in &seen.hosts {
            let Counts { requests, refused, sent, received } = counts;
            let _ = writeln!(text, "{host:width$}  {requests:8}  {refused:7}  {sent:9}  {received:8}");
        }
        text
    }

    /// The configuration with which nothing would have been refused.
    pub fn needed(&self) -> String {
        let seen = self.seen();
        if seen.needed.is_empty() {
            return "# nothing more than what is allowed already was asked for\n".to_owned();
        }
        let host = |(host, port): &(String, Option<u16>)| match port {
            Some(port) => format!("\"{host}:{port}\""),
            None => format!("\"{host}\""),
        };
        let hosts: Vec<String> = seen.needed.iter().map(host).collect();
        format!(
            "# what the command asked for besides what is allowed already\n[[egress.allow]]\nhosts = [{}]\n",
            hosts.join(", ")
        )
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
