//! Quotes as a shell reads them that knows POSIX alone: `$'…'` is a `$` and then `'…'`, where no backslash hides the
//! quote that ends it, and a `'` within `"${x:-…}"` is a letter. Where that makes other commands of a text, it is
//! written out here so that both parsers can read it.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Open {
    /// Brackets of any kind, with commands in them.
    Code,
    /// `"`.
    Quote,
    /// `${`, and whether `'` is a letter in it.
    Parameter { letter: bool },
}

struct Scanner<'a> {
    bytes: &'a [u8],
    at: usize,
    open: Vec<(Open, usize)>,
    heredocs: Vec<(Vec<u8>, bool)>,
    written: Vec<u8>,
    /// Where the first difference is.
    differs: Option<usize>,
}

/// The text with its quotes as all shells read them, if another shell reads other quotes in it.
pub(crate) fn elsewhere(text: &str) -> Option<String> {
    let escaped = text.contains("$'") && text.contains("\\'");
    let within = text.contains('\'') && text.contains('"') && text.contains("${");
    if !escaped && !within {
        return None;
    }
    let mut scanner = Scanner {
        bytes: text.as_bytes(),
        at: 0,
        open: Vec::new(),
        heredocs: Vec::new(),
        written: Vec::with_capacity(text.len() + 16),
        differs: None,
    };
    let unfinished = scanner.scan();
    let differs = scanner.differs?;
    let mut written = scanner.written;
    // A quote without end is refused, and with it the line that it begins in; what stands before has been run by then.
    if let Some(start) = unfinished {
        let line = written[..start].iter().rposition(|byte| *byte == b'\n')?;
        if line < differs {
            return None;
        }
        written.truncate(line + 1);
    }
    String::from_utf8(written).ok()
}

