//! Whether arguments fit the schema of a tool: the part of JSON Schema that describes parameters.
//!
//! Where it stops: keywords that are not known (`$ref`, `anyOf`, `pattern`, …) are left to the tool itself, which
//! has to check what it gets in any case.

use serde_json::{Map, Value};

/// Checks the arguments; the first thing that does not fit is told by where it is.
pub fn check(schema: &Value, arguments: &Map<String, Value>) -> Result<(), String> {
    object(schema, arguments, "")
}

fn object(schema: &Value, given: &Map<String, Value>, at: &str) -> Result<(), String> {
    let none = Map::new();
    let properties = schema.get("properties").and_then(Value::as_object).unwrap_or(&none);
    for name in schema.get("required").and_then(Value::as_array).into_iter().flatten() {
        let name = name.as_str().unwrap_or_default();
        if !given.contains_key(name) {
            return Err(format!("{at}{name} is missing"));
        }
    }
    for (name, value) in given {
        match properties.get(name) {
            Some(schema) => fits(schema, value, &format!("{at}{name}"))?,
            None if schema.get("additionalProperties") == Some(&Value::Bool(false)) => {
                return Err(format!("there is no argument {at}{name}"));
            }
            None => {}
        }
    }
    Ok(())
}

fn fits(schema: &Value, value: &Value, at: &str) -> Result<(), String> {
    if let Some(kinds) = schema.get("type") {
        let mut kinds = kinds.as_array().map_or_else(|| vec![kinds], |kinds| kinds.iter().collect());
        kinds.retain(|kind| kind.is_string());
        if !kinds.is_empty() && !kinds.iter().any(|kind| is(value, kind.as_str().unwrap_or_default())) {
            let kinds: Vec<&str> = kinds.iter().filter_map(|kind| kind.as_str()).collect();
            return Err(format!("{at} is not {}", kinds.join(" or ")));
        }
    }
    if let Some(choices) = schema.get("enum").and_then(Value::as_array)
        && !choices.contains(value)
    {
        let choices: Vec<String> = choices.iter().map(Value::to_string).collect();
        return Err(format!("{at} is none of {}", choices.join(", ")));
    }
    bounds(schema, value, at)?;
    match value {
        Value::Object(given) => object(schema, given, &format!("{at}.")),
        Value::Array(items) => match schema.get("items") {
            Some(schema) => {
                (0..).zip(items).try_for_each(|(index, item)| fits(schema, item, &format!("{at}[{index}]")))
            }
            None => Ok(()),
        },
        _ => Ok(()),
    }
}

fn bounds(schema: &Value, value: &Value, at: &str) -> Result<(), String> {
    let Some(number) = value.as_f64() else { return Ok(()) };
    let bound = |name: &str| schema.get(name).and_then(Value::as_f64);
    match (bound("minimum"), bound("maximum")) {
        (Some(least), _) if number < least => Err(format!("{at} is less than {least}")),
        (_, Some(most)) if number > most => Err(format!("{at} is more than {most}")),
        _ => Ok(()),
    }
}

fn is(value: &Value, kind: &str) -> bool {
    match kind {
        "string" => value.is_string(),
        "integer" => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "null" => value.is_null(),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_does_not_fit_is_named() {
        let schema = json!({"type": "object", "additionalProperties": false, "required": ["path"],
            "properties": {"path": {"type": "string"}, "limit": {"type": "integer", "minimum": 1, "maximum": 9},
                "mode": {"enum": ["a", "b"]}, "tags": {"type": "array", "items": {"type": ["string", "null"]}},
                "deep": {"type": "object", "required": ["x"], "properties": {"x": {"type": "boolean"}}}}});
        let check = |arguments: Value| check(&schema, arguments.as_object().expect("an object"));
        for good in [
            json!({"path": ""}),
            json!({"path": "x", "limit": 3.0, "mode": "a", "tags": ["a", null], "deep": {"x": true, "y": 1}}),
        ] {
            assert_eq!(check(good.clone()), Ok(()), "{good}");
        }
        for (bad, says) in [
            (json!({}), "path is missing"),
            (json!({"path": 1}), "path is not string"),
            (json!({"path": "", "other": 1}), "there is no argument other"),
            (json!({"path": "", "limit": 0}), "limit is less than 1"),
            (json!({"path": "", "limit": 1.5}), "limit is not integer"),
            (json!({"path": "", "mode": "c"}), "mode is none of \"a\", \"b\""),
            (json!({"path": "", "tags": [1]}), "tags[0] is not string or null"),
            (json!({"path": "", "deep": {}}), "deep.x is missing"),
        ] {
            assert_eq!(check(bad).expect_err(says), says);
        }
    }
}
