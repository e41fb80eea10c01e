//! Whether a request may go where it wants to, and with which credential.
//!
//! [`Authorized`] is made here alone, and whatever puts a credential in needs one. The order matters: the rules
//! first, because a host that may not be reached is told nothing about tokens, and nobody waits for a body that
//! goes nowhere; then what stands at the declared places; then everything else that is at hand, where no token and no
//! other credential belongs.

use std::sync::Arc;
use std::time::Instant;

use cofferdam_audit::Label;
use cofferdam_audit::event::EgressReason;
use cofferdam_policy::document::ForeignCredentials;
use cofferdam_policy::layers::{Grant, Refused};
use cofferdam_policy::path::RequestPath;
use cofferdam_policy::provider::{Provider, Scheme};
use cofferdam_policy::rules::{Question, Refusal};
use http::header::AUTHORIZATION;
use http::request::Parts;
use zeroize::Zeroizing;

use crate::client::ClientId;
use crate::policy::Policy;
use crate::scheme::sigv4::{Payload, Presented};
use crate::scheme::{self, Found};
use crate::target::{Protocol, Target};
use crate::tokens::{Tokens, Worth};

/// The proof that a tunnel may be opened. The requests inside are judged on their own.
#[derive(Debug, Clone)]
pub(crate) struct Tunnel {
    target: Target,
}

/// The proof that the rules let a request through. Nothing is said about tokens yet.
pub(crate) struct Admitted {
    policy: Arc<Policy>,
    target: Target,
    grant: Grant,
}

/// Why a whole body must be at hand before anything is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BodyNeed {
    None,
    /// A credential may stand in it.
    MayHoldToken,
    /// The signature in the head covers it.
    Signed,
}

/// The proof that a token server may be called on behalf of a request: one that was authorised for a provider
/// whose credential is minted there.
pub(crate) struct Minting {
    policy: Arc<Policy>,
    target: Target,
}

/// The proof that a request may be sent, with the credential it may carry.
pub(crate) struct Authorized {
    policy: Arc<Policy>,
    target: Target,
    grant: Grant,
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
    // A token server of ours is reached by nobody, and answered for by us.
    let ours = policy.locals.serve(target.host(), target.port());
    match ours || policy.reach.reaches(target.host(), target.port()) {
        true => Ok(Tunnel { target }),
        false if policy.reach.knows(target.host()) => Err(EgressReason::PortNotAllowed),
        false => Err(EgressReason::HostNotAllowed),
    }
}

/// Judges a request by the rules alone.
pub(crate) fn admit(policy: &Arc<Policy>, target: Target, parts: &Parts) -> Result<Admitted, EgressReason> {
    let grant = check_rules(policy, &target, parts)?;
    Ok(Admitted { policy: policy.clone(), target, grant })
}

/// Judges what a request carries: its head, and its whole body where [`Admitted::needs_body`] says so.
pub(crate) fn authorize(
    admitted: Admitted,
    tokens: &Tokens,
    client: ClientId,
    asked: (&Parts, &[u8]),
) -> Result<Authorized, EgressReason> {
    let credential = search(&admitted, tokens, client, asked)?;
    let Admitted { policy, target, grant } = admitted;
    if credential.is_some() && target.protocol() != Protocol::Https {
        // A credential never travels in the clear.
        return Err(EgressReason::SchemeNotAllowed);
    }
    let authorized = Authorized { policy, target, grant, credential };
    check_elsewhere(&authorized, tokens, asked)?;
    check_foreign(&authorized, asked.0)?;
    Ok(authorized)
}

fn check_rules(policy: &Policy, target: &Target, parts: &Parts) -> Result<Grant, EgressReason> {
    let path = RequestPath::parse(parts.uri.path()).ok();
    let question = Question {
        host: target.host(),
        port: target.port(),
        method: parts.method.as_str(),
        path: path.as_ref(),
    };
    match policy.reach.check(&question) {
        Ok(grant) => Ok(grant),
        Err(Refused::User(refusal) | Refused::Project(refusal)) => Err(match refusal {
            Refusal::Host => EgressReason::HostNotAllowed,
            Refusal::Port => EgressReason::PortNotAllowed,
            Refusal::Method => EgressReason::MethodNotAllowed,
            Refusal::Path => EgressReason::PathNotAllowed,
        }),
    }
}

