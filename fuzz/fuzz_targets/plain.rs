//! What is read without the parsers is what both parsers read: the same commands with the same words, and no doubt that
//! they would have had.

#![no_main]

use cofferdam_shell_syntax::{Surroundings, is_plain, parse, parse_by_parsers_alone};

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if !is_plain(text) {
        return;
    }
    let (home, directory) = ("/home/me".to_owned(), "/home/me/project".to_owned());
    let surroundings = Surroundings { home, directory, user: "me".to_owned() };
    let (ours, theirs) = (parse(text, surroundings.clone()), parse_by_parsers_alone(text, surroundings));
    assert_eq!(ours.commands, theirs.commands);
    assert_eq!(ours.doubts, theirs.doubts);
});
