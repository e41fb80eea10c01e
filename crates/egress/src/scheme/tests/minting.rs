//! Assertions and token requests, checked with the public half of the key.

use std::time::Duration;

use aws_lc_rs::encoding::AsDer;
use aws_lc_rs::rsa::{KeyPair, KeySize};
use aws_lc_rs::signature::{KeyPair as _, RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use cofferdam_policy::provider::Grant;

use super::*;
use crate::scheme::github_app::App;
use crate::scheme::google::Account;
use crate::scheme::oauth2::{MintError, Refusal, read_answer, stand_in_answer, token_request};

const NOW: Duration = Duration::from_secs(1_794_700_000);

fn key() -> (KeyPair, String) {
    let key = KeyPair::generate(KeySize::Rsa2048).expect("a key");
    let der = AsDer::<aws_lc_rs::encoding::Pkcs8V1Der<'_>>::as_der(&key).expect("its bytes");
    let pem = format!(
        "-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n",
        STANDARD.encode(der.as_ref())
    );
    (key, pem)
}

/// The same key as GitHub hands it out: what PKCS #8 wraps.
fn unwrapped(pem: &str) -> String {
    let inner: String = pem.lines().filter(|line| !line.starts_with('-')).collect();
    let der = STANDARD.decode(inner).expect("base64");
    // The wrapping of a key of 2048 bits: version, algorithm, and the head of the octet string.
    let pkcs1 = STANDARD.encode(&der[26..]);
    format!("-----BEGIN RSA PRIVATE KEY-----\r\n{pkcs1}\r\n-----END RSA PRIVATE KEY-----\r\n")
}

/// Header and claims of a token whose signature is right.
fn opened(token: &str, key: &KeyPair) -> [serde_json::Value; 2] {
    let (signed, signature) = token.rsplit_once('.').expect("three parts");
    let public = UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, key.public_key().as_ref());
    let signature = URL_SAFE_NO_PAD.decode(signature).expect("base64");
    public.verify(signed.as_bytes(), &signature).expect("the signature of the key");
    let (header, claims) = signed.split_once('.').expect("three parts");
    [header, claims]
        .map(|part| serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).expect("base64")).expect("JSON"))
}

#[test]
fn req_e07_a_service_account_asks_for_an_access_token() {
    let (key, pem) = key();
    let document = serde_json::json!({
        "type": "service_account", "project_id": "p", "private_key_id": "kid1", "private_key": pem,
        "client_email": "a@p.iam.gserviceaccount.com", "token_uri": "https://oauth2.googleapis.com/token",
    });
    let document = secret(&document.to_string());
    let account = Account::read(&document).expect("an account");
    let request = account.token_request("https://www.googleapis.com/auth/chat.bot", NOW).expect("a request");
    assert_eq!(request.url, "https://oauth2.googleapis.com/token");
    assert_eq!(request.headers["content-type"], "application/x-www-form-urlencoded");
    let body = String::from_utf8(request.body.to_vec()).expect("text");
    let assertion = body
        .strip_prefix("grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=")
        .expect("the grant");
    let [header, claims] = opened(assertion, &key);
    assert_eq!(header, serde_json::json!({ "alg": "RS256", "typ": "JWT", "kid": "kid1" }));
    let wanted = serde_json::json!({
        "iss": "a@p.iam.gserviceaccount.com", "scope": "https://www.googleapis.com/auth/chat.bot",
        "aud": "https://oauth2.googleapis.com/token", "iat": 1_794_700_000, "exp": 1_794_703_600,
    });
    assert_eq!(claims, wanted);
}

#[test]
fn req_e07_a_github_app_asks_for_an_installation_token() {
    let (key, pem) = key();
    let document =
        serde_json::json!({ "app_id": 12, "installation_id": "345", "private_key": unwrapped(&pem) });
    let app = App::read(&secret(&document.to_string())).expect("an app");
    let request = app.token_request(NOW).expect("a request");
    assert_eq!(request.url, "https://api.github.com/app/installations/345/access_tokens");
    assert!(request.body.is_empty() && request.headers["authorization"].is_sensitive());
    let token = request.headers["authorization"].to_str().unwrap().strip_prefix("Bearer ").unwrap();
    let [_, claims] = opened(token, &key);
    let wanted = serde_json::json!({ "iat": 1_794_699_940, "exp": 1_794_700_540, "iss": "12" });
    assert_eq!(claims, wanted);
}

