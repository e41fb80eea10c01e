//! The gate with everything that it needs on this machine.

mod webhook;

use std::collections::BTreeSet;
use std::env;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use cofferdam_approvals::approver::{Approver, Notifier, Terminal};
use cofferdam_approvals::{
    Author, Backend, Broker, BrokerError, Context, Gate, Grants, GrantsError, SessionContext,
};
use cofferdam_audit::{OnWriteFailure, Recorder, Settings as RecordSettings};
use cofferdam_policy::document::{self, Mode, SessionKind, Unattended};
use cofferdam_policy::environment::{self, HostEnvironment, ProviderVariables, Request, Trust};
use cofferdam_policy::registry::Registry;
use cofferdam_secrets::redaction::{Patterns, Redactor, Replacement};
use zeroize::Zeroizing;

use crate::args::approvals::KindArg;
use crate::caller::Caller;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::settings::{self, Settings};
use crate::waiting::{self, Waiting};
use webhook::Webhook;

pub struct Gatekeeper {
    caller: Caller,
    settings: Settings,
    pub broker: Broker,
    pub grants: Grants,
    pub recorder: Recorder,
    webhook: Option<Arc<Webhook>>,
}

impl Gatekeeper {
    /// What cannot be read or opened is a failure: without rules or record there is no gate.
    pub fn open() -> Result<Self, Failure> {
        Self::of(Caller::This)
    }

    /// The same for whoever asks.
    pub fn of(caller: Caller) -> Result<Self, Failure> {
        let settings = Settings::of(&caller)?;
        let broker = broker(&settings)?;
        let grants = grants(&settings)?;
        let on_write_failure = match settings.config.audit.on_write_failure {
            document::OnWriteFailure::Refuse => OnWriteFailure::Refuse,
            document::OnWriteFailure::Continue => OnWriteFailure::Continue,
        };
        let recorder = Recorder::open(
            &settings.places.audit(),
            RecordSettings { on_write_failure, ..Default::default() },
        )
        .map_err(|error| Failure::new(Exit::Unavailable, error.to_string()).hint(error.fix()))?;
        let webhook = webhook(&settings)?.map(Arc::new);
        Ok(Self { caller, settings, broker, grants, recorder, webhook })
    }

    pub fn gate(&self, longest: Option<Duration>) -> Gate<'_> {
        let timeout = self.settings.config.approval.timeout;
        Gate {
            broker: &self.broker,
            grants: &self.grants,
            recorder: &self.recorder,
            timeout: longest.map_or(timeout, |longest| longest.min(timeout)),
            second_opinion: self.second_opinion(),
            redact: &redacted,
        }
    }

    /// What an agent asks for.
    pub fn context(
        &self,
        session: String,
        kind: KindArg,
        directory: &Path,
        backend: Backend,
    ) -> SessionContext {
        let approval = &self.settings.config.approval;
        let kind = match kind {
            KindArg::Interactive => SessionKind::Interactive,
            KindArg::Gateway => SessionKind::Gateway,
            KindArg::Cron => SessionKind::Cron,
            KindArg::Headless => SessionKind::Headless,
        };
        let unattended = match kind {
            SessionKind::Cron => approval.cron,
            SessionKind::Headless => approval.headless,
            SessionKind::Interactive | SessionKind::Gateway => Unattended::Deny,
        };
        let text = |name| self.caller.text(name);
        let home = text("HOME").unwrap_or_else(|| "/nonexistent".to_owned());
        let user = text("USER").or_else(|| text("LOGNAME")).unwrap_or_else(|| "user".to_owned());
        let place = Context::new(directory.to_string_lossy(), home, user);
        SessionContext {
            session,
            kind,
            mode: approval.mode,
            backend,
            author: Author::Agent,
            unattended,
            place,
        }
    }

    fn second_opinion(&self) -> Option<Notifier> {
        let opinion = self.program(&self.settings.config.approval.second_opinion)?;
        let asking = move |question, time| {
            waiting::during("asking for a second opinion", || opinion.carry(question, time))
        };
        Some(Notifier::carried_by(asking))
    }

    fn program(&self, argv: &[String]) -> Option<Notifier> {
        (!argv.is_empty()).then(|| Notifier::program(argv.to_vec(), notifier_environment()))
    }

    /// The configured program or address.
    fn notifier(&self) -> Option<Notifier> {
        let webhook = self.webhook.clone();
        self.program(&self.settings.config.approval.notify).or_else(|| {
            webhook.map(|webhook| Notifier::carried_by(move |question, time| webhook.carry(&question, time)))
        })
    }

    /// The person at the terminal, if there is one.
    pub fn at_terminal(&self, context: &SessionContext) -> Approver {
        match Terminal::find() {
            Some(terminal) if context.kind == SessionKind::Interactive => Approver::Terminal(terminal),
            _ => self.away_from_terminal(context),
        }
    }

    /// The configured program; in a chat also whoever looks at the list.
    pub fn away_from_terminal(&self, context: &SessionContext) -> Approver {
        if let Some(notifier) = self.notifier() {
            return Approver::Command(notifier);
        }
        match context.kind {
            SessionKind::Gateway => Approver::Queue,
            _ => Approver::Nobody,
        }
    }
}

