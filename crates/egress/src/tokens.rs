//! Tokens: what a sandbox holds in place of credentials.
//!
//! A token is at least 128 bits from the kernel in the shape that the provider's own client expects. It is worth
//! something only together with the listener of the sandbox it was minted for and a host of its provider; by
//! itself it is a random text. Only its digest is kept here, so that a dump of this process hands out none.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use aws_lc_rs::hmac;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use cofferdam_policy::provider::{Provider, Shape, TokenForm};
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

use crate::client::ClientId;
use crate::scheme::TokenShapes;

/// A token that a client asked for in place of an access token is handed out for so long, and good for twice as long.
const ISSUED_FOR: u64 = 1800;

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

    /// The secret half of a token that has two, as an AWS key does: derived, so that it need not be kept.
    #[must_use]
    pub fn other_half(&self, pairing: &[u8; 32]) -> Self {
        Self(other_half(self.0.as_bytes(), pairing))
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
}

impl Default for Table {
    fn default() -> Self {
        Self { entries: HashMap::new(), forms: Vec::new(), shapes: TokenShapes::new(&[]) }
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
pub enum Worth {
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
        drop(table);
        // What another process issued since is still in use.
        for (provider, _) in tokens.iter().filter(|(provider, _)| is_asked_for(provider)) {
            let now = Period::now();
            for period in [now.before(), now] {
                let _ = self.issue_in(period, client, provider);
            }
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
        Ok(other_half(token, self.pairing()?))
    }

    fn pairing(&self) -> Result<&[u8; 32], NoRandomness> {
        if let Some(key) = self.pairing.get() {
            return Ok(key);
        }
        let mut key = Zeroizing::new([0; 32]);
        getrandom::fill(&mut *key).map_err(|_| NoRandomness)?;
        Ok(self.pairing.get_or_init(|| key))
    }

    /// A token for a client that asks for one in the course of its life, and how long it is good. The same one is
    /// handed out for half of its time: a client that asks in a loop does not fill the table.
    pub(crate) fn issue(
        &self,
        client: ClientId,
        provider: &Provider,
    ) -> Result<(Zeroizing<String>, Duration), NoRandomness> {
        self.issue_in(Period::now(), client, provider)
    }

    /// It is derived from the token that the client was given, so that whoever takes the client over knows it too.
    fn issue_in(
        &self,
        period: Period,
        client: ClientId,
        provider: &Provider,
    ) -> Result<(Zeroizing<String>, Duration), NoRandomness> {
        let key = hmac::Key::new(hmac::HMAC_SHA256, self.pairing()?);
        let given = self.given(client, provider);
        let given = given.map_or_else(|| format!("{client:?}").into_bytes(), |digest| digest.to_vec());
        let mut count = 0_u64;
        let token = made_of(&provider.token, |bytes| {
            for half in bytes.chunks_mut(32) {
                let number = [period.number.to_be_bytes(), count.to_be_bytes()].concat();
                let parts = [&b"issued"[..], &given, provider.name.as_bytes(), &number].concat();
                half.copy_from_slice(&hmac::sign(&key, &parts).as_ref()[..half.len()]);
                count += 1;
            }
            Ok(())
        })?;
        let left = period.left();
        let known = digest(token.as_bytes());
        let mut table = self.write();
        if table.entries.get(&known).is_none_or(|entry| entry.revoked) {
            table.accept(client, provider, (known, Life::Until(Instant::now() + left)));
        }
        Ok((token, left))
    }

    /// What is known of the token that a client was given for a provider.
    fn given(&self, client: ClientId, provider: &Provider) -> Option<[u8; 32]> {
        let of_it = |entry: &Entry| {
            let own = entry.client == client && !entry.revoked && entry.life == Life::Sandbox;
            own && entry.providers.iter().any(|name| **name == *provider.name)
        };
        let table = self.read();
        table.entries.iter().filter(|(_, entry)| of_it(entry)).map(|(digest, _)| *digest).min()
    }

    /// Makes a token worthless from now on; it stays known, so that its use can be told from a guess.
    pub fn revoke(&self, token: &str) {
        if let Some(entry) = self.write().entries.get_mut(&digest(token.as_bytes())) {
            entry.revoked = true;
        }
    }

    /// Forgets all tokens of a sandbox that is gone.
    pub fn forget(&self, client: ClientId) {
        self.write().entries.retain(|_, entry| entry.client != client);
    }

    /// What a token is worth at a place; the look that every request takes.
    pub fn worth(&self, token: &[u8], client: ClientId, provider: &str, now: Instant) -> Worth {
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

    /// The same for a text that goes by, in whatever writing.
    pub(crate) fn stand_written_in(&self, text: &[u8]) -> bool {
        let table = self.read();
        table.shapes.any_writing(text, |part| table.entries.contains_key(&digest(part)))
    }

    /// The length of the longest writing of a token that was handed out; 0 before the first one.
    pub(crate) fn longest(&self) -> usize {
        self.read().shapes.longest()
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

fn other_half(token: &[u8], pairing: &[u8; 32]) -> Zeroizing<String> {
    let key = hmac::Key::new(hmac::HMAC_SHA256, pairing);
    // As many characters as Amazon's have.
    Zeroizing::new(STANDARD.encode(&hmac::sign(&key, token).as_ref()[..30]))
}

/// Whether clients of a provider ask for access tokens themselves, with what they were given.
fn is_asked_for(provider: &Provider) -> bool {
    matches!(provider.shape(), Shape::GoogleAccount | Shape::GithubApp)
}

/// A stretch of the clock on the wall, which goes on when this process does not.
#[derive(Clone, Copy)]
struct Period {
    number: u64,
}

impl Period {
    fn now() -> Self {
        Self { number: seconds() / ISSUED_FOR }
    }

    fn before(self) -> Self {
        Self { number: self.number.saturating_sub(1) }
    }

    /// How long a token of this period is still good.
    fn left(self) -> Duration {
        Duration::from_secs(((self.number + 2) * ISSUED_FOR).saturating_sub(seconds()))
    }
}

fn seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

fn random(form: &TokenForm) -> Result<Zeroizing<String>, NoRandomness> {
    made_of(form, |bytes| getrandom::fill(bytes).map_err(|_| NoRandomness))
}

/// Every character equally likely: bytes past the last whole multiple of the alphabet are thrown away.
fn made_of(
    form: &TokenForm,
    mut fill: impl FnMut(&mut [u8; 64]) -> Result<(), NoRandomness>,
) -> Result<Zeroizing<String>, NoRandomness> {
    let alphabet = form.alphabet.characters().as_bytes();
    let fair = 256 - 256 % alphabet.len();
    let whole = form.prefix.len() + usize::from(form.length);
    let mut token = Zeroizing::new(String::with_capacity(whole));
    token.push_str(&form.prefix);
    let mut bytes = Zeroizing::new([0; 64]);
    while token.len() < whole {
        fill(&mut bytes)?;
        let usable = bytes.iter().filter(|byte| usize::from(**byte) < fair);
        for byte in usable.take(whole - token.len()) {
            token.push(char::from(alphabet[usize::from(*byte) % alphabet.len()]));
        }
    }
    Ok(token)
}

#[cfg(test)]
mod tests;
