//! `soak`: the daemon under load and with faults, for as long as one likes.

use crate::failure::{Done, Failure};
use crate::process::Tool;
use crate::root::Root;

const MINUTES: u64 = 10;

#[derive(Debug, PartialEq, Eq)]
pub struct Options {
    minutes: u64,
}

impl Options {
    pub fn parse(arguments: &[&str]) -> Result<Self, Failure> {
        match arguments {
            [] => Ok(Self { minutes: MINUTES }),
            ["--minutes", number] => match number.parse() {
                Ok(minutes) => Ok(Self { minutes }),
                Err(_) => Err(Failure::new(format!("{number} is no number of minutes"))),
            },
            _ => Err(Failure::new("soak does not know this").hint("soak [--minutes N]")),
        }
    }
}

/// The same test that runs for one round with all others; here it goes round and round.
pub fn run(root: &Root, options: &Options) -> Done {
    Tool::cargo()
        .args(["test", "--package", "cofferdam", "--all-features", "--locked", "--test", "soak"])
        .args(["--", "--nocapture"])
        .env("COFFERDAM_SOAK_SECONDS", (60 * options.minutes).to_string())
        .within(root.path())
        .run()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_what_was_typed() {
        assert_eq!(Options::parse(&[]).unwrap(), Options { minutes: MINUTES });
        assert_eq!(Options::parse(&["--minutes", "3"]).unwrap(), Options { minutes: 3 });
        assert!(Options::parse(&["--minutes", "few"]).is_err());
        assert!(Options::parse(&["--hours", "3"]).is_err());
    }
}
