//! Credentials that are documents: several variables put together, or the file that a variable names.

use cofferdam_policy::provider::{Provider, Shape};
use zeroize::Zeroizing;

use crate::loader::Loader;
use crate::source::{SourceError, read_file};

/// Whose key it is; neither is a secret.
const GITHUB_APP: [(&str, &str); 2] =
    [("app_id", "GITHUB_APP_ID"), ("installation_id", "GITHUB_APP_INSTALLATION_ID")];
/// What the three variables of an AWS key are, in the order in which a provider names them.
const AWS_KEYS: [&str; 3] = ["access_key_id", "secret_access_key", "session_token"];

/// The credential of a provider from its variables, of which `set` is the first that is set.
pub(crate) fn from_variables(
    loader: &Loader,
    provider: &Provider,
    set: &str,
) -> Result<Zeroizing<Vec<u8>>, SourceError> {
    let value = loader.variable(set)?;
    match provider.shape() {
        Shape::Value | Shape::OAuthClient => Ok(value),
        Shape::AwsKeys => aws_keys(loader, provider),
        _ if value.starts_with(b"{") => Ok(value),
        Shape::GoogleAccount => {
            let path = String::from_utf8_lossy(&value).into_owned();
            read_file(&loader.path(&path)?, None)
        }
        Shape::GithubApp => {
            let mut fields = vec![("private_key", value)];
            for (field, variable) in GITHUB_APP {
                fields.push((field, loader.variable(variable)?));
            }
            Ok(object(&fields))
        }
    }
}

/// A credential that must be a document and is not one would be found out by the first request only.
pub(crate) fn check(shape: Shape, bytes: &[u8]) -> Result<(), SourceError> {
    let needs = match shape {
        Shape::Value => return Ok(()),
        _ if bytes.trim_ascii_start().starts_with(b"{") => return Ok(()),
        Shape::AwsKeys => "{\"access_key_id\": \u{2026}, \"secret_access_key\": \u{2026}}",
        Shape::GoogleAccount => "the JSON document of a service account",
        Shape::OAuthClient => {
            "{\"client_id\": \u{2026}, \"client_secret\": \u{2026}, \"refresh_token\": \u{2026}}"
        }
        Shape::GithubApp => {
            "{\"app_id\": \u{2026}, \"installation_id\": \u{2026}, \"private_key\": \u{2026}}"
        }
    };
    Err(SourceError::NotADocument { needs })
}

fn aws_keys(loader: &Loader, provider: &Provider) -> Result<Zeroizing<Vec<u8>>, SourceError> {
    let mut fields = Vec::new();
    for (field, variable) in AWS_KEYS.into_iter().zip(provider.variables.iter()) {
        // A long-lived key has no session token; half a key is none.
        if field != "session_token" || loader.host.is_set(variable) {
            fields.push((field, loader.variable(variable)?));
        }
    }
    Ok(object(&fields))
}

