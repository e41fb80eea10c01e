//! What all connections of a proxy share.

use std::sync::Arc;

use arc_swap::ArcSwap;
use cofferdam_audit::event::EgressReason;
use cofferdam_audit::{Event, Recorder};

use crate::client::Client;
use crate::credentials::Credentials;
use crate::leaf::Leaves;
use crate::mint::Mints;
use crate::policy::Policy;
use crate::pool::Pool;
use crate::resolve::Names;
use crate::stand_in::StandInKey;
use crate::tokens::Tokens;

pub(crate) struct Engine {
    pub policy: ArcSwap<Policy>,
    pub tokens: Tokens,
    pub credentials: Credentials,
    pub mints: Mints,
    pub stand_in_key: StandInKey,
    pub leaves: Leaves,
    pub names: Names,
    pub pool: Arc<Pool>,
    pub recorder: Arc<Recorder>,
}

impl Engine {
    /// The policy as it is now; a request keeps the one it was judged by.
    pub fn policy(&self) -> Arc<Policy> {
        self.policy.load_full()
    }

    /// What cannot be recorded does not happen, unless the user said otherwise.
    pub fn record(&self, client: &Client, event: impl Into<Event>) -> Result<(), EgressReason> {
        match self.recorder.record(client.session.as_ref(), &event.into()) {
            Ok(_) => Ok(()),
            Err(_) => Err(EgressReason::RecordUnavailable),
        }
    }
}
