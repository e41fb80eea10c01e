//! Access tokens: minted outside from what the host has, handed out inside as what the sandbox may have.

use aws_lc_rs::encoding::{AsDer, Pkcs8V1Der};
use aws_lc_rs::rsa::{KeyPair, KeySize};
use aws_lc_rs::signature::{KeyPair as _, RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use cofferdam_egress::scheme::jwt::SigningKey;
use cofferdam_egress::{ClientId, Door};
use cofferdam_testkit::upstream::{HttpVersion, Recorded, Reply, Transport};
use serde_json::{Value, json};

use super::stand_in;
use crate::proxied::{More, Proxied, reason};

pub const REAL: &str = "ya29.real-access-token-0123456789";
const API: &str = "https://minted.example.test/v1/things";
const TOKEN_SERVER: &str = "https://oauth2.googleapis.com/token";
const METADATA: &str =
    "http://metadata.google.internal/computeMetadata/v1/instance/service-accounts/default/token";

fn provider(scheme: &str) -> String {
    format!(
        r#"
[[provider]]
name = "minted"
hosts = ["minted.example.test"]
variables = ["DOCUMENT"]
scheme = {{ {scheme} }}
token = {{ prefix = "ya29.", length = 64, alphabet = "base64url" }}
"#
    )
}

fn proxied(scheme: &str, document: &str) -> Proxied {
    let known = [("DOCUMENT", document), ("GITHUB_APP_ID", "12"), ("GITHUB_APP_INSTALLATION_ID", "7")];
    let transport = Transport::Tls(vec![HttpVersion::Http2, HttpVersion::Http1]);
    let config = provider(scheme);
    Proxied::and(transport, &More { config: &config, variables: &known, ..More::default() })
}

pub fn key() -> (KeyPair, String) {
    let key = KeyPair::generate(KeySize::Rsa2048).expect("a key");
    let der: Pkcs8V1Der<'_> = key.as_der().expect("its bytes");
    let text = STANDARD.encode(der.as_ref());
    (key, format!("-----BEGIN PRIVATE KEY-----\n{text}\n-----END PRIVATE KEY-----\n"))
}

fn google() -> (Proxied, KeyPair) {
    let (key, pem) = key();
    let document = json!({
        "type": "service_account", "private_key_id": "real-key-id", "private_key": pem,
        "client_email": "a@p.iam.gserviceaccount.com", "token_uri": TOKEN_SERVER,
    });
    let proxied = proxied("google_service_account = { scope = \"a-scope\" }", &document.to_string());
    answer_with(&proxied, "/token", &json!({ "access_token": REAL, "expires_in": 3600 }));
    (proxied, key)
}

pub fn answer_with(proxied: &Proxied, path: &str, body: &Value) {
    let body = body.to_string().into_bytes();
    proxied.upstream.route(path, Reply::Fixed { status: 200, headers: Vec::new(), body });
}

fn refuse_with(proxied: &Proxied, path: &str, status: u16, body: &Value) {
    let body = body.to_string().into_bytes();
    proxied.upstream.route(path, Reply::Fixed { status, headers: Vec::new(), body });
}

/// The stand-in account: its token and its key.
fn account(proxied: &Proxied) -> (String, SigningKey) {
    let stand_in = stand_in(proxied, "minted");
    let document: Value = serde_json::from_str(&stand_in.files[0].contents).expect("JSON");
    assert_eq!(*stand_in.files[0].variables[0], *"DOCUMENT");
    let key =
        SigningKey::from_pem(document["private_key"].as_str().expect("a key").as_bytes()).expect("a key");
    (document["private_key_id"].as_str().expect("an id").to_owned(), key)
}

fn assertion(key: &SigningKey, key_id: &str) -> String {
    let header = json!({ "alg": "RS256", "typ": "JWT", "kid": key_id }).to_string();
    let claims = json!({ "iss": "someone", "aud": TOKEN_SERVER, "scope": "any" }).to_string();
    String::from_utf8(key.sign(&header, &claims).expect("signed").to_vec()).expect("text")
}

fn get(proxied: &Proxied, bearer: &str, url: &str) -> String {
    let header = format!("Authorization: Bearer {bearer}");
    proxied.curl(&["-i", "-H", &header, url]).run().expect_status(0).stdout()
}

fn paths(proxied: &Proxied) -> Vec<String> {
    let path = |request: &Recorded| {
        let target = request.target.trim_start_matches("https://");
        target[target.find('/').unwrap_or(0)..].to_owned()
    };
    proxied.upstream.requests().iter().map(path).collect()
}

/// Header and claims of a token that was signed with the key.
fn opened(token: &str, key: &KeyPair) -> [Value; 2] {
    let (signed, signature) = token.rsplit_once('.').expect("three parts");
    let public = UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, key.public_key().as_ref());
    let signature = URL_SAFE_NO_PAD.decode(signature).expect("base64");
    public.verify(signed.as_bytes(), &signature).expect("the signature of the key");
    let (header, claims) = signed.split_once('.').expect("three parts");
    [header, claims]
        .map(|part| serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).expect("base64")).expect("JSON"))
}

