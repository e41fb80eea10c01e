//! What is said in frames.
//!
//! A request is `{"id": 7, "tool": "read_file", "arguments": {"path": "notes.md"}}` and nothing more, except for `"soon": true`
//! where the sender means to call again as soon as it has the answer. Its answer is
//! `{"id": 7, "result": …}` or `{"id": 7, "error": {"kind": "denied", "message": "…"}}`; the answer to a frame that
//! is no request has no id.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A call of a tool.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    pub id: u64,
    pub tool: String,
    #[serde(default)]
    pub arguments: Map<String, Value>,
    /// Whether the next call follows as soon as this one is answered: it is worth waiting for awake.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub soon: bool,
}

/// The answer to a frame.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(try_from = "Written")]
pub struct Response {
    pub id: Option<u64>,
    #[serde(flatten)]
    pub outcome: Outcome,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    Result(Value),
    Error(ToolError),
}

/// An answer as it is written, read field by field: to find out first which of the two it is takes a copy of all of it.
#[derive(Deserialize)]
struct Written {
    #[serde(default)]
    id: Option<u64>,
    /// Nothing is a result, too.
    #[serde(default, deserialize_with = "present")]
    result: Option<Value>,
    #[serde(default)]
    error: Option<ToolError>,
}

fn present<'de, D: serde::Deserializer<'de>>(value: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(value).map(Some)
}

impl TryFrom<Written> for Response {
    type Error = &'static str;

    fn try_from(written: Written) -> Result<Self, Self::Error> {
        let outcome = match (written.error, written.result) {
            (Some(error), _) => Outcome::Error(error),
            (None, Some(value)) => Outcome::Result(value),
            (None, None) => return Err("there is neither a result nor an error"),
        };
        Ok(Self { id: written.id, outcome })
    }
}

/// Why a call has no result.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
pub struct ToolError {
    pub kind: ErrorKind,
    pub message: String,
}

/// The kinds of errors that a script can tell apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ErrorKind {
    /// The frame is no request.
    Malformed,
    TooLarge,
    /// There is no such tool, or it was not granted.
    UnknownTool,
    /// The arguments do not fit the tool.
    BadArguments,
    /// A call with this id is still under way.
    IdInUse,
    /// The script has made as many calls as it may.
    CallLimit,
    /// The sender is not a process of this script.
    Stranger,
    /// A person, a rule or a guard said no.
    Denied,
    TimedOut,
    /// The tool did what it could and failed.
    Failed,
    /// The script is being ended.
    Ended,
}

impl ErrorKind {
    pub fn name(self) -> &'static str {
        match self {
            Self::Malformed => "malformed",
            Self::TooLarge => "too-large",
            Self::UnknownTool => "unknown-tool",
            Self::BadArguments => "bad-arguments",
            Self::IdInUse => "id-in-use",
            Self::CallLimit => "call-limit",
            Self::Stranger => "stranger",
            Self::Denied => "denied",
            Self::TimedOut => "timed-out",
            Self::Failed => "failed",
            Self::Ended => "ended",
        }
    }

    pub fn with(self, message: impl Into<String>) -> ToolError {
        ToolError { kind: self, message: message.into() }
    }
}

impl Response {
    pub fn error(id: Option<u64>, error: ToolError) -> Self {
        Self { id, outcome: Outcome::Error(error) }
    }

    pub fn of(id: u64, outcome: Result<Value, ToolError>) -> Self {
        let outcome = match outcome {
            Ok(value) => Outcome::Result(value),
            Err(error) => Outcome::Error(error),
        };
        Self { id: Some(id), outcome }
    }

    /// The answer as a frame. One that is too large for a frame becomes an error that says so.
    pub fn to_frame(&self) -> Vec<u8> {
        let body = serde_json::to_vec(self).unwrap_or_default();
        crate::frame::encode(&body).unwrap_or_else(|| {
            let error = ErrorKind::TooLarge.with("the result is too large for a frame");
            let body = serde_json::to_vec(&Self::error(self.id, error)).unwrap_or_default();
            crate::frame::encode(&body).unwrap_or_default()
        })
    }
}

/// Reads a request; what is not exactly one is an error, with its id where that can be told.
pub fn read(body: &[u8]) -> Result<Request, Response> {
    // A list of the same values would be taken for the object.
    if body.trim_ascii_start().first() != Some(&b'{') {
        return Err(Response::error(None, ErrorKind::Malformed.with("this is no JSON object")));
    }
    serde_json::from_slice(body).map_err(|error| {
        #[derive(Deserialize)]
        struct OnlyId {
            id: u64,
        }
        let id = serde_json::from_slice::<OnlyId>(body).ok().map(|only| only.id);
        Response::error(id, ErrorKind::Malformed.with(format!("this is no call of a tool: {error}")))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_exactly_what_it_should_be() {
        let read = |text: &str| read(text.as_bytes());
        assert!(read(r#"{"id":1,"tool":"t","arguments":{}}"#).is_ok());
        assert!(read(r#"{"id":1,"tool":"t"}"#).is_ok_and(|request| !request.soon));
        assert!(read(r#"{"id":1,"tool":"t","soon":true}"#).is_ok_and(|request| request.soon));
        for (text, id) in [
            ("", None),
            ("{}", None),
            ("[1]", None),
            (r#"[1, "t", {}]"#, None),
            (r#"{"id":-1,"tool":"t"}"#, None),
            (r#"{"id":1}"#, Some(1)),
            (r#"{"id":1,"tool":"t","session":"other"}"#, Some(1)),
            (r#"{"id":1,"tool":"t","arguments":[]}"#, Some(1)),
            (r#"{"id":1,"tool":7}"#, Some(1)),
            (r#"{"id":1,"tool":"t","soon":1}"#, Some(1)),
            (r#"{"id":1,"id":2,"tool":"t"}"#, None),
            ("{\"id\":1,\"tool\":\"\u{fffd}", None),
        ] {
            let response = read(text).expect_err(text);
            assert_eq!(response.id, id, "{text}");
            assert!(matches!(&response.outcome, Outcome::Error(error) if error.kind == ErrorKind::Malformed));
        }
        assert!(super::read(b"\xff\xfe").is_err());
        assert!(read(&"[".repeat(100_000)).is_err());
    }

    #[test]
    fn an_answer_reads_as_it_was_written() {
        for outcome in [Ok(Value::from("x")), Ok(Value::Null), Err(ErrorKind::Denied.with("no"))] {
            let response = Response::of(3, outcome);
            let text = serde_json::to_string(&response).expect("an answer is JSON");
            assert_eq!(serde_json::from_str::<Response>(&text).expect("JSON of ours"), response, "{text}");
        }
        let both = r#"{"id": 3, "result": 1, "error": {"kind": "denied", "message": "no"}}"#;
        let both: Response = serde_json::from_str(both).expect("an answer");
        assert_eq!(both, Response::of(3, Err(ErrorKind::Denied.with("no"))));
        assert!(serde_json::from_str::<Response>(r#"{"id": 3}"#).is_err());
    }
}
