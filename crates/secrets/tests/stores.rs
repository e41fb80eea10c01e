//! Stores: what they are asked, and what becomes of their answers.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::Arc;

use aws_lc_rs::cipher::{AES_256, DecryptionContext, PaddedBlockEncryptingKey, UnboundCipherKey};
use aws_lc_rs::{hkdf, hmac};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use cofferdam_policy::document::Config;
use cofferdam_policy::environment::ChildEnvironment;
use cofferdam_secrets::source::HostVariables;
use cofferdam_secrets::{EnvironmentFallback, LoadError, Loader};
use cofferdam_testkit::upstream::{HttpVersion, Reply, Transport, Upstream, UpstreamOptions};
use cofferdam_testkit::{Home, clients};
use serde_json::{Value, json};
use tempfile::TempDir;
use zeroize::Zeroizing;

const CANARY: &str = "sk-canary-0123456789";
const ID: &str = "15744a66-341a-4c62-af50-af960166b6bc";
const MACHINE: &str = "ec2c1d46-6a4b-4751-a310-af9601317f2d";
const SEED: &[u8; 16] = b"0123456789abcdef";

struct Scene {
    directory: TempDir,
    upstream: Upstream,
}

impl Scene {
    fn new(transport: Transport) -> Self {
        let names = vec!["localhost".to_owned(), "127.0.0.1".to_owned()];
        let upstream = Upstream::start(&UpstreamOptions { names, transport });
        let directory = tempfile::tempdir().expect("a directory");
        std::fs::write(directory.path().join("ca.pem"), upstream.ca_pem()).expect("written");
        Self { directory, upstream }
    }

    fn tls() -> Self {
        Self::new(Transport::Tls(vec![HttpVersion::Http1]))
    }

    fn answer(&self, path: &str, status: u16, body: &Value) {
        let body = body.to_string().into_bytes();
        let headers = vec![("content-type".to_owned(), "application/json".to_owned())];
        self.upstream.route(path, Reply::Fixed { status, headers, body });
    }

    /// An executable script in the directory.
    fn program(&self, name: &str, script: &str) -> PathBuf {
        let path = self.directory.path().join(name);
        std::fs::write(&path, format!("#!/bin/sh\nPATH=/usr/bin:/bin\n{script}\n")).expect("written");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o700)).expect("mode");
        path
    }

    /// Loads a secret with this source; `stores` is more of the configuration, with `PORT` for the upstream's.
    fn load(
        &self,
        source: &str,
        stores: &str,
        fallback: EnvironmentFallback,
    ) -> Result<String, Arc<LoadError>> {
        let text = format!(
            "[[provider]]\nname = \"acme\"\nhosts = [\"acme.example\"]\nvariables = [\"ACME\"]\n\
             scheme = {{ query = \"k\" }}\nsecret = {source}\n{stores}"
        );
        let text = text.replace("PORT", &self.upstream.port().to_string());
        let config = Config::parse("config.toml", &text).expect("a configuration");
        let token = format!("0.{MACHINE}.C2IgxjjLF7qS:{}", STANDARD.encode(SEED));
        let host =
            [("BWS_ACCESS_TOKEN", token.as_str()), ("VAULT_TOKEN", "hvs.root"), ("ACME", "sk-fallback-012")];
        let given = host.map(|(name, value)| (name.to_owned(), Zeroizing::new(value.as_bytes().to_vec())));
        let loader = Loader {
            host: HostVariables::given(given),
            command_environment: ChildEnvironment::empty(),
            base: self.directory.path().to_owned(),
            home: None,
            fallback,
            stores: config.secrets,
        };
        let loaded = loader.load(&config.providers[0])?;
        Ok(String::from_utf8(loaded.secret.expose().to_vec()).expect("text"))
    }

    fn read(&self, source: &str, stores: &str) -> Result<String, String> {
        let loaded = self.load(source, stores, EnvironmentFallback::Refuse);
        loaded.map_err(|error| {
            let shown = format!("{error} {:?} {error:?}", error.hint());
            assert!(!shown.contains("canary") && !shown.contains("hvs.root"), "{shown}");
            error.to_string()
        })
    }
}

const VAULT: &str =
    "[secrets.vault]\naddress = \"https://localhost:PORT\"\nca_file = \"ca.pem\"\nnamespace = \"team\"\n";
const FIELD: &str = "{ vault = \"secret/apps/acme\", key = \"api/key\" }";

#[test]
fn req_e10_a_field_of_a_vault_is_read_with_its_token() {
    let scene = Scene::tls();
    scene.answer(
        "/v1/secret/data/apps/acme",
        200,
        &json!({"data": {"data": {"api/key": CANARY}, "metadata": {}}}),
    );
    assert_eq!(scene.read(FIELD, VAULT), Ok(CANARY.to_owned()));
    let [request] = &scene.upstream.requests()[..] else { panic!("one request") };
    assert_eq!((request.method.as_str(), request.target.as_str()), ("GET", "/v1/secret/data/apps/acme"));
    assert_eq!(request.header("x-vault-token"), Some(&b"hvs.root"[..]));
    assert_eq!(request.header("x-vault-namespace"), Some(&b"team"[..]));
    assert_eq!(request.header("x-vault-request"), Some(&b"true"[..]));
}