#[test]
fn req_e07_a_service_accounts_token_is_minted_outside_once_and_never_seen_inside() {
    let (proxied, key) = google();
    let (token, _) = account(&proxied);
    for _ in 0..2 {
        let got = get(&proxied, &token, API);
        assert_eq!(reason(&got), None, "{got}");
        assert!(!got.contains(REAL) && !got.contains(&token), "{got}");
    }
    assert_eq!(paths(&proxied), ["/token", "/v1/things", "/v1/things"]);
    let requests = proxied.upstream.requests();
    assert_eq!(requests[1].header("authorization"), Some(format!("Bearer {REAL}").as_bytes()));
    let form = String::from_utf8(requests[0].body.clone()).expect("text");
    let sent = form.rsplit_once("assertion=").expect("an assertion").1;
    let [header, claims] = opened(sent, &key);
    assert_eq!((&header["kid"], &claims["scope"]), (&json!("real-key-id"), &json!("a-scope")));
    let record = proxied.record();
    assert!(record.contains("\"rule\":\"mint\"") && !record.contains(REAL), "{record}");
}

#[test]
fn req_e07_a_client_that_signs_for_itself_is_understood() {
    let (proxied, _) = google();
    let (token, key) = account(&proxied);
    let got = get(&proxied, &assertion(&key, &token), API);
    assert_eq!(reason(&got), None, "{got}");
    let arrived = proxied.upstream.requests().pop().expect("a request");
    assert_eq!(arrived.header("authorization"), Some(format!("Bearer {REAL}").as_bytes()));
    let before = proxied.upstream.requests().len();
    let got = get(&proxied, &assertion(&key, "another-key-id"), API);
    assert_eq!(reason(&got), Some("credential-foreign"), "{got}");
    assert_eq!(proxied.upstream.requests().len(), before);
}

#[test]
fn req_e07_the_token_server_is_answered_for_and_hands_out_what_the_sandbox_may_have() {
    let (proxied, _) = google();
    let (token, key) = account(&proxied);
    let exchange = |assertion: &str| {
        let grant = "grant_type=urn:ietf:params:oauth:grant-type:jwt-bearer";
        let form = format!("{grant}&assertion={assertion}");
        proxied.curl(&["-i", "-d", &form, TOKEN_SERVER]).run().expect_status(0).stdout()
    };
    let got = exchange(&assertion(&key, &token));
    let body: Value = serde_json::from_str(got.lines().last().expect("a body")).expect("JSON");
    assert_eq!(body["access_token"], json!(token));
    let got = exchange(&assertion(&key, "somebody-elses"));
    assert_eq!(reason(&got), Some("credential-foreign"), "{got}");
    assert_eq!(reason(&proxied.curl(&["-i", TOKEN_SERVER]).run().stdout()), Some("host-not-allowed"));
    // A token of another sandbox is of no use here.
    let elsewhere = proxied.listen(ClientId::new(), Door::Proxy);
    let via = format!("http://{elsewhere}");
    let form = format!("assertion={}", assertion(&key, &token));
    let args = ["-i", "-x", &via, "-d", &form, TOKEN_SERVER];
    assert_eq!(reason(&proxied.curl(&args).run().expect_status(0).stdout()), Some("token-wrong-client"));
    assert!(proxied.upstream.connections().is_empty());
}

