//! Sums by which a call is known again that was judged before.

use std::collections::HashSet;
use std::hash::{BuildHasher, BuildHasherDefault, Hasher, RandomState};

use cofferdam_shell_syntax::{Input, Source};

use crate::call::Call;
use crate::names::Names;
use crate::rules::WRAPPER_INDEX;

/// Sums that are made with the keys of a judgement already, so they are kept by their own value.
pub(crate) type Prints = HashSet<u64, BuildHasherDefault<AsItIs>>;

#[derive(Default)]
pub(crate) struct AsItIs(u64);

impl Hasher for AsItIs {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(self.0.rotate_left(8) ^ u64::from(*byte));
        }
    }

    fn write_u64(&mut self, sum: u64) {
        self.0 = sum;
    }
}

/// Whether a call with a fingerprint is judged by its words alone, so that the same call need not be judged again: it runs
/// no file, opens no wrapper and leaves nothing behind that a later call could run.
pub(crate) fn repeats_itself(program: &str, call: &Call) -> bool {
    #[rustfmt::skip]
    static STATEFUL: Names = Names::of(&[
        ".", "aria2c", "bun", "bsdtar", "cmake", "curl", "docker", "eval", "fd", "find", "gh", "git", "make",
        "npm", "parallel", "pnpm", "podman", "pytest", "rsync", "scp", "sftp", "source", "tar", "trap",
        "unzip", "wget", "xargs", "yarn",
    ]);
    !call.argv[0].text().bytes().any(|byte| byte == b'/')
        && !STATEFUL.contains(program)
        && crate::language::Language::of(program).is_none()
        && !crate::interpreter::is_shell(program)
        && !WRAPPER_INDEX.has(program)
}

/// Programs that read no file at all. A script that keeps a log calls them between any two lines of it.
static READ_NOTHING: Names = Names::of(&[
    ":", "[", "cd", "date", "echo", "exit", "false", "mkdir", "printf", "return", "shift", "sleep", "test",
    "touch", "true",
]);

/// The words of a call, where it would run, and which files it would find. A call that reads from another command, or has words of one, has none.
pub(crate) fn fingerprint(
    program: &str,
    call: &Call,
    writes: u64,
    memory: &RandomState,
    all: &mut Vec<u8>,
) -> Option<u64> {
    if call.input != Input::Inherited {
        return None;
    }
    let variable = |source: &Source| matches!(source, Source::Variable(_));
    if !call.argv.iter().all(|word| word.sources().iter().all(variable)) {
        return None;
    }
    all.clear();
    for word in call.argv.iter() {
        all.extend_from_slice(word.text().as_bytes());
        for source in word.sources() {
            if let Source::Variable(name) = source {
                all.push(0xfd);
                all.extend_from_slice(name.as_bytes());
            }
        }
        all.push(if word.is_glob() { 0xfe } else { 0xff });
    }
    call.circumstances(all);
    // `psql -f d.sql` is another call once `d.sql` has been written anew.
    if !READ_NOTHING.contains(program) {
        all.push(0xff);
        all.extend_from_slice(&writes.to_le_bytes());
    }
    Some(sum(memory, all))
}

/// The sum of several texts, put together with bytes between them that are in no text: where each ends is certain.
pub(crate) fn sum(memory: &RandomState, all: &[u8]) -> u64 {
    let mut hasher = memory.build_hasher();
    hasher.write(all);
    hasher.finish()
}
