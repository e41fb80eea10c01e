//! Linked as the program itself is (`crates/cli/build.rs`): what is measured runs in a copy of this one, and one that can
//! lie anywhere has a megabyte more of its own, and reads as much at its start.

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let is = |name: &str, value: &str| env::var(name).is_ok_and(|found| found == value);
    let static_glibc = is("CARGO_CFG_TARGET_ENV", "gnu")
        && env::var("CARGO_CFG_TARGET_FEATURE").is_ok_and(|features| features.contains("crt-static"));
    if is("CARGO_CFG_TARGET_OS", "linux") && static_glibc {
        for argument in ["-static", "-no-pie"] {
            println!("cargo::rustc-link-arg-bins={argument}");
        }
    }
}
