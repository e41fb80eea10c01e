//! What the first instructions of the program use of this: all that needs no memory to be given out.

mod call;
mod closed;
mod copy;
mod errno;
mod files;
mod identity;
mod laid;
mod left;
mod output;
mod sockets;
mod waiting;

pub use closed::close_to_others;
pub use copy::copy_into_namespaces;
pub use errno::Errno;
pub use files::{Descriptor, is_open, open_directory};
pub use identity::user_identities;
pub use laid::{Asked, Laid};
pub use left::Left;
pub use output::write_all;
pub use sockets::{connect_packets, is_unread, peer_user, receive, send_with, send_with_streams};
pub use waiting::{Ready, Signals, wait};
