//! `egress reload`.

use cofferdam_control::messages::egress::{Reply, Request};

use super::client::{Client, confused};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;
use crate::places::Places;

pub fn reload() -> Result<Exit, Failure> {
    match Client::required(&Places::find()?)?.ask(Request::Reload)? {
        Reply::Reloaded { notes } => {
            for note in notes {
                eprintln!("cofferdam: note: {note}");
            }
            output::text("the new configuration is in force\n")?;
            Ok(Exit::Success)
        }
        Reply::NotReloaded { mistakes } => {
            mistakes.iter().for_each(|mistake| eprintln!("{mistake}"));
            Err(Failure::new(
                Exit::Config,
                "the new configuration is not used; the old one is still in force",
            )
            .hint("`cofferdam config check` shows every mistake with a hint"))
        }
        _ => Err(confused()),
    }
}
