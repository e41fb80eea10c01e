//! Tokens: what a sandbox holds in place of credentials.
//!
//! A token is at least 128 bits from the kernel in the shape that the provider's own client expects. It is worth
//! something only together with the listener of the sandbox it was minted for and a host of its provider; by
//! itself it is a random text. Only its digest is kept here, so that a dump of this process hands out none.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::{Duration, Instant};

use aws_lc_rs::hmac;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use cofferdam_policy::provider::{Provider, TokenForm};
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

use crate::client::ClientId;
use crate::scheme::TokenShapes;

/// How long a token is good that a client asked for in place of an access token.
const ISSUED_LIFE: Duration = Duration::from_secs(3600);

/// A token's text. It cannot be printed by accident; whoever hands it to a sandbox asks for it by name.
pub struct Token(pub(crate) Zeroizing<String>);

impl Token {
    /// A text in the form of this provider's, from the kernel's randomness.
    pub fn random(provider: &Provider) -> Result<Self, NoRandomness> {
        random(&provider.token).map(Self)
    }

    pub fn expose(&self) -> &str {
        &self.0
    }
}

/// How long a token is good.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Life {
    /// As long as its sandbox.
    Sandbox,
    Until(Instant),
}

/// What is left of a token once it was handed out: enough to know it again, and not enough to use it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptToken {
    /// Whose credentials it stands for.
    pub providers: Vec<String>,
    /// SHA-256 of its text.
    pub digest: [u8; 32],
}

impl KeptToken {
    pub fn of(provider: &str, token: &Token) -> Self {
        Self { providers: vec![provider.to_owned()], digest: digest(token.expose().as_bytes()) }
    }
}

/// The kernel gave no randomness.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoRandomness;

/// All tokens that were handed out.
#[derive(Default)]
pub struct Tokens {
    table: RwLock<Table>,
    /// From which the other halves of tokens are derived, so that they need not be kept.
    pairing: OnceLock<Zeroizing<[u8; 32]>>,
}

struct Table {
    entries: HashMap<[u8; 32], Entry>,
    forms: Vec<TokenForm>,
    shapes: TokenShapes,
    issued: HashMap<(ClientId, Box<str>), (Zeroizing<String>, Instant)>,
}

impl Default for Table {
    fn default() -> Self {
        Self {
            entries: HashMap::new(),
            forms: Vec::new(),
            shapes: TokenShapes::new(&[]),
            issued: HashMap::new(),
        }
    }
}

impl Table {
    fn accept(&mut self, client: ClientId, provider: &Provider, (digest, life): ([u8; 32], Life)) {
        if !self.forms.contains(&provider.token) {
            self.forms.push(provider.token.clone());
            self.shapes = TokenShapes::new(&self.forms);
        }
        let name: Box<str> = (*provider.name).into();
        match self.entries.get_mut(&digest).filter(|entry| entry.client == client) {
            // One variable may hold the credential of several.
            Some(entry) if !entry.revoked => entry.providers.push(name),
            Some(entry) => *entry = Entry { client, providers: vec![name], life, revoked: false },
            None => {
                self.entries.insert(digest, Entry { client, providers: vec![name], life, revoked: false });
            }
        }
    }
}

struct Entry {
    client: ClientId,
    /// One variable may hold the credential of several.
    providers: Vec<Box<str>>,
    life: Life,
    revoked: bool,
}

/// What a token is worth at a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Worth {
    /// Nobody here handed it out.
    Unknown,
    Good,
    OtherProvider,
    OtherClient,
    Expired,
    Revoked,
}

impl Tokens {
    /// Makes a token for one client and one provider.
    pub fn mint(&self, client: ClientId, provider: &Provider, life: Life) -> Result<Token, NoRandomness> {
        let token = Token::random(provider)?;
        self.write().accept(client, provider, (digest(token.expose().as_bytes()), life));
        Ok(token)
    }

    /// Accepts these tokens of a client, which were made before or by another process, and no others of its own.
    /// One that is not among them any more stays known as revoked.
    pub fn replace(&self, client: ClientId, tokens: &[(&Provider, [u8; 32])]) {
        let mut table = self.write();
        for entry in table.entries.values_mut().filter(|entry| entry.client == client) {
            entry.revoked = true;
        }
        for (provider, digest) in tokens {
            table.accept(client, provider, (*digest, Life::Sandbox));
        }
    }

