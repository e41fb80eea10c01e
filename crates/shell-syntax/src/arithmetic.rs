//! Arithmetic, as far as its values are known.

use shuck_ast as ast;

use crate::shell::Value;
use crate::{Shell, Watch, Word};

impl Shell {
    /// The value of an arithmetic expression; commands in it are run on the way.
    pub(crate) fn arithmetic(
        &mut self,
        node: &ast::ArithmeticExprNode,
        source: &str,
        watch: &mut dyn Watch,
    ) -> Option<i64> {
        self.deeper(|shell| shell.arithmetic_inner(node, source, watch))
    }

    fn arithmetic_inner(
        &mut self,
        node: &ast::ArithmeticExprNode,
        source: &str,
        watch: &mut dyn Watch,
    ) -> Option<i64> {
        use ast::ArithmeticExpr as Expr;
        match &node.kind {
            Expr::Number(text) => number(text.slice(source)),
            Expr::Variable(name) => {
                let word = self.lookup(name.as_str())?.words.into_iter().next()?;
                if number(word.text()).is_none() {
                    self.evaluated(word.text(), watch);
                }
                if word.is_empty() { Some(0) } else { number(word.as_known()?) }
            }
            Expr::Indexed { index, name } => {
                self.arithmetic(index, source, watch);
                self.elements(name.as_str(), watch);
                None
            }
            Expr::ShellWord(word) => {
                let word = self.single(word, source, watch);
                let value = word.as_known().and_then(number);
                if value.is_none() {
                    self.evaluated(word.text(), watch);
                }
                value
            }
            Expr::Parenthesized { expression } => self.arithmetic(expression, source, watch),
            Expr::Unary { op, expr } => {
                let value = self.arithmetic(expr, source, watch)?;
                match op {
                    ast::ArithmeticUnaryOp::Plus => Some(value),
                    ast::ArithmeticUnaryOp::Minus => value.checked_neg(),
                    ast::ArithmeticUnaryOp::BitwiseNot => Some(!value),
                    ast::ArithmeticUnaryOp::LogicalNot => Some(i64::from(value == 0)),
                    ast::ArithmeticUnaryOp::PreIncrement | ast::ArithmeticUnaryOp::PreDecrement => None,
                }
            }
            Expr::Postfix { expr, .. } => {
                self.arithmetic(expr, source, watch);
                None
            }
            Expr::Binary { left, op, right } => {
                let left = self.arithmetic(left, source, watch);
                let right = self.arithmetic(right, source, watch);
                binary(*op, left?, right?)
            }
            Expr::Conditional { condition, then_expr, else_expr } => {
                let condition = self.arithmetic(condition, source, watch);
                let then = self.arithmetic(then_expr, source, watch);
                let otherwise = self.arithmetic(else_expr, source, watch);
                if condition? != 0 { then } else { otherwise }
            }
            Expr::Assignment { target, op, value } => {
                let value = self.arithmetic(value, source, watch);
                if let ast::ArithmeticLvalue::Indexed { index, .. } = target {
                    self.arithmetic(index, source, watch);
                }
                if let ast::ArithmeticLvalue::Variable(name) = target {
                    if *op != ast::ArithmeticAssignOp::Assign {
                        self.evaluated(name.as_str(), watch);
                    }
                    let word = match (op, value) {
                        (ast::ArithmeticAssignOp::Assign, Some(value)) => Word::known(value.to_string()),
                        _ => Word::unknown(None),
                    };
                    self.set(name.as_str(), Value::Scalar(word));
                }
                value
            }
        }
    }
}

fn number(text: &str) -> Option<i64> {
    let text = text.trim();
    if let Some(hex) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        return i64::from_str_radix(hex, 16).ok();
    }
    if let Some((base, digits)) = text.split_once('#') {
        let base = base.parse::<u32>().ok().filter(|base| (2..=36).contains(base))?;
        return i64::from_str_radix(digits, base).ok();
    }
    if text.len() > 1 && text.starts_with('0') {
        return i64::from_str_radix(text, 8).ok();
    }
    text.parse().ok()
}

fn binary(op: ast::ArithmeticBinaryOp, left: i64, right: i64) -> Option<i64> {
    use ast::ArithmeticBinaryOp as Op;
    let shift = u32::try_from(right).unwrap_or(64);
    match op {
        Op::Comma => Some(right),
        Op::Power => left.checked_pow(u32::try_from(right).ok()?),
        Op::Multiply => left.checked_mul(right),
        Op::Divide => left.checked_div(right),
        Op::Modulo => left.checked_rem(right),
        Op::Add => left.checked_add(right),
        Op::Subtract => left.checked_sub(right),
        Op::ShiftLeft => left.checked_shl(shift),
        Op::ShiftRight => left.checked_shr(shift),
        Op::LessThan => Some(i64::from(left < right)),
        Op::LessThanOrEqual => Some(i64::from(left <= right)),
        Op::GreaterThan => Some(i64::from(left > right)),
        Op::GreaterThanOrEqual => Some(i64::from(left >= right)),
        Op::Equal => Some(i64::from(left == right)),
        Op::NotEqual => Some(i64::from(left != right)),
        Op::BitwiseAnd => Some(left & right),
        Op::BitwiseXor => Some(left ^ right),
        Op::BitwiseOr => Some(left | right),
        Op::LogicalAnd => Some(i64::from(left != 0 && right != 0)),
        Op::LogicalOr => Some(i64::from(left != 0 || right != 0)),
    }
}
