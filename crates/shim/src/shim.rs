//! The whole program, on one page.

use alloc::vec::Vec;
use core::ffi::CStr;

use cofferdam_linux_sys::bare::{self, Given};

use crate::accounts::Account;
use crate::configuration::Configuration;
use crate::failure::Failure;
use crate::{becoming, environment, opt_out, target, text};

const ROOT: u32 = 0;

/// Becomes the tool; comes back only with the status of a failure.
pub fn run(given: &Given) -> i32 {
    let failure = call(given);
    failure.report();
    failure.status()
}

/// In this order: what is to be run is known and checked before anything is changed, and the last thing that happens
/// before the tool begins is the check that the change took hold.
fn call(given: &Given) -> Failure {
    let prepared = match prepare(given) {
        Ok(prepared) => prepared,
        Err(failure) => return failure,
    };
    let mut arguments: Vec<&CStr> = given.arguments.clone();
    if let Some(first) = arguments.first_mut() {
        *first = &prepared.target;
    }
    let environment: Vec<&CStr> = prepared.environment.iter().map(AsRef::as_ref).collect();
    let error = bare::replace_by(&prepared.target, &arguments, &environment);
    Failure::not_started(&prepared.target, error)
}

struct Prepared {
    target: alloc::ffi::CString,
    environment: Vec<alloc::borrow::Cow<'static, CStr>>,
}

fn prepare(given: &Given) -> Result<Prepared, Failure> {
    let name = called_as(given)?;
    let configuration = Configuration::read(name)?;
    target::check(&configuration.target)?;
    let unchanged = given.environment.iter().map(|word| (*word).into());
    // The real user, not the effective one: a set-user-ID bit on the shim makes nobody root.
    let caller = bare::user_identities().map_err(|error| Failure::kernel("ask who is calling", error))?;
    if caller.real != ROOT {
        becoming::without_raised_identity(caller)?;
        return Ok(Prepared { target: configuration.target, environment: unchanged.collect() });
    }
    if configuration.opt_out.as_deref().is_some_and(|name| opt_out::is_set(name, &given.environment)) {
        return Ok(Prepared { target: configuration.target, environment: unchanged.collect() });
    }
    let account = Account::find(&configuration.user)?;
    let environment = environment::of(&account, &given.environment);
    becoming::the_user(&account, configuration.mask)?;
    Ok(Prepared { target: configuration.target, environment })
}

/// The last part of the name that the program was called by.
fn called_as(given: &Given) -> Result<&'static str, Failure> {
    let typed = given.arguments.first().map(|word| word.to_bytes()).unwrap_or_default();
    let last = typed.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    text::file_name(last).ok_or_else(|| {
        Failure::new(
            "it was called without a name that a tool can have",
            "call it by the name it is installed under",
        )
    })
}
