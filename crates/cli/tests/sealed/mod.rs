//! A home with a configuration, and an upstream that its hosts lead to.

use cofferdam_testkit::upstream::{HttpVersion, Transport, Upstream, UpstreamOptions};
use cofferdam_testkit::{Cofferdam, Home, Outcome};

pub const COFFERDAM: &str = env!("CARGO_BIN_EXE_cofferdam");
/// The real credential.
pub const SECRET: &str = "sk-canary-7f3a9b2c4d5e6f70";
/// A host with a credential; `plain.example.test` is allowed without one.
pub const HOST: &str = "api.example.test";

const NAMES: [&str; 3] = [HOST, "plain.example.test", "typed.example.test"];

pub struct Bed {
    pub home: Home,
    pub upstream: Upstream,
}

impl Bed {
    pub fn new() -> Self {
        Self::with("")
    }

    /// `extra` is more of the configuration.
    pub fn with(extra: &str) -> Self {
        let names = NAMES.map(str::to_owned).to_vec();
        let transport = Transport::Tls(vec![HttpVersion::Http2, HttpVersion::Http1]);
        let upstream = Upstream::start(&UpstreamOptions { names, transport });
        let home = Home::outside_tmp();
        home.write("project/README", "a project\n");
        home.write("cofferdam/upstream.pem", upstream.ca_pem());
        home.write("cofferdam/config.toml", config(upstream.port(), extra));
        Self { home, upstream }
    }

    /// `cofferdam run` in the project, with the key in the environment.
    pub fn run(&self, options: &[&str], command: &[&str]) -> Cofferdam {
        Cofferdam::new(COFFERDAM, &self.home)
            .current_dir(&self.home.path().join("project"))
            .env("ACME_API_KEY", SECRET)
            .arg("run")
            .args(options)
            .arg("--")
            .args(command)
    }

    /// What a shell script prints inside.
    pub fn shell(&self, options: &[&str], script: &str) -> Outcome {
        self.run(options, &["/bin/sh", "-c", script]).run()
    }

    /// All lines of the record.
    pub fn record(&self) -> String {
        let mut files: Vec<_> = std::fs::read_dir(self.home.path().join("cofferdam/state/audit"))
            .expect("the record")
            .map(|entry| entry.expect("an entry").path())
            .filter(|path| path.extension().is_some_and(|end| end == "jsonl"))
            .collect();
        files.sort();
        files.iter().map(|path| std::fs::read_to_string(path).expect("a file of the record")).collect()
    }
}

fn config(port: u16, extra: &str) -> String {
    let resolve: String = NAMES
        .iter()
        .flat_map(|name| [443, 8443].map(|at| format!("\"{name}:{at}\" = \"127.0.0.1:{port}\"\n")))
        .collect();
    format!(
        r#"
[egress]
upstream_ca_files = ["upstream.pem"]
{extra}
[egress.resolve]
{resolve}
[[egress.allow]]
hosts = ["plain.example.test"]
[[provider]]
name = "acme"
hosts = ["{HOST}"]
variables = ["ACME_API_KEY"]
scheme = {{ header = "Authorization", template = "Bearer {{}}" }}
"#
    )
}
