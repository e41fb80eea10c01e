//! Licence expressions, as far as packages use them.

/// Whether an SPDX expression can be met with licences that `allowed` accepts: one side of every `OR`, both
/// of every `AND`. The old `MIT/Apache-2.0` means `OR`. What cannot be read is not met.
pub fn is_met(expression: &str, allowed: &dyn Fn(&str) -> bool) -> bool {
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut reader = Reader { words: &words, allowed };
    let met = reader.any();
    met == Some(true) && reader.words.is_empty()
}

struct Reader<'a> {
    words: &'a [&'a str],
    allowed: &'a dyn Fn(&str) -> bool,
}

impl<'a> Reader<'a> {
    fn any(&mut self) -> Option<bool> {
        let mut met = self.all()?;
        while self.take("OR") {
            met |= self.all()?;
        }
        Some(met)
    }

    fn all(&mut self) -> Option<bool> {
        let mut met = self.one()?;
        while self.take("AND") {
            met &= self.one()?;
        }
        Some(met)
    }

    fn one(&mut self) -> Option<bool> {
        if self.take("(") {
            let met = self.any()?;
            return self.take(")").then_some(met);
        }
        let name = self.next().filter(|name| !matches!(*name, "OR" | "AND" | "WITH" | ")"))?;
        if self.take("WITH") {
            let exception = self.next()?;
            return Some((self.allowed)(&format!("{name} WITH {exception}")));
        }
        Some((self.allowed)(name))
    }

    fn next(&mut self) -> Option<&'a str> {
        let (first, rest) = self.words.split_first()?;
        self.words = rest;
        Some(first)
    }

    fn take(&mut self, word: &str) -> bool {
        let is_next = self.words.first() == Some(&word);
        if is_next {
            self.words = &self.words[1..];
        }
        is_next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expression_is_met_by_what_is_allowed() {
        let allowed = |name: &str| matches!(name, "MIT" | "Unicode-3.0" | "Apache-2.0 WITH LLVM-exception");
        let cases = [
            ("MIT", true),
            ("GPL-3.0", false),
            ("MIT OR GPL-3.0", true),
            ("GPL-3.0/MIT", true),
            ("MIT AND GPL-3.0", false),
            ("(MIT OR GPL-3.0) AND Unicode-3.0", true),
            ("MIT OR GPL-3.0 AND BSD-3-Clause", true),
            ("(MIT OR GPL-3.0) AND BSD-3-Clause", false),
            ("Apache-2.0 WITH LLVM-exception", true),
            ("Apache-2.0", false),
            ("", false),
            ("MIT OR", false),
            ("(MIT", false),
            ("MIT MIT", false),
        ];
        for (expression, met) in cases {
            assert_eq!(is_met(expression, &allowed), met, "{expression}");
        }
    }
}
