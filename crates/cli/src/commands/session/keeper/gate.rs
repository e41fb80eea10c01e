//! The gate of a caller, kept from one command to the next for as long as nothing about it has changed.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use cofferdam_linux_sys::known_file::State;

use crate::caller::Caller;
use crate::gatekeeper::Gatekeeper;
use crate::places::Places;

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

/// A file that may be there.
#[derive(PartialEq, Eq)]
struct Source(Option<State>);

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
        Self(fs::metadata(path).ok().as_ref().map(State::of))
    }

    fn is_settled(&self) -> bool {
        self.0.as_ref().is_none_or(State::is_settled)
    }
}
