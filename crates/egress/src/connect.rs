//! The head of a `CONNECT`, which is read by hand.

use cofferdam_audit::event::EgressReason;
use cofferdam_policy::host::Host;

use crate::head::{self, MOST_HEADERS, Violation};
use crate::target::{Protocol, Target, TargetError};

/// The target of a `CONNECT`, with which a `Host` must agree. `bytes` are a whole head.
pub fn target(bytes: &[u8]) -> Result<Target, EgressReason> {
    head::check(bytes).map_err(Violation::reason)?;
    let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
    let mut request = httparse::Request::new(&mut headers);
    request.parse(bytes).map_err(|_| EgressReason::MalformedRequest)?;
    let text = request.path.ok_or(EgressReason::MalformedRequest)?;
    let target = Target::of_connect(text, Protocol::Https).map_err(TargetError::reason)?;
    let mut hosts = request.headers.iter().filter(|header| header.name.eq_ignore_ascii_case("host"));
    match (hosts.next(), hosts.next()) {
        (None, _) => Ok(target),
        (Some(host), None) if agrees(&target, host.value) => Ok(target),
        _ => Err(EgressReason::TargetMismatch),
    }
}

fn agrees(target: &Target, host: &[u8]) -> bool {
    let named = std::str::from_utf8(host).ok().and_then(|text| Host::parse_with_port(text).ok());
    named.is_some_and(|(host, port)| host == *target.host() && port.is_none_or(|port| port == target.port()))
}
