//! `egress setup`: an authority, and tokens for those who use the shared port. Run again, it keeps what there is.

use std::io::{self, BufRead, Write};

use cofferdam_audit::event::{TokenChange, TokensChanged};
use cofferdam_control::messages::egress::{Reply, Request};
use cofferdam_policy::provider::Provider;
use serde::Serialize;

use super::client::Client;
use super::coverage::{self, Uncovered};
use super::tokens::{self, Maker, Shown};
use super::{disable, rotate_tokens};
use crate::args::egress::EgressSetup;
use crate::daemon::named_tokens;
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
    /// Providers whose credential is a file or a key; they are for sandboxes alone.
    left_out: Vec<String>,
    changed_sources: Vec<ChangedSource>,
}

/// A credential that comes from elsewhere than when its token was made.
#[derive(Serialize)]
struct ChangedSource {
    provider: String,
    before: String,
    now: String,
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
        wanted.into_iter().partition(|provider| Maker::can_make(provider));
    let maker = Maker::new(&settings, &sources)?;
    let wanted = maker.leading(wanted);
    let changed_sources = changed_sources(&settings, &maker, &wanted)?;
    if !args.change_source {
        require_same(&changed_sources)?;
    }
    confirm(args, (&wanted, &maker), &settings)?;
    let authority = proxy_parts::authority(&settings.places)?;
    let (count, made) = make_missing(&settings, &maker, &wanted)?;
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
        changed_sources,
    };
    if args.json {
        output::json(&report)?;
    } else {
        print(&report)?;
    }
    Ok(Exit::Success)
}

fn changed_sources(
    settings: &Settings,
    maker: &Maker<'_>,
    wanted: &[&Provider],
) -> Result<Vec<ChangedSource>, Failure> {
    let tokens = named_tokens::read(&settings.places.state)?;
    let changed = wanted.iter().filter_map(|provider| {
        let token = tokens.iter().find(|token| token.is_of(provider) && !token.source.is_empty())?;
        let (before, now) = (token.source.clone(), maker.source(provider));
        (before != now).then(|| ChangedSource { provider: provider.name.to_string(), before, now })
    });
    Ok(changed.collect())
}

/// A credential that suddenly comes from elsewhere may be somebody else's, so it is said first.
fn require_same(changed: &[ChangedSource]) -> Result<(), Failure> {
    let Some(first) = changed.first() else { return Ok(()) };
    let ChangedSource { provider, before, now } = first;
    Err(Failure::new(
        Exit::Config,
        format!("the credential of {provider} came from {before}, and would now come from {now}"),
    )
    .hint("if that is meant: cofferdam egress setup --change-source"))
}

fn confirm(
    args: &EgressSetup,
    (wanted, maker): (&[&Provider], &Maker<'_>),
    settings: &Settings,
) -> Result<(), Failure> {
    if args.yes || !terminal::is_interactive() {
        return Ok(());
    }
    output::text(&format!("The proxy listens on {}.\n", settings.config.egress.listen))?;
    match wanted {
        [] => output::text("No provider has a credential, so no token is made.\n")?,
        _ => output::text("Tokens are made for these, unless they have one:\n")?,
    }
    for provider in wanted {
        output::text(&format!("  {}, with the credential from {}\n", provider.name, maker.source(provider)))?;
    }
    for uncovered in coverage::uncovered(&settings.config) {
        output::text(&format!("  not covered: {}\n", uncovered.variable))?;
    }
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

/// How many were made, and what is shown of all of them.
fn make_missing(
    settings: &Settings,
    maker: &Maker<'_>,
    wanted: &[&Provider],
) -> Result<(usize, Vec<Shown>), Failure> {
    named_tokens::change(&settings.places.state, None, |tokens| {
        let (mut count, mut all) = (0, Vec::new());
        for provider in wanted {
            match tokens.iter_mut().find(|token| token.is_of(provider)) {
                Some(token) => {
                    token.source = maker.source(provider);
                    all.push(Shown::known(token));
                }
                None => {
                    let (token, shown) = maker.make(provider)?;
                    tokens.push(token);
                    all.extend(shown);
                    count += 1;
                }
            }
        }
        Ok::<_, Failure>((count, all))
    })
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

fn print(report: &Report) -> Result<(), Failure> {
    tokens::print(&report.tokens)?;
    for name in &report.left_out {
        output::text(&format!("{name}: its credential is a file or a key, and is for sandboxes alone\n"))?;
    }
    for ChangedSource { provider, before, now } in &report.changed_sources {
        output::text(&format!("{provider}: its credential came from {before}, and comes from {now} now\n"))?;
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
