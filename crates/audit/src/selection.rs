//! Which records a person asked for.

use std::ops::ControlFlow;

use memchr::memmem::Finder;

use crate::chain::body;
use crate::error::AuditError;
use crate::event::{Decision, Kind};
use crate::fields::Summary;
use crate::snapshot::{Snapshot, line_around, lines};
use crate::time::Moment;

/// All that is given must hold.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    pub since: Option<Moment>,
    pub until: Option<Moment>,
    pub kinds: Vec<Kind>,
    pub decision: Option<Decision>,
    /// A host, or `*.` and a domain.
    pub host: Option<String>,
    pub session: Option<String>,
    /// Text that stands anywhere in a record, as it is; hashes are not searched.
    pub text: Option<String>,
}

impl Selection {
    pub fn compile(self) -> Matcher {
        let text = self.text.as_deref().filter(|text| !text.is_empty()).map(escaped);
        let host = self.host.as_deref().map(|host| host.trim_end_matches('.').to_ascii_lowercase());
        let needle = text.clone().or_else(|| self.rarest_field(host.as_deref()));
        Matcher {
            since: self.since.map(Moment::to_text),
            until: self.until.map(Moment::to_text),
            text: text.as_deref().map(|text| Finder::new(text).into_owned()),
            needle: needle.map(|needle| Finder::new(&needle).into_owned()),
            host: host.map(|host| match host.strip_prefix('*') {
                Some(suffix) => HostTest::EndsWith(escaped(suffix)),
                None => HostTest::Is(escaped(&host)),
            }),
            session: self.session.as_deref().map(escaped),
            kinds: self.kinds,
            decision: self.decision,
        }
    }

    /// A piece of text that every wanted line holds, to skip from one to the next.
    fn rarest_field(&self, host: Option<&str>) -> Option<Vec<u8>> {
        let field = |name: &str, value: &[u8]| {
            let mut needle = format!("\"{name}\":\"").into_bytes();
            needle.extend_from_slice(value);
            needle.push(b'"');
            needle
        };
        if let Some(host) = host.filter(|host| !host.starts_with('*')) {
            return Some(field("host", &escaped(host)));
        }
        if let Some(session) = &self.session {
            return Some(field("session", &escaped(session)));
        }
        match (self.kinds.as_slice(), self.decision) {
            (_, Some(Decision::Refused)) => Some(field("decision", b"refused")),
            ([kind], _) => Some(field("kind", kind.name().as_bytes())),
            (_, Some(decision)) => Some(field("decision", decision.name().as_bytes())),
            _ => None,
        }
    }
}

/// A selection that is ready to be asked about many lines.
#[derive(Debug, Clone)]
pub struct Matcher {
    since: Option<[u8; crate::time::WIDTH]>,
    until: Option<[u8; crate::time::WIDTH]>,
    kinds: Vec<Kind>,
    decision: Option<Decision>,
    host: Option<HostTest>,
    session: Option<Vec<u8>>,
    text: Option<Finder<'static>>,
    needle: Option<Finder<'static>>,
}

#[derive(Debug, Clone)]
enum HostTest {
    Is(Vec<u8>),
    EndsWith(Vec<u8>),
}

impl Matcher {
    /// Whether a line is a record that was asked for.
    pub fn accepts(&self, line: &[u8]) -> bool {
        let Some(summary) = Summary::of(line) else {
            return false;
        };
        self.since.is_none_or(|since| summary.time >= since.as_slice())
            && self.until.is_none_or(|until| summary.time < until.as_slice())
            && (self.kinds.is_empty() || self.kinds.iter().any(|kind| kind.name().as_bytes() == summary.kind))
            && self.decision.is_none_or(|decision| decision.name().as_bytes() == summary.decision)
            && self.session.as_ref().is_none_or(|session| session == summary.session)
            && self.host.as_ref().is_none_or(|host| host.accepts(summary.host))
            && self.text.as_ref().is_none_or(|text| text.find(body(line)).is_some())
    }

    fn accepted<'a>(&self, chunk: &'a [u8], mut each: impl FnMut(&'a [u8])) {
        let Some(needle) = &self.needle else {
            lines(chunk).filter(|line| self.accepts(line)).for_each(each);
            return;
        };
        let mut from = 0;
        while let Some(at) = chunk.get(from..).and_then(|rest| needle.find(rest)) {
            let (line, next) = line_around(chunk, from + at);
            if self.accepts(line) {
                each(line);
            }
            from = next;
        }
    }
}

impl HostTest {
    fn accepts(&self, host: &[u8]) -> bool {
        match self {
            Self::Is(wanted) => host == wanted,
            Self::EndsWith(suffix) => host.len() > suffix.len() && host.ends_with(suffix),
        }
    }
}

/// The text as it stands within a JSON string.
fn escaped(text: &str) -> Vec<u8> {
    let quoted = serde_json::Value::from(text).to_string();
    quoted.as_bytes()[1..quoted.len() - 1].to_vec()
}

impl Snapshot {
    /// Hands all accepted lines to `each`, in order, many at a time and each with its line end.
    pub fn select(
        &self,
        matcher: &Matcher,
        each: impl FnMut(Vec<u8>) -> ControlFlow<()>,
    ) -> Result<(), AuditError> {
        self.in_order(
            |chunk| {
                let mut found = Vec::new();
                matcher.accepted(chunk.bytes, |line| {
                    found.extend_from_slice(line);
                    found.push(b'\n');
                });
                found
            },
            each,
        )
    }
}
