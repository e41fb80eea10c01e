//! The shared proxy as a daemon, through the built binary.

mod life;
mod reload;
mod scene;
