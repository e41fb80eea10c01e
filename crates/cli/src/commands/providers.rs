//! `providers list` and `providers show`: the registry, and what of it is on this host. Never a value.

use std::env;
use std::ffi::OsStr;

use cofferdam_policy::mistake::{nearest, quoted};
use cofferdam_policy::provider::{Alphabet, BasicPart, Checked, Grant, Kind, Provider, Scheme, Text};
use cofferdam_policy::registry::Registry;
use serde::Serialize;

use crate::args::{KindArg, ProvidersArgs, ProvidersCommand};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{self, inert};
use crate::settings::Settings;

pub fn run(args: &ProvidersArgs) -> Result<Exit, Failure> {
    let registry = Registry::new(Settings::load()?.config.providers);
    match &args.command {
        ProvidersCommand::List { kind, json } => list(&registry, *kind, *json)?,
        ProvidersCommand::Show { name, json: true } => output::json(&Entry::of(find(&registry, name)?))?,
        ProvidersCommand::Show { name, json: false } => show(&Entry::of(find(&registry, name)?))?,
    }
    Ok(Exit::Success)
}

/// The provider of this name, or a failure with the one that was probably meant.
pub fn find<'r>(registry: &'r Registry, name: &str) -> Result<&'r Provider, Failure> {
    registry.by_name(name).ok_or_else(|| {
        let failure = Failure::new(Exit::Usage, format!("there is no provider named {}", quoted(name)));
        match nearest_name(registry, name) {
            Some(near) => failure.hint(format!("did you mean {near}?")),
            None => failure.hint("see them all: cofferdam providers list"),
        }
    })
}

/// Half of the names have a dash, which the nearest key of a document never has.
fn nearest_name<'r>(registry: &'r Registry, name: &str) -> Option<&'r str> {
    let known: Vec<(String, &str)> =
        registry.iter().map(|provider| (provider.name.replace('-', "_"), provider.name.as_ref())).collect();
    let begins = || known.iter().find(|(_, real)| name.len() > 2 && real.starts_with(name));
    let near = nearest(name, known.iter().map(|(folded, _)| folded.as_str()));
    near.and_then(|near| known.iter().find(|(folded, _)| folded == near))
        .or_else(begins)
        .map(|(_, real)| *real)
}

fn list(registry: &Registry, kind: Option<KindArg>, json: bool) -> Result<(), Failure> {
    let mut entries: Vec<Entry<'_>> = registry
        .iter()
        .filter(|provider| kind.is_none_or(|kind| provider.kind == meant(kind)))
        .map(Entry::of)
        .collect();
    entries.sort_by_key(|entry| entry.name);
    if json {
        return output::json(&entries);
    }
    let rows: Vec<Vec<String>> = entries
        .iter()
        .map(|entry| {
            let set: Vec<&str> = entry
                .variables
                .iter()
                .filter(|variable| variable.set)
                .map(|variable| variable.name)
                .collect();
            let set = if set.is_empty() { "-".to_owned() } else { set.join(", ") };
            vec![entry.name.to_owned(), entry.kind.to_owned(), set, few(entry.hosts)]
        })
        .collect();
    output::table(&["NAME", "KIND", "SET HERE", "HOSTS"], &rows)
}

/// Two of many, and how many more there are.
fn few(hosts: &[Text]) -> String {
    let shown: Vec<&str> = hosts.iter().take(2).map(AsRef::as_ref).collect();
    match hosts.len() {
        0 => "-".to_owned(),
        1 | 2 => shown.join(", "),
        more => format!("{}, and {} more", shown.join(", "), more - 2),
    }
}

fn show(entry: &Entry<'_>) -> Result<(), Failure> {
    let variables = |variables: &[Variable<'_>]| -> String {
        let set = |variable: &Variable<'_>| {
            format!("{} ({})", variable.name, if variable.set { "set here" } else { "not set" })
        };
        variables.iter().map(set).collect::<Vec<_>>().join(", ")
    };
    let hosts = match entry.hosts {
        [] => "none is fixed: name yours in a [[provider]] of config.toml".to_owned(),
        hosts => hosts.join(", "),
    };
    let ports: Vec<String> = entry.ports.iter().map(u16::to_string).collect();
    let token = &entry.token;
    let mut lines = vec![
        ("kind", entry.kind.to_owned()),
        ("hosts", hosts),
        ("ports", ports.join(", ")),
        ("variables", variables(&entry.variables)),
        ("base URL", variables(&entry.base_urls)),
        ("credential goes to", entry.schemes.join("; ")),
        (
            "stand-in",
            format!(
                "{}{} {} characters, {} bits",
                token.prefix,
                if token.prefix.is_empty() {
                    format!("{}", token.length)
                } else {
                    format!("… and {}", token.length)
                },
                token.alphabet,
                token.bits
            ),
        ),
        ("checked", entry.checked.to_string()),
    ];
    lines.retain(|(_, value)| !value.is_empty());
    let mut text = format!("{}\n", entry.name);
    for (label, value) in lines {
        text.push_str(&format!("  {label:<20}{}\n", inert(OsStr::new(&value))));
    }
    output::text(&text)
}

