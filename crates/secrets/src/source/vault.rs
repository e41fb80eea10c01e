//! HashiCorp Vault and OpenBao: the key and value engine, version 2.

use cofferdam_policy::document::Vault;
use zeroize::Zeroizing;

use super::http::{self, Question};
use super::{SourceError, StoreMistake, json};

/// One field of the newest version of a secret. `path` begins with the mount.
pub(crate) fn read(
    store: &Vault,
    token: &[u8],
    (path, key): (&str, &str),
    authorities: Option<&[u8]>,
) -> Result<Zeroizing<Vec<u8>>, SourceError> {
    let failed = |mistake| SourceError::Store { store: "Vault", mistake };
    let (mount, below) = path.split_once('/').ok_or_else(|| failed(StoreMistake::Answer))?;
    let url = format!("{}/v1/{mount}/data/{below}", store.address);
    let mut headers = vec![("x-vault-token", token), ("x-vault-request", b"true")];
    if let Some(namespace) = &store.namespace {
        headers.push(("x-vault-namespace", namespace.as_bytes()));
    }
    let question = Question { method: "GET", url: &url, headers: &headers, body: b"", authorities };
    let reply = http::ask(&question).map_err(|mistake| failed(StoreMistake::Http(mistake)))?;
    match reply.status {
        200 => {}
        401 | 403 => return Err(failed(StoreMistake::Denied)),
        404 => return Err(failed(StoreMistake::Missing)),
        status => return Err(failed(StoreMistake::Status(status))),
    }
    let pointer = format!("/data/data/{}", key.replace('~', "~0").replace('/', "~1"));
    json::string_at(&reply.body, &pointer).map_err(|mistake| failed(StoreMistake::Field(mistake)))
}
