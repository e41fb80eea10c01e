//! `hook`: an agent's own hook asks the gate.

use clap::{Args, ValueEnum};

use super::approvals::KindArg;

/// Answer an agent's own pre-tool hook: the call on standard input, the decision in the agent's own form
///
/// Commands go through the approval gate, files that are read through the read guard, and files that are written
/// are judged as a command that writes them. Other tools get no decision. Whatever goes wrong blocks the call:
/// status 2, with the reason on standard error.
///
/// Claude Code asks its own user where the gate wants somebody to be asked. Codex and Gemini CLI cannot be told to
/// ask, so the question waits for `cofferdam approvals allow ID`, or for the program that is configured as notifier,
/// and is a no when --wait is over. Give the agent's hook a timeout that is longer than that.
#[derive(Debug, Args)]
#[command(after_help = r#"Examples:
  cofferdam hook claude-code < call.json
  Claude Code, in ~/.claude/settings.json:
    {"hooks": {"PreToolUse": [{"matcher": "*", "hooks":
      [{"type": "command", "command": "cofferdam hook claude-code", "timeout": 60, "onFailure": "block"}]}]}}
  Codex, in ~/.codex/hooks.json:
    {"hooks": {"PreToolUse": [{"matcher": ".*", "hooks":
      [{"type": "command", "command": "cofferdam hook codex", "timeout": 60}]}]}}
  Gemini CLI, in ~/.gemini/settings.json:
    {"hooks": {"BeforeTool": [{"matcher": ".*", "hooks":
      [{"type": "command", "command": "cofferdam hook gemini", "timeout": 60000}]}]}}"#)]
pub struct HookArgs {
    /// The agent that calls
    pub agent: AgentArg,
    /// Who is on the other side of the agent
    #[arg(long, value_name = "KIND", default_value = "interactive")]
    pub session_kind: KindArg,
    /// How long a question waits, at most
    #[arg(long, value_name = "DURATION", default_value = "50s")]
    pub wait: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum AgentArg {
    ClaudeCode,
    Codex,
    Gemini,
}
