//! What completes a request that was authorised: a value for its place, a token minted for it, or a signature.

use std::sync::Arc;

use cofferdam_audit::event::{CredentialPlace, EgressReason};
use cofferdam_policy::provider::{Scheme, Shape};
use cofferdam_secrets::Secret;
use http::StatusCode;
use http::request::Parts;

use crate::authorize::Authorized;
use crate::outgoing::RequestBody;
use crate::scheme;
use crate::scheme::sigv4::{BodyDigest, Keys, Payload, Presented, Verified};
use crate::serve::Inbound;

/// Gathered before anything is sent, so that a request which cannot be completed contacts nobody.
pub(crate) enum Material {
    Nothing,
    Value(Arc<Secret>),
    Minted { from: Arc<Secret>, token: Arc<Secret> },
    Signature { from: Arc<Secret>, keys: Arc<Keys>, verified: Box<Verified> },
}

/// What went into a request, for the case that the upstream does not accept it.
pub(crate) struct Used {
    stored: Arc<Secret>,
    minted: Option<Arc<Secret>>,
    signed: bool,
}

impl Material {
    pub async fn gather(
        inbound: &Arc<Inbound>,
        authorized: &Authorized,
        (parts, body): (&Parts, &RequestBody),
    ) -> Result<Self, EgressReason> {
        let Some((provider, scheme, token)) = authorized.placed() else { return Ok(Self::Nothing) };
        let credentials = &inbound.engine.credentials;
        match scheme.shape() {
            Shape::Value => Ok(Self::Value(credentials.secret(&provider.name).await?)),
            Shape::AwsKeys => {
                // The signature first: whoever cannot sign learns nothing about the source.
                let verified = Box::new(verify(inbound, token, (parts, body))?);
                let from = credentials.secret(&provider.name).await?;
                let keys = credentials.keys(&provider.name, &from)?;
                Ok(Self::Signature { from, keys, verified })
            }
            Shape::GoogleAccount | Shape::OAuthClient | Shape::GithubApp => {
                let from = credentials.secret(&provider.name).await?;
                let token = Box::pin(inbound.engine.mints.token(inbound, authorized, &from)).await?;
                Ok(Self::Minted { from, token })
            }
        }
    }

    /// Swaps the token for the credential. Only an [`Authorized`] says where and which.
    pub fn inject(
        self,
        authorized: &Authorized,
        (parts, body): (&mut Parts, RequestBody),
    ) -> Result<(RequestBody, Option<Used>), EgressReason> {
        let Some((_, scheme, token)) = authorized.placed() else { return Ok((body, None)) };
        let (body, used) = match self {
            Self::Nothing => return Ok((body, None)),
            Self::Signature { from, keys, verified } => {
                let chunks = verified
                    .resign(parts, &keys.credentials())
                    .map_err(|_| EgressReason::SourceUnavailable)?;
                (body.resigned(chunks), Used { stored: from, minted: None, signed: true })
            }
            Self::Minted { from, token: minted } => {
                let body = put(scheme, (token, &minted), (parts, body))?;
                (body, Used { stored: from, minted: Some(minted), signed: false })
            }
            Self::Value(secret) => {
                let body = put(scheme, (token, &secret), (parts, body))?;
                (body, Used { stored: secret, minted: None, signed: false })
            }
        };
        Ok((body, Some(used)))
    }
}

impl Used {
    /// The upstream has answered. One that does not accept what it was sent makes the next request ask the source
    /// again; this one is not repeated, because its body is gone and what it did may have been done.
    pub fn answered(&self, inbound: &Inbound, provider: &str, status: StatusCode) {
        // AWS says 403 where others say 401.
        let refused = status == StatusCode::UNAUTHORIZED || (self.signed && status == StatusCode::FORBIDDEN);
        if !refused {
            return;
        }
        if let Some(minted) = &self.minted {
            inbound.engine.mints.rejected(provider, minted);
        }
        inbound.engine.credentials.rejected(provider, &self.stored);
    }
}

fn put(
    scheme: &Scheme,
    (token, secret): (&[u8], &Secret),
    (parts, body): (&mut Parts, RequestBody),
) -> Result<RequestBody, EgressReason> {
    if !scheme::is_in_body(scheme) {
        return scheme::inject(parts, scheme, token, secret)
            .map(|()| body)
            .map_err(|_| EgressReason::SourceUnavailable);
    }
    let rewritten = scheme::inject_into_body(parts, body.at_hand(), scheme, (token, secret))
        .map_err(|_| EgressReason::SourceUnavailable)?;
    scheme::announce_length(parts, rewritten.len());
    Ok(RequestBody::rewritten(rewritten))
}

/// Proves that the request was signed by whoever holds the secret half of the token.
fn verify(
    inbound: &Inbound,
    token: &[u8],
    (parts, body): (&Parts, &RequestBody),
) -> Result<Verified, EgressReason> {
    let presented = Presented::read(parts).map_err(|_| EgressReason::SignatureInvalid)?;
    if presented.key_id().as_bytes() != token {
        return Err(EgressReason::SignatureInvalid);
    }
    let digest = (presented.payload() == Payload::Body).then(|| BodyDigest::of(body.covered()));
    let secret = inbound.engine.tokens.other_half(token).map_err(|_| EgressReason::SignatureInvalid)?;
    presented.verify(parts, secret.as_bytes(), digest).map_err(|_| EgressReason::SignatureInvalid)
}

/// How the record names the place of a scheme.
pub(crate) fn place(scheme: &Scheme) -> CredentialPlace {
    match scheme {
        Scheme::Header { .. }
        | Scheme::GoogleServiceAccount { .. }
        | Scheme::OAuth2 { .. }
        | Scheme::GithubApp => CredentialPlace::Header,
        Scheme::Basic { .. } => CredentialPlace::Basic,
        Scheme::Query { .. } => CredentialPlace::Query,
        Scheme::Path { .. } => CredentialPlace::Path,
        Scheme::Json { .. } => CredentialPlace::Json,
        Scheme::Form { .. } => CredentialPlace::Form,
        Scheme::Cookie { .. } => CredentialPlace::Cookie,
        Scheme::SigV4 => CredentialPlace::Signature,
    }
}
