//! What a tool is called, says of itself and takes.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// A tool as it is offered to a script.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Tool {
    pub name: String,
    #[serde(default)]
    pub description: String,
    /// A JSON Schema of an object.
    #[serde(default)]
    pub schema: Value,
}

/// The tools that need no configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BuiltIn {
    Terminal,
    ReadFile,
    WriteFile,
    SearchFiles,
    Patch,
    ExecuteCode,
}

impl BuiltIn {
    pub const ALL: [Self; 6] =
        [Self::Terminal, Self::ReadFile, Self::WriteFile, Self::SearchFiles, Self::Patch, Self::ExecuteCode];

    pub fn name(self) -> &'static str {
        match self {
            Self::Terminal => "terminal",
            Self::ReadFile => "read_file",
            Self::WriteFile => "write_file",
            Self::SearchFiles => "search_files",
            Self::Patch => "patch",
            Self::ExecuteCode => "execute_code",
        }
    }

    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tool| tool.name() == name)
    }

    /// Whether it works on files only, and therefore runs as a process beside the script.
    pub fn works_on_files(self) -> bool {
        !matches!(self, Self::Terminal | Self::ExecuteCode)
    }

    pub fn tool(self) -> Tool {
        let (description, properties, required) = match self {
            Self::Terminal => terminal(),
            Self::ReadFile => read_file(),
            Self::WriteFile => write_file(),
            Self::SearchFiles => search_files(),
            Self::Patch => patch(),
            Self::ExecuteCode => execute_code(),
        };
        Tool {
            name: self.name().to_owned(),
            description: description.to_owned(),
            schema: json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false}),
        }
    }
}

type Described = (&'static str, Value, Value);

fn terminal() -> Described {
    (
        "Run a shell command in the sandbox of this script. Gives output, exit_code and what was cut.",
        json!({
            "command": {"type": "string", "description": "The command line, for bash."},
            "directory": {"type": "string", "description": "Where to run it; the working directory of the script if left out."},
            "timeout": {"type": "number", "minimum": 0.1, "description": "Seconds after which it is ended."},
        }),
        json!(["command"]),
    )
}

fn read_file() -> Described {
    (
        "Read a text file. Gives content, total_lines, and truncated if there was more than fits.",
        json!({
            "path": {"type": "string", "description": "The file, relative to the working directory."},
            "offset": {"type": "integer", "minimum": 1, "description": "The first line to read, counted from 1."},
            "limit": {"type": "integer", "minimum": 1, "description": "How many lines to read."},
        }),
        json!(["path"]),
    )
}

fn write_file() -> Described {
    (
        "Write a whole file, at once or not at all; directories above it are made. Gives bytes_written.",
        json!({
            "path": {"type": "string", "description": "The file, relative to the working directory."},
            "content": {"type": "string", "description": "What the file will hold."},
        }),
        json!(["path", "content"]),
    )
}

fn search_files() -> Described {
    (
        "Search files for a regular expression, or list files by name. Gives matches, and truncated if there were more.",
        json!({
            "pattern": {"type": "string", "description": "A regular expression; for target \"files\" a glob of names."},
            "path": {"type": "string", "description": "Where to search; the working directory if left out."},
            "target": {"type": "string", "enum": ["content", "files"], "description": "Search in files, or for files."},
            "file_glob": {"type": "string", "description": "Only files whose names match this glob."},
            "limit": {"type": "integer", "minimum": 1, "maximum": 10_000, "description": "How many matches at most."},
            "context": {"type": "integer", "minimum": 0, "maximum": 20, "description": "Lines around each match."},
            "ignore_case": {"type": "boolean", "description": "Whether upper and lower case are the same."},
        }),
        json!(["pattern"]),
    )
}

fn patch() -> Described {
    (
        "Change a file: replace one text by another, or apply a unified diff to several files. All of it or nothing.",
        json!({
            "path": {"type": "string", "description": "The file, for a replacement."},
            "old": {"type": "string", "description": "The text to replace. It must be in the file once, unless all is set."},
            "new": {"type": "string", "description": "The text in its place."},
            "all": {"type": "boolean", "description": "Replace every occurrence."},
            "diff": {"type": "string", "description": "A unified diff, instead of path, old and new."},
        }),
        json!([]),
    )
}

fn execute_code() -> Described {
    (
        "Run another script in this sandbox, with the same tools; it is asked about like the first. Gives output and exit_code.",
        json!({
            "code": {"type": "string", "description": "The text of the script."},
            "language": {"type": "string", "enum": ["python", "bash", "node"], "description": "What it is written in; python if left out."},
        }),
        json!(["code"]),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tool_is_found_by_its_name_and_takes_nothing_unknown() {
        for built_in in BuiltIn::ALL {
            let tool = built_in.tool();
            assert_eq!(BuiltIn::named(&tool.name), Some(built_in));
            let strange = json!({"no such argument": 1});
            assert!(crate::schema::check(&tool.schema, strange.as_object().expect("an object")).is_err());
        }
    }
}
