//! The egress proxy: the only place where secrets meet the network.
//!
//! The way of a request, each step a function that hands the next one a proof: `serve` says who asks and tells the
//! ways in apart; `strict` and `head` let only requests through that can be read in one way; `target` agrees on one
//! target; `authorize` asks the rules and looks at tokens, in the body too where `outgoing` had to collect it; `resolve` classifies addresses; `dial` and `pool` connect to
//! the very address; `forward` puts the credential in, records, and sends; `body` takes secrets out of what comes back.
//!
//! Credentials that sign or mint: `material` gathers what completes a request, `mint` has access tokens made outside,
//! and `stand_in` is what a sandbox holds and who answers it when it mints for itself.
//!
//! Where it stops: it sees what goes through it. That nothing goes past it is the sandbox's promise.

mod authorize;
mod body;
mod ca;
mod client;
mod counts;
mod credentials;
mod decode;
mod dial;
mod dns;
mod engine;
mod exchange;
mod forward;
mod head;
mod hop;
mod java_store;
mod leaf;
mod material;
mod mint;
mod mint_call;
mod outgoing;
mod policy;
mod pool;
mod prefixed;
mod proxy;
mod refusal;
mod resolve;
pub mod scheme;
mod serve;
pub mod service;
mod stand_in;
mod strict;
mod target;
mod tokens;
mod upgrade;
pub mod upstream_ca;

pub use ca::{Authority, AuthorityError};
pub use client::{Client, ClientId, Door, Watcher};
pub use counts::Counts;
pub use dns::GivenAddresses;
pub use java_store::java_store;
pub use policy::{LivePolicy, Policy};
pub use proxy::{Parts, Proxy, StartError};
pub use stand_in::{StandIn, StandInError, StandInFile};
pub use tokens::{KeptToken, Life, NoRandomness, Token, Tokens};
