//! The Python module.

use std::fmt::Write;

use super::{documentation, identifier, literal, parameters};
use crate::tool::Tool;

const RUNTIME: &str = include_str!("runtime.py");

/// Names that mean something in the language, or in the module.
const RESERVED: &[&str] = &[
    "False",
    "None",
    "True",
    "and",
    "as",
    "assert",
    "async",
    "await",
    "break",
    "class",
    "continue",
    "def",
    "del",
    "elif",
    "else",
    "except",
    "finally",
    "for",
    "from",
    "global",
    "if",
    "import",
    "in",
    "is",
    "lambda",
    "nonlocal",
    "not",
    "or",
    "pass",
    "raise",
    "return",
    "try",
    "while",
    "with",
    "yield",
    "aio",
    "call",
    "acall",
    "_call",
    "_acall",
    "array",
    "json",
    "os",
    "queue",
    "socket",
    "struct",
    "threading",
    "perf_counter",
    "TYPE_CHECKING",
    "Any",
    "FD",
    "TOOLS",
    "ToolError",
    "Denied",
    "TimedOut",
    "CallLimit",
    "BadArguments",
    "UnknownTool",
    "Unavailable",
];

pub fn module(tools: &[Tool]) -> String {
    let mut text = RUNTIME.to_owned();
    let names: Vec<String> = tools.iter().map(|tool| literal(&tool.name)).collect();
    // A String takes whatever is written to it.
    let _ = write!(text, "\n\nTOOLS = [{}]\n", names.join(", "));
    for tool in tools {
        text.push_str(&function(tool, ""));
    }
    text.push_str("\n\nclass aio:\n    \"\"\"The same functions, to be awaited.\"\"\"\n");
    for tool in tools {
        text.push_str(&function(tool, "    "));
    }
    text
}

/// A function of the module, or one to be awaited where it is indented.
fn function(tool: &Tool, indent: &str) -> String {
    let parameters = parameters(tool);
    let name = identifier(&tool.name, RESERVED);
    // What may be left out is given by its name: a server may add more, in any order.
    let mut declared: Vec<String> = parameters
        .iter()
        .map(|parameter| {
            let (name, kind) = (identifier(parameter.name, RESERVED), annotation(parameter.kind));
            match parameter.required {
                true => format!("{name}: {kind}"),
                false => format!("{name}: {kind} | None = None"),
            }
        })
        .collect();
    let required = parameters.iter().filter(|parameter| parameter.required).count();
    if required < declared.len() {
        declared.insert(required, "*".to_owned());
    }
    let given: Vec<String> = parameters
        .iter()
        .map(|parameter| {
            let (key, value) = (literal(parameter.name), identifier(parameter.name, RESERVED));
            match parameter.required {
                true => format!("{key}: {value}"),
                false => format!("**({{}} if {value} is None else {{{key}: {value}}})"),
            }
        })
        .collect();
    let (decorator, before, call) = match indent {
        "" => ("\n\n".to_owned(), "def", "return _call"),
        _ => (format!("\n{indent}@staticmethod\n"), "async def", "return await _acall"),
    };
    format!(
        "{decorator}{indent}{before} {name}({}) -> Any:\n{indent}    {}\n{indent}    {call}({}, {{{}}})\n",
        declared.join(", "),
        literal(&documentation(tool)),
        literal(&tool.name),
        given.join(", "),
    )
}

fn annotation(kind: Option<&str>) -> &'static str {
    match kind {
        Some("string") => "str",
        Some("integer") => "int",
        Some("number") => "float",
        Some("boolean") => "bool",
        Some("array") => "list[Any]",
        Some("object") => "dict[str, Any]",
        _ => "Any",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_a_server_says_of_itself_stays_text() {
        let tool = Tool {
            name: "my-tool\"); import os #".to_owned(),
            description: "\"\"\"\nimport os\n\\".to_owned(),
            schema: json!({"properties": {"class": {"type": "string"}, "b c": {}}, "required": ["class"]}),
        };
        let text = module(&[tool]);
        assert!(
            text.contains("def my_tool____import_os__(class_: str, *, b_c: Any | None = None) -> Any:"),
            "{text}"
        );
        assert!(!text.contains("\nimport os\n\\"), "{text}");
    }

    #[test]
    fn a_tool_takes_no_name_that_the_module_needs() {
        let named = |line: &str| line.split([' ', '(', ':', '=']).nth(1).map(str::to_owned);
        let top = RUNTIME.lines().filter(|line| line.starts_with("class ") || line.starts_with("import "));
        for name in top.filter_map(named).filter(|name| !name.starts_with('_')) {
            let tool = Tool { name: name.clone(), description: String::new(), schema: json!({}) };
            assert!(module(&[tool]).contains(&format!("\ndef {name}_() -> Any:")), "{name}");
        }
    }
}
