//! Runs a program confined by the kernel.
//!
//! A [`request::Request`] and a look at the host become a [`plan::Plan`] (data); [`launch`] makes the namespaces
//! and hands the plan to their first process, which carries it out stage by stage and then starts commands.

mod answers;
pub mod approved_files;
mod command;
mod control_group;
pub mod diagnosis;
pub mod doors;
mod landlock;
pub mod late;
pub mod launch;
pub mod layout;
pub mod messages;
mod met_limits;
mod nearness;
pub mod overlay;
pub mod own_walls;
mod pid_one;
pub mod plan;
pub mod planner;
pub mod report;
pub mod request;
mod root;
pub mod search;
mod seccomp;
mod stages;
pub mod standing;
pub mod survey;
mod sweep;
pub mod terminal_filter;
pub mod text;
mod trees;
mod without_namespaces;

pub use cofferdam_control::channel;