/// A JSON object of strings, in one buffer that is large enough from the start: one that grows leaves copies behind.
fn object(fields: &[(&str, Zeroizing<Vec<u8>>)]) -> Zeroizing<Vec<u8>> {
    let room = fields.iter().map(|(name, value)| name.len() + 6 * value.len() + 8).sum::<usize>() + 2;
    let mut text = Zeroizing::new(Vec::with_capacity(room));
    for (index, (name, value)) in fields.iter().enumerate() {
        text.extend_from_slice(if index == 0 { b"{\"" } else { b",\"" });
        text.extend_from_slice(name.as_bytes());
        text.extend_from_slice(b"\":\"");
        for byte in value.iter() {
            match byte {
                b'"' | b'\\' => text.extend_from_slice(&[b'\\', *byte]),
                b'\n' => text.extend_from_slice(b"\\n"),
                b'\r' => text.extend_from_slice(b"\\r"),
                b'\t' => text.extend_from_slice(b"\\t"),
                other => text.push(*other),
            }
        }
        text.push(b'"');
    }
    text.push(b'}');
    text
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use cofferdam_policy::provider::{Grant, Scheme};

    use super::*;
    use crate::loader::EnvironmentFallback;
    use crate::loader::tests::{loader, provider};

    fn with(scheme: Scheme, variables: &[&'static str]) -> Provider {
        let variables = variables.iter().map(|name| Cow::Borrowed(*name)).collect();
        Provider { schemes: Cow::Owned(vec![scheme]), variables: Cow::Owned(variables), ..provider(None) }
    }

    fn loaded(variables: &[(&str, &str)], provider: &Provider) -> Result<serde_json::Value, String> {
        let loaded = loader(variables, EnvironmentFallback::Refuse).load(provider);
        let loaded = loaded.map_err(|error| error.to_string())?;
        Ok(serde_json::from_slice(loaded.secret.expose()).expect("JSON"))
    }

    #[test]
    fn req_e10_the_parts_of_an_aws_key_become_one_credential_and_half_a_key_is_none() {
        let aws = with(Scheme::SigV4, &["ID", "SECRET", "SESSION"]);
        let both = [("ID", "AKIDEXAMPLE"), ("SECRET", "a/b+c\"d\\e")];
        let expected =
            serde_json::json!({"access_key_id": "AKIDEXAMPLE", "secret_access_key": "a/b+c\"d\\e"});
        assert_eq!(loaded(&both, &aws), Ok(expected));
        let three = [both[0], both[1], ("SESSION", "a session")];
        assert_eq!(loaded(&three, &aws).expect("loaded")["session_token"], "a session");
        let half = loaded(&both[..1], &aws).expect_err("half a key");
        assert!(half.contains("the variable SECRET is not set"), "{half}");
        let half = loaded(&both[1..], &aws).expect_err("half a key");
        assert!(half.contains("the variable ID is not set"), "{half}");
    }

    #[test]
    fn req_e10_a_google_account_is_the_file_that_its_variable_names() {
        let directory = tempfile::tempdir().expect("a directory");
        let file = directory.path().join("account.json");
        std::fs::write(&file, "{\n \"type\": \"service_account\"}\n").expect("written");
        let path = file.to_str().expect("text");
        let google = with(Scheme::GoogleServiceAccount { scope: "s".into() }, &["FILE"]);
        let open = loaded(&[("FILE", path)], &google).expect_err("anybody can read it");
        assert!(open.contains("is open to other users"), "{open}");
        std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o600)).expect("mode");
        assert_eq!(loaded(&[("FILE", path)], &google).expect("loaded")["type"], "service_account");
        let written = r#"{"type": "service_account"}"#;
        assert_eq!(loaded(&[("FILE", written)], &google).expect("loaded")["type"], "service_account");
    }

    #[test]
    fn req_e10_a_github_app_needs_to_know_whose_key_it_is() {
        let app = with(Scheme::GithubApp, &["KEY"]);
        let pem = "-----BEGIN KEY-----\nabc\n-----END KEY-----\n";
        let all = [("KEY", pem), ("GITHUB_APP_ID", "1"), ("GITHUB_APP_INSTALLATION_ID", "2")];
        let expected = serde_json::json!({"private_key": pem, "app_id": "1", "installation_id": "2"});
        assert_eq!(loaded(&all, &app), Ok(expected));
        let unnamed = loaded(&all[..2], &app).expect_err("which installation");
        assert!(unnamed.contains("GITHUB_APP_INSTALLATION_ID"), "{unnamed}");
    }

    #[test]
    fn req_e10_what_must_be_a_document_and_is_none_is_refused() {
        let url = "https://a.example/token".into();
        let client = with(Scheme::OAuth2 { token_url: url, grant: Grant::ClientCredentials }, &["CLIENT"]);
        let error = loaded(&[("CLIENT", "canary-alone")], &client).expect_err("whose is it");
        assert!(error.contains("client_id") && !error.contains("canary"), "{error}");
    }
}
