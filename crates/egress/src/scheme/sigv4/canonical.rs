//! The canonical form of a request, whose digest is signed.

use aws_lc_rs::digest;
use http::HeaderMap;
use http::request::Parts;
use zeroize::Zeroizing;

use super::{Presented, QUERY_SIGNATURE, SignatureError, hex};
use crate::scheme::percent::{self, Plus};
use crate::scheme::query::Pairs;
use crate::scheme::target;

/// What stands in the last line.
pub(super) enum Payload {
    /// The value of `x-amz-content-sha256`.
    Declared,
    Unsigned,
    Digest([u8; 64]),
}

/// Borrows everything: nothing of a request is copied to sign it, but for the parameters of its query, which
/// have to be sorted.
pub(super) struct Canonical<'a> {
    method: &'a str,
    path: &'a str,
    query: &'a [u8],
    headers: &'a HeaderMap,
    host: Option<&'a str>,
    signed: &'a [String],
    encode_path_again: bool,
    payload: Payload,
}

impl<'a> Canonical<'a> {
    pub(super) fn of(
        parts: &'a Parts,
        presented: &'a Presented,
        payload: Payload,
    ) -> Result<Self, SignatureError> {
        let target = target(parts).ok_or(SignatureError::Malformed)?;
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        Ok(Self {
            method: parts.method.as_str(),
            path: if path.is_empty() { "/" } else { path },
            query: query.as_bytes(),
            headers: &parts.headers,
            host: parts.uri.authority().map(http::uri::Authority::as_str),
            signed: &presented.signed,
            encode_path_again: !presented.scope.is_s3(),
            payload,
        })
    }

    /// In hexadecimal. The form is hashed as it is written, so that a session token in it is not copied.
    pub(super) fn digest(&self) -> [u8; 64] {
        let mut context = digest::Context::new(&digest::SHA256);
        self.write(&mut |bytes| context.update(bytes));
        hex(context.finish().as_ref())
    }

    pub(super) fn write(&self, out: &mut dyn FnMut(&[u8])) {
        out(self.method.as_bytes());
        out(b"\n");
        self.write_path(out);
        out(b"\n");
        self.write_query(out);
        out(b"\n");
        for name in self.signed {
            self.write_header(name, out);
        }
        out(b"\n");
        for (index, name) in self.signed.iter().enumerate() {
            if index > 0 {
                out(b";");
            }
            out(name.as_bytes());
        }
        out(b"\n");
        match &self.payload {
            Payload::Digest(digest) => out(digest),
            Payload::Unsigned => out(b"UNSIGNED-PAYLOAD"),
            Payload::Declared => {
                let declared = self.headers.get("x-amz-content-sha256");
                out(declared.map_or(b"", |value| value.as_bytes()));
            }
        }
    }

    fn write_path(&self, out: &mut dyn FnMut(&[u8])) {
        if !self.encode_path_again {
            return out(self.path.as_bytes());
        }
        let mut encoded = Vec::with_capacity(self.path.len() + 16);
        let kept = |byte| percent::unreserved(byte) || byte == b'/';
        percent::encode(normalized(self.path).as_bytes(), kept, &mut encoded);
        out(&encoded);
    }

    /// Every parameter but the signature, decoded, encoded in the one way, and sorted.
    fn write_query(&self, out: &mut dyn FnMut(&[u8])) {
        let encoded = |text: &[u8]| {
            let decoded = Zeroizing::new(percent::decode_leniently(text, Plus::Space));
            let length = percent::encoded_length(&decoded, percent::unreserved);
            let mut encoded = Zeroizing::new(Vec::with_capacity(length));
            percent::encode(&decoded, percent::unreserved, &mut encoded);
            encoded
        };
        let mut pairs: Vec<_> = Pairs::of(self.query)
            .filter(|pair| !(pair.name.is_empty() && pair.value.is_empty()))
            .map(|pair| (encoded(&self.query[pair.name]), encoded(&self.query[pair.value])))
            .filter(|(name, _)| name.as_slice() != QUERY_SIGNATURE.as_bytes())
            .collect();
        pairs.sort_by(|one, other| {
            (one.0.as_slice(), one.1.as_slice()).cmp(&(other.0.as_slice(), other.1.as_slice()))
        });
        for (index, (name, value)) in pairs.iter().enumerate() {
            if index > 0 {
                out(b"&");
            }
            out(name);
            out(b"=");
            out(value);
        }
    }

    fn write_header(&self, name: &str, out: &mut dyn FnMut(&[u8])) {
        out(name.as_bytes());
        out(b":");
        let mut values = self.headers.get_all(name).iter().peekable();
        // HTTP/2 has no such header: what it means is in the request's authority.
        if name == "host" && values.peek().is_none() {
            out(self.host.unwrap_or_default().as_bytes());
        }
        for (index, value) in values.enumerate() {
            if index > 0 {
                out(b",");
            }
            let words = value.as_bytes().split(|byte| matches!(byte, b' ' | b'\t'));
            for (index, word) in words.filter(|word| !word.is_empty()).enumerate() {
                if index > 0 {
                    out(b" ");
                }
                out(word);
            }
        }
        out(b"\n");
    }
}

/// Without dot segments and repeated slashes.
fn normalized(path: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    for segment in path.split('/') {
        match segment {
            "" | "." => {}
            ".." => {
                kept.pop();
            }
            other => kept.push(other),
        }
    }
    let last = if path.ends_with('/') && !kept.is_empty() { "/" } else { "" };
    format!("/{}{last}", kept.join("/"))
}
