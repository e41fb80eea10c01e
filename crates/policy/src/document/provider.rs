//! `[[provider]]`, in a user's configuration and in the built-in registry.

use super::allow::host_hint;
use super::reader::{Section, Wrong};
use super::sandbox::variable;
use super::source::{self, Kinds};
use crate::host::HostPattern;
use crate::mistake::quoted;
use crate::provider::{
    Alphabet, BasicPart, Checked, Grant, Kind, List, Provider, Scheme, Shape, Text, TokenForm,
};

/// Which of the two documents is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    /// The user's: the credential's source may be given, and what is left out has a default.
    Configuration,
    /// The registry's: how the facts were checked must be given, and the form of the token.
    Registry,
}

pub(super) fn read_all(root: &Section<'_>, dialect: Dialect) -> Vec<Provider> {
    let sections = root.sections("provider");
    let mut providers: Vec<Provider> = Vec::with_capacity(sections.len());
    for section in &sections {
        let provider = read(section, dialect);
        for (at, earlier) in providers.iter().enumerate() {
            if earlier.name == provider.name && !provider.name.is_empty() {
                let sentence = format!("there are two providers called {}", quoted(&provider.name));
                section.wrong("name", sentence, Some("keep one, or give the other another name".into()));
            } else if dialect == Dialect::Configuration && earlier.collides(&provider) {
                let sentence = format!(
                    "{} (line {}) and {} put their credential at the same place of the same host",
                    quoted(&earlier.name),
                    sections[at].line("hosts"),
                    quoted(&provider.name)
                );
                let hint = "give them different hosts or ports, or make them one provider";
                section.wrong("hosts", sentence, Some(hint.into()));
            }
        }
        providers.push(provider);
    }
    providers
}

fn read(section: &Section<'_>, dialect: Dialect) -> Provider {
    let common = ["name", "kind", "hosts", "ports", "variables", "base_urls", "scheme", "schemes", "token"];
    let own: &[&str] = match dialect {
        Dialect::Configuration => &["secret"],
        Dialect::Registry => &["checked", "unchecked"],
    };
    section.allow_keys(&[&common[..], own].concat());
    let ports = section.ports("ports");
    let variables: Vec<Text> = section.list("variables", |text| variable(text).map(Text::from));
    let secret = section.has("secret").then(|| source::read(section, "secret", Kinds::All)).flatten();
    if dialect == Dialect::Configuration {
        section.needs("hosts", "must name at least one host");
        if !section.has("secret") && !section.has("variables") {
            let hint = "add variables = [\u{2026}] or secret = { \u{2026} }".to_owned();
            section.wrong("name", "the provider has no credential", Some(hint));
        }
    }
    Provider {
        name: name(section),
        kind: kind(section, dialect),
        hosts: section
            .list("hosts", |text| {
                HostPattern::parse(text).map(|host| host.to_string().into()).map_err(host_hint)
            })
            .into(),
        ports: if section.has("ports") { List::Owned(ports) } else { List::Borrowed(&[443]) },
        variables: variables.into(),
        base_urls: section.list("base_urls", |text| variable(text).map(Text::from)).into(),
        schemes: schemes(section).into(),
        token: token(section, dialect),
        secret,
        checked: checked(section, dialect),
    }
}

fn name(section: &Section<'_>) -> Text {
    if !section.has("name") {
        section.wrong("name", "a provider has no name", Some("add name = \"\u{2026}\"".into()));
    }
    let name = section.parsed("name", |text| {
        let letters =
            text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
        if letters && !text.is_empty() && text.len() <= 64 && !text.starts_with('-') {
            return Ok(Text::from(text.to_owned()));
        }
        Err(("is not a name".into(), Some("use lower-case letters, digits and dashes".into())))
    });
    name.unwrap_or_default()
}

fn kind(section: &Section<'_>, dialect: Dialect) -> Kind {
    if dialect == Dialect::Registry && !section.has("kind") {
        section.wrong("kind", "the entry has no kind", None);
    }
    let kinds = [
        ("model", Kind::Model),
        ("tool", Kind::Tool),
        ("messaging", Kind::Messaging),
        ("code", Kind::Code),
        ("cloud", Kind::Cloud),
    ];
    section.choice("kind", &kinds).unwrap_or(Kind::Tool)
}

