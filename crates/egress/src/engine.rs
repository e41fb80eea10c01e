//! What all connections of a proxy share.

use std::sync::{Arc, OnceLock};

use cofferdam_audit::event::EgressReason;
use cofferdam_audit::{Event, Recorder};
use cofferdam_linux_sys::sock_diag::SocketTable;

use crate::client::Client;
use crate::counts::Counts;
use crate::credentials::Credentials;
use crate::leaf::Leaves;
use crate::mint::Mints;
use crate::resolve::Names;
use crate::stand_in::StandInKey;
use crate::tokens::Tokens;

pub(crate) struct Engine {
    pub tokens: Tokens,
    pub credentials: Credentials,
    pub mints: Mints,
    pub stand_in_key: StandInKey,
    pub leaves: Leaves,
    pub names: Names,
    pub recorder: Arc<Recorder>,
    pub counts: Arc<Counts>,
    /// None inside where the kernel answers no questions about sockets.
    pub sockets: OnceLock<Option<SocketTable>>,
}

impl Engine {
    /// Who tells whose a connection is.
    pub fn sockets(&self) -> Option<&SocketTable> {
        self.sockets.get_or_init(|| SocketTable::open().ok()).as_ref()
    }

    /// What cannot be recorded does not happen, unless the user said otherwise.
    pub fn record(&self, client: &Client, event: impl Into<Event>) -> Result<(), EgressReason> {
        let event = event.into();
        if self.recorder.record(client.session.as_ref(), &event).is_err() {
            self.counts.count_unrecorded();
            return Err(EgressReason::RecordUnavailable);
        }
        self.counts.count(&event);
        if let Some(watcher) = &client.watcher {
            watcher.saw(&event);
        }
        Ok(())
    }
}