/// What stands at a declared place.
enum Seen {
    Nothing,
    Token(Zeroizing<Vec<u8>>),
    /// Not a token for this place, and why that counts against the request if nothing speaks for it.
    Other(EgressReason),
}

/// The token at one of the declared places. A request without any is passed on as it is: clients such as git ask
/// without a credential first and wait for the host's own answer. All places are looked at before anything is called
/// foreign, because they may overlap: in `TOKEN:x-oauth-basic` the password is nobody's credential.
fn search(
    admitted: &Admitted,
    tokens: &Tokens,
    client: ClientId,
    asked: (&Parts, &[u8]),
) -> Result<Option<Placed>, EgressReason> {
    let (policy, target) = (&*admitted.policy, &admitted.target);
    let (mut credential, mut others) = (None, Vec::new());
    for index in policy.providers_at(target.host(), target.port()) {
        let provider = policy.provider(index);
        for (at, scheme) in provider.schemes.iter().enumerate() {
            match judge(seen(asked, scheme), tokens, client, provider)? {
                Seen::Nothing => {}
                Seen::Other(reason) => others.push((scheme, reason)),
                Seen::Token(token) => {
                    if credential.replace((scheme, Placed { provider: index, scheme: at, token })).is_some() {
                        return Err(EgressReason::TokenDuplicate);
                    }
                }
            }
        }
    }
    let (ours, credential) = credential.unzip();
    others.retain(|(scheme, reason)| counts(policy, *reason, (scheme, ours)));
    let worst = others.iter().find(|(_, reason)| *reason != EgressReason::CredentialForeign);
    match worst.or(others.first()) {
        Some((_, reason)) => Err(*reason),
        None => Ok(credential),
    }
}

/// What stands at the place of a scheme, and what it means if that cannot be read.
fn seen<'a>((parts, body): (&'a Parts, &'a [u8]), scheme: &Scheme) -> (Found<'a>, EgressReason) {
    match scheme::is_in_body(scheme) {
        true if body.is_empty() => (Found::Absent, EgressReason::BodyMalformed),
        true => (scheme::find_in_body(parts, body, scheme), EgressReason::BodyMalformed),
        false => (scheme::find(parts, scheme), EgressReason::CredentialForeign),
    }
}

