//! Credentials that are more than one text: what the sandbox holds in their place, and what arrives.

pub mod exchanged;
pub mod signed;

use cofferdam_egress::{Life, StandIn};

use crate::proxied::Proxied;

/// What a sandbox gets for the provider of this name.
pub fn stand_in(proxied: &Proxied, provider: &str) -> StandIn {
    let provider = proxied.providers.iter().find(|known| known.name == provider).expect("a provider");
    proxied.proxy.stand_in(proxied.client, provider, Life::Sandbox).expect("a stand-in")
}
