//! Access tokens that are minted outside the sandbox, and kept until they are about to expire.
//!
//! One request at a time asks the token server for a provider. The others wait for its answer, or go on with the
//! token they have while a new one is fetched early. A failure is told to those who waited for it and to nobody
//! after them: the next request tries again.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use arc_swap::ArcSwapOption;
use cofferdam_audit::event::EgressReason;
use cofferdam_policy::provider::Scheme;
use cofferdam_secrets::Secret;

use crate::authorize::Authorized;
use crate::mint_call;
use crate::scheme::github_app::App;
use crate::scheme::google::Account;
use crate::scheme::oauth2::{self, MintError, Minted, Since1970, TokenRequest};
use crate::serve::Inbound;

/// For a token whose server does not say.
const LIFE: Duration = Duration::from_secs(30 * 60);
/// How long before its end a token is replaced at the most; a short-lived one is when a fifth is left.
const EARLY: Duration = Duration::from_secs(300);
/// A token is not sent when it may expire on the way.
const LAST_MOMENT: Duration = Duration::from_secs(5);

#[derive(Default)]
pub(crate) struct Mints {
    slots: Mutex<HashMap<Box<str>, Arc<Slot>>>,
}

#[derive(Default)]
struct Slot {
    kept: ArcSwapOption<Kept>,
    /// Held by whoever asks the token server; when the last try failed.
    flight: tokio::sync::Mutex<Option<Instant>>,
}

struct Kept {
    /// What it was minted from: another credential needs another token.
    from: Arc<Secret>,
    token: Arc<Secret>,
    /// What the server gave in place of the refresh token that was sent.
    refresh_token: Option<Arc<Secret>>,
    replace: Instant,
    until: Instant,
}

impl Mints {
    /// The access token of a request's provider.
    pub async fn token(
        &self,
        inbound: &Arc<Inbound>,
        authorized: &Authorized,
        from: &Arc<Secret>,
    ) -> Result<Arc<Secret>, EgressReason> {
        let Some((provider, scheme, _)) = authorized.placed() else { return Err(EgressReason::MintFailed) };
        let (slot, arrived) = (self.slot(&provider.name), Instant::now());
        let kept = slot.usable(from, arrived);
        if let Some(kept) = kept.as_ref().filter(|kept| arrived < kept.replace) {
            return Ok(kept.token.clone());
        }
        let mut flight = match (slot.flight.try_lock(), kept) {
            (Ok(flight), _) => flight,
            // Somebody is fetching the next one.
            (Err(_), Some(kept)) => return Ok(kept.token.clone()),
            (Err(_), None) => slot.flight.lock().await,
        };
        let now = Instant::now();
        let kept = slot.usable(from, now);
        if let Some(kept) = kept.as_ref().filter(|kept| now < kept.replace) {
            return Ok(kept.token.clone());
        }
        if flight.is_some_and(|failed| failed > arrived) && kept.is_none() {
            return Err(EgressReason::MintFailed);
        }
        match mint(inbound, authorized, (scheme, from), slot.refresh_token(from)).await {
            Ok((minted, refresh_token)) => {
                *flight = None;
                let kept = Arc::new(Kept::new(from.clone(), minted, refresh_token, now));
                inbound.engine.credentials.hide(&provider.name, vec![kept.token.clone()]);
                slot.kept.store(Some(kept.clone()));
                Ok(kept.token.clone())
            }
            Err(failure) => {
                *flight = Some(Instant::now());
                if failure == Failure::Refused {
                    slot.forget_refresh_token();
                }
                // The old one is still good for a while, and the next request tries again.
                kept.map(|kept| kept.token.clone()).ok_or(EgressReason::MintFailed)
            }
        }
    }

    /// An upstream did not accept this token.
    pub fn rejected(&self, provider: &str, token: &Arc<Secret>) {
        let slot = self.slot(provider);
        if let Some(kept) = slot.kept.load_full().filter(|kept| Arc::ptr_eq(&kept.token, token)) {
            let now = Instant::now();
            // What it was refreshed with is still needed.
            slot.kept.store(Some(Arc::new(Kept { replace: now, until: now, ..kept.copied() })));
        }
    }

    fn slot(&self, provider: &str) -> Arc<Slot> {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        match slots.get(provider) {
            Some(slot) => slot.clone(),
            None => slots.entry(provider.into()).or_default().clone(),
        }
    }
}

impl Slot {
    fn refresh_token(&self, from: &Arc<Secret>) -> Option<Arc<Secret>> {
        let kept = self.kept.load_full().filter(|kept| Arc::ptr_eq(&kept.from, from))?;
        kept.refresh_token.clone()
    }

    /// The one that was stored may be good again: somebody may have put a new one there.
    fn forget_refresh_token(&self) {
        if let Some(kept) = self.kept.load_full() {
            self.kept.store(Some(Arc::new(Kept { refresh_token: None, ..kept.copied() })));
        }
    }

    fn usable(&self, from: &Arc<Secret>, now: Instant) -> Option<Arc<Kept>> {
        self.kept.load_full().filter(|kept| Arc::ptr_eq(&kept.from, from) && now < kept.until)
    }
}

impl Kept {
    fn new(from: Arc<Secret>, minted: Minted, refresh_token: Option<Arc<Secret>>, now: Instant) -> Self {
        let life = minted.expires.map_or(LIFE, |expires| expires.saturating_sub(since_1970()));
        let early = EARLY.min(life / 5);
        Self {
            from,
            token: Arc::new(minted.token),
            refresh_token,
            replace: now + (life - early),
            until: now + life.saturating_sub(LAST_MOMENT),
        }
    }

    fn copied(&self) -> Self {
        Self {
            from: self.from.clone(),
            token: self.token.clone(),
            refresh_token: self.refresh_token.clone(),
            ..*self
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Failure {
    /// By the token server, which was reached.
    Refused,
    Other,
}

/// `refresh_token` is the one to send in place of the stored one; the one to send next time comes back.
async fn mint(
    inbound: &Arc<Inbound>,
    authorized: &Authorized,
    (scheme, from): (&Scheme, &Secret),
    refresh_token: Option<Arc<Secret>>,
) -> Result<(Minted, Option<Arc<Secret>>), Failure> {
    let request =
        token_request(scheme, from, refresh_token.as_deref(), since_1970()).map_err(|_| Failure::Other)?;
    let (status, answer) = mint_call::send(inbound, authorized, request).await.map_err(|_| Failure::Other)?;
    match oauth2::read_answer(status, &answer, since_1970()) {
        Ok(mut minted) => {
            let next = minted.refresh_token.take().map(Arc::new).or(refresh_token);
            Ok((minted, next))
        }
        Err(MintError::Refused(_)) => Err(Failure::Refused),
        Err(_) => Err(Failure::Other),
    }
}

fn token_request(
    scheme: &Scheme,
    from: &Secret,
    refresh_token: Option<&Secret>,
    now: Since1970,
) -> Result<TokenRequest, MintError> {
    match scheme {
        Scheme::GoogleServiceAccount { scope } => Account::read(from)?.token_request(scope, now),
        Scheme::GithubApp => App::read(from)?.token_request(now),
        Scheme::OAuth2 { token_url, grant } => {
            oauth2::token_request(from, token_url, (*grant, refresh_token))
        }
        _ => Err(MintError::Document),
    }
}

pub(crate) fn since_1970() -> Since1970 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}
