//! Arguments and environment where the kernel has laid them: one after the other, each with a zero byte at its end.

/// The strings that a program is started with, in one piece.
#[derive(Debug, Clone, Copy)]
pub struct Laid<'a> {
    /// How many of the strings are arguments; the rest is the environment.
    pub arguments: usize,
    pub bytes: &'a [u8],
}

/// What the first instructions of the program are to do, by what it was started with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    /// Everything is done; this is the status.
    Done(u8),
    /// A sandbox is wanted: its first process is begun beside the long way.
    Sandbox,
    /// Nothing; the long way begins.
    LongWay,
}

impl<'a> Laid<'a> {
    /// All strings without their zero bytes, in order.
    fn strings(self) -> impl Iterator<Item = &'a [u8]> {
        self.bytes
            .split_inclusive(|byte| *byte == 0)
            .map(|string| string.strip_suffix(b"\0").unwrap_or(string))
    }

    /// All arguments in one piece, each with its zero byte.
    pub fn all_arguments(self) -> &'a [u8] {
        let length = self.strings().take(self.arguments).map(|string| string.len() + 1).sum::<usize>();
        &self.bytes[..length.min(self.bytes.len())]
    }

    pub fn argument(self, at: usize) -> Option<&'a [u8]> {
        self.strings().take(self.arguments).nth(at)
    }

    /// The environment, each variable as `NAME=VALUE`.
    pub fn variables(self) -> impl Iterator<Item = &'a [u8]> {
        self.strings().skip(self.arguments)
    }

    /// What this variable is set to. Of two with one name the first counts, as for the C library.
    pub fn variable(self, name: &[u8]) -> Option<&'a [u8]> {
        self.variables().find_map(|variable| variable.strip_prefix(name)?.strip_prefix(b"="))
    }
}

#[cfg(test)]
mod tests {
    use super::Laid;

    #[test]
    fn strings_are_told_apart_by_their_ends() {
        let laid = Laid { arguments: 3, bytes: b"a\0\0bc\0X=1\0Y=\0" };
        assert_eq!([0, 1, 2, 3].map(|at| laid.argument(at)), [Some(&b"a"[..]), Some(b""), Some(b"bc"), None]);
        assert_eq!(laid.all_arguments(), b"a\0\0bc\0");
        assert!(laid.variables().eq([&b"X=1"[..], b"Y="]));
        assert_eq!(
            [&b"X"[..], b"Y", b"Z"].map(|name| laid.variable(name)),
            [Some(&b"1"[..]), Some(b""), None]
        );
    }
}
