//! The variables of a container, computed once: the engine keeps them, and whatever is started in the container later
//! has the same.

use std::ffi::{OsStr, OsString};

use cofferdam_control::messages::egress::Opened;
use cofferdam_docker::options::{Judged, Variable};
use cofferdam_docker::plan::{self, Image, Way};
use cofferdam_policy::environment::Wiring;

use crate::exit::Exit;
use crate::failure::Failure;

/// As the lines of an engine's file of variables: what was typed, then tokens, then the wiring, of which the later
/// counts.
pub fn of_container(
    (judged, image): (&Judged, &Image),
    opened: &Opened,
    way: Way,
) -> Result<String, Failure> {
    let mut lines = String::new();
    let mut add = |name: &str, value: &OsStr| {
        let value = value.to_str().filter(|value| !value.contains(['\n', '\0'])).ok_or_else(|| {
            Failure::new(Exit::Usage, format!("the value of {name} has a line break or is no text"))
                .hint("put it into a file that is mounted in")
        })?;
        lines += &format!("{name}={value}\n");
        Ok::<(), Failure>(())
    };
    for Variable { name, value } in &judged.variables {
        // As with the engines: a variable that the caller does not have is not there.
        if let Some(value) = value.clone().map(OsString::from).or_else(|| std::env::var_os(name)) {
            add(name, &value)?;
        }
    }
    for (name, token) in &opened.tokens {
        add(name, OsStr::new(&token.0))?;
    }
    let bundle = format!("{}/{}", plan::INSIDE, plan::BUNDLE);
    let store = format!("{}/{}", plan::INSIDE, plan::JAVA_STORE);
    let proxy = way.proxy();
    let wiring = Wiring { proxy: &proxy, bundle: &bundle, java_store: &store };
    let wired = wiring.variables(|name| own(name, judged, image));
    for fixed in wired.map_err(|error| Failure::new(Exit::NotStarted, error.to_string()))? {
        add(&fixed.name().to_string_lossy(), fixed.value())?;
    }
    Ok(lines)
}

/// What was typed for a variable that is appended to, or what the image has.
fn own<'a>(name: &str, judged: &'a Judged, image: &'a Image) -> Option<&'a OsStr> {
    let typed = judged.variables.iter().rev().find(|variable| variable.name == name);
    let of_image = || image.environment.iter().find_map(|word| word.strip_prefix(name)?.strip_prefix('='));
    typed.and_then(|variable| variable.value.as_deref()).or_else(of_image).map(OsStr::new)
}
