use super::*;

const SECRET: &str = "sk-canary-7f3a9b2c4d5e6f70";

fn patterns() -> Arc<Patterns> {
    Arc::new(Patterns::new([("api", SECRET.as_bytes())]).0)
}

fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
    let length = match payload.len() {
        short @ ..126 => vec![short as u8],
        middle @ ..65536 => [&[126][..], &(middle as u16).to_be_bytes()].concat(),
        long => [&[127][..], &(long as u64).to_be_bytes()].concat(),
    };
    [&[first][..], &length, payload].concat()
}

fn masked(first: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = frame(first, payload);
    let head = bytes.len() - payload.len();
    bytes[1] |= 0x80;
    let mask = [7, 99, 250, 13];
    let text = payload.iter().zip(mask.iter().cycle()).map(|(byte, key)| byte ^ key);
    [&bytes[..head], &mask, &text.collect::<Vec<_>>()].concat()
}

/// What comes out if the bytes come in pieces with borders at these places.
fn covered(bytes: &[u8], borders: &[usize]) -> (Vec<u8>, u64) {
    let (mut covered, mut out, mut from) = (Covered::new(patterns()), Vec::new(), 0);
    for to in borders.iter().copied().chain([bytes.len()]) {
        covered.push(&bytes[from..to], &mut out).expect("frames");
        from = to;
    }
    (out, covered.matches())
}

#[test]
fn req_e01_a_secret_in_a_message_is_covered_however_it_is_cut() {
    let stars = "*".repeat(SECRET.len());
    let text = |secret: &str| format!("{{\"key\": \"{secret}\"}}");
    let whole = [frame(0x81, text(SECRET).as_bytes()), frame(0x81, b"ok"), frame(0x88, &[])].concat();
    let clean = [frame(0x81, text(&stars).as_bytes()), frame(0x81, b"ok"), frame(0x88, &[])].concat();
    for first in 0..=whole.len() {
        for second in [first, (first + 3).min(whole.len())] {
            assert_eq!(covered(&whole, &[first, second]), (clean.clone(), 1), "{first} {second}");
        }
    }
}

#[test]
fn req_e01_a_secret_is_covered_though_frames_and_pings_divide_it() {
    let stars = "*".repeat(SECRET.len());
    for cut in 0..=SECRET.len() {
        let parts = |text: &str| {
            let (one, two) = text.split_at(cut);
            [frame(1, one.as_bytes()), frame(0x89, b"ping"), frame(0x80, two.as_bytes())].concat()
        };
        let bytes = parts(SECRET);
        for border in [0, cut, cut + 2, cut + 5, bytes.len()] {
            assert_eq!(covered(&bytes, &[border]), (parts(&stars), 1), "{cut} {border}");
        }
    }
}

#[test]
fn what_only_begins_like_a_secret_is_out_when_its_message_is() {
    let bytes = [frame(0x81, &SECRET.as_bytes()[..9]), frame(2, b"x")].concat();
    assert_eq!(covered(&bytes, &[4]), (bytes.clone(), 0));
    let long = frame(0x82, &vec![b's'; 70_000]);
    assert_eq!(covered(&long, &[1, 3, 11, 60_000]), (long.clone(), 0));
}

#[test]
fn a_clients_messages_are_read_without_their_masks_however_they_are_cut() {
    let bytes =
        [masked(1, b"one, "), masked(0x8a, b"pong"), masked(0x80, b"two"), masked(0x82, b"x")].concat();
    for border in 0..=bytes.len() {
        let (mut unmasked, mut messages, mut text) = (Unmasked::default(), Vec::new(), Vec::new());
        for piece in [&bytes[..border], &bytes[border..]] {
            let look = |part: &[u8]| match part {
                [] => messages.push(std::mem::take(&mut text)),
                part => text.extend_from_slice(part),
            };
            unmasked.push(piece, look).expect("frames");
        }
        assert_eq!(messages, [&b"one, two"[..], b"x"], "{border}");
    }
}

#[test]
fn what_is_no_frame_is_told() {
    for wrong in [&[0xc1, 0][..], &[0x83, 0], &[0x8b, 0], &[0x89, 126, 0, 200]] {
        assert_eq!(Unmasked::default().push(wrong, |_| {}), Err(Malformed), "{wrong:?}");
    }
}
