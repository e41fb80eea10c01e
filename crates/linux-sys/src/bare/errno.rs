//! Why a call failed.

/// The number that a failed call gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Errno(pub i32);

impl Errno {
    pub const PERMITTED: Self = Self(1);
    pub const NOT_FOUND: Self = Self(2);
    pub const TOO_LARGE: Self = Self(27);
    pub const LOOP: Self = Self(40);

    /// What it means, in the few words that a person needs. The rest are numbers, which a manual page explains.
    pub fn words(self) -> &'static str {
        match self.0 {
            1 => "not permitted",
            2 => "not found",
            8 => "not in a form that can be executed",
            13 => "permission denied",
            20 => "a part of the path is no directory",
            22 => "not a valid value here",
            27 => "too large",
            40 => "a symbolic link",
            97 => "the kind of address is not supported",
            98 => "the address is in use",
            // A time for connecting that has passed is told in several ways.
            11 | 110 | 115 => "no answer in time",
            101 | 113 => "there is no way to it",
            111 => "nobody listens",
            _ => "the kernel refused",
        }
    }
}
