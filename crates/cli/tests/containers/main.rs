//! Containers of real engines whose only way out is the proxy.

mod bed;
mod bridged;
mod programs;
mod refusals;
mod sealed;
mod ways;
