//! Which addresses are never dialled.

use std::fmt;
use std::net::IpAddr;

use super::embedded::embedded;
use super::{AddressClass, Cidr, Form};

/// An address that was looked at and may be dialled. Only [`DenyList::check`] makes one, and the override of
/// a name that the user wrote.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CheckedAddress(IpAddr);

impl CheckedAddress {
    pub fn get(self) -> IpAddr {
        self.0
    }

    /// The user wrote this very address as the place to dial.
    pub(crate) fn written_by_the_user(address: IpAddr) -> Self {
        Self(address)
    }
}

/// Which addresses are refused.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum DenyList {
    /// Every address that is not on the public internet.
    #[default]
    BuiltIn,
    /// The same and the user's own ranges, also where IPv6 carries an address of theirs. Besides, not instead: a
    /// person who adds a range does not mean to open all others.
    BuiltInAnd(Vec<Cidr>),
    /// Written as an empty list, the one way to switch it off.
    Off,
}

/// An address that is refused, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Denied {
    pub address: IpAddr,
    pub reason: DenyReason,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DenyReason {
    /// It is not on the public internet.
    Class(AddressClass, Form),
    /// It lies in a range of the user's list.
    Listed(Cidr, Form),
}

impl DenyList {
    /// Says whether an address may be dialled.
    pub fn check(&self, address: IpAddr) -> Result<CheckedAddress, Denied> {
        let reason = match self {
            Self::Off => None,
            Self::BuiltIn => by_class(address),
            Self::BuiltInAnd(ranges) => listed(ranges, address).or_else(|| by_class(address)),
        };
        match reason {
            None => Ok(CheckedAddress(address)),
            Some(reason) => Err(Denied { address, reason }),
        }
    }
}

fn by_class(address: IpAddr) -> Option<DenyReason> {
    let (class, form) = AddressClass::of(address);
    (class != AddressClass::Global).then_some(DenyReason::Class(class, form))
}

fn listed(ranges: &[Cidr], address: IpAddr) -> Option<DenyReason> {
    let carried = embedded(address).map(|(inner, form)| (IpAddr::V4(inner), form));
    std::iter::once((address, Form::Plain)).chain(carried).find_map(|(address, form)| {
        ranges.iter().find(|range| range.contains(address)).map(|range| DenyReason::Listed(*range, form))
    })
}

impl fmt::Display for Denied {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.reason {
            DenyReason::Class(class, Form::Plain) => write!(out, "{} is {class}", self.address),
            DenyReason::Class(class, _) => write!(out, "{} carries an address that is {class}", self.address),
            DenyReason::Listed(range, Form::Plain) => {
                write!(out, "{} is in {range}, which is denied", self.address)
            }
            DenyReason::Listed(range, _) => {
                write!(out, "{} carries an address in {range}, which is denied", self.address)
            }
        }
    }
}
