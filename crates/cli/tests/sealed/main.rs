//! The sealed network: a command, or a session, whose only way out is the proxy, whoever serves it.

mod agents;
mod bed;
mod daemon;
mod names;
mod one_run;
mod scripts;
mod sessions;
mod threats;
