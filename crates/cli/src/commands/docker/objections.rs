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
use cofferdam_sandbox::search::{self, Bounds};
use cofferdam_sandbox::survey::Machine;

use crate::places::Places;

/// What packages put there is the same on every machine.
const SOFTWARE: &[&str] = &["/usr", "/nix/store"];

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

/// The first secret in a directory, or the first socket. A container sees a directory whole: nothing in it can be hidden.
/// Trees that belong to the machine's software hold none.
fn inside(directory: &Path) -> Option<(String, &'static str)> {
    if SOFTWARE.iter().any(|software| directory.starts_with(software)) {
        return None;
    }
    let found = search::search(&Machine::look(), directory, Bounds::WORKSPACE);
    let shown = |path: &Path| crate::output::inert(path.strip_prefix(directory).unwrap_or(path).as_os_str());
    let secret = found.secrets.first().map(|path| {
        let name = path.file_name().unwrap_or_default();
        let kind = kind_of_name(name).or_else(|| kind_of_path(path));
        (shown(path), kind.map_or("what looks like a key", |kind| kind.description()))
    });
    secret.or_else(|| found.sockets.first().map(|path| (shown(path), "a way to a service of the machine")))
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
