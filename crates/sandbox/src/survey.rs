//! What the host has, asked through a trait, so that plans can be made and tested without it.

use std::fs;
use std::path::{Path, PathBuf};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    Directory,
    /// Anything that is neither a directory nor a link.
    File,
    Link(PathBuf),
}

pub trait Survey {
    /// What stands at this path, without following a link there.
    fn find(&self, path: &Path) -> Option<Found>;
    /// The names in a directory; none if it cannot be read.
    fn names(&self, directory: &Path) -> Vec<std::ffi::OsString>;
}

/// The machine this runs on.
#[derive(Debug, Clone, Copy)]
pub struct Machine;

impl Survey for Machine {
    fn find(&self, path: &Path) -> Option<Found> {
        let kind = fs::symlink_metadata(path).ok()?.file_type();
        if kind.is_symlink() {
            return fs::read_link(path).ok().map(Found::Link);
        }
        Some(if kind.is_dir() { Found::Directory } else { Found::File })
    }

    fn names(&self, directory: &Path) -> Vec<std::ffi::OsString> {
        fs::read_dir(directory)
            .map(|entries| entries.filter_map(|entry| entry.ok().map(|entry| entry.file_name())).collect())
            .unwrap_or_default()
    }
}
