//! Where the project is, and which files of it are sources.

use std::fs;
use std::path::{Path, PathBuf};

use crate::failure::Failure;

/// The directory of the workspace.
#[derive(Debug)]
pub struct Root(PathBuf);

impl Root {
    /// The nearest directory upwards that holds this program's sources. Not the place that was compiled in:
    /// a copy of the tree, or a tree that was moved, is checked where it is.
    pub fn find() -> Result<Self, Failure> {
        let here = std::env::current_dir().map_err(|error| Failure::at(Path::new("."), error))?;
        here.ancestors()
            .find(|directory| directory.join("xtask/Cargo.toml").is_file())
            .map(|directory| Self(directory.to_owned()))
            .ok_or_else(|| Failure::new("this is not a directory of the project"))
    }

    /// A tree that is known to be one of the project.
    pub fn of(directory: PathBuf) -> Self {
        Self(directory)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    pub fn join(&self, relative: &str) -> PathBuf {
        self.0.join(relative)
    }

    pub fn read(&self, relative: &str) -> Result<String, Failure> {
        let path = self.join(relative);
        fs::read_to_string(&path).map_err(|error| Failure::at(&path, error))
    }

    pub fn toml(&self, relative: &str) -> Result<toml::Table, Failure> {
        let text = self.read(relative)?;
        text.parse().map_err(|error| Failure::at(Path::new(relative), error))
    }

    /// All Rust sources, as paths relative to the root, in a stable order.
    pub fn sources(&self) -> Result<Vec<String>, Failure> {
        let mut found: Vec<String> = self.files()?.into_iter().filter(|path| path.ends_with(".rs")).collect();
        found.sort();
        Ok(found)
    }

    /// All files that are not made by a build, as relative paths. By name rather than by asking git, so that
    /// a tree without its history is looked at in the same way.
    pub fn files(&self) -> Result<Vec<String>, Failure> {
        let mut found = Vec::new();
        let mut waiting = vec![PathBuf::new()];
        while let Some(relative) = waiting.pop() {
            let directory = self.0.join(&relative);
            let entries = fs::read_dir(&directory).map_err(|error| Failure::at(&directory, error))?;
            for entry in entries {
                let entry = entry.map_err(|error| Failure::at(&directory, error))?;
                let name = entry.file_name();
                let kind = entry.file_type().map_err(|error| Failure::at(&entry.path(), error))?;
                if kind.is_dir() {
                    if !is_made(&relative, &name.to_string_lossy()) {
                        waiting.push(relative.join(&name));
                    }
                } else if kind.is_file() {
                    found.push(relative.join(&name).to_string_lossy().into_owned());
                }
            }
        }
        Ok(found)
    }
}

fn is_made(parent: &Path, name: &str) -> bool {
    match name {
        "target" | ".git" | ".cache" => true,
        "corpus" | "artifacts" => parent == Path::new("fuzz"),
        _ => false,
    }
}
