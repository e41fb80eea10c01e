//! What cargo built, and where it put it.

use std::path::PathBuf;

use serde_json::Value;

use crate::failure::Failure;
use crate::process::Tool;

/// An executable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Built {
    /// The name of the target it was built from.
    pub name: String,
    pub executable: PathBuf,
    /// The directory of its package: where cargo runs a test.
    pub directory: PathBuf,
    pub is_test: bool,
}

/// Builds, and reads from cargo's own messages what came of it. Asking is the only way to know the place:
/// it follows from configuration, target and profile.
pub fn build(cargo: Tool) -> Result<Vec<Built>, Failure> {
    let messages = cargo.arg("--message-format=json-render-diagnostics").output()?;
    Ok(messages.lines().filter_map(|line| built(&serde_json::from_str(line).ok()?)).collect())
}

fn built(message: &Value) -> Option<Built> {
    if message["reason"] != "compiler-artifact" {
        return None;
    }
    Some(Built {
        name: message["target"]["name"].as_str()?.to_owned(),
        executable: PathBuf::from(message["executable"].as_str()?),
        directory: PathBuf::from(message["manifest_path"].as_str()?).parent()?.to_owned(),
        is_test: message["profile"]["test"].as_bool()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_executables_are_taken() {
        let library = r#"{"reason":"compiler-artifact","target":{"name":"l"},"executable":null,
            "manifest_path":"/a/Cargo.toml","profile":{"test":false}}"#;
        assert_eq!(built(&serde_json::from_str(library).unwrap()), None);
        let test = library.replace("null", "\"/t/l-1\"").replace("false", "true");
        let built = built(&serde_json::from_str(&test).unwrap()).unwrap();
        assert_eq!((built.name.as_str(), built.is_test), ("l", true));
        assert_eq!(built.directory, PathBuf::from("/a"));
    }
}
