//! The environment of a child, built from nothing.
//!
//! [`build`] is the one function that makes a [`ChildEnvironment`]. It starts empty and lets variables in, one
//! rule at a time; what no rule lets in stays out. The rules that name what *must* stay out (credentials, code
//! that runs on start, sockets) come before the allowlist, so that a mistake in the allowlist cannot undo them,
//! and so that a person who asks gets the real reason rather than "not on the list".
//!
//! A list of prefixes that pass was rejected: `NODE_` would have let `NODE_OPTIONS` in.

mod bucket;
mod child;
mod credential_name;
mod credential_value;
mod decision;
mod host;
mod operational;
mod providers;
mod request;
mod takeover;
mod wiring;

pub use child::ChildEnvironment;
pub use credential_name::NamePattern;
pub use credential_value::ValueShape;
pub use decision::{Decision, Rule, Verdict};
pub use host::HostEnvironment;
pub use operational::Purpose;
pub use providers::{Holds, ProviderVariables};
pub use request::{BadName, Credentials, Fixed, Origin, Request, Trust, Wish};
pub use takeover::Takeover;
pub use wiring::{JAVA_STORE_PASSWORD, Wiring, undoes};

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use bucket::Bucket;

/// An environment, and why each variable is or is not in it.
pub struct Built {
    pub environment: ChildEnvironment,
    /// One for every variable of the host and of the request, by name.
    pub decisions: Vec<Decision>,
}

/// Builds the environment of one child. Pure, and without a pattern engine: it is on the way of every start.
pub fn build(host: &HostEnvironment, request: &Request<'_>, providers: &ProviderVariables<'_>) -> Built {
    let judge = Judge { host, request, providers, bucket: bucket::of(request.trust) };
    let mut variables = BTreeMap::new();
    let mut decisions = Vec::new();
    for name in judge.names() {
        let mut judged = judge.judge(name);
        if let Some(value) = judged.value.take() {
            variables.insert(name.to_owned(), value.into_owned());
        }
        decisions.push(judged.into_decision(name));
    }
    assure_utf8(&mut variables, &mut decisions);
    decisions.sort_by(|one, other| one.name.cmp(&other.name));
    Built { environment: ChildEnvironment::of(variables), decisions }
}

/// The variables that hold a credential, by their names or by their values, and these values. For one who asks nothing else
/// of an environment: no environment is built, and no reason is given.
pub fn credentials<'h>(
    host: &'h HostEnvironment,
    providers: &ProviderVariables<'_>,
) -> impl Iterator<Item = (&'h OsStr, &'h OsStr)> {
    host.iter().filter(|(name, value)| {
        let capitals = name.as_bytes().to_ascii_uppercase();
        sign_of_credential(providers, name, &capitals, Some(value)).is_some()
    })
}

/// What would happen to one variable.
pub struct Explained {
    pub decision: Decision,
    /// Whether the child gets it; a variable that may pass but is not set is not given.
    pub given: bool,
}

/// Says what would happen to one variable, whether or not the host has it.
pub fn explain(
    name: &OsStr,
    host: &HostEnvironment,
    request: &Request<'_>,
    providers: &ProviderVariables<'_>,
) -> Explained {
    let built = build(host, request, providers);
    let given = built.environment.get(name).is_some();
    let decision = built.decisions.into_iter().find(|decision| decision.name == name).unwrap_or_else(|| {
        let judge = Judge { host, request, providers, bucket: bucket::of(request.trust) };
        judge.judge(name).into_decision(name)
    });
    Explained { decision, given }
}

/// What came of one variable.
struct Judged<'a> {
    rule: Rule,
    value: Option<Cow<'a, OsStr>>,
    credential: bool,
}

impl Judged<'_> {
    fn into_decision(self, name: &OsStr) -> Decision {
        Decision { name: name.to_owned(), rule: self.rule, credential: self.credential }
    }
}

/// A rule that spoke, with the value that the child gets by it.
type Ruled<'a> = (Rule, Option<Cow<'a, OsStr>>);

struct Judge<'a> {
    host: &'a HostEnvironment,
    request: &'a Request<'a>,
    providers: &'a ProviderVariables<'a>,
    bucket: Bucket,
}

