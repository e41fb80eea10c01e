//! The shared proxy as a daemon, through the built binary.

mod crash;
mod life;
mod reload;
mod scene;
mod setup;
