//! What people really run, unchanged: each gets its answer from an upstream that speaks the real protocol, and that one
//! gets the real credential.

mod models;
mod programs;
mod runtimes;
mod tools;

use std::path::PathBuf;

use cofferdam_testkit::upstream::{HttpVersion, Reply, Transport, Upstream, UpstreamOptions};
use cofferdam_testkit::{Cofferdam, Home, Outcome, clients};

use crate::bed::COFFERDAM;

/// A home whose configuration leads the hosts of the world to one upstream.
struct World {
    home: Home,
    upstream: Upstream,
    variables: &'static [(&'static str, &'static str)],
}

impl World {
    /// With these hosts, of which the first `allowed` are allowed without a credential, and keys in the environment.
    fn new(hosts: &[&str], allowed: usize, variables: &'static [(&'static str, &'static str)]) -> Self {
        let names = hosts.iter().map(|host| (*host).to_owned()).collect();
        let transport = Transport::Tls(vec![HttpVersion::Http2, HttpVersion::Http1]);
        let upstream = Upstream::start(&UpstreamOptions { names, transport });
        let port = upstream.port();
        let resolve: String =
            hosts.iter().map(|host| format!("\"{host}:443\" = \"127.0.0.1:{port}\"\n")).collect();
        let allow = match &hosts[..allowed] {
            [] => String::new(),
            allowed => format!("[[egress.allow]]\nhosts = {allowed:?}\n"),
        };
        let home = Home::outside_tmp();
        home.write("project/README", "a project\n");
        home.write("cofferdam/upstream.pem", upstream.ca_pem());
        let config =
            format!("[egress]\nupstream_ca_files = [\"upstream.pem\"]\n[egress.resolve]\n{resolve}{allow}");
        home.write("cofferdam/config.toml", config);
        Self { home, upstream, variables }
    }

    fn project(&self, relative: &str) -> PathBuf {
        self.home.path().join("project").join(relative)
    }

    fn answer(&self, path: &str, content_type: &str, body: impl Into<Vec<u8>>) {
        let headers = vec![("content-type".to_owned(), content_type.to_owned())];
        self.upstream.route(path, Reply::Fixed { status: 200, headers, body: body.into() });
    }

    fn call(&self, options: &[&str]) -> Cofferdam {
        let call =
            Cofferdam::new(COFFERDAM, &self.home).current_dir(&self.project("")).arg("run").args(options);
        self.variables.iter().fold(call, |call, (name, value)| call.env(name, value))
    }

    /// What a shell script prints; it must succeed.
    #[track_caller]
    fn shell(&self, options: &[&str], script: &str) -> String {
        self.ended(&self.call(options).args(["--", "/bin/sh", "-ec", script]).run())
    }

    #[track_caller]
    fn python(&self, options: &[&str], program: &str) -> String {
        self.home.write("project/client.py", program);
        let packages = clients::installed("python");
        let path = format!("PYTHONPATH={}", packages.display());
        let call = self.call(options).arg("--read").arg(&packages).args(["--env", &path]);
        self.ended(&call.args(["--", "/usr/bin/python3", "-B", "client.py"]).run())
    }

    /// An ES module.
    #[track_caller]
    fn node(&self, program: &str) -> String {
        let packages = clients::installed("node");
        let link = self.project("node_modules");
        if !link.exists() {
            std::os::unix::fs::symlink(packages.join("node_modules"), link).expect("a link");
        }
        self.home.write("project/client.mjs", program);
        let call = self.call(&["--read"]).arg(&packages);
        self.ended(&call.args(["--", "node", "client.mjs"]).run())
    }

    #[track_caller]
    fn ended(&self, outcome: &Outcome) -> String {
        assert_eq!(outcome.status(), 0, "{}\n{}", outcome.stdout(), outcome.stderr());
        outcome.stdout()
    }

    /// The header of every request that arrived at a path.
    fn headers(&self, end: &str, name: &str) -> Vec<String> {
        let at = |target: &str| target.split('?').next().is_some_and(|path| path.ends_with(end));
        let requests = self.upstream.requests();
        let values =
            requests.iter().filter(|request| at(&request.target)).filter_map(|request| request.header(name));
        values.map(|value| String::from_utf8_lossy(value).into_owned()).collect()
    }
}
