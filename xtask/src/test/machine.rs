//! What a machine needs before the tests can run.

use std::path::Path;

use crate::failure::{Done, Failure};
use crate::process::Tool;

/// A program, the Debian package it comes in, and what it is for.
struct Need {
    program: &'static str,
    package: &'static str,
    purpose: &'static str,
}

const NEEDS: &[Need] = &[
    Need { program: "cc", package: "gcc", purpose: "linking" },
    Need { program: "c++", package: "g++", purpose: "libFuzzer" },
    Need { program: "curl", package: "curl", purpose: "a real client in tests" },
    Need { program: "git", package: "git", purpose: "a real client in tests" },
    Need { program: "python3", package: "python3-pip", purpose: "real clients in tests" },
    Need { program: "npm", package: "npm", purpose: "real clients in tests" },
    Need { program: "javac", package: "default-jdk-headless", purpose: "a real client in tests" },
    Need { program: "go", package: "golang-go", purpose: "a real client in tests" },
    Need { program: "secret-tool", package: "libsecret-tools", purpose: "the keyring as a source" },
    Need { program: "gnome-keyring-daemon", package: "gnome-keyring", purpose: "the keyring as a source" },
    Need { program: "dbus-run-session", package: "dbus-daemon", purpose: "the keyring as a source" },
    Need { program: "jq", package: "jq", purpose: "the peer of the record's benchmarks" },
    Need { program: "python3", package: "python3", purpose: "scripts with tools, and the Python client" },
    Need { program: "pip3", package: "python3-pip", purpose: "the packages below" },
    Need { program: "node", package: "nodejs", purpose: "scripts with tools" },
    Need { program: "busybox", package: "busybox-static", purpose: "images of test containers" },
    Need { program: "podman", package: "podman", purpose: "test containers" },
    Need { program: "runc", package: "runc", purpose: "test containers of podman" },
    Need { program: "dockerd", package: "docker.io", purpose: "test containers" },
    Need { program: "bwrap", package: "bubblewrap", purpose: "the reference of the attacks" },
    Need { program: "docker-compose", package: "docker-compose", purpose: "projects of test containers" },
    Need { program: "systemd-analyze", package: "systemd", purpose: "the units of the service" },
    Need { program: "ip", package: "iproute2", purpose: "networks of test containers" },
    Need { program: "iptables", package: "iptables", purpose: "the network of dockerd" },
];

/// Packages of Python that tests use as their users do, at these versions, in the project's cache.
const PYTHON_PACKAGES: &[&str] = &["mcp==1.26.0"];
const PYTHON_PLACE: &str = ".cache/test/python";

const COMPONENTS: &[(&str, &str)] = &[("rustfmt", "fmt"), ("clippy", "clippy")];

/// Installs what is missing, as root; otherwise says what to install.
pub fn prepare() -> Done {
    let missing: Vec<&Need> = NEEDS.iter().filter(|need| !is_on_path(need.program)).collect();
    if !missing.is_empty() {
        install(&missing)?;
    }
    python_packages()?;
    for (component, subcommand) in COMPONENTS {
        if !Tool::cargo().args([subcommand, "--version"]).succeeds() {
            println!("adding the toolchain's {component}");
            Tool::new("rustup").args(["component", "add", component]).run()?;
        }
    }
    Ok(())
}

/// Installs what is not there at its version; without a network, what is there must do.
fn python_packages() -> Done {
    let is_there = |package: &&&str| {
        let name = package.replace("==", "-");
        Path::new(PYTHON_PLACE).join(format!("{name}.dist-info")).is_dir()
    };
    let missing: Vec<&&str> = PYTHON_PACKAGES.iter().filter(|package| !is_there(package)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    println!("installing {missing:?} into {PYTHON_PLACE}");
    let pip =
        Tool::new("python3").args(["-m", "pip", "install", "--quiet", "--upgrade", "--target", PYTHON_PLACE]);
    pip.args(missing.into_iter().copied()).run()
}

fn install(missing: &[&Need]) -> Done {
    let packages: Vec<&str> = missing.iter().map(|need| need.package).collect();
    let why: Vec<String> =
        missing.iter().map(|need| format!("{}: needed for {}", need.program, need.purpose)).collect();
    let by_hand = Failure::new("programs that the tests need are not installed")
        .findings(why)
        .hint(format!("sudo apt-get install {}", packages.join(" ")));
    if !super::is_root() || !is_on_path("apt-get") {
        return Err(by_hand);
    }
    println!("installing {}", packages.join(", "));
    let apt =
        || Tool::new("apt-get").env("DEBIAN_FRONTEND", "noninteractive").env("RUNLEVEL", "1").arg("-qq");
    apt().arg("update").run()?;
    apt().args(["install", "-y", "--no-install-recommends"]).args(packages).run()
}

fn is_on_path(program: &str) -> bool {
    // An ordinary user's path lacks the programs of the administrator.
    let mut path = std::env::var_os("PATH").unwrap_or_default();
    path.push(":/usr/sbin:/sbin");
    std::env::split_paths(&path).any(|directory| Path::new(&directory).join(program).is_file())
}
