//! Values that are kept in a store of the user's, which has a credential of its own.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::time::Duration;

use cofferdam_policy::environment::ChildEnvironment;
use cofferdam_policy::provider::{SecretSource, Text};
use zeroize::Zeroizing;

use crate::loader::Loader;
use crate::source::{SourceError, bitwarden, read_command, vault};

/// A password manager may have to ask its server.
const TIMEOUT: Duration = Duration::from_secs(20);
/// How a program of the desktop finds the keyring: variables that hold no credential, and that the one who asks needs.
pub const DESKTOP: [&str; 2] = ["DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR"];

/// Reads from the store that the source names; nothing for a source that names none.
pub(crate) fn read(
    loader: &Loader,
    source: &SecretSource,
) -> Option<Result<Zeroizing<Vec<u8>>, SourceError>> {
    Some(match source {
        SecretSource::Bitwarden { id, .. } => bitwarden(loader, id),
        SecretSource::OnePassword { reference, .. } => onepassword(loader, reference),
        SecretSource::Vault { path, key, .. } => vault(loader, (path, key)),
        SecretSource::Keyring { attributes, .. } => keyring(loader, attributes),
        _ => return None,
    })
}

fn bitwarden(loader: &Loader, id: &str) -> Result<Zeroizing<Vec<u8>>, SourceError> {
    let store = &loader.stores.bitwarden;
    let token = credential(loader, "Bitwarden", &store.access_token)?;
    let Some(program) = &store.program else {
        let authorities = authorities(loader, store.ca_file.as_deref())?;
        return bitwarden::read(store, &token, id, authorities.as_deref());
    };
    let environment = loader.command_environment.with("BWS_ACCESS_TOKEN", OsStr::from_bytes(&token));
    let arguments = ["secret", "get", id, "--output", "json", "--server-url", &store.server];
    bitwarden::printed(&run(loader, program, &arguments, &environment)?)
}

fn onepassword(loader: &Loader, reference: &str) -> Result<Zeroizing<Vec<u8>>, SourceError> {
    let store = &loader.stores.onepassword;
    let arguments = ["read", "--no-newline", reference];
    match &store.token {
        None => run(loader, &store.program, &arguments, &loader.command_environment),
        Some(source) => {
            let token = credential(loader, "1Password", source)?;
            let token = OsStr::from_bytes(&token);
            let environment = loader.command_environment.with("OP_SERVICE_ACCOUNT_TOKEN", token);
            run(loader, &store.program, &arguments, &environment)
        }
    }
}

fn vault(loader: &Loader, at: (&str, &str)) -> Result<Zeroizing<Vec<u8>>, SourceError> {
    let store = &loader.stores.vault;
    let token = credential(loader, "Vault", &store.token)?;
    let authorities = authorities(loader, store.ca_file.as_deref())?;
    vault::read(store, &token, at, authorities.as_deref())
}

fn keyring(loader: &Loader, attributes: &[(Text, Text)]) -> Result<Zeroizing<Vec<u8>>, SourceError> {
    let found = DESKTOP.iter().filter_map(|name| Some((*name, loader.host.read(name)?)));
    let given = found
        .fold(loader.command_environment.with("LANG", OsStr::new("C.UTF-8")), |given, (name, value)| {
            given.with(name, OsStr::from_bytes(&value))
        });
    let pairs = attributes.iter().flat_map(|(name, value)| [name.as_ref(), value.as_ref()]);
    let arguments: Vec<&str> = ["lookup"].into_iter().chain(pairs).collect();
    run(loader, &loader.stores.keyring.program, &arguments, &given)
}

fn run(
    loader: &Loader,
    program: &str,
    arguments: &[&str],
    environment: &ChildEnvironment,
) -> Result<Zeroizing<Vec<u8>>, SourceError> {
    let program = loader.path(program)?;
    let program = program.to_string_lossy();
    let argv: Vec<&str> = [program.as_ref()].into_iter().chain(arguments.iter().copied()).collect();
    read_command(&argv, TIMEOUT, environment)
}

/// What opens the store. It is read each time, like the value itself, and kept no longer.
fn credential(
    loader: &Loader,
    store: &'static str,
    source: &SecretSource,
) -> Result<Zeroizing<Vec<u8>>, SourceError> {
    let value = loader.read_source(source);
    let value = value.map_err(|cause| SourceError::StoreCredential { store, cause: Box::new(cause) })?;
    let plain = !value.is_empty() && value.iter().all(u8::is_ascii_graphic);
    let unfit = || SourceError::Store { store, mistake: crate::source::StoreMistake::Credential };
    if plain { Ok(value) } else { Err(unfit()) }
}

fn authorities(loader: &Loader, file: Option<&str>) -> Result<Option<Vec<u8>>, SourceError> {
    let Some(file) = file else { return Ok(None) };
    let path = loader.path(file)?;
    std::fs::read(&path).map(Some).map_err(|cause| SourceError::FileNotOpened { path, cause })
}
