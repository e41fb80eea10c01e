//! `man`.

use std::fs;
use std::io;
use std::path::Path;

use clap::{Command, CommandFactory};

use crate::args::{Args, ManArgs};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;

pub fn run(args: &ManArgs) -> Result<Exit, Failure> {
    let mut root = Args::command();
    // Gives every command the flags it inherits and the name it is called by.
    root.build();
    match &args.dir {
        None => output::bytes(&page(&root).map_err(|error| not_rendered(&error))?)?,
        Some(directory) => write_pages(&root, directory)?,
    }
    Ok(Exit::Success)
}

/// Writes the page of a command and of everything below it: `cofferdam-read-guard.1`.
fn write_pages(command: &Command, directory: &Path) -> Result<(), Failure> {
    let rendered = page(command).map_err(|error| not_rendered(&error))?;
    let file = directory.join(format!("{}.1", name(command)));
    fs::write(&file, rendered).map_err(|error| {
        Failure::new(Exit::Unavailable, format!("cannot write {}: {error}", file.display()))
            .hint("name a directory that exists and that you may write to")
    })?;
    command.get_subcommands().try_for_each(|command| write_pages(command, directory))
}

fn name(command: &Command) -> String {
    command.get_bin_name().unwrap_or(command.get_name()).replace(' ', "-")
}

fn page(command: &Command) -> io::Result<Vec<u8>> {
    let mut rendered = Vec::new();
    clap_mangen::Man::new(command.clone()).title(name(command)).render(&mut rendered)?;
    Ok(rendered)
}

fn not_rendered(error: &io::Error) -> Failure {
    Failure::new(Exit::Unavailable, format!("cannot render the manual: {error}"))
}
