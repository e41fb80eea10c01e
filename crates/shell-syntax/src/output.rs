//! What a command would print, where that follows from its words and its known input alone.
//!
//! Only programs that are used to build commands out of pieces are covered. Everything else prints something
//! unknown, which is always a safe answer.

use crate::{FileContent, Input, Shell, Word};

/// The known output of a command; `None` when it is not known.
pub(crate) fn of(shell: &Shell, argv: &[Word], input: &Input) -> Option<Word> {
    let name = argv.first()?.as_known()?;
    let name = name.bytes().rposition(|byte| byte == b'/').map_or(name, |at| &name[at + 1..]);
    let rest = &argv[1..];
    match name {
        "echo" => return Some(echo(rest)),
        "printf" => return printf(rest).map(Word::known),
        "true" | ":" | "false" | "mkdir" | "rm" | "touch" | "chmod" | "sleep" | "export" | "unset"
        | "wait" | "cd" | "set" | "shopt" | "read" | "alias" | "test" | "[" => return Some(Word::default()),
        "cat" | "tee" | "dd" if operands(rest).next().is_none() || name != "cat" => {
            return input.text().cloned();
        }
        "cat" => return files(shell, rest),
        "pwd" => return shell.directory.as_ref().map(|directory| Word::known(format!("{directory}\n"))),
        "mktemp" => return Some(Word::known("/tmp/tmp.cofferdam\n")),
        "whoami" => return Some(Word::known(format!("{}\n", shell.surroundings.user))),
        "which" | "command" | "type" => {
            let last = rest.last()?.as_known()?;
            return Some(Word::known(format!("{last}\n")));
        }
        "basename" | "dirname" => {
            let path = operands(rest).next()?;
            let (parent, base) = path.trim_end_matches('/').rsplit_once('/').unwrap_or((".", path));
            let parent = if parent.is_empty() { "/" } else { parent };
            return Some(Word::known(format!("{}\n", if name == "basename" { base } else { parent })));
        }
        "realpath" | "readlink" => {
            let path = operands(rest).next()?;
            let known = !path.contains(crate::HOLE) && (path.starts_with('/') || shell.directory.is_some());
            let directory = shell.directory.as_deref().unwrap_or_default();
            return known.then(|| Word::known(format!("{}\n", crate::normalise(directory, path))));
        }
        "seq" => return seq(rest),
        _ => {}
    }
    let text = match input {
        Input::Text(word) | Input::Pipe { output: word, .. } => word,
        Input::Inherited | Input::File(_) => return None,
    };
    let changed = match text.as_known() {
        Some(known) => filter(name, rest, known)?,
        None => framed(name, rest)?,
    };
    Some(text.with_text(changed))
}

fn operands(rest: &[Word]) -> impl Iterator<Item = &str> {
    rest.iter().map(Word::text).filter(|text| !text.starts_with('-'))
}

fn flag(rest: &[Word], flags: &[&str]) -> bool {
    rest.iter().any(|word| flags.contains(&word.text()))
}

fn files(shell: &Shell, rest: &[Word]) -> Option<Word> {
    let mut all = Word::default();
    for path in operands(rest) {
        match shell.file(path)? {
            FileContent::Text(text) => all.push(text),
            FileContent::Same(_) => return None,
        }
    }
    Some(all)
}

fn echo(rest: &[Word]) -> Word {
    let mut words = rest;
    let (mut newline, mut interpret) = (true, false);
    while let [first, more @ ..] = words {
        let flags = first.text().strip_prefix('-').unwrap_or_default();
        if flags.is_empty() || !flags.chars().all(|c| matches!(c, 'n' | 'e' | 'E')) {
            break;
        }
        newline &= !flags.contains('n');
        interpret |= flags.contains('e');
        words = more;
    }
    let mut output = Word::default();
    for (at, word) in words.iter().enumerate() {
        if at > 0 {
            output.push_str(" ");
        }
        output.push(word);
    }
    output.clear_glob();
    if interpret {
        output = output.with_text(escapes(output.text()));
    }
    if newline {
        output.push_str("\n");
    }
    output
}

