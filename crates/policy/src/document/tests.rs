use std::net::IpAddr;
use std::path::Path;
use std::time::Duration;

use super::*;
use crate::address::{CheckedAddress, DenyList};
use crate::host::Host;
use crate::provider::{BasicPart, Grant, Scheme, SecretSource};

const COMPLETE: &str = r#"
[egress]
enabled = true
listen = "127.0.0.1:9191"
enforce = true
fail_on_uncovered_providers = true
allow_env_fallback = false
foreign_credentials = "refuse"
deny_cidrs = ["10.0.0.0/8"]
upstream_ca_files = ["corp-root.pem"]
upstream_proxy = "http://proxy.corp.example:3128"

[egress.resolve]
"API.openai.com.:443" = "127.0.0.1:8443"

[egress.limits]
requests_per_minute = 600
concurrent_requests = 64
request_body = "64MiB"

[[egress.allow]]
hosts = ["github.com", "*.githubusercontent.com"]
ports = [443]
methods = ["GET", "HEAD"]
paths = ["/acme/**"]

[[provider]]
name = "acme"
hosts = ["api.acme.example"]
variables = ["ACME_API_KEY"]
scheme = { header = "Authorization", template = "Bearer {}" }
secret = { env = "ACME_API_KEY" }

[sandbox]
profile = "workspace"
isolation = "required"
hide = ["~/notes"]
[sandbox.env]
pass = ["EDITOR"]
[sandbox.limits]
memory = "4GiB"
processes = 512
wall = "1h"

[approval]
mode = "manual"
timeout = "5m"
cron = "deny"
headless = "deny"

[audit]
on_write_failure = "refuse"
"#;

fn config(text: &str) -> Config {
    Config::parse("config.toml", text).unwrap_or_else(|mistakes| panic!("{mistakes:#?}"))
}

/// The mistakes of a document as `line: sentence | hint`.
fn mistakes(text: &str) -> Vec<String> {
    let found = Config::parse("config.toml", text).expect_err("a document with mistakes");
    found.iter().map(shown).collect()
}

fn shown(mistake: &Mistake) -> String {
    format!("{}: {} | {}", mistake.line, mistake.sentence, mistake.hint.as_deref().unwrap_or("-"))
}

/// One mistake, and a part of how it is shown.
#[track_caller]
fn one_mistake(text: &str, part: &str) {
    let found = mistakes(text);
    assert_eq!(found.len(), 1, "{found:#?}");
    assert!(found[0].contains(part), "{found:#?} without {part}");
}

#[test]
fn the_complete_document_is_read() {
    let config = config(COMPLETE);
    assert_eq!(config.egress.upstream_proxy, Some((Host::parse("proxy.corp.example").unwrap(), 3128)));
    assert_eq!(config.egress.limits, EgressLimits::STANDARD);
    assert_eq!(config.egress.allow[0].ports, [443]);
    assert_eq!(config.sandbox.limits.memory, Some(4 << 30));
    assert_eq!(config.sandbox.limits.wall, Some(Duration::from_secs(3600)));
    assert_eq!(config.sandbox.pass, ["EDITOR"]);
    assert_eq!(config.providers[0].secret, Some(SecretSource::Env { name: "ACME_API_KEY".into() }));
    let dialled = config.egress.resolve.get(&Host::parse("api.openai.com").unwrap(), 443);
    let loopback = CheckedAddress::written_by_the_user(IpAddr::from([127, 0, 0, 1]));
    assert_eq!(dialled, Some((loopback, 8443)));
    assert_eq!(config.egress.resolve.get(&Host::parse("api.openai.com").unwrap(), 80), None);
}

#[test]
fn an_empty_document_has_the_defaults() {
    let config = config("");
    assert_eq!(config, Config::default());
    assert!(config.egress.enabled && config.egress.enforce && config.egress.fail_on_uncovered_providers);
    assert!(!config.egress.allow_env_fallback);
    assert_eq!(config.approval.cron, Unattended::Deny);
}

#[test]
fn req_e03_an_omitted_deny_list_is_the_built_in_one_and_an_empty_one_is_off() {
    assert_eq!(config("[egress]").egress.deny, DenyList::BuiltIn);
    assert_eq!(config("[egress]\ndeny_cidrs = []").egress.deny, DenyList::Off);
    assert!(matches!(config("[egress]\ndeny_cidrs = [\"::1\"]").egress.deny, DenyList::BuiltInAnd(_)));
}

