//! Shell patterns matched against known text.

/// One element of a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Element {
    Literal(char),
    AnyString,
    AnyCharacter,
    Class(String),
}

/// Whether the pattern matches the whole text: the usual two-pointer walk with one place to go back to.
pub(crate) fn matches(pattern: &[Element], text: &[char]) -> bool {
    let (mut at, mut here) = (0, 0);
    let mut back: Option<(usize, usize)> = None;
    while here < text.len() {
        match pattern.get(at) {
            Some(Element::AnyString) => {
                back = Some((at, here));
                at += 1;
            }
            Some(element) if fits(element, text[here]) => {
                at += 1;
                here += 1;
            }
            _ => match back {
                Some((star, start)) => {
                    back = Some((star, start + 1));
                    at = star + 1;
                    here = start + 1;
                }
                None => return false,
            },
        }
    }
    pattern[at.min(pattern.len())..].iter().all(|element| *element == Element::AnyString)
}

fn fits(element: &Element, character: char) -> bool {
    match element {
        Element::Literal(literal) => *literal == character,
        Element::AnyString | Element::AnyCharacter => true,
        Element::Class(class) => in_class(class, character),
    }
}

fn in_class(class: &str, character: char) -> bool {
    let (class, negated) = match class.strip_prefix(['!', '^']) {
        Some(rest) => (rest, true),
        None => (class, false),
    };
    let named = [
        ("[:alpha:]", char::is_alphabetic as fn(char) -> bool),
        ("[:digit:]", |c| c.is_ascii_digit()),
        ("[:alnum:]", char::is_alphanumeric),
        ("[:space:]", char::is_whitespace),
        ("[:upper:]", char::is_uppercase),
        ("[:lower:]", char::is_lowercase),
    ];
    let mut found = named.iter().any(|(name, test)| class.contains(name) && test(character));
    let members: Vec<char> = class.chars().collect();
    let mut at = 0;
    while at < members.len() {
        if at + 2 < members.len() && members[at + 1] == '-' {
            found |= (members[at]..=members[at + 2]).contains(&character);
            at += 3;
        } else {
            found |= members[at] == character;
            at += 1;
        }
    }
    found != negated
}

/// Which end of a text a pattern is taken off, and how much of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trim {
    ShortestPrefix,
    LongestPrefix,
    ShortestSuffix,
    LongestSuffix,
}

/// The text without what the pattern matches at one end. `None` for texts too long to try every length on.
pub(crate) fn trim(text: &str, pattern: &[Element], trim: Trim) -> Option<String> {
    let chars: Vec<char> = text.chars().collect();
    if chars.len() > 1024 {
        return None;
    }
    let lengths: Vec<usize> = match trim {
        Trim::ShortestPrefix | Trim::ShortestSuffix => (0..=chars.len()).collect(),
        Trim::LongestPrefix | Trim::LongestSuffix => (0..=chars.len()).rev().collect(),
    };
    for length in lengths {
        let (part, rest) = match trim {
            Trim::ShortestPrefix | Trim::LongestPrefix => (&chars[..length], &chars[length..]),
            Trim::ShortestSuffix | Trim::LongestSuffix => {
                (&chars[chars.len() - length..], &chars[..chars.len() - length])
            }
        };
        if matches(pattern, part) {
            return Some(rest.iter().collect());
        }
    }
    Some(text.to_owned())
}

/// The text with the first or every match replaced, each match as long as possible.
pub(crate) fn replace(text: &str, pattern: &[Element], with: &str, all: bool) -> Option<String> {
    let chars: Vec<char> = text.chars().collect();
    if pattern.is_empty() {
        return Some(text.to_owned());
    }
    if chars.len() > 512 {
        return None;
    }
    let mut out = String::new();
    let mut at = 0;
    let mut done = false;
    while at < chars.len() {
        let found =
            (!done).then(|| (at + 1..=chars.len()).rev().find(|&end| matches(pattern, &chars[at..end])));
        if let Some(Some(end)) = found {
            out.push_str(with);
            at = end;
            done = !all;
        } else {
            out.push(chars[at]);
            at += 1;
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from_text(text: &str) -> Vec<Element> {
        let mut elements = Vec::new();
        let mut rest = text.chars();
        while let Some(character) = rest.next() {
            elements.push(match character {
                '*' => Element::AnyString,
                '?' => Element::AnyCharacter,
                '\\' => Element::Literal(rest.next().unwrap_or('\\')),
                '[' if rest.as_str().contains(']') => {
                    let end =
                        rest.as_str().char_indices().skip(1).find(|(_, c)| *c == ']').map_or(0, |(at, _)| at);
                    let class = rest.as_str()[..end].to_owned();
                    rest = rest.as_str()[end..].chars();
                    rest.next();
                    Element::Class(class)
                }
                other => Element::Literal(other),
            });
        }
        elements
    }

    fn trimmed(text: &str, pattern: &str, how: Trim) -> String {
        trim(text, &from_text(pattern), how).unwrap()
    }

    #[test]
    fn trims_like_a_shell() {
        assert_eq!(trimmed("xxrm", "x", Trim::ShortestPrefix), "xrm");
        assert_eq!(trimmed("a/b/c", "*/", Trim::ShortestPrefix), "b/c");
        assert_eq!(trimmed("a/b/c", "*/", Trim::LongestPrefix), "c");
        assert_eq!(trimmed("rm.txt", ".*", Trim::LongestSuffix), "rm");
        assert_eq!(trimmed("rm", "?", Trim::ShortestSuffix), "r");
    }

    #[test]
    fn replaces_like_a_shell() {
        assert_eq!(replace("rXm", &from_text("X"), "", false).unwrap(), "rm");
        assert_eq!(replace("aXbX", &from_text("X"), "-", true).unwrap(), "a-b-");
        assert_eq!(replace("abc", &from_text("[a-b]"), "z", true).unwrap(), "zzc");
    }
}