#[test]
fn documents_without_what_is_needed_are_refused_without_showing_them() {
    let account = |text: &str| Account::read(&secret(text)).map(drop).err();
    assert_eq!(account("-----BEGIN KEY-----"), Some(MintError::Document));
    let unusable = r#"{"type":"service_account","client_email":"a","private_key":"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----"}"#;
    assert_eq!(account(unusable), Some(MintError::Key));
    assert_eq!(account(&unusable.replace("service_account", "authorized_user")), Some(MintError::Document));
    assert_eq!(account(&unusable.replace("\\n", "\\u000a")), Some(MintError::Document));
    let plain = unusable.replace("\"client_email\"", "\"token_uri\":\"http://x/\",\"client_email\"");
    assert_eq!(account(&plain), Some(MintError::Document));
    let path = r#"{"app_id":1,"installation_id":"1/../2","private_key":""}"#;
    assert_eq!(App::read(&secret(path)).err(), Some(MintError::Document));
}

#[test]
fn req_e07_grants_are_written_as_rfc_6749_has_them() {
    let url = "https://auth.example.com/token";
    let document =
        secret(r#"{"client_id":"id:1","client_secret":"s/1","refresh_token":"r+1","scope":"a b"}"#);
    let body = |grant| {
        let request = token_request(&document, url, (grant, None)).expect("a request");
        let pair = format!("Basic {}", STANDARD.encode("id%3A1:s%2F1"));
        assert_eq!(request.headers["authorization"], pair.as_str());
        assert!(request.headers["authorization"].is_sensitive());
        String::from_utf8(request.body.to_vec()).expect("text")
    };
    assert_eq!(body(Grant::ClientCredentials), "grant_type=client_credentials&scope=a%20b");
    assert_eq!(body(Grant::RefreshToken), "grant_type=refresh_token&refresh_token=r%2B1&scope=a%20b");
    let public = secret(r#"{"client_id":"id","refresh_token":"r"}"#);
    let request = token_request(&public, url, (Grant::RefreshToken, None)).expect("a request");
    assert_eq!(request.body.as_slice(), b"grant_type=refresh_token&refresh_token=r&client_id=id");
    assert!(token_request(&public, url, (Grant::ClientCredentials, None)).is_err());
    assert!(token_request(&secret("just-a-secret"), url, (Grant::ClientCredentials, None)).is_err());
}

#[test]
fn answers_are_read_and_refusals_say_no_more_than_their_code() {
    let read = |status, body: &str| read_answer(status, body.as_bytes(), NOW);
    let minted =
        read(200, r#"{"access_token":"ya29.token","expires_in":3599,"refresh_token":"new-refresh"}"#)
            .expect("a token");
    assert_eq!(minted.token.expose(), b"ya29.token");
    assert_eq!(minted.expires, Some(NOW + Duration::from_secs(3599)));
    assert_eq!(minted.refresh_token.expect("a new one").expose(), b"new-refresh");
    let minted = read(201, r#"{"token":"ghs_token","expires_at":"2026-11-15T23:50:00Z"}"#).expect("a token");
    assert_eq!(minted.expires, Some(Duration::from_secs(1_794_786_600)));
    let answer = stand_in_answer("ya29.stand-in", Duration::from_secs(60));
    let minted = read(200, &answer).expect("a token");
    assert_eq!(
        (minted.token.expose(), minted.expires),
        (&b"ya29.stand-in"[..], Some(NOW + Duration::from_secs(60)))
    );
    let reason = |status, body: &str| read(status, body).err();
    let refused = |refusal| Some(MintError::Refused(refusal));
    assert_eq!(
        reason(400, r#"{"error":"invalid_grant","error_description":"x"}"#),
        refused(Refusal::InvalidGrant)
    );
    assert_eq!(reason(401, r#"{"error":"secret-echo"}"#), refused(Refusal::Other(401)));
    assert_eq!(reason(500, "<html>"), refused(Refusal::Other(500)));
    for bad in [
        "",
        "{}",
        r#"{"access_token":"a\nb-with-a-line-end"}"#,
        r#"{"token":"ghs_token","expires_at":"soon"}"#,
    ] {
        assert_eq!(reason(200, bad), Some(MintError::Answer), "{bad}");
    }
}
