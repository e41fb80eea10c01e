//! Resources and lifecycle (section I of the threat model), tried from inside.

use std::fs::File;

use cofferdam_testkit::{Probed, Scene, Who};
use rustix::fs::FlockOperation;
use rustix::process::{Pid, Signal};

const COFFERDAM: &str = env!("CARGO_BIN_EXE_cofferdam");

/// One probe with limits and without a sandbox, for everyone who can be tried.
fn bounded(options: &[&str], probe: &str, words: &[&str]) {
    for who in [Who::Root, Who::Ordinary].into_iter().filter(|who| who.is_possible()) {
        let scene = Scene::new(COFFERDAM, who);
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let inside = scene.run_confined(options, &scene.probe_words(probe, &words));
        let inside = Probed::parse(inside.stdout().trim());
        assert!(!inside.open, "{probe} as {who:?}: {}", inside.detail);
        let outside = Probed::parse(scene.run_outside(probe, &words).stdout().trim());
        assert!(outside.open, "{probe} as {who:?} without a sandbox: {}", outside.detail);
    }
}

#[test]
fn req_i12_processes_are_bounded() {
    bounded(&["--pids", "310"], "fork-many", &["400"]);
}

#[test]
fn req_i12_memory_is_bounded() {
    bounded(&["--memory", "64MiB"], "allocate", &["256"]);
}

#[test]
fn req_i12_private_memory_is_bounded_without_being_asked_for() {
    for path in ["/run/big", "/dev/big"] {
        let scene = Scene::new(COFFERDAM, Who::Ordinary);
        let words = [path.to_owned(), "32".to_owned()];
        let inside = Probed::parse(scene.run_inside("fill", &words).stdout().trim());
        assert!(!inside.open, "{path}: {}", inside.detail);
    }
}

/// Twice forked, in a session of its own, deaf to signals: alive as long as nobody else gets the lock.
#[test]
fn req_i03_nothing_outlives_the_command() {
    for who in [Who::Root, Who::Ordinary].into_iter().filter(|who| who.is_possible()) {
        let scene = Scene::new(COFFERDAM, who);
        let path = scene.workspace().join("lock");
        let words = [path.display().to_string()];
        let held = || {
            let file = File::open(&path).expect("the survivor has made it");
            rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive).is_err()
        };
        let inside = scene.run_inside("outlive", &words).expect_status(0);
        assert!(Probed::parse(inside.stdout().trim()).open, "it came up: {}", inside.stdout());
        assert!(!held(), "a process has outlived its sandbox, as {who:?}");

        let outside = Probed::parse(scene.run_outside("outlive", &words).stdout().trim());
        let survives = held();
        let survivor = Pid::from_raw(outside.detail.parse().expect("its number")).expect("a number");
        rustix::process::kill_process(survivor, Signal::KILL).expect("it is ours");
        assert!(survives, "without a sandbox it stays, as {who:?}");
    }
}
