//! The gate of a caller, kept from one command to the next for as long as nothing about it has changed.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::caller::Caller;
use crate::gatekeeper::Gatekeeper;
use crate::places::Places;

/// Younger than this, a file can be written again without its times telling; what was read from it is not kept.
const YOUNG_SECONDS: i64 = 2;

/// The gate that was asked last.
#[derive(Default)]
pub struct LastGate(Option<Kept>);

struct Kept {
    /// What it was found by.
    variables: Vec<u8>,
    /// What its rules were read from, as that was then.
    sources: [Source; 2],
    /// Where questions and the record are: whoever moves them away means another place.
    directories: [Option<(u64, u64)>; 2],
    gatekeeper: Gatekeeper,
}

/// A file that may be there. Whoever changes its text, its mode or its owner changes one of these numbers.
#[derive(PartialEq, Eq)]
struct Source(Option<[i64; 7]>);

impl LastGate {
    /// The gate of whoever has these variables; none if it cannot be opened.
    pub fn of(&mut self, variables: Vec<u8>, places: &Places) -> Option<&Gatekeeper> {
        let sources = ["config.toml", "approvals.toml"].map(|name| Source::look(&places.config.join(name)));
        let directories = [places.audit(), places.state.join("approvals")].map(|path| identity(&path));
        let same = |kept: &Kept| {
            kept.variables == variables && kept.sources == sources && kept.directories == directories
        };
        if !self.0.as_ref().is_some_and(|kept| same(kept) && sources.iter().all(Source::is_settled)) {
            let gatekeeper = Gatekeeper::of(Caller::Other(variables.clone())).ok();
            self.0 = gatekeeper.map(|gatekeeper| Kept { variables, sources, directories, gatekeeper });
        }
        self.0.as_ref().map(|kept| &kept.gatekeeper)
    }
}

fn identity(path: &Path) -> Option<(u64, u64)> {
    fs::metadata(path).ok().map(|found| (found.dev(), found.ino()))
}

impl Source {
    fn look(path: &Path) -> Self {
        Self(fs::metadata(path).ok().map(|found| {
            let [device, inode, size] = [found.dev(), found.ino(), found.size()].map(u64::cast_signed);
            [device, inode, size, found.mtime(), found.mtime_nsec(), found.ctime(), found.ctime_nsec()]
        }))
    }

    fn is_settled(&self) -> bool {
        let now =
            SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs().cast_signed());
        self.0.is_none_or(|[_, _, _, written, _, changed, _]| written.max(changed) + YOUNG_SECONDS < now)
    }
}
