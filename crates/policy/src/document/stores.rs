//! `[secrets.…]`: how the stores are reached that `secret = { … }` names.

use super::reader::{Section, Wrong};
use super::source::{self, Kinds};
use crate::host::Host;
use crate::provider::SecretSource;

/// The user's stores. What is left out is where it usually is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SecretStores {
    pub bitwarden: Bitwarden,
    pub onepassword: OnePassword,
    pub vault: Vault,
    pub keyring: Keyring,
}

/// Bitwarden Secrets Manager.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bitwarden {
    /// The `bws` program; without one, the server is asked directly.
    pub program: Option<String>,
    /// Where the web vault is.
    pub server: String,
    pub access_token: SecretSource,
    /// Besides the system's authorities.
    pub ca_file: Option<String>,
}

/// 1Password, through its `op` program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OnePassword {
    pub program: String,
    /// A service account's; without one, `op` asks its app.
    pub token: Option<SecretSource>,
}

/// HashiCorp Vault or OpenBao: the key and value engine, version 2.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Vault {
    pub address: String,
    pub token: SecretSource,
    pub namespace: Option<String>,
    /// Besides the system's authorities.
    pub ca_file: Option<String>,
}

/// The keyring of the desktop (Secret Service), through `secret-tool`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Keyring {
    pub program: String,
}

impl Default for Bitwarden {
    fn default() -> Self {
        let access_token = SecretSource::Env { name: "BWS_ACCESS_TOKEN".into() };
        Self { program: None, server: "https://vault.bitwarden.com".into(), access_token, ca_file: None }
    }
}

impl Default for OnePassword {
    fn default() -> Self {
        Self { program: "/usr/bin/op".into(), token: None }
    }
}

impl Default for Vault {
    fn default() -> Self {
        let token = SecretSource::Env { name: "VAULT_TOKEN".into() };
        Self { address: "https://127.0.0.1:8200".into(), token, namespace: None, ca_file: None }
    }
}

impl Default for Keyring {
    fn default() -> Self {
        Self { program: "/usr/bin/secret-tool".into() }
    }
}

pub(super) fn read(section: &Section<'_>) -> SecretStores {
    section.allow_keys(&["bitwarden", "onepassword", "vault", "keyring"]);
    SecretStores {
        bitwarden: section.section("bitwarden").map(|store| bitwarden(&store)).unwrap_or_default(),
        onepassword: section.section("onepassword").map(|store| onepassword(&store)).unwrap_or_default(),
        vault: section.section("vault").map(|store| vault(&store)).unwrap_or_default(),
        keyring: section.section("keyring").map(|store| keyring(&store)).unwrap_or_default(),
    }
}

fn bitwarden(store: &Section<'_>) -> Bitwarden {
    store.allow_keys(&["program", "server", "access_token", "ca_file"]);
    let usual = Bitwarden::default();
    Bitwarden {
        program: store.parsed("program", a_path),
        server: store.parsed("server", address).unwrap_or(usual.server),
        access_token: credential(store, "access_token").unwrap_or(usual.access_token),
        ca_file: store.parsed("ca_file", a_path),
    }
}

fn onepassword(store: &Section<'_>) -> OnePassword {
    store.allow_keys(&["program", "token"]);
    let program = store.parsed("program", a_path).unwrap_or(OnePassword::default().program);
    OnePassword { program, token: credential(store, "token") }
}

fn vault(store: &Section<'_>) -> Vault {
    store.allow_keys(&["address", "token", "namespace", "ca_file"]);
    let usual = Vault::default();
    Vault {
        address: store.parsed("address", address).unwrap_or(usual.address),
        token: credential(store, "token").unwrap_or(usual.token),
        namespace: store.parsed("namespace", |text| {
            let plain = text.bytes().all(|byte| byte.is_ascii_graphic());
            if plain { Ok(text.to_owned()) } else { Err(("is not a namespace".into(), None)) }
        }),
        ca_file: store.parsed("ca_file", a_path),
    }
}

fn keyring(store: &Section<'_>) -> Keyring {
    store.allow_keys(&["program"]);
    Keyring { program: store.parsed("program", a_path).unwrap_or(Keyring::default().program) }
}

fn credential(store: &Section<'_>, key: &str) -> Option<SecretSource> {
    store.has(key).then(|| source::read(store, key, Kinds::WithoutStores)).flatten()
}

fn a_path(text: &str) -> Result<String, Wrong> {
    let plain = !text.is_empty() && !text.chars().any(char::is_control);
    if plain { Ok(text.to_owned()) } else { Err(("is not a path".into(), None)) }
}

/// A credential is not sent in the clear, but for a server on this machine.
fn address(text: &str) -> Result<String, Wrong> {
    let hint = || Some("such as \"https://vault.example.com:8200\"".to_owned());
    let (secure, rest) = match (text.strip_prefix("https://"), text.strip_prefix("http://")) {
        (Some(rest), _) => (true, rest),
        (None, Some(rest)) => (false, rest),
        (None, None) => return Err(("does not begin with https://".into(), hint())),
    };
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    let (host, _) = Host::parse_with_port(authority).map_err(|error| (error.to_string(), hint()))?;
    if path.bytes().any(|byte| !(byte.is_ascii_alphanumeric() || b"-_./".contains(&byte))) {
        return Err(("is not such an address".into(), hint()));
    }
    let here = match &host {
        Host::Address(address) => address.is_loopback(),
        Host::Name(name) => name.as_str() == "localhost",
    };
    match secure || here {
        true => Ok(text.trim_end_matches('/').to_owned()),
        false => Err(("would send a credential in the clear".into(), Some("write https://".into()))),
    }
}
