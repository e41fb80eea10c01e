//! The decision in the words of each agent.

use serde_json::json;

use crate::args::hook::AgentArg;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// The agent goes by its own rules.
    None,
    Allow,
    /// The agent asks its own user.
    Ask(String),
    Deny(String),
}

/// What is printed. Each agent's form, as it is documented:
///
/// * Claude Code takes `hookSpecificOutput` with `permissionDecision` allow, ask or deny; nothing is no decision.
/// * Codex takes the same object, but only deny; allow and ask are errors to it, which let the call through.
/// * Gemini CLI takes `decision` allow or deny with `reason`, and always wants an object.
pub fn text(agent: AgentArg, decision: &Decision) -> String {
    let claude = |decision: &str, reason: &str| {
        let output = json!({
            "hookEventName": "PreToolUse",
            "permissionDecision": decision,
            "permissionDecisionReason": reason,
        });
        format!("{}\n", json!({ "hookSpecificOutput": output }))
    };
    match (agent, decision) {
        (AgentArg::ClaudeCode | AgentArg::Codex, Decision::None) | (AgentArg::Codex, Decision::Allow) => {
            String::new()
        }
        (AgentArg::ClaudeCode, Decision::Allow) => claude("allow", "A person approved this command."),
        (AgentArg::ClaudeCode, Decision::Ask(reason)) => claude("ask", reason),
        (AgentArg::ClaudeCode | AgentArg::Codex, Decision::Deny(reason)) => claude("deny", reason),
        // Never reached by a call of theirs; a question that cannot be put is a no.
        (AgentArg::Codex, Decision::Ask(reason)) => claude("deny", reason),
        (AgentArg::Gemini, Decision::None) => "{}\n".to_owned(),
        (AgentArg::Gemini, Decision::Allow) => format!("{}\n", json!({ "decision": "allow" })),
        (AgentArg::Gemini, Decision::Ask(reason) | Decision::Deny(reason)) => {
            format!("{}\n", json!({ "decision": "deny", "reason": reason }))
        }
    }
}
