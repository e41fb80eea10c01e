//! What a person sees of the command line. The commands are found by reading the help, so that a new one is
//! held to the same promises without being added here.

use std::fs;

use cofferdam_testkit::{Cofferdam, Home, Outcome, assert_snapshot};

const BINARY: &str = env!("CARGO_BIN_EXE_cofferdam");
const SNAPSHOTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/snapshots");

fn run(args: &[&str]) -> Outcome {
    Cofferdam::new(BINARY, &Home::new()).args(args).run()
}

/// Every command that the help names, with the words that lead to it; the empty one is the program itself.
fn commands() -> Vec<Vec<String>> {
    let mut found = vec![Vec::new()];
    let mut next = 0;
    while let Some(words) = found.get(next).cloned() {
        next += 1;
        for name in subcommands(&help(&words)) {
            found.push(words.iter().cloned().chain([name]).collect());
        }
    }
    assert!(found.len() > 3, "the help names no commands");
    found
}

fn help(words: &[String]) -> String {
    let outcome = Cofferdam::new(BINARY, &Home::new()).args(words).arg("--help").run();
    outcome.expect_status(0).stdout()
}

/// The first words of the lines below "Commands:"; lines that go on from the one before are indented more.
fn subcommands(help: &str) -> Vec<String> {
    help.lines()
        .skip_while(|line| *line != "Commands:")
        .skip(1)
        .take_while(|line| !line.is_empty())
        .filter_map(|line| line.strip_prefix("  ").filter(|line| !line.starts_with(' ')))
        .filter_map(|line| line.split_whitespace().next().map(str::to_owned))
        .collect()
}

#[test]
fn every_command_has_help_with_examples_of_itself() {
    for words in commands() {
        let help = help(&words);
        let called =
            ["cofferdam"].into_iter().chain(words.iter().map(String::as_str)).collect::<Vec<_>>().join(" ");
        let Some((_, examples)) = help.split_once("\nExamples:\n") else {
            panic!("{called} --help has no examples:\n{help}");
        };
        assert!(
            examples.lines().any(|line| line.trim_start().starts_with("cofferdam ")),
            "no example of {called} can be typed:\n{examples}"
        );
        assert!(examples.contains(&called), "the examples of {called} are of something else:\n{examples}");
        assert!(help.contains(&format!("Usage: {called}")), "{called}:\n{help}");
        assert!(!help.lines().next().unwrap_or_default().is_empty(), "{called} says nothing of itself");
    }
}

#[test]
fn the_short_help_has_examples_too() {
    for words in commands() {
        let outcome = Cofferdam::new(BINARY, &Home::new()).args(&words).arg("-h").run();
        assert!(outcome.expect_status(0).stdout().contains("\nExamples:\n"), "{words:?}");
    }
}

#[test]
fn help_fits_on_a_page_of_a_hundred_columns() {
    for words in commands() {
        for line in help(&words).lines().filter(|line| !line.trim_start().starts_with("cofferdam ")) {
            assert!(line.chars().count() <= 100, "{words:?}: {line}");
        }
    }
}

#[test]
fn every_command_refuses_an_unknown_flag_in_our_own_words() {
    for words in commands() {
        let outcome = Cofferdam::new(BINARY, &Home::new()).args(&words).arg("--no-such-flag").run();
        // An agent that calls a hook takes every other number for a yes.
        let outcome = outcome.expect_status(if words == ["hook"] { 2 } else { 64 });
        assert_eq!(outcome.stdout(), "", "{words:?}");
        let stderr = outcome.stderr();
        assert!(stderr.starts_with("cofferdam: unexpected argument '--no-such-flag' found\n"), "{stderr}");
        assert!(stderr.lines().skip(1).all(|line| line.starts_with("hint: ")), "{stderr}");
        assert!(stderr.lines().count() > 1, "no hint: {stderr}");
    }
}

#[test]
fn mistakes_look_like_this() {
    let mut seen = String::new();
    for args in [
        &[][..],
        &["read-gaurd", "x"],
        &["read-guard"],
        &["read-guard", "--jsn", "x"],
        &["read-guard", "--json", "--print", "x"],
        &["read-guard", "one", "two"],
        &["read-guard", "missing"],
        &["read-guard", "/proc/self/environ"],
        &["read-guard", "/dev/zero"],
        &["read-guard", "."],
        &["completions", "bsh"],
        &["completions"],
        &["man", "--dir", "missing"],
        &["man", "--dir"],
    ] {
        let outcome = run(args);
        let typed = ["cofferdam"].iter().chain(args).copied().collect::<Vec<_>>().join(" ");
        seen.push_str(&format!("$ {typed}\n{}{}", outcome.stdout(), outcome.stderr()));
        seen.push_str(&format!("status {}\n\n", outcome.status()));
    }
    assert_snapshot(SNAPSHOTS, "mistakes.txt", &seen);
}

