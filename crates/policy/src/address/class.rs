//! What kind of place an address is.
//!
//! The ranges are those of the two IANA special-purpose address registries, of the multicast and reserved
//! blocks, and the addresses at which clouds hand out credentials. Ranges that IANA calls reachable but that
//! serve a protocol and no service (AS112, AMT, anycast relays) count as special too: nothing that a sandbox
//! may want lives there.

use std::fmt;
use std::net::IpAddr;

use super::Cidr;
use super::embedded::{Form, embedded};

/// The kind of place an address is. Only [`AddressClass::Global`] is the public internet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AddressClass {
    Global,
    /// A cloud's metadata or credential service, in whatever range it hides.
    Metadata,
    /// `0.0.0.0/8` and `::`; Linux dials itself there.
    Unspecified,
    Loopback,
    Private,
    LinkLocal,
    /// `100.64.0.0/10`
    CarrierNat,
    Benchmarking,
    Documentation,
    Multicast,
    Broadcast,
    /// For protocols: IETF assignments, AS112, AMT, relays, ORCHID, drone identifiers, segment routing.
    Protocol,
    /// A block that only a translator or a tunnel of this network gives a meaning.
    Translation,
    Discard,
    /// Not assigned to anyone.
    Reserved,
}

impl fmt::Display for AddressClass {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Global => "public",
            Self::Metadata => "a cloud metadata service",
            Self::Unspecified => "this host, unspecified",
            Self::Loopback => "loopback",
            Self::Private => "a private network",
            Self::LinkLocal => "link-local",
            Self::CarrierNat => "carrier-grade NAT",
            Self::Benchmarking => "a benchmarking network",
            Self::Documentation => "a documentation range",
            Self::Multicast => "multicast",
            Self::Broadcast => "broadcast",
            Self::Protocol => "a protocol range",
            Self::Translation => "a translation or tunnel range",
            Self::Discard => "a discard range",
            Self::Reserved => "reserved",
        })
    }
}

impl AddressClass {
    /// Classifies an address, and says in which form the deciding address was written.
    ///
    /// An IPv6 address that carries an IPv4 address is as special as the one it carries.
    pub fn of(address: IpAddr) -> (Self, Form) {
        let own = plain(address);
        if own == Self::Metadata {
            return (own, Form::Plain);
        }
        let carried = embedded(address).map(|(inner, form)| (plain(IpAddr::V4(inner)), form));
        let mut special = carried.filter(|(class, _)| *class != Self::Global);
        special.next().unwrap_or((own, Form::Plain))
    }
}

fn plain(address: IpAddr) -> AddressClass {
    let listed = |table: &[(Cidr, AddressClass)]| {
        table.iter().find(|(range, _)| range.contains(address)).map(|(_, class)| *class)
    };
    let class = match address {
        IpAddr::V4(_) => listed(V4).unwrap_or(AddressClass::Global),
        IpAddr::V6(_) => listed(V6).unwrap_or(AddressClass::Reserved),
    };
    listed(METADATA).unwrap_or(class)
}

use AddressClass as C;

/// AWS and many others at .254; name, time and credential services of AWS beside it; Tencent; Scaleway;
/// Azure's wire server; Alibaba; Oracle; Google and OpenStack over IPv6.
const METADATA: &[(Cidr, C)] = &[
    (Cidr::v4(169, 254, 169, 254, 32), C::Metadata),
    (Cidr::v4(169, 254, 169, 253, 32), C::Metadata),
    (Cidr::v4(169, 254, 169, 250, 32), C::Metadata),
    (Cidr::v4(169, 254, 169, 123, 32), C::Metadata),
    (Cidr::v4(169, 254, 170, 2, 32), C::Metadata),
    (Cidr::v4(169, 254, 170, 23, 32), C::Metadata),
    (Cidr::v4(169, 254, 0, 23, 32), C::Metadata),
    (Cidr::v4(169, 254, 42, 42, 32), C::Metadata),
    (Cidr::v4(168, 63, 129, 16, 32), C::Metadata),
    (Cidr::v4(100, 100, 100, 200, 32), C::Metadata),
    (Cidr::v4(192, 0, 0, 192, 32), C::Metadata),
    (Cidr::v6([0xfd00, 0xec2, 0, 0, 0, 0, 0, 0], 32), C::Metadata),
    (Cidr::v6([0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254], 128), C::Metadata),
    (Cidr::v6([0xfd00, 0x42, 0, 0, 0, 0, 0, 0x42], 128), C::Metadata),
    (Cidr::v6([0xfd00, 0xc1, 0, 0, 0, 0, 0xa9fe, 0xa9fe], 128), C::Metadata),
    (Cidr::v6([0xfe80, 0, 0, 0, 0, 0, 0xa9fe, 0xa9fe], 128), C::Metadata),
];

