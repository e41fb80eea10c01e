//! Text that the first parser leaves unread: it says that a text is whole although it gave up the inside of a
//! substitution, or of an arithmetic expression. A shell may still run it, so it is read again here.

use shuck_ast as ast;

use crate::{Doubt, Input, Shell, Watch, Word};

impl Shell {
    /// What stands in `$(…)`, `<(…)` or `>(…)`, walked.
    pub(crate) fn inside(
        &mut self,
        body: &ast::StmtSeq,
        span: ast::Span,
        source: &str,
        input: &Input,
        watch: &mut dyn Watch,
    ) -> Word {
        if !body.stmts.is_empty() {
            return self.sequence(body, source, input, watch);
        }
        let written = written(span, source);
        let Some(inside) = written.get(2..).and_then(|rest| rest.strip_suffix(')')) else {
            self.doubt(Doubt::Rejected);
            return Word::unknown(None);
        };
        if is_blank(inside) {
            return Word::default();
        }
        // The parser refuses it as a text of its own too, and that is the doubt; what it does see of it is walked.
        self.deeper(|shell| shell.run_text_with(inside, input, watch));
        self.by_line(inside, input, watch);
        Word::unknown(None)
    }

    /// `$((…) )`, walked as the commands that it is.
    pub(crate) fn misread_arithmetic(&mut self, written: &str, watch: &mut dyn Watch) -> Word {
        self.doubt(Doubt::Disagreement);
        let inside = written.strip_prefix("$(").unwrap_or(written);
        let inside = inside.strip_suffix(')').unwrap_or(inside).to_owned();
        self.in_subshell(|shell| shell.deeper(|shell| shell.run_text(&inside, watch)));
        Word::unknown(None)
    }

    /// Arithmetic that is none to the parser: what it substitutes is run before anybody computes.
    pub(crate) fn unread_arithmetic(&mut self, text: &str, watch: &mut dyn Watch) {
        if !text.contains("$(") && !text.contains("${") && !text.contains('`') {
            return;
        }
        const END: &str = "cofferdam_end_of_arithmetic";
        if text.contains(END) {
            self.doubt(Doubt::Rejected);
            return;
        }
        let text = format!(": <<{END}\n{text}\n{END}\n");
        self.deeper(|shell| shell.run_text(&text, watch));
    }

    /// `${x//a/<(…)}`: the parser takes for letters what a shell runs. And `${x:-$(echo a}; …)}`: it takes the first
    /// bracket for the end, also within a substitution.
    pub(crate) fn unread_operand(
        &mut self,
        span: ast::Span,
        quoted: bool,
        source: &str,
        watch: &mut dyn Watch,
    ) {
        let written = written(span, source);
        if !quoted && (written.contains("<(") || written.contains(">(")) {
            self.doubt(Doubt::Disagreement);
        }
        if written.contains("$(") && !is_balanced(written) {
            let rest = source.get(span.end.offset()..).unwrap_or_default();
            self.by_line(rest, &Input::Inherited, watch);
        }
    }

    /// Where a part of a value begins, or how long it is, that is no arithmetic to the parser.
    pub(crate) fn unread_bound(
        &mut self,
        arithmetic: bool,
        word: Option<&ast::Word>,
        source: &str,
        watch: &mut dyn Watch,
    ) {
        if let (false, Some(word)) = (arithmetic, word) {
            self.single(word, source, watch);
        }
    }

    /// A text that no parser reads, cut where commands could be: nothing is certain of it, but the worst in it is seen.
    fn by_line(&mut self, text: &str, input: &Input, watch: &mut dyn Watch) {
        self.doubt(Doubt::Rejected);
        for part in text
            .split([';', '\n', '&', '{', '}', '(', ')', '!'])
            .map(str::trim)
            .filter(|part| !part.is_empty())
        {
            if part.len() < text.trim().len() && crate::reading::is_clean(part) {
                self.in_subshell(|shell| shell.deeper(|shell| shell.run_text_with(part, input, watch)));
            }
        }
    }
}

/// A part of the text as it is written. The places that the parser gives are not to be trusted with letters of several
/// bytes.
pub(crate) fn written(span: ast::Span, source: &str) -> &str {
    source.get(span.start.offset()..span.end.offset()).unwrap_or_default()
}

/// Nothing but blanks and comments.
fn is_blank(text: &str) -> bool {
    text.lines().map(str::trim).all(|line| line.is_empty() || line.starts_with('#'))
}

/// `$((…) )` is no arithmetic but a subshell within a substitution, and so is what is no arithmetic to the parser and does
/// not close as it opened.
pub(crate) fn is_substitution(written: &str, arithmetic: bool) -> bool {
    let Some(rest) = written.strip_prefix("$((") else { return false };
    let Some(inside) = rest.strip_suffix("))") else { return true };
    if arithmetic {
        return false;
    }
    !is_balanced(inside)
}

/// Whether brackets close as they open. Quoted ones are none, to a shell that asks itself the same.
fn is_balanced(text: &str) -> bool {
    let mut depth = 0usize;
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'\\' => {
                bytes.next();
            }
            b'\'' | b'"' => {
                bytes.by_ref().find(|next| *next == byte);
            }
            b'(' => depth += 1,
            b')' if depth == 0 => return false,
            b')' => depth -= 1,
            _ => {}
        }
    }
    depth == 0
}
