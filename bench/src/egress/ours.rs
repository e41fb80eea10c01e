//! Our proxy with everything on: rules, a token that is swapped, redaction, the record.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use cofferdam_audit::{Recorder, Settings};
use cofferdam_egress::{Authority, Client, Life, LivePolicy, Parts, Policy, Proxy};
use cofferdam_policy::document::{Config, SecretStores};
use cofferdam_policy::environment::ChildEnvironment;
use cofferdam_policy::layers::Layered;
use cofferdam_secrets::source::HostVariables;
use cofferdam_secrets::{EnvironmentFallback, Loader, Store};
use tokio::net::TcpListener;
use zeroize::Zeroizing;

use super::certificates::{self, COLD, HOST};

/// `rest` is the port of the upstream.
pub async fn serve(listener: TcpListener, directory: &Path, rest: &[String], ready: impl FnOnce(&str)) {
    let port = rest.first().expect("the upstream's port");
    let config = Config::parse("config.toml", &configuration(port)).expect("a configuration");
    let providers = config.providers.clone();
    let authority = Authority::load_or_create(&directory.join("ours")).expect("an authority");
    let recorder = Recorder::open(&directory.join("audit"), Settings::default()).expect("a record");
    let proxy = Proxy::new(Parts {
        authority: Arc::new(authority),
        secrets: Store::new(loader(), providers.clone()),
        recorder: Arc::new(recorder),
        upstream_authorities: vec![certificates::authority(directory)],
    })
    .expect("a proxy");
    let policy = Policy::new(&Layered::new(config), providers.clone());
    let client = Client::new(Arc::new(LivePolicy::new(policy)));
    let token = proxy.tokens().mint(client.id, &providers[0], Life::Sandbox).expect("randomness");
    ready(token.expose());
    let _ = proxy.serve(listener.into_std().expect("a listener"), client).await;
}

fn loader() -> Loader {
    let value = Zeroizing::new(b"sk-ant-api03-0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKL".to_vec());
    Loader {
        host: HostVariables::given([("API_KEY".to_owned(), value)]),
        command_environment: ChildEnvironment::empty(),
        base: PathBuf::from("/nowhere"),
        home: None,
        fallback: EnvironmentFallback::Refuse,
        stores: SecretStores::default(),
    }
}

fn configuration(port: &str) -> String {
    format!(
        r#"
[egress.resolve]
"{HOST}:{port}" = "127.0.0.1:{port}"
[egress.limits]
requests_per_minute = 1000000000
concurrent_requests = 1000000
connections = 1000000
request_body = "8GiB"
[[egress.allow]]
hosts = ["github.com", "*.githubusercontent.com", "pypi.org", "files.pythonhosted.org"]
[[egress.allow]]
hosts = ["*.{COLD}"]
ports = [{port}]
[[provider]]
name = "api"
hosts = ["{HOST}"]
ports = [{port}]
variables = ["API_KEY"]
scheme = {{ header = "Authorization", template = "Bearer {{}}" }}
"#
    )
}
