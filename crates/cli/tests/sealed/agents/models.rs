//! Model providers: their own clients, in Python and Node, streams included.

use serde_json::{Value, json};

use super::World;

pub const OPENAI: &str = "sk-real-0123456789abcdef";
pub const ANTHROPIC: &str = "sk-ant-real-0123456789abcdef";
const GEMINI: &str = "AIza-real-0123456789abcdef0123456789abc";
const SIGNED: &str = "AWS4-HMAC-SHA256 Credential=AKIAREALREALREALREAL/";

fn completion_stream() -> String {
    let piece = |delta: Value| {
        let chunk = json!({
            "id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m",
            "choices": [{"index": 0, "delta": delta, "finish_reason": null}],
        });
        format!("data: {chunk}\n\n")
    };
    [piece(json!({"content": "hel"})), piece(json!({"content": "lo"})), "data: [DONE]\n\n".to_owned()]
        .concat()
}

/// What Anthropic's messages answer, as a stream.
pub fn message_stream() -> String {
    let event = |data: Value| format!("event: {}\ndata: {data}\n\n", data["type"].as_str().expect("a type"));
    [
        event(json!({"type": "message_start", "message": {
            "id": "m1", "type": "message", "role": "assistant", "model": "m", "stop_reason": null,
            "stop_sequence": null, "content": [], "usage": {"input_tokens": 1, "output_tokens": 1},
        }})),
        event(json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}})),
        event(json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "hello"}})),
        event(json!({"type": "content_block_stop", "index": 0})),
        event(json!({"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": null}, "usage": {"output_tokens": 1}})),
        event(json!({"type": "message_stop"})),
    ]
    .concat()
}

#[test]
fn req_e07_e26_openais_clients_and_litellm_stream_unchanged() {
    let world = World::new(&["api.openai.com"], 0, &[("OPENAI_API_KEY", OPENAI)]);
    let path = "/v1/chat/completions";
    world.answer(path, "text/event-stream", completion_stream());
    let ask = "stream=True, messages=[{'role': 'user', 'content': 'hi'}]";
    let openai = format!(
        "import openai\nfor p in openai.OpenAI(max_retries=0).chat.completions.create(model='m', {ask}):\n    print(p.choices[0].delta.content, end='')\n"
    );
    assert_eq!(world.python(&[], &openai), "hello");
    // It would look for a list of prices at a host that is not allowed.
    let litellm = format!(
        "import os\nos.environ['LITELLM_LOCAL_MODEL_COST_MAP'] = 'True'\nimport litellm\n\
         for p in litellm.completion(model='openai/m', num_retries=0, {ask}):\n    print(p.choices[0].delta.content or '', end='')\n"
    );
    assert_eq!(world.python(&[], &litellm), "hello");
    // Node's fetch has never heard of proxies.
    let node = "import OpenAI from 'openai';\n\
        const s = await new OpenAI({ maxRetries: 0 }).chat.completions.create({ model: 'm', stream: true, messages: [{ role: 'user', content: 'hi' }] });\n\
        let text = '';\nfor await (const p of s) text += p.choices[0].delta.content;\nconsole.log(text);\n";
    assert_eq!(world.node(node), "hello\n");
    let expected = format!("Bearer {OPENAI}");
    assert_eq!(world.headers(path, "authorization"), [&*expected, &*expected, &*expected]);
}

#[test]
fn req_e07_e26_anthropics_clients_stream_unchanged() {
    let world = World::new(&["api.anthropic.com"], 0, &[("ANTHROPIC_API_KEY", ANTHROPIC)]);
    world.answer("/v1/messages", "text/event-stream", message_stream());
    let python = "import anthropic\n\
        with anthropic.Anthropic(max_retries=0).messages.stream(model='m', max_tokens=9, messages=[{'role': 'user', 'content': 'hi'}]) as s:\n    print(''.join(s.text_stream))\n";

    assert_eq!(world.python(&[], python), "hello\n");
    let node = "import Anthropic from '@anthropic-ai/sdk';\n\
        const s = new Anthropic({ maxRetries: 0 }).messages.stream({ model: 'm', max_tokens: 9, messages: [{ role: 'user', content: 'hi' }] });\n\
        console.log(await s.finalText());\n";
    assert_eq!(world.node(node), "hello\n");
    // Which of the two places a client takes depends on its version.
    let mut sent = world.headers("/v1/messages", "x-api-key");
    let bearers = world.headers("/v1/messages", "authorization");
    sent.extend(bearers.iter().filter_map(|value| value.strip_prefix("Bearer ").map(str::to_owned)));
    assert_eq!(sent, [ANTHROPIC, ANTHROPIC]);
}

#[test]
fn req_e07_googles_and_amazons_clients_work_unchanged() {
    let world = World::new(
        &["generativelanguage.googleapis.com", "bedrock-runtime.us-east-1.amazonaws.com"],
        0,
        &[
            ("GEMINI_API_KEY", GEMINI),
            ("AWS_ACCESS_KEY_ID", "AKIAREALREALREALREAL"),
            ("AWS_SECRET_ACCESS_KEY", "real0123456789real0123456789real01234567"),
        ],
    );
    let answer = json!({"candidates": [{"content": {"role": "model", "parts": [{"text": "hello"}]}}]});
    // Which version of the interface it asks depends on its own.
    for version in ["v1", "v1beta"] {
        let path = format!("/{version}/models/gemini:generateContent");
        world.answer(&path, "application/json", answer.to_string());
    }
    let genai = "from google import genai\n\
        c = genai.Client()\nprint(c.models.generate_content(model='gemini', contents='hi').text)\n";
    assert_eq!(world.python(&[], genai), "hello\n");
    assert_eq!(world.headers(":generateContent", "x-goog-api-key"), [GEMINI]);
    for path in ["/model/claude%3A1/invoke", "/model/claude:1/invoke"] {
        world.answer(path, "application/json", "{\"completion\": \"hello\"}");
    }
    let bedrock = "import boto3, json\nfrom botocore.config import Config\n\
        c = boto3.client('bedrock-runtime', region_name='us-east-1', config=Config(retries={'max_attempts': 1}))\n\
        print(json.loads(c.invoke_model(modelId='claude:1', body='{}')['body'].read())['completion'])\n";
    // A cloud's key is used when it is asked for.
    assert_eq!(world.python(&["--provider", "aws"], bedrock), "hello\n");
    let signed = world.headers("/invoke", "authorization");
    assert!(signed.len() == 1 && signed[0].starts_with(SIGNED), "{signed:?}");
}
