mod against_naive;
mod known_forms;
mod known_shapes;
mod naive;

use super::{Patterns, Redactor, Replacement};
use std::sync::Arc;

fn patterns(secrets: &[(&str, &[u8])]) -> Arc<Patterns> {
    let (patterns, refused) = Patterns::new(secrets.iter().copied());
    assert_eq!(refused, []);
    Arc::new(patterns)
}

/// The whole of `chunks` through one redactor.
fn run<'a>(mut redactor: Redactor, chunks: impl IntoIterator<Item = &'a [u8]>) -> Vec<u8> {
    let mut out = Vec::new();
    for chunk in chunks {
        redactor.push_all(chunk, &mut out);
    }
    redactor.finish(&mut out);
    out
}

fn marked(patterns: &Arc<Patterns>, text: &[u8]) -> String {
    let out = run(Redactor::new(Arc::clone(patterns), Replacement::Marker), [text]);
    String::from_utf8_lossy(&out).into_owned()
}

fn contains(text: &[u8], needle: &[u8]) -> bool {
    text.windows(needle.len()).any(|window| window == needle)
}
