//! IPv4 addresses that travel inside IPv6 addresses.

use std::net::{IpAddr, Ipv4Addr};

/// In which form an IPv4 address was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Form {
    /// The address itself.
    Plain,
    /// `::ffff:a.b.c.d`
    Mapped,
    /// `::a.b.c.d`
    Compatible,
    /// `::ffff:0:a.b.c.d`
    Translated,
    /// `64:ff9b::a.b.c.d`, and the local-use prefix `64:ff9b:1::/48`
    Nat64,
    /// `2002:aabb:ccdd::`
    SixToFour,
    TeredoServer,
    TeredoClient,
    /// An interface identifier `::5efe:a.b.c.d` below any prefix.
    Isatap,
}

/// The IPv4 addresses that an address carries, each with its form. Teredo carries two, and the local-use
/// NAT64 prefix may hold one at any of the places of RFC 6052.
pub(super) fn embedded(address: IpAddr) -> impl Iterator<Item = (Ipv4Addr, Form)> {
    let mut found = [None; 4];
    if let IpAddr::V6(address) = address {
        let bits = address.to_bits();
        let words = address.segments();
        let at = |shift: u32| Ipv4Addr::from_bits((bits >> shift) as u32);
        match words {
            // `::` and `::1` are addresses of their own, not forms of 0.0.0.0 and 0.0.0.1.
            [0, 0, 0, 0, 0, 0, 0, 0 | 1] => {}
            [0, 0, 0, 0, 0, 0, ..] => found[0] = Some((at(0), Form::Compatible)),
            [0, 0, 0, 0, 0, 0xffff, ..] => found[0] = Some((at(0), Form::Mapped)),
            [0, 0, 0, 0, 0xffff, 0, ..] => found[0] = Some((at(0), Form::Translated)),
            [0x64, 0xff9b, 0, 0, 0, 0, ..] => found[0] = Some((at(0), Form::Nat64)),
            [0x64, 0xff9b, 1, ..] => {
                let split = |high: u32, low: u32, width: u32| {
                    let rest = 32 - width;
                    let upper = (bits >> high) as u32 & (u32::MAX << rest);
                    let lower = (bits >> low) as u32 & !(u32::MAX.checked_shl(rest).unwrap_or(0));
                    Ipv4Addr::from_bits(upper | lower)
                };
                // Prefixes of 48, 56, 64 and 96 bits; bits 64 to 71 are always left out.
                found[0] = Some((split(48, 40, 16), Form::Nat64));
                found[1] = Some((split(40, 32, 8), Form::Nat64));
                found[2] = Some((at(24), Form::Nat64));
                found[3] = Some((at(0), Form::Nat64));
            }
            [0x2002, ..] => found[0] = Some((at(80), Form::SixToFour)),
            [0x2001, 0, ..] => {
                found[0] = Some((at(64), Form::TeredoServer));
                found[1] = Some((Ipv4Addr::from_bits(!(bits as u32)), Form::TeredoClient));
            }
            [_, _, _, _, 0 | 0x200, 0x5efe, ..] => found[0] = Some((at(0), Form::Isatap)),
            _ => {}
        }
    }
    found.into_iter().flatten()
}
