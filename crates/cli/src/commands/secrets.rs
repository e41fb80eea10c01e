//! `secrets list` and `secrets check`.

use std::sync::Arc;

use cofferdam_linux_sys::hardening::Hardening;
use cofferdam_policy::provider::Provider;
use cofferdam_secrets::source::SourceError;
use cofferdam_secrets::{LoadError, Loaded, Loader, Origin, Protection, SecretRef};
use serde::Serialize;

use crate::args::{SecretsArgs, SecretsCheckArgs, SecretsCommand, SecretsListArgs};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;
use crate::secret_sources::SecretSources;
use crate::waiting;

pub fn run(args: &SecretsArgs) -> Result<Exit, Failure> {
    let sources = SecretSources::find()?;
    match &args.command {
        SecretsCommand::List(args) => list(args, &sources),
        SecretsCommand::Check(args) => check(args, &sources),
    }
}

/// What may be said of a secret that was not read.
#[derive(Serialize)]
struct Listed {
    provider: String,
    source: &'static str,
    #[serde(rename = "where")]
    place: String,
    /// For a variable; whether a file or command has a value is not known before it is read.
    #[serde(skip_serializing_if = "Option::is_none")]
    set: Option<bool>,
}

#[derive(Serialize)]
struct List {
    secrets: Vec<Listed>,
    process: Process,
}

/// What keeps others from looking into this program while it holds a secret.
#[derive(Serialize)]
struct Process {
    unobservable: bool,
    no_core_dump: bool,
}

fn list(args: &SecretsListArgs, sources: &SecretSources) -> Result<Exit, Failure> {
    let secrets: Vec<Listed> =
        sources.kept().map(|provider| listed(&sources.loader, sources.loader.locate(provider))).collect();
    let Hardening { unobservable, no_core_dump } = Hardening::read();
    if args.json {
        output::json(&List { secrets, process: Process { unobservable, no_core_dump } })?;
    } else if secrets.is_empty() {
        output::text(NONE)?;
    } else {
        let row = |listed: &Listed| {
            let unset = if listed.set == Some(false) { " (not set)" } else { "" };
            vec![listed.provider.clone(), listed.source.to_owned(), format!("{}{unset}", listed.place)]
        };
        output::table(&["PROVIDER", "SOURCE", "WHERE"], &secrets.iter().map(row).collect::<Vec<_>>())?;
        output::text(&format!("\nThis process: {}\n", process_in_words(unobservable, no_core_dump)))?;
    }
    Ok(Exit::Success)
}

const NONE: &str = "No provider has a secret: none is configured, and none of their variables is set.\n";

fn listed(loader: &Loader, SecretRef { provider, origin }: SecretRef) -> Listed {
    let set = match &origin {
        Origin::Environment { name } => Some(loader.host.is_set(name)),
        _ => None,
    };
    Listed { provider, source: origin.kind(), place: origin.to_string(), set }
}

/// What came of reading a secret.
#[derive(Serialize)]
struct Checked {
    provider: String,
    source: &'static str,
    #[serde(rename = "where")]
    place: String,
    status: Status,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    protection: Option<InMemory>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Status {
    Ok,
    /// The configured source failed, and the environment was allowed to stand in for it.
    FellBack,
    Failed,
}

#[derive(Serialize)]
struct InMemory {
    locked: bool,
    excluded_from_dumps: bool,
    wiped_on_fork: bool,
}

fn check(args: &SecretsCheckArgs, sources: &SecretSources) -> Result<Exit, Failure> {
    let providers: Vec<&Provider> = match &args.provider {
        Some(name) => vec![sources.named(name)?],
        None => sources.kept().collect(),
    };
    let checked = waiting::during("reading credentials", || read_all(&sources.loader, &providers));
    if args.json {
        output::json(&checked)?;
    } else if checked.is_empty() {
        output::text(NONE)?;
    } else {
        output::text(&checked.iter().map(in_words).collect::<String>())?;
    }
    let failed = checked.iter().any(|checked| checked.status == Status::Failed);
    Ok(if failed { Exit::Found } else { Exit::Success })
}

/// All at once: a few sources that wait for their timeout should not add up.
fn read_all(loader: &Loader, providers: &[&Provider]) -> Vec<Checked> {
    std::thread::scope(|scope| {
        let readers: Vec<_> =
            providers.iter().map(|provider| scope.spawn(|| checked(&loader.load(provider)))).collect();
        readers.into_iter().map(|reader| reader.join().expect("a reader does not panic")).collect()
    })
}

fn checked(result: &Result<Loaded, Arc<LoadError>>) -> Checked {
    let (reference, status, cause, protection) = match result {
        Ok(loaded) => {
            let status = if loaded.fell_back.is_some() { Status::FellBack } else { Status::Ok };
            (&loaded.reference, status, loaded.fell_back.as_ref(), Some(loaded.secret.protection()))
        }
        Err(error) => (&error.reference, Status::Failed, Some(&error.cause), None),
    };
    Checked {
        provider: reference.provider.clone(),
        source: reference.origin.kind(),
        place: reference.origin.to_string(),
        status,
        reason: cause.map(ToString::to_string),
        hint: cause.and_then(SourceError::hint),
        protection: protection.map(|Protection { locked, excluded_from_dumps, wiped_on_fork }| InMemory {
            locked,
            excluded_from_dumps,
            wiped_on_fork,
        }),
    }
}

fn in_words(checked: &Checked) -> String {
    let status = match checked.status {
        Status::Ok => "ok",
        Status::FellBack => "fell back",
        Status::Failed => "failed",
    };
    let mut text = format!("{status}: {} from {}", checked.provider, checked.place);
    if let Some(protection) = &checked.protection {
        text.push_str(&format!(" ({})", memory_in_words(protection)));
    }
    text.push('\n');
    for (label, line) in [("", &checked.reason), ("hint: ", &checked.hint)] {
        if let Some(line) = line {
            text.push_str(&format!("  {label}{line}\n"));
        }
    }
    text
}

fn memory_in_words(protection: &InMemory) -> String {
    let words = [
        if protection.locked { "locked in memory" } else { "NOT locked in memory" },
        if protection.excluded_from_dumps { "not in core dumps" } else { "IN core dumps" },
        if protection.wiped_on_fork { "wiped on fork" } else { "NOT wiped on fork" },
    ];
    words.join(", ")
}

fn process_in_words(unobservable: bool, no_core_dump: bool) -> String {
    let words = [
        if unobservable { "closed to other processes" } else { "OPEN to other processes of the user" },
        if no_core_dump { "no core dumps" } else { "core dumps are NOT off" },
    ];
    words.join(", ")
}
