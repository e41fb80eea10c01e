//! The providers' own clients, unchanged, with what a sandbox holds: each gets its answer, and the upstream gets the
//! real credential.

mod cloud;
mod models;
mod streams;

use cofferdam_testkit::upstream::{HttpVersion, Reply, Transport};
use cofferdam_testkit::{Cofferdam, clients};
use serde_json::Value;

use crate::minted::stand_in;
use crate::proxied::{More, Proxied};

const HELD: [&str; 4] = ["OPENAI_API_KEY", "ANTHROPIC_API_KEY", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"];

/// A proxy with one built-in provider in use, whose variables on the host are these.
fn using(provider: &str, variables: &[(&str, &str)]) -> Proxied {
    let versions = vec![HttpVersion::Http2, HttpVersion::Http1];
    Proxied::and(Transport::Tls(versions), &More { variables, built_in: &[provider], ..More::default() })
}

fn answer(proxied: &Proxied, path: &str, content_type: &str, body: impl Into<Vec<u8>>) {
    let headers = vec![("content-type".to_owned(), content_type.to_owned())];
    proxied.upstream.route(path, Reply::Fixed { status: 200, headers, body: body.into() });
}

fn json(proxied: &Proxied, path: &str, body: &Value) {
    answer(proxied, path, "application/json", body.to_string());
}

/// What a sandbox's environment says about the way out, and the stand-in of a provider.
fn as_in_a_sandbox(client: Cofferdam, proxied: &Proxied, provider: &str) -> Cofferdam {
    let (proxy, ca) = (format!("http://{}", proxied.address), proxied.home.path().join("ca.pem"));
    let mut client = client;
    for name in ["HTTPS_PROXY", "HTTP_PROXY", "https_proxy", "http_proxy"] {
        client = client.env(name, &proxy);
    }
    for name in
        ["SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "AWS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS", "GIT_SSL_CAINFO"]
    {
        client = client.env(name, &ca);
    }
    let held = stand_in(proxied, provider);
    // Where a provider has several variables, a sandbox gets those that the host has.
    for (name, token) in held.variables.iter().filter(|(name, _)| HELD.contains(&&**name)) {
        client = client.env(&**name, token.expose());
    }
    for file in &held.files {
        let path = proxied.home.write(&file.name, file.contents.as_bytes());
        for name in &file.variables {
            client = client.env(&**name, &path);
        }
    }
    client
}

fn python(proxied: &Proxied, provider: &str, program: &str) -> String {
    ran(as_in_a_sandbox(clients::python(&proxied.home, program), proxied, provider), proxied)
}

fn node(proxied: &Proxied, provider: &str, program: &str) -> String {
    ran(as_in_a_sandbox(clients::node(&proxied.home, program), proxied, provider), proxied)
}

fn ran(client: Cofferdam, proxied: &Proxied) -> String {
    let outcome = client.run();
    assert_eq!(outcome.status(), 0, "{}\n{}", outcome.stderr(), proxied.record());
    outcome.stdout()
}

/// The header of every request that arrived at a path.
fn headers(proxied: &Proxied, end: &str, name: &str) -> Vec<String> {
    let at = |target: &str| target.split('?').next().is_some_and(|path| path.ends_with(end));
    let requests = proxied.upstream.requests();
    let values =
        requests.iter().filter(|request| at(&request.target)).filter_map(|request| request.header(name));
    values.map(|value| String::from_utf8_lossy(value).into_owned()).collect()
}
