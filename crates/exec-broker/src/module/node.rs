//! The module for Node.

use std::fmt::Write;

use super::{documentation, identifier, literal};
use crate::tool::Tool;

const RUNTIME: &str = include_str!("runtime.js");

/// Names that mean something in the language, or in the module.
const RESERVED: &[&str] = &[
    "await",
    "break",
    "case",
    "catch",
    "class",
    "const",
    "continue",
    "debugger",
    "default",
    "delete",
    "do",
    "else",
    "enum",
    "export",
    "extends",
    "false",
    "finally",
    "for",
    "function",
    "if",
    "import",
    "in",
    "instanceof",
    "new",
    "null",
    "return",
    "super",
    "switch",
    "this",
    "throw",
    "true",
    "try",
    "typeof",
    "var",
    "void",
    "while",
    "with",
    "yield",
    "let",
    "static",
    "call",
    "ToolError",
    "__esModule",
    "__proto__",
];

pub fn module(tools: &[Tool]) -> String {
    let mut text = RUNTIME.to_owned();
    for tool in tools {
        let comment = documentation(tool).replace("*/", "* /").replace('\n', "\n * ");
        // A String takes whatever is written to it.
        let _ = write!(
            text,
            "\n/** {comment} */\nexports.{} = (given = {{}}) => call({}, given);\n",
            identifier(&tool.name, RESERVED),
            literal(&tool.name),
        );
    }
    text
}
