//! Which addresses are answered for here, because a client in a sandbox would mint there.

use cofferdam_policy::host::Host;
use cofferdam_policy::provider::{Provider, Scheme};
use http::Uri;

use crate::scheme::google;
use crate::target::{Protocol, Target};

/// Where Google's clients look for the machine's own account: by name and by address.
const METADATA: [&str; 2] = ["metadata.google.internal", "169.254.169.254"];
const GITHUB: &str = "https://api.github.com/app/installations/";

/// All of a policy. There are few, and for most policies none.
#[derive(Default)]
pub(crate) struct Locals(Vec<Local>);

pub(crate) struct Local {
    protocol: Protocol,
    host: Host,
    port: u16,
    pub kind: Kind,
    /// The provider whose token is handed out, by its place in the policy.
    pub provider: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Kind {
    /// OAuth 2, at this path.
    TokenServer {
        path: String,
    },
    /// GitHub's, for installations of an app.
    Installations,
    GoogleMetadata,
}

impl Locals {
    pub fn of(providers: &[Provider]) -> Self {
        let mut locals = Vec::new();
        for (index, provider) in providers.iter().enumerate() {
            for scheme in provider.schemes.iter() {
                add(&mut locals, index, scheme);
            }
        }
        Self(locals)
    }

    /// Whether something of this host and port is answered for here.
    pub fn serve(&self, host: &Host, port: u16) -> bool {
        self.0.iter().any(|local| local.host == *host && local.port == port)
    }

    /// Whether something of this host is answered for here, so that its name must mean something inside.
    pub fn know(&self, host: &Host) -> bool {
        self.0.iter().any(|local| local.host == *host)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Who answers a request, if it is one of us. Several providers may be minted at one token server.
    pub fn at<'l>(&'l self, target: &'l Target, method: &http::Method, path: &'l str) -> Vec<&'l Local> {
        let get = *method == http::Method::GET;
        let asked = |local: &&Local| match &local.kind {
            Kind::TokenServer { path: own } => !get && path == own,
            Kind::Installations => !get && is_installation(path),
            Kind::GoogleMetadata => get,
        };
        let here = |local: &&Local| {
            local.host == *target.host() && local.port == target.port() && local.protocol == target.protocol()
        };
        self.0.iter().filter(here).filter(asked).collect()
    }
}

fn add(locals: &mut Vec<Local>, provider: usize, scheme: &Scheme) {
    let mut https = |url: &str, kind: &dyn Fn(&Uri) -> Kind| {
        let parsed = url.parse::<Uri>().ok();
        if let Some((uri, target)) = parsed.and_then(|uri| Some((uri.clone(), Target::of_https(&uri)?))) {
            let (host, port) = (target.host().clone(), target.port());
            locals.push(Local { protocol: Protocol::Https, host, port, kind: kind(&uri), provider });
        }
    };
    let token_server = |uri: &Uri| Kind::TokenServer { path: uri.path().to_owned() };
    match scheme {
        Scheme::OAuth2 { token_url, .. } => https(token_url, &token_server),
        Scheme::GithubApp => https(GITHUB, &|_| Kind::Installations),
        Scheme::GoogleServiceAccount { .. } => {
            https(&format!("https://{}{}", google::TOKEN_HOST, google::TOKEN_PATH), &token_server);
            // One machine has one account.
            if !locals.iter().any(|local| local.kind == Kind::GoogleMetadata) {
                let hosts = METADATA.iter().filter_map(|host| Host::parse(host).ok());
                let (protocol, port, kind) = (Protocol::Http, 80, Kind::GoogleMetadata);
                locals.extend(hosts.map(|host| Local { protocol, host, port, kind: kind.clone(), provider }));
            }
        }
        _ => {}
    }
}

/// `/app/installations/12/access_tokens`
fn is_installation(path: &str) -> bool {
    let id = path.strip_prefix("/app/installations/").and_then(|rest| rest.strip_suffix("/access_tokens"));
    id.is_some_and(|id| !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_alphanumeric()))
}