#[test]
fn req_e27_all_mistakes_are_reported_each_at_its_line() {
    let found = mistakes(
        "[egress]\nenabeld = true\nlisten = \"127.0.0.1:0\"\n\n[egress.limits]\nrequest_body = 64\n\n\
         [[egress.allow]]\nhosts = [\"https://github.com\", \"ok.example\"]\nports = [0, 443, 70000]\n",
    );
    let lines: Vec<&str> = found.iter().map(|line| line.split(':').next().unwrap()).collect();
    assert_eq!(lines, ["2", "3", "6", "9", "10", "10"], "{found:#?}");
    assert!(found[0].contains("did you mean \u{201c}enabled\u{201d}?"), "{}", found[0]);
    assert!(found[1].contains("port 0"), "{}", found[1]);
    assert!(found[2].contains("64MiB"), "{}", found[2]);
    assert!(found[5].contains("70000"), "{}", found[5]);
}

#[test]
fn req_e27_ports_out_of_range_are_refused_everywhere() {
    one_mistake("[egress]\nlisten = \"127.0.0.1:65536\"", "is not an address with a port");
    one_mistake("[egress]\nupstream_proxy = \"http://a.example:0\"", "port");
    one_mistake("[egress.resolve]\n\"a.example:0\" = \"127.0.0.1:1\"", "port");
    one_mistake("[egress.resolve]\n\"a.example:1\" = \"127.0.0.1:0\"", "has port 0");
    one_mistake("[[egress.allow]]\nhosts = [\"a.example:0\"]", "port");
    one_mistake("[[egress.allow]]\nhosts = [\"a.example\"]\nports = [-1]", "is not a port");
    one_mistake("[[egress.allow]]\nhosts = [\"a.example\"]\nports = [443.0]", "port numbers");
}

#[test]
fn renamed_keys_and_values_name_the_new_one() {
    one_mistake("[egress]\nallow_hosts = [\"a\"]", "[[egress.allow]]");
    one_mistake("[egress]\nallowlist = []", "[[egress.allow]]");
    one_mistake("[egress]\ndeny_ips = []", "deny_cidrs");
    one_mistake("[approval]\nmode = \"yolo\"", "it is called \"off\"");
    one_mistake("[sandbox.limits]\npids = 3", "processes");
    one_mistake("[[providers]]\nname = \"x\"", "[[provider]]");
    one_mistake("[sandbox]\nisolation = \"best_effort\"", "best-effort");
}

#[test]
fn wrong_types_say_what_is_wanted() {
    one_mistake("egress = 1", "must be a table, not a number");
    one_mistake("[egress]\nenabled = \"yes\"", "must be true or false, not a text");
    one_mistake("[egress]\nallow = \"a\"", "a list of tables");
    one_mistake("[egress.allow]\nhosts = [\"a\"]", "[[egress.allow]]");
    one_mistake("[[egress.allow]]\nhosts = \"a\"", "a list of texts");
    one_mistake("[approval]\ntimeout = 300", "such as \"5m\"");
    one_mistake("[approval]\ntimeout = \"300\"", "has no unit");
    one_mistake("[sandbox.limits]\nprocesses = \"512\"", "a whole number without quotes");
    one_mistake("[sandbox.limits]\nprocesses = 0", "from 1 to");
}

#[test]
fn what_a_rule_cannot_mean_is_refused() {
    one_mistake("[[egress.allow]]\nports = [443]", "must name at least one host");
    one_mistake("[[egress.allow]]\nhosts = []", "must name at least one host");
    one_mistake("[[egress.allow]]\nhosts = [\"*\"]", "means every host");
    one_mistake("[[egress.allow]]\nhosts = [\"a\"]\nmethods = []", "allow nothing");
    one_mistake("[[egress.allow]]\nhosts = [\"a\"]\nmethods = [\"get\"]", "write \u{201c}GET\u{201d}");
    one_mistake("[[egress.allow]]\nhosts = [\"a\"]\npaths = [\"acme\"]", "begin with a slash");
    one_mistake("[[egress.allow]]\nhosts = [\"a\"]\npaths = [\"/a/../b\"]", "segment");
    one_mistake("[[egress.allow]]\nhosts = [\"a:1\"]\nports = [2]", "given twice");
    one_mistake("[egress]\ndeny_cidrs = [\"10.0.0.0/40\"]", "prefix length");
    one_mistake("[egress]\nupstream_proxy = \"socks5://a:1\"", "http://");
    one_mistake("[sandbox.env]\npass = [\"AWS_*\"]", "there are no patterns");
    one_mistake("[sandbox]\nhide = [\"~root/x\"]", "another user");
    one_mistake("[egress.resolve]\n\"a:1\" = \"1.2.3.4:1\"\n\"A:1\" = \"1.2.3.4:2\"", "twice");
}

