//! The way to the running proxy.

use std::io;

use cofferdam_control::connection::{ConnectError, Connection};
use cofferdam_control::messages::egress;
use cofferdam_control::messages::{Refusal, Reply, Request};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::places::Places;

pub struct Client(Connection);

impl Client {
    pub fn connect(places: &Places) -> Result<Self, ConnectError> {
        Connection::open(&places.runtime).map(Self)
    }

    /// The same for commands that make no sense without it.
    pub fn required(places: &Places) -> Result<Self, Failure> {
        Self::connect(places).map_err(|error| unreachable(&error))
    }

    /// The answer; a refusal is a failure.
    pub fn ask(&self, request: egress::Request) -> Result<egress::Reply, Failure> {
        match self.0.ask(&Request::Egress(request), &[]).map_err(|error| lost(&error))? {
            (Reply::Egress(reply), _) => Ok(reply),
            (Reply::Refused(Refusal::Failed(sentence)), _) => Err(Failure::new(Exit::Unavailable, sentence)),
            (Reply::Refused(Refusal::Unavailable), _) => {
                Err(Failure::new(Exit::Unavailable, "the proxy is being started again")
                    .hint("try again in a moment; `cofferdam egress status` tells more"))
            }
            (Reply::Refused(Refusal::NotUnderstood), _) => Err(confused()),
        }
    }
}

/// An answer that does not belong to the question.
pub fn confused() -> Failure {
    Failure::new(Exit::Unavailable, "the proxy did not understand")
        .hint("it may have been started by another version: `cofferdam egress restart`")
}

pub fn unreachable(error: &ConnectError) -> Failure {
    let failure = Failure::new(Exit::Unavailable, error.to_string());
    match error {
        ConnectError::NotRunning => failure.hint("start it: cofferdam egress start"),
        ConnectError::OtherVersion(_) => failure.hint("start it again: cofferdam egress restart"),
        _ => failure,
    }
}

fn lost(error: &io::Error) -> Failure {
    Failure::new(Exit::Unavailable, format!("the proxy did not answer: {error}"))
        .hint("`cofferdam egress status` tells more")
}