#[test]
fn req_e07_the_metadata_server_is_answered_for_where_an_account_is_in_use_and_nowhere_else() {
    let (proxied, _) = google();
    let got =
        proxied.curl(&["-i", "-H", "Metadata-Flavor: Google", METADATA]).run().expect_status(0).stdout();
    let body: Value = serde_json::from_str(got.lines().last().expect("a body")).expect("JSON");
    let got = get(&proxied, body["access_token"].as_str().expect("a token"), API);
    assert_eq!(reason(&got), None, "{got}");
    let arrived = proxied.upstream.requests().pop().expect("a request");
    assert_eq!(arrived.header("authorization"), Some(format!("Bearer {REAL}").as_bytes()));
    let without = Proxied::tls(&[HttpVersion::Http1]);
    let args = ["-i", "-H", "Metadata-Flavor: Google", METADATA];
    assert_eq!(reason(&without.curl(&args).run().expect_status(0).stdout()), Some("host-not-allowed"));
}

#[test]
fn req_e10_a_token_server_that_refuses_contacts_nobody_else_and_the_next_request_recovers() {
    let (proxied, _) = google();
    let (token, _) = account(&proxied);
    refuse_with(&proxied, "/token", 400, &json!({ "error": "invalid_grant", "error_description": "canary" }));
    let got = get(&proxied, &token, API);
    assert_eq!(reason(&got), Some("mint-failed"), "{got}");
    assert!(!got.contains("canary"), "{got}");
    assert_eq!(paths(&proxied), ["/token"]);
    answer_with(&proxied, "/token", &json!({ "access_token": REAL, "expires_in": 3600 }));
    assert_eq!(reason(&get(&proxied, &token, API)), None);
    assert_eq!(paths(&proxied), ["/token", "/token", "/v1/things"]);
}

#[test]
fn req_e10_a_401_makes_the_next_request_mint_again_and_repeats_nothing() {
    let (proxied, _) = google();
    let (token, _) = account(&proxied);
    refuse_with(&proxied, "/denied", 401, &json!({}));
    let denied = "https://minted.example.test/denied";
    assert!(get(&proxied, &token, denied).contains("401"));
    answer_with(
        &proxied,
        "/token",
        &json!({ "access_token": "ya29.the-next-one-0123456789", "expires_in": 3600 }),
    );
    assert_eq!(reason(&get(&proxied, &token, API)), None);
    assert_eq!(paths(&proxied), ["/token", "/denied", "/token", "/v1/things"]);
    let arrived = proxied.upstream.requests().pop().expect("a request");
    assert_eq!(arrived.header("authorization"), Some(&b"Bearer ya29.the-next-one-0123456789"[..]));
}

#[test]
fn req_e07_many_requests_at_once_mint_once() {
    let (proxied, _) = google();
    let (token, _) = account(&proxied);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| assert_eq!(reason(&get(&proxied, &token, API)), None));
        }
    });
    assert_eq!(paths(&proxied).iter().filter(|path| *path == "/token").count(), 1);
}

#[test]
fn req_e07_a_token_that_is_about_to_expire_is_replaced_before_it_does() {
    let (proxied, _) = google();
    let (token, _) = account(&proxied);
    answer_with(&proxied, "/token", &json!({ "access_token": REAL, "expires_in": 3 }));
    for _ in 0..2 {
        assert_eq!(reason(&get(&proxied, &token, API)), None);
    }
    assert_eq!(paths(&proxied), ["/token", "/v1/things", "/token", "/v1/things"]);
}