    /// All tokens of a client, as far as they can be known again.
    pub fn kept(&self, client: ClientId) -> Vec<KeptToken> {
        let table = self.read();
        let good = |entry: &Entry| entry.client == client && !entry.revoked && entry.life == Life::Sandbox;
        let own = table.entries.iter().filter(|(_, entry)| good(entry));
        own.map(|(digest, entry)| {
            let providers = entry.providers.iter().map(ToString::to_string).collect();
            KeptToken { providers, digest: *digest }
        })
        .collect()
    }

    /// Lets a token stand for the credential of another provider as well: of one whose clients look for it in the same
    /// variable.
    pub(crate) fn share(&self, token: &Token, provider: &Provider) {
        let mut table = self.write();
        if let Some(entry) = table.entries.get_mut(&digest(token.0.as_bytes())) {
            entry.providers.push((*provider.name).into());
        }
    }

    /// Lets the other halves of tokens be those that another process derived from this. To be called before any is.
    pub fn pair_by(&self, key: Zeroizing<[u8; 32]>) {
        // One that was derived by another key would not fit any more.
        let _ = self.pairing.set(key);
    }

    /// The secret half of a token that has two, as an AWS key does.
    pub(crate) fn other_half(&self, token: &[u8]) -> Result<Zeroizing<String>, NoRandomness> {
        let key = match self.pairing.get() {
            Some(key) => key,
            None => {
                let mut key = Zeroizing::new([0; 32]);
                getrandom::fill(&mut *key).map_err(|_| NoRandomness)?;
                self.pairing.get_or_init(|| key)
            }
        };
        let key = hmac::Key::new(hmac::HMAC_SHA256, key.as_slice());
        // As many characters as Amazon's have.
        Ok(Zeroizing::new(STANDARD.encode(&hmac::sign(&key, token).as_ref()[..30])))
    }

    /// A token for a client that asks for one in the course of its life, and how long it is good. The same one is
    /// handed out until a half of its time is over: a client that asks in a loop does not fill the table.
    pub(crate) fn issue(
        &self,
        client: ClientId,
        provider: &Provider,
    ) -> Result<(Zeroizing<String>, Duration), NoRandomness> {
        let (now, key) = (Instant::now(), (client, Box::from(&*provider.name)));
        if let Some((token, end)) = self.read().issued.get(&key) {
            let left = end.saturating_duration_since(now);
            if left > ISSUED_LIFE / 2 {
                return Ok((token.clone(), left));
            }
        }
        let end = now + ISSUED_LIFE;
        let token = self.mint(client, provider, Life::Until(end))?.0;
        self.write().issued.insert(key, (token.clone(), end));
        Ok((token, ISSUED_LIFE))
    }

    /// Makes a token worthless from now on; it stays known, so that its use can be told from a guess.
    pub fn revoke(&self, token: &str) {
        if let Some(entry) = self.write().entries.get_mut(&digest(token.as_bytes())) {
            entry.revoked = true;
        }
    }

    /// Forgets all tokens of a sandbox that is gone.
    pub fn forget(&self, client: ClientId) {
        let mut table = self.write();
        table.entries.retain(|_, entry| entry.client != client);
        table.issued.retain(|(owner, _), _| *owner != client);
    }

    pub(crate) fn worth(&self, token: &[u8], client: ClientId, provider: &str, now: Instant) -> Worth {
        let table = self.read();
        let Some(entry) = table.entries.get(&digest(token)) else { return Worth::Unknown };
        match entry.life {
            _ if entry.client != client => Worth::OtherClient,
            _ if !entry.providers.iter().any(|its| **its == *provider) => Worth::OtherProvider,
            _ if entry.revoked => Worth::Revoked,
            Life::Until(end) if end <= now => Worth::Expired,
            _ => Worth::Good,
        }
    }

    /// Whether one of our tokens, whoever's and however old, stands somewhere in a text.
    pub(crate) fn stand_in(&self, text: &[u8]) -> bool {
        let table = self.read();
        table.shapes.any(text, |part| table.entries.contains_key(&digest(part)))
    }

    /// Where our tokens stand in a text, in order, so that they can be left out of what is written down.
    pub(crate) fn places_in(&self, text: &str) -> Vec<Range<usize>> {
        let table = self.read();
        let mut places = Vec::new();
        let mut note = |part: &[u8]| {
            if table.entries.contains_key(&digest(part)) {
                let start = part.as_ptr().addr() - text.as_ptr().addr();
                places.push(start..start + part.len());
            }
            // Go on: there may be another.
            false
        };
        table.shapes.any(text.as_bytes(), &mut note);
        places.sort_by_key(|place| place.start);
        places.dedup();
        places
    }

