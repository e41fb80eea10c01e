//! Ranges of addresses.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A range of addresses, such as `10.0.0.0/8`. An address alone is the range of just that one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Cidr {
    network: IpAddr,
    length: u8,
}

/// Why something is not a range of addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CidrError {
    Address,
    Length,
    /// `10.0.0.1/8`: the address has bits past the prefix, so the length or the address is a slip.
    HostBits,
}

impl fmt::Display for CidrError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Address => "is not an address or a range such as 10.0.0.0/8",
            Self::Length => "has a prefix length that does not fit the address",
            Self::HostBits => "has bits set past its prefix length",
        })
    }
}

impl Cidr {
    pub(super) const fn v4(a: u8, b: u8, c: u8, d: u8, length: u8) -> Self {
        Self { network: IpAddr::V4(Ipv4Addr::new(a, b, c, d)), length }
    }

    pub(super) const fn v6(network: [u16; 8], length: u8) -> Self {
        let [a, b, c, d, e, f, g, h] = network;
        Self { network: IpAddr::V6(Ipv6Addr::new(a, b, c, d, e, f, g, h)), length }
    }

    pub fn parse(text: &str) -> Result<Self, CidrError> {
        let (address, length) = match text.split_once('/') {
            Some((address, length)) => (address, Some(length)),
            None => (text, None),
        };
        let network: IpAddr = address.parse().map_err(|_| CidrError::Address)?;
        let longest = if network.is_ipv4() { 32 } else { 128 };
        let length = match length {
            None => longest,
            Some(digits) if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
                digits.parse().ok().filter(|length| *length <= longest).ok_or(CidrError::Length)?
            }
            Some(_) => return Err(CidrError::Length),
        };
        let range = Self { network, length };
        if range.masked(network) == bits(network) { Ok(range) } else { Err(CidrError::HostBits) }
    }

    pub fn contains(&self, address: IpAddr) -> bool {
        self.network.is_ipv4() == address.is_ipv4() && self.masked(address) == bits(self.network)
    }

    fn masked(&self, address: IpAddr) -> u128 {
        // The bits of an address stand at the top, so one mask serves both families.
        let mask = u128::MAX.checked_shl(128 - u32::from(self.length)).unwrap_or(0);
        bits(address) & mask
    }
}

fn bits(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => u128::from(address.to_bits()) << 96,
        IpAddr::V6(address) => address.to_bits(),
    }
}

impl fmt::Display for Cidr {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}/{}", self.network, self.length)
    }
}
