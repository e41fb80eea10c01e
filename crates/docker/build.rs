//! Compiles the programs that are put into containers, and hands them over as files to be included.
//!
//! They are built without a C library and without the standard one, which cargo cannot ask for one program of a
//! workspace alone; and they are carried in the one binary, so that there is nothing else to install. The compiler
//! is called directly: three small crates, no dependency, no second build directory.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// A crate of a program: its name, its root, and what it is linked with.
struct Part {
    name: &'static str,
    root: &'static str,
    kind: &'static str,
    uses: &'static [&'static str],
}

const PARTS: &[Part] = &[
    Part { name: "cofferdam_linux_sys", root: "linux-sys/src/freestanding.rs", kind: "rlib", uses: &[] },
    Part { name: "cofferdam_shim", root: "shim/src/lib.rs", kind: "rlib", uses: &["cofferdam_linux_sys"] },
    Part {
        name: "shim",
        root: "shim/programs/shim.rs",
        kind: "bin",
        uses: &["cofferdam_linux_sys", "cofferdam_shim"],
    },
    Part {
        name: "door",
        root: "shim/programs/door.rs",
        kind: "bin",
        uses: &["cofferdam_linux_sys", "cofferdam_shim"],
    },
];

/// Small, without a loader, without anything that comes from outside.
const OPTIONS: &[&str] = &[
    "--edition=2024",
    "-Copt-level=s",
    "-Cpanic=abort",
    "-Clto=fat",
    "-Ccodegen-units=1",
    "-Cstrip=symbols",
    "-Crelocation-model=static",
    "-Ctarget-feature=+crt-static",
    "-Clink-arg=-nostartfiles",
    "-Clink-arg=-nostdlib",
    "-Clink-arg=-static",
    "-Clink-arg=-Wl,--build-id=none,-z,noexecstack,-z,noseparate-code",
];

fn main() -> ExitCode {
    for watched in
        ["linux-sys/src/bare", "linux-sys/src/freestanding.rs", "linux-sys/src/freestanding", "shim"]
    {
        println!("cargo::rerun-if-changed=../{watched}");
    }
    let variable = |name: &str| env::var_os(name).map(PathBuf::from);
    let (Some(compiler), Some(out), Some(here)) =
        (variable("RUSTC"), variable("OUT_DIR"), variable("CARGO_MANIFEST_DIR"))
    else {
        println!("cargo::error=this is a build script, for cargo to run");
        return ExitCode::FAILURE;
    };
    let target = env::var("TARGET").unwrap_or_default();
    for part in PARTS {
        if let Err(error) = compile(&compiler, part, &here.join("..").join(part.root), (&target, &out)) {
            println!("cargo::error={}: {error}", part.root);
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

fn compile(compiler: &Path, part: &Part, root: &Path, (target, out): (&str, &Path)) -> Result<(), String> {
    let mut command = compiler_command(compiler);
    command.arg("--crate-name").arg(part.name).arg("--crate-type").arg(part.kind).arg("--target").arg(target);
    command.args(OPTIONS).arg("--out-dir").arg(out).arg("-L").arg(out).arg(root);
    for used in part.uses {
        command.arg("--extern").arg(format!("{used}={}", out.join(format!("lib{used}.rlib")).display()));
    }
    let done = command.status().map_err(|error| error.to_string())?;
    if done.success() { Ok(()) } else { Err(format!("the compiler ended with {done}")) }
}

#[expect(
    clippy::disallowed_methods,
    reason = "a build script calls the compiler; nothing of it is in the product"
)]
fn compiler_command(compiler: &Path) -> Command {
    Command::new(compiler)
}
