//! One request, from its head to the head of its answer: the program on one page.

use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use cofferdam_audit::event::{CredentialInjected, EgressReason, EgressRequest, Outcome};
use cofferdam_audit::{Event, HostName, Method, RequestPath};
use cofferdam_policy::host::Host;
use cofferdam_secrets::redaction::Replacement;
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH};
use http::request::Parts;
use http::{Request, Response, StatusCode, Version};
use http_body::Body;
use tokio::time::timeout;

use crate::authorize::{Authorized, admit, authorize};
use crate::body::{Answer, Cleaned, Cleaning, UpstreamBody, clean_head};
use crate::by_hand::{Held, Spelled, Unanswered};
use crate::decode::Decoder;
use crate::dial::{Sender, Wire, reason_of};
use crate::early;
use crate::exchange::Exchange;
use crate::head::Violation;
use crate::hop;
use crate::limits::Permit;
use crate::material::{self, Material};
use crate::outgoing::{ClientBody, Outgoing, Progress, RequestBody};
use crate::pool::{Lease, Pool, Reader, Way};
use crate::refusal;
use crate::resolve::Route;
use crate::serve::Inbound;
use crate::stand_in::{self, Asked};
use crate::target::{Target, TargetError, agree};
use crate::upgrade;
use crate::watch::Watch;

/// Answers a request, with what its target says or with a refusal.
pub(crate) async fn answer(inbound: &Arc<Inbound>, request: Request<ClientBody>) -> Response<Answer> {
    forward(inbound, request).await.unwrap_or_else(refusal::response)
}

async fn forward(
    inbound: &Arc<Inbound>,
    request: Request<ClientBody>,
) -> Result<Response<Answer>, EgressReason> {
    let (mut parts, body) = request.into_parts();
    // A WebSocket over HTTP/2 is from here on what it will be for the upstream.
    let switching = upgrade::prepare(&mut parts);
    let body = match stand_in::is_needed(inbound) {
        true => match Box::pin(stand_in::answer(inbound, &parts, body)).await {
            Asked::Us(answer) => return answer,
            Asked::Others(body) => body,
        },
        false => body,
    };
    let judged = judge(inbound, &parts, body).await;
    let host = record(inbound, &parts, &judged).await?;
    let Judged { authorized, body, material, permit, route } = judged?.1?;

    let progress = Arc::new(Progress::of(permit));
    let mut exchange = Exchange::begin(inbound.clone(), host, authorized.provider_name(), progress.clone());
    let limits = &authorized.policy().egress.limits;
    let both = parts.version == Version::HTTP_2 && switching.is_none();
    let wire = if both { Wire::Best } else { Wire::Http1 };
    // Who read the request reads its answer.
    let reader = match parts.extensions.get::<Spelled>() {
        Some(_) => Reader::ByHand,
        None => Reader::Library,
    };
    let takes_early = parts.version == Version::HTTP_11;
    hop::clean_request(&mut parts, switching.is_some());
    let sent = match material.inject(&authorized, (&mut parts, body)) {
        Ok((body, used)) => {
            let watch = Watch::new(inbound.clone(), authorized.elsewhere());
            let outgoing = Outgoing::new(body, (limits.request_body, watch), progress.clone());
            let client = takes_early.then_some(inbound);
            let (target, owner) = (authorized.target(), inbound.client.id);
            let way = Way { target, route: &route, wire, limits, reader, owner, client };
            let request = Request::from_parts(parts, outgoing);
            let sent = send(&inbound.shard.pool, way, request, &progress).await;
            sent.map(|(response, lease)| (response, lease, used))
        }
        Err(reason) => Err(reason),
    };
    exchange.redacted(inbound.verdict.early.ended());
    let (response, lease, used) = match sent {
        Ok(sent) => sent,
        Err(reason) => {
            let reason = progress.failure().unwrap_or(reason);
            exchange.failed(reason);
            return Err(reason);
        }
    };
    exchange.answered(response.status().as_u16(), lease);
    if let (Some(provider), Some(used)) = (authorized.provider(), used) {
        used.answered(inbound, &provider.name, response.status());
    }
    match (response.status(), switching) {
        (StatusCode::SWITCHING_PROTOCOLS, Some(switching)) => {
            upgrade::switch(inbound, switching, response, (exchange, authorized))
        }
        (StatusCode::SWITCHING_PROTOCOLS, None) => {
            exchange.failed(EgressReason::UpstreamMalformed);
            Err(EgressReason::UpstreamMalformed)
        }
        _ => clean(inbound, response, exchange, limits.idle_timeout),
    }
}

/// A request that may be sent, and everything needed for that.
struct Judged {
    authorized: Authorized,
    body: RequestBody,
    material: Material,
    permit: Permit,
    route: Route,
}

