//! Rust source as text that can be searched: comments and literals blanked, everything else in its place.
//!
//! A search for a name must not stumble over prose or test data. Parsing whole files would need a parser of
//! the language, minutes of compiling for questions that a look at the words answers; what the words cannot
//! tell (types behind an alias), clippy's `disallowed_methods` does.

/// The source with every comment, string and character literal replaced by spaces; lines stay lines.
pub fn code_only(source: &str) -> String {
    let bytes = source.as_bytes();
    let mut code = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let length = literal_or_comment(bytes, at);
        if length == 0 {
            code.push(bytes[at]);
            at += 1;
        } else {
            code.extend(bytes[at..at + length].iter().map(|&byte| if byte == b'\n' { b'\n' } else { b' ' }));
            at += length;
        }
    }
    String::from_utf8_lossy(&code).into_owned()
}

/// How many bytes from here on are a comment or a literal; 0 if none starts here.
fn literal_or_comment(bytes: &[u8], at: usize) -> usize {
    let rest = &bytes[at..];
    if rest.starts_with(b"//") {
        return rest.iter().position(|&byte| byte == b'\n').unwrap_or(rest.len());
    }
    if rest.starts_with(b"/*") {
        return block_comment(rest);
    }
    let in_word = at > 0 && is_word(bytes[at - 1]);
    match rest[0] {
        b'"' => quoted(rest, b'"'),
        b'\'' => character(rest),
        b'r' | b'b' | b'c' if !in_word => prefixed(rest),
        _ => 0,
    }
}

fn block_comment(rest: &[u8]) -> usize {
    let mut depth = 0_usize;
    let mut at = 0;
    while at < rest.len() {
        if rest[at..].starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if rest[at..].starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    rest.len()
}

/// A literal with escapes, from its opening quote to its closing one.
fn quoted(rest: &[u8], quote: u8) -> usize {
    let mut at = 1;
    while at < rest.len() {
        match rest[at] {
            b'\\' => at += 2,
            byte if byte == quote => return at + 1,
            _ => at += 1,
        }
    }
    rest.len()
}

/// A character literal; a lifetime or a label is none.
fn character(rest: &[u8]) -> usize {
    if rest.get(1) == Some(&b'\\') {
        return quoted(rest, b'\'');
    }
    let width = std::str::from_utf8(&rest[1..rest.len().min(5)])
        .or_else(|error| std::str::from_utf8(&rest[1..1 + error.valid_up_to()]))
        .ok()
        .and_then(|text| text.chars().next())
        .map_or(0, char::len_utf8);
    if width > 0 && rest.get(1 + width) == Some(&b'\'') { width + 2 } else { 0 }
}

/// Literals with a prefix: `b"…"`, `c"…"`, `b'…'`, `r"…"`, `br#"…"#`, `cr#"…"#`.
fn prefixed(rest: &[u8]) -> usize {
    let letters = rest.iter().take(2).take_while(|byte| matches!(byte, b'r' | b'b' | b'c')).count();
    let raw = rest[letters - 1] == b'r';
    let hashes = if raw { rest[letters..].iter().take_while(|&&byte| byte == b'#').count() } else { 0 };
    let body = &rest[letters + hashes..];
    match body.first() {
        Some(b'"') if raw => {
            let mut end = vec![b'"'];
            end.resize(1 + hashes, b'#');
            let closing = body[1..].windows(end.len()).position(|window| window == end);
            closing.map_or(rest.len(), |position| letters + hashes + 1 + position + end.len())
        }
        Some(b'"') => letters + quoted(body, b'"'),
        Some(b'\'') if rest[0] == b'b' && letters == 1 => letters + quoted(body, b'\''),
        _ => 0,
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

/// The line, counted from 1, that a byte of the text is on.
pub fn line_of(text: &str, at: usize) -> usize {
    1 + text.as_bytes()[..at].iter().filter(|&&byte| byte == b'\n').count()
}

/// A word of code or a single sign, with where it starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Word<'a> {
    pub text: &'a str,
    pub at: usize,
}

/// The words and signs of code that [`code_only`] left over.
pub fn words(code: &str) -> Vec<Word<'_>> {
    let bytes = code.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let length = bytes[at..].iter().take_while(|&&byte| is_word(byte)).count().max(1);
        if !bytes[at].is_ascii_whitespace() {
            found.push(Word { text: &code[at..at + length], at });
        }
        at += length;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prose_and_literals_are_blanked_and_code_stays_in_its_place() {
        let cases = [
            ("a // b\nc", "a     \nc"),
            ("a /* b /* c */ d */ e", "a                   e"),
            ("f(\"x // y\") g", "f(        ) g"),
            (r#"f("\"x") g"#, "f(     ) g"),
            ("r#\"a\"b\"# c", "         c"),
            ("br\"\\\" c", "      c"),
            ("b'\\'' c", "      c"),
            ("'a' 'b: &'static str", "    'b: &'static str"),
            ("'\u{e4}' x", "     x"),
            ("'\\u{1}' x", "        x"),
            ("r#type x", "r#type x"),
            ("number\"\"", "number  "),
            ("a \"unclosed", "a          "),
        ];
        for (source, code) in cases {
            assert_eq!(code_only(source), code, "{source}");
        }
    }

    #[test]
    fn words_know_where_they_stand() {
        let found = words("a::b_2 (\n");
        let texts: Vec<(&str, usize)> = found.iter().map(|word| (word.text, word.at)).collect();
        assert_eq!(texts, [("a", 0), (":", 1), (":", 2), ("b_2", 3), ("(", 7)]);
    }
}