fn checked(section: &Section<'_>, dialect: Dialect) -> Checked {
    if dialect == Dialect::Configuration {
        return Checked::Configured;
    }
    match (section.text("checked"), section.text("unchecked")) {
        (Some(client), None) => Checked::Client(client.to_owned().into()),
        (None, Some(why)) => Checked::Unchecked(why.to_owned().into()),
        _ => {
            section.wrong(
                "name",
                "the entry must have either \u{201c}checked\u{201d} or \u{201c}unchecked\u{201d}",
                None,
            );
            Checked::Configured
        }
    }
}

fn schemes(section: &Section<'_>) -> Vec<Scheme> {
    let hint =
        || Some("such as scheme = { header = \"Authorization\", template = \"Bearer {}\" }".to_owned());
    match (section.has("scheme"), section.has("schemes")) {
        (true, true) => {
            section.wrong_key("schemes", "there is both a scheme and schemes", Some("keep one".into()));
        }
        (false, false) => section.wrong("scheme", "the provider has no scheme", hint()),
        _ => {}
    }
    if section.has("schemes") {
        section.needs("schemes", "must have at least one scheme");
    }
    let schemes: Vec<Scheme> =
        section.section("scheme").iter().chain(&section.sections("schemes")).filter_map(scheme).collect();
    if schemes.len() > 1 && schemes.iter().any(|scheme| scheme.shape() != Shape::Value) {
        let hint = "make two providers of it, each with its own secret".to_owned();
        section.wrong("schemes", "a scheme that signs or mints must be the only one", Some(hint));
    }
    schemes
}

const SCHEMES: [&str; 11] = [
    "header",
    "query",
    "basic",
    "path",
    "json",
    "form",
    "cookie",
    "sigv4",
    "google_service_account",
    "oauth2",
    "github_app",
];

fn scheme(section: &Section<'_>) -> Option<Scheme> {
    let mut named = section.keys().filter(|key| SCHEMES.contains(key));
    let (Some(key), None) = (named.next(), named.next()) else {
        let hint = format!("the schemes are {}", SCHEMES.join(", "));
        section.wrong_key("", "a scheme must name one place for the credential", Some(hint));
        return None;
    };
    section.allow_keys(if key == "header" { &["header", "template"] } else { std::slice::from_ref(&key) });
    let named = |parse: fn(&str) -> Result<Text, Wrong>| section.parsed(key, parse);
    Some(match key {
        "header" => Scheme::Header {
            name: named(token_text)?,
            template: if section.has("template") {
                section.parsed("template", template)?
            } else {
                "{}".into()
            },
        },
        "query" => Scheme::Query { name: named(plain)? },
        "form" => Scheme::Form { name: named(plain)? },
        "cookie" => Scheme::Cookie { name: named(token_text)? },
        "path" => Scheme::Path { template: named(path_template)? },
        "json" => Scheme::Json { pointer: named(pointer)? },
        "basic" => {
            let parts = [("user", BasicPart::User), ("password", BasicPart::Password)];
            Scheme::Basic { part: section.choice(key, &parts)? }
        }
        _ => return minted(section, key),
    })
}

/// Schemes whose value is a table of settings.
fn minted(section: &Section<'_>, key: &str) -> Option<Scheme> {
    let settings = section.section(key)?;
    match key {
        "google_service_account" => {
            settings.allow_keys(&["scope"]);
            let scope = required(&settings, "scope")?;
            Some(Scheme::GoogleServiceAccount { scope: scope.to_owned().into() })
        }
        "oauth2" => {
            settings.allow_keys(&["token_url", "grant"]);
            let grants =
                [("client-credentials", Grant::ClientCredentials), ("refresh-token", Grant::RefreshToken)];
            required(&settings, "token_url");
            required(&settings, "grant");
            let (url, grant) = (settings.parsed("token_url", https), settings.choice("grant", &grants));
            Some(Scheme::OAuth2 { token_url: url?, grant: grant? })
        }
        _ => {
            settings.allow_keys(&[]);
            Some(if key == "sigv4" { Scheme::SigV4 } else { Scheme::GithubApp })
        }
    }
}

