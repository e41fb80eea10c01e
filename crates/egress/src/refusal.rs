//! What a client is told when a request is refused or breaks off: a status, a stable code, and one sentence.
//!
//! The sentence says what to do where somebody can do something, and never how to switch a control off. It is
//! fixed text: nothing of the request, of a secret or of an upstream's words is in it.

use bytes::Bytes;
use cofferdam_audit::event::EgressReason;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderName, HeaderValue, Response, StatusCode};

use crate::body::Answer;

pub(crate) const REASON: HeaderName = HeaderName::from_static("cofferdam-reason");

pub(crate) fn response(reason: EgressReason) -> Response<Answer> {
    let (status, sentence) = explain(reason);
    let mut response = Response::new(Answer::own(Bytes::from(format!("cofferdam: {sentence}\n"))));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(REASON, HeaderValue::from_static(reason.name()));
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// The same as bytes, for a client that is not yet in the hands of the HTTP library.
pub(crate) fn bytes(reason: EgressReason) -> Vec<u8> {
    let (status, sentence) = explain(reason);
    let (code, body) = (reason.name(), format!("cofferdam: {sentence}\n"));
    format!(
        "HTTP/1.1 {status}\r\ncofferdam-reason: {code}\r\ncontent-type: text/plain; charset=utf-8\r\n\
         content-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

fn explain(reason: EgressReason) -> (StatusCode, &'static str) {
    use EgressReason as R;
    use StatusCode as S;
    match reason {
        R::MalformedRequest => (S::BAD_REQUEST, "this is not a well-formed HTTP request"),
        R::AmbiguousFraming => (S::BAD_REQUEST, "the length of the request can be read in two ways"),
        R::TargetMalformed => (S::BAD_REQUEST, "the request names no valid host and port"),
        R::TargetMismatch => (S::BAD_REQUEST, "the request names two different hosts or ports"),
        R::TargetIsProxy => (S::FORBIDDEN, "the request leads back to the proxy"),
        R::ProtocolUnsupported => (S::BAD_REQUEST, "this protocol is not spoken here"),
        R::UpgradeRefused => (S::FORBIDDEN, "this change of protocol is not passed on"),
        R::HostNotAllowed => {
            (S::FORBIDDEN, "this host is not on the allow list; ask the person who runs the sandbox")
        }
        R::PortNotAllowed => (S::FORBIDDEN, "this port of the host is not on the allow list"),
        R::MethodNotAllowed => (S::FORBIDDEN, "this method is not allowed at this host"),
        R::PathNotAllowed => (S::FORBIDDEN, "this path is not allowed at this host"),
        R::SchemeNotAllowed => (S::FORBIDDEN, "this must be asked for over https"),
        R::TokenMissing => (S::FORBIDDEN, "the token of this provider is missing"),
        R::TokenUnknown => (S::FORBIDDEN, "this token is not known"),
        R::TokenMisplaced => (S::FORBIDDEN, "the token stands where this provider does not expect it"),
        R::TokenDuplicate => (S::FORBIDDEN, "the token is in the request more than once"),
        R::TokenWrongHost => (S::FORBIDDEN, "this token belongs to another host"),
        R::TokenWrongClient => (S::FORBIDDEN, "this token belongs to another sandbox"),
        R::TokenExpired => (S::FORBIDDEN, "this token has expired"),
        R::TokenRevoked => (S::FORBIDDEN, "this token was revoked"),
        R::CredentialForeign => {
            (S::FORBIDDEN, "this host is only reached with the token that was given for it")
        }
        R::SignatureInvalid => (S::FORBIDDEN, "the signature does not fit the request"),
        R::RateLimited | R::ConcurrencyLimited | R::BytesLimited => {
            (S::TOO_MANY_REQUESTS, "there were too many requests; wait and try again")
        }
        R::BodyTooLarge => (S::PAYLOAD_TOO_LARGE, "the body of the request is too large"),
        R::BodyEncoded => (
            S::UNSUPPORTED_MEDIA_TYPE,
            "the token of this provider stands in the body, which must therefore not be compressed",
        ),
        R::BodyMalformed => {
            (S::BAD_REQUEST, "the place of this provider's token cannot be found in the body of the request")
        }
        R::HeaderTooLarge | R::HeadersTooMany | R::TrailerTooLarge => {
            (S::REQUEST_HEADER_FIELDS_TOO_LARGE, "the head of the request is too large")
        }
        R::SourceUnavailable | R::SourceEmpty | R::MintFailed => (
            S::BAD_GATEWAY,
            "the credential for this host cannot be had now; the person who runs the sandbox can see why",
        ),
        R::NameNotFound => (S::BAD_GATEWAY, "this host name does not exist"),
        R::ResolverFailed => (S::BAD_GATEWAY, "this host name cannot be looked up now"),
        R::AddressDenied => (S::FORBIDDEN, "this host is at an address that must not be reached"),
        R::UpstreamConnectFailed => (S::BAD_GATEWAY, "the host does not accept connections"),
        R::UpstreamConnectTimeout => (S::GATEWAY_TIMEOUT, "the host does not answer"),
        R::UpstreamTlsFailed => (S::BAD_GATEWAY, "the host does not speak TLS as it should"),
        R::UpstreamUntrusted => (
            S::BAD_GATEWAY,
            "the host's certificate is not trusted; the person who runs the proxy can add its authority to upstream_ca_files",
        ),
        R::UpstreamTimeout | R::UpstreamIdle => (S::GATEWAY_TIMEOUT, "the host took too long"),
        R::UpstreamClosed => (S::BAD_GATEWAY, "the host closed the connection"),
        R::UpstreamMalformed => (S::BAD_GATEWAY, "the host's answer is not well formed"),
        R::UpstreamProxyFailed => (S::BAD_GATEWAY, "the upstream proxy refused the connection"),
        R::DecompressionLimited => {
            (S::BAD_GATEWAY, "the host's answer is compressed in a way that cannot be looked into")
        }
        R::ClientUnidentified => (S::FORBIDDEN, "the client is not known"),
        R::ClientTimeout => (S::REQUEST_TIMEOUT, "the request took too long to arrive"),
        R::ClientClosed => (S::BAD_REQUEST, "the client went away"),
        R::RecordUnavailable => {
            (S::SERVICE_UNAVAILABLE, "requests cannot be recorded now, so none are passed on")
        }
        R::PolicyUnavailable => (S::SERVICE_UNAVAILABLE, "there is no valid policy now"),
        R::ShuttingDown => (S::SERVICE_UNAVAILABLE, "the proxy is stopping"),
    }
}
