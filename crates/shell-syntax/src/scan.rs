//! The look at the bytes that comes before any parser: what is too long, too deep or not text is not parsed.
//!
//! Deep nesting is counted from brackets, quotes and keywords without understanding them, so it may count
//! too much (a text full of opening brackets), never too little. One of the parsers would overflow its stack
//! and take the whole process with it.

use crate::Doubt;

/// Longer texts are not looked at by the parsers at all.
pub const LONGEST: usize = 1 << 20;
/// Longer texts get no second opinion.
pub(crate) const LONGEST_SECOND: usize = 64 * 1024;
const DEEPEST: usize = 60;

/// Whether the text can be parsed at all.
pub(crate) fn admit(text: &str) -> Result<(), Doubt> {
    if text.len() > LONGEST {
        return Err(Doubt::TooLong);
    }
    if text.as_bytes().contains(&0) {
        return Err(Doubt::ControlCharacters);
    }
    if depth(text.as_bytes()) > DEEPEST {
        return Err(Doubt::TooDeep);
    }
    Ok(())
}

/// The first parser miscounts the place of a command within a command where letters of several bytes stand around it,
/// and ends the process. There, and only there, such letters are replaced by as many plain ones: none of them is an
/// operator, a quote or part of the name of a program that the rules know.
pub(crate) fn masked(text: &str) -> Option<String> {
    let nested = ["`", "$(", "${", "<(", ">(", "$["];
    if text.is_ascii() || !nested.iter().any(|opening| text.contains(opening)) {
        return None;
    }
    let plain = |c: char| {
        let (c, count) = if c.is_ascii() { (c, 1) } else { ('_', c.len_utf8()) };
        std::iter::repeat_n(c, count)
    };
    Some(text.chars().flat_map(plain).collect())
}

/// The bytes that open or close something, or let a command start.
const COUNTS: [bool; 256] = {
    let (mut counts, mut at) = ([false; 256], 0);
    while at < 256 {
        counts[at] = matches!(
            at as u8,
            b'(' | b'{' | b'[' | b')' | b'}' | b']' | b'\n' | b';' | b'&' | b'|' | b'`' | b'!'
        );
        at += 1;
    }
    counts
};

/// How deep brackets and keywords nest if every one of them counts. Quoted closing brackets can make it count
/// too little, so it is not the only line of defence: the first parser has a limit of its own, and the second
/// runs on a stack that is large enough for every opening bracket ([`openings`]).
fn depth(bytes: &[u8]) -> usize {
    let (mut depth, mut deepest) = (0usize, 0usize);
    let mut command_may_start = true;
    let mut at = 0;
    while at < bytes.len() {
        // Where no command can start, words are nothing but words.
        if !command_may_start && !COUNTS[usize::from(bytes[at])] {
            at += 1;
            continue;
        }
        let start = at;
        match bytes[at] {
            b'(' | b'{' | b'[' => depth += 1,
            b')' | b'}' | b']' => depth = depth.saturating_sub(1),
            byte if byte.is_ascii_alphabetic() => {
                while at + 1 < bytes.len() && (bytes[at + 1].is_ascii_alphanumeric() || bytes[at + 1] == b'_')
                {
                    at += 1;
                }
                if command_may_start {
                    let word = &bytes[start..=at];
                    match word {
                        b"if" | b"while" | b"until" | b"for" | b"case" | b"select" => depth += 1,
                        b"fi" | b"done" | b"esac" => depth = depth.saturating_sub(1),
                        _ => {}
                    }
                    command_may_start = matches!(
                        word,
                        b"if" | b"while" | b"until" | b"then" | b"do" | b"else" | b"elif" | b"time"
                    );
                }
            }
            _ => {}
        }
        match bytes[start] {
            b'\n' | b';' | b'&' | b'|' | b'(' | b'{' | b'`' | b'!' | b')' => command_may_start = true,
            b' ' | b'\t' => {}
            byte if byte.is_ascii_alphabetic() => {}
            _ => command_may_start = false,
        }
        deepest = deepest.max(depth);
        at += 1;
    }
    deepest
}

/// Everything that can open a level of nesting, closed or not: no text nests deeper than this.
pub(crate) fn openings(text: &str) -> usize {
    let brackets = text.bytes().filter(|byte| matches!(byte, b'(' | b'{' | b'`')).count();
    let keywords = ["if", "while", "until", "for", "case"];
    brackets + keywords.iter().map(|keyword| text.matches(keyword).count()).sum::<usize>()
}

/// How many round brackets are open at once, outside of quotes.
///
/// The second parser takes the first of them for arithmetic, tries every reading of all that are within it, and takes half
/// as long again for each.
pub(crate) fn round_depth(text: &str) -> usize {
    let bytes = text.as_bytes();
    // Brackets, and quotes with brackets within them.
    let (mut open, mut depth, mut deepest) = (Vec::new(), 0_usize, 0);
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let quoted = open.last() == Some(&b'"');
        match byte {
            b'\\' => at += 1,
            b'\'' if !quoted => at += 1 + bytes[at + 1..].iter().take_while(|byte| **byte != b'\'').count(),
            b'"' if quoted => drop(open.pop()),
            b'"' => open.push(b'"'),
            b'(' if !quoted || at > 0 && bytes[at - 1] == b'$' => {
                open.push(b'(');
                depth += 1;
                deepest = deepest.max(depth);
            }
            b')' if open.last() == Some(&b'(') => {
                open.pop();
                depth -= 1;
            }
            _ => {}
        }
        at += 1;
    }
    deepest
}

/// Whether a text is nothing but ASCII that can be seen, blanks and ends of lines. By parts: within one, nothing depends on
/// what was found before, and so many bytes are compared at once.
pub(crate) fn is_printable(text: &str) -> bool {
    let printable = |byte: u8| matches!(byte, b' '..=b'~' | b'\n' | b'\t');
    text.as_bytes().chunks(64).all(|part| part.iter().fold(true, |all, byte| all & printable(*byte)))
}

/// Characters that make a person see another text than the shell does: terminal escapes, direction
/// overrides, invisible and tag characters.
pub fn misleading(text: &str) -> Option<char> {
    if is_printable(text) {
        return None;
    }
    text.replace("\r\n", "\n").chars().find(|&character| {
        matches!(character,
            '\u{0}'..='\u{8}' | '\u{b}'..='\u{1f}' | '\u{7f}'..='\u{9f}'
            | '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}'
            | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
    })
}
