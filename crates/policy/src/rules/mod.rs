//! Allow rules, compiled so that a question costs the same with ten rules and with a hundred thousand.
//!
//! A question walks down four steps: host, port, method, path. Each is a look-up by hash or in a tree, and
//! nothing is allocated on the way. A refusal names the furthest step that any rule reached, which is what a
//! person needs in order to mend the rules.

mod paths;

use std::collections::{BTreeMap, HashMap};

use crate::host::{Host, HostIndex, HostPattern};
use crate::method::Method;
use crate::path::{PathPattern, RequestPath};
use paths::Paths;

/// One allow rule: any of its hosts, at any of its ports, with any of its methods, on any of its paths.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllowRule {
    /// A host may carry a port of its own, which then stands for `ports`.
    pub hosts: Vec<(HostPattern, Option<u16>)>,
    pub ports: Vec<u16>,
    /// Empty: every method.
    pub methods: Vec<Method>,
    /// Empty: every path.
    pub paths: Vec<PathPattern>,
}

impl AllowRule {
    /// The ports of a rule that names none.
    pub const PORTS: [u16; 2] = [80, 443];

    /// Everything at one host, as `--allow HOST` and a provider in use mean it.
    pub fn whole_host(host: HostPattern, port: Option<u16>) -> Self {
        Self { hosts: vec![(host, port)], ports: Self::PORTS.into(), methods: Vec::new(), paths: Vec::new() }
    }
}

/// Compiled allow rules. Without a rule, nothing is allowed.
#[derive(Debug, Clone, Default)]
pub struct Rules {
    hosts: HostIndex<BTreeMap<u16, Methods>>,
}

/// What a request asks for.
#[derive(Debug, Clone, Copy)]
pub struct Question<'q> {
    pub host: &'q Host,
    pub port: u16,
    pub method: &'q str,
    /// `None` for a path that servers may read differently: only a rule without `paths` allows it, because
    /// such a rule has nothing that could be slipped past (`npm` asks for `/@scope%2fname`).
    pub path: Option<&'q RequestPath<'q>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// By the rule at this place of the list.
    Allowed {
        rule: usize,
    },
    Refused(Refusal),
}

/// The step at which the best rule failed, the furthest last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Refusal {
    Host,
    Port,
    Method,
    Path,
}

#[derive(Debug, Clone, Default)]
struct Methods {
    every: Option<Box<Paths>>,
    named: HashMap<Box<str>, Paths>,
}

impl Rules {
    pub fn compile(rules: &[AllowRule]) -> Self {
        let mut compiled = Self::default();
        for (index, rule) in rules.iter().enumerate() {
            for (pattern, own_port) in &rule.hosts {
                let ports = compiled.hosts.entry(pattern);
                for port in own_port.as_ref().map_or(&*rule.ports, std::slice::from_ref) {
                    ports.entry(*port).or_default().add(rule, index);
                }
            }
        }
        compiled
    }

    /// Judges a request.
    pub fn check(&self, question: &Question<'_>) -> Verdict {
        let mut furthest = Refusal::Host;
        for ports in self.hosts.matching(question.host) {
            match check_at(ports, question) {
                Ok(rule) => return Verdict::Allowed { rule },
                Err(refusal) => furthest = furthest.max(refusal),
            }
        }
        Verdict::Refused(furthest)
    }

    /// Whether anything may be reached at this host and port: the question for a tunnel, whose requests are
    /// judged on their own.
    pub fn reaches(&self, host: &Host, port: u16) -> bool {
        self.hosts.matching(host).any(|ports| ports.contains_key(&port))
    }

    /// Whether anything may be reached at this host: the question for a name that is to be resolved.
    pub fn knows(&self, host: &Host) -> bool {
        self.hosts.matching(host).next().is_some()
    }
}

fn check_at(ports: &BTreeMap<u16, Methods>, question: &Question<'_>) -> Result<usize, Refusal> {
    let methods = ports.get(&question.port).ok_or(Refusal::Port)?;
    let mut refusal = Refusal::Method;
    for paths in methods.named.get(question.method).into_iter().chain(methods.every.as_deref()) {
        match paths.find(question.path) {
            Some(rule) => return Ok(rule),
            None => refusal = Refusal::Path,
        }
    }
    Err(refusal)
}

impl Methods {
    fn add(&mut self, rule: &AllowRule, index: usize) {
        if rule.methods.is_empty() {
            self.every.get_or_insert_default().add(&rule.paths, index);
        }
        for method in &rule.methods {
            self.named.entry(method.as_str().into()).or_default().add(&rule.paths, index);
        }
    }
}

#[cfg(test)]
mod tests;
