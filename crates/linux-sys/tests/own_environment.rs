//! A program of its own, because the harness of ordinary tests has threads.

use std::{env, fs};

use cofferdam_linux_sys::own_environment::{Erased, erase};

const NAME: &str = "COFFERDAM_TEST_ERASED";
const OTHER: &str = "COFFERDAM_TEST_KEPT";

fn main() {
    // What test runners ask for before they run anything.
    if env::args().any(|argument| argument == "--list") {
        if !env::args().any(|argument| argument == "--ignored") {
            println!("req_e09_an_erased_variable_is_gone_from_proc: test");
        }
        return;
    }
    // The kernel shows the variables that a program was started with, so this one starts itself with them.
    if env::var_os(NAME).is_none() {
        let variables = [(NAME, "a value that is to vanish"), (OTHER, "another")];
        panic!("{}", restart(&variables));
    }
    req_e09_an_erased_variable_is_gone_from_proc();
}

/// Becomes this program again, with these variables added; returns only if that failed.
#[expect(clippy::disallowed_methods, reason = "a test that needs variables of its own")]
fn restart(variables: &[(&str, &str)]) -> std::io::Error {
    use std::os::unix::process::CommandExt;
    let program = env::current_exe().expect("this program");
    std::process::Command::new(program).args(env::args_os().skip(1)).envs(variables.iter().copied()).exec()
}

fn req_e09_an_erased_variable_is_gone_from_proc() {
    let value = env::var(NAME).expect("set by `restart`");
    let in_proc = || {
        let block = fs::read("/proc/self/environ").expect("our own environment");
        block.windows(value.len()).any(|window| window == value.as_bytes())
    };
    assert!(in_proc(), "the kernel shows it before");

    let thread = std::thread::spawn(std::thread::park);
    assert_eq!(erase(NAME.as_ref()), Erased::OtherThreads);
    assert!(in_proc() && env::var_os(NAME).is_some());
    thread.thread().unpark();
    thread.join().expect("the thread ends");
    // Joined is not yet gone for the kernel.
    while erase(NAME.as_ref()) == Erased::OtherThreads {
        std::thread::yield_now();
    }

    assert!(!in_proc(), "the value is still there");
    assert_eq!(env::var_os(NAME), None);
    assert_eq!(env::var(OTHER).as_deref(), Ok("another"), "others are untouched");
    assert_eq!(erase(NAME.as_ref()), Erased::NotSet);
}
