//! `docker bridge`: where the proxy can listen for containers that have a network.

use std::net::{IpAddr, Ipv4Addr};

use cofferdam_linux_sys::interface;
use cofferdam_policy::address::AddressClass;
use serde::Serialize;

use crate::args::docker::BridgeArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;
use crate::settings::Settings;

#[derive(Serialize)]
struct Shown {
    bridge: String,
    address: Ipv4Addr,
    listen: String,
    /// Whether the configuration says so already.
    configured: bool,
}

pub fn run(args: &BridgeArgs) -> Result<Exit, Failure> {
    let name = output::inert(args.name.as_ref());
    let address = address_of(&args.name)?;
    let settings = Settings::load()?;
    let now = settings.config.egress.listen;
    let shown = Shown {
        bridge: name,
        address,
        listen: format!("{address}:{}", now.port()),
        configured: now.ip() == IpAddr::V4(address),
    };
    if args.json {
        output::json(&shown)?;
    } else if shown.configured {
        output::text(&format!(
            "{} is {}, where the proxy is configured to listen\n",
            shown.bridge, shown.address
        ))?;
    } else {
        output::text(&format!(
            "{} is {}\n\n[egress]\nlisten = \"{}\"\n",
            shown.bridge, shown.address, shown.listen
        ))?;
    }
    Ok(Exit::Success)
}

/// The bridge's own address, as the kernel tells it.
pub fn address_of(bridge: &str) -> Result<Ipv4Addr, Failure> {
    let name = output::inert(bridge.as_ref());
    if !interface::is_bridge(bridge) {
        return Err(Failure::new(Exit::Unavailable, format!("{name} is no bridge of this machine"))
            .hint("start the engine first, and name its bridge: docker0, podman0, br-…")
            .hint(
                "podman makes its bridge with the first container on it; a rootless engine has it in a network of its \
                 own, and Docker Desktop in a virtual machine: a sealed container works there",
            ));
    }
    let address = interface::ipv4_address(bridge).map_err(|error| {
        Failure::new(Exit::Unavailable, format!("{name} has no address of its own: {error}"))
    })?;
    refuse_unfit(address)?;
    Ok(address)
}

/// A bridge has a private address. One that others could reach, or that means something else, is not listened on.
fn refuse_unfit(address: Ipv4Addr) -> Result<(), Failure> {
    match AddressClass::of(IpAddr::V4(address)).0 {
        AddressClass::Private | AddressClass::CarrierNat => Ok(()),
        other => Err(Failure::new(
            Exit::Command(77),
            format!("the bridge's address {address} is {other}, not a private one"),
        )
        .hint("give the bridge a private address (bip in Docker's daemon.json)")),
    }
}