#[derive(Serialize)]
struct Entry<'p> {
    name: &'p str,
    kind: &'static str,
    hosts: &'p [Text],
    ports: &'p [u16],
    variables: Vec<Variable<'p>>,
    base_urls: Vec<Variable<'p>>,
    schemes: Vec<String>,
    token: Token<'p>,
    checked: Check<'p>,
}

#[derive(Serialize)]
struct Variable<'p> {
    name: &'p str,
    set: bool,
}

#[derive(Serialize)]
struct Token<'p> {
    prefix: &'p str,
    length: u16,
    alphabet: &'static str,
    bits: u32,
}

#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum Check<'p> {
    Client(&'p str),
    Unchecked(&'p str),
    Configured,
}

impl std::fmt::Display for Check<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Client(client) => write!(f, "against {client}"),
            Self::Unchecked(why) => write!(f, "no: {why}"),
            Self::Configured => f.write_str("no: it is your own"),
        }
    }
}

impl<'p> Entry<'p> {
    fn of(provider: &'p Provider) -> Self {
        // Set but empty counts as not set, as it does where credentials are looked for.
        let is_set = |name: &str| env::var_os(name).is_some_and(|value| !value.is_empty());
        let variable = |name: &'p Text| Variable { name, set: is_set(name) };
        Self {
            name: &provider.name,
            kind: kind(provider.kind),
            hosts: &provider.hosts,
            ports: &provider.ports,
            variables: provider.variables.iter().map(variable).collect(),
            base_urls: provider.base_urls.iter().map(variable).collect(),
            schemes: provider.schemes.iter().map(in_words).collect(),
            token: Token {
                prefix: &provider.token.prefix,
                length: provider.token.length,
                alphabet: alphabet(provider.token.alphabet),
                bits: provider.token.bits(),
            },
            checked: match &provider.checked {
                Checked::Client(client) => Check::Client(client),
                Checked::Unchecked(why) => Check::Unchecked(why),
                Checked::Configured => Check::Configured,
            },
        }
    }
}

fn meant(kind: KindArg) -> Kind {
    match kind {
        KindArg::Model => Kind::Model,
        KindArg::Tool => Kind::Tool,
        KindArg::Messaging => Kind::Messaging,
        KindArg::Code => Kind::Code,
        KindArg::Cloud => Kind::Cloud,
    }
}

fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Model => "model",
        Kind::Tool => "tool",
        Kind::Messaging => "messaging",
        Kind::Code => "code",
        Kind::Cloud => "cloud",
    }
}

fn alphabet(alphabet: Alphabet) -> &'static str {
    match alphabet {
        Alphabet::Hex => "hexadecimal",
        Alphabet::UpperAlphanumeric => "upper-case alphanumeric",
        Alphabet::Alphanumeric => "alphanumeric",
        Alphabet::Base64Url => "URL-safe base64",
    }
}

/// Where the credential stands in a request.
fn in_words(scheme: &Scheme) -> String {
    let gap = |template: &str| template.replace("{}", "…");
    match scheme {
        Scheme::Header { name, template } => format!("header {name}: {}", gap(template)),
        Scheme::Query { name } => format!("query parameter {name}"),
        Scheme::Basic { part: BasicPart::User } => "Basic, as the user".to_owned(),
        Scheme::Basic { part: BasicPart::Password } => "Basic, as the password".to_owned(),
        Scheme::Path { template } => format!("path {}", gap(template)),
        Scheme::Json { pointer } => format!("JSON body at {pointer}"),
        Scheme::Form { name } => format!("form field {name}"),
        Scheme::Cookie { name } => format!("cookie {name}"),
        Scheme::SigV4 => "a signature (AWS Signature Version 4)".to_owned(),
        Scheme::GoogleServiceAccount { scope } => {
            format!("a bearer token minted from a Google service account for {scope}")
        }
        Scheme::OAuth2 { token_url, grant } => {
            let grant = match grant {
                Grant::ClientCredentials => "client credentials",
                Grant::RefreshToken => "a refresh token",
            };
            format!("a bearer token minted with {grant} at {token_url}")
        }
        Scheme::GithubApp => "a bearer token minted for an installation of a GitHub App".to_owned(),
    }
}
