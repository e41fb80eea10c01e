//! Which name stands behind which address: every name that may be reached gets one of its own.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::{Mutex, MutexGuard, PoisonError};

use cofferdam_policy::host::HostName;

/// `198.18.0.0/15` is set aside for tests of network devices: no service on the internet has an address in it.
const IPV4: u32 = u32::from_be_bytes([198, 18, 0, 0]);
/// Where a network has a loopback and nothing else, all of `127.0.0.0/8` is still there. This part of it is nobody's.
const LOOPBACK: u32 = u32::from_be_bytes([127, 64, 0, 0]);
/// A unique local prefix of our own.
const IPV6: u128 = 0xfdc0_ffe4_da00_0000_0000_0000_0000_0000;
/// A sandbox that asks for more names than this under a pattern gets no more addresses. Only it is the worse for it.
const CAPACITY: usize = 1 << 16;

/// The addresses that were given out to one client, for as long as it lives.
#[derive(Debug, Default)]
pub struct GivenAddresses(Mutex<Table>);

/// Where a client can dial.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum Range {
    /// All addresses lead to us.
    #[default]
    Everywhere,
    /// Only its loopback does, and that has one address of the sixth version.
    Loopback,
}

impl Range {
    fn ipv4(self) -> u32 {
        match self {
            Self::Everywhere => IPV4,
            Self::Loopback => LOOPBACK,
        }
    }
}

#[derive(Debug, Default)]
struct Table {
    range: Range,
    places: HashMap<HostName, u32>,
    names: Vec<HostName>,
}

/// The addresses of one name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Given {
    range: Range,
    place: u32,
}

impl Given {
    pub fn ipv4(self) -> Ipv4Addr {
        Ipv4Addr::from_bits(self.range.ipv4() + self.place)
    }

    pub fn ipv6(self) -> Option<Ipv6Addr> {
        let address = Ipv6Addr::from_bits(IPV6 + u128::from(self.place));
        (self.range == Range::Everywhere).then_some(address)
    }
}

impl GivenAddresses {
    /// From now on addresses are given out that such a client can dial.
    pub fn stay_within(&self, range: Range) {
        self.table().range = range;
    }

    /// The addresses of a name, the same ones every time; none when there are no more.
    pub(crate) fn give(&self, name: &HostName) -> Option<Given> {
        let mut table = self.table();
        if let Some(place) = table.places.get(name) {
            return Some(Given { range: table.range, place: *place });
        }
        if table.names.len() >= CAPACITY {
            return None;
        }
        // The first address of a range is its name, which some programs refuse to dial.
        let place = u32::try_from(table.names.len() + 1).ok()?;
        table.names.push(name.clone());
        table.places.insert(name.clone(), place);
        Some(Given { range: table.range, place })
    }

    /// The name that an address was given out for.
    pub(crate) fn name_of(&self, address: IpAddr) -> Option<HostName> {
        let table = self.table();
        let place = match address {
            IpAddr::V4(address) => u128::from(address.to_bits().checked_sub(table.range.ipv4())?),
            IpAddr::V6(address) => address.to_bits().checked_sub(IPV6)?,
        };
        let index = usize::try_from(place).ok()?.checked_sub(1)?;
        table.names.get(index).cloned()
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use cofferdam_policy::host::Host;

    use super::*;

    fn name(text: &str) -> HostName {
        Host::parse(text).unwrap().name().unwrap().clone()
    }

    #[test]
    fn a_name_keeps_its_addresses_and_they_lead_back_to_it() {
        let given = GivenAddresses::default();
        let (one, two) = (given.give(&name("a.example")).unwrap(), given.give(&name("b.example")).unwrap());
        assert_ne!(one, two);
        assert_eq!(given.give(&name("a.example")), Some(one));
        assert_eq!(one.ipv4(), Ipv4Addr::new(198, 18, 0, 1));
        assert_eq!(one.ipv6().unwrap().to_string(), "fdc0:ffe4:da00::1");
        for (address, expected) in [(one, "a.example"), (two, "b.example")] {
            assert_eq!(given.name_of(address.ipv4().into()), Some(name(expected)));
            assert_eq!(given.name_of(address.ipv6().unwrap().into()), Some(name(expected)));
        }
        for stranger in ["198.18.0.0", "198.18.0.3", "198.17.255.255", "192.0.2.1", "fdc0:ffe4:da00::", "::1"]
        {
            assert_eq!(given.name_of(stranger.parse().unwrap()), None, "{stranger}");
        }
    }

    #[test]
    fn a_client_that_has_a_loopback_alone_gets_addresses_there() {
        let given = GivenAddresses::default();
        given.stay_within(Range::Loopback);
        let one = given.give(&name("a.example")).unwrap();
        assert_eq!((one.ipv4(), one.ipv6()), (Ipv4Addr::new(127, 64, 0, 1), None));
        assert_eq!(given.name_of(one.ipv4().into()), Some(name("a.example")));
        for stranger in ["127.0.0.1", "127.64.0.0", "127.64.0.2", "198.18.0.1"] {
            assert_eq!(given.name_of(stranger.parse().unwrap()), None, "{stranger}");
        }
    }
}