#[test]
fn req_e07_oauth_clients_get_their_tokens_by_either_grant() {
    let url = "https://token.example.test/oauth/token";
    let oauth = |grant: &str| format!("oauth2 = {{ token_url = \"{url}\", grant = \"{grant}\" }}");
    let document =
        json!({ "client_id": "id", "client_secret": "canary-secret", "refresh_token": "canary-first" });
    for (grant, sent) in
        [("client-credentials", "grant_type=client_credentials"), ("refresh-token", "canary-first")]
    {
        let proxied = proxied(&oauth(grant), &document.to_string());
        let answer = json!({ "access_token": REAL, "expires_in": 60, "refresh_token": "canary-second" });
        answer_with(&proxied, "/oauth/token", &answer);
        let held = stand_in(&proxied, "minted");
        let token = held.variables[0].1.expose().to_owned();
        assert_eq!(reason(&get(&proxied, &token, API)), None);
        let requests = proxied.upstream.requests();
        assert!(String::from_utf8_lossy(&requests[0].body).contains(sent));
        let basic = format!("Basic {}", STANDARD.encode("id:canary-secret"));
        assert_eq!(requests[0].header("authorization"), Some(basic.as_bytes()));
        assert_eq!(requests[1].header("authorization"), Some(format!("Bearer {REAL}").as_bytes()));
        // The server gave another refresh token in place of the first.
        refuse_with(&proxied, "/denied", 401, &json!({}));
        get(&proxied, &token, "https://minted.example.test/denied");
        assert_eq!(reason(&get(&proxied, &token, API)), None);
        let again = &proxied.upstream.requests()[3];
        let second = String::from_utf8_lossy(&again.body).contains("refresh_token=canary-second");
        assert_eq!(second, grant == "refresh-token");
        // A client inside that does the exchange itself, with what it holds.
        let before = proxied.upstream.requests().len();
        for form in
            [format!("grant_type=x&client_secret={token}"), format!("grant_type=x&refresh_token={token}")]
        {
            let got = proxied.curl(&["-f", "-d", &form, url]).run().expect_status(0).stdout();
            let answer: Value = serde_json::from_str(&got).expect("JSON");
            assert_eq!(answer["access_token"], json!(token));
        }
        let user = format!("id:{token}");
        proxied.curl(&["-f", "-u", &user, "-d", "grant_type=x", url]).run().expect_status(0);
        let got = proxied.curl(&["-i", "-d", "client_secret=mine", url]).run().expect_status(0).stdout();
        assert_eq!(reason(&got), Some("credential-foreign"), "{got}");
        assert_eq!(proxied.upstream.requests().len(), before);
    }
}

#[test]
fn req_e07_a_github_app_gets_an_installations_token_and_the_sandbox_another() {
    let (key, pem) = key();
    let proxied = proxied("github_app = {}", &pem);
    let real = "ghs_real0123456789abcdef";
    let path = "/app/installations/7/access_tokens";
    answer_with(&proxied, path, &json!({ "token": real, "expires_at": "2099-01-01T00:00:00Z" }));
    let held = stand_in(&proxied, "minted");
    let stand_in_key = SigningKey::from_pem(held.variables[0].1.expose().as_bytes()).expect("a key");
    let url = format!("https://api.github.com{path}");
    let ask = |jwt: &str| {
        let header = format!("Authorization: Bearer {jwt}");
        proxied.curl(&["-i", "-X", "POST", "-H", &header, &url]).run().expect_status(0).stdout()
    };
    let got = ask(&assertion(&stand_in_key, "12"));
    let body: Value = serde_json::from_str(got.lines().last().expect("a body")).expect("JSON");
    assert!(proxied.upstream.connections().is_empty());
    assert_eq!(reason(&ask("ghp_0123456789abcdef0123456789")), Some("credential-foreign"));
    let got = get(&proxied, body["token"].as_str().expect("a token"), API);
    assert_eq!(reason(&got), None, "{got}");
    assert_eq!(paths(&proxied), [path, "/v1/things"]);
    let requests = proxied.upstream.requests();
    let jwt =
        requests[0].header("authorization").and_then(|value| value.strip_prefix(b"Bearer ")).expect("a JWT");
    let [_, claims] = opened(std::str::from_utf8(jwt).expect("text"), &key);
    assert_eq!(claims["iss"], json!("12"));
    assert_eq!(requests[1].header("authorization"), Some(format!("Bearer {real}").as_bytes()));
}