/// Backslash escapes of `printf`, `echo -e` and `$'…'`.
pub(crate) fn escapes(text: &str) -> String {
    let mut bytes: Vec<u8> = Vec::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    let mut buffer = [0; 4];
    while let Some(character) = rest.next() {
        if character != '\\' {
            bytes.extend(character.encode_utf8(&mut buffer).bytes());
            continue;
        }
        match rest.next() {
            Some('n') => bytes.push(b'\n'),
            Some('t') => bytes.push(b'\t'),
            Some('r') => bytes.push(b'\r'),
            Some('a') => bytes.push(7),
            Some('e' | 'E') => bytes.push(27),
            Some('x') => bytes.push(u8::try_from(digits(&mut rest, 2, 16)).unwrap_or(b'?')),
            Some(kind @ ('u' | 'U')) => {
                let value = digits(&mut rest, if kind == 'u' { 4 } else { 8 }, 16);
                let character = char::from_u32(value).unwrap_or(crate::HOLE);
                bytes.extend(character.encode_utf8(&mut buffer).bytes());
            }
            Some(octal @ '0'..='7') => {
                let first = octal.to_digit(8).unwrap_or(0);
                let most = if octal == '0' { 3 } else { 2 };
                let mut value = first;
                for _ in 0..most {
                    let Some(digit) = rest.peek().and_then(|c| c.to_digit(8)) else { break };
                    value = value * 8 + digit;
                    rest.next();
                }
                bytes.push(u8::try_from(value & 0xff).unwrap_or(b'?'));
            }
            Some(other @ ('\\' | '\'' | '"' | '?')) => {
                bytes.extend(other.encode_utf8(&mut buffer).bytes());
            }
            Some(other) => {
                bytes.push(b'\\');
                bytes.extend(other.encode_utf8(&mut buffer).bytes());
            }
            None => bytes.push(b'\\'),
        }
    }
    String::from_utf8_lossy(&bytes).replace('\u{FFFD}', &crate::HOLE.to_string())
}

fn digits(rest: &mut std::iter::Peekable<std::str::Chars<'_>>, most: usize, radix: u32) -> u32 {
    let mut value = 0u32;
    for _ in 0..most {
        let Some(digit) = rest.peek().and_then(|c| c.to_digit(radix)) else { break };
        value = value.wrapping_mul(radix).wrapping_add(digit);
        rest.next();
    }
    value
}

/// `printf` with a known format; conversions other than the plain ones are not followed.
pub(crate) fn printf(rest: &[Word]) -> Option<String> {
    let rest = if rest.first()?.text() == "--" { &rest[1..] } else { rest };
    let format = escapes(rest.first()?.as_known()?);
    let mut arguments = rest[1..].iter().peekable();
    let mut output = String::new();
    loop {
        let mut used = false;
        let mut chars = format.chars().peekable();
        while let Some(character) = chars.next() {
            if character != '%' {
                output.push(character);
                continue;
            }
            let mut width = String::new();
            while let Some(&next) = chars.peek()
                && (next.is_ascii_digit() || "-+ #.0".contains(next))
            {
                width.push(next);
                chars.next();
            }
            let conversion = chars.next()?;
            if conversion == '%' {
                output.push('%');
                continue;
            }
            used = true;
            let argument = arguments.next().map(Word::text).unwrap_or_default();
            match conversion {
                's' | 'q' => output.push_str(argument),
                'b' => output.push_str(&escapes(argument)),
                'c' => output.extend(argument.chars().next()),
                'd' | 'i' | 'u' => output.push_str(argument),
                'o' => output.push_str(&format!("{:03o}", argument.parse::<u64>().ok()?)),
                'x' => output.push_str(&format!("{:x}", argument.parse::<u64>().ok()?)),
                'X' => output.push_str(&format!("{:X}", argument.parse::<u64>().ok()?)),
                _ => return None,
            }
        }
        if !used || arguments.peek().is_none() || output.len() > 1 << 16 {
            return Some(output);
        }
    }
}

fn seq(rest: &[Word]) -> Option<Word> {
    let numbers: Vec<i64> = rest.iter().map(|word| word.text().parse().ok()).collect::<Option<_>>()?;
    let (from, to) = match numbers.as_slice() {
        [to] => (1, *to),
        [from, to] => (*from, *to),
        _ => return None,
    };
    let lines: String = (from..=to).take(64).map(|number| format!("{number}\n")).collect();
    Some(Word::known(lines))
}

/// Programs that change a text which they read.
fn filter(name: &str, rest: &[Word], text: &str) -> Option<String> {
    match name {
        "rev" => {
            Some(text.lines().map(|line| line.chars().rev().chain(['\n']).collect::<String>()).collect())
        }
        "tac" => Some(text.lines().rev().map(|line| format!("{line}\n")).collect()),
        "base64" if flag(rest, &["-d", "-D", "--decode", "-di"]) => decoded(radix(text, 6)?),
        "base32" if flag(rest, &["-d", "-D", "--decode"]) => decoded(radix(text, 5)?),
        "openssl" if flag(rest, &["base64", "-base64", "-a"]) && flag(rest, &["-d"]) => {
            decoded(radix(text, 6)?)
        }
        "xxd" if rest.iter().any(|word| word.text().starts_with("-r")) => decoded(hex(text)?),
        "tr" => translate(rest, text),
        "sed" => substitute(rest, text),
        "cut" => cut(rest, text),
        "head" => head(rest, text),
        "xargs" if operands(rest).next().is_none_or(|word| word == "echo") => {
            Some(text.split_whitespace().collect::<Vec<_>>().join(" ") + "\n")
        }
        "sort" | "uniq" if text.lines().count() <= 1 => Some(text.to_owned()),
        _ => None,
    }
}

