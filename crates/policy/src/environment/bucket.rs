//! What each kind of child gets: one row per kind.

use super::operational::Purpose;
use super::request::{Credentials, Request, Trust};

/// The rule for one kind of child.
pub(super) struct Bucket {
    /// Which part of the allowlist.
    pub purposes: &'static [Purpose],
    /// Whether the user's passthrough counts.
    pub wishes: bool,
    reach: Reach,
}

/// Whose base URLs, and whose credentials if the call site hands any out.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reach {
    Nobody,
    /// The provider that the child works for.
    Own,
    /// Every base URL, and the credentials that were asked for.
    Everybody,
    /// No base URL (the egress proxy decides where requests go), and the credentials that were asked for.
    AskedOnly,
}

pub(super) fn of(trust: Trust<'_>) -> Bucket {
    use Purpose::{Basic, Roots, Session, Toolchain};
    match trust {
        Trust::Helper => Bucket { purposes: &[Basic], wishes: false, reach: Reach::Nobody },
        Trust::Executor { .. } => {
            Bucket { purposes: &[Basic, Session, Toolchain, Roots], wishes: true, reach: Reach::Own }
        }
        Trust::Tool => {
            Bucket { purposes: &[Basic, Session, Toolchain, Roots], wishes: true, reach: Reach::Everybody }
        }
        // Without the host's roots: an unknown command meets the network through the proxy, whose certificate
        // is the only one it is to trust.
        Trust::Unknown => {
            Bucket { purposes: &[Basic, Session, Toolchain], wishes: true, reach: Reach::AskedOnly }
        }
    }
}

impl Bucket {
    pub fn inherits(&self, request: &Request<'_>, provider: &str) -> bool {
        let Credentials::Inherit(asked) = request.credentials else {
            return false;
        };
        asked.contains(&provider)
            && match self.reach {
                Reach::Nobody => false,
                Reach::Own => request.trust == Trust::Executor { provider },
                Reach::Everybody | Reach::AskedOnly => true,
            }
    }

    pub fn takes_base_url(&self, request: &Request<'_>, provider: &str) -> bool {
        match self.reach {
            Reach::Nobody | Reach::AskedOnly => false,
            Reach::Own => request.trust == Trust::Executor { provider },
            Reach::Everybody => true,
        }
    }
}
