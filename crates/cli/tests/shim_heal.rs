//! What root left in a state directory is found and put right, and nothing beside it is touched.

use std::fs;
use std::os::unix::fs::{MetadataExt, chown, symlink};
use std::path::Path;

use cofferdam_testkit::{Cofferdam, Home, Outcome};

const BINARY: &str = env!("CARGO_BIN_EXE_cofferdam");

fn heal(directory: &Path, more: &[&str]) -> Outcome {
    let words = ["docker", "shim", "heal"].iter().map(Path::new).chain([directory]);
    Cofferdam::new(BINARY, &Home::new()).args(words).args(["--user", "1000:1001"]).args(more).run()
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// A directory of the user's with things of root's in it, and a neighbour.
fn state() -> Home {
    let home = Home::new();
    for file in ["state/fine", "state/roots", "state/deep/down/roots", "outside/secret"] {
        home.write(file, "x");
    }
    for mine in ["state", "state/fine", "state/deep"] {
        chown(home.path().join(mine), Some(1000), Some(1001)).expect("an owner");
    }
    symlink("../outside/secret", home.path().join("state/link")).expect("a link");
    symlink("../outside", home.path().join("state/way-out")).expect("a link");
    fs::hard_link(home.path().join("outside/secret"), home.path().join("state/second-name"))
        .expect("a second name");
    home.write("state/raised", "x");
    home.chmod("state/raised", 0o4755);
    home
}

fn owner(home: &Home, relative: &str) -> (u32, u32) {
    let metadata = fs::symlink_metadata(home.path().join(relative)).expect("it is there");
    (metadata.uid(), metadata.gid())
}

#[test]
fn req_p06_what_root_left_is_found_and_nothing_is_changed() {
    if !is_root() {
        return;
    }
    let home = state();
    let told = heal(&home.path().join("state"), &[]).expect_status(1).stdout();
    for path in ["roots", "deep/down", "deep/down/roots", "link", "way-out"] {
        assert!(told.lines().any(|line| line == format!("root's  {path}")), "{path}: {told}");
    }
    assert!(!told.contains("fine") && !told.contains("secret"), "{told}");
    assert_eq!(owner(&home, "state/roots"), (0, 0));
}

#[test]
fn req_p06_it_is_healed_on_request_and_what_is_outside_stays() {
    if !is_root() {
        return;
    }
    let home = state();
    let told = heal(&home.path().join("state"), &["--apply"]).expect_status(1).stdout();
    for healed in ["roots", "deep/down", "deep/down/roots", "link", "way-out"] {
        assert_eq!(owner(&home, &format!("state/{healed}")), (1000, 1001), "{told}");
    }
    for untouched in ["outside", "outside/secret", "state/second-name", "state/raised"] {
        assert_eq!(owner(&home, untouched), (0, 0), "{told}");
    }
    assert!(told.contains("left    second-name: has another name"), "{told}");
    assert!(told.contains("left    raised: has a set-user-ID"), "{told}");
    fs::remove_file(home.path().join("state/second-name")).expect("removed");
    fs::remove_file(home.path().join("state/raised")).expect("removed");
    let told = heal(&home.path().join("state"), &[]).expect_status(0).stdout();
    assert_eq!(told, "");
}

#[test]
fn req_p06_a_link_in_the_place_of_the_directory_is_refused() {
    if !is_root() {
        return;
    }
    let home = state();
    symlink("outside", home.path().join("planted")).expect("a link");
    heal(&home.path().join("planted"), &["--apply"]).expect_status(69);
    assert_eq!(owner(&home, "outside/secret"), (0, 0));
    Cofferdam::new(BINARY, &home)
        .args(["docker", "shim", "heal", ".", "--user", "root"])
        .run()
        .expect_status(64);
}
