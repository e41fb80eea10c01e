//! How the program is linked, and what it begins with.
//!
//! Its first instructions (`crates/short-way`) run before the C library. They are compiled into one object by the
//! compiler itself, because cargo cannot build a part of a program without the standard library. The object brings its own
//! `memcpy` and the like, for the C library's are not ready yet; so every name in it but the first is made its own.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// A crate of the first instructions: its name, its root, and what it is linked with.
struct Part {
    name: &'static str,
    root: &'static str,
    uses: &'static [&'static str],
}

const LIBRARIES: &[Part] = &[
    Part { name: "cofferdam_linux_sys", root: "linux-sys/src/first.rs", uses: &[] },
    Part { name: "cofferdam_short_way", root: "short-way/src/lib.rs", uses: &["cofferdam_linux_sys"] },
];

const FIRST: Part = Part {
    name: "first",
    root: "short-way/program/first.rs",
    uses: &["cofferdam_linux_sys", "cofferdam_short_way"],
};

/// Where the kernel begins.
const ENTRY: &str = "cofferdam_first";

const OPTIONS: &[&str] = &[
    "--edition=2024",
    "-Copt-level=3",
    "-Cpanic=abort",
    "-Clto=fat",
    "-Ccodegen-units=1",
    "-Crelocation-model=static",
    // As an ordinary crate it is linted with the others; here it is a part of itself, with names that nobody calls.
    "--cap-lints=allow",
];

/// Linked as a program, so that it is optimised as a whole, but to be linked again.
const ONE_OBJECT: &[&str] = &[
    "--crate-type=bin",
    "-Clink-dead-code=yes",
    "-Clink-arg=-nostartfiles",
    "-Clink-arg=-nostdlib",
    "-Clink-arg=-r",
];

fn main() -> ExitCode {
    println!("cargo::rerun-if-changed=build.rs");
    let is = |name: &str, value: &str| env::var(name).is_ok_and(|found| found == value);
    let static_glibc = is("CARGO_CFG_TARGET_ENV", "gnu")
        && env::var("CARGO_CFG_TARGET_FEATURE").is_ok_and(|features| features.contains("crt-static"));
    if !is("CARGO_CFG_TARGET_OS", "linux") || !static_glibc {
        return ExitCode::SUCCESS;
    }
    // A program that can lie anywhere has its quarter of a million bytes of pointers corrected at every start, a page at a
    // time: as much work as a whole start of a small program, and a megabyte that is no longer shared. Memory, stacks
    // and libraries of the kernel lie at random places all the same.
    for argument in ["-static", "-no-pie"] {
        println!("cargo::rustc-link-arg-bin=cofferdam={argument}");
    }
    order();
    match first() {
        Ok(object) => {
            println!("cargo::rustc-link-arg-bin=cofferdam={}", object.display());
            println!("cargo::rustc-link-arg-bin=cofferdam=-Wl,-e,{ENTRY}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            println!("cargo::error=the first instructions of the program: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Puts the functions that a start runs next to each other, so that it touches few pages. They are known by the names that
/// the compiler of `cargo xtask order-start` has given them; a name that there is not is passed over.
fn order() {
    const ORDER: &str = "start-order.txt";
    println!("cargo::rerun-if-changed={ORDER}");
    let variable = |name: &str| env::var(name).unwrap_or_default();
    let flags = variable("CARGO_ENCODED_RUSTFLAGS");
    // The one linker that can is the compiler's own, which it takes on this processor if it is not told otherwise.
    let own_linker = variable("CARGO_CFG_TARGET_ARCH") == "x86_64" && !flags.contains("link");
    if own_linker && variable("PROFILE") == "release" {
        let file = Path::new(&variable("CARGO_MANIFEST_DIR")).join(ORDER);
        println!("cargo::rustc-link-arg-bin=cofferdam=-Wl,--symbol-ordering-file={}", file.display());
        println!("cargo::rustc-link-arg-bin=cofferdam=-Wl,--no-warn-symbol-ordering");
    }
}

/// Compiles the first instructions.
fn first() -> Result<PathBuf, String> {
    for watched in ["linux-sys/src/bare", "linux-sys/src/first.rs", "linux-sys/src/freestanding", "short-way"]
    {
        println!("cargo::rerun-if-changed=../{watched}");
    }
    let variable =
        |name: &str| env::var_os(name).map(PathBuf::from).ok_or_else(|| format!("{name} is not set"));
    let (compiler, out) = (variable("RUSTC")?, variable("OUT_DIR")?);
    for part in LIBRARIES {
        compile(&compiler, part, &out, &["--crate-type=rlib"])?;
    }
    compile(&compiler, &FIRST, &out, ONE_OBJECT)?;
    let object = out.join("cofferdam-first.o");
    let mut copy = tool(&copier(&compiler)?);
    copy.arg(format!("--keep-global-symbol={ENTRY}")).arg("--strip-debug");
    copy.arg(out.join(FIRST.name)).arg(&object);
    run(&mut copy).map(|()| object)
}

fn compile(compiler: &Path, part: &Part, out: &Path, kind: &[&str]) -> Result<(), String> {
    let mut command = tool(compiler);
    command.arg("--crate-name").arg(part.name).args(kind).args(OPTIONS);
    command.arg("--target").arg(env::var("TARGET").unwrap_or_default());
    command.arg("--out-dir").arg(out).arg("-L").arg(out).arg(Path::new("..").join(part.root));
    for used in part.uses {
        command.arg("--extern").arg(format!("{used}={}", out.join(format!("lib{used}.rlib")).display()));
    }
    run(&mut command)
}

/// The program that changes objects: the compiler's own, or the system's.
fn copier(compiler: &Path) -> Result<PathBuf, String> {
    let asked =
        tool(compiler).args(["--print", "target-libdir"]).output().map_err(|error| error.to_string())?;
    let libraries = PathBuf::from(String::from_utf8_lossy(&asked.stdout).trim());
    let own = libraries.join("../bin/rust-objcopy");
    Ok(if own.exists() { own } else { PathBuf::from("objcopy") })
}

fn run(command: &mut Command) -> Result<(), String> {
    let done = command.status().map_err(|error| format!("{}: {error}", command.get_program().display()))?;
    if done.success() {
        Ok(())
    } else {
        Err(format!("{} ended with {done}", command.get_program().display()))
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "a build script calls the compiler; nothing of it is in the product"
)]
fn tool(program: &Path) -> Command {
    Command::new(program)
}
