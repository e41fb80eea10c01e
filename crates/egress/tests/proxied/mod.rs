//! A proxy, an upstream behind it, and clients in front.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, OnceLock};

use cofferdam_audit::{Recorder, Settings};
use cofferdam_egress::{Authority, Client, ClientId, Door, Life, LivePolicy, Parts, Policy, Proxy, Token};
use cofferdam_policy::document::{Config, SecretStores};
use cofferdam_policy::environment::ChildEnvironment;
use cofferdam_policy::layers::Layered;
use cofferdam_policy::provider::Provider;
use cofferdam_policy::registry;
use cofferdam_secrets::source::HostVariables;
use cofferdam_secrets::{EnvironmentFallback, Loader, Store};
use cofferdam_testkit::upstream::{HttpVersion, Transport, Upstream, UpstreamOptions};
use cofferdam_testkit::{Cofferdam, Home, record_in};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use zeroize::Zeroizing;

/// The real credential.
pub const SECRET: &str = "sk-canary-7f3a9b2c4d5e6f70";
/// A host with a credential; `other.example.test` has another one, `plain.example.test` none.
pub const HOST: &str = "api.example.test";

const NAMES: [&str; 12] =
    ["api", "other", "plain", "key", "bot", "git", "json", "form", "aws", "minted", "token", "bucket.s3"];
/// Names that clients have built in.
const FIXED: [&str; 7] = [
    "oauth2.googleapis.com",
    "api.github.com",
    "api.openai.com",
    "api.anthropic.com",
    "bedrock-runtime.us-east-1.amazonaws.com",
    "s3.eu-west-1.amazonaws.com",
    "us-central1-aiplatform.googleapis.com",
];

/// More than the usual scene.
#[derive(Default)]
pub struct More<'a> {
    /// More of the configuration.
    pub config: &'a str,
    /// Another upstream, which speaks no TLS, at `socket.example.test:80`.
    pub socket: Option<SocketAddr>,
    /// More variables on the host.
    pub variables: &'a [(&'a str, &'a str)],
    /// Built-in providers that are in use.
    pub built_in: &'a [&'a str],
}

pub struct Proxied {
    pub home: Home,
    pub upstream: Upstream,
    pub proxy: Proxy,
    pub client: ClientId,
    pub address: SocketAddr,
    pub providers: Vec<Provider>,
    policy: OnceLock<Arc<LivePolicy>>,
    pub layered: Layered,
    pub runtime: tokio::runtime::Runtime,
}

impl Proxied {
    pub fn new(transport: Transport) -> Self {
        Self::with(transport, "")
    }

    pub fn tls(versions: &[HttpVersion]) -> Self {
        Self::new(Transport::Tls(versions.to_vec()))
    }

    /// `extra` is more of the configuration.
    pub fn with(transport: Transport, extra: &str) -> Self {
        Self::beside(transport, extra, None)
    }

    /// With another upstream, which speaks no TLS, at `socket.example.test:80`.
    pub fn beside(transport: Transport, extra: &str, socket: Option<SocketAddr>) -> Self {
        Self::and(transport, &More { config: extra, socket, ..More::default() })
    }

    pub fn and(transport: Transport, more: &More<'_>) -> Self {
        let mut names = NAMES.map(|name| format!("{name}.example.test")).to_vec();
        names.extend(FIXED.map(str::to_owned));
        let upstream = Upstream::start(&UpstreamOptions { names, transport });
        let home = Home::new();
        let config = Config::parse("config.toml", &config(upstream.port(), more.config, more.socket))
            .expect("a configuration");
        let mut providers = config.providers.clone();
        let built_in = registry::built_in().iter().filter(|known| more.built_in.contains(&&*known.name));
        providers.extend(built_in.cloned());
        let authority = Arc::new(Authority::load_or_create(&home.path().join("ca")).expect("an authority"));
        home.write("ca.pem", authority.certificate_pem());
        let recorder = Recorder::open(&home.path().join("audit"), Settings::default()).expect("a record");
        let layered = Layered::new(config);
        let policy = OnceLock::new();
        let proxy = Proxy::new(Parts {
            authority,
            secrets: Store::new(loader(&home, more.variables), providers.clone()),
            recorder: Arc::new(recorder),
            upstream_authorities: vec![
                CertificateDer::from_pem_slice(upstream.ca_pem().as_bytes()).expect("PEM"),
            ],
        })
        .expect("a proxy");
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
        let (client, address) = (ClientId::new(), SocketAddr::from((Ipv4Addr::LOCALHOST, 0)));
        let mut proxied = Self {
            home,
            upstream,
            proxy,
            client,
            address,
            providers,
            policy,
            layered,
            runtime: runtime.expect("a runtime"),
        };
        proxied.address = proxied.listen(client, Door::Proxy);
        proxied
    }

