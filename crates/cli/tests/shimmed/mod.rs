//! An image with a tool behind the shim.

use cofferdam_testkit::container::{Container, Engine, ImageTree, Kind};
use cofferdam_testkit::{Cofferdam, Home, Outcome};

pub const BINARY: &str = env!("CARGO_BIN_EXE_cofferdam");

/// Says who it is, one fact a line.
const REPORT: &str = "#!/bin/sh\n\
    echo uid=$(id -u) gid=$(id -g) groups=$(id -G)\n\
    echo home=$HOME user=$USER logname=$LOGNAME shell=$SHELL umask=$(umask)\n\
    grep -E '^(Uid|Gid|Cap|NoNewPrivs)' /proc/self/status\n\
    for word in \"$@\"; do echo \"[$word]\"; done\n";

/// A tree with the tool `hermes` (a script that reports), the shim in front of it, and `cat`, `sh` and `touch` behind
/// shims as well.
pub fn tree() -> ImageTree {
    let tree = ImageTree::new();
    tree.write("opt/hermes/bin/hermes", REPORT, 0o755);
    install(&tree, "hermes", "/opt/hermes/bin/hermes", &["--opt-out", "HERMES_KEEP_ROOT"]).expect_status(0);
    for tool in ["sh", "touch", "mkdir"] {
        let behind = format!("opt/real/{tool}");
        tree.copy(&tree.path().join("bin/busybox"), &behind);
        install(&tree, &format!("as-hermes-{tool}"), &format!("/{behind}"), &[]).expect_status(0);
    }
    tree
}

pub fn install(tree: &ImageTree, tool: &str, target: &str, more: &[&str]) -> Outcome {
    let root = tree.path().to_str().expect("a path");
    Cofferdam::new(BINARY, &Home::new())
        .args([
            "docker", "shim", "install", "--root", root, "--tool", tool, "--user", "hermes", "--target",
            target,
        ])
        .args(more)
        .run()
}

/// Does something in a container of each engine.
pub fn in_each_engine(tree: &ImageTree, options: &[&str], then: impl Fn(&Container<'_>)) {
    for engine in Engine::both() {
        in_engine(&engine, tree, options, &then);
    }
}

/// Where the engines do not differ, the one without a daemon is enough.
pub fn in_podman(tree: &ImageTree, options: &[&str], then: impl Fn(&Container<'_>)) {
    in_engine(&Engine::start(Kind::Podman), tree, options, then);
}

fn in_engine(engine: &Engine, tree: &ImageTree, options: &[&str], then: impl Fn(&Container<'_>)) {
    engine.import(tree, "cofferdam-test/shimmed", &[]);
    then(&engine.container(options, "cofferdam-test/shimmed"));
}