async fn judge(
    inbound: &Arc<Inbound>,
    parts: &Parts,
    body: ClientBody,
) -> Result<(Target, Result<Judged, EgressReason>), EgressReason> {
    if let Some(violation) = inbound.verdict.violation() {
        return Err(violation.reason());
    }
    let target = agree(&inbound.arrival, parts).map_err(TargetError::reason)?;
    let judged = judge_target(inbound, target.clone(), parts, body).await;
    Ok((target, judged))
}

async fn judge_target(
    inbound: &Arc<Inbound>,
    target: Target,
    parts: &Parts,
    body: ClientBody,
) -> Result<Judged, EgressReason> {
    let engine = &inbound.engine;
    if parts.method == http::Method::CONNECT {
        return Err(EgressReason::UpgradeRefused);
    }
    let admitted = admit(&inbound.client.policy.now(), target, parts)?;
    let body = RequestBody::take(&admitted, parts, body)
        .await
        .map_err(|reason| inbound.verdict.violation().map_or(reason, Violation::reason))?;
    let asked = (parts, body.at_hand());
    let authorized = authorize(admitted, &engine.tokens, inbound.client.id, asked)?;
    let provider = authorized.provider().map(|provider| &*provider.name);
    let permit = inbound.client.used.take(&authorized.policy().egress.limits, provider)?;
    let material = Material::gather(inbound, &authorized, (parts, &body)).await?;
    let route = engine.names.route(&authorized).await?;
    Ok(Judged { authorized, body, material, permit, route })
}

/// Puts the decision on record, before anything is let go. What names no target is not a decision about one.
async fn record(
    inbound: &Inbound,
    parts: &Parts,
    judged: &Result<(Target, Result<Judged, EgressReason>), EgressReason>,
) -> Result<HostName, EgressReason> {
    let (host, port, judged) = match judged {
        Ok((target, judged)) => (name_of(target.host()), target.port(), judged.as_ref()),
        Err(reason) => (HostName::new(parts.uri.host().unwrap_or_default()), 0, Err(reason)),
    };
    let outcome = match judged {
        Ok(_) => Outcome::Allowed,
        Err(reason) => Outcome::Refused { reason: *reason },
    };
    let provider = judged.ok().and_then(|judged| judged.authorized.provider_name());
    let event = EgressRequest {
        outcome,
        host: host.clone(),
        port,
        method: Method::new(parts.method.as_str()),
        // A token that stands in the path, at its place or elsewhere, is not written down.
        path: RequestPath::new(parts.uri.path(), &inbound.engine.tokens.places_in(parts.uri.path())),
        rule: judged.ok().map(|judged| judged.authorized.rule()),
        provider: provider.clone(),
    };
    let placed = judged.ok().and_then(|judged| judged.authorized.placed()).zip(provider);
    let injected = placed.map(|((_, scheme, _), provider)| {
        let (host, place) = (host.clone(), material::place(scheme));
        Event::from(CredentialInjected { host, provider, place })
    });
    let events = [Event::from(event)].into_iter().chain(injected);
    inbound.shard.ledger.record_all(&inbound.client, events).await?;
    Ok(host)
}

/// A host as the record has it.
fn name_of(host: &Host) -> HostName {
    match host {
        Host::Name(name) => HostName::new(name.as_str()),
        Host::Address(_) => HostName::new(host.to_string()),
    }
}

/// Sends the request on a connection that was used before or on a new one. It is sent a second time only if the first
/// connection was found closed before a byte of it was written; or before a byte of an answer came, which happens when
/// a host closes what was idle just then, if the request changes nothing at the host (RFC 9110, 9.2.1).
///
/// This and what it calls are blocks rather than `async fn`, and are polled where they are: an `async fn` has room for its
/// arguments twice, and one in another as often as it is passed on, which every request would pay for.
#[expect(clippy::manual_async_fn, reason = "an async fn would be larger")]
pub(crate) fn send<'r>(
    pool: &'r Arc<Pool>,
    way: Way<'r>,
    mut request: Request<Outgoing>,
    progress: &'r Progress,
) -> impl Future<Output = Result<(Response<UpstreamBody>, Option<Lease>), EgressReason>> + 'r {
    async move {
        if let Some((sender, lease)) = pool.reuse(way).await {
            let sent = pin!(send_on(sender, lease, way, request));
            match patiently(way, progress, sent).await? {
                Ok(sent) => return Ok(sent),
                Err((Some(unsent), _)) => request = unsent,
                Err((None, reason)) => return Err(reason),
            }
        }
        // Rare, and large: to make room for it in every request would cost each of them.
        let anew = async move {
            let (sender, lease) = pool.open(way).await?;
            let sent = pin!(send_on(sender, lease, way, request));
            patiently(way, progress, sent).await?.map_err(|(_, reason)| reason)
        };
        Box::pin(anew).await
    }
}

