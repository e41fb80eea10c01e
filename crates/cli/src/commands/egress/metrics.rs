//! `egress metrics`.

use cofferdam_control::messages::egress::{Reply, Request};

use super::client::{Client, confused};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;
use crate::places::Places;

pub fn metrics() -> Result<Exit, Failure> {
    match Client::required(&Places::find()?)?.ask(Request::Metrics)? {
        Reply::Metrics(text) => output::text(&text).map(|()| Exit::Success),
        _ => Err(confused()),
    }
}
