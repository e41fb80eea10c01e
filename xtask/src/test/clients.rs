//! Clients that people use, for tests against real ones: pinned, and kept in the project's cache.

use std::fs;
use std::path::{Path, PathBuf};

use crate::failure::{Done, Failure};
use crate::process::Tool;
use crate::root::Root;

use super::tree::Tree;

const PYTHON: &str = include_str!("../../clients/python.txt");
const NODE: &str = include_str!("../../clients/node.txt");
/// Programs of a few lines, for runtimes that bring their own idea of proxies, names and trust.
const JAVA: &str = include_str!("../../clients/Client.java");
const GO: &str = include_str!("../../clients/client.go");

/// Installs what is missing or was pinned otherwise. With everything in place, nothing is fetched.
pub fn install(root: &Root, tree: &Tree<'_>) -> Done {
    let cache = root.join(".cache/clients");
    installed(&cache.join("python"), PYTHON, |directory| {
        let list = directory.join("list");
        Tool::new("python3")
            .args(["-m", "pip", "install", "--quiet", "--no-warn-script-location", "--no-deps", "--target"])
            .arg(directory)
            .arg("-r")
            .arg(list)
            .run()
    })?;
    installed(&cache.join("node"), NODE, |directory| {
        Tool::new("npm")
            .args(["install", "--silent", "--no-audit", "--no-fund", "--no-package-lock", "--prefix"])
            .arg(directory)
            .args(NODE.lines())
            .run()
    })?;
    installed(&cache.join("java"), JAVA, |directory| {
        let source = written(directory, "Client.java", JAVA)?;
        Tool::new("javac").arg("-d").arg(directory).arg(source).run()
    })?;
    installed(&cache.join("go"), GO, |directory| {
        let source = written(directory, "client.go", GO)?;
        let build = Tool::new("go").env("GOCACHE", root.join(".cache/go")).env("GO111MODULE", "off");
        build.args(["build", "-o"]).arg(directory.join("client")).arg(source).run()
    })?;
    match tree {
        Tree::Checkout(_) => Ok(()),
        Tree::Copy { root: copy, .. } => {
            fs::create_dir_all(copy.join(".cache")).map_err(|error| Failure::at(copy.path(), error))?;
            Tool::new("cp").arg("-r").arg(&cache).arg(copy.join(".cache")).run()?;
            Tool::new("chmod").args(["-R", "a+rX"]).arg(copy.join(".cache")).run()
        }
    }
}

/// A directory is complete when the list in it says what it was made from.
fn installed(directory: &Path, list: &str, install: impl FnOnce(&Path) -> Done) -> Done {
    let complete = directory.join("complete");
    if fs::read_to_string(&complete).is_ok_and(|from| from == list) {
        return Ok(());
    }
    println!("installing clients into {}", directory.display());
    let wrong = |error| Failure::at(directory, error);
    if directory.exists() {
        fs::remove_dir_all(directory).map_err(wrong)?;
    }
    fs::create_dir_all(directory).map_err(wrong)?;
    fs::write(directory.join("list"), list).map_err(wrong)?;
    install(directory)?;
    fs::write(complete, list).map_err(wrong)
}

fn written(directory: &Path, name: &str, source: &str) -> Result<PathBuf, Failure> {
    let path = directory.join(name);
    fs::write(&path, source).map_err(|error| Failure::at(&path, error))?;
    Ok(path)
}
