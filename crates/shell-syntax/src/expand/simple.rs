//! Words of letters, quotes and variables, which most words are that are more than letters.

use std::borrow::Cow;

use shuck_ast as ast;

use super::Fields;
use crate::{Shell, Watch, Word};

impl Shell {
    /// The same as [`Self::evaluate`] for most words that are more than letters, without a list of their parts.
    pub(super) fn evaluate_simple(
        &mut self,
        word: &ast::Word,
        source: &str,
        watch: &mut dyn Watch,
        into: &mut Vec<Word>,
    ) {
        let mut fields = Fields { done: std::mem::take(into), ..Fields::default() };
        for part in &word.parts {
            match &part.kind {
                ast::WordPart::Literal(text) => fields.literal(text.as_str(source, part.span), false),
                ast::WordPart::SingleQuoted { value, .. } => fields.literal(value.slice(source), true),
                ast::WordPart::DoubleQuoted { parts, .. } => {
                    fields.open = true;
                    for part in parts {
                        match &part.kind {
                            ast::WordPart::Literal(text) => {
                                fields.literal(text.as_str(source, part.span), true);
                            }
                            _ => self.expanded(&mut fields, part, true, source, watch),
                        }
                    }
                }
                _ => self.expanded(&mut fields, part, false, source, watch),
            }
        }
        fields.close();
        *into = fields.done;
    }

    pub(super) fn expanded(
        &mut self,
        fields: &mut Fields,
        part: &ast::WordPartNode,
        quoted: bool,
        source: &str,
        watch: &mut dyn Watch,
    ) {
        if quoted && let Some(word) = self.scalar(&part.kind) {
            let length = word.text().len();
            match word {
                Cow::Borrowed(word) => fields.whole(word),
                Cow::Owned(word) => fields.taken(word),
            }
            self.kept += length;
            return;
        }
        let expansion = self.part(part, quoted, source, watch);
        self.join(fields, &expansion, quoted);
    }
}

/// Whether a word is letters, quotes and variables with names, and none of its letters means anything but itself.
pub(super) fn is_simple(word: &ast::Word, source: &str) -> bool {
    let named = |part: &ast::WordPartNode| {
        let ast::WordPart::Variable(name) = &part.kind else { return false };
        name.as_str().starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
    };
    word.parts.iter().enumerate().all(|(at, part)| match &part.kind {
        ast::WordPart::Literal(text) => {
            let text = text.as_str(source, part.span);
            let special = |byte: u8| matches!(byte, b'\\' | b'{');
            (at > 0 || !text.starts_with('~')) && !text.bytes().any(special)
        }
        ast::WordPart::SingleQuoted { .. } => true,
        ast::WordPart::DoubleQuoted { parts, .. } => {
            parts.iter().all(|part| matches!(part.kind, ast::WordPart::Literal(_)) || named(part))
        }
        _ => named(part),
    })
}
