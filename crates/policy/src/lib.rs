//! What is allowed, as data: the configuration document, compiled rules, the provider registry and the
//! rules for a child's environment. Pure: nothing here reads a file, a clock or an environment.

pub mod environment;
pub mod provider;
pub mod read_guard;
pub mod secret_paths;
