//! The variables that lead every runtime to the proxy and make all of them trust the same one authority.
//!
//! One table for sandboxes and containers. Some runtimes add the named file to roots of their own (Node, Deno); they
//! get the switch that makes them use it alone, so that no runtime trusts what another does not.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use super::request::{BadName, Fixed, Wish};

/// Where the proxy and the authority are, as the child sees them.
#[derive(Debug, Clone, Copy)]
pub struct Wiring<'a> {
    /// `host:port` of the proxy.
    pub proxy: &'a str,
    /// A file with the one authority in PEM.
    pub bundle: &'a str,
    /// The same as a Java key store.
    pub java_store: &'a str,
}

/// The password that Java's own store has, which protects nothing and is expected everywhere.
pub const JAVA_STORE_PASSWORD: &str = "changeit";

/// What is the sandbox's own is not asked of the proxy.
const DIRECT: &str = "localhost,127.0.0.1,::1";

const PROXY: &[&str] = &["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"];
const NO_PROXY: &[&str] = &["NO_PROXY", "no_proxy"];

/// Everything that takes a file with authorities.
const BUNDLE: &[&str] = &[
    "AWS_CA_BUNDLE",
    "CARGO_HTTP_CAINFO",
    "CLOUDSDK_CORE_CUSTOM_CA_CERTS_FILE",
    "CODEX_CA_CERTIFICATE",
    "CURL_CA_BUNDLE",
    "DENO_CERT",
    "GIT_SSL_CAINFO",
    "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH",
    "HEX_CACERTS_PATH",
    "HTTPLIB2_CA_CERTS",
    "NIX_SSL_CERT_FILE",
    "NODE_EXTRA_CA_CERTS",
    "NPM_CONFIG_CAFILE",
    "PIP_CERT",
    "REQUESTS_CA_BUNDLE",
    "SSL_CERT_FILE",
    "npm_config_cafile",
];

const SWITCHES: &[(&str, &str)] = &[
    // What the operating system trusts is what the bundle holds.
    ("DENO_TLS_CA_STORE", "system"),
    // Node's own `fetch` asks the variables only then.
    ("NODE_USE_ENV_PROXY", "1"),
    ("UV_SYSTEM_CERTS", "true"),
    ("UV_NATIVE_TLS", "true"),
];

/// Node's bundled roots are not asked, the file of OpenSSL is.
const NODE_OPTIONS: &[&str] = &["--use-openssl-ca"];

/// Options with which a user's own value would undo the wiring; it is refused as a whole then.
const UNDOING_OPTIONS: &[(&str, &[&str])] = &[
    ("NODE_OPTIONS", &["--use-bundled-ca", "--use-system-ca", "--tls-cipher-list"]),
    ("JAVA_TOOL_OPTIONS", &["javax.net.ssl.trustStore", "https.proxy", "http.proxy", "socksProxy"]),
];

impl Wiring<'_> {
    /// The variables to set. Options of the user's that are appended to come from `own`.
    pub fn variables<'o>(&self, own: impl Fn(&str) -> Option<&'o OsStr>) -> Result<Vec<Fixed>, BadName> {
        let url = format!("http://{}", self.proxy);
        let all = |names: &'static [&str], value: &str| {
            names.iter().map(|name| (*name, OsString::from(value))).collect::<Vec<_>>()
        };
        let mut variables = all(PROXY, &url);
        variables.extend(all(NO_PROXY, DIRECT));
        variables.extend(all(BUNDLE, self.bundle));
        variables.extend(SWITCHES.iter().map(|(name, value)| (*name, (*value).into())));
        let node: Vec<_> = NODE_OPTIONS.iter().map(|option| (*option).to_owned()).collect();
        for (name, options) in [("NODE_OPTIONS", node), ("JAVA_TOOL_OPTIONS", self.java_options())] {
            variables.push((name, appended(own(name), &options)));
        }
        variables.into_iter().map(|(name, value)| Fixed::new(name, value)).collect()
    }

    fn java_options(&self) -> Vec<String> {
        let (host, port) = self.proxy.rsplit_once(':').unwrap_or((self.proxy, "80"));
        let store = self.java_store;
        let mut options = vec![
            format!("-Djavax.net.ssl.trustStore={store}"),
            "-Djavax.net.ssl.trustStoreType=JKS".to_owned(),
            format!("-Djavax.net.ssl.trustStorePassword={JAVA_STORE_PASSWORD}"),
        ];
        for scheme in ["http", "https"] {
            options.push(format!("-D{scheme}.proxyHost={host}"));
            options.push(format!("-D{scheme}.proxyPort={port}"));
        }
        options.push("-Dhttp.nonProxyHosts=localhost|127.*|[::1]".to_owned());
        options
    }
}

