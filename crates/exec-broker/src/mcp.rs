//! The client's side of MCP: JSON-RPC, one message a line, over the standard streams of a server.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::frame::LARGEST;
use crate::message::{ErrorKind, ToolError};
use crate::tool::Tool;

const VERSION: &str = "2025-06-18";
/// Pages of a list of tools; a server that has more is not listened to any longer.
const MOST_PAGES: usize = 100;
/// A line that is longer than this is no message.
const LONGEST_LINE: u64 = 16 * LARGEST as u64;

type Waiting = Arc<Mutex<Option<HashMap<u64, Sender<Value>>>>>;

/// A server that was started.
pub struct Server {
    writer: Mutex<Box<dyn Write + Send>>,
    waiting: Waiting,
    next: AtomicU64,
}

impl Server {
    /// Greets the server.
    pub fn connect(
        reader: impl Read + Send + 'static,
        writer: impl Write + Send + 'static,
        timeout: Duration,
    ) -> Result<Self, ToolError> {
        let waiting: Waiting = Arc::new(Mutex::new(Some(HashMap::new())));
        let told = Arc::clone(&waiting);
        let writer: Box<dyn Write + Send> = Box::new(writer);
        thread::spawn(move || {
            read_answers(reader, &told);
            locked(&told).take();
        });
        let server = Self { writer: Mutex::new(writer), waiting, next: AtomicU64::new(1) };
        let hello = json!({"protocolVersion": VERSION, "capabilities": {},
            "clientInfo": {"name": "cofferdam", "version": env!("CARGO_PKG_VERSION")}});
        server.request("initialize", &hello, timeout)?;
        server.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))?;
        Ok(server)
    }

    /// What the server offers.
    pub fn tools(&self, timeout: Duration) -> Result<Vec<Tool>, ToolError> {
        let mut tools = Vec::new();
        let mut parameters = json!({});
        for _ in 0..MOST_PAGES {
            let page = self.request("tools/list", &parameters, timeout)?;
            for tool in page["tools"].as_array().into_iter().flatten() {
                let text = |key: &str| tool[key].as_str().unwrap_or_default().to_owned();
                tools.push(Tool {
                    name: text("name"),
                    description: text("description"),
                    schema: tool["inputSchema"].clone(),
                });
            }
            match page["nextCursor"].as_str() {
                Some(cursor) => parameters = json!({"cursor": cursor}),
                None => break,
            }
        }
        Ok(tools)
    }

    /// Calls a tool: its structured result if there is one, and otherwise its text.
    pub fn call(
        &self,
        tool: &str,
        arguments: &Map<String, Value>,
        timeout: Duration,
    ) -> Result<Value, ToolError> {
        let mut result =
            self.request("tools/call", &json!({"name": tool, "arguments": arguments}), timeout)?;
        let texts: Vec<&str> = result["content"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|part| part["text"].as_str())
            .collect();
        let text = texts.join("\n");
        if result["isError"] == true {
            return Err(ErrorKind::Failed.with(text));
        }
        match result["structuredContent"].take() {
            Value::Null => Ok(Value::String(text)),
            structured => Ok(structured),
        }
    }

    fn request(&self, method: &str, parameters: &Value, timeout: Duration) -> Result<Value, ToolError> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let (tell, answer) = mpsc::channel();
        locked(&self.waiting).as_mut().ok_or_else(gone)?.insert(id, tell);
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": parameters}))?;
        match answer.recv_timeout(timeout) {
            Ok(mut answer) => match answer["error"]["message"].as_str() {
                Some(message) => Err(ErrorKind::Failed.with(message)),
                None => Ok(answer["result"].take()),
            },
            Err(RecvTimeoutError::Timeout) => {
                locked(&self.waiting).as_mut().map(|waiting| waiting.remove(&id));
                Err(ErrorKind::TimedOut.with("the server did not answer in time"))
            }
            Err(RecvTimeoutError::Disconnected) => Err(gone()),
        }
    }

    fn send(&self, message: &Value) -> Result<(), ToolError> {
        let mut line = message.to_string().into_bytes();
        line.push(b'\n');
        let mut writer = locked(&self.writer);
        writer.write_all(&line).and_then(|()| writer.flush()).map_err(|_| gone())
    }
}

fn gone() -> ToolError {
    ErrorKind::Failed.with("the server is gone")
}

/// Passes answers on. What a server asks or tells on its own is not listened to.
fn read_answers(reader: impl Read, waiting: &Mutex<Option<HashMap<u64, Sender<Value>>>>) {
    let mut reader = BufReader::new(reader);
    let mut line = Vec::new();
    loop {
        line.clear();
        match reader.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        let Ok(message) = serde_json::from_slice::<Value>(&line) else { continue };
        if message.get("method").is_some() {
            continue;
        }
        let waiter = message["id"].as_u64().and_then(|id| locked(waiting).as_mut()?.remove(&id));
        if let Some(waiter) = waiter {
            // Who has waited long enough does not wait any more.
            let _ = waiter.send(message);
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
