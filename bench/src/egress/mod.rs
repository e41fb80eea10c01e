//! What the proxy costs, next to no proxy, to a tunnel that looks at nothing, and to what a user would take instead:
//! one upstream, one client, one cipher, no resumption.
//!
//! Client, upstream and proxy share the machine, so the processor time of the proxy alone is the figure that says
//! most. Contenders take turns of equal time instead of equal work, because some of them are a hundred times slower.

mod certificates;
mod client;
mod growth;
mod hudsucker;
mod opaque;
mod ours;
mod programs;
pub mod role;
mod rows;
mod sealed;
mod upstream;

use std::path::Path;
use std::sync::Arc;

use cofferdam_bench::harness::Bench;
use rustls::ClientConfig;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use tempfile::TempDir;
use tokio::runtime::Runtime;

use client::Way;
use role::{Running, Wire};

pub use growth::growth;
pub use rows::{bodies, latency, memory, requests, streams, tunnels};
pub use sealed::{first_request, many_sandboxes};

/// Everything that is measured against each other, started.
struct Field {
    runtime: Runtime,
    contenders: Vec<Contender>,
    _upstream: Running,
    _directory: TempDir,
}

/// One way to the upstream. The first is the direct one.
struct Contender {
    name: &'static str,
    way: Way,
    h2: Arc<ClientConfig>,
    process: Option<Running>,
}

type Start = fn(&Bench, &Path, (&str, Wire)) -> Result<Running, String>;

const STARTS: [(&str, Start); 5] = [
    ("cofferdam", |_, at, (port, _)| Ok(role::start("cofferdam", at, &[port]))),
    ("opaque tunnel", |_, at, _| Ok(role::start("opaque", at, &[]))),
    ("hudsucker", |_, at, (_, wire)| Ok(role::start("hudsucker", at, &[wire.name()]))),
    ("squid", |bench, at, _| programs::squid(bench, at)),
    ("mitmproxy", |bench, at, _| programs::mitmproxy(bench, at)),
];

/// Who works on the proxy measures it over and over, and the peers now and then: `COFFERDAM_BENCH_PEERS` names
/// those that are wanted beside it, with commas between.
fn is_wanted(name: &str) -> bool {
    match std::env::var("COFFERDAM_BENCH_PEERS") {
        Ok(peers) => name == "cofferdam" || peers.split(',').any(|peer| peer == name),
        Err(_) => true,
    }
}

impl Field {
    fn new(bench: &mut Bench, wire: Wire) -> Self {
        let directory = tempfile::tempdir().expect("a directory for keys");
        let at = directory.path();
        certificates::create(at);
        let upstream = role::start("upstream", at, &[]);
        let port = upstream.address.port().to_string();
        let mut processes = vec![("no proxy", None)];
        for (name, start) in STARTS {
            if !is_wanted(name) {
                continue;
            }
            match start(bench, at, (&port, wire)) {
                Ok(running) => processes.push((name, Some(running))),
                Err(why) => bench.skip(name, &why),
            }
        }
        let trusted = [certificates::authority(at), own_authority(at)];
        let tls = |protocol: &[u8]| certificates::client(&trusted, protocol);
        let (h1, h2) = (tls(b"http/1.1"), tls(b"h2"));
        let contenders = processes.into_iter().map(|(name, process)| {
            let token = process.as_ref().filter(|running| running.said.len() > 1);
            let token = token.map_or("sk-ant-0123456789abcdef0123456789abcdef", |running| &running.said);
            let way = Way {
                proxy: process.as_ref().map(|running| running.address),
                upstream: upstream.address,
                tls: h1.clone(),
                token: token.to_owned(),
            };
            Contender { name, way, h2: h2.clone(), process }
        });
        let contenders = contenders.collect();
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
        Self { runtime: runtime.expect("a runtime"), contenders, _upstream: upstream, _directory: directory }
    }
}

fn own_authority(directory: &Path) -> CertificateDer<'static> {
    CertificateDer::from_pem_file(directory.join("ours/ca.crt")).expect("the proxy's authority")
}
