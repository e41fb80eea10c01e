//! A daemon with an upstream behind it, and a client that says exactly what a test wants.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::sync::Arc;

use cofferdam_testkit::Outcome;
use cofferdam_testkit::processes::PATIENCE;
use cofferdam_testkit::upstream::{HttpVersion, Transport, Upstream, UpstreamOptions};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use serde_json::Value;

use crate::scene::Daemon;

/// A host whose credential is a bearer token.
pub const HOST: &str = "api.example.test";
/// Hosts whose credential is a header of its own, a parameter, and a string of a document.
pub const OTHER: &str = "other.example.test";
pub const QUERY: &str = "query.example.test";
pub const JSON: &str = "json.example.test";
/// A host that is allowed and has no credential.
pub const PLAIN: &str = "plain.example.test";
/// The real credential, of all but `OTHER`.
pub const SECRET: &str = "acme-canary-0f1e2d3c4b5a6978";
pub const OTHER_SECRET: &str = "other-canary-9a8b7c6d5e4f3021";

/// A host for a provider of a test's own.
pub const MORE: &str = "more.example.test";

const NAMES: [&str; 6] = [HOST, OTHER, QUERY, JSON, PLAIN, MORE];
const PROVIDERS: [(&str, &str, &str); 4] = [
    ("acme", HOST, "{ header = \"Authorization\", template = \"Bearer {}\" }"),
    ("other", OTHER, "{ header = \"x-api-key\" }"),
    ("query", QUERY, "{ query = \"key\" }"),
    ("json", JSON, "{ json = \"/auth/key\" }"),
];

pub struct Served {
    pub daemon: Daemon,
    pub upstream: Upstream,
    tokens: Value,
}

impl Served {
    /// Configured, and neither set up nor started.
    pub fn new() -> Self {
        Self::configured("", "")
    }

    /// `keys` are more of the section `[egress]`, `tables` more sections.
    pub fn configured(keys: &str, tables: &str) -> Self {
        let names = NAMES.map(str::to_owned).to_vec();
        let transport = Transport::Tls(vec![HttpVersion::Http2, HttpVersion::Http1]);
        let upstream = Upstream::start(&UpstreamOptions { names, transport });
        let daemon = Daemon::new("");
        daemon.home.write("cofferdam/upstream.pem", upstream.ca_pem());
        let served = Self { daemon, upstream, tokens: Value::Null };
        served.configure(keys, tables);
        served
    }

    /// Running, with a token for each provider.
    pub fn started(keys: &str, tables: &str) -> Self {
        let mut served = Self::configured(keys, tables);
        served.set_up();
        served.call(&["start"]).expect_status(0);
        served
    }

    /// Makes a token for each provider.
    pub fn set_up(&mut self) {
        self.tokens = self.json(&["setup", "--json"])["tokens"].clone();
    }

    pub fn configure(&self, keys: &str, tables: &str) {
        let address = self.upstream.address();
        let resolve = NAMES.map(|name| format!("\"{name}:443\" = \"{address}\"\n")).concat();
        let provider = |(name, host, scheme): (&str, &str, &str)| {
            let variable = if name == "other" { "OTHER_API_KEY" } else { "ACME_API_KEY" };
            format!(
                "[[provider]]\nname = \"{name}\"\nhosts = [\"{host}\"]\nvariables = [\"{}_API_KEY\"]\n\
                 scheme = {scheme}\nsecret = {{ env = \"{variable}\" }}\n",
                name.to_uppercase()
            )
        };
        let providers = PROVIDERS.map(provider).concat();
        self.daemon.configure(&format!(
            "upstream_ca_files = [\"upstream.pem\"]\n{keys}\n[egress.resolve]\n{resolve}\
             [[egress.allow]]\nhosts = [\"{PLAIN}\"]\n{providers}{tables}"
        ));
    }