#[test]
fn req_e10_a_vault_that_fails_says_how_and_the_environment_steps_in_only_where_it_may() {
    let scene = Scene::tls();
    let path = "/v1/secret/data/apps/acme";
    let deleted = json!({"data": {"data": null, "metadata": {"deletion_time": "now"}}});
    for (status, body, expected) in [
        (403, json!({"errors": ["canary"]}), "did not accept"),
        (404, deleted, "no such secret"),
        (503, json!({"errors": ["canary: sealed"]}), "status 503"),
        (200, json!({"data": {"data": {"other": "canary"}}}), "no such member"),
        (200, json!({"data": {"data": {"api/key": 7}}}), "not a string"),
        (200, json!({"data": {"data": {"api/key": ""}}}), "it is empty"),
    ] {
        scene.answer(path, status, &body);
        let error = scene.read(FIELD, VAULT).expect_err("refused");
        assert!(error.contains(expected), "{error}");
        let instead = scene.load(FIELD, VAULT, EnvironmentFallback::Allow).expect("the environment");
        assert_eq!(instead, "sk-fallback-012");
    }
    let untrusted = scene.read(FIELD, "[secrets.vault]\naddress = \"https://localhost:PORT\"\n");
    assert!(untrusted.expect_err("refused").contains("not trusted"));
    let nobody = VAULT.replace("PORT", "1");
    assert!(scene.read(FIELD, &nobody).expect_err("refused").contains("cannot be reached"));
    let tokenless = format!("{VAULT}token = {{ file = \"absent\" }}\n");
    let error = scene.read(FIELD, &tokenless).expect_err("refused");
    assert!(error.contains("the credential of Vault"), "{error}");
}

/// The 64 bytes of a key, as HKDF makes them.
fn derived(seed: &[u8]) -> [u8; 64] {
    struct Long;
    impl hkdf::KeyType for Long {
        fn len(&self) -> usize {
            64
        }
    }
    let salt = hkdf::Salt::new(hkdf::HKDF_SHA256, b"bitwarden-accesstoken");
    let mut key = [0; 64];
    let expanded = salt.extract(seed);
    expanded.expand(&[b"sm-access-token"], Long).expect("a length").fill(&mut key).expect("filled");
    key
}

/// `2.IV|DATA|MAC`
fn sealed(key: &[u8; 64], text: &str) -> String {
    let cipher = UnboundCipherKey::new(&AES_256, &key[..32]).expect("a key");
    let mut data = text.as_bytes().to_vec();
    let context =
        PaddedBlockEncryptingKey::cbc_pkcs7(cipher).expect("a cipher").encrypt(&mut data).expect("sealed");
    let DecryptionContext::Iv128(iv) = context else { panic!("an IV") };
    let iv = iv.as_ref().to_vec();
    let mac = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, &key[32..]), &[iv.as_slice(), &data].concat());
    format!("2.{}|{}|{}", STANDARD.encode(iv), STANDARD.encode(data), STANDARD.encode(mac.as_ref()))
}

const ORGANISATION: [u8; 64] = [7; 64];

fn bitwarden_server(scene: &Scene) {
    let payload = json!({"encryptionKey": STANDARD.encode(ORGANISATION)}).to_string();
    let claims = json!({
        "exp": 4_102_444_800_u64, "sub": MACHINE, "organization": "f4e44a7f-1190-432a-9d4a-af96013127cb",
        "scope": ["api.secrets"],
    });
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let bearer = format!("{}.{}.c2ln", part(&json!({"alg": "none"})), part(&claims));
    let login = json!({
        "access_token": bearer, "expires_in": 3600, "token_type": "Bearer", "scope": "api.secrets",
        "encrypted_payload": sealed(&derived(SEED), &payload),
    });
    scene.answer("/identity/connect/token", 200, &login);
    let secret = json!({
        "object": "secret", "id": ID, "organizationId": "f4e44a7f-1190-432a-9d4a-af96013127cb", "projects": [],
        "key": sealed(&ORGANISATION, "acme"), "value": sealed(&ORGANISATION, CANARY), "note": sealed(&ORGANISATION, ""),
        "creationDate": "2026-11-15T00:00:00Z", "revisionDate": "2026-11-15T00:00:00Z",
    });
    scene.answer(&format!("/api/secrets/{ID}"), 200, &secret);
}

const BITWARDEN: &str = "[secrets.bitwarden]\nserver = \"https://localhost:PORT\"\nca_file = \"ca.pem\"\n";

fn bitwarden_source() -> String {
    format!("{{ bitwarden = \"{ID}\" }}")
}

