//! On whose behalf something is started, as typed.

use clap::Args;

use super::approvals::KindArg;

#[derive(Debug, Default, Args)]
pub struct Behalf {
    /// An agent made this command up: judge it, and ask the person on the other side of such a session [default: the
    /// command is yours]
    #[arg(long, value_name = "KIND")]
    pub session_kind: Option<KindArg>,

    /// The session that approvals for a session hold for
    #[arg(long, value_name = "NAME", requires = "session_kind")]
    pub approval_session: Option<String>,
}