    /// The policy of every listener that the test opens itself.
    pub fn policy(&self) -> Arc<LivePolicy> {
        let new = || Arc::new(LivePolicy::new(Policy::new(&self.layered, self.providers.clone())));
        self.policy.get_or_init(new).clone()
    }

    /// One more listener.
    pub fn listen(&self, id: ClientId, door: Door) -> SocketAddr {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        let address = listener.local_addr().expect("a bound address");
        let (proxy, client) = (self.proxy.clone(), Client { id, door, ..Client::new(self.policy()) });
        self.runtime.spawn(async move { proxy.serve(listener, client).await });
        address
    }

    /// A token of the provider in this place of the configuration.
    pub fn token(&self, provider: usize) -> Token {
        self.proxy.tokens().mint(self.client, &self.providers[provider], Life::Sandbox).expect("randomness")
    }

    /// `curl` through the proxy, trusting its authority alone.
    pub fn curl(&self, args: &[&str]) -> Cofferdam {
        let proxy = format!("http://{}", self.address);
        Cofferdam::new("/usr/bin/curl", &self.home)
            .args(["-q", "-sS", "-N", "--cacert", "ca.pem", "-x", &proxy])
            .args(args)
    }

    pub fn url(&self, path: &str) -> String {
        format!("https://{HOST}{path}")
    }

    /// Sends bytes as they are and takes the whole answer.
    pub fn raw(&self, bytes: impl AsRef<[u8]>) -> String {
        let mut stream = TcpStream::connect(self.address).expect("the proxy listens");
        stream.write_all(bytes.as_ref()).expect("the proxy reads");
        let mut answer = Vec::new();
        // A connection that is reset after the answer has been read in full is as good as one that is closed.
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8_lossy(&answer).into_owned()
    }

    /// All lines of the record.
    pub fn record(&self) -> String {
        self.proxy.flush();
        record_in(&self.home.path().join("audit"))
    }
}

/// The code of a refusal in what `curl -i` or a raw connection shows.
pub fn reason(answer: &str) -> Option<&str> {
    let line = answer.lines().find_map(|line| line.strip_prefix("cofferdam-reason: "))?;
    Some(line.trim_end())
}

fn loader(home: &Home, more: &[(&str, &str)]) -> Loader {
    let variables = [("API_KEY", SECRET), ("OTHER_KEY", "sk-other-0123456789abcdef")];
    let all = variables.iter().chain(more);
    let given = all.map(|(name, value)| ((*name).to_owned(), Zeroizing::new(value.as_bytes().to_vec())));
    Loader {
        host: HostVariables::given(given),
        command_environment: ChildEnvironment::empty(),
        base: home.path().to_owned(),
        home: None,
        fallback: EnvironmentFallback::Refuse,
        stores: SecretStores::default(),
    }
}

fn config(port: u16, extra: &str, socket: Option<SocketAddr>) -> String {
    let target = |name: &str, at: u16| format!("\"{name}.example.test:{at}\" = \"127.0.0.1:{port}\"\n");
    let mut resolve = NAMES.map(|name| target(name, 443)).concat() + &target("plain", 80);
    resolve.push_str(&FIXED.map(|name| format!("\"{name}:443\" = \"127.0.0.1:{port}\"\n")).concat());
    if let Some(socket) = socket {
        resolve.push_str(&format!("\"socket.example.test:80\" = \"{socket}\"\n"));
    }
    format!(
        r#"
[egress.resolve]
{resolve}
[[egress.allow]]
hosts = ["plain.example.test", "socket.example.test", "localhost", "127.0.0.1", "169.254.169.254"]
[[provider]]
name = "api"
hosts = ["{HOST}"]
variables = ["API_KEY"]
scheme = {{ header = "Authorization", template = "Bearer {{}}" }}
[[provider]]
name = "other"
hosts = ["other.example.test"]
variables = ["OTHER_KEY"]
scheme = {{ header = "x-api-key" }}
[[provider]]
name = "key"
hosts = ["key.example.test"]
variables = ["API_KEY"]
scheme = {{ query = "key" }}
[[provider]]
name = "bot"
hosts = ["bot.example.test"]
variables = ["API_KEY"]
scheme = {{ path = "/bot{{}}/" }}
[[provider]]
name = "git"
hosts = ["git.example.test"]
variables = ["API_KEY"]
schemes = [{{ basic = "password" }}, {{ basic = "user" }}]
[[provider]]
name = "json"
hosts = ["json.example.test"]
variables = ["API_KEY"]
scheme = {{ json = "/auth/key" }}
[[provider]]
name = "form"
hosts = ["form.example.test"]
variables = ["API_KEY"]
schemes = [{{ header = "Authorization", template = "Bearer {{}}" }}, {{ form = "token" }}]
{extra}"#
    )
}
