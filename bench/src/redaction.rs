//! How fast a stream passes when there is nothing to remove, next to the limit (one needle, `memmem`) and to
//! what one would take instead (`aho-corasick` with the same strings), and what the worst input costs.

use crate::harness::{Bench, Case, Unit};
use aho_corasick::AhoCorasick;
use cofferdam_secrets::redaction::{Passed, Patterns, Redactor, Replacement};
use std::hint::black_box;
use std::sync::Arc;

const SIZE: usize = 8 << 20;
/// As a proxy reads them.
const CHUNK: usize = 64 << 10;

pub fn run(bench: &mut Bench) {
    for (name, text) in [("prose", prose()), ("json", json()), ("base64", base64()), ("hex", hex())] {
        clean(bench, name, &text);
    }
    chunk_sizes(bench);
    worst(bench);
    compile(bench);
}

fn clean(bench: &mut Bench, name: &str, text: &[u8]) {
    let sets = [1, 10, 50, 500].map(|count| (count, keys(count)));
    let needle = memchr::memmem::Finder::new(&sets[0].1[0]).into_owned();
    let mut cases = vec![Case {
        name: "memmem, one needle (limit)".to_owned(),
        round: Box::new(move || {
            for chunk in text.chunks(CHUNK) {
                black_box(needle.find(chunk));
            }
        }),
    }];
    for (count, keys) in sets {
        let patterns = compiled(&keys);
        let shapes = Arc::clone(&patterns);
        cases.push(case(format!("{count} secrets"), text, CHUNK, move || {
            Redactor::new(Arc::clone(&patterns), Replacement::Marker)
        }));
        cases.push(case(format!("{count} secrets and shapes"), text, CHUNK, move || {
            Redactor::new(Arc::clone(&shapes), Replacement::Marker).with_shapes(Arc::default())
        }));
        if count <= 50 {
            cases.push(peer(count, &keys, text));
        }
    }
    bench.side_by_side(&format!("clean {name}"), Unit::BytesPerSecond, text.len() as f64, cases);
}

/// Three strings of each secret in the peer (raw and hex): fewer than ours, and it neither streams nor replaces.
fn peer<'a>(count: usize, keys: &[Vec<u8>], text: &'a [u8]) -> Case<'a> {
    let strings = keys.iter().flat_map(|key| {
        let lower: String = key.iter().map(|byte| format!("{byte:02x}")).collect();
        [key.clone(), lower.to_uppercase().into_bytes(), lower.into_bytes()]
    });
    let peer = AhoCorasick::new(strings).expect("a few hundred strings");
    Case {
        name: format!("aho-corasick, {count} secrets × 3 strings (peer)"),
        round: Box::new(move || {
            for chunk in text.chunks(CHUNK) {
                black_box(peer.find(chunk));
            }
        }),
    }
}

/// Events of a stream are small; what is done once per chunk shows here.
fn chunk_sizes(bench: &mut Bench) {
    let text = json();
    let patterns = compiled(&keys(50));
    let cases = [64, 256, 1024, 16 << 10].map(|size| {
        let patterns = Arc::clone(&patterns);
        case(format!("chunks of {size} bytes"), &text, size, move || {
            Redactor::new(Arc::clone(&patterns), Replacement::Marker)
        })
    });
    bench.side_by_side("json, 50 secrets", Unit::BytesPerSecond, text.len() as f64, cases.into());
}

/// Inputs made to be slow. Each is measured at one and at four times the length: linear means equal speed.
fn worst(bench: &mut Bench) {
    let mut secrets = keys(50);
    secrets.push(vec![b'a'; 64]);
    let near: Vec<u8> = secrets[7][..secrets[7].len() - 1].to_vec();
    let inputs: [(&str, Vec<u8>); 5] = [
        ("only a, and 64 a is a secret", b"a".to_vec()),
        ("63 a and a b", [&[b'a'; 63][..], b"b"].concat()),
        ("a secret without its last byte", near),
        ("what all keys begin with", b"sk-ant-api03-".to_vec()),
        ("escapes", b"\\u0073\\u00".to_vec()),
    ];
    let patterns = compiled(&secrets);
    for (name, unit) in inputs {
        let long: Vec<u8> = unit.iter().copied().cycle().take(SIZE / 4).collect();
        let short = &long[..long.len() / 4];
        let make = || {
            let patterns = Arc::clone(&patterns);
            move || Redactor::new(Arc::clone(&patterns), Replacement::SameLength(b'*'))
        };
        let mut four = case("a quarter, four times".to_owned(), short, CHUNK, make());
        let cases = vec![
            case("whole".to_owned(), &long, CHUNK, make()),
            Case { name: four.name, round: Box::new(move || (0..4).for_each(|_| (four.round)())) },
        ];
        bench.side_by_side(&format!("worst case: {name}"), Unit::BytesPerSecond, long.len() as f64, cases);
    }
}