/// Waits for the head of an answer, and begins to count anew as long as the request itself still moves.
async fn patiently<T>(
    way: Way<'_>,
    progress: &Progress,
    mut answer: Pin<&mut impl Future<Output = T>>,
) -> Result<T, EgressReason> {
    let Some(limit) = way.limits.first_byte_timeout else { return Ok(answer.await) };
    loop {
        let before = progress.sent.load(Ordering::Relaxed);
        match timeout(limit, answer.as_mut()).await {
            Ok(answered) => return Ok(answered),
            Err(_) if progress.sent.load(Ordering::Relaxed) != before => {}
            Err(_) => return Err(EgressReason::UpstreamTimeout),
        }
    }
}

#[expect(clippy::manual_async_fn, reason = "an async fn would be larger")]
fn send_on<'r>(
    sender: Sender,
    lease: Lease,
    Way { target, client, .. }: Way<'r>,
    mut request: Request<Outgoing>,
) -> impl Future<Output = Result<(Response<UpstreamBody>, Option<Lease>), Unanswered>> + 'r {
    async move {
        let (sent, connection, copy) = match sender {
            Sender::ByHand(connection) => {
                hop::for_http1(&mut request, target);
                let sent = connection.send(request, client).await.map_err(|(request, reason)| {
                    (request.filter(|request| request.method().is_safe()), reason)
                })?;
                return Ok((sent.0, Some(lease.holding(Some(sent.1)))));
            }
            Sender::Http1(mut sender) => {
                hop::for_http1(&mut request, target);
                if let Some(client) = client {
                    early::listen(client, &mut request);
                }
                let copy = repeatable(&request).map(Box::new);
                let sent = sender.send(request).await;
                (sent, Held::Library(sender), copy)
            }
            Sender::Http2(sender) => {
                hop::for_http2(&mut request, target);
                let copy = repeatable(&request).map(Box::new);
                let sent = Box::pin(sender.send(request)).await;
                let sent = sent.map_err(|(unsent, reason)| (unsent.or(copy.map(|copy| *copy)), reason))?;
                return Ok((sent, Some(lease)));
            }
        };
        match sent {
            Ok(response) => Ok((response.map(UpstreamBody::Library), Some(lease.holding(Some(connection))))),
            Err(mut error) => {
                let reason = reason_of(&error);
                let copy = copy.filter(|_| reason == EgressReason::UpstreamClosed).map(|copy| *copy);
                Err((error.take_message().or(copy), reason))
            }
        }
    }
}

/// What is sent if the library does not give a request back, for one that changes nothing and has no body.
fn repeatable(request: &Request<Outgoing>) -> Option<Request<Outgoing>> {
    let bare = request.method().is_safe() && request.body().is_end_stream();
    bare.then(|| {
        let mut copy = Request::new(Outgoing::again(Bytes::new()));
        *copy.method_mut() = request.method().clone();
        *copy.uri_mut() = request.uri().clone();
        *copy.headers_mut() = request.headers().clone();
        *copy.extensions_mut() = request.extensions().clone();
        copy
    })
}

/// The answer, without what is not for the client.
fn clean(
    inbound: &Inbound,
    response: Response<UpstreamBody>,
    mut exchange: Exchange,
    idle_timeout: Option<Duration>,
) -> Result<Response<Answer>, EgressReason> {
    let patterns = inbound.engine.credentials.patterns();
    let (mut parts, body) = response.into_parts();
    let look_into = patterns.is_some() && !body.is_end_stream();
    let decoder = match Decoder::of(&parts.headers) {
        Ok(decoder) => decoder.filter(|_| look_into),
        // It was asked for without; what cannot be looked into is not passed on.
        Err(_) if look_into => {
            exchange.failed(EgressReason::DecompressionLimited);
            return Err(EgressReason::DecompressionLimited);
        }
        Err(_) => None,
    };
    // The library takes the chunks off whatever is under them, which we could not look into.
    if look_into && !hop::is_framed_plainly(&parts.headers) {
        exchange.failed(EgressReason::UpstreamMalformed);
        return Err(EgressReason::UpstreamMalformed);
    }
    hop::clean_response(&mut parts);
    if decoder.is_some() {
        parts.headers.remove(CONTENT_ENCODING);
        parts.headers.remove(CONTENT_LENGTH);
    }
    exchange.redacted(clean_head(patterns.as_ref(), &mut parts));
    let replacement = match parts.headers.contains_key(CONTENT_LENGTH) {
        true => Replacement::SameLength(b'*'),
        false => Replacement::Marker,
    };
    let cleaning = Cleaning { patterns, replacement, decoder, idle_timeout };
    let body = Answer::Upstream(Box::new(Cleaned::new(body, cleaning, exchange)));
    Ok(Response::from_parts(parts, body))
}