#[test]
fn a_syntax_error_is_reported_alone_with_its_line() {
    let found = mistakes("[egress]\nenabeld = true\nlisten = 127.0.0.1\n");
    assert!(found.iter().all(|line| line.starts_with("3: ")), "{found:#?}");
}

fn provider(rest: &str) -> String {
    format!("[[provider]]\nname = \"x\"\nhosts = [\"x.example\"]\nvariables = [\"X_KEY\"]\n{rest}")
}

#[test]
fn every_scheme_is_read() {
    let schemes = "schemes = [{ header = \"x-api-key\" }, { query = \"key\" }, { basic = \"password\" }, \
        { path = \"/bot{}/\" }, { json = \"/auth/token\" }, { form = \"token\" }, { cookie = \"sid\" }]";
    let read = config(&provider(schemes)).providers.remove(0).schemes;
    assert_eq!(read.len(), 7);
    assert_eq!(read[0], Scheme::Header { name: "x-api-key".into(), template: "{}".into() });
    assert_eq!(read[2], Scheme::Basic { part: BasicPart::Password });
    let alone = |text: &str| {
        let scheme = format!("scheme = {{ {text} }}");
        config(&provider(&scheme)).providers.remove(0).schemes.first().cloned()
    };
    assert_eq!(alone("sigv4 = {}"), Some(Scheme::SigV4));
    assert_eq!(alone("github_app = {}"), Some(Scheme::GithubApp));
    let google = Scheme::GoogleServiceAccount { scope: "s".into() };
    assert_eq!(alone("google_service_account = { scope = \"s\" }"), Some(google));
    let text = "oauth2 = { token_url = \"https://a.example/t\", grant = \"client-credentials\" }";
    let oauth2 = Scheme::OAuth2 { token_url: "https://a.example/t".into(), grant: Grant::ClientCredentials };
    assert_eq!(alone(text), Some(oauth2));
}

#[test]
fn every_source_is_read() {
    let source = |text: &str| {
        let mut providers =
            config(&provider(&format!("scheme = {{ query = \"k\" }}\nsecret = {text}"))).providers;
        providers.remove(0).secret
    };
    let dotenv = SecretSource::Dotenv { file: "a.env".into(), key: "K".into() };
    assert_eq!(source("{ dotenv = \"a.env\", key = \"K\" }"), Some(dotenv));
    assert_eq!(source("{ file = \"a\" }"), Some(SecretSource::File { file: "a".into(), key: None }));
    let command = SecretSource::Command {
        argv: vec!["op".into(), "read".into()].into(),
        ttl: Duration::from_secs(60),
        timeout: SecretSource::TIMEOUT,
    };
    assert_eq!(source("{ command = [\"op\", \"read\"], ttl = \"1m\" }"), Some(command));
}

