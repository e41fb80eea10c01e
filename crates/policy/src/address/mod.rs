//! Addresses: what kind of place one is, and whether it may be dialled.
//!
//! The question is asked of the address that is about to be dialled, never of a name, so that a name which
//! resolves to something else a moment later changes nothing.

mod cidr;
mod class;
mod deny;
mod embedded;

pub use cidr::{Cidr, CidrError};
pub use class::AddressClass;
pub use deny::{CheckedAddress, Denied, DenyList, DenyReason};
pub use embedded::Form;

#[cfg(test)]
mod tests;
