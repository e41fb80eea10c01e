//! Strings as the languages write them: where they end, and what they stand for.

use crate::language::Language;

/// What stands between the quotes of a string.
pub(crate) fn inside(literal: &str) -> &str {
    let Some(first) = literal.chars().next() else { return "" };
    if matches!(first, 'q' | '%') {
        let open = literal.find(|c: char| !c.is_alphabetic() && c != '%').unwrap_or(literal.len());
        return literal.get(open + 1..literal.len() - 1).unwrap_or_default();
    }
    let triple =
        literal.len() >= 6 && literal.as_bytes()[..3].iter().all(|byte| *byte == literal.as_bytes()[0]);
    let width = if triple { 3 } else { 1 };
    literal.get(width..literal.len() - width).unwrap_or_default()
}

/// Whether a backslash in it is one, but for those in front of another and of the quote.
pub(crate) fn is_plain(literal: &str, language: Language) -> bool {
    matches!(language, Language::Perl | Language::Php | Language::Ruby)
        && (literal.starts_with('\'')
            || literal.starts_with("%q")
            || literal.starts_with('q') && !literal.starts_with("qq"))
}

/// Where a string ends that is written with an operator (`q{…}`, `qq(…)`, `%w[…]`), and whether nothing in it is replaced.
pub(crate) fn operator_end(bytes: &[u8], at: usize, language: Language) -> Option<(usize, bool)> {
    let kinds: &[&[u8]] = match (language, bytes[at]) {
        (Language::Perl, b'q') => &[b"qq", b"qw", b"q"],
        (Language::Ruby, b'%') => &[b"%q", b"%Q", b"%w", b"%W"],
        _ => return None,
    };
    if at > 0 && (bytes[at - 1].is_ascii_alphanumeric() || b"_$@%&{>\\".contains(&bytes[at - 1])) {
        return None;
    }
    let kind = kinds.iter().find(|kind| bytes[at..].starts_with(kind))?;
    let open = at + kind.len();
    let opening = *bytes.get(open)?;
    let closing = match opening {
        b'{' => b'}',
        b'(' => b')',
        b'[' => b']',
        b'<' => b'>',
        b'|' | b'/' | b'!' | b'~' | b'#' => opening,
        _ => return None,
    };
    let mut depth = 0usize;
    let mut end = open + 1;
    while end < bytes.len() {
        match bytes[end] {
            b'\\' => end += 1,
            byte if byte == closing && depth == 0 => {
                return Some((end + 1, !matches!(*kind, b"qq" | b"%Q" | b"%W")));
            }
            byte if byte == closing => depth -= 1,
            byte if byte == opening => depth += 1,
            _ => {}
        }
        end += 1;
    }
    None
}

/// The text without what a backslash keeps from being replaced: `\$x` is no variable.
pub(crate) fn without_escapes(text: &str) -> std::borrow::Cow<'_, str> {
    if !text.contains('\\') {
        return text.into();
    }
    let mut kept = String::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(character) = rest.next() {
        if character == '\\' {
            rest.next();
        } else {
            kept.push(character);
        }
    }
    kept.into()
}

pub(crate) fn unescape(text: &str) -> String {
    if !text.contains('\\') {
        return text.to_owned();
    }
    let mut plain = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(character) = rest.next() {
        if character != '\\' {
            plain.push(character);
            continue;
        }
        match rest.next() {
            Some('n') => plain.push('\n'),
            Some('t') => plain.push('\t'),
            Some('r') => plain.push('\r'),
            Some(kind @ ('x' | 'u')) => {
                let braced = rest.next_if_eq(&'{').is_some();
                let most = if braced {
                    6
                } else if kind == 'x' {
                    2
                } else {
                    4
                };
                plain.push(number(&mut rest, 16, most).unwrap_or(kind));
                if braced {
                    rest.next_if_eq(&'}');
                }
            }
            Some(first @ '0'..='7') => {
                let mut digits = first.to_string();
                while digits.len() < 3
                    && let Some(digit) = rest.next_if(|c| c.is_digit(8))
                {
                    digits.push(digit);
                }
                let value = u32::from_str_radix(&digits, 8).ok().and_then(char::from_u32);
                plain.push(value.filter(|c| *c != '\0').unwrap_or(' '));
            }
            Some('\n') => {}
            Some(other) => plain.push(other),
            None => plain.push('\\'),
        }
    }
    plain
}

fn number(rest: &mut std::iter::Peekable<std::str::Chars<'_>>, radix: u32, most: usize) -> Option<char> {
    let mut digits = String::new();
    while digits.len() < most
        && let Some(digit) = rest.next_if(|c| c.is_digit(radix))
    {
        digits.push(digit);
    }
    u32::from_str_radix(&digits, radix).ok().and_then(char::from_u32)
}

/// Python text in which `import subprocess as sp` and `from shutil import rmtree as r` are taken back, so that what is
/// called bears the name that it is known by.
pub(crate) fn without_new_names(code: &str) -> String {
    let mut text = code.to_owned();
    if !code.contains(" as ") {
        return text;
    }
    for statement in code.split(['\n', ';']).map(str::trim) {
        let Some((_, names)) = statement.split_once("import ") else { continue };
        for pair in names.split(',').take(16) {
            let Some((known, new)) = pair.trim().split_once(" as ") else { continue };
            let (known, new) = (known.trim().trim_start_matches('('), new.trim().trim_end_matches(')'));
            let name = |text: &str| {
                !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '.')
            };
            if name(known) && name(new) && known != new {
                text = renamed(&text, new, known);
            }
        }
    }
    text
}

fn renamed(text: &str, from: &str, to: &str) -> String {
    let mut whole = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(from) {
        let before = rest[..at].chars().next_back().or(whole.chars().next_back().filter(|_| at == 0));
        let after = rest[at + from.len()..].chars().next();
        let own = !before.is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | '.' | '"' | '\''));
        whole.push_str(&rest[..at]);
        whole.push_str(if own && matches!(after, Some('.' | '(')) { to } else { from });
        rest = &rest[at + from.len()..];
    }
    whole.push_str(rest);
    whole
}
