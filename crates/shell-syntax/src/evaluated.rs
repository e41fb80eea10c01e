//! Values that a shell reads again as arithmetic: names in them are looked up, subscripts are expanded, and commands in
//! those are run.

use std::collections::BTreeSet;

use shuck_ast as ast;

use crate::shell::Value;
use crate::{Doubt, Shell, Watch, Word};

/// Names that lead to further names are followed this far.
const MOST_NAMES: usize = 256;

impl Shell {
    /// A text that is computed: `let`, the sides of `-lt`, the value of a variable in `((…))`.
    pub(crate) fn evaluated(&mut self, text: &str, watch: &mut dyn Watch) {
        self.unread_arithmetic(text, watch);
        self.named(text, watch);
    }

    /// The values of the names in a text, and of the names in those.
    fn named(&mut self, text: &str, watch: &mut dyn Watch) {
        let mut met = BTreeSet::new();
        let mut open = names(text);
        while let Some(name) = open.pop() {
            if self.variables.get(&name).is_none() || !met.insert(name.clone()) {
                continue;
            }
            if met.len() > MOST_NAMES {
                self.doubt(Doubt::TooMuch);
                return;
            }
            let value = self.lookup(&name).and_then(|all| all.words.into_iter().next()).unwrap_or_default();
            self.unread_arithmetic(value.text(), watch);
            open.extend(names(value.text()));
        }
    }

    /// The values of a list, any of which may be meant.
    pub(crate) fn elements(&mut self, name: &str, watch: &mut dyn Watch) {
        let expands = |word: &&Word| word.text().contains("$(") || word.text().contains('`');
        let values: Vec<Word> = match self.variables.get(name).map(|variable| &variable.value) {
            Some(Value::List(words)) => words.iter().filter(expands).cloned().collect(),
            Some(Value::Map(map)) => map.values().filter(expands).cloned().collect(),
            _ => Vec::new(),
        };
        for value in values {
            self.evaluated(value.text(), watch);
        }
    }

    /// `x[…]` in a word that names a variable.
    pub(crate) fn evaluated_subscript(&mut self, text: &str, watch: &mut dyn Watch) {
        let Some((name, subscript)) = text.split_once('[') else { return };
        let is_name =
            name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'=' | b'+'));
        if is_name || text.contains("[$(") || text.contains("[`") {
            self.evaluated(subscript, watch);
        }
    }

    /// The sides of `-lt` and its kind within `[[`.
    pub(crate) fn compared(
        &mut self,
        binary: &ast::ConditionalBinaryExpr,
        source: &str,
        watch: &mut dyn Watch,
    ) {
        use ast::ConditionalBinaryOp as Op;
        let computes = matches!(
            binary.op,
            Op::ArithmeticEq
                | Op::ArithmeticNe
                | Op::ArithmeticLe
                | Op::ArithmeticGe
                | Op::ArithmeticLt
                | Op::ArithmeticGt
        );
        for side in [&binary.left, &binary.right].into_iter().filter(|_| computes) {
            // What it substitutes is walked where the side is.
            self.named(crate::unread::written(side.span(), source), watch);
        }
    }
}

/// Every name in a text that could be the name of a variable.
fn names(text: &str) -> Vec<String> {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .filter(|name| name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_'))
        .map(str::to_owned)
        .collect()
}
