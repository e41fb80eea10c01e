//! The egress proxy: the only place where secrets meet the network.
//!
//! The way of a request, each step a function that hands the next one a proof: `serve` says who asks and tells the
//! ways in apart; `strict` and `head` let only requests through that can be read in one way, of which `by_hand` reads
//! those that are nothing out of the ordinary, and the HTTP library all others; `target` agrees on one
//! target; `authorize` asks the rules and looks at tokens, in the body too where `outgoing` had to collect it; `resolve` classifies addresses; `dial` and `pool` connect to
//! the very address, `http2` for many at once; `forward` puts the credential in, records, and sends; `body` takes secrets out of what comes back.
//!
//! Credentials that sign or mint: `material` gathers what completes a request, `mint` has access tokens made outside,
//! and `stand_in` is what a sandbox holds and who answers it when it mints for itself.
//!
//! Where it stops: it sees what goes through it. That nothing goes past it is the sandbox's promise.

mod authorize;
mod body;
mod by_hand;
mod ca;
mod client;
pub mod connect;
mod counts;
mod credentials;
mod decode;
mod dial;
mod dns;
mod drawn;
mod early;
mod engine;
mod exchange;
mod filled;
mod forward;
pub mod frames;
pub mod head;
mod hop;
mod http2;
mod java_store;
mod leaf;
mod ledger;
mod limits;
mod material;
mod mint;
mod mint_call;
mod outgoing;
mod patience;
mod peer;
mod policy;
mod pool;
mod presence;
mod proxy;
mod quiet;
mod refusal;
mod resolve;
pub mod scheme;
mod serve;
pub mod service;
mod shard;
mod stand_in;
mod strict;
pub mod target;
mod through;
mod ticketed;
mod tokens;
mod upgrade;
pub mod upstream_ca;
mod vigil;
mod watch;

pub use ca::{Authority, AuthorityError};
pub use client::{Client, ClientId, Door, Watcher};
pub use counts::Counts;
pub use dns::{GivenAddresses, Range};
pub use java_store::java_store;
pub use policy::{LivePolicy, Policy};
pub use proxy::{Parts, Proxy, StartError};
pub use stand_in::{StandIn, StandInError, StandInFile};
pub use tokens::{KeptToken, Life, NoRandomness, Token, Tokens, Worth};
