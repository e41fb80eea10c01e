//! Where values come from. Each source reads its value anew on every call and leaves no copy of it behind;
//! what went wrong is told without the value and without anything that a source printed.

pub(crate) mod bitwarden;
mod command;
mod dotenv;
mod environment;
mod error;
mod file;
mod http;
mod json;
mod private_file;
pub(crate) mod vault;

pub use dotenv::{DotenvMistake, Mistake};
pub use environment::HostVariables;
pub use error::{SourceError, StoreMistake};
pub use http::HttpMistake;
pub use json::JsonMistake;

pub(crate) use command::read as read_command;
pub(crate) use dotenv::read as read_dotenv;
pub(crate) use file::read as read_file;

use zeroize::{Zeroize, Zeroizing};

/// Editors, `echo` and most password tools end what they write with one line end; more than one is content.
fn without_line_end(mut bytes: Zeroizing<Vec<u8>>) -> Zeroizing<Vec<u8>> {
    let ends: [&[u8]; 2] = [b"\r\n", b"\n"];
    if let Some(end) = ends.into_iter().find(|end| bytes.ends_with(end)) {
        let kept = bytes.len() - end.len();
        bytes[kept..].zeroize();
        bytes.truncate(kept);
    }
    bytes
}
