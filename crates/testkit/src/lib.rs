//! What the black-box tests stand on: a throw-away home, the built binary, snapshots of what a person sees,
//! the probe, and (feature `upstream`) a real TLS server that records what it got.

mod cofferdam;
mod home;
mod probe;
pub mod processes;
mod snapshot;
mod terminal;
#[cfg(feature = "upstream")]
pub mod upstream;

pub use cofferdam::{Cofferdam, Outcome};
pub use home::Home;
pub use probe::{CANARY, Probed, probe_binary};
pub use snapshot::assert_snapshot;
pub use terminal::OnTerminal;
