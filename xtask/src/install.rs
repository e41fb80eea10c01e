//! `install`: the release build, put in its place.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::built::build;
use crate::failure::{Done, Failure};
use crate::process::Tool;
use crate::root::Root;

pub fn run(root: &Root, directory: Option<&str>) -> Done {
    let directory = match directory {
        Some(directory) => PathBuf::from(directory),
        None => std::env::var_os("HOME")
            .map(|home| Path::new(&home).join(".local/bin"))
            .ok_or_else(|| Failure::new("HOME is not set").hint("name a directory"))?,
    };
    let cargo = Tool::cargo().args(["build", "--locked", "--release", "--package", "cofferdam"]);
    let built = build(cargo.within(root.path()))?.into_iter().find(|built| built.name == "cofferdam");
    let built = built.ok_or_else(|| Failure::new("cargo built no program"))?;
    let installed = directory.join("cofferdam");
    place(&built.executable, &installed)
        .map_err(|error| Failure::new(format!("cannot write {}: {error}", installed.display())))?;
    println!("{}", installed.display());
    Ok(())
}

/// Puts the program in place whole. It is a copy and no second name of what was built: a linker writes page by page, a copy
/// in larger pieces, the kernel keeps them as they came, and a start from them takes less.
fn place(built: &Path, installed: &Path) -> io::Result<()> {
    if let Some(directory) = installed.parent() {
        fs::create_dir_all(directory)?;
    }
    let unfinished = installed.with_extension("new");
    fs::copy(built, &unfinished)?;
    fs::set_permissions(&unfinished, fs::Permissions::from_mode(0o755))?;
    fs::rename(&unfinished, installed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    #[test]
    fn a_program_that_runs_is_replaced_by_one_that_can_be_run() {
        let scratch = Scratch::new(&std::env::temp_dir(), 0o700).unwrap();
        let (built, installed) = (scratch.path().join("built"), scratch.path().join("bin/cofferdam"));
        fs::write(&built, "new").unwrap();
        place(&built, &installed).unwrap();
        fs::write(&built, "newer").unwrap();
        let running = fs::File::open(&installed).unwrap();
        place(&built, &installed).unwrap();
        assert_eq!(io::read_to_string(running).unwrap(), "new");
        assert_eq!(fs::read_to_string(&installed).unwrap(), "newer");
        assert_eq!(fs::metadata(&installed).unwrap().permissions().mode() & 0o777, 0o755);
        assert_eq!(fs::read_dir(scratch.path().join("bin")).unwrap().count(), 1);
    }
}
