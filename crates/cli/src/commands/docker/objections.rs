//! What speaks against the options, as far as the machine has to be looked at: mounts and variables.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use cofferdam_docker::options::{Mount, Source, Variable, holds_an_engine};
use cofferdam_policy::environment::{
    self, HostEnvironment, Origin, ProviderVariables, Request, Rule, Trust, Wish,
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

/// Why a variable would undo the wiring or carry a credential.
pub fn to_variable(variable: &Variable, registry: &Registry) -> Option<String> {
    let name = OsString::from(&variable.name);
    let own = std::env::var_os(&name);
    let value = variable.value.clone().map(OsString::from).or_else(|| own.clone()).unwrap_or_default();
    let shown = crate::output::inert(&name);
    let refused = |why: &str| Some(format!("-e {shown} is refused: {why}"));
    let wish = match &variable.value {
        Some(value) => Wish::set(&name, value, Origin::CommandLine),
        None => Wish::pass(&name, Origin::CommandLine),
    };
    match wish {
        Ok(wish) if environment::undoes(&wish, own.as_deref()) => {
            return refused("it would lead a runtime past the proxy, or make it trust somebody else");
        }
        Ok(_) => {}
        Err(error) => return refused(&error.to_string()),
    }
    // Judged as if the machine had it: what would not be inherited is not handed over either.
    let host = HostEnvironment::new([(name.clone(), value)]);
    let request = Request::plain(Trust::Unknown);
    match environment::explain(&name, &host, &request, &ProviderVariables::new(registry)).decision.rule {
        Rule::ProviderCredential(provider) => {
            refused(&format!("it is the credential of {provider}, which stays outside"))
        }
        Rule::CredentialName(_) | Rule::CredentialValue(_) => refused("it is, or looks like, a credential"),
        _ => None,
    }
}
