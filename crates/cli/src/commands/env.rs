//! `env show` and `env explain`: the rules of the environment, made visible.

use std::env;
use std::ffi::OsStr;

use cofferdam_policy::environment::{
    self, BadName, Built, Credentials, Decision, HostEnvironment, Origin, ProviderVariables, Request, Rule,
    Trust, Verdict, Wish,
};
use cofferdam_policy::registry::Registry;
use serde::Serialize;

use crate::args::{ChildArgs, EnvArgs, EnvCommand, TrustArg};
use crate::commands::providers::find;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{self, inert};
use crate::settings::Settings;

const HIDDEN: &str = "(a credential, not shown)";

pub fn run(args: &EnvArgs) -> Result<Exit, Failure> {
    let (EnvCommand::Show(child) | EnvCommand::Explain { child, .. }) = &args.command;
    let settings = Settings::load()?;
    let wishes = wishes(&settings.config.sandbox.pass, child)?;
    let registry = Registry::new(settings.config.providers);
    let mut inherited: Vec<&str> = child.inherit_credentials.iter().map(String::as_str).collect();
    let trust = match &child.trust {
        TrustArg::Helper => Trust::Helper,
        TrustArg::Tool => Trust::Tool,
        TrustArg::Unknown => Trust::Unknown,
        // An executor is started to work with its provider, so it is shown as it would be started.
        TrustArg::Executor(provider) => {
            inherited.push(provider);
            Trust::Executor { provider }
        }
    };
    for provider in &inherited {
        find(&registry, provider)?;
    }
    let credentials =
        if inherited.is_empty() { Credentials::Strip } else { Credentials::Inherit(&inherited) };
    let request = Request { trust, credentials, wishes: &wishes, fixed: &[] };
    let host = HostEnvironment::new(env::vars_os());
    let providers = ProviderVariables::new(&registry);
    match &args.command {
        EnvCommand::Show(_) => {
            let built = environment::build(&host, &request, &providers);
            if child.json { show_json(&built) } else { show(&built, trust) }
        }
        EnvCommand::Explain { name, .. } => {
            Wish::pass(name, Origin::CommandLine).map_err(|error| unusable(error, "the name"))?;
            let explained = environment::explain(name, &host, &request, &providers);
            let set = host.get(name).is_some();
            if child.json { explain_json(&explained, set) } else { explain(&explained, set) }
        }
    }
}

/// The configuration's list first, so that what is typed counts more.
fn wishes(pass: &[String], child: &ChildArgs) -> Result<Vec<Wish>, Failure> {
    let configured = pass.iter().map(|name| {
        Wish::pass(name, Origin::Configuration).map_err(|error| unusable(error, "pass in [sandbox.env]"))
    });
    let typed = child
        .env
        .iter()
        .map(|typed| Wish::parse(typed, Origin::CommandLine).map_err(|error| unusable(error, "--env")));
    configured.chain(typed).collect()
}

fn unusable(error: BadName, place: &str) -> Failure {
    Failure::new(Exit::Usage, format!("{place} cannot be used: {error}"))
        .hint("write NAME, or NAME=VALUE where a value can be given")
}

fn show(built: &Built, trust: Trust<'_>) -> Result<Exit, Failure> {
    let of = |verdict| built.decisions.iter().filter(move |decision| decision.verdict() == verdict);
    let passed: Vec<Vec<String>> = of(Verdict::Passed)
        .filter_map(|decision| {
            let value = built.environment.get(&decision.name)?;
            let value = if decision.credential { HIDDEN.to_owned() } else { inert(value) };
            Some(vec![inert(&decision.name), decision.rule.to_string(), value])
        })
        .collect();
    let dropped: Vec<Vec<String>> =
        of(Verdict::Dropped).map(|decision| vec![inert(&decision.name), decision.rule.to_string()]).collect();
    output::text(&format!("{} gets:\n\n", child(trust)))?;
    output::table(&["VARIABLE", "WHY", "VALUE"], &passed)?;
    if !dropped.is_empty() {
        output::text("\nand does not get:\n\n")?;
        output::table(&["VARIABLE", "WHY"], &dropped)?;
    }
    Ok(Exit::Success)
}

