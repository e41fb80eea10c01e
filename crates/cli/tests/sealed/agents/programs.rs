//! Agents as programs, as far as they go without their vendors.

use cofferdam_testkit::clients;
use serde_json::{Value, json};

use super::World;
use super::models::{ANTHROPIC, OPENAI, message_stream};

/// Runs a script that finds the programs.
#[track_caller]
fn run(world: &World, script: &str) -> String {
    let packages = clients::installed("node").display().to_string();
    world.shell(&["--read", &packages], &format!("PATH=$PATH:{packages}/node_modules/.bin; {script}"))
}

#[test]
fn claude_code_answers_with_a_token_in_the_place_of_the_key() {
    let world = World::new(&["api.anthropic.com"], 0, &[("ANTHROPIC_API_KEY", ANTHROPIC)]);
    world.answer("/v1/messages", "text/event-stream", message_stream());
    let said = run(&world, "claude -p 'say hello' </dev/null");
    assert_eq!(said.trim(), "hello");
    let sent = world.headers("/v1/messages", "x-api-key");
    assert!(!sent.is_empty() && sent.iter().all(|key| key == ANTHROPIC), "{sent:?}");
}

#[test]
fn codex_answers_with_a_token_in_the_place_of_the_key() {
    let world = World::new(&["api.openai.com"], 0, &[("OPENAI_API_KEY", OPENAI)]);
    let event = |data: Value| format!("event: {}\ndata: {data}\n\n", data["type"].as_str().expect("a type"));
    let message = json!({"type": "message", "role": "assistant", "id": "m1", "content": [{"type": "output_text", "text": "hello"}]});
    let stream = [
        event(json!({"type": "response.created", "response": {"id": "r1"}})),
        event(json!({"type": "response.output_item.done", "output_index": 0, "item": message})),
        event(json!({"type": "response.completed", "response": {"id": "r1", "usage": {
            "input_tokens": 1, "input_tokens_details": null, "output_tokens": 1, "output_tokens_details": null, "total_tokens": 2,
        }}})),
    ];
    world.answer("/v1/responses", "text/event-stream", stream.concat());
    let script = "export CODEX_HOME=$HOME/codex CODEX_API_KEY=$OPENAI_API_KEY; mkdir -p $CODEX_HOME; \
        codex exec --skip-git-repo-check --sandbox danger-full-access 'say hello' </dev/null";
    let said = run(&world, script);
    assert!(said.trim().ends_with("hello"), "{said}");
    let expected = format!("Bearer {OPENAI}");
    let sent = world.headers("/v1/responses", "authorization");
    assert!(!sent.is_empty() && sent.iter().all(|key| *key == expected), "{sent:?}");
}
