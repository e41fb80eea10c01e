//! A secret value.

use std::fmt;
use std::io;

use cofferdam_linux_sys::memory::{LockedPages, Protection};
use zeroize::Zeroizing;

/// Longer is a mistake: a key ring or a program was named instead of a key.
pub const MAX_LENGTH: usize = 64 * 1024;
/// Shorter is no secret, and to take every occurrence of so short a text out of a response would destroy it.
pub const MIN_LENGTH: usize = 8;

/// A value that nobody may see, in memory of its own (see [`LockedPages`]): wiped when it is dropped, not in
/// core dumps, and zeros in a forked child.
///
/// It cannot be printed, copied, compared or serialized by accident:
///
/// ```compile_fail,E0277
/// fn show(secret: &cofferdam_secrets::Secret) -> String { format!("{secret:?}") }
/// ```
/// ```compile_fail,E0277
/// fn show(secret: &cofferdam_secrets::Secret) -> String { format!("{secret}") }
/// ```
/// ```compile_fail,E0277
/// fn show(secret: &cofferdam_secrets::Secret) -> String { serde_json::to_string(secret).unwrap() }
/// ```
/// ```compile_fail,E0369
/// fn same(a: &cofferdam_secrets::Secret, b: &cofferdam_secrets::Secret) -> bool { *a == *b }
/// ```
/// ```compile_fail,E0277
/// fn copied<T: Clone>(value: T) -> T { value.clone() }
/// fn copy(secret: cofferdam_secrets::Secret) -> cofferdam_secrets::Secret { copied(secret) }
/// ```
///
/// What does compile, so that each of the above fails for the reason it names:
///
/// ```
/// fn size(secret: &cofferdam_secrets::Secret) -> usize { secret.expose().len() }
/// fn same(a: &cofferdam_secrets::Secret, b: &cofferdam_secrets::Secret) -> bool { a.same_as(b) }
/// fn both<T: Send + Sync>(value: T) -> T { value }
/// fn send(secret: cofferdam_secrets::Secret) -> cofferdam_secrets::Secret { both(secret) }
/// ```
pub struct Secret {
    pages: LockedPages,
}

impl Secret {
    /// Takes a value over; the memory it came in is wiped, whether it is accepted or not. Until here it was
    /// in ordinary memory, which may be swapped out; that moment is as short as the sources can make it.
    #[expect(clippy::needless_pass_by_value, reason = "the caller's buffer must be gone afterwards")]
    pub fn take(bytes: Zeroizing<Vec<u8>>) -> Result<Self, Rejected> {
        check(&bytes)?;
        let mut pages = LockedPages::zeroed(bytes.len()).map_err(Rejected::NoMemory)?;
        pages.as_mut_slice().copy_from_slice(&bytes);
        Ok(Self { pages })
    }

    /// The value itself. Whoever calls this answers for where the bytes go.
    pub fn expose(&self) -> &[u8] {
        self.pages.as_slice()
    }

    /// Compares in a time that depends on the lengths alone.
    pub fn same_as(&self, other: &Self) -> bool {
        let (a, b) = (self.expose(), other.expose());
        let difference = a.iter().zip(b).fold(0, |seen, (a, b)| std::hint::black_box(seen | (a ^ b)));
        a.len() == b.len() && difference == 0
    }

    /// What the kernel agreed to do for this value.
    pub fn protection(&self) -> Protection {
        self.pages.protection()
    }
}

/// Why bytes are not a secret. Never says which bytes.
#[derive(Debug)]
pub enum Rejected {
    Empty,
    TooShort,
    TooLong,
    /// A line end or another control character: put into a header, it would start another one.
    ControlCharacter,
    /// White space at an end, which a header would lose.
    SurroundingSpace,
    NoMemory(io::Error),
}

impl fmt::Display for Rejected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => write!(f, "it is empty"),
            Self::TooShort => write!(f, "it is shorter than {MIN_LENGTH} bytes"),
            Self::TooLong => write!(f, "it is longer than {} KiB", MAX_LENGTH / 1024),
            Self::ControlCharacter => {
                write!(f, "it holds a line end or a control character, and is neither PEM nor a JSON object")
            }
            Self::SurroundingSpace => write!(f, "it starts or ends with white space"),
            Self::NoMemory(cause) => write!(f, "there is no memory for it: {cause}"),
        }
    }
}

/// Keys in PEM form and service accounts in JSON are made of lines, and are never put into a header as they
/// are. Everything else is one line of printable text. A NUL has no place in either.
fn check(bytes: &[u8]) -> Result<(), Rejected> {
    let (Some(first), Some(last)) = (bytes.first(), bytes.last()) else { return Err(Rejected::Empty) };
    if bytes.len() > MAX_LENGTH {
        return Err(Rejected::TooLong);
    }
    let document = bytes.starts_with(b"-----BEGIN ") || *first == b'{';
    let allowed = |byte: &u8| !byte.is_ascii_control() || (document && matches!(byte, b'\n' | b'\r' | b'\t'));
    if !bytes.iter().all(allowed) {
        return Err(Rejected::ControlCharacter);
    }
    if !document && (*first == b' ' || *last == b' ') {
        return Err(Rejected::SurroundingSpace);
    }
    if bytes.len() < MIN_LENGTH {
        return Err(Rejected::TooShort);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(bytes: &[u8]) -> Result<Secret, Rejected> {
        Secret::take(Zeroizing::new(bytes.to_vec()))
    }

    #[test]
    fn req_e28_a_value_is_kept_as_it_is_and_protected() {
        let secret = take(b"sk-canary-0123").expect("a fine secret");
        assert_eq!(secret.expose(), b"sk-canary-0123");
        let Protection { locked, excluded_from_dumps, wiped_on_fork } = secret.protection();
        assert!(locked && excluded_from_dumps && wiped_on_fork);
        assert!(take("pässwörd".as_bytes()).is_ok());
        assert!(take(b"-----BEGIN KEY-----\nabc\n-----END KEY-----\n").is_ok());
        assert!(take(b"{\n\t\"type\": \"service_account\"\r\n}").is_ok());
    }

    #[test]
    fn what_would_break_a_header_is_rejected() {
        let reason = |bytes: &[u8]| take(bytes).err().expect("rejected");
        assert!(matches!(reason(b""), Rejected::Empty));
        assert!(matches!(reason(b"seven77"), Rejected::TooShort));
        assert!(matches!(reason(&[b'x'; MAX_LENGTH + 1]), Rejected::TooLong));
        assert!(take(&[b'x'; MAX_LENGTH]).is_ok());
        for bad in [
            &b"sk-one\r\nX-Evil: 1"[..],
            b"sk-one-two\n",
            b"sk-nul-\0-nul",
            b"sk-esc-\x1b[0m",
            b"{nul:\0...}",
        ] {
            assert!(matches!(reason(bad), Rejected::ControlCharacter));
        }
        assert!(matches!(reason(b" sk-leading"), Rejected::SurroundingSpace));
        assert!(matches!(reason(b"sk-trailing "), Rejected::SurroundingSpace));
    }

    #[test]
    fn comparison_is_of_all_bytes_and_the_length() {
        let secret = |bytes: &[u8]| take(bytes).expect("a fine secret");
        assert!(secret(b"sk-0123456").same_as(&secret(b"sk-0123456")));
        assert!(!secret(b"sk-0123456").same_as(&secret(b"sk-0123457")));
        assert!(!secret(b"sk-0123456").same_as(&secret(b"sk-01234567")));
        assert!(!secret(b"tk-0123456").same_as(&secret(b"sk-0123456")));
    }
}
