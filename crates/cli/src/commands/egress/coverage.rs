//! Which credentials of the environment the proxy can stand in for, and which it cannot.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStringExt;

use cofferdam_policy::document::Config;
use cofferdam_policy::environment::{self, HostEnvironment, ProviderVariables, Request, Rule, Trust};
use cofferdam_policy::provider::{Kind, Provider};
use cofferdam_policy::registry::Registry;
use serde::Serialize;
use zeroize::Zeroizing;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;
use crate::proxy_parts;

/// A credential that is set here and that no provider stands in for. Its name, never its value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Uncovered {
    pub variable: String,
    pub provider: Option<String>,
    pub weight: Weight,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Weight {
    /// Of a language model: the start is refused.
    Refuses,
    /// Of a cloud, or of nobody knows whom.
    Warns,
}

/// Everything in this environment that is or looks like a credential and is not covered, by name.
pub fn uncovered(config: &Config) -> Vec<Uncovered> {
    let registry = proxy_parts::registry(config);
    let host = HostEnvironment::new(std::env::vars_os());
    let built =
        environment::build(&host, &Request::plain(Trust::Unknown), &ProviderVariables::new(&registry));
    let set = |name: &OsStr| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let mut uncovered = Vec::new();
    for decision in built.decisions.iter().filter(|decision| decision.credential && set(&decision.name)) {
        let variable = output::inert(&decision.name);
        let providers: Vec<&Provider> = registry.by_variable(&variable).collect();
        if providers.iter().any(|provider| !provider.hosts.is_empty()) {
            continue;
        }
        // Only its name or value looks like one: worth a word, and nothing that could be refused for.
        let unknown = matches!(decision.rule, Rule::CredentialName(_) | Rule::CredentialValue(_));
        if providers.is_empty() && !unknown {
            continue;
        }
        let by_value = providers.is_empty().then(|| model_of_value(&registry, &decision.name)).flatten();
        let refuses = by_value.is_some() || providers.iter().any(|provider| provider.kind == Kind::Model);
        let weight = if refuses { Weight::Refuses } else { Weight::Warns };
        let provider = by_value.or(providers.first().copied()).map(|provider| provider.name.to_string());
        uncovered.push(Uncovered { variable, provider, weight });
    }
    uncovered
}

/// The model whose keys begin as this variable's value does, unless a variable that is covered holds the same one.
fn model_of_value<'r>(registry: &'r Registry, name: &OsStr) -> Option<&'r Provider> {
    let value = Zeroizing::new(std::env::var_os(name)?.into_vec());
    let holds_it = |variable: &str| {
        std::env::var_os(variable).is_some_and(|other| *Zeroizing::new(other.into_vec()) == *value)
    };
    let mut covered = registry.iter().filter(|provider| !provider.hosts.is_empty());
    if covered.any(|provider| provider.variables.iter().any(|variable| holds_it(variable))) {
        return None;
    }
    let begins = |provider: &&Provider| {
        let prefix = &provider.token.prefix;
        // What is shorter, or a word of its own, others begin with as well.
        prefix.len() >= 4 && prefix.ends_with(['-', '_']) && value.starts_with(prefix.as_bytes())
    };
    let models = registry.iter().filter(|provider| provider.kind == Kind::Model);
    models.filter(begins).max_by_key(|provider| provider.token.prefix.len())
}

/// Says what is not covered, and refuses to go on where that is for a language model.
pub fn require(config: &Config) -> Result<(), Failure> {
    let (refusing, warning): (Vec<Uncovered>, Vec<Uncovered>) =
        uncovered(config).into_iter().partition(|uncovered| uncovered.weight == Weight::Refuses);
    for uncovered in &warning {
        eprintln!("cofferdam: warning: {} is set, and no provider covers it", uncovered.variable);
    }
    let names: Vec<&str> = refusing.iter().map(|uncovered| uncovered.variable.as_str()).collect();
    if names.is_empty() {
        return Ok(());
    }
    let names = names.join(", ");
    if !config.egress.fail_on_uncovered_providers {
        eprintln!("cofferdam: warning: {names}: set, of a language model, and not covered");
        return Ok(());
    }
    Err(Failure::new(Exit::Config, format!("no provider covers {names}, which is set here"))
        .hint("add a [[provider]] for it, or unset it")
        .hint("`fail_on_uncovered_providers = false` in the section [egress] makes this a warning"))
}
