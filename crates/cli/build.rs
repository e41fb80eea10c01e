//! How the program is linked.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let release = std::env::var("PROFILE").is_ok_and(|profile| profile == "release");
    let linux = std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|system| system == "linux");
    let static_glibc = std::env::var("CARGO_CFG_TARGET_ENV").is_ok_and(|library| library == "gnu")
        && std::env::var("CARGO_CFG_TARGET_FEATURE").is_ok_and(|features| features.contains("crt-static"));
    // A program that can lie anywhere has its quarter of a million bytes of pointers corrected at every start, a page at a
    // time: as much work as a whole start of a small program, and a megabyte that is no longer shared. Memory, stacks
    // and libraries of the kernel lie at random places all the same.
    if release && linux && static_glibc {
        for argument in ["-static", "-no-pie"] {
            println!("cargo::rustc-link-arg-bin=cofferdam={argument}");
        }
    }
}
