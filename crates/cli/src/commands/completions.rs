//! `completions`.

use clap::CommandFactory;
use clap_complete::Shell as Generator;

use crate::args::{Args, CompletionsArgs, Shell};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;

pub fn run(args: &CompletionsArgs) -> Result<Exit, Failure> {
    let generator = match args.shell {
        Shell::Bash => Generator::Bash,
        Shell::Zsh => Generator::Zsh,
        Shell::Fish => Generator::Fish,
    };
    // Written to memory first: the generator panics when a pipe is closed.
    let mut script = Vec::new();
    clap_complete::generate(generator, &mut Args::command(), "cofferdam", &mut script);
    output::bytes(&script)?;
    Ok(Exit::Success)
}