#[test]
fn wrong_providers_are_refused() {
    let scheme = "scheme = { query = \"k\" }\n";
    one_mistake(&provider(""), "has no scheme");
    one_mistake(&provider("scheme = { headre = \"x\" }"), "one place");
    one_mistake(&provider("scheme = { header = \"x\", query = \"y\" }"), "one place");
    one_mistake(&provider("scheme = { header = \"x\", template = \"Bearer\" }"), "{} exactly once");
    one_mistake(&provider("scheme = { header = \"x y\" }"), "not such a name");
    one_mistake(&provider("scheme = { path = \"bot{}\" }"), "slash");
    one_mistake(&provider("scheme = { json = \"token\" }"), "JSON pointer");
    one_mistake(&provider("schemes = [{ sigv4 = {} }, { query = \"k\" }]"), "the only one");
    one_mistake(
        &provider("scheme = { oauth2 = { token_url = \"http://a\", grant = \"refresh-token\" } }"),
        "https",
    );
    one_mistake(&provider(&format!("{scheme}checked = \"x 1\"")), "not a key here");
    one_mistake(&provider(&format!("{scheme}secret = {{ env = \"A\", file = \"b\" }}")), "one source");
    one_mistake(&provider(&format!("{scheme}token = {{ length = 31, alphabet = \"hex\" }}")), "at least 32");
    one_mistake(&provider(&format!("{scheme}ports = [0]")), "is not a port");
    one_mistake(&provider(&format!("{scheme}kind = \"llm\"")), "write one of");
    let twice = format!("{}{}", provider(scheme), provider(scheme).replace("x.example", "y.example"));
    one_mistake(&twice, "two providers called");
}

#[test]
fn two_providers_at_one_place_of_one_host_are_refused() {
    let other = |rest: &str| provider(rest).replace("\"x\"", "\"y\"");
    let bearer = "scheme = { header = \"Authorization\", template = \"Bearer {}\" }\n";
    one_mistake(&format!("{}{}", provider(bearer), other("scheme = { basic = \"user\" }\n")), "same place");
    one_mistake(&format!("\n\n{}{}", provider(bearer), other(bearer)), "(line 5)");
    let below = other(bearer).replace("x.example", "*.example");
    one_mistake(&format!("{}{below}", provider(bearer)), "same place");
    config(&format!("{}{}", provider(bearer), other("scheme = { query = \"k\" }\n")));
    config(&format!("{}{}ports = [8443]\n", provider(bearer), other(bearer)));
}

#[test]
fn a_secret_written_into_the_document_is_never_shown() {
    let value = "sk-live-0123456789";
    for line in [
        format!("secret = \"{value}\""),
        format!("secret = {{ env = \"{value}\" }}"),
        format!("secret = {{ value = \"{value}\" }}"),
        format!("api_key = \"{value}\""),
    ] {
        let found = mistakes(&provider(&format!("scheme = {{ query = \"k\" }}\n{line}\n")));
        assert!(!found.is_empty() && !found.concat().contains(value), "{found:#?}");
    }
}

#[test]
fn a_project_may_set_only_what_narrows() {
    let text = "[egress]\nenabled = false\ndeny_cidrs = []\nallow = []\n[egress.limits]\nrequests_per_minute = 5\n\
                [[provider]]\nname = \"x\"\n[sandbox]\nhide = [\"keys\"]\nisolation = \"best-effort\"\n\
                [sandbox.env]\npass = [\"AWS_SECRET_ACCESS_KEY\"]\n[approval]\nmode = \"off\"\n";
    let found = Project::parse(".cofferdam.toml", text).unwrap_err();
    let named: Vec<String> = found.iter().map(|mistake| mistake.sentence.clone()).collect();
    for key in
        ["egress.enabled", "egress.deny_cidrs", "provider", "sandbox.isolation", "sandbox.env", "approval"]
    {
        let sentence = format!("a project may not set {}", crate::mistake::quoted(key));
        assert!(named.contains(&sentence), "{named:#?} without {key}");
    }
    assert_eq!(named.len(), 6);
    let project =
        Project::parse(".cofferdam.toml", "[egress]\nallow = []\n[sandbox]\nhide = [\"keys\"]").unwrap();
    assert_eq!(project.allow, Some(Vec::new()));
    assert_eq!(project.hide, ["keys"]);
}

#[test]
fn paths_lead_beside_the_document_or_below_the_home() {
    let (directory, home) = (Path::new("/etc/c"), Some(Path::new("/home/u")));
    assert_eq!(locate("a.pem", directory, home).as_deref(), Some(Path::new("/etc/c/a.pem")));
    assert_eq!(locate("/a.pem", directory, home).as_deref(), Some(Path::new("/a.pem")));
    assert_eq!(locate("~/a", directory, home).as_deref(), Some(Path::new("/home/u/a")));
    assert_eq!(locate("~", directory, home).as_deref(), home);
    assert_eq!(locate("~/a", directory, None), None);
}
