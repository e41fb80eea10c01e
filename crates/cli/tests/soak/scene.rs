//! Who is there: the hosts, each of which behaves in its own way, and the real values.

/// What a host does with a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Manner {
    /// Answers, with what it got as the credential.
    Well,
    /// Answers in pieces, with pauses.
    Slowly,
    /// Resets the connection instead of answering.
    Resets,
    /// Ends in the middle of an answer.
    BreaksOff,
    /// Answers something that is no HTTP.
    Garbles,
    /// Never answers.
    Stalls,
    /// Speaks something that is no TLS.
    NoTls,
    /// Nobody listens.
    Absent,
}

impl Manner {
    pub const ALL: [Self; 8] = [
        Self::Well,
        Self::Slowly,
        Self::Resets,
        Self::BreaksOff,
        Self::Garbles,
        Self::Stalls,
        Self::NoTls,
        Self::Absent,
    ];

    pub fn host(self) -> &'static str {
        match self {
            Self::Well => "well.example.test",
            Self::Slowly => "slow.example.test",
            Self::Resets => "reset.example.test",
            Self::BreaksOff => "cut.example.test",
            Self::Garbles => "garbage.example.test",
            Self::Stalls => "stall.example.test",
            Self::NoTls => "plain.example.test",
            Self::Absent => "nobody.example.test",
        }
    }

    pub fn of(host: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|manner| manner.host() == host)
    }

    /// How a request to it ends when nothing else is wrong.
    pub fn ends(self) -> &'static [&'static str] {
        match self {
            Self::Well | Self::Slowly => &["200"],
            Self::Resets => &["upstream-closed"],
            // What came of the answer may still be with the proxy when the end comes; the record has the reason.
            Self::BreaksOff => &["broken off", "lost"],
            Self::Garbles => &["upstream-malformed"],
            Self::Stalls => &["upstream-timeout"],
            Self::NoTls => &["upstream-tls-failed"],
            Self::Absent => &["upstream-connect-failed"],
        }
    }
}

pub const VARIABLE: &str = "ACME_API_KEY";
/// The credential before and after it is replaced at its source. What they begin with is nowhere else.
pub const CANARIES: [&str; 2] = ["soak-canary-4f1d8a2b7c9e6035aa51", "soak-canary-90be37c2d1f4586ebb62"];
