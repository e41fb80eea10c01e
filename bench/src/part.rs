//! Which part somebody plays in a comparison. Names tell: those who do the same for others, and what cannot be beaten,
//! are listed here; everybody else is ours.

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    Ours,
    /// What a user would take instead.
    Peer,
    /// The same without anything in between.
    Limit,
}

/// How the names of peers begin.
const PEERS: &[&str] = &[
    "aho-corasick",
    "bash --version",
    "bubblewrap",
    "busybox su",
    "env --version",
    "firejail",
    "gosu",
    "hudsucker",
    "jq",
    "mitmproxy",
    "opaque tunnel",
    "python3 --version",
    "shellcheck",
    "shfmt",
    "squid",
    "1000 rules, tried in turn",
];

/// How the names of limits begin.
const LIMITS: &[&str] = &[
    "bare write of a line",
    "bash -c true",
    "directly, as root",
    "files opened by the script itself",
    "fork and exec",
    "memmem, one needle",
    "no proxy",
    "outside",
    "python3 empty.py",
    "sha256sum of the files",
    "true --",
];

impl Part {
    pub fn of(name: &str) -> Self {
        let begins_with = |list: &[&str]| list.iter().any(|known| name.starts_with(known));
        match () {
            () if begins_with(PEERS) => Self::Peer,
            () if begins_with(LIMITS) => Self::Limit,
            () => Self::Ours,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell() {
        assert_eq!(Part::of("cofferdam run"), Part::Ours);
        assert_eq!(Part::of("jq, select"), Part::Peer);
        assert_eq!(Part::of("fork and exec of true"), Part::Limit);
    }
}
