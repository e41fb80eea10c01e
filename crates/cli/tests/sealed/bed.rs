//! A home with a configuration, and an upstream that its hosts lead to.

use std::net::{Ipv4Addr, TcpListener};

use cofferdam_testkit::upstream::{HttpVersion, Reply, Transport, Upstream, UpstreamOptions};
use cofferdam_testkit::{Cofferdam, Home, Outcome, record_in};

pub const COFFERDAM: &str = env!("CARGO_BIN_EXE_cofferdam");
/// The real credential.
pub const SECRET: &str = "sk-canary-7f3a9b2c4d5e6f70";
/// A host with a credential; `plain.example.test` is allowed without one.
pub const HOST: &str = "api.example.test";

/// A host whose requests are signed.
pub const SIGNED: &str = "bedrock-runtime.us-east-1.amazonaws.com";

const NAMES: [&str; 5] = [HOST, "plain.example.test", "typed.example.test", SIGNED, "oauth2.googleapis.com"];

/// Who serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Server {
    /// The launcher, or a process beside the session.
    Own,
    Daemon,
}

pub struct Bed {
    pub home: Home,
    pub upstream: Upstream,
    server: Server,
}

impl Bed {
    pub fn new() -> Self {
        Self::with("")
    }

    /// What holds with one who serves must hold with the other.
    pub fn each(test: impl Fn(&Self)) {
        for server in [Server::Own, Server::Daemon] {
            eprintln!("served by {server:?}");
            test(&Self::served_by(server, ""));
        }
    }

    /// With a daemon, it runs.
    pub fn served_by(server: Server, extra: &str) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        let listen = listener.local_addr().expect("an address");
        drop(listener);
        let mut bed = Self::with(&format!("listen = \"{listen}\"\n{extra}"));
        bed.server = server;
        if server == Server::Daemon {
            bed.egress("start").expect_status(0);
        }
        bed
    }

    /// A command of the daemon, with the key in the environment.
    pub fn egress(&self, word: &str) -> Outcome {
        self.call().arg("egress").arg(word).run()
    }

    /// The program in the project, with the key in the environment.
    pub fn call(&self) -> Cofferdam {
        Cofferdam::new(COFFERDAM, &self.home)
            .current_dir(&self.home.path().join("project"))
            .env("ACME_API_KEY", SECRET)
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
        Self { home, upstream, server: Server::Own }
    }

    /// `cofferdam run` in the project, with the key in the environment.
    pub fn run(&self, options: &[&str], command: &[&str]) -> Cofferdam {
        self.call().arg("run").args(options).arg("--").args(command)
    }

    /// What a shell script prints inside.
    pub fn shell(&self, options: &[&str], script: &str) -> Outcome {
        self.run(options, &["/bin/sh", "-c", script]).run()
    }

    /// All lines of the record.
    pub fn record(&self) -> String {
        record_in(&self.home.path().join("cofferdam/state/audit"))
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

impl Drop for Bed {
    fn drop(&mut self) {
        if self.server == Server::Daemon {
            self.egress("stop");
        }
    }
}

pub const ASK: &str = r#"curl -sS -H "Authorization: Bearer $ACME_API_KEY" https://api.example.test/v1"#;
/// Before a command: it has never heard of proxies.
pub const WITHOUT_PROXY: &str = "unset HTTP_PROXY HTTPS_PROXY ALL_PROXY http_proxy https_proxy all_proxy;";

pub fn fixed(body: &str) -> Reply {
    Reply::Fixed { status: 200, headers: vec![], body: body.as_bytes().to_vec() }
}