const V4: &[(Cidr, C)] = &[
    (Cidr::v4(0, 0, 0, 0, 8), C::Unspecified),
    (Cidr::v4(10, 0, 0, 0, 8), C::Private),
    (Cidr::v4(100, 64, 0, 0, 10), C::CarrierNat),
    (Cidr::v4(127, 0, 0, 0, 8), C::Loopback),
    (Cidr::v4(169, 254, 0, 0, 16), C::LinkLocal),
    (Cidr::v4(172, 16, 0, 0, 12), C::Private),
    (Cidr::v4(192, 0, 0, 0, 24), C::Protocol),
    (Cidr::v4(192, 0, 2, 0, 24), C::Documentation),
    (Cidr::v4(192, 31, 196, 0, 24), C::Protocol),
    (Cidr::v4(192, 52, 193, 0, 24), C::Protocol),
    (Cidr::v4(192, 88, 99, 0, 24), C::Translation),
    (Cidr::v4(192, 168, 0, 0, 16), C::Private),
    (Cidr::v4(192, 175, 48, 0, 24), C::Protocol),
    (Cidr::v4(198, 18, 0, 0, 15), C::Benchmarking),
    (Cidr::v4(198, 51, 100, 0, 24), C::Documentation),
    (Cidr::v4(203, 0, 113, 0, 24), C::Documentation),
    (Cidr::v4(224, 0, 0, 0, 4), C::Multicast),
    (Cidr::v4(255, 255, 255, 255, 32), C::Broadcast),
    (Cidr::v4(240, 0, 0, 0, 4), C::Reserved),
];

/// In order: the first range that fits decides. What no line names is unassigned.
const V6: &[(Cidr, C)] = &[
    (Cidr::v6([0, 0, 0, 0, 0, 0, 0, 0], 128), C::Unspecified),
    (Cidr::v6([0, 0, 0, 0, 0, 0, 0, 1], 128), C::Loopback),
    // Mapped: the kernel dials the IPv4 address itself.
    (Cidr::v6([0, 0, 0, 0, 0, 0xffff, 0, 0], 96), C::Global),
    // Compatible and translated: long obsolete.
    (Cidr::v6([0, 0, 0, 0, 0, 0, 0, 0], 96), C::Translation),
    (Cidr::v6([0, 0, 0, 0, 0xffff, 0, 0, 0], 96), C::Translation),
    // How an IPv6-only network reaches the IPv4 internet.
    (Cidr::v6([0x64, 0xff9b, 0, 0, 0, 0, 0, 0], 96), C::Global),
    (Cidr::v6([0x64, 0xff9b, 1, 0, 0, 0, 0, 0], 48), C::Translation),
    (Cidr::v6([0x100, 0, 0, 0, 0, 0, 0, 0], 64), C::Discard),
    (Cidr::v6([0x100, 0, 0, 1, 0, 0, 0, 0], 64), C::Discard),
    (Cidr::v6([0x2001, 0, 0, 0, 0, 0, 0, 0], 32), C::Translation),
    (Cidr::v6([0x2001, 2, 0, 0, 0, 0, 0, 0], 48), C::Benchmarking),
    (Cidr::v6([0x2001, 0, 0, 0, 0, 0, 0, 0], 23), C::Protocol),
    (Cidr::v6([0x2001, 0xdb8, 0, 0, 0, 0, 0, 0], 32), C::Documentation),
    (Cidr::v6([0x2002, 0, 0, 0, 0, 0, 0, 0], 16), C::Translation),
    (Cidr::v6([0x2620, 0x4f, 0x8000, 0, 0, 0, 0, 0], 48), C::Protocol),
    (Cidr::v6([0x3fff, 0, 0, 0, 0, 0, 0, 0], 20), C::Documentation),
    (Cidr::v6([0x2000, 0, 0, 0, 0, 0, 0, 0], 3), C::Global),
    (Cidr::v6([0x5f00, 0, 0, 0, 0, 0, 0, 0], 16), C::Protocol),
    (Cidr::v6([0xfc00, 0, 0, 0, 0, 0, 0, 0], 7), C::Private),
    (Cidr::v6([0xfe80, 0, 0, 0, 0, 0, 0, 0], 10), C::LinkLocal),
    (Cidr::v6([0xfec0, 0, 0, 0, 0, 0, 0, 0], 10), C::Private),
    (Cidr::v6([0xff00, 0, 0, 0, 0, 0, 0, 0], 8), C::Multicast),
];