#[test]
fn req_e10_bitwarden_is_asked_directly_and_its_answer_opened_here() {
    let scene = Scene::tls();
    bitwarden_server(&scene);
    assert_eq!(scene.read(&bitwarden_source(), BITWARDEN), Ok(CANARY.to_owned()));
    let [login, get] = &scene.upstream.requests()[..] else { panic!("two requests") };
    assert_eq!((login.method.as_str(), login.target.as_str()), ("POST", "/identity/connect/token"));
    let form = "scope=api.secrets&grant_type=client_credentials&client_id=MACHINE&client_secret=C2IgxjjLF7qS";
    assert_eq!(String::from_utf8_lossy(&login.body), form.replace("MACHINE", MACHINE));
    assert_eq!(get.target, format!("/api/secrets/{ID}"));
    assert!(get.header("authorization").is_some_and(|value| value.starts_with(b"Bearer eyJ")));
    let seed = STANDARD.encode(SEED);
    let raw: Vec<u8> = scene.upstream.requests().iter().flat_map(|request| request.raw.clone()).collect();
    assert!(!String::from_utf8_lossy(&raw).contains(&seed), "what opens secrets is not sent");
}

/// Bitwarden's own client understands the server of these tests, so that what it asks and answers is not only what we
/// believe the protocol to be.
#[test]
fn req_e10_bitwardens_own_client_gets_the_same_value_from_the_same_server() {
    let scene = Scene::tls();
    bitwarden_server(&scene);
    let url = format!("https://localhost:{}", scene.upstream.port());
    let token = format!("0.{MACHINE}.C2IgxjjLF7qS:{}", STANDARD.encode(SEED));
    let program = format!(
        "from bitwarden_sdk import BitwardenClient, DeviceType, client_settings_from_dict\n\
         c = BitwardenClient(client_settings_from_dict({{'apiUrl': '{url}/api', 'identityUrl': '{url}/identity', \
         'deviceType': DeviceType.SDK, 'userAgent': 'test'}}))\n\
         c.auth().login_access_token('{token}', None)\nprint(c.secrets().get('{ID}').data.value)\n"
    );
    let home = Home::new();
    let client = clients::python(&home, &program).env("SSL_CERT_FILE", scene.directory.path().join("ca.pem"));
    assert_eq!(client.run().expect_status(0).stdout().trim(), CANARY);
}

#[test]
fn req_e10_a_bitwarden_answer_that_was_changed_or_refused_is_no_value() {
    let scene = Scene::tls();
    bitwarden_server(&scene);
    let path = format!("/api/secrets/{ID}");
    let changed = sealed(&ORGANISATION, CANARY).replacen('|', "|AAAA", 1);
    for (status, body, expected) in [
        (200, json!({ "value": changed }), "cannot be opened"),
        (200, json!({ "value": sealed(&[9; 64], CANARY) }), "cannot be opened"),
        (200, json!({ "value": "canary" }), "cannot be opened"),
        (404, json!({}), "no such secret"),
        (429, json!({}), "status 429"),
    ] {
        scene.answer(&path, status, &body);
        let error = scene.read(&bitwarden_source(), BITWARDEN).expect_err("refused");
        assert!(error.contains(expected), "{error}");
    }
    scene.answer(
        "/identity/connect/token",
        400,
        &json!({"error": "invalid_client", "error_description": "canary"}),
    );
    assert!(scene.read(&bitwarden_source(), BITWARDEN).expect_err("refused").contains("did not accept"));
}

#[test]
fn req_e10_programs_of_password_managers_get_their_credential_and_give_one_value() {
    let scene = Scene::tls();
    scene.program("bws", "[ \"$BWS_ACCESS_TOKEN\" ] && [ \"$1 $2 $4 $5\" = 'secret get --output json' ] && echo \"$3 $7\" > asked
        echo '{\"id\": \"x\", \"key\": \"canary-name\", \"value\": \"sk-canary-0123456789\", \"note\": \"\"}'");
    let stores = "[secrets.bitwarden]\nprogram = \"bws\"\nserver = \"https://bw.example\"\n";
    assert_eq!(scene.read(&bitwarden_source(), stores), Ok(CANARY.to_owned()));
    scene.program("op", "[ \"$*\" = 'read --no-newline op://vault/item/field' ] || exit 9
        [ \"$OP_SERVICE_ACCOUNT_TOKEN\" = hvs.root ] && printf %s \"$OP_SERVICE_ACCOUNT_TOKEN\" | sed s/hvs.root/sk-canary-0123456789/");
    let stores = "[secrets.onepassword]\nprogram = \"op\"\ntoken = { env = \"VAULT_TOKEN\" }\n";
    let source = "{ onepassword = \"op://vault/item/field\" }";
    assert_eq!(scene.read(source, stores), Ok(CANARY.to_owned()));
    let without = "[secrets.onepassword]\nprogram = \"op\"\n";
    assert!(scene.read(source, without).expect_err("refused").contains("exited with"));
    scene.program(
        "secret-tool",
        "[ \"$*\" = 'lookup account me service acme' ] && printf sk-canary-0123456789",
    );
    let stores = "[secrets.keyring]\nprogram = \"secret-tool\"\n";
    let source = "{ keyring = { service = \"acme\", account = \"me\" } }";
    assert_eq!(scene.read(source, stores), Ok(CANARY.to_owned()));
    let absent = "[secrets.keyring]\nprogram = \"/nowhere/secret-tool\"\n";
    assert!(scene.read(source, absent).expect_err("refused").contains("/nowhere/secret-tool"));
}
