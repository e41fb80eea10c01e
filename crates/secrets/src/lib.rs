//! Secret values: a type that cannot be printed, where its value comes from, and how it is taken out of
//! whatever is about to be shown.
//!
//! [`Loader`] reads a provider's secret from its source, once; [`Store`] keeps what was read, for as long as
//! the source says, and reads it again when it has grown old or was rejected. The only way to the bytes is
//! [`Secret::expose`]: a review of who can see a secret is a search for that word.

mod document;
mod loader;
pub mod redaction;
mod reference;
mod secret;
pub mod source;
mod stamp;
mod store;
mod stores;

pub use cofferdam_linux_sys::memory::Protection;
pub use document::BESIDE;
pub use loader::{EnvironmentFallback, LoadError, Loaded, Loader};
pub use reference::{Origin, SecretRef};
pub use secret::{Rejected, Secret};
pub use store::Store;
pub use stores::DESKTOP;
