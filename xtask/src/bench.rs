//! `bench`: speed, side by side, in a release build.

use crate::built::{Built, build};
use crate::failure::{Done, Failure};
use crate::process::Tool;
use crate::root::Root;

/// Peers that come as packages of Debian, by the program and the package. The others are fetched by the benchmarks.
const PEERS: &[(&str, &str)] = &[
    ("bwrap", "bubblewrap"),
    ("firejail", "firejail"),
    ("jq", "jq"),
    ("shellcheck", "shellcheck"),
    ("shfmt", "shfmt"),
];

pub fn run(root: &Root, options: &[&str]) -> Done {
    let bench = program(root, "release", &["cofferdam", "cofferdam-bench"])?;
    install_peers();
    let picture = root.join(".cache/bench/report.svg");
    let mut tool = Tool::new(&bench.executable).args(options);
    if !options.contains(&"--plot") {
        tool = tool.arg("--plot").arg(picture);
    }
    tool.env("COFFERDAM_BENCH_CACHE", root.join(".cache/bench")).within(root.path()).run()
}

/// The program that measures. What it measures is built beside it, where it finds it.
pub fn program(root: &Root, profile: &str, packages: &[&str]) -> Result<Built, Failure> {
    let packages = packages.iter().flat_map(|package| ["--package", package]);
    let cargo = Tool::cargo().args(["build", "--locked", "--profile", profile]).args(packages);
    let bench = build(cargo.within(root.path()))?.into_iter().find(|built| built.name == "cofferdam-bench");
    bench.ok_or_else(|| Failure::new("cargo built no benchmarks"))
}

/// What cannot be installed is left out, and the benchmarks say so.
fn install_peers() {
    let missing = PEERS.iter().filter(|(program, _)| {
        !["/usr/local/bin", "/usr/bin", "/bin"].iter().any(|place| root_has(place, program))
    });
    for (program, package) in missing {
        eprintln!("installing {package}");
        let apt = Tool::new("apt-get").env("DEBIAN_FRONTEND", "noninteractive").arg("-qq");
        if !apt.args(["install", "-y", "--no-install-recommends", package]).succeeds() {
            eprintln!("{program} is not installed and cannot be: it is left out");
        }
    }
}

fn root_has(place: &str, program: &str) -> bool {
    std::path::Path::new(place).join(program).is_file()
}
