//! The modules with which a script calls its tools: written anew for each script, with the tools that it was granted.

mod node;
mod python;

use crate::tool::Tool;

/// The descriptor of a connection that is there from the beginning.
pub const STREAM: i32 = 3;
/// The descriptor of the door.
pub const DOOR: i32 = 4;

/// `cofferdam_tools.py`.
pub fn python(tools: &[Tool]) -> String {
    python::module(tools)
}

/// `cofferdam_tools/index.js`.
pub fn node(tools: &[Tool]) -> String {
    node::module(tools)
}

/// A name in both languages: letters, digits and underscores, and no word that means something.
fn identifier(name: &str, reserved: &[&str]) -> String {
    let mut identifier: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' }).collect();
    if identifier.is_empty() || identifier.starts_with(|c: char| c.is_ascii_digit()) {
        identifier.insert(0, '_');
    }
    if reserved.contains(&identifier.as_str()) {
        identifier.push('_');
    }
    identifier
}

/// A text as a literal of both languages.
fn literal(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// The parameters of a tool: those that must be given come first.
fn parameters(tool: &Tool) -> Vec<Parameter<'_>> {
    let properties = tool.schema.get("properties").and_then(|value| value.as_object());
    let required = tool.schema.get("required").and_then(|value| value.as_array());
    let mut parameters: Vec<Parameter<'_>> = properties
        .into_iter()
        .flatten()
        .map(|(name, schema)| Parameter {
            name,
            kind: schema.get("type").and_then(|kind| kind.as_str()),
            description: schema.get("description").and_then(|text| text.as_str()),
            required: required.is_some_and(|required| required.iter().any(|other| other == name)),
        })
        .collect();
    let order = |name: &str| required.and_then(|required| required.iter().position(|other| other == name));
    parameters.sort_by_key(|parameter| order(parameter.name).unwrap_or(usize::MAX));
    parameters
}

struct Parameter<'a> {
    name: &'a str,
    kind: Option<&'a str>,
    description: Option<&'a str>,
    required: bool,
}

/// What a reader of the module is told about a tool.
fn documentation(tool: &Tool) -> String {
    let mut text = tool.description.clone();
    for parameter in parameters(tool) {
        if let Some(description) = parameter.description {
            text.push_str(&format!("\n\n{}: {description}", parameter.name));
        }
    }
    text
}