fn decoded(bytes: Vec<u8>) -> Option<String> {
    String::from_utf8(bytes).ok()
}

fn radix(text: &str, bits: u32) -> Option<Vec<u8>> {
    let (mut buffer, mut held) = (0u32, 0u32);
    let mut bytes = Vec::with_capacity(text.len());
    for character in text.bytes().filter(|byte| !byte.is_ascii_whitespace() && *byte != b'=') {
        let value = match (bits, character) {
            (6, b'A'..=b'Z') => character - b'A',
            (6, b'a'..=b'z') => character - b'a' + 26,
            (6, b'0'..=b'9') => character - b'0' + 52,
            (6, b'+' | b'-') => 62,
            (6, b'/' | b'_') => 63,
            (5, b'A'..=b'Z') => character - b'A',
            (5, b'2'..=b'7') => character - b'2' + 26,
            _ => return None,
        };
        buffer = (buffer << bits) | u32::from(value);
        held += bits;
        if held >= 8 {
            held -= 8;
            bytes.push(u8::try_from((buffer >> held) & 0xff).ok()?);
        }
    }
    Some(bytes)
}

fn hex(text: &str) -> Option<Vec<u8>> {
    let digits: Vec<u32> =
        text.chars().filter(|c| !c.is_whitespace()).map(|c| c.to_digit(16)).collect::<Option<_>>()?;
    digits.chunks_exact(2).map(|pair| u8::try_from(pair[0] * 16 + pair[1]).ok()).collect()
}

fn set(text: &str) -> Vec<char> {
    let text = escapes(text)
        .replace("[:lower:]", "a-z")
        .replace("[:upper:]", "A-Z")
        .replace("[:digit:]", "0-9")
        .replace("[:space:]", " \t\n")
        .replace("[:alpha:]", "A-Za-z");
    let chars: Vec<char> = text.chars().collect();
    let mut all = Vec::new();
    let mut at = 0;
    while at < chars.len() && all.len() < 4096 {
        if at + 2 < chars.len() && chars[at + 1] == '-' && chars[at] <= chars[at + 2] {
            all.extend((chars[at]..=chars[at + 2]).take(512));
            at += 3;
        } else {
            all.push(chars[at]);
            at += 1;
        }
    }
    all
}

fn translate(rest: &[Word], text: &str) -> Option<String> {
    let sets: Vec<&str> = operands(rest).collect();
    let from = set(sets.first()?);
    if rest.iter().any(|word| word.text().starts_with('-') && word.text().contains('d')) {
        let complement =
            rest.iter().any(|word| word.text().starts_with('-') && word.text().contains(['c', 'C']));
        return Some(text.chars().filter(|c| from.contains(c) == complement).collect());
    }
    let to = set(sets.get(1)?);
    let last = *to.last()?;
    let changed = text.chars().map(|character| match from.iter().position(|c| *c == character) {
        Some(at) => to.get(at).copied().unwrap_or(last),
        None => character,
    });
    Some(changed.collect())
}

/// One `s` or `y` command whose pattern has nothing special in it, or is the whole line, its beginning or its end.
fn substitute(rest: &[Word], text: &str) -> Option<String> {
    let (kind, from, to, flags) = substitution(rest)?;
    match kind {
        's' if matches!(from.as_str(), "^" | "$" | ".*" | "^.*$" | "^.*" | ".*$" | "\\(.*\\)" | "(.*)") => {
            Some(text.lines().map(|line| line_changed(&from, &to, line) + "\n").collect())
        }
        's' if !from.contains(['\\', '.', '*', '[', '^', '$', '+', '?', '('])
            && !to.contains(['\\', '&']) =>
        {
            Some(if flags.contains('g') { text.replace(&from, &to) } else { text.replacen(&from, &to, 1) })
        }
        'y' => {
            let (from, to): (Vec<char>, Vec<char>) = (from.chars().collect(), to.chars().collect());
            let change =
                |c: char| from.iter().position(|f| *f == c).and_then(|at| to.get(at)).copied().unwrap_or(c);
            Some(text.chars().map(change).collect())
        }
        _ => None,
    }
}

/// The same for a file that is changed in its place. Line by line, as `sed` does it.
pub(crate) fn edited(rest: &[Word], text: &str) -> Option<String> {
    const ENDS: &[&str] = &["\\r$", "\\r", " *$", "[ \\t]*$", "[[:space:]]*$", "[[:blank:]]*$"];
    if flag(rest, &["-n", "-z", "-s"]) {
        return None;
    }
    if let Some(('s', from, to, _)) = substitution(rest)
        && to.is_empty()
        && ENDS.contains(&from.as_str())
    {
        return Some(text.to_owned());
    }
    text.lines().map(|line| Some(substitute(rest, line)?.trim_end_matches('\n').to_owned() + "\n")).collect()
}