    fn read(&self) -> RwLockReadGuard<'_, Table> {
        self.table.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Table> {
        self.table.write().unwrap_or_else(PoisonError::into_inner)
    }
}

fn digest(token: &[u8]) -> [u8; 32] {
    Sha256::digest(token).into()
}

/// Every character equally likely: bytes past the last whole multiple of the alphabet are thrown away.
fn random(form: &TokenForm) -> Result<Zeroizing<String>, NoRandomness> {
    let alphabet = form.alphabet.characters().as_bytes();
    let fair = 256 - 256 % alphabet.len();
    let whole = form.prefix.len() + usize::from(form.length);
    let mut token = Zeroizing::new(String::with_capacity(whole));
    token.push_str(&form.prefix);
    let mut bytes = Zeroizing::new([0; 64]);
    while token.len() < whole {
        getrandom::fill(&mut *bytes).map_err(|_| NoRandomness)?;
        let usable = bytes.iter().filter(|byte| usize::from(**byte) < fair);
        for byte in usable.take(whole - token.len()) {
            token.push(char::from(alphabet[usize::from(*byte) % alphabet.len()]));
        }
    }
    Ok(token)
}

#[cfg(test)]
mod tests {
    use cofferdam_policy::registry::built_in;

    use super::*;

    #[test]
    fn req_e23_tokens_have_the_providers_form_and_never_repeat() {
        let tokens = Tokens::default();
        let client = ClientId::new();
        for provider in built_in() {
            let (one, two) = (
                tokens.mint(client, provider, Life::Sandbox).unwrap(),
                tokens.mint(client, provider, Life::Sandbox).unwrap(),
            );
            assert_ne!(one.expose(), two.expose());
            let rest = one.expose().strip_prefix(&*provider.token.prefix).unwrap();
            assert_eq!(rest.len(), usize::from(provider.token.length));
            assert!(rest.chars().all(|c| provider.token.alphabet.characters().contains(c)));
        }
    }

    #[test]
    fn req_e23_a_token_is_worth_something_to_one_client_for_one_provider_for_its_time() {
        let tokens = Tokens::default();
        let (client, other) = (ClientId::new(), ClientId::new());
        let provider = &built_in()[0];
        let now = Instant::now();
        let end = now + Duration::from_secs(60);
        let token = tokens.mint(client, provider, Life::Until(end)).unwrap();
        let worth =
            |client, provider: &str, now| tokens.worth(token.expose().as_bytes(), client, provider, now);
        assert_eq!(worth(client, &provider.name, now), Worth::Good);
        assert_eq!(worth(other, &provider.name, now), Worth::OtherClient);
        assert_eq!(worth(client, "another", now), Worth::OtherProvider);
        assert_eq!(worth(client, &provider.name, end), Worth::Expired);
        assert_eq!(tokens.worth(b"guess", client, &provider.name, now), Worth::Unknown);
        tokens.revoke(token.expose());
        assert_eq!(worth(client, &provider.name, now), Worth::Revoked);
        let around = format!("x={}&y", token.expose());
        assert!(tokens.stand_in(around.as_bytes()));
        assert!(!tokens.stand_in(&around.as_bytes()[..around.len() - 4]));
        let place = 2..2 + token.expose().len();
        assert_eq!(tokens.places_in(&around), std::slice::from_ref(&place));
        tokens.forget(client);
        assert_eq!(worth(client, &provider.name, now), Worth::Unknown);
    }

    #[test]
    fn req_e11_tokens_that_were_made_before_are_known_again_and_replaced_ones_are_revoked() {
        let (tokens, client) = (Tokens::default(), ClientId::new());
        let provider = &built_in()[0];
        let [old, new] = [(); 2].map(|()| Token::random(provider).unwrap());
        let kept = |token: &Token| KeptToken::of(&provider.name, token);
        let worth =
            |token: &Token| tokens.worth(token.expose().as_bytes(), client, &provider.name, Instant::now());
        tokens.replace(client, &[(provider, kept(&old).digest)]);
        assert_eq!([worth(&old), worth(&new)], [Worth::Good, Worth::Unknown]);
        assert_eq!(tokens.kept(client), [kept(&old)]);
        tokens.replace(client, &[(provider, kept(&new).digest)]);
        assert_eq!([worth(&old), worth(&new)], [Worth::Revoked, Worth::Good]);
        assert_eq!(tokens.kept(client), [kept(&new)]);
    }
}
