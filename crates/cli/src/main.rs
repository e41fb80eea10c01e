//! `cofferdam`: the place where AI agents work, and where the keys are not.
//!
//! The program on one page: what was typed becomes [`args::Args`], the command's own file in [`commands`]
//! does the work, and whatever happens ends in one [`exit::Exit`].

mod args;
mod commands;
mod exit;
mod failure;
mod output;
mod places;
mod settings;

use std::process::ExitCode;

fn main() -> ExitCode {
    let args = match args::parse() {
        Ok(args) => args,
        Err(exit) => return exit.into(),
    };
    match commands::run(args) {
        Ok(exit) => exit.into(),
        Err(failure) => failure.report().into(),
    }
}
