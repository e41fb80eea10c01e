//! `patch`.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

use rustix::fs::{Mode, OFlags};
use serde::Deserialize;
use serde_json::{Value, json};

use super::write::Staged;
use super::{diff, failed, replace};
use crate::message::{ErrorKind, ToolError};

/// A larger file is not changed by a tool for texts.
const LONGEST: u64 = 64 << 20;

#[derive(Deserialize, Default)]
pub struct Patch {
    path: Option<String>,
    old: Option<String>,
    new: Option<String>,
    #[serde(default)]
    all: bool,
    diff: Option<String>,
}

pub fn patch(wish: &Patch) -> Result<Value, ToolError> {
    match wish {
        Patch { path: Some(path), old: Some(old), new: Some(new), diff: None, .. } => {
            let (text, count) = replace::replaced(&contents(path)?, old, new, wish.all)?;
            let staged = Staged::new(Path::new(path), text.as_bytes())
                .map_err(|error| failed("write", path, &error))?;
            staged.commit().map_err(|error| failed("write", path, &error))?;
            Ok(json!({"files": [path], "replacements": count}))
        }
        Patch { path: None, old: None, new: None, diff: Some(diff), .. } => by_diff(diff),
        _ => Err(ErrorKind::BadArguments.with("give path, old and new, or diff")),
    }
}

/// Everything is worked out and laid beside the files before the first one is exchanged.
fn by_diff(text: &str) -> Result<Value, ToolError> {
    let files = diff::parse(text).map_err(|wrong| ErrorKind::BadArguments.with(wrong))?;
    let (mut staged, mut removed, mut named) = (Vec::new(), Vec::new(), Vec::new());
    for file in &files {
        let before = file.old.as_deref().map_or_else(|| Ok(String::new()), contents)?;
        if let (None, Some(new)) = (&file.old, &file.new)
            && fs::symlink_metadata(new).is_ok()
        {
            return Err(ErrorKind::Failed.with(format!("{new} is there already")));
        }
        let shown = file.new.as_ref().or(file.old.as_ref()).cloned().unwrap_or_default();
        let after = diff::apply(&before, &file.hunks)
            .map_err(|wrong| ErrorKind::Failed.with(format!("{shown}: {wrong}")))?;
        match &file.new {
            Some(new) => staged.push((
                new,
                Staged::new(Path::new(new), after.as_bytes())
                    .map_err(|error| failed("write", new, &error))?,
            )),
            None => removed.extend(&file.old),
        }
        if let (Some(old), Some(new)) = (&file.old, &file.new)
            && old != new
        {
            removed.push(old);
        }
        named.push(shown);
    }
    for (path, staged) in staged {
        staged.commit().map_err(|error| failed("write", path, &error))?;
    }
    for path in removed {
        fs::remove_file(path).map_err(|error| failed("remove", path, &error))?;
    }
    Ok(json!({"files": named}))
}

fn contents(path: &str) -> Result<String, ToolError> {
    // What is looked at is what is read, whatever gets its name meanwhile; a pipe holds nobody up.
    let read = || {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
        let found = file.metadata()?;
        if !found.is_file() || found.len() > LONGEST {
            return Err(std::io::Error::other("it is not a file of text"));
        }
        let mut bytes = Vec::new();
        file.take(LONGEST).read_to_end(&mut bytes).map(|_| bytes)
    };
    let bytes = read().map_err(|error| failed("read", path, &error))?;
    String::from_utf8(bytes).map_err(|_| ErrorKind::Failed.with(format!("{path} is no text")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diff_that_fits_in_part_changes_nothing() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = |name: &str| directory.path().join(name).to_str().expect("a name").to_owned();
        let (one, two) = (path("one"), path("two"));
        fs::write(&one, "a\n").expect("written");
        fs::write(&two, "b\n").expect("written");
        let diff = |second: &str| {
            let head = |name: &str| format!("--- {name}\n+++ {name}\n@@ -1 +1 @@\n");
            format!("{}-a\n+A\n{}-{second}\n+B\n", head(&one), head(&two))
        };
        let wish = |text: String| Patch { diff: Some(text), ..Patch::default() };
        assert!(patch(&wish(diff("x"))).is_err());
        assert_eq!(fs::read_to_string(&one).expect("read"), "a\n");
        assert_eq!(fs::read_dir(directory.path()).expect("a list").count(), 2);
        patch(&wish(diff("b"))).expect("it fits");
        let both = [&one, &two].map(|path| fs::read_to_string(path).expect("read"));
        assert_eq!(both, ["A\n", "B\n"]);
    }
}