impl<'a> Judge<'a> {
    fn names(&self) -> BTreeSet<&'a OsStr> {
        let wished = self.request.wishes.iter().map(Wish::name);
        let fixed = self.request.fixed.iter().map(Fixed::name);
        self.host.names().chain(wished).chain(fixed).collect()
    }

    /// The order is the policy: the product's own wiring, the user's own words, what belongs to a provider, what
    /// looks like a credential, what could take the child over, and only then the allowlist.
    fn judge(&self, name: &OsStr) -> Judged<'a> {
        let value = self.host.get(name);
        let capitals = name.as_bytes().to_ascii_uppercase();
        let sign = sign_of_credential(self.providers, name, &capitals, value);
        let (rule, value) = self
            .fixed(name)
            .or_else(|| self.wished(name, value))
            .or_else(|| self.inherited(name, value))
            .unwrap_or_else(|| match (takeover::of(&capitals), sign.clone()) {
                // That a proxy is named with a password in it is the lesser news.
                (Some(Takeover::Proxy), _) => (Rule::Takeover(Takeover::Proxy), None),
                (_, Some(sign)) => (sign, None),
                (Some(takeover), None) => (Rule::Takeover(takeover), None),
                (None, None) => self.allowed(name, value),
            });
        let given = |value: &OsStr| credential_value::shape(value.as_bytes()).is_some();
        let credential = sign.is_some() || rule.has_own_value() && value.as_deref().is_some_and(given);
        Judged { rule, value, credential }
    }

    fn fixed(&self, name: &OsStr) -> Option<Ruled<'a>> {
        let fixed = self.request.fixed.iter().rev().find(|fixed| fixed.name() == name)?;
        Some((Rule::SetByCofferdam, Some(Cow::Borrowed(fixed.value()))))
    }

    fn wished(&self, name: &OsStr, value: Option<&'a OsStr>) -> Option<Ruled<'a>> {
        if !self.bucket.wishes {
            return None;
        }
        let wish = self.request.wishes.iter().rev().find(|wish| wish.name() == name)?;
        Some(match (wish.value(), value) {
            (Some(own), _) => (Rule::SetByUser(wish.origin()), Some(Cow::Borrowed(own))),
            (None, Some(value)) => (Rule::PassedByUser(wish.origin()), Some(Cow::Borrowed(value))),
            (None, None) => (Rule::WishedButNotSet(wish.origin()), None),
        })
    }

    /// What the child gets because of the provider that it works for.
    fn inherited(&self, name: &OsStr, value: Option<&'a OsStr>) -> Option<Ruled<'a>> {
        let name = name.to_str()?;
        for (provider, holds) in self.providers.naming(name) {
            let rule = match holds {
                Holds::Credential if self.bucket.inherits(self.request, provider) => {
                    Rule::InheritedCredential(provider.to_owned())
                }
                Holds::BaseUrl if self.bucket.takes_base_url(self.request, provider) => {
                    if value.is_some_and(|value| credential_value::shape(value.as_bytes()).is_some()) {
                        return None;
                    }
                    Rule::BaseUrl(provider.to_owned())
                }
                _ => continue,
            };
            return Some((rule, value.map(Cow::Borrowed)));
        }
        None
    }

    fn allowed(&self, name: &OsStr, value: Option<&'a OsStr>) -> Ruled<'a> {
        if let Some((provider, _)) = name.to_str().and_then(|name| self.providers.naming(name).next()) {
            return (Rule::OtherBaseUrl(provider.to_owned()), None);
        }
        let Some(operational) = name.to_str().and_then(operational::find) else {
            return (Rule::NotOnAllowlist, None);
        };
        if !self.bucket.purposes.contains(&operational.purpose) {
            return (Rule::NotForThisChild(operational.purpose), None);
        }
        match value.map(|value| operational.admit(value)) {
            None => (Rule::Operational(operational.purpose), None),
            Some(Some(value)) => (Rule::Operational(operational.purpose), Some(value)),
            Some(None) => (Rule::UnfitValue(operational.purpose), None),
        }
    }
}

/// Names first: they tell more than a value, and most values are never looked at for long.
fn sign_of_credential(
    providers: &ProviderVariables<'_>,
    name: &OsStr,
    capitals: &[u8],
    value: Option<&OsStr>,
) -> Option<Rule> {
    let registered = name.to_str().and_then(|name| {
        let mut naming = providers.naming(name);
        naming.find(|(_, holds)| *holds == Holds::Credential).map(|(provider, _)| provider.to_owned())
    });
    if let Some(provider) = registered {
        return Some(Rule::ProviderCredential(provider));
    }
    if let Some(pattern) = credential_name::pattern(capitals) {
        return Some(Rule::CredentialName(pattern));
    }
    credential_value::shape(value?.as_bytes()).map(Rule::CredentialValue)
}

/// Programs that guess an encoding from an empty environment guess ASCII. A choice that the user made, whatever
/// it is, stays.
fn assure_utf8(variables: &mut BTreeMap<OsString, OsString>, decisions: &mut Vec<Decision>) {
    let assured: [(&[&str], &str, &str); 2] =
        [(&["PYTHONUTF8"], "PYTHONUTF8", "1"), (&["LC_ALL", "LC_CTYPE", "LANG"], "LANG", "C.UTF-8")];
    for (choices, name, value) in assured {
        if choices.iter().any(|choice| variables.contains_key(OsStr::new(choice))) {
            continue;
        }
        variables.insert(name.into(), value.into());
        decisions.retain(|decision| decision.name != name);
        decisions.push(Decision { name: name.into(), rule: Rule::Utf8, credential: false });
    }
}

#[cfg(test)]
mod tests;
