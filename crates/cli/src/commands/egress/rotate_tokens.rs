//! `egress rotate-tokens`.

use std::time::{SystemTime, UNIX_EPOCH};

use cofferdam_audit::event::TokenChange;
use serde_json::json;

use super::setup;
use super::tokens::{self, Maker, Shown};
use crate::args::egress::EgressRotateTokens;
use crate::daemon::named_tokens;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;
use crate::secret_sources::SecretSources;
use crate::settings::Settings;
use crate::terminal;

const WORD: &str = "rotate";

pub fn rotate_tokens(args: &EgressRotateTokens) -> Result<Exit, Failure> {
    rotate(args.yes, args.json)
}

pub fn rotate(yes: bool, json: bool) -> Result<Exit, Failure> {
    let settings = Settings::load()?;
    let state = &settings.places.state;
    if named_tokens::read(state)?.is_empty() {
        output::text("there was nothing to rotate: no token was made yet\n")?;
        return Ok(Exit::Success);
    }
    confirm(yes)?;
    let sources = SecretSources::find()?;
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let backup = format!("tokens.json.{seconds}");
    let maker = Maker::new(&settings, &sources)?;
    let (count, made): (usize, Vec<Shown>) = named_tokens::change(state, Some(&backup), |tokens| {
        let mut made = Vec::new();
        for token in tokens.iter_mut() {
            let (new, shown) = maker.make(sources.named(&token.provider)?)?;
            *token = new;
            made.extend(shown);
        }
        Ok::<_, Failure>((tokens.len(), made))
    })?;
    setup::record(&settings, TokenChange::Rotated, count)?;
    setup::tell_daemon(&settings);
    let backup = state.join(backup).display().to_string();
    if json {
        output::json(&json!({ "tokens": made, "backup": backup }))?;
    } else {
        tokens::print(&made)?;
        output::text(&format!(
            "the list from before is in {backup}; its tokens are worth nothing any more\n"
        ))?;
    }
    Ok(Exit::Success)
}

/// Everybody who uses a token has to be given another one: that is typed, not hit by accident.
fn confirm(yes: bool) -> Result<(), Failure> {
    if yes {
        return Ok(());
    }
    if !terminal::is_interactive() {
        return Err(Failure::new(
            Exit::Usage,
            "nobody is there to be asked whether all tokens shall be replaced",
        )
        .hint("in a script: --yes"));
    }
    match setup::ask("All tokens are replaced, and those in use stop working. Type \u{201c}rotate\u{201d}: ")?
        .trim()
    {
        WORD => Ok(()),
        _ => Err(Failure::new(Exit::Denied, "nothing was changed")),
    }
}