/// Shown while somebody who is not at this terminal makes up their mind.
pub fn waiting_for(approver: &Approver) -> Option<Waiting> {
    match approver {
        Approver::Command(_) | Approver::Queue => Some(Waiting::begin("waiting for an approval")),
        Approver::Terminal(_) | Approver::Nobody => None,
    }
}

/// The address with the key beside the configuration, which nobody else can read.
fn webhook(settings: &Settings) -> Result<Option<Webhook>, Failure> {
    let Some(address) = &settings.config.approval.webhook else { return Ok(None) };
    let path = settings.places.config.join("webhook.key");
    let wrong = |what: &str| {
        Failure::new(Exit::Config, format!("{} {what}", path.display())).hint(format!(
            "make one with: (umask 077; head -c 32 /dev/urandom | base64 > {})",
            path.display()
        ))
    };
    let key = Zeroizing::new(settings::read_own(&path)?.ok_or_else(|| wrong("is not there"))?);
    let open = std::fs::metadata(&path).is_ok_and(|file| file.permissions().mode() & 0o077 != 0);
    if open || key.trim().len() < 32 {
        return Err(wrong(if open { "can be read by others" } else { "is too short for a key" }));
    }
    let key = Zeroizing::new(key.trim().as_bytes().to_vec());
    Webhook::new(address, key)
        .map(Some)
        .ok_or_else(|| Failure::new(Exit::Config, "approval.webhook is not an address".to_owned()))
}

/// Said once, at the start, where questions will come up that nobody can be asked.
pub fn warn_if_nobody(context: &SessionContext, approver: &Approver) {
    let watched = matches!(context.kind, SessionKind::Interactive | SessionKind::Gateway);
    if watched && context.mode != Mode::Off && matches!(approver, Approver::Nobody) {
        eprintln!(
            "cofferdam: warning: nobody can be asked here (no terminal, no notifier, no gateway), so whatever needs \
             approval is refused"
        );
    }
}

pub fn broker(settings: &Settings) -> Result<Broker, Failure> {
    Broker::open(&settings.places.state.join("approvals")).map_err(|error| broker_failure(&error))
}

pub fn grants(settings: &Settings) -> Result<Grants, Failure> {
    let directory = &settings.places.config;
    let text = settings::read_own(&Grants::file(directory))?;
    Grants::parse(directory, text.as_deref()).map_err(|error| grants_failure(&error))
}

pub fn broker_failure(error: &BrokerError) -> Failure {
    let failure = Failure::new(Exit::Unavailable, error.to_string());
    match error {
        BrokerError::Private(private) => failure.hint(private.fix()),
        BrokerError::Damaged(_) => failure.hint("remove the file; whatever it asked is not approved"),
        BrokerError::NoRandomness(_) | BrokerError::TooLarge => failure,
    }
}

pub fn grants_failure(error: &GrantsError) -> Failure {
    match error {
        GrantsError::Private(private) => {
            Failure::new(Exit::Unavailable, error.to_string()).hint(private.fix())
        }
        GrantsError::Mistakes(path, mistakes) => settings::report(path, mistakes),
        GrantsError::Broker(error) => broker_failure(error),
        GrantsError::EditByHand(_) => Failure::new(Exit::Unavailable, error.to_string())
            .hint("remove it from approvals.toml with an editor"),
    }
}

/// What a program of the user's gets: it finds its own files, and no credential.
fn notifier_environment() -> environment::ChildEnvironment {
    let registry = Registry::new(Vec::new());
    let host = HostEnvironment::new(env::vars_os());
    environment::build(&host, &Request::plain(Trust::Tool), &ProviderVariables::new(&registry)).environment
}

/// The credentials in the environment that a text of this length could hold, by the names of their variables.
fn known_values(text: usize) -> Vec<(String, Zeroizing<Vec<u8>>)> {
    let registry = Registry::new(Vec::new());
    let worth = env::vars_os().filter(|(_, value)| Patterns::could_find(value.len(), text));
    let host = HostEnvironment::new(worth);
    let providers = ProviderVariables::new(&registry);
    environment::credentials(&host, &providers)
        .map(|(name, value)| (name.to_string_lossy().into_owned(), Zeroizing::new(value.as_bytes().to_vec())))
        .collect()
}

/// Beyond this, to compile what keys begin with takes less time than to look for one after the other.
const A_LINE: usize = 4 << 10;

/// A text without anything that has the shape of a key, and without the values of this process's own credentials.
pub fn redacted(text: &str) -> String {
    let known = known_values(text.len());
    let (patterns, _) = Patterns::new(known.iter().map(|(name, value)| (name.as_str(), value.as_slice())));
    let mut redactor =
        Redactor::new(Arc::new(patterns), Replacement::Marker).with_shapes(Arc::new(BTreeSet::new()));
    if text.len() <= A_LINE {
        redactor = redactor.for_a_line();
    }
    let mut out = Vec::with_capacity(text.len());
    redactor.push_all(text.as_bytes(), &mut out);
    redactor.finish(&mut out);
    String::from_utf8_lossy(&out).into_owned()
}
