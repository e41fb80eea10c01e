//! `egress rotate-ca`.

use cofferdam_audit::Label;
use cofferdam_audit::event::{AuthorityChange, AuthorityChanged};
use cofferdam_egress::Authority;

use super::setup;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;
use crate::proxy_parts;
use crate::settings::Settings;

pub fn rotate_ca() -> Result<Exit, Failure> {
    let settings = Settings::load()?;
    let authority = Authority::rotate(&settings.places.authority())
        .map_err(|error| Failure::new(Exit::Unavailable, error.to_string()).hint(error.hint()))?;
    let fingerprint = authority.fingerprint();
    let recorder = proxy_parts::recorder(&settings.places, &settings.config)?;
    let event = AuthorityChanged { change: AuthorityChange::Rotated, fingerprint: Label::new(&fingerprint) };
    // Where going on without a record is allowed, the next one says that it is missing.
    let _ = recorder.record(None, &event.into())?;
    setup::tell_daemon(&settings);
    let certificate = settings.places.authority().join("ca.crt");
    output::text(&format!(
        "{fingerprint} signs now.\nSandboxes that run trust it already. Clients that were given {} by hand need\n\
         the new file before the next rotation.\n",
        certificate.display()
    ))?;
    Ok(Exit::Success)
}
