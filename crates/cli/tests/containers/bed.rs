//! A daemon, an upstream that its hosts lead to, an engine, and an image with the machine's own clients.

use std::net::{Ipv4Addr, TcpListener};

use cofferdam_testkit::container::{Engine, ImageTree, Kind};
use cofferdam_testkit::upstream::{HttpVersion, Transport, Upstream, UpstreamOptions};
use cofferdam_testkit::{Cofferdam, Home, Outcome};

pub const BINARY: &str = env!("CARGO_BIN_EXE_cofferdam");
/// The real credential.
pub const SECRET: &str = "sk-canary-3b1f0c9d8e7a6b54";
pub const IMAGE: &str = "cofferdam-test/contained";

const NAMES: [&str; 2] = ["api.example.test", "plain.example.test"];

pub struct Bed {
    pub home: Home,
    pub upstream: Upstream,
    pub engine: Engine,
}

impl Bed {
    /// With a daemon that runs.
    pub fn started(kind: Kind) -> Self {
        let bed = Self::new(kind);
        bed.egress(&["start"]).expect_status(0);
        bed
    }

    pub fn new(kind: Kind) -> Self {
        let transport = Transport::Tls(vec![HttpVersion::Http2, HttpVersion::Http1]);
        let upstream =
            Upstream::start(&UpstreamOptions { names: NAMES.map(str::to_owned).to_vec(), transport });
        let home = Home::outside_tmp();
        home.write("cofferdam/upstream.pem", upstream.ca_pem());
        home.write("cofferdam/config.toml", config(upstream.port()));
        home.chmod("cofferdam", 0o700);
        let engine = Engine::start(kind);
        engine.import(&tree(), IMAGE, &["USER hermes"]);
        Self { home, upstream, engine }
    }

    pub fn egress(&self, words: &[&str]) -> Outcome {
        Cofferdam::new(BINARY, &self.home).env("ACME_API_KEY", SECRET).arg("egress").args(words).run()
    }

    /// `cofferdam docker exec`.
    pub fn docker_exec(&self, words: &[&str]) -> Outcome {
        self.docker_exec_call(words).run()
    }

    pub fn docker_exec_call(&self, words: &[&str]) -> Cofferdam {
        self.call("exec").args(words)
    }

    /// `cofferdam docker compose-override`, of a project as compose resolves it.
    pub fn compose(&self, project: &str) -> Outcome {
        self.call("compose-override").arg("-").input(project).run()
    }

    /// `cofferdam docker COMMAND`, for the engine of this bed.
    pub fn docker(&self, command: &str, words: &[&str]) -> Cofferdam {
        let limits: &[&str] = match self.engine.kind() {
            Kind::Docker => &[],
            _ => &["--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1024:1024"],
        };
        self.call(command).args(limits).args(words)
    }

    fn call(&self, command: &str) -> Cofferdam {
        self.call_by(Cofferdam::new(BINARY, &self.home), command)
    }

    /// The same in the network namespace that the engine of the bed has for itself.
    pub fn on_bridge(&self, command: &str, words: &[&str]) -> Cofferdam {
        let network = format!("--net=/proc/{}/ns/net", self.engine.daemon_pid().expect("a daemon"));
        self.call_by(Cofferdam::new("nsenter", &self.home).args([&network, BINARY]), command).args(words)
    }

    fn call_by(&self, call: Cofferdam, command: &str) -> Cofferdam {
        let mut own = self.engine.words().into_iter();
        let name = own.next().expect("the engine's name");
        call.env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
            .env("ACME_API_KEY", SECRET)
            .args(["docker", command, "--engine", &name])
            .args(own.map(|word| format!("--engine-option={word}")))
    }

    /// What a shell prints in a container that is gone afterwards, with the machine's programs to hand.
    pub fn shell(&self, script: &str) -> Outcome {
        self.docker("run", &["--rm", "-v", "/usr:/usr:ro", IMAGE, "sh", "-c", script]).run()
    }
}

impl Drop for Bed {
    fn drop(&mut self) {
        self.egress(&["stop"]);
    }
}

/// The machine's own programs are mounted at /usr; their libraries are found where they look for them.
fn tree() -> ImageTree {
    let tree = ImageTree::new();
    for (name, to) in [("lib", "usr/lib"), ("lib64", "usr/lib64"), ("sbin", "usr/sbin")] {
        tree.link(name, to);
    }
    tree
}

fn config(port: u16) -> String {
    let resolve: String =
        NAMES.iter().map(|name| format!("\"{name}:443\" = \"127.0.0.1:{port}\"\n")).collect();
    let listen = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    let listen = listen.local_addr().expect("an address").port();
    format!(
        r#"
[egress]
listen = "127.0.0.1:{listen}"
upstream_ca_files = ["upstream.pem"]
[egress.resolve]
{resolve}
[[egress.allow]]
hosts = ["plain.example.test"]
[[provider]]
name = "acme"
hosts = ["api.example.test"]
variables = ["ACME_API_KEY"]
scheme = {{ header = "Authorization", template = "Bearer {{}}" }}
"#
    )
}
