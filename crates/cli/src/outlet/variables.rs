//! The variables that a sealed sandbox is wired with, and those of the user's that would undo it.

use std::ffi::OsStr;
use std::path::Path;

use cofferdam_audit::Label;
use cofferdam_audit::event::{ChildKind, EnvironmentBuilt};
use cofferdam_policy::environment::{self, BadName, Built, Fixed, HostEnvironment, Verdict, Wiring, Wish};
use cofferdam_sandbox::{doors, layout};

use super::Outlet;
use crate::exit::Exit;
use crate::failure::Failure;

impl Outlet {
    /// What is set in the sandbox whatever anybody wishes: the wiring and the tokens.
    pub fn variables(&self, wishes: &[Wish], host: &HostEnvironment) -> Result<Vec<Fixed>, BadName> {
        let proxy = doors::PROXY.to_string();
        let wiring = Wiring { proxy: &proxy, bundle: layout::BUNDLE, java_store: layout::JAVA_STORE };
        // A user's own options are kept, ours come behind them.
        let own = |name: &str| {
            let wish = wishes.iter().rev().find(|wish| wish.name() == name)?;
            wish.value().or_else(|| host.get(OsStr::new(name)))
        };
        let mut fixed = wiring.variables(own)?;
        for (variable, token) in &self.opened.tokens {
            fixed.push(Fixed::new(variable, &token.0)?);
        }
        for file in &self.opened.files {
            let path = Path::new(super::FILES).join(&file.name);
            for variable in &file.variables {
                fixed.push(Fixed::new(variable, path.as_os_str())?);
            }
        }
        Ok(fixed)
    }

    /// The tokens themselves.
    pub fn tokens(&self) -> impl Iterator<Item = &str> {
        self.opened.tokens.iter().map(|(_, token)| token.0.as_str())
    }

    fn token_variables(&self) -> impl Iterator<Item = &str> {
        let of_files = self.opened.files.iter().flat_map(|file| file.variables.iter().map(String::as_str));
        self.opened.tokens.iter().map(|(name, _)| name.as_str()).chain(of_files)
    }

    /// Puts on record what the command is given: counts, and whose real credentials a person chose to hand down.
    pub fn record_environment(&self, built: &Built, inherited: &[String]) -> Result<(), Failure> {
        let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        let given = built.decisions.iter().filter(|decision| decision.verdict() == Verdict::Passed).count();
        let event = EnvironmentBuilt {
            bucket: ChildKind::Unknown,
            passed: count(given),
            stripped: count(built.decisions.len() - given),
            tokens: count(self.opened.tokens.len()),
            inherited_credentials: inherited.iter().map(Label::new).collect(),
        };
        match self.recorder.record(Some(&self.session), &event.into()) {
            Ok(_) => Ok(()),
            Err(error) => Err(Failure::new(Exit::NotStarted, error.to_string()).hint(error.fix())),
        }
    }

    /// Refuses a wish that would lead past the proxy, or put a real credential where a token belongs. Without
    /// enforcement the person is only told, and the wiring stands all the same.
    pub fn check(&self, wishes: &[Wish], host: &HostEnvironment, enforce: bool) -> Result<(), Failure> {
        for wish in wishes {
            let name = wish.name().to_string_lossy();
            let ours = self.token_variables().any(|variable| OsStr::new(variable) == wish.name());
            let sentence = if ours {
                format!("{name} would put a real key into the sandbox, where its token belongs")
            } else if environment::undoes(wish, host.get(wish.name())) {
                format!("{name} would lead the command past the egress proxy, or make it trust somebody else")
            } else {
                continue;
            };
            if enforce {
                return Err(Failure::new(Exit::Refused, sentence).hint(match ours {
                    true => {
                        "leave it out; --inherit-credentials PROVIDER hands the real key over, and says so"
                    }
                    false => "leave it out; the sandbox sets it",
                }));
            }
            eprintln!("cofferdam: warning: {sentence}; it is left out");
        }
        Ok(())
    }
}
