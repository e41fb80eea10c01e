//! What the black-box tests stand on: a throw-away home, the built binary, snapshots of what a person sees,
//! the probe, containers, and (feature `upstream`) a real TLS server that records what it got.

mod attack;
pub mod clients;
mod cofferdam;
pub mod container;
mod home;
mod probe;
pub mod processes;
mod program;
mod record_files;
mod scene;
mod snapshot;
mod terminal;
#[cfg(feature = "upstream")]
pub mod upstream;
mod way;

pub use attack::{
    Attack, Closes, Outside, assert_closed, assert_closed_without_namespaces, assert_open_in_bubblewrap,
};
pub use cofferdam::{Cofferdam, Outcome};
pub use home::Home;
pub use probe::{CANARY, Probed, probe_binary};
pub use program::copy_program;
pub use record_files::record_in;
pub use scene::{Scene, Who};
pub use snapshot::assert_snapshot;
pub use terminal::OnTerminal;
pub use way::{Running, Way};
