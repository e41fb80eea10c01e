use std::time::Duration;

use cofferdam_policy::document::Config;
use cofferdam_policy::layers::Layered;
use cofferdam_policy::registry::built_in;
use http::Request;

use super::*;
use crate::target::{Arrival, agree};
use crate::tokens::{Life, Token};

const CONFIG: &str = r#"
[[egress.allow]]
hosts = ["plain.example"]
methods = ["GET"]
paths = ["/open/**"]
[[provider]]
name = "acme"
hosts = ["api.acme.example"]
variables = ["ACME_KEY"]
scheme = { header = "Authorization", template = "Bearer {}" }
[[provider]]
name = "other"
hosts = ["api.other.example"]
variables = ["OTHER_KEY"]
scheme = { header = "x-api-key" }
"#;

struct Fixture {
    policy: Arc<Policy>,
    tokens: Tokens,
    client: ClientId,
}

impl Fixture {
    fn new(extra: &str) -> Self {
        let config = Config::parse("config.toml", &format!("{extra}{CONFIG}")).unwrap();
        let providers = config.providers.clone();
        let policy = Arc::new(Policy::new(&Layered::new(config), providers));
        Self { policy, tokens: Tokens::default(), client: ClientId::new() }
    }

    fn token(&self, provider: usize) -> Token {
        self.tokens.mint(self.client, self.policy.provider(provider), Life::Sandbox).unwrap()
    }

    fn ask(&self, url: &str, headers: &[(&str, &str)]) -> Result<Authorized, EgressReason> {
        self.ask_as(self.client, ("GET", url), headers)
    }

    fn ask_as(
        &self,
        client: ClientId,
        asked: (&str, &str),
        headers: &[(&str, &str)],
    ) -> Result<Authorized, EgressReason> {
        let uri: http::Uri = asked.1.parse().unwrap();
        let port = uri.port_u16().unwrap_or(if uri.scheme_str() == Some("http") { 80 } else { 443 });
        let protocol = if uri.scheme_str() == Some("http") { Protocol::Http } else { Protocol::Https };
        let target = Target::of_connect(&format!("{}:{port}", uri.host().unwrap()), protocol).unwrap();
        let mut request = Request::builder().method(asked.0).uri(uri).version(http::Version::HTTP_2);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let parts = request.body(()).unwrap().into_parts().0;
        let target = agree(&Arrival::Agreed(target), &parts).unwrap();
        let admitted = admit(&self.policy, target, &parts)?;
        authorize(admitted, &self.tokens, client, (&parts, &[]))
    }

    fn refused(&self, url: &str, headers: &[(&str, &str)]) -> EgressReason {
        self.ask(url, headers).err().expect("refused")
    }
}

#[test]
fn req_e02_without_a_rule_nothing_is_reached() {
    use EgressReason::*;
    let fixture = Fixture::new("");
    assert!(fixture.ask("https://plain.example/open/x", &[]).is_ok());
    for (asked, reason) in [
        (("GET", "https://elsewhere.example/open/x"), HostNotAllowed),
        (("GET", "https://plain.example:8443/open/x"), PortNotAllowed),
        (("POST", "https://plain.example/open/x"), MethodNotAllowed),
        (("GET", "https://plain.example/closed"), PathNotAllowed),
        (("GET", "https://plain.example/open/%2e%2e/closed"), PathNotAllowed),
    ] {
        assert_eq!(fixture.ask_as(fixture.client, asked, &[]).err(), Some(reason), "{asked:?}");
    }
    let target = |text| Target::of_connect(text, Protocol::Https).unwrap();
    assert!(tunnel(&fixture.policy, target("api.acme.example:443")).is_ok());
    assert_eq!(tunnel(&fixture.policy, target("api.acme.example:22")).err(), Some(PortNotAllowed));
    assert_eq!(tunnel(&fixture.policy, target("evil.example:443")).err(), Some(HostNotAllowed));
}

#[test]
fn req_e29_a_token_counts_at_its_place_and_is_refused_everywhere_else() {
    use EgressReason::*;
    let fixture = Fixture::new("");
    let token = fixture.token(0);
    let bearer = format!("Bearer {}", token.expose());
    let good = fixture.ask("https://api.acme.example/v1", &[("authorization", &bearer)]).ok().unwrap();
    let (provider, _, placed) = good.placed().unwrap();
    assert_eq!((&*provider.name, placed), ("acme", token.expose().as_bytes()));

    let acme = "https://api.acme.example/v1";
    assert_eq!(fixture.refused(acme, &[("x-other", token.expose())]), TokenMisplaced);
    assert_eq!(fixture.refused(&format!("{acme}?key={}", token.expose()), &[]), TokenMisplaced);
    assert_eq!(fixture.refused(acme, &[("cookie", &format!("a={}", token.expose()))]), TokenMisplaced);
    let both = [("authorization", bearer.as_str()), ("x-copy", token.expose())];
    assert_eq!(fixture.refused(acme, &both), TokenDuplicate);
    let twice = [("authorization", bearer.as_str()), ("authorization", bearer.as_str())];
    assert_eq!(fixture.refused(acme, &twice), TokenDuplicate);
    assert_eq!(
        fixture.refused("https://api.other.example/", &[("x-api-key", token.expose())]),
        TokenWrongHost
    );
    let plain = "https://plain.example/open/x";
    assert_eq!(fixture.refused(plain, &[("authorization", &bearer)]), TokenWrongHost);
}

