//! A text that is parsed in pieces is the same text: the same commands with the same words, and the same doubts, but for
//! those of the second parser, which can be led astray by what stands far behind.

#![no_main]

use cofferdam_shell_syntax::{Doubt, Surroundings, parse_in_pieces_from};

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let read = |cut_from| {
        let (home, directory) = ("/home/me".to_owned(), "/home/me/project".to_owned());
        let mut parsed =
            parse_in_pieces_from(cut_from, text, Surroundings { home, directory, user: "me".to_owned() });
        parsed.doubts.retain(|doubt| *doubt != Doubt::Disagreement);
        parsed
    };
    let (whole, pieces) = (read(usize::MAX), read(0));
    assert_eq!(whole.commands, pieces.commands);
    assert_eq!(whole.doubts, pieces.doubts);
});
