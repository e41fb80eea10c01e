//! What speaks against the options, as far as the machine has to be looked at: mounts and variables.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use cofferdam_docker::options::{Mount, Source, Variable, holds_an_engine};
use cofferdam_policy::environment::{
    self, HostEnvironment, ProviderVariables, Purpose, Request, Rule, Trust,
};
use cofferdam_policy::registry::Registry;
use cofferdam_policy::secret_paths::{kind_of_name, kind_of_path};

use crate::places::Places;

/// Names at the top of a mounted directory that are looked at; more than anybody has there.
const LOOKED_AT: usize = 10_000;

/// Why a mount would hand over more than files to work on.
pub fn to_mount(mount: &Mount, places: &Places) -> Option<String> {
    let Source::Path(path) = &mount.source else { return None };
    let shown = crate::output::inert(path.as_os_str());
    let refused = |why: &str| Some(format!("the mount of {shown} is refused: {why}"));
    // What is not there yet is made by the engine, as an empty directory.
    let Ok(real) = fs::canonicalize(path) else { return None };
    if holds_an_engine(&real) {
        return refused("it is, or holds, a part of the machine that leads out of any container");
    }
    if [&places.config, &places.state, &places.runtime]
        .iter()
        .any(|own| own.starts_with(&real) || real.starts_with(own))
    {
        return refused("Cofferdam's own files are there");
    }
    if let Some(kind) = kind_of_path(&real) {
        return refused(&format!("it holds {}", kind.description()));
    }
    let Ok(metadata) = fs::metadata(&real) else { return refused("it cannot be looked at") };
    if !metadata.is_file() && !metadata.is_dir() {
        let what = if metadata.file_type().is_socket() {
            "a socket leads to a service of the machine"
        } else {
            "it is a device"
        };
        return refused(what);
    }
    inside(&real).and_then(|(name, what)| refused(&format!("{name} in it holds {what}")))
}

/// The first secret at the top of a directory. A container sees a directory whole: nothing in it can be hidden.
fn inside(directory: &Path) -> Option<(String, &'static str)> {
    let entries = fs::read_dir(directory).ok()?.flatten().take(LOOKED_AT);
    entries.into_iter().find_map(|entry| {
        let name = entry.file_name();
        let kind = kind_of_name(&name).or_else(|| kind_of_path(&entry.path()))?;
        Some((crate::output::inert(&name), kind.description()))
    })
}

/// Why a variable would undo the wiring or carry a credential, as the rules for a command that nobody knows see it.
pub fn to_variable(variable: &Variable, registry: &Registry) -> Option<String> {
    let name = OsString::from(&variable.name);
    let own = || std::env::var_os(&variable.name);
    let value = variable.value.clone().map(OsString::from).or_else(own).unwrap_or_default();
    let host = HostEnvironment::new([(name.clone(), value)]);
    let request = Request::plain(Trust::Unknown);
    let rule = environment::explain(&name, &host, &request, &ProviderVariables::new(registry)).decision.rule;
    let why = match rule {
        Rule::ProviderCredential(provider) => {
            format!("it is the credential of {provider}, which stays outside")
        }
        Rule::CredentialName(_) | Rule::CredentialValue(_) => "it is, or looks like, a credential".to_owned(),
        Rule::Takeover(takeover) => takeover.to_string(),
        Rule::Operational(Purpose::Roots)
        | Rule::UnfitValue(Purpose::Roots)
        | Rule::NotForThisChild(Purpose::Roots) => "every runtime must trust the same authority".to_owned(),
        _ => return None,
    };
    let shown = crate::output::inert(variable.name.as_ref());
    // Options for Node and Java are appended to, not replaced, and may be given.
    if matches!(variable.name.as_str(), "NODE_OPTIONS" | "JAVA_TOOL_OPTIONS") {
        return None;
    }
    Some(format!("-e {shown} is refused: {why}"))
}
