//! A tool call, as an agent describes it.

use std::path::PathBuf;

use serde_json::{Map, Value};

use super::Blocked;
use crate::args::hook::AgentArg;

/// What a call would do, as far as there is a guard for it.
#[derive(Debug, PartialEq, Eq)]
pub enum Act {
    /// A command of a shell.
    Run(String),
    Read(String),
}

#[derive(Debug)]
pub struct Call {
    pub session: String,
    pub directory: PathBuf,
    pub acts: Vec<Act>,
    /// Whether the agent can be told to ask its own user, and would.
    pub agent_asks: bool,
}

/// Where the interesting part of a tool's input is: one of these keys.
enum Tool {
    Shell(&'static [&'static str]),
    Reads(&'static [&'static str]),
    ReadsMany(&'static [&'static str]),
    /// A path that may be left out.
    Searches(&'static [&'static str]),
    Writes(&'static [&'static str]),
    Patch(&'static [&'static str]),
    Other,
}

/// The tools that are documented to run, read or write something. Older names of keys are known too: a call that
/// cannot be read is blocked.
fn tool(agent: AgentArg, name: &str) -> Tool {
    match (agent, name) {
        (AgentArg::ClaudeCode, "Bash") | (AgentArg::Gemini, "run_shell_command") => Tool::Shell(&["command"]),
        (AgentArg::Codex, "Bash" | "shell" | "local_shell" | "exec_command") => {
            Tool::Shell(&["command", "cmd"])
        }
        (AgentArg::ClaudeCode, "Read") => Tool::Reads(&["file_path"]),
        (AgentArg::ClaudeCode, "Grep") => Tool::Searches(&["path"]),
        (AgentArg::ClaudeCode, "Write" | "Edit" | "MultiEdit") => Tool::Writes(&["file_path"]),
        (AgentArg::ClaudeCode, "NotebookEdit") => Tool::Writes(&["notebook_path"]),
        (AgentArg::Codex, "apply_patch") => Tool::Patch(&["command", "input", "patch"]),
        (AgentArg::Gemini, "read_file") => Tool::Reads(&["file_path", "absolute_path", "path"]),
        (AgentArg::Gemini, "read_many_files") => Tool::ReadsMany(&["include", "paths"]),
        (AgentArg::Gemini, "search_file_content" | "grep_search") => Tool::Searches(&["dir_path", "path"]),
        (AgentArg::Gemini, "write_file" | "replace") => Tool::Writes(&["file_path"]),
        _ => Tool::Other,
    }
}

impl Call {
    /// Reads a call. What is not one is an error, and the call is blocked; a tool that nobody guards is no error.
    pub fn parse(agent: AgentArg, input: &[u8]) -> Result<Self, Blocked> {
        let wrong = |why: &str| format!("the hook was not given a tool call: {why}");
        let value: Value = serde_json::from_slice(input).map_err(|_| wrong("it is not JSON"))?;
        let call = value.as_object().ok_or_else(|| wrong("it is not an object"))?;
        let event = text(call, "hook_event_name").map_err(|why| wrong(&why))?;
        let expected = if agent == AgentArg::Gemini { "BeforeTool" } else { "PreToolUse" };
        if event != expected {
            return Err(wrong(&format!("the event is not {expected}")));
        }
        let name = text(call, "tool_name").map_err(|why| wrong(&why))?;
        let session = text(call, "session_id").map_err(|why| wrong(&why))?;
        let directory = PathBuf::from(text(call, "cwd").map_err(|why| wrong(&why))?);
        if !directory.is_absolute() {
            return Err(wrong("cwd is not an absolute path"));
        }
        let nothing = Map::new();
        let tool_input = match call.get("tool_input") {
            Some(Value::Object(input)) => input,
            Some(Value::Null) | None if matches!(tool(agent, name), Tool::Other) => &nothing,
            _ => return Err(wrong("tool_input is not an object")),
        };
        let acts = acts(&tool(agent, name), tool_input).map_err(|why| wrong(&why))?;
        // In these modes Claude Code would not ask, or not wait for an answer.
        let silent = matches!(
            call.get("permission_mode").and_then(Value::as_str),
            Some("bypassPermissions" | "dontAsk" | "auto")
        );
        let agent_name = match agent {
            AgentArg::ClaudeCode => "claude-code",
            AgentArg::Codex => "codex",
            AgentArg::Gemini => "gemini",
        };
        Ok(Self {
            session: format!("{agent_name}:{session}"),
            directory,
            acts,
            agent_asks: agent == AgentArg::ClaudeCode && !silent,
        })
    }
}

fn text<'v>(call: &'v Map<String, Value>, key: &str) -> Result<&'v str, String> {
    call.get(key).and_then(Value::as_str).ok_or_else(|| format!("{key} is missing or not a text"))
}

fn one_of<'v>(input: &'v Map<String, Value>, keys: &[&'static str]) -> Option<&'v Value> {
    keys.iter().find_map(|key| input.get(*key))
}

fn text_of<'v>(input: &'v Map<String, Value>, keys: &[&'static str]) -> Result<&'v str, String> {
    let wrong = || format!("{} is missing or not a text", keys.first().copied().unwrap_or_default());
    one_of(input, keys).and_then(Value::as_str).ok_or_else(wrong)
}

fn acts(tool: &Tool, input: &Map<String, Value>) -> Result<Vec<Act>, String> {
    Ok(match tool {
        Tool::Shell(keys) => vec![Act::Run(text_of(input, keys)?.to_owned())],
        Tool::Reads(keys) => vec![Act::Read(text_of(input, keys)?.to_owned())],
        Tool::Searches(keys) if one_of(input, keys).is_none() => Vec::new(),
        Tool::Searches(keys) => vec![Act::Read(text_of(input, keys)?.to_owned())],
        Tool::ReadsMany(keys) => {
            let items =
                one_of(input, keys).and_then(Value::as_array).ok_or("the list of files is missing")?;
            let path = |item: &Value| item.as_str().map(|path| Act::Read(path.to_owned()));
            items.iter().map(path).collect::<Option<_>>().ok_or("the list of files is not one of texts")?
        }
        Tool::Writes(keys) => vec![Act::Run(writing(text_of(input, keys)?))],
        Tool::Patch(keys) => patched(text_of(input, keys)?).map(|path| Act::Run(writing(path))).collect(),
        Tool::Other => Vec::new(),
    })
}

/// The command that does what the tool does, for the gate to judge.
fn writing(path: &str) -> String {
    format!("cat > '{}'", path.replace('\'', "'\\''"))
}

/// The files that a patch of Codex names.
fn patched(patch: &str) -> impl Iterator<Item = &str> {
    const MARKS: &[&str] = &["*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "];
    patch.lines().filter_map(|line| MARKS.iter().find_map(|mark| line.trim_start().strip_prefix(mark)))
}
