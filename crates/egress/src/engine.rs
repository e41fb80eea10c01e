//! What all connections of a proxy share.

use std::sync::Arc;

use arc_swap::ArcSwap;

use crate::credentials::Credentials;
use crate::leaf::Leaves;
use crate::ledger::Ledger;
use crate::policy::Policy;
use crate::pool::Pool;
use crate::resolve::Names;
use crate::tokens::Tokens;

pub(crate) struct Engine {
    pub policy: ArcSwap<Policy>,
    pub tokens: Tokens,
    pub credentials: Credentials,
    pub leaves: Leaves,
    pub names: Names,
    pub pool: Arc<Pool>,
    pub ledger: Arc<Ledger>,
}

impl Engine {
    /// The policy as it is now; a request keeps the one it was judged by.
    pub fn policy(&self) -> Arc<Policy> {
        self.policy.load_full()
    }
}
