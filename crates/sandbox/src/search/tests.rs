use std::ffi::OsString;

use super::*;
use crate::survey::Found;

/// A tree without an end: every directory holds ten more and one secret.
struct Endless;

impl Survey for Endless {
    fn find(&self, _: &Path) -> Option<Found> {
        Some(Found::Directory)
    }

    fn entries(&self, _: &Path, show: &mut dyn FnMut(Entry<'_>)) {
        let directories = (0..10).map(|number| (OsString::from(number.to_string()), Kind::Directory));
        let all = directories.chain([(OsString::from(".env"), Kind::File)]);
        all.for_each(|(name, kind)| show(Entry { name: &name, kind, inode: 1 }));
    }

    fn resolve(&self, path: &Path) -> Option<PathBuf> {
        Some(path.to_owned())
    }

    fn beginning(&self, _: &Path) -> Vec<u8> {
        Vec::new()
    }

    fn has_other_names(&self, _: &Path) -> bool {
        false
    }

    fn memory(&self) -> u64 {
        0
    }
}

#[test]
fn a_search_ends_and_says_that_it_has_not_seen_everything() {
    let bounds = Bounds { names: 1000, depth: 12, contents: 10 };
    let findings = search(&Endless, Path::new("/work"), bounds);
    assert!(findings.unfinished);
    assert!((1000..1100).contains(&findings.names), "{}", findings.names);
    // The nearest come first.
    assert_eq!(findings.secrets[0], Path::new("/work/.env"));
    let shallow = search(&Endless, Path::new("/work"), Bounds { names: 100_000, depth: 1, ..bounds });
    assert!(shallow.unfinished);
    assert_eq!(shallow.secrets.len(), 11);
}
