//! `cofferdam`: the place where AI agents work, and where the keys are not.
//!
//! The program on one page: what was typed becomes [`args::Args`], the command's own file in [`commands`]
//! does the work, and whatever happens ends in one [`exit::Exit`].

mod admission;
mod args;
mod caller;
mod clientele;
mod commands;
mod daemon;
mod exit;
mod failure;
mod gatekeeper;
mod known_secrets;
mod outlet;
mod output;
mod own_socket;
mod places;
mod proxy_parts;
mod secret_sources;
mod settings;
mod terminal;
mod waiting;

use cofferdam_linux_sys::{ending, hardening};

use exit::Exit;

fn main() -> ! {
    ending::at_once(whole().status())
}

/// All of it, from what was typed to how it ends.
fn whole() -> Exit {
    // Before anything is read: from here on no other process of the user can look into this one. What the
    // kernel refused is told by the commands that report protection.
    hardening::apply();
    end_at_a_panic();
    let begun = commands::begin();
    let args = match args::parse() {
        Ok(args) => args,
        Err(exit) => return exit,
    };
    match commands::run(args, begun) {
        Ok(exit) => exit,
        Err(failure) => failure.report(),
    }
}

/// A mistake of our own ends the whole process and not one of its threads: a daemon without the thread that writes its
/// record would go on with less than it promises. Only the parsers of the gate may fail by themselves.
fn end_at_a_panic() {
    let tell = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        tell(panic);
        std::process::abort();
    }));
}
