//! The ways in which a secret is written: what common encoders make of it, each as a string to look for.
//!
//! One string per encoder, not one pattern with alternatives at each byte: encoders are consistent, and only
//! plain strings give an automaton that is linear on any input. What nobody writes by accident (some letters
//! of a word percent-encoded and others not, two encodings on top of each other, ciphers, compression) is not here;
//! whoever serves compressed text unpacks it first.

use super::filter::SHORTEST;
use zeroize::Zeroizing;

/// A string to look for, and the index of the label it is reported under.
pub(super) struct Form {
    pub(super) bytes: Zeroizing<Vec<u8>>,
    pub(super) label: u32,
}

/// Escaping every byte makes a secret up to six times as long, and nobody writes whole documents that way.
const LONGEST_ALL_ESCAPED: usize = 512;
/// No form has fewer bytes than its secret but by this: what is left of base64 that a line broke early.
pub(super) const SHORTER_BY: usize = 1;
const LOWER: &[u8; 16] = b"0123456789abcdef";
const UPPER: &[u8; 16] = b"0123456789ABCDEF";

/// All forms of all secrets, sorted, each once; when two secrets share a form, the first one names it.
pub(super) fn all<'a>(secrets: impl Iterator<Item = (u32, &'a [u8])>) -> Vec<Form> {
    let mut forms: Vec<Form> = secrets
        .flat_map(|(label, secret)| of(secret).into_iter().map(move |bytes| Form { bytes, label }))
        .collect();
    forms.sort_by(|a, b| a.bytes.cmp(&b.bytes).then(a.label.cmp(&b.label)));
    forms.dedup_by(|later, first| later.bytes == first.bytes);
    forms
}

fn of(secret: &[u8]) -> Vec<Zeroizing<Vec<u8>>> {
    let mut forms = Vec::new();
    forms.push(encoded(secret, |byte, out| out.push(byte)));
    forms.push(encoded(secret, carriage_returns));
    json(secret, &mut forms);
    percent(secret, &mut forms);
    markup(secret, &mut forms);
    shell(secret, &mut forms);
    hex(secret, &mut forms);
    base64(secret, &mut forms);
    forms.push(utf16(secret));
    forms.retain(|form| form.len() >= SHORTEST);
    forms.sort_by(|a, b| a.cmp(b));
    forms.dedup();
    forms
}

/// `secret` with `write` applied to each byte. The room is reserved for the longest escape, so that growth
/// leaves no unwiped copy.
fn encoded(secret: &[u8], mut write: impl FnMut(u8, &mut Vec<u8>)) -> Zeroizing<Vec<u8>> {
    let mut out = Zeroizing::new(Vec::with_capacity(secret.len() * 6));
    for byte in secret {
        write(*byte, &mut out);
    }
    out
}

fn carriage_returns(byte: u8, out: &mut Vec<u8>) {
    if byte == b'\n' {
        out.push(b'\r');
    }
    out.push(byte);
}

fn hex_digits(byte: u8, digits: &[u8; 16], out: &mut Vec<u8>) {
    out.extend([digits[usize::from(byte >> 4)], digits[usize::from(byte & 15)]]);
}

/// What a JSON serializer escapes besides quotes, backslashes and control characters.
struct Json {
    /// ASCII characters written as `\u00XX`.
    escaped: &'static [u8],
    slash: bool,
    /// Characters outside ASCII as `\uXXXX`.
    ascii: bool,
    digits: &'static [u8; 16],
}

/// JavaScript, serde, Jackson · Python · PHP with and without `JSON_UNESCAPED_UNICODE` · Go · Gson · .NET.
const JSON: [Json; 7] = [
    Json { escaped: b"", slash: false, ascii: false, digits: LOWER },
    Json { escaped: b"", slash: false, ascii: true, digits: LOWER },
    Json { escaped: b"", slash: true, ascii: true, digits: LOWER },
    Json { escaped: b"", slash: true, ascii: false, digits: LOWER },
    Json { escaped: b"<>&", slash: false, ascii: false, digits: LOWER },
    Json { escaped: b"<>&='", slash: false, ascii: false, digits: LOWER },
    Json { escaped: b"<>&'+`\"", slash: false, ascii: true, digits: UPPER },
];

