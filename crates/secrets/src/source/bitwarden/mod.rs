//! Bitwarden Secrets Manager: through its program, or by asking its server.

mod access_token;
mod sealed;

use cofferdam_policy::document::Bitwarden;
use zeroize::Zeroizing;

use super::http::{self, Question};
use super::{SourceError, StoreMistake, json};
use access_token::AccessToken;
use sealed::Key;

/// One secret, by its id, from the server. What is stored there is sealed with a key that the server does not have: a
/// machine's access token opens the organisation's key, and that one the secret.
pub(crate) fn read(
    store: &Bitwarden,
    access_token: &[u8],
    id: &str,
    authorities: Option<&[u8]>,
) -> Result<Zeroizing<Vec<u8>>, SourceError> {
    let failed = |mistake| SourceError::Store { store: "Bitwarden", mistake };
    let token = AccessToken::parse(access_token).ok_or_else(|| failed(StoreMistake::Credential))?;
    let (identity, api) = servers(&store.server);
    let form = token.form();
    let content_type: (&str, &[u8]) = ("content-type", b"application/x-www-form-urlencoded");
    let url = format!("{identity}/connect/token");
    // 21 is what Bitwarden's own clients of this kind say that they are.
    let headers = [content_type, ("device-type", b"21")];
    let login = Question { method: "POST", url: &url, headers: &headers, body: &form, authorities };
    let answer = answered(&login).map_err(failed)?;
    let field = |body: &[u8], name| {
        json::string_at(body, name).map_err(|mistake| failed(StoreMistake::Field(mistake)))
    };
    let bearer = field(&answer, "access_token")?;
    let payload =
        token.key.open(&field(&answer, "encrypted_payload")?).ok_or_else(|| failed(StoreMistake::Sealed))?;
    let organisation =
        Key::decode(&field(&payload, "encryptionKey")?).ok_or_else(|| failed(StoreMistake::Sealed))?;

    let authorization = Zeroizing::new([b"Bearer ", bearer.as_slice()].concat());
    let url = format!("{api}/secrets/{id}");
    let headers: [(&str, &[u8]); 2] = [("authorization", &authorization), ("device-type", b"21")];
    let get = Question { method: "GET", url: &url, headers: &headers, body: b"", authorities };
    let answer = answered(&get).map_err(failed)?;
    organisation.open(&field(&answer, "value")?).ok_or_else(|| failed(StoreMistake::Sealed))
}

/// The one string of what `bws secret get` prints.
pub(crate) fn printed(output: &[u8]) -> Result<Zeroizing<Vec<u8>>, SourceError> {
    json::string_at(output, "value")
        .map_err(|mistake| SourceError::Store { store: "Bitwarden", mistake: StoreMistake::Field(mistake) })
}

fn answered(question: &Question<'_>) -> Result<Zeroizing<Vec<u8>>, StoreMistake> {
    let reply = http::ask(question).map_err(StoreMistake::Http)?;
    match reply.status {
        200 => Ok(reply.body),
        400 | 401 | 403 => Err(StoreMistake::Denied),
        404 => Err(StoreMistake::Missing),
        status => Err(StoreMistake::Status(status)),
    }
}

/// Where logins and secrets are. Bitwarden's own servers have names of their own, others have paths.
fn servers(server: &str) -> (String, String) {
    match server.strip_prefix("https://vault.bitwarden.") {
        Some(end @ ("com" | "eu")) => {
            (format!("https://identity.bitwarden.{end}"), format!("https://api.bitwarden.{end}"))
        }
        _ => (format!("{server}/identity"), format!("{server}/api")),
    }
}
