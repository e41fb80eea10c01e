//! Model providers: their own clients and the HTTP libraries below them, in Python and Node, streams included.

use serde_json::json;

use super::{answer, headers, json, node, python, using};

const OPENAI: (&str, &str) = ("OPENAI_API_KEY", "sk-real-0123456789abcdef");
const ANTHROPIC: (&str, &str) = ("ANTHROPIC_API_KEY", "sk-ant-real-0123456789abcdef");

fn completion() -> serde_json::Value {
    json!({
        "id": "c1", "object": "chat.completion", "created": 1, "model": "m",
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "hello"}}],
    })
}

fn completion_stream() -> String {
    let piece = |delta: serde_json::Value| {
        let chunk = json!({
            "id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m",
            "choices": [{"index": 0, "delta": delta, "finish_reason": null}],
        });
        format!("data: {chunk}\n\n")
    };
    [piece(json!({"content": "hel"})), piece(json!({"content": "lo"})), "data: [DONE]\n\n".to_owned()]
        .concat()
}

#[test]
fn req_e01_e07_openais_clients_in_python_and_node_work_unchanged() {
    let proxied = using("openai-api", &[OPENAI]);
    let path = "/v1/chat/completions";
    let ask = "messages=[{'role': 'user', 'content': 'hi'}]";
    let plain = format!(
        "import openai\nc = openai.OpenAI(max_retries=0)\nr = c.chat.completions.create(model='m', {ask})\nprint(r.choices[0].message.content)\n"
    );
    let stream = format!(
        "import openai\nc = openai.OpenAI(max_retries=0)\nfor p in c.chat.completions.create(model='m', stream=True, {ask}):\n    print(p.choices[0].delta.content, end='')\nprint()\n"
    );
    json(&proxied, path, &completion());
    assert_eq!(python(&proxied, "openai-api", &plain).trim(), "hello");
    answer(&proxied, path, "text/event-stream", completion_stream());
    assert_eq!(python(&proxied, "openai-api", &stream).trim(), "hello");
    // The way in is told to this client; programs that do not ask for one are caught by the sandbox itself.
    let node_stream = "import OpenAI from 'openai';\nimport { fetch, ProxyAgent } from 'undici';\n\
        const dispatcher = new ProxyAgent(process.env.HTTPS_PROXY);\n\
        const c = new OpenAI({ maxRetries: 0, fetch: (u, o) => fetch(u, { ...o, dispatcher }) });\n\
        const s = await c.chat.completions.create({ model: 'm', stream: true, messages: [{ role: 'user', content: 'hi' }] });\n\
        let text = '';\nfor await (const p of s) text += p.choices[0].delta.content;\nconsole.log(text);\n";
    assert_eq!(node(&proxied, "openai-api", node_stream).trim(), "hello");
    let expected = &*format!("Bearer {}", OPENAI.1);
    assert_eq!(headers(&proxied, path, "authorization"), [expected, expected, expected]);
}

#[test]
fn req_e07_anthropics_clients_in_python_and_node_work_unchanged() {
    let proxied = using("anthropic", &[ANTHROPIC]);
    let path = "/v1/messages";
    let message = json!({
        "id": "m1", "type": "message", "role": "assistant", "model": "m", "stop_reason": "end_turn", "stop_sequence": null,
        "content": [{"type": "text", "text": "hello"}], "usage": {"input_tokens": 1, "output_tokens": 1},
    });
    json(&proxied, path, &message);
    let plain = "import anthropic\nc = anthropic.Anthropic(max_retries=0)\n\
        r = c.messages.create(model='m', max_tokens=9, messages=[{'role': 'user', 'content': 'hi'}])\nprint(r.content[0].text)\n";
    assert_eq!(python(&proxied, "anthropic", plain).trim(), "hello");
    let from_node = "import Anthropic from '@anthropic-ai/sdk';\nimport { fetch, ProxyAgent } from 'undici';\n\
        const dispatcher = new ProxyAgent(process.env.HTTPS_PROXY);\n\
        const c = new Anthropic({ maxRetries: 0, fetch: (u, o) => fetch(u, { ...o, dispatcher }) });\n\
        const r = await c.messages.create({ model: 'm', max_tokens: 9, messages: [{ role: 'user', content: 'hi' }] });\n\
        console.log(r.content[0].text);\n";
    assert_eq!(node(&proxied, "anthropic", from_node).trim(), "hello");
    let event = |name: &str, data: serde_json::Value| format!("event: {name}\ndata: {data}\n\n");
    let mut begun = message.clone();
    begun["content"] = json!([]);
    let text =
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "hello"}});
    let end = json!({"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": null}, "usage": {"output_tokens": 1}});
    let stream = [
        event("message_start", json!({"type": "message_start", "message": begun})),
        event(
            "content_block_start",
            json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
        ),
        event("content_block_delta", text),
        event("content_block_stop", json!({"type": "content_block_stop", "index": 0})),
        event("message_delta", end),
        event("message_stop", json!({"type": "message_stop"})),
    ];
    answer(&proxied, path, "text/event-stream", stream.concat());
    let streamed = "import anthropic\nc = anthropic.Anthropic(max_retries=0)\n\
        with c.messages.stream(model='m', max_tokens=9, messages=[{'role': 'user', 'content': 'hi'}]) as s:\n    print(''.join(s.text_stream))\n";
    assert_eq!(python(&proxied, "anthropic", streamed).trim(), "hello");
    // Which of the two places a client takes depends on its version.
    let mut sent = headers(&proxied, path, "x-api-key");
    let bearers = headers(&proxied, path, "authorization");
    sent.extend(bearers.iter().filter_map(|value| value.strip_prefix("Bearer ").map(str::to_owned)));
    assert_eq!(sent, [ANTHROPIC.1, ANTHROPIC.1, ANTHROPIC.1]);
}

#[test]
fn req_e01_the_http_libraries_below_them_work_unchanged() {
    let proxied = using("openai-api", &[OPENAI]);
    json(&proxied, "/v1/models", &json!({"data": "models"}));
    let program = "\
import os, asyncio, ssl, requests, httpx, aiohttp
url = 'https://api.openai.com/v1/models'
auth = {'Authorization': 'Bearer ' + os.environ['OPENAI_API_KEY']}
print(requests.get(url, headers=auth).json()['data'])
print(httpx.Client(http2=False).get(url, headers=auth).json()['data'])
two = httpx.Client(http2=True).get(url, headers=auth)
print(two.json()['data'], two.http_version)
async def with_aiohttp():
    context = ssl.create_default_context(cafile=os.environ['SSL_CERT_FILE'])
    async with aiohttp.ClientSession(trust_env=True) as session:
        async with session.get(url, headers=auth, ssl=context) as answer:
            print((await answer.json())['data'])
asyncio.run(with_aiohttp())
";
    assert_eq!(python(&proxied, "openai-api", program), "models\nmodels\nmodels HTTP/2\nmodels\n");
    let expected = &*format!("Bearer {}", OPENAI.1);
    assert_eq!(headers(&proxied, "/v1/models", "authorization"), [expected, expected, expected, expected]);
}
