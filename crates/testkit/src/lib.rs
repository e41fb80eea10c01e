//! What the black-box tests stand on: a throw-away home and the built binary.

mod cofferdam;
mod home;
mod snapshot;

pub use cofferdam::{Cofferdam, Outcome};
pub use home::Home;
pub use snapshot::assert_snapshot;
