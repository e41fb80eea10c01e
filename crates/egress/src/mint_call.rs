//! A call to a token server: the same way out as any request, and on record like one.

use std::future::poll_fn;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use cofferdam_audit::event::{EgressReason, EgressRequest, Outcome};
use cofferdam_audit::{HostName, Label, Method, RequestPath};
use http::{Request, Version};
use tokio::time::timeout;
use zeroize::Zeroizing;

use crate::authorize::{Authorized, Minting};
use crate::body::UpstreamBody;
use crate::dial::Wire;
use crate::exchange::Exchange;
use crate::forward;
use crate::outgoing::{Outgoing, Progress};
use crate::pool::{Reader, Way};
use crate::scheme::oauth2::TokenRequest;
use crate::serve::Inbound;

const TIMEOUT: Duration = Duration::from_secs(30);
const ANSWER_CAP: usize = 256 * 1024;

/// Sends it, and takes the status and the whole answer.
pub(crate) async fn send(
    inbound: &Arc<Inbound>,
    authorized: &Authorized,
    request: TokenRequest,
) -> Result<(u16, Zeroizing<Vec<u8>>), EgressReason> {
    let minting = Minting::of(authorized, &request.url).ok_or(EgressReason::MintFailed)?;
    let provider = authorized.provider().map(|provider| Label::new(&*provider.name));
    let host = HostName::new(minting.target().host().to_string());
    let event = EgressRequest {
        outcome: Outcome::Allowed,
        host: host.clone(),
        port: minting.target().port(),
        method: Method::new("POST"),
        path: RequestPath::new(request.url.path(), &[]),
        rule: Some(Label::new("mint")),
        provider: provider.clone(),
    };
    inbound.shard.ledger.record(&inbound.client, event).await?;
    let progress = Arc::new(Progress::default());
    let mut exchange = Exchange::begin(inbound.clone(), host, provider, progress.clone());
    let answered = timeout(TIMEOUT, exchanged(inbound, &minting, request, (&mut exchange, progress)));
    match answered.await.unwrap_or(Err(EgressReason::UpstreamTimeout)) {
        Ok(answer) => {
            exchange.completed();
            Ok(answer)
        }
        Err(reason) => {
            exchange.failed(reason);
            Err(EgressReason::MintFailed)
        }
    }
}

async fn exchanged(
    inbound: &Arc<Inbound>,
    minting: &Minting,
    request: TokenRequest,
    (exchange, progress): (&mut Exchange, Arc<Progress>),
) -> Result<(u16, Zeroizing<Vec<u8>>), EgressReason> {
    let route = inbound.engine.names.route_to_mint(minting).await?;
    let TokenRequest { url, headers, body } = request;
    let (mut parts, ()) = Request::new(()).into_parts();
    (parts.method, parts.uri, parts.headers) = (http::Method::POST, url, headers);
    parts.version = Version::HTTP_11;
    crate::scheme::announce_length(&mut parts, body.len());
    let request = Request::from_parts(parts, Outgoing::own(body, progress.clone()));
    let limits = &minting.policy().egress.limits;
    let way = Way {
        target: minting.target(),
        route: &route,
        wire: Wire::Http1,
        limits,
        reader: Reader::Library,
        owner: inbound.client.id,
        client: None,
    };
    let (response, lease) = forward::send(&inbound.shard.pool, way, request, &progress).await?;
    let status = response.status().as_u16();
    exchange.answered(status, lease);
    let answer = collect(response.into_body(), exchange).await?;
    Ok((status, answer))
}

async fn collect(
    mut body: UpstreamBody,
    exchange: &mut Exchange,
) -> Result<Zeroizing<Vec<u8>>, EgressReason> {
    // Large enough for any answer that is one; a buffer that grows leaves copies of the token behind.
    let mut whole = Zeroizing::new(Vec::with_capacity(16 * 1024));
    let mut next =
        async |exchange: &mut Exchange| poll_fn(|context| exchange.poll_body(&mut body, context)).await;
    while let Some(frame) = next(exchange).await {
        let Ok(data) = frame.map_err(|_| EgressReason::UpstreamClosed)?.into_data() else { continue };
        let data: Bytes = data;
        exchange.received(data.len())?;
        if whole.len() + data.len() > ANSWER_CAP {
            return Err(EgressReason::UpstreamMalformed);
        }
        whole.extend_from_slice(&data);
    }
    Ok(whole)
}
