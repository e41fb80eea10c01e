//! Reading the list of exported variables that bash writes (`export -p`).
//!
//! Asking bash for each variable by name would be simpler, and takes it longer than everything else it does.

/// Every variable as `NAME=VALUE`; none if this is not such a list.
pub fn variables(list: &[u8]) -> Option<Vec<Vec<u8>>> {
    let mut variables = Vec::new();
    let mut rest = list;
    while !rest.is_empty() {
        let (flags, after) = word(rest.strip_prefix(b"declare -")?)?;
        let (assignment, after) = assignment(after)?;
        rest = after;
        // An array is exported by name only; a name without a value is not exported at all.
        let is_array = flags.iter().any(|flag| matches!(flag, b'a' | b'A'));
        if !is_array && assignment.contains(&b'=') {
            variables.push(assignment);
        }
    }
    Some(variables)
}

fn word(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let space = text.iter().position(|byte| *byte == b' ')?;
    Some((&text[..space], &text[space + 1..]))
}

/// Up to the end of the line, with quotes resolved; the line may go on inside them.
fn assignment(text: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let mut plain = Vec::new();
    let mut rest = text;
    loop {
        let (&first, after) = rest.split_first()?;
        rest = match (first, after) {
            (b'\n', after) => return Some((plain, after)),
            (b'"', after) => double_quoted(after, &mut plain)?,
            (b'$', [b'\'', after @ ..]) => escaped(after, &mut plain)?,
            (other, after) => {
                plain.push(other);
                after
            }
        };
    }
}

fn double_quoted<'a>(mut rest: &'a [u8], plain: &mut Vec<u8>) -> Option<&'a [u8]> {
    loop {
        rest = match rest {
            [b'"', after @ ..] => return Some(after),
            [b'\\', quoted @ (b'"' | b'$' | b'`' | b'\\'), after @ ..] => {
                plain.push(*quoted);
                after
            }
            [other, after @ ..] => {
                plain.push(*other);
                after
            }
            [] => return None,
        };
    }
}

fn escaped<'a>(mut rest: &'a [u8], plain: &mut Vec<u8>) -> Option<&'a [u8]> {
    loop {
        rest = match rest {
            [b'\'', after @ ..] => return Some(after),
            [b'\\', a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', after @ ..] => {
                plain.push((a - b'0') << 6 | (b - b'0') << 3 | (c - b'0'));
                after
            }
            [b'\\', letter, after @ ..] => {
                plain.push(match letter {
                    b'a' => 0x07,
                    b'b' => 0x08,
                    b't' => b'\t',
                    b'n' => b'\n',
                    b'v' => 0x0b,
                    b'f' => 0x0c,
                    b'r' => b'\r',
                    b'E' | b'e' => 0x1b,
                    other => *other,
                });
                after
            }
            [other, after @ ..] => {
                plain.push(*other);
                after
            }
            [] => return None,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_a_value_is_read() {
        let list = b"declare -x A=\"plain\"\ndeclare -ix N=\"5\"\ndeclare -x NONE\ndeclare -x EMPTY=\"\"\n\
            declare -x Q=\"a\\\"b\\$c\\`d\\\\e 'f'\"\ndeclare -x L=\"two\nlines\"\n\
            declare -ax LIST=([0]=\"x\" [1]=$'y\\n')\ndeclare -x E=$'\\001\\E\\t\\'\\\\\\n\\377'\n";
        let read = variables(list).unwrap();
        let expected: [&[u8]; 6] =
            [b"A=plain", b"N=5", b"EMPTY=", b"Q=a\"b$c`d\\e 'f'", b"L=two\nlines", b"E=\x01\x1b\t'\\\n\xff"];
        assert_eq!(read, expected);
    }

    #[test]
    fn what_is_no_list_is_none() {
        for broken in
            ["x", "declare -x A=\"open\n", "declare -x A=$'open\n", "declare -x", "declare -x A=\"a\""]
        {
            assert!(variables(broken.as_bytes()).is_none(), "{broken}");
        }
        assert_eq!(variables(b""), Some(Vec::new()));
    }
}
