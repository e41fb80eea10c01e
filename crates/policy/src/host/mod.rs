//! Hosts, in the one spelling that everything else compares.
//!
//! A name arrives from many mouths (`Host`, SNI, CONNECT, a rule) in many spellings; [`Host::parse`] is the
//! only way in, and two hosts are the same exactly when the values are equal.

mod index;
mod pattern;

pub use index::HostIndex;
pub use pattern::{HostPattern, PatternError};

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// What a request names: a host name, or an address written as such.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Host {
    Name(HostName),
    Address(IpAddr),
}

/// A canonical host name: lower case, in ASCII (an international name as punycode), without the dot of the
/// root, made of valid labels, and not an address.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HostName(Box<str>);

/// Why something is not a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostError {
    Empty,
    TooLong,
    EmptyLabel,
    LabelTooLong,
    Hyphen,
    Character,
    UserInfo,
    Port,
    /// An IPv6 address with a zone means another machine on every machine.
    Zone,
    /// Not an IPv6 address between the brackets.
    Brackets,
    /// `127.1`, `0x7f.0.0.1`, `2130706433`, `010.0.0.1`: programs disagree about which address that is.
    AddressSpelling,
    International,
}

impl fmt::Display for HostError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Empty => "is empty",
            Self::TooLong => "is longer than 253 characters",
            Self::EmptyLabel => "has an empty part between two dots",
            Self::LabelTooLong => "has a part longer than 63 characters",
            Self::Hyphen => "has a part that begins or ends with a hyphen",
            Self::Character => "has a character that no host name has",
            Self::UserInfo => "has a user name before the host",
            Self::Port => "has a port where only a host belongs",
            Self::Zone => "is an IPv6 address with a zone",
            Self::Brackets => "has brackets without an IPv6 address in them",
            Self::AddressSpelling => "is an unusual spelling of an IPv4 address",
            Self::International => "is not a valid international name",
        })
    }
}

impl Host {
    /// Reads a host without a port. IPv6 addresses may stand in brackets.
    pub fn parse(text: &str) -> Result<Self, HostError> {
        if let Some(inside) = text.strip_prefix('[') {
            let inside = inside.strip_suffix(']').ok_or(HostError::Brackets)?;
            return ipv6(inside).map(Self::Address);
        }
        if text.bytes().filter(|byte| *byte == b':').count() > 1 {
            return ipv6(text).map(Self::Address);
        }
        let name = canonical(text)?;
        if ends_in_number(&name) {
            // A full-width digit is as unusual a spelling as an octal one.
            let plain = text.is_ascii().then(|| name.parse::<Ipv4Addr>().ok()).flatten();
            return plain.map(|address| Self::Address(address.into())).ok_or(HostError::AddressSpelling);
        }
        Ok(Self::Name(HostName(name.into())))
    }

    /// Reads `host`, `host:port`, `[address]` or `[address]:port`. Port 0 and numbers past 65535 are no ports.
    pub fn parse_with_port(text: &str) -> Result<(Self, Option<u16>), HostError> {
        let (host, port) = split_port(text)?;
        Ok((Self::parse(host)?, port))
    }

    pub fn name(&self) -> Option<&HostName> {
        match self {
            Self::Name(name) => Some(name),
            Self::Address(_) => None,
        }
    }
}

impl HostName {
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The names above this one, nearest first: `b.c`, then `c` for `a.b.c`.
    pub fn parents(&self) -> impl Iterator<Item = &str> {
        self.0.match_indices('.').map(|(at, _)| &self.0[at + 1..])
    }
}

impl fmt::Display for Host {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => out.write_str(&name.0),
            Self::Address(IpAddr::V4(address)) => write!(out, "{address}"),
            Self::Address(IpAddr::V6(address)) => write!(out, "[{address}]"),
        }
    }
}

/// Splits a port off the end. Two or more colons without brackets are an IPv6 address.
fn split_port(text: &str) -> Result<(&str, Option<u16>), HostError> {
    let split = match text.rfind(']') {
        Some(end) if text[end + 1..].is_empty() => None,
        Some(end) => {
            let port = text[end + 1..].strip_prefix(':').ok_or(HostError::Brackets)?;
            Some((&text[..=end], port))
        }
        None if text.bytes().filter(|byte| *byte == b':').count() == 1 => text.split_once(':'),
        None => None,
    };
    let Some((host, port)) = split else { return Ok((text, None)) };
    let digits = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    match port.parse::<u16>() {
        Ok(number) if digits && number != 0 => Ok((host, Some(number))),
        _ => Err(HostError::Port),
    }
}

fn ipv6(text: &str) -> Result<IpAddr, HostError> {
    if text.contains('%') {
        return Err(HostError::Zone);
    }
    text.parse::<Ipv6Addr>().map(IpAddr::V6).map_err(|_| HostError::Brackets)
}

fn canonical(text: &str) -> Result<String, HostError> {
    if text.is_empty() {
        return Err(HostError::Empty);
    }
    // The longest name in Unicode is shorter than this; a longer one is not worth normalising.
    if text.len() > 1024 {
        return Err(HostError::TooLong);
    }
    if text.contains('@') {
        return Err(HostError::UserInfo);
    }
    if text.contains(':') {
        return Err(HostError::Port);
    }
    let lower = text.to_ascii_lowercase();
    let international = !text.is_ascii() || lower.split('.').any(|label| label.starts_with("xn--"));
    let mut name = if international {
        idna::domain_to_ascii_cow(text.as_bytes(), idna::AsciiDenyList::URL)
            .map_err(|_| HostError::International)?
            .into_owned()
    } else {
        lower
    };
    if name.ends_with('.') {
        name.pop();
    }
    check_labels(&name)?;
    Ok(name)
}

fn check_labels(name: &str) -> Result<(), HostError> {
    if name.is_empty() {
        return Err(HostError::Empty);
    }
    if name.len() > 253 {
        return Err(HostError::TooLong);
    }
    for label in name.split('.') {
        if label.is_empty() {
            return Err(HostError::EmptyLabel);
        }
        if label.len() > 63 {
            return Err(HostError::LabelTooLong);
        }
        if !label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_') {
            return Err(HostError::Character);
        }
        if label.starts_with('-') || label.ends_with('-') {
            return Err(HostError::Hyphen);
        }
    }
    Ok(())
}

/// Whether a program could take the name for an IPv4 address: its last label is a number in any base.
fn ends_in_number(name: &str) -> bool {
    let last = name.rsplit('.').next().unwrap_or(name);
    let hexadecimal =
        last.strip_prefix("0x").is_some_and(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()));
    hexadecimal || last.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests;
