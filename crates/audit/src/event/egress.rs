//! What left the sandbox, or was not let out.

use serde::Serialize;

use super::Outcome;
use crate::codes::codes;
use crate::outside::{HostName, Label, Method, RequestPath};

/// A `CONNECT`, judged on its host and port alone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EgressTunnel {
    #[serde(flatten)]
    pub outcome: Outcome<EgressReason>,
    pub host: HostName,
    pub port: u16,
    /// The rule or provider that let it through.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<Label>,
}

/// A request, recorded before it is passed on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EgressRequest {
    #[serde(flatten)]
    pub outcome: Outcome<EgressReason>,
    pub host: HostName,
    pub port: u16,
    pub method: Method,
    pub path: RequestPath,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<Label>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<Label>,
}

/// How a request that was let through ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EgressResponse {
    pub host: HostName,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// What broke it off, if something did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<EgressReason>,
    pub bytes_sent: u64,
    pub bytes_received: u64,
    pub microseconds: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DnsQuery {
    #[serde(flatten)]
    pub outcome: Outcome<DnsReason>,
    pub host: HostName,
    pub query_type: u16,
}

/// A token was swapped. Neither it nor the value has a field here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CredentialInjected {
    pub host: HostName,
    pub provider: Label,
    pub place: CredentialPlace,
}

/// An upstream sent a known secret back, and it was taken out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SecretRedacted {
    pub host: HostName,
    pub provider: Label,
    pub place: ResponsePlace,
    pub count: u64,
}

codes! {
    /// Why a request or tunnel was refused or broke off: the value of the header `cofferdam-reason`.
    pub enum EgressReason {
        ClientUnidentified = "client-unidentified",
        MalformedRequest = "malformed-request",
        AmbiguousFraming = "ambiguous-framing",
        ProtocolUnsupported = "protocol-unsupported",
        UpgradeRefused = "upgrade-refused",
        TargetMalformed = "target-malformed",
        TargetMismatch = "target-mismatch",
        TargetIsProxy = "target-is-proxy",
        HostNotAllowed = "host-not-allowed",
        PortNotAllowed = "port-not-allowed",
        MethodNotAllowed = "method-not-allowed",
        PathNotAllowed = "path-not-allowed",
        SchemeNotAllowed = "scheme-not-allowed",
        TokenMissing = "token-missing",
        TokenUnknown = "token-unknown",
        TokenMisplaced = "token-misplaced",
        TokenDuplicate = "token-duplicate",
        TokenWrongHost = "token-wrong-host",
        TokenWrongClient = "token-wrong-client",
        TokenExpired = "token-expired",
        TokenRevoked = "token-revoked",
        CredentialForeign = "credential-foreign",
        SignatureInvalid = "signature-invalid",
        RateLimited = "rate-limited",
        ConcurrencyLimited = "concurrency-limited",
        BytesLimited = "bytes-limited",
        BodyTooLarge = "body-too-large",
        BodyEncoded = "body-encoded",
        BodyMalformed = "body-malformed",
        HeaderTooLarge = "header-too-large",
        HeadersTooMany = "headers-too-many",
        TrailerTooLarge = "trailer-too-large",
        DecompressionLimited = "decompression-limited",
        SourceUnavailable = "source-unavailable",
        SourceEmpty = "source-empty",
        MintFailed = "mint-failed",
        NameNotFound = "name-not-found",
        ResolverFailed = "resolver-failed",
        AddressDenied = "address-denied",
        UpstreamConnectFailed = "upstream-connect-failed",
        UpstreamConnectTimeout = "upstream-connect-timeout",
        UpstreamTlsFailed = "upstream-tls-failed",
        UpstreamUntrusted = "upstream-untrusted",
        UpstreamTimeout = "upstream-timeout",
        UpstreamIdle = "upstream-idle",
        UpstreamClosed = "upstream-closed",
        UpstreamMalformed = "upstream-malformed",
        UpstreamProxyFailed = "upstream-proxy-failed",
        ClientTimeout = "client-timeout",
        ClientClosed = "client-closed",
        RecordUnavailable = "record-unavailable",
        PolicyUnavailable = "policy-unavailable",
        ShuttingDown = "shutting-down",
    }

    /// Why a name got no address.
    pub enum DnsReason {
        HostNotAllowed = "host-not-allowed",
        MalformedQuery = "malformed-query",
        TypeUnsupported = "type-unsupported",
        RateLimited = "rate-limited",
        /// So many names were asked for that those after this one are not on record.
        NamesTooMany = "names-too-many",
    }

    /// Where in a request a credential stands.
    pub enum CredentialPlace {
        Header = "header",
        Basic = "basic",
        Query = "query",
        Path = "path",
        Json = "json",
        Form = "form",
        Cookie = "cookie",
        Signature = "signature",
    }

    /// Where in a response a secret was found.
    pub enum ResponsePlace {
        Informational = "informational",
        Header = "header",
        Body = "body",
        Trailer = "trailer",
        WebSocket = "web-socket",
    }
}
