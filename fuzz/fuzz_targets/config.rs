//! Any text is either a configuration or a list of mistakes that all lie within it; never a panic.
#![no_main]

use cofferdam_policy::document::{Config, Project};
use cofferdam_policy::mistake::Mistake;

libfuzzer_sys::fuzz_target!(|text: &str| {
    let lines = text.matches('\n').count() + 1;
    let check = |mistakes: Vec<Mistake>| {
        assert!(!mistakes.is_empty());
        for mistake in mistakes {
            assert!((1..=lines).contains(&mistake.line) && mistake.column >= 1, "{mistake}");
            assert!(!mistake.sentence.chars().any(char::is_control), "{mistake:?}");
        }
    };
    if let Err(mistakes) = Config::parse("config.toml", text) {
        check(mistakes);
    }
    if let Err(mistakes) = Project::parse(".cofferdam.toml", text) {
        check(mistakes);
    }
});