pub(super) fn required<'s>(section: &Section<'s>, key: &str) -> Option<&'s str> {
    if !section.has(key) {
        section.wrong(key, format!("{} is missing", quoted(&section.full(key))), None);
    }
    section.text(key)
}

fn token(section: &Section<'_>, dialect: Dialect) -> TokenForm {
    let Some(form) = section.section("token") else {
        if dialect == Dialect::Registry && !section.has("token") {
            section.wrong("name", "the entry has no form for its token", None);
        }
        return TokenForm::STANDARD;
    };
    form.allow_keys(&["prefix", "length", "alphabet"]);
    let alphabets = [
        ("hex", Alphabet::Hex),
        ("upper-alphanumeric", Alphabet::UpperAlphanumeric),
        ("alphanumeric", Alphabet::Alphanumeric),
        ("base64url", Alphabet::Base64Url),
    ];
    let length = form.count("length").map(|length| u16::try_from(length).unwrap_or(u16::MAX));
    let token = TokenForm {
        prefix: form.parsed("prefix", prefix).unwrap_or_default(),
        length: length.unwrap_or(TokenForm::STANDARD.length),
        alphabet: form.choice("alphabet", &alphabets).unwrap_or(TokenForm::STANDARD.alphabet),
    };
    if token.bits() < TokenForm::LEAST_BITS {
        let least = token.alphabet.least_length();
        let sentence = format!("a token of {} such characters can be guessed", token.length);
        form.wrong("length", sentence, Some(format!("128 bits take at least {least} of them")));
    } else if token.length > 1024 {
        form.wrong("length", "a token is longer than 1024 characters", None);
    }
    token
}

fn prefix(text: &str) -> Result<Text, Wrong> {
    let plain =
        text.bytes().all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\\' | b'{' | b'}'));
    if plain && text.len() <= 64 {
        return Ok(text.to_owned().into());
    }
    Err(("cannot begin a token".into(), Some("use up to 64 visible ASCII characters".into())))
}

/// A name of a header or a cookie: a token of RFC 9110.
fn token_text(text: &str) -> Result<Text, Wrong> {
    let token = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte));
    if token && !text.is_empty() {
        Ok(text.to_owned().into())
    } else {
        Err(("is not such a name".into(), None))
    }
}

fn plain(text: &str) -> Result<Text, Wrong> {
    let plain = !text.is_empty() && !text.chars().any(char::is_control);
    if plain { Ok(text.to_owned().into()) } else { Err(("is not such a name".into(), None)) }
}

fn template(text: &str) -> Result<Text, Wrong> {
    if text.matches("{}").count() != 1 {
        let hint = "the credential stands where {} is, such as \"Bearer {}\"".to_owned();
        return Err(("does not have {} exactly once".into(), Some(hint)));
    }
    plain(text)
}

fn path_template(text: &str) -> Result<Text, Wrong> {
    let hint = || Some("write the path with {} for the credential, such as \"/bot{}/\"".to_owned());
    if !text.starts_with('/') {
        return Err(("does not begin with a slash".into(), hint()));
    }
    if let Err(error) = crate::path::RequestPath::parse(&text.replace("{}", "x")) {
        return Err((error.to_string(), hint()));
    }
    template(text).map_err(|(what, _)| (what, hint()))
}

fn pointer(text: &str) -> Result<Text, Wrong> {
    let escapes = text.split('~').skip(1).all(|after| after.starts_with(['0', '1']));
    if text.starts_with('/') && escapes {
        return Ok(text.to_owned().into());
    }
    Err(("is not a JSON pointer".into(), Some("such as \"/auth/token\"".into())))
}

fn https(text: &str) -> Result<Text, Wrong> {
    let hint = || Some("such as \"https://auth.example.com/oauth/token\"".to_owned());
    let rest =
        text.strip_prefix("https://").ok_or_else(|| ("does not begin with https://".to_owned(), hint()))?;
    let host = rest.split('/').next().unwrap_or(rest);
    match crate::host::Host::parse_with_port(host) {
        Ok(_) if !rest.contains(['#', ' ']) => Ok(text.to_owned().into()),
        Ok(_) => Err(("is not a URL".into(), hint())),
        Err(error) => Err((error.to_string(), hint())),
    }
}
