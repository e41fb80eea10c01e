//! Three layers of policy, and what each may do to the one before.
//!
//! 1. The user's configuration says what is allowed.
//! 2. The project's file only narrows it, because whatever runs in the workspace can write that file: its allow
//!    list is intersected with the user's, its hidden paths are added, of two limits the lower holds, of two
//!    profiles the stricter. Hosts of providers in use are not its business either way.
//! 3. What the person types for one run is the person's own word, and may widen again.
//!
//! A project's host counts only where the user's rules allow it too; a typed one counts by itself.

use std::time::Duration;

use crate::document::{Config, EgressLimits, Profile, Project, SandboxLimits};
use crate::host::Host;
use crate::rules::{AllowRule, Question, Refusal, Rules, Verdict};

/// What was typed for one run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunOptions {
    /// Added to what the layers below allow.
    pub allow: Vec<AllowRule>,
    pub profile: Option<Profile>,
    /// Added to what the layers below hide.
    pub hide: Vec<String>,
    /// Each that is given stands for the one below, higher or lower.
    pub limits: SandboxLimits,
}

/// A configuration as it holds for one run.
#[derive(Debug, Clone, PartialEq)]
pub struct Layered {
    pub config: Config,
    project_allow: Option<Vec<AllowRule>>,
    run_allow: Vec<AllowRule>,
}

impl Layered {
    pub fn new(config: Config) -> Self {
        Self { config, project_allow: None, run_allow: Vec::new() }
    }

    /// Lets a project narrow the configuration. Paths that it hides must have been made absolute by the
    /// caller, because they lie beside the project's file and not beside the user's.
    #[must_use]
    pub fn narrow(mut self, project: Project) -> Self {
        let Project { allow, egress_limits, profile, hide, sandbox_limits } = project;
        self.project_allow = allow;
        self.config.egress.limits = self.config.egress.limits.lower_of(egress_limits);
        let sandbox = &mut self.config.sandbox;
        sandbox.profile = profile.map_or(sandbox.profile, |profile| profile.min(sandbox.profile));
        sandbox.hide.extend(hide);
        sandbox.limits = sandbox.limits.lower_of(sandbox_limits);
        self
    }

    /// Puts what was typed over everything else.
    #[must_use]
    pub fn overridden_by(mut self, run: RunOptions) -> Self {
        let RunOptions { allow, profile, hide, limits } = run;
        self.run_allow.extend(allow);
        let sandbox = &mut self.config.sandbox;
        sandbox.profile = profile.unwrap_or(sandbox.profile);
        sandbox.hide.extend(hide);
        sandbox.limits = limits.or(sandbox.limits);
        self
    }

    /// Compiles the allow lists. `providers` are the rules of the providers in use.
    pub fn reach(&self, providers: &[AllowRule]) -> Reach {
        Reach {
            granted: Rules::compile(&[providers, &self.run_allow].concat()),
            user: Rules::compile(&self.config.egress.allow),
            project: self.project_allow.as_deref().map(Rules::compile),
        }
    }
}

/// What may be reached: granted by a provider in use or by what was typed, or else by the user's rules as far
/// as the project's let them.
#[derive(Debug, Clone, Default)]
pub struct Reach {
    granted: Rules,
    user: Rules,
    project: Option<Rules>,
}

/// Who allowed a request, and by which rule of the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grant {
    /// Providers first, then typed rules, in the order in which they were given.
    Run {
        rule: usize,
    },
    User {
        rule: usize,
    },
}

/// Which layer refused, and at which step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refused {
    /// No rule of the user's; the project was not asked.
    User(Refusal),
    /// The user's rules allow it, the project's do not.
    Project(Refusal),
}

impl Reach {
    pub fn check(&self, question: &Question<'_>) -> Result<Grant, Refused> {
        let granted = match self.granted.check(question) {
            Verdict::Allowed { rule } => return Ok(Grant::Run { rule }),
            Verdict::Refused(refusal) => refusal,
        };
        let rule = match self.user.check(question) {
            Verdict::Allowed { rule } => rule,
            Verdict::Refused(refusal) => return Err(Refused::User(refusal.max(granted))),
        };
        match self.project.as_ref().map(|project| project.check(question)) {
            Some(Verdict::Refused(refusal)) => Err(Refused::Project(refusal)),
            _ => Ok(Grant::User { rule }),
        }
    }

    /// Whether a tunnel to this host and port may be opened. A request inside may still be refused.
    pub fn reaches(&self, host: &Host, port: u16) -> bool {
        let project = || self.project.as_ref().is_none_or(|project| project.reaches(host, port));
        self.granted.reaches(host, port) || (self.user.reaches(host, port) && project())
    }

    /// Whether this name may be resolved.
    pub fn knows(&self, host: &Host) -> bool {
        let project = || self.project.as_ref().is_none_or(|project| project.knows(host));
        self.granted.knows(host) || (self.user.knows(host) && project())
    }
}

impl EgressLimits {
    fn lower_of(self, other: Self) -> Self {
        Self {
            requests_per_minute: lower(self.requests_per_minute, other.requests_per_minute),
            concurrent_requests: lower(self.concurrent_requests, other.concurrent_requests),
            connections: lower(self.connections, other.connections),
            provider_requests_per_minute: lower(
                self.provider_requests_per_minute,
                other.provider_requests_per_minute,
            ),
            provider_concurrent_requests: lower(
                self.provider_concurrent_requests,
                other.provider_concurrent_requests,
            ),
            bytes_per_minute: lower(self.bytes_per_minute, other.bytes_per_minute),
            request_body: lower(self.request_body, other.request_body),
            connect_timeout: lower(self.connect_timeout, other.connect_timeout),
            tls_timeout: lower(self.tls_timeout, other.tls_timeout),
            head_timeout: lower(self.head_timeout, other.head_timeout),
            first_byte_timeout: lower(self.first_byte_timeout, other.first_byte_timeout),
            idle_timeout: lower(self.idle_timeout, other.idle_timeout),
        }
    }
}

impl SandboxLimits {
    fn lower_of(self, other: Self) -> Self {
        Self {
            memory: lower(self.memory, other.memory),
            processes: lower(self.processes, other.processes),
            cpu: lower(self.cpu, other.cpu),
            file_size: lower(self.file_size, other.file_size),
            wall: lower::<Duration>(self.wall, other.wall),
        }
    }

    fn or(self, below: Self) -> Self {
        Self {
            memory: self.memory.or(below.memory),
            processes: self.processes.or(below.processes),
            cpu: self.cpu.or(below.cpu),
            file_size: self.file_size.or(below.file_size),
            wall: self.wall.or(below.wall),
        }
    }
}

/// `None` is no limit, so any limit is lower.
fn lower<T: Ord>(left: Option<T>, right: Option<T>) -> Option<T> {
    match (left, right) {
        (Some(left), Some(right)) => Some(left.min(right)),
        (one, None) | (None, one) => one,
    }
}

#[cfg(test)]
mod tests;