#[test]
fn req_e23_a_token_is_refused_for_another_client_after_its_time_and_after_revocation() {
    use EgressReason::*;
    let fixture = Fixture::new("");
    let token = fixture.token(0);
    let bearer = format!("Bearer {}", token.expose());
    let headers = [("authorization", bearer.as_str())];
    let asked = ("GET", "https://api.acme.example/");
    assert_eq!(fixture.ask_as(ClientId::new(), asked, &headers).err(), Some(TokenWrongClient));
    fixture.tokens.revoke(token.expose());
    assert_eq!(fixture.refused(asked.1, &headers), TokenRevoked);
    let past = Life::Until(Instant::now() - Duration::from_secs(1));
    let old = fixture.tokens.mint(fixture.client, fixture.policy.provider(0), past).unwrap();
    let bearer = format!("Bearer {}", old.expose());
    assert_eq!(fixture.refused(asked.1, &[("authorization", &bearer)]), TokenExpired);
}

#[test]
fn req_e29_somebody_elses_credential_is_refused_where_we_have_one() {
    let foreign = [("authorization", "Bearer sk-attacker-0123456789")];
    let other_place = [("x-api-key", "sk-attacker-0123456789")];
    let fixture = Fixture::new("");
    let acme = "https://api.acme.example/";
    assert_eq!(fixture.refused(acme, &foreign), EgressReason::CredentialForeign);
    assert_eq!(fixture.refused(acme, &other_place), EgressReason::CredentialForeign);
    assert!(fixture.ask(acme, &[]).is_ok(), "a host's own challenge is for the client to see");
    assert!(fixture.ask("https://plain.example/open/x", &foreign).is_ok(), "no credential of ours there");
    let open = Fixture::new("[egress]\nforeign_credentials = \"pass\"\n");
    assert!(open.ask(acme, &foreign).is_ok_and(|authorized| authorized.placed().is_none()));
}

#[test]
fn req_e01_a_credential_never_travels_in_the_clear() {
    let config =
        CONFIG.replace("hosts = [\"api.acme.example\"]", "hosts = [\"api.acme.example\"]\nports = [80, 443]");
    let config = Config::parse("config.toml", &config).unwrap();
    let providers = config.providers.clone();
    let policy = Arc::new(Policy::new(&Layered::new(config), providers));
    let fixture = Fixture { policy, tokens: Tokens::default(), client: ClientId::new() };
    let bearer = format!("Bearer {}", fixture.token(0).expose());
    let headers = [("authorization", bearer.as_str())];
    assert!(fixture.ask("https://api.acme.example/", &headers).is_ok());
    assert_eq!(fixture.refused("http://api.acme.example/", &headers), EgressReason::SchemeNotAllowed);
}

#[test]
fn req_e29_all_places_are_looked_at_before_one_is_called_foreign() {
    let schemes =
        "schemes = [{ header = \"x-plain\" }, { header = \"Authorization\", template = \"Bearer {}\" }]";
    let config = CONFIG.replace("scheme = { header = \"Authorization\", template = \"Bearer {}\" }", schemes);
    let config = Config::parse("config.toml", &config).unwrap();
    let built_in = built_in().iter().filter(|provider| ["github", "github-app"].contains(&&*provider.name));
    let providers = config.providers.iter().chain(built_in).cloned().collect();
    let policy = Arc::new(Policy::new(&Layered::new(config), providers));
    let fixture = Fixture { policy, tokens: Tokens::default(), client: ClientId::new() };
    let [acme, other, github, app] =
        [0, 1, 2, 3].map(|provider| format!("Bearer {}", fixture.token(provider).expose()));

    for (bearer, name) in [(&github, "github"), (&app, "github-app")] {
        let good = fixture.ask("https://api.github.com/user", &[("authorization", bearer)]).ok().unwrap();
        assert_eq!(&*good.provider().unwrap().name, name, "two providers share a host and a place");
    }
    let foreign = ("x-plain", "sk-attacker-0123456789");
    let url = "https://api.acme.example/";
    assert!(fixture.ask(url, &[("authorization", &acme)]).is_ok());
    let beside = [("authorization", acme.as_str()), foreign];
    assert_eq!(fixture.refused(url, &beside), EgressReason::CredentialForeign);
    let both = [("authorization", other.as_str()), foreign];
    assert_eq!(fixture.refused(url, &both), EgressReason::TokenWrongHost, "the token is the better reason");
}