fn judge(
    (found, unreadable): (Found<'_>, EgressReason),
    tokens: &Tokens,
    client: ClientId,
    provider: &Provider,
) -> Result<Seen, EgressReason> {
    let token = match found {
        Found::Absent => return Ok(Seen::Nothing),
        Found::Several => return Err(EgressReason::TokenDuplicate),
        Found::Malformed => return Ok(Seen::Other(unreadable)),
        Found::At(token) => token,
    };
    match tokens.worth(&token, client, &provider.name, Instant::now()) {
        Worth::Good => Ok(Seen::Token(Zeroizing::new(token.into_owned()))),
        Worth::OtherClient => Err(EgressReason::TokenWrongClient),
        // Another provider of the same host may have its token at the same place.
        Worth::OtherProvider => Ok(Seen::Other(EgressReason::TokenWrongHost)),
        Worth::Expired => Err(EgressReason::TokenExpired),
        Worth::Revoked => Err(EgressReason::TokenRevoked),
        Worth::Unknown => Ok(Seen::Other(EgressReason::CredentialForeign)),
    }
}

/// Whether what stands at a place counts against a request whose token, if any, stands at another one.
fn counts(policy: &Policy, reason: EgressReason, (place, ours): (&Scheme, Option<&Scheme>)) -> bool {
    match reason {
        EgressReason::CredentialForeign if policy.egress.foreign_credentials == ForeignCredentials::Pass => {
            false
        }
        // An upload beside a token in the head need not be a document; it is still searched for tokens.
        EgressReason::BodyMalformed => ours.is_none(),
        _ => !ours.is_some_and(|ours| overlap(place, ours)),
    }
}

/// Whether two schemes read the same text, so that what one takes for a foreign credential is the other's token.
fn overlap(one: &Scheme, other: &Scheme) -> bool {
    match (header(one), header(other)) {
        (Some(one), Some(other)) => one.eq_ignore_ascii_case(other),
        _ => one == other || matches!((one, other), (Scheme::Path { .. }, Scheme::Path { .. })),
    }
}

/// The header in which a scheme has its place.
fn header(scheme: &Scheme) -> Option<&str> {
    match scheme {
        Scheme::Header { name, .. } => Some(name),
        Scheme::Basic { .. }
        | Scheme::SigV4
        | Scheme::GoogleServiceAccount { .. }
        | Scheme::OAuth2 { .. }
        | Scheme::GithubApp => Some(AUTHORIZATION.as_str()),
        Scheme::Query { .. }
        | Scheme::Path { .. }
        | Scheme::Json { .. }
        | Scheme::Form { .. }
        | Scheme::Cookie { .. } => None,
    }
}

/// No token stands anywhere else: it would be of no use to the host, and is a leak of it.
fn check_elsewhere(
    authorized: &Authorized,
    tokens: &Tokens,
    (parts, body): (&Parts, &[u8]),
) -> Result<(), EgressReason> {
    let declared = authorized.placed().map(|(_, scheme, _)| scheme);
    let mut ours = |text: &[u8]| tokens.stand_in(text);
    if !scheme::contains_token(parts, declared, &mut ours)
        && !scheme::body_contains_token(parts, body, declared, &mut ours)
    {
        return Ok(());
    }
    Err(authorized.elsewhere())
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

impl Admitted {
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// Why the whole body must be at hand, if it must.
    pub fn needs_body(&self, parts: &Parts) -> BodyNeed {
        let providers = self.policy.providers_at(self.target.host(), self.target.port());
        let schemes = || providers.flat_map(|index| self.policy.provider(index).schemes.iter());
        let (mut in_body, mut signs) = (false, false);
        for scheme in schemes() {
            in_body |= scheme::is_in_body(scheme);
            signs |= *scheme == Scheme::SigV4;
        }
        let covered = || Presented::read(parts).is_ok_and(|signed| signed.payload() == Payload::Body);
        match (in_body, signs) {
            (true, _) => BodyNeed::MayHoldToken,
            (false, true) if covered() => BodyNeed::Signed,
            _ => BodyNeed::None,
        }
    }
}

impl Minting {
    /// The address is that of the provider's scheme or of its credential, never one that a client named.
    pub fn of(authorized: &Authorized, url: &http::Uri) -> Option<Self> {
        authorized.placed()?;
        Some(Self { policy: authorized.policy.clone(), target: Target::of_https(url)? })
    }

    pub fn target(&self) -> &Target {
        &self.target
    }

    pub fn policy(&self) -> &Policy {
        &self.policy
    }
}

impl Authorized {
    pub fn target(&self) -> &Target {
        &self.target
    }

    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// Which rule let it through, as the record names it.
    pub fn rule(&self) -> Label {
        self.policy.name_of(self.grant)
    }

    /// The provider whose credential goes in.
    pub fn provider(&self) -> Option<&Provider> {
        self.placed().map(|(provider, ..)| provider)
    }

    /// How the record names it.
    pub fn provider_name(&self) -> Option<Label> {
        self.credential.as_ref().map(|placed| self.policy.provider_name(placed.provider))
    }

    /// The provider, the place and the token there.
    pub fn placed(&self) -> Option<(&Provider, &Scheme, &[u8])> {
        let placed = self.credential.as_ref()?;
        let provider = self.policy.provider(placed.provider);
        Some((provider, &provider.schemes[placed.scheme], &placed.token))
    }

    /// Whether what was allowed then is allowed now: for what goes on long after its request was judged. The end of a
    /// token's time is no such change; a host does not break off for that either.
    pub fn still_holds(&self, now: &Policy, tokens: &Tokens, client: ClientId) -> Result<(), EgressReason> {
        if !now.reach.reaches(self.target.host(), self.target.port()) {
            return Err(EgressReason::HostNotAllowed);
        }
        let Some((provider, _, token)) = self.placed() else { return Ok(()) };
        match tokens.worth(token, client, &provider.name, Instant::now()) {
            Worth::Good | Worth::Expired => Ok(()),
            Worth::Revoked | Worth::Unknown | Worth::OtherProvider | Worth::OtherClient => {
                Err(EgressReason::TokenRevoked)
            }
        }
    }

    /// What a token means that stands anywhere else than at its place.
    pub fn elsewhere(&self) -> EgressReason {
        match (&self.credential, self.has_provider()) {
            (Some(_), _) => EgressReason::TokenDuplicate,
            (None, true) => EgressReason::TokenMisplaced,
            (None, false) => EgressReason::TokenWrongHost,
        }
    }

    fn has_provider(&self) -> bool {
        self.policy.providers_at(self.target.host(), self.target.port()).next().is_some()
    }
}

#[cfg(test)]
mod tests;