/// The user's options with ours behind them, each once.
fn appended(own: Option<&OsStr>, ours: &[String]) -> OsString {
    let mut value = own.unwrap_or_default().to_owned();
    let has = |value: &OsString, option: &str| {
        value.as_bytes().split(u8::is_ascii_whitespace).any(|word| word == option.as_bytes())
    };
    for option in ours {
        if !has(&value, option) {
            if !value.is_empty() {
                value.push(" ");
            }
            value.push(option);
        }
    }
    value
}

/// Whether a wish of the user's would lead a runtime past the proxy, or make it trust somebody else.
pub fn undoes(wish: &Wish, host: Option<&OsStr>) -> bool {
    let Some(name) = wish.name().to_str() else { return false };
    if PROXY.iter().chain(NO_PROXY).any(|wired| wired.eq_ignore_ascii_case(name)) {
        return true;
    }
    let switches = SWITCHES.iter().map(|(name, _)| name);
    if BUNDLE.iter().chain(switches).any(|wired| *wired == name) || name == "SSL_CERT_DIR" {
        return true;
    }
    let value = wish.value().or(host).unwrap_or_default().as_encoded_bytes();
    let holds = |option: &&str| value.windows(option.len()).any(|part| part == option.as_bytes());
    UNDOING_OPTIONS.iter().any(|(wired, options)| *wired == name && options.iter().any(holds))
}

#[cfg(test)]
mod tests {
    use super::super::request::Origin;
    use super::*;

    const WIRING: Wiring<'_> = Wiring { proxy: "127.0.0.1:919", bundle: "/ca.pem", java_store: "/ca.jks" };

    fn value(name: &str, own: Option<&str>) -> String {
        let variables = WIRING.variables(|_| own.map(OsStr::new)).unwrap();
        let found = variables.iter().find(|fixed| fixed.name() == name).unwrap();
        found.value().to_str().unwrap().to_owned()
    }

    #[test]
    fn req_e17_every_runtime_is_led_to_the_proxy_and_trusts_one_file() {
        for name in ["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"] {
            assert_eq!(value(name, None), "http://127.0.0.1:919");
        }
        for name in
            ["SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS", "PIP_CERT"]
        {
            assert_eq!(value(name, None), "/ca.pem");
        }
        assert_eq!(value("no_proxy", None), value("NO_PROXY", None));
        assert!(value("JAVA_TOOL_OPTIONS", None).contains("-Djavax.net.ssl.trustStore=/ca.jks"));
        assert!(value("JAVA_TOOL_OPTIONS", None).contains("-Dhttps.proxyPort=919"));
    }

    #[test]
    fn req_e17_options_are_appended_to_and_never_doubled() {
        assert_eq!(value("NODE_OPTIONS", None), "--use-openssl-ca");
        assert_eq!(
            value("NODE_OPTIONS", Some("--max-old-space-size=4096")),
            "--max-old-space-size=4096 --use-openssl-ca"
        );
        let twice = value("NODE_OPTIONS", Some("--use-openssl-ca --inspect"));
        assert_eq!(twice, "--use-openssl-ca --inspect");
        let java = value("JAVA_TOOL_OPTIONS", None);
        assert_eq!(value("JAVA_TOOL_OPTIONS", Some(&java)), java);
    }

    #[test]
    fn req_e18_what_would_undo_the_wiring_is_known() {
        let undone =
            |typed: &str| undoes(&Wish::parse(OsStr::new(typed), Origin::CommandLine).unwrap(), None);
        for typed in [
            "HTTPS_PROXY=http://elsewhere",
            "https_Proxy",
            "SSL_CERT_FILE=/x",
            "NO_PROXY=*",
            "NODE_OPTIONS=--use-bundled-ca",
        ] {
            assert!(undone(typed), "{typed}");
        }
        for typed in ["EDITOR=vi", "NODE_OPTIONS=--inspect", "JAVA_TOOL_OPTIONS=-Xmx1g"] {
            assert!(!undone(typed), "{typed}");
        }
        let passed = Wish::parse(OsStr::new("NODE_OPTIONS"), Origin::CommandLine).unwrap();
        assert!(undoes(&passed, Some(OsStr::new("--use-system-ca"))));
    }
}