#[test]
fn what_was_typed_cannot_act_on_the_terminal() {
    // The parser drops some of these itself; the last one, an introducer of eight bits, it does not.
    for typed in ["\u{1b}[31mred", "\u{7}\u{1b}]0;title\u{7}", "\u{9b}31mred"] {
        let stderr = run(&["read-guard", "x", typed]).expect_status(64).stderr();
        let acting = |letter: char| letter.is_control() && letter != '\n';
        assert!(!stderr.contains(acting), "{stderr:?}");
    }
    assert!(run(&["\u{9b}31mred"]).stderr().contains("\\u{9b}31mred"));
}

#[test]
fn the_help_of_these_commands_looks_like_this() {
    for command in ["read-guard", "completions", "man"] {
        let text = help(&[command.to_owned()]);
        assert_snapshot(SNAPSHOTS, &format!("help-{command}.txt"), &text);
    }
}

#[test]
fn a_verdict_for_machines_looks_like_this() {
    let seen: String = ["/proc/self/environ", "/dev/zero", "/proc/version"]
        .map(|path| run(&["read-guard", "--json", path]).stdout())
        .concat();
    assert_snapshot(SNAPSHOTS, "read-guard.json", &seen);
}

#[test]
fn the_version_is_that_of_the_package() {
    let version = run(&["--version"]).expect_status(0);
    assert_eq!(version.stdout(), concat!("cofferdam ", env!("CARGO_PKG_VERSION"), "\n"));
}

/// Runs the program with a terminal as its standard output.
fn on_a_terminal(args: &str, no_color: Option<&str>) -> String {
    let home = Home::new();
    let mut script = Cofferdam::new("/usr/bin/script", &home)
        .args(["--quiet", "--return", "--command", &format!("{BINARY} {args}"), "/dev/null"])
        .env("TERM", "xterm-256color");
    if let Some(value) = no_color {
        script = script.env("NO_COLOR", value);
    }
    script.run().stdout()
}

#[test]
fn colour_is_for_terminals_and_never_with_no_color() {
    for words in commands() {
        let args = format!("{} --help", words.join(" "));
        assert!(on_a_terminal(&args, None).contains("\u{1b}["), "{args}: no colour on a terminal");
        assert!(!on_a_terminal(&args, Some("1")).contains("\u{1b}["), "{args}: colour in spite of NO_COLOR");
        assert!(!help(&words).contains('\u{1b}'), "{args}: colour in a pipe");
    }
}

#[test]
fn completions_know_every_command_and_are_valid() {
    let home = Home::new();
    let names: Vec<String> = commands().into_iter().filter_map(|mut words| words.pop()).collect();
    for shell in ["bash", "zsh", "fish"] {
        let script = run(&["completions", shell]).expect_status(0).stdout();
        for name in &names {
            assert!(script.contains(name.as_str()), "{shell} does not know {name}");
        }
    }
    let script = home.write("completions", run(&["completions", "bash"]).stdout());
    let ask = format!(
        ". {}; COMP_WORDS=(cofferdam read-); COMP_CWORD=1; _cofferdam cofferdam read- cofferdam; echo ${{COMPREPLY[*]}}",
        script.display()
    );
    let answer = Cofferdam::new("/bin/bash", &home).args(["-euc", &ask]).run().expect_status(0);
    assert_eq!(answer.stdout(), "read-guard\n");
}

#[test]
fn the_manual_has_a_page_for_every_command() {
    let home = Home::new();
    let directory = home.path().join("man1");
    fs::create_dir(&directory).unwrap();
    Cofferdam::new(BINARY, &home).args(["man", "--dir", "man1"]).run().expect_status(0);
    for words in commands() {
        let name = ["cofferdam".to_owned()].into_iter().chain(words).collect::<Vec<_>>().join("-");
        let page = fs::read_to_string(directory.join(format!("{name}.1"))).expect("a page");
        for part in [".SH NAME", ".SH SYNOPSIS", "Examples:"] {
            assert!(page.contains(part), "{name}.1 has no {part}");
        }
    }
    let printed = run(&["man"]).expect_status(0).stdout();
    assert_eq!(printed, fs::read_to_string(directory.join("cofferdam.1")).unwrap());
}

#[test]
fn a_reader_that_has_seen_enough_is_no_failure() {
    let home = Home::new();
    for args in ["completions bash", "man", "read-guard --print /proc/cpuinfo", "--help"] {
        let script = format!("set -o pipefail; {BINARY} {args} | head -c 1 >/dev/null");
        let outcome = Cofferdam::new("/bin/bash", &home).args(["-c", &script]).run();
        assert_eq!(outcome.stderr(), "", "{args}");
        outcome.expect_status(0);
    }
}

#[test]
fn a_time_or_size_without_its_unit_is_told_the_units() {
    let home = Home::new();
    for (option, value, unit) in [("--timeout", "5", "ms, s, m, h or d"), ("--memory", "64", "MiB")] {
        let outcome = Cofferdam::new(BINARY, &home).args(["run", option, value, "--", "true"]).run();
        let told = outcome.expect_status(64).stderr();
        assert!(told.contains("hint: a") && told.contains(unit), "{told}");
    }
}