fn child(trust: Trust<'_>) -> String {
    match trust {
        Trust::Helper => "A helper".to_owned(),
        Trust::Executor { provider } => format!("An executor for {}", inert(OsStr::new(provider))),
        Trust::Tool => "A tool".to_owned(),
        Trust::Unknown => "An unknown command".to_owned(),
    }
}

#[derive(Serialize)]
struct Shown {
    passed: Vec<Variable>,
    dropped: Vec<Variable>,
}

#[derive(Serialize)]
struct Variable {
    name: String,
    rule: &'static str,
    why: String,
    credential: bool,
    /// Of what is passed, unless it is a credential. Bytes that are no text are replaced.
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<String>,
}

impl Variable {
    fn of(decision: &Decision, value: Option<&OsStr>) -> Self {
        Self {
            name: decision.name.to_string_lossy().into_owned(),
            rule: decision.rule.code(),
            why: decision.rule.to_string(),
            credential: decision.credential,
            value: value.filter(|_| !decision.credential).map(|value| value.to_string_lossy().into_owned()),
        }
    }
}

fn show_json(built: &Built) -> Result<Exit, Failure> {
    let (passed, dropped): (Vec<_>, Vec<_>) =
        built.decisions.iter().partition(|decision| decision.verdict() == Verdict::Passed);
    output::json(&Shown {
        passed: passed
            .into_iter()
            .map(|decision| Variable::of(decision, built.environment.get(&decision.name)))
            .collect(),
        dropped: dropped.into_iter().map(|decision| Variable::of(decision, None)).collect(),
    })?;
    Ok(Exit::Success)
}

#[derive(Serialize)]
struct Reason {
    #[serde(flatten)]
    variable: Variable,
    /// Whether this host has it.
    set: bool,
    /// Whether the child gets it.
    passed: bool,
    /// What to write to change that.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    passes_with: Vec<String>,
}

fn explain_json(explained: &environment::Explained, set: bool) -> Result<Exit, Failure> {
    output::json(&Reason {
        variable: Variable::of(&explained.decision, None),
        set,
        passed: explained.given,
        passes_with: passes_with(&explained.decision),
    })?;
    Ok(status(explained))
}

fn explain(explained: &environment::Explained, set: bool) -> Result<Exit, Failure> {
    let decision = &explained.decision;
    let name = inert(&decision.name);
    let verdict = match (explained.given, decision.verdict()) {
        (true, _) => "is passed",
        (false, Verdict::Passed) => "would be passed, but is not set on this host",
        (false, Verdict::Dropped) => "is not passed",
    };
    let mut text = format!("{name} {verdict}: {}\n", decision.rule);
    if !set && decision.verdict() == Verdict::Dropped {
        text.push_str("It is not set on this host.\n");
    }
    for way in passes_with(decision) {
        text.push_str(&format!("To pass it: {way}\n"));
    }
    output::text(&text)?;
    Ok(status(explained))
}

fn status(explained: &environment::Explained) -> Exit {
    if explained.given { Exit::Success } else { Exit::Found }
}

/// The ways to get a variable into a child that does not get it.
fn passes_with(decision: &Decision) -> Vec<String> {
    if decision.verdict() == Verdict::Passed {
        return Vec::new();
    }
    let name = inert(&decision.name);
    let mut ways = match &decision.rule {
        Rule::WishedButNotSet(_) => {
            return vec![format!("set {name} on this host, or write --env {name}=VALUE")];
        }
        Rule::ProviderCredential(provider) => vec![format!("--inherit-credentials {provider}")],
        _ => Vec::new(),
    };
    ways.push(format!("--env {name}"));
    ways.push(format!("pass = [\"{name}\"] in [sandbox.env] of config.toml"));
    ways
}
