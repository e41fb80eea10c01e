//! What a script sends over its descriptor: cut anywhere, the frames are the same, and whatever is in them is a request
//! or an answer that says why not.

#![no_main]

use cofferdam_exec_broker::frame::{Arrived, Decoder};
use cofferdam_exec_broker::message;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (Vec<u8>, Vec<u8>)| {
    let (bytes, cuts) = input;
    let whole = frames(&bytes, &[]);
    assert_eq!(frames(&bytes, &cuts), whole);
    for arrived in whole {
        if let Arrived::Body(body) = arrived {
            match message::read(&body) {
                Ok(request) => assert!(serde_json::to_vec(&request).is_ok()),
                Err(response) => assert!(!response.to_frame().is_empty()),
            }
        }
    }
});

/// Each byte of `cuts` is the length of a chunk; what is left after them comes in one piece.
fn frames(mut bytes: &[u8], cuts: &[u8]) -> Vec<Arrived> {
    let (mut decoder, mut got) = (Decoder::default(), Vec::new());
    for length in cuts {
        let (chunk, rest) = bytes.split_at(bytes.len().min(usize::from(*length)));
        decoder.push(chunk);
        got.extend(std::iter::from_fn(|| decoder.pull()));
        bytes = rest;
    }
    decoder.push(bytes);
    got.extend(std::iter::from_fn(|| decoder.pull()));
    got
}