impl Scanner<'_> {
    fn peek(&self, by: usize) -> u8 {
        self.bytes.get(self.at + by).copied().unwrap_or(b'\n')
    }

    fn copy(&mut self, count: usize) {
        let end = (self.at + count).min(self.bytes.len());
        self.written.extend_from_slice(&self.bytes[self.at..end]);
        self.at = end;
    }

    fn enter(&mut self, open: Open, count: usize) {
        self.open.push((open, self.written.len()));
        self.copy(count);
    }

    /// Reads all of it, and gives where that began which has no end.
    fn scan(&mut self) -> Option<usize> {
        while self.at < self.bytes.len() {
            let top = self.open.last().map_or(Open::Code, |(open, _)| *open);
            match (self.bytes[self.at], top) {
                (b'\\', _) => self.copy(2),
                (b'"', Open::Quote) | (b'}', Open::Parameter { .. }) => {
                    self.open.pop();
                    self.copy(1);
                }
                (b'"', _) => self.enter(Open::Quote, 1),
                (b'$', _) if self.peek(1) == b'(' => self.enter(Open::Code, 2),
                (b'$', _) if self.peek(1) == b'{' => {
                    let letter = self.is_letter(top);
                    self.enter(Open::Parameter { letter }, 2);
                }
                (_, Open::Quote) => self.copy(1),
                (b'$', Open::Code | Open::Parameter { letter: false }) if self.peek(1) == b'\'' => {
                    self.dollar_quote();
                }
                (b'\'', Open::Parameter { letter: true }) => self.lone_quote(),
                (b'\'', _) => match self.length(self.at + 1) {
                    Some(length) => self.copy(length + 2),
                    None => return Some(self.written.len()),
                },
                (_, Open::Parameter { .. }) => self.copy(1),
                (b'(', Open::Code) => self.enter(Open::Code, 1),
                (b')', Open::Code) => {
                    self.open.pop();
                    self.copy(1);
                }
                (b'#', Open::Code) if self.begins_word() => {
                    let rest = &self.bytes[self.at..];
                    self.copy(rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len()));
                }
                (b'<', Open::Code) if self.peek(1) == b'<' => self.heredoc(),
                (b'\n', Open::Code) => self.newline(),
                _ => self.copy(1),
            }
        }
        self.open.iter().find(|(open, _)| *open == Open::Quote).map(|(_, start)| *start)
    }

    /// How long it is from here to the next single quote.
    fn length(&self, from: usize) -> Option<usize> {
        self.bytes.get(from..)?.iter().position(|byte| *byte == b'\'')
    }

    fn begins_word(&self) -> bool {
        self.at == 0
            || matches!(self.bytes[self.at - 1], b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'(' | b')')
    }

    /// Within double quotes `'` is a letter in `${x:-…}`, and a quote in `${x#…}`.
    fn is_letter(&self, top: Open) -> bool {
        let rest = &self.bytes[self.at + 2..];
        let name = rest.iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_').count();
        let pattern = matches!(rest.get(name), Some(b'#' | b'%' | b'/')) && name > 0;
        matches!(top, Open::Quote | Open::Parameter { letter: true }) && !pattern
    }

    fn dollar_quote(&mut self) {
        let content = self.length(self.at + 2).map(|length| &self.bytes[self.at + 2..self.at + 2 + length]);
        let slashes =
            content.map_or(0, |content| content.iter().rev().take_while(|byte| **byte == b'\\').count());
        if slashes % 2 == 1 {
            self.differs.get_or_insert(self.written.len());
        }
        self.written.extend_from_slice(b"\\$");
        self.at += 1;
    }

    /// It matters only where something ends or begins between it and the next one.
    fn lone_quote(&mut self) {
        let content = self.length(self.at + 1).map(|length| &self.bytes[self.at + 1..self.at + 1 + length]);
        let special = |byte: &u8| matches!(byte, b'}' | b'"' | b'(' | b'{' | b'`' | b'\\');
        self.written.push(b'_');
        self.at += 1;
        match content {
            Some(content) if !content.iter().any(special) => {
                self.copy(content.len());
                self.written.push(b'_');
                self.at += 1;
            }
            _ => {
                self.differs.get_or_insert(self.written.len());
            }
        }
    }

    /// `<<word`; the text of it comes with the next line.
    fn heredoc(&mut self) {
        if self.peek(2) == b'<' {
            self.copy(3);
            return;
        }
        let strips = self.peek(2) == b'-';
        self.copy(2 + usize::from(strips));
        while matches!(self.peek(0), b' ' | b'\t') {
            self.copy(1);
        }
        let rest = &self.bytes[self.at..];
        let ends = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'<' | b'>' | b')');
        let length = rest.iter().position(ends).unwrap_or(rest.len());
        let word = rest[..length].iter().copied().filter(|byte| !matches!(byte, b'\'' | b'"' | b'\\'));
        let word: Vec<u8> = word.collect();
        if !word.is_empty() {
            self.heredocs.push((word, strips));
        }
        self.copy(length);
    }

    fn newline(&mut self) {
        self.copy(1);
        for (end, strips) in std::mem::take(&mut self.heredocs) {
            while self.at < self.bytes.len() {
                let rest = &self.bytes[self.at..];
                let length = rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
                let mut line = &rest[..length];
                while let (true, [b'\t', inner @ ..]) = (strips, line) {
                    line = inner;
                }
                let found = line == end.as_slice();
                self.copy(length + 1);
                if found {
                    break;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::elsewhere;

    #[test]
    fn only_quotes_that_differ_are_written_out() {
        let same =
            ["echo $'a\\n' 'b'", "echo \"${x:+'$x'}\" 'a'", "echo 'don'\\''t' $'\\t'", "echo $'it\\'s'"];
        for text in same {
            assert_eq!(elsewhere(text), None, "{text}");
        }
        let other = elsewhere("echo $'a\\'; rm x; echo ' #'");
        assert_eq!(other.as_deref(), Some("echo \\$'a\\'; rm x; echo ' #'"));
        let other = elsewhere("echo \"${x:-'}\"; rm x; echo '}\" #'");
        assert_eq!(other.as_deref(), Some("echo \"${x:-_}\"; rm x; echo '}\" #'"));
        let other = elsewhere("echo $'a\\'\nrm x\necho 'b");
        assert_eq!(other.as_deref(), Some("echo \\$'a\\'\nrm x\n"));
        assert_eq!(elsewhere("cat <<E\n$'a\\'\nE\necho \"${x:-a}\""), None);
    }
}