fn compile(bench: &mut Bench) {
    let sets = [1, 50, 500].map(keys);
    let cases = sets.iter().map(|keys| Case {
        name: format!("{} secrets", keys.len()),
        round: Box::new(move || {
            black_box(compiled(keys));
        }),
    });
    bench.side_by_side("compile", Unit::Seconds, 1.0, cases.collect());
}

fn case<'a>(name: String, text: &'a [u8], size: usize, make: impl Fn() -> Redactor + 'a) -> Case<'a> {
    let mut out = Vec::new();
    let round = move || {
        let mut redactor = make();
        for chunk in text.chunks(size) {
            if let Passed::Prefix(end) = redactor.push(chunk, &mut out) {
                black_box(&chunk[..end]);
            }
            out.clear();
        }
        redactor.finish(&mut out);
        black_box(&out);
    };
    Case { name, round: Box::new(round) }
}

pub fn compiled(keys: &[Vec<u8>]) -> Arc<Patterns> {
    let (patterns, refused) = Patterns::new(keys.iter().map(|key| ("bench", key.as_slice())));
    assert!(refused.is_empty());
    Arc::new(patterns)
}

/// Half of them long with a beginning in common, as one provider's keys have, half of them short.
pub fn keys(count: usize) -> Vec<Vec<u8>> {
    let mut random = Random(7);
    let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    (0..count)
        .map(|index| {
            let (prefix, length) = if index % 2 == 0 { (&b"sk-ant-api03-"[..], 80) } else { (&b""[..], 32) };
            let mut key = prefix.to_vec();
            key.extend((0..length).map(|_| *random.one_of(alphabet)));
            key
        })
        .collect()
}

/// Repeatable, so that two runs measure the same.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let mixed = (self.0 ^ (self.0 >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
        mixed ^ (mixed >> 33)
    }

    fn one_of<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        &choices[(self.next() % choices.len() as u64) as usize]
    }
}

const WORDS: [&str; 24] = [
    "the",
    "task",
    "of",
    "a",
    "proxy",
    "is",
    "to",
    "pass",
    "on",
    "what",
    "it",
    "reads",
    "and",
    "nothing",
    "else",
    "token",
    "github",
    "risk-free",
    "npm",
    "response",
    "streaming",
    "key",
    "and",
    "install",
];

fn filled(mut next: impl FnMut(&mut Random) -> String) -> Vec<u8> {
    let mut random = Random(1);
    let mut text = Vec::with_capacity(SIZE + 1024);
    while text.len() < SIZE {
        text.extend_from_slice(next(&mut random).as_bytes());
    }
    text.truncate(SIZE);
    text
}

fn prose() -> Vec<u8> {
    filled(|random| format!("{} ", random.one_of(&WORDS)))
}

pub fn json() -> Vec<u8> {
    filled(|random| {
        format!(
            "data: {{\"id\":\"msg_{:x}\",\"type\":\"content_block_delta\",\"index\":{},\"delta\":{{\"text\":\"{} {}\\n\\u00e9 {}\"}}}}\n\n",
            random.next(),
            random.next() % 9,
            random.one_of(&WORDS),
            random.one_of(&WORDS),
            random.one_of(&WORDS),
        )
    })
}

fn base64() -> Vec<u8> {
    let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    filled(|random| {
        let line: String = (0..76).map(|_| char::from(*random.one_of(alphabet))).collect();
        line + "\n"
    })
}

fn hex() -> Vec<u8> {
    filled(|random| format!("{:016x}", random.next()))
}