fn json(secret: &[u8], forms: &mut Vec<Zeroizing<Vec<u8>>>) {
    for style in &JSON {
        // A document that is not UTF-8 is not JSON; its ASCII escapes are still worth looking for.
        match std::str::from_utf8(secret) {
            Ok(text) if style.ascii => forms.push(json_ascii(text, style)),
            _ => forms.push(encoded(secret, |byte, out| style.byte(byte, out))),
        }
    }
    if secret.len() <= LONGEST_ALL_ESCAPED {
        for digits in [LOWER, UPPER] {
            forms.push(encoded(secret, |byte, out| unicode_escape(u16::from(byte), digits, out)));
        }
    }
}

fn json_ascii(text: &str, style: &Json) -> Zeroizing<Vec<u8>> {
    let mut out = Zeroizing::new(Vec::with_capacity(text.len() * 6));
    for character in text.chars() {
        if character.is_ascii() {
            style.byte(character as u8, &mut out);
        } else {
            for unit in character.encode_utf16(&mut [0; 2]) {
                unicode_escape(*unit, style.digits, &mut out);
            }
        }
    }
    out
}

impl Json {
    fn byte(&self, byte: u8, out: &mut Vec<u8>) {
        match byte {
            _ if self.escaped.contains(&byte) => unicode_escape(u16::from(byte), self.digits, out),
            b'"' | b'\\' => out.extend([b'\\', byte]),
            b'/' if self.slash => out.extend(b"\\/"),
            b'\n' => out.extend(b"\\n"),
            b'\r' => out.extend(b"\\r"),
            b'\t' => out.extend(b"\\t"),
            0x08 => out.extend(b"\\b"),
            0x0c => out.extend(b"\\f"),
            0x00..0x20 => unicode_escape(u16::from(byte), self.digits, out),
            _ => out.push(byte),
        }
    }
}

fn unicode_escape(unit: u16, digits: &[u8; 16], out: &mut Vec<u8>) {
    let [high, low] = unit.to_be_bytes();
    out.extend(b"\\u");
    hex_digits(high, digits, out);
    hex_digits(low, digits, out);
}

/// Characters that a percent-encoder leaves as they are, besides letters and digits:
/// none · RFC 3986 · `encodeURIComponent` · Python `quote` · a path segment · `encodeURI` · forms.
const UNRESERVED: [&[u8]; 7] =
    [b"", b"-._~", b"-._~!*'()", b"-._~/", b"-._~!$&'()*+,;=:@", b"-._~!*'();/?:@&=+$,#", b"-._*"];

fn percent(secret: &[u8], forms: &mut Vec<Zeroizing<Vec<u8>>>) {
    for digits in [LOWER, UPPER] {
        for unreserved in UNRESERVED {
            for space in [&b"%20"[..], b"+"] {
                forms.push(encoded(secret, |byte, out| match byte {
                    b' ' => out.extend(space),
                    _ if byte.is_ascii_alphanumeric() || unreserved.contains(&byte) => out.push(byte),
                    _ => percent_escape(byte, digits, out),
                }));
            }
        }
        if secret.len() <= LONGEST_ALL_ESCAPED {
            forms.push(encoded(secret, |byte, out| percent_escape(byte, digits, out)));
        }
    }
}

fn percent_escape(byte: u8, digits: &[u8; 16], out: &mut Vec<u8>) {
    out.push(b'%');
    hex_digits(byte, digits, out);
}

/// HTML and XML, in the three ways in which quotes are written.
fn markup(secret: &[u8], forms: &mut Vec<Zeroizing<Vec<u8>>>) {
    for (double, single) in
        [("&quot;", "&#39;"), ("&#34;", "&#39;"), ("&quot;", "&#x27;"), ("&quot;", "&apos;")]
    {
        forms.push(encoded(secret, |byte, out| match byte {
            b'&' => out.extend(b"&amp;"),
            b'<' => out.extend(b"&lt;"),
            b'>' => out.extend(b"&gt;"),
            b'"' => out.extend(double.bytes()),
            b'\'' => out.extend(single.bytes()),
            _ => out.push(byte),
        }));
    }
}

