//! Whether a request may go where it wants to, and with which credential.
//!
//! [`Authorized`] is made here alone, and whatever puts a credential in needs one. The order matters: the rules
//! first, because a host that may not be reached is told nothing about tokens; then what stands at the declared places;
//! then everything else in the head, where no token and no other credential belongs.

use std::sync::Arc;
use std::time::Instant;

use cofferdam_audit::event::EgressReason;
use cofferdam_policy::document::ForeignCredentials;
use cofferdam_policy::layers::Refused;
use cofferdam_policy::path::RequestPath;
use cofferdam_policy::provider::{Provider, Scheme};
use cofferdam_policy::rules::{Question, Refusal};
use http::request::Parts;
use zeroize::Zeroizing;

use crate::client::ClientId;
use crate::policy::Policy;
use crate::scheme::{self, Found};
use crate::target::{Protocol, Target};
use crate::tokens::{Tokens, Worth};

/// The proof that a tunnel may be opened. The requests inside are judged on their own.
#[derive(Debug, Clone)]
pub(crate) struct Tunnel {
    target: Target,
}

/// The proof that a request may be sent, with the credential it may carry.
pub(crate) struct Authorized {
    policy: Arc<Policy>,
    target: Target,
    credential: Option<Placed>,
}

/// A token at its declared place.
struct Placed {
    provider: usize,
    scheme: usize,
    token: Zeroizing<Vec<u8>>,
}

/// Judges a tunnel by host and port.
pub(crate) fn tunnel(policy: &Policy, target: Target) -> Result<Tunnel, EgressReason> {
    match policy.reach.reaches(target.host(), target.port()) {
        true => Ok(Tunnel { target }),
        false if policy.reach.knows(target.host()) => Err(EgressReason::PortNotAllowed),
        false => Err(EgressReason::HostNotAllowed),
    }
}

/// Judges a request.
pub(crate) fn authorize(
    policy: &Arc<Policy>,
    tokens: &Tokens,
    client: ClientId,
    asked: (Target, &Parts),
) -> Result<Authorized, EgressReason> {
    let (target, parts) = asked;
    check_rules(policy, &target, parts)?;
    let mut credential = None;
    for index in policy.providers_at(target.host(), target.port()) {
        for (at, scheme) in policy.provider(index).schemes.iter().enumerate() {
            let Some(token) = placed(policy, tokens, client, (index, scheme, parts))? else { continue };
            if credential.replace(Placed { provider: index, scheme: at, token }).is_some() {
                return Err(EgressReason::TokenDuplicate);
            }
        }
    }
    if credential.is_some() && target.protocol() != Protocol::Https {
        // A credential never travels in the clear.
        return Err(EgressReason::SchemeNotAllowed);
    }
    let authorized = Authorized { policy: policy.clone(), target, credential };
    check_elsewhere(&authorized, tokens, parts)?;
    check_foreign(&authorized, parts)?;
    Ok(authorized)
}

fn check_rules(policy: &Policy, target: &Target, parts: &Parts) -> Result<(), EgressReason> {
    let path = RequestPath::parse(parts.uri.path()).ok();
    let question = Question {
        host: target.host(),
        port: target.port(),
        method: parts.method.as_str(),
        path: path.as_ref(),
    };
    match policy.reach.check(&question) {
        Ok(_) => Ok(()),
        Err(Refused::User(refusal) | Refused::Project(refusal)) => Err(match refusal {
            Refusal::Host => EgressReason::HostNotAllowed,
            Refusal::Port => EgressReason::PortNotAllowed,
            Refusal::Method => EgressReason::MethodNotAllowed,
            Refusal::Path => EgressReason::PathNotAllowed,
        }),
    }
}

/// The token at a declared place, if one stands there that is worth something here. A request without any is
/// passed on as it is: clients such as git ask without a credential first and wait for the host's own answer.
fn placed(
    policy: &Policy,
    tokens: &Tokens,
    client: ClientId,
    place: (usize, &Scheme, &Parts),
) -> Result<Option<Zeroizing<Vec<u8>>>, EgressReason> {
    let (provider, scheme, parts) = place;
    let foreign = || match policy.egress.foreign_credentials {
        ForeignCredentials::Refuse => Err(EgressReason::CredentialForeign),
        ForeignCredentials::Pass => Ok(None),
    };
    let token = match scheme::find(parts, scheme) {
        Found::Absent => return Ok(None),
        Found::Several => return Err(EgressReason::TokenDuplicate),
        Found::Malformed => return foreign(),
        Found::At(token) => token,
    };
    match tokens.worth(&token, client, &policy.provider(provider).name, Instant::now()) {
        Worth::Good => Ok(Some(Zeroizing::new(token.into_owned()))),
        Worth::OtherClient => Err(EgressReason::TokenWrongClient),
        Worth::OtherProvider => Err(EgressReason::TokenWrongHost),
        Worth::Expired => Err(EgressReason::TokenExpired),
        Worth::Revoked => Err(EgressReason::TokenRevoked),
        Worth::Unknown => foreign(),
    }
}

/// No token stands anywhere else: it would be of no use to the host, and is a leak of it.
fn check_elsewhere(authorized: &Authorized, tokens: &Tokens, parts: &Parts) -> Result<(), EgressReason> {
    let declared = authorized.placed().map(|(_, scheme, _)| scheme);
    if !scheme::contains_token(parts, declared, &mut |text| tokens.stand_in(text)) {
        return Ok(());
    }
    match (declared, authorized.has_provider()) {
        (Some(_), _) => Err(EgressReason::TokenDuplicate),
        (None, true) => Err(EgressReason::TokenMisplaced),
        (None, false) => Err(EgressReason::TokenWrongHost),
    }
}

/// On a host that has a credential of ours, no other place holds one of somebody else's: an allowed host is no
/// drop box.
fn check_foreign(authorized: &Authorized, parts: &Parts) -> Result<(), EgressReason> {
    let policy = &authorized.policy;
    if policy.egress.foreign_credentials == ForeignCredentials::Pass || !authorized.has_provider() {
        return Ok(());
    }
    let ours = authorized.placed().map(|(_, scheme, _)| scheme);
    let foreign = scheme::credential_places(parts)
        .iter()
        .any(|place| !ours.is_some_and(|scheme| place.at.belongs_to(scheme)));
    if foreign { Err(EgressReason::CredentialForeign) } else { Ok(()) }
}

impl Tunnel {
    pub fn target(&self) -> &Target {
        &self.target
    }
}

impl Authorized {
    pub fn target(&self) -> &Target {
        &self.target
    }

    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// The provider whose credential goes in.
    pub fn provider(&self) -> Option<&Provider> {
        self.placed().map(|(provider, ..)| provider)
    }

    /// The provider, the place and the token there.
    pub fn placed(&self) -> Option<(&Provider, &Scheme, &[u8])> {
        let placed = self.credential.as_ref()?;
        let provider = self.policy.provider(placed.provider);
        Some((provider, &provider.schemes[placed.scheme], &placed.token))
    }

    fn has_provider(&self) -> bool {
        self.policy.providers_at(self.target.host(), self.target.port()).next().is_some()
    }
}

#[cfg(test)]
mod tests;
