//! What is allowed, as data: the configuration document, compiled rules, the provider registry and the
//! rules for a child's environment. Pure: nothing here reads a file, a clock or an environment.
//!
//! A document is read by [`document`], with all its mistakes at once; its allow rules are compiled by
//! [`rules`], where the cost of a question does not depend on how many there are; [`layers`] says what a
//! project and a run may change. Everything that is compared has one canonical type with a constructor that
//! refuses what programs read in different ways: [`host`], [`path`], [`method`], [`address`].

pub mod address;
pub mod document;
pub mod environment;
pub mod host;
pub mod layers;
pub mod method;
pub mod mistake;
pub mod path;
pub mod provider;
pub mod read_guard;
pub mod registry;
pub mod rules;
pub mod secret_paths;
pub mod units;