/// What shells print with `set -x`, `export -p` and `printf %q`, and what `repr` prints in Python.
fn shell(secret: &[u8], forms: &mut Vec<Zeroizing<Vec<u8>>>) {
    forms.push(encoded(secret, |byte, out| match byte {
        b'\'' => out.extend(b"'\\''"),
        _ => out.push(byte),
    }));
    for special in [&b"\"$`\\"[..], b"'\\", b" !\"#$&'()*;<=>?[\\]^`{|}~", b" !\"$&'()*,;<>?[\\]^`{|}"] {
        forms.push(encoded(secret, |byte, out| {
            if special.contains(&byte) {
                out.push(b'\\');
            }
            out.push(byte);
        }));
    }
    for quote in *b"'\"" {
        forms.push(encoded(secret, |byte, out| match byte {
            b'\\' => out.extend(b"\\\\"),
            b'\n' => out.extend(b"\\n"),
            b'\r' => out.extend(b"\\r"),
            b'\t' => out.extend(b"\\t"),
            _ if byte == quote => out.extend([b'\\', byte]),
            0x20..0x7f => out.push(byte),
            _ => hexadecimal_escape(byte, out),
        }));
    }
    if secret.len() <= LONGEST_ALL_ESCAPED {
        forms.push(encoded(secret, hexadecimal_escape));
    }
}

fn hexadecimal_escape(byte: u8, out: &mut Vec<u8>) {
    out.extend(b"\\x");
    hex_digits(byte, LOWER, out);
}

fn hex(secret: &[u8], forms: &mut Vec<Zeroizing<Vec<u8>>>) {
    for digits in [LOWER, UPPER] {
        let whole = encoded(secret, |byte, out| hex_digits(byte, digits, out));
        broken_early(&whole, 6, forms);
        forms.push(whole);
    }
}

/// A line may break inside a form, but not in its first eight bytes, where the filter looks. So what follows a
/// break in there is a form of its own, and the few bytes on the line before are all that is left standing.
fn broken_early(whole: &[u8], skipped: usize, forms: &mut Vec<Zeroizing<Vec<u8>>>) {
    // Short rests are common words of the encoding, not secrets.
    if whole.len() >= skipped + 2 * SHORTEST {
        forms.push(Zeroizing::new(whole[skipped..].to_vec()));
    }
}

const STANDARD: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const URL_SAFE: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

fn base64(secret: &[u8], forms: &mut Vec<Zeroizing<Vec<u8>>>) {
    // The offset of the secret in a group of three, and the characters before the last group of four that
    // starts within the first eight.
    for (offset, early) in [(0, 4), (1, 6), (2, 5)] {
        for alphabet in [STANDARD, URL_SAFE] {
            let whole = base64_at(secret, offset, alphabet);
            broken_early(&whole, early, forms);
            forms.push(whole);
        }
        let whole = base64_at(secret, offset, STANDARD);
        // In JSON with escaped slashes, and in a query.
        forms.push(encoded(&whole, |byte, out| match byte {
            b'/' => out.extend(b"\\/"),
            _ => out.push(byte),
        }));
        for digits in [LOWER, UPPER] {
            forms.push(encoded(&whole, |byte, out| match byte {
                b'/' | b'+' => percent_escape(byte, digits, out),
                _ => out.push(byte),
            }));
        }
    }
}

/// The characters that `secret` alone determines when it starts `offset` bytes into a group of three. Padding
/// is not among them.
fn base64_at(secret: &[u8], offset: usize, alphabet: &[u8; 64]) -> Zeroizing<Vec<u8>> {
    let bit = |at: usize| match at.checked_sub(offset * 8) {
        Some(at) => secret.get(at / 8).map(|byte| byte >> (7 - at % 8) & 1),
        None => None,
    };
    let characters = (secret.len() + offset) * 8 / 6;
    let mut out = Zeroizing::new(Vec::with_capacity(characters));
    for character in 0..characters {
        let sextet = (0..6).try_fold(0, |value, at| Some(value << 1 | bit(character * 6 + at)?));
        out.extend(sextet.map(|value: u8| alphabet[usize::from(value)]));
    }
    out
}

/// What little and big endian UTF-16 of an ASCII secret have in common.
fn utf16(secret: &[u8]) -> Zeroizing<Vec<u8>> {
    let mut out = encoded(secret, |byte, out| out.extend([byte, 0]));
    out.pop();
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_form_is_shorter_than_its_secret_by_more_than_is_said() {
        let alphabets: [&[u8]; 4] = [b"aZ09", b"\xff\xfe", b" /+=", "\u{e9}\u{20ac}\u{1f600}".as_bytes()];
        for (length, alphabet) in
            (SHORTEST..64).chain(508..516).flat_map(|length| alphabets.map(|bytes| (length, bytes)))
        {
            let secret: Vec<u8> = alphabet.iter().copied().cycle().take(length).collect();
            let shortest = of(&secret).iter().map(|form| form.len()).min();
            assert!(shortest.is_some_and(|shortest| shortest + SHORTER_BY >= length), "{length}");
        }
    }
}