fn line_changed(from: &str, to: &str, line: &str) -> String {
    match from {
        "^" => format!("{to}{line}"),
        "$" => format!("{line}{to}"),
        _ => to.replace("\\1", line).replace('&', line),
    }
}

/// The only command of a `sed`, taken apart.
fn substitution(rest: &[Word]) -> Option<(char, String, String, String)> {
    let mut scripts = operands(rest);
    let script = scripts.next()?;
    if scripts.next().is_some() {
        return None;
    }
    let kind = script.chars().next().filter(|kind| matches!(kind, 's' | 'y'))?;
    let delimiter = script.chars().nth(1)?;
    let mut parts = vec![String::new()];
    let mut left = script.get(1 + delimiter.len_utf8()..)?.chars();
    while let Some(character) = left.next() {
        match (character, parts.last_mut()?) {
            ('\\', part) => match left.next()? {
                next if next == delimiter => part.push(next),
                next => part.extend(['\\', next]),
            },
            (character, _) if character == delimiter => parts.push(String::new()),
            (character, part) => part.push(character),
        }
    }
    let [from, to, flags] = <[String; 3]>::try_from(parts).ok()?;
    Some((kind, from, to, flags))
}

/// What becomes of a line that nobody knows, where words are put around it: `sed 's/^/rm /'`, `awk '{print "rm " $1}'`.
fn framed(name: &str, rest: &[Word]) -> Option<String> {
    let hole = crate::HOLE.to_string();
    match name {
        "sed" => match substitution(rest)? {
            ('s', from, to, _)
                if matches!(from.as_str(), "^" | "$" | ".*" | "^.*$" | "^.*" | "(.*)" | "\\(.*\\)") =>
            {
                Some(line_changed(&from, &to, &hole) + "\n")
            }
            _ => None,
        },
        "awk" | "gawk" | "mawk" => {
            let [script] = operands(rest).collect::<Vec<_>>().try_into().ok()?;
            let script: &str = script;
            let body = script.trim().strip_prefix('{')?.strip_suffix('}')?.trim();
            let mut left = body.strip_prefix("print")?.trim_start();
            let mut line = String::new();
            while !left.is_empty() {
                if let Some(text) = left.strip_prefix('"') {
                    let end = text.find('"').filter(|end| !text[..*end].contains('\\'))?;
                    line.push_str(&text[..end]);
                    left = &text[end + 1..];
                } else if let Some(field) = left.strip_prefix('$') {
                    line.push_str(&hole);
                    left = field
                        .strip_prefix("NF")
                        .unwrap_or(field)
                        .trim_start_matches(|c: char| c.is_ascii_digit());
                } else {
                    let next = left.strip_prefix(',')?;
                    line.push(' ');
                    left = next;
                }
                left = left.trim_start();
            }
            Some(line + "\n").filter(|line| line.contains(|c: char| c.is_alphabetic()))
        }
        _ => None,
    }
}

fn value<'a>(rest: &'a [Word], flag: &str) -> Option<&'a str> {
    rest.iter().enumerate().find_map(|(at, word)| {
        let text = word.text().strip_prefix(flag)?;
        if text.is_empty() { rest.get(at + 1).map(Word::text) } else { Some(text) }
    })
}

fn cut(rest: &[Word], text: &str) -> Option<String> {
    let line = text.lines().next()?;
    if let Some(range) = value(rest, "-c").or_else(|| value(rest, "-b")) {
        let chars: Vec<char> = line.chars().collect();
        let (from, to) = range.split_once('-').unwrap_or((range, range));
        let from = from.parse::<usize>().unwrap_or(1).max(1);
        let to = to.parse::<usize>().unwrap_or(chars.len()).min(chars.len());
        return Some(chars.get(from - 1..to)?.iter().collect::<String>() + "\n");
    }
    let field = value(rest, "-f")?.parse::<usize>().ok()?;
    let delimiter = value(rest, "-d").unwrap_or("\t");
    Some(line.split(delimiter).nth(field.checked_sub(1)?)?.to_owned() + "\n")
}

fn head(rest: &[Word], text: &str) -> Option<String> {
    if let Some(count) = value(rest, "-c") {
        return Some(text.chars().take(count.parse().ok()?).collect());
    }
    let count = value(rest, "-n")
        .or_else(|| rest.first()?.text().strip_prefix('-'))
        .map_or(Some(10), |n| n.parse().ok())?;
    Some(text.lines().take(count).map(|line| format!("{line}\n")).collect())
}