    /// A command of the daemon, with the keys in the environment.
    pub fn call(&self, words: &[&str]) -> Outcome {
        let call = self.daemon.call(words).env("ACME_API_KEY", SECRET);
        call.env("OTHER_API_KEY", OTHER_SECRET).run()
    }

    pub fn json(&self, words: &[&str]) -> Value {
        serde_json::from_str(&self.call(words).expect_status(0).stdout()).expect("JSON")
    }

    pub fn token(&self, provider: &str) -> &str {
        token(&self.tokens, provider)
    }

    /// A handshake in a tunnel, as a client of the proxy makes it.
    pub fn tunnel(&self, host: &str) -> StreamOwned<ClientConnection, TcpStream> {
        let mut stream = self.connection();
        write!(stream, "CONNECT {host}:443 HTTP/1.1\r\nHost: {host}:443\r\n\r\n").expect("the proxy reads");
        let head = head(&mut stream);
        assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
        let mut roots = RootCertStore::empty();
        let authority = std::fs::read(self.daemon.file("state/ca/ca.crt")).expect("an authority");
        for certificate in CertificateDer::pem_slice_iter(&authority) {
            roots.add(certificate.expect("PEM")).expect("a certificate");
        }
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_root_certificates(roots)
            .with_no_client_auth();
        let name = ServerName::try_from(host.to_owned()).expect("a name");
        let client = ClientConnection::new(Arc::new(config), name).expect("a client");
        StreamOwned::new(client, stream)
    }

    /// A connection to the shared port.
    pub fn connection(&self) -> TcpStream {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, self.daemon.port));
        let stream = TcpStream::connect(address).expect("the proxy listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        stream
    }

    /// Everything that comes back for these bytes, sent through a tunnel to the host.
    pub fn send(&self, host: &str, bytes: impl AsRef<[u8]>) -> Vec<u8> {
        exchange(self.tunnel(host), bytes.as_ref())
    }

    /// The answer to a request with these lines in its head and this body.
    pub fn ask(&self, host: &str, first: &str, lines: &str, body: &str) -> String {
        let length = match body.is_empty() {
            true => String::new(),
            false => format!("Content-Length: {}\r\n", body.len()),
        };
        let head = format!("{first} HTTP/1.1\r\nHost: {host}\r\n{lines}{length}Connection: close\r\n\r\n");
        String::from_utf8_lossy(&self.send(host, head + body)).into_owned()
    }

    pub fn record(&self) -> String {
        self.daemon.record()
    }

    pub fn metrics(&self) -> String {
        self.call(&["metrics"]).expect_status(0).stdout()
    }
}

/// The token of a provider in what `setup --json` or `rotate-tokens --json` printed.
pub fn token<'a>(tokens: &'a Value, provider: &str) -> &'a str {
    let tokens = tokens.as_array().or_else(|| tokens["tokens"].as_array()).expect("a list of tokens");
    let found = tokens.iter().find(|token| token["provider"] == provider).expect("a provider with a token");
    found["token"].as_str().expect("a token that was just made")
}

/// Everything that comes back for these bytes on a connection of their own.
pub fn exchange(mut stream: impl Read + Write, bytes: &[u8]) -> Vec<u8> {
    // Whoever is refused early may not be read to the end.
    let _ = stream.write_all(bytes).and_then(|()| stream.flush());
    let mut answer = Vec::new();
    // A connection that is cut off has said what it had to say.
    let _ = stream.read_to_end(&mut answer);
    answer
}

/// Up to the empty line.
pub fn head(stream: &mut impl Read) -> String {
    let (mut bytes, mut byte) = (Vec::new(), [0]);
    while !bytes.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|count| count > 0) {
        bytes.push(byte[0]);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The status of an answer, and the code if it is a refusal.
pub fn verdict(answer: &str) -> (u16, Option<&str>) {
    let status = answer.get(9..12).and_then(|digits| digits.parse().ok()).unwrap_or(0);
    let reason = answer.lines().find_map(|line| line.strip_prefix("cofferdam-reason: "));
    (status, reason.map(str::trim_end))
}
