//! `egress setup`: an authority, and tokens for those who use the shared port. Run again, it keeps what there is.

use std::io::{self, BufRead, Write};

use cofferdam_audit::event::{TokenChange, TokensChanged};
use cofferdam_control::messages::egress::{Reply, Request};
use cofferdam_egress::Token;
use cofferdam_policy::provider::{Provider, Shape};
use serde::Serialize;

use super::client::Client;
use super::coverage::{self, Uncovered};
use super::{disable, rotate_tokens};
use crate::args::egress::EgressSetup;
use crate::daemon::named_tokens::{self, NamedToken};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;
use crate::proxy_parts;
use crate::secret_sources::SecretSources;
use crate::settings::Settings;
use crate::terminal;

/// What a person or a script gets to know.
#[derive(Serialize)]
struct Report {
    authority: String,
    certificate: String,
    proxy: String,
    tokens: Vec<Shown>,
    uncovered: Vec<Uncovered>,
    /// Providers whose credential is more than one text; they are for sandboxes alone.
    left_out: Vec<String>,
}

#[derive(Serialize)]
pub struct Shown {
    pub provider: String,
    pub variable: String,
    pub begins: String,
    /// Only of one that was made just now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
}

pub fn setup(args: &EgressSetup) -> Result<Exit, Failure> {
    if args.rotate_tokens {
        return rotate_tokens::rotate(args.yes, args.json);
    }
    let settings = Settings::load()?;
    if !settings.config.egress.enabled {
        disable::switch(&settings.places, disable::Switch::On)?;
    }
    let sources = SecretSources::find()?;
    let mut wanted: Vec<&Provider> = sources.kept().collect();
    for name in &args.provider {
        sources.named(name)?;
    }
    if !args.provider.is_empty() {
        wanted.retain(|provider| args.provider.iter().any(|name| *name == provider.name));
    }
    let (wanted, left_out): (Vec<&Provider>, Vec<&Provider>) =
        wanted.into_iter().partition(|provider| provider.shape() == Shape::Value);
    confirm(args, &wanted, &settings)?;
    let authority = proxy_parts::authority(&settings.places)?;
    let made = make_missing(&settings, &wanted)?;
    let count = made.iter().filter(|shown| shown.token.is_some()).count();
    if count > 0 {
        record(&settings, TokenChange::Minted, count)?;
    }
    tell_daemon(&settings);
    let report = Report {
        authority: authority.fingerprint(),
        certificate: settings.places.authority().join("ca.crt").display().to_string(),
        proxy: format!("http://{}", settings.config.egress.listen),
        tokens: made,
        uncovered: coverage::uncovered(&settings.config),
        left_out: left_out.iter().map(|provider| provider.name.to_string()).collect(),
    };
    if args.json {
        output::json(&report)?;
    } else {
        print(&report)?;
    }
    Ok(Exit::Success)
}

fn confirm(args: &EgressSetup, wanted: &[&Provider], settings: &Settings) -> Result<(), Failure> {
    if args.yes || !terminal::is_interactive() {
        return Ok(());
    }
    let names: Vec<&str> = wanted.iter().map(|provider| provider.name.as_ref()).collect();
    let names =
        if names.is_empty() { "no provider (none has a credential)".to_owned() } else { names.join(", ") };
    output::text(&format!(
        "The proxy listens on {}.\nTokens are made for: {names}.\n",
        settings.config.egress.listen
    ))?;
    match ask("Go on? [Y/n] ")?.trim().to_ascii_lowercase().as_str() {
        "" | "y" | "yes" => Ok(()),
        _ => Err(Failure::new(Exit::Denied, "nothing was changed")),
    }
}

/// The answer of the person at the terminal.
pub fn ask(question: &str) -> Result<String, Failure> {
    let failed =
        |error: io::Error| Failure::new(Exit::Unavailable, format!("nobody could be asked: {error}"));
    let mut stdout = io::stdout().lock();
    stdout.write_all(question.as_bytes()).and_then(|()| stdout.flush()).map_err(failed)?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer).map_err(failed)?;
    Ok(answer)
}

fn make_missing(settings: &Settings, wanted: &[&Provider]) -> Result<Vec<Shown>, Failure> {
    named_tokens::change(&settings.places.state, None, |tokens| {
        wanted
            .iter()
            .map(|provider| match tokens.iter().find(|token| token.provider == provider.name) {
                Some(token) => Ok(shown(token, None)),
                None => {
                    let (token, text) = new(provider)?;
                    let shown = shown(&token, Some(text));
                    tokens.push(token);
                    Ok(shown)
                }
            })
            .collect()
    })?
}

pub fn new(provider: &Provider) -> Result<(NamedToken, Token), Failure> {
    let token = Token::random(provider)
        .map_err(|_| Failure::new(Exit::Unavailable, "the kernel gave no randomness for a token"))?;
    Ok((NamedToken::of(provider, &token), token))
}

pub fn shown(token: &NamedToken, whole: Option<Token>) -> Shown {
    Shown {
        provider: token.provider.clone(),
        variable: token.variable.clone(),
        begins: token.begins.clone(),
        token: whole.map(|whole| whole.expose().to_owned()),
    }
}

pub fn record(settings: &Settings, change: TokenChange, count: usize) -> Result<(), Failure> {
    let recorder = proxy_parts::recorder(&settings.places, &settings.config)?;
    let count = u32::try_from(count).unwrap_or(u32::MAX);
    // Where going on without a record is allowed, the next one says that it is missing.
    let _ = recorder.record(None, &TokensChanged { change, count }.into())?;
    Ok(())
}

/// A proxy that runs learns of it at once.
pub fn tell_daemon(settings: &Settings) {
    if let Ok(client) = Client::connect(&settings.places)
        && !matches!(client.ask(Request::Reload), Ok(Reply::Reloaded { .. }))
    {
        eprintln!(
            "cofferdam: warning: the running proxy does not know of this yet: cofferdam egress restart"
        );
    }
}

pub fn print_tokens(tokens: &[Shown]) -> Result<(), Failure> {
    let rows: Vec<Vec<String>> = tokens
        .iter()
        .map(|shown| {
            let text = shown.token.clone().unwrap_or_else(|| format!("{}\u{2026}", shown.begins));
            vec![shown.provider.clone(), shown.variable.clone(), text]
        })
        .collect();
    if rows.is_empty() {
        return output::text("no provider has a credential, so no token was made\n");
    }
    output::table(&["PROVIDER", "VARIABLE", "TOKEN"], &rows)?;
    if tokens.iter().any(|shown| shown.token.is_some()) {
        eprintln!(
            "cofferdam: warning: new tokens are shown whole, once; whoever has one can use the proxy with it"
        );
    }
    Ok(())
}

fn print(report: &Report) -> Result<(), Failure> {
    print_tokens(&report.tokens)?;
    for name in &report.left_out {
        output::text(&format!(
            "{name}: its credential has more than one part; it can be used by sandboxes\n"
        ))?;
    }
    for uncovered in &report.uncovered {
        output::text(&format!(
            "not covered: {} is set here, and no provider knows it\n",
            uncovered.variable
        ))?;
    }
    output::text(&format!(
        "\nClients need:\n  HTTPS_PROXY={}\n  SSL_CERT_FILE={}\n",
        report.proxy, report.certificate
    ))
}
