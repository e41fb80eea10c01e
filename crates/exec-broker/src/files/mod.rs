//! The tools that work on files. They run as a process inside the sandbox of the script, with its view and its
//! rights, so whatever a path leads to is what it leads to for the script itself.

mod diff;
mod guard;
mod patch;
mod read;
mod replace;
mod search;
mod write;

use std::os::fd::OwnedFd;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::door::Door;
use crate::message::{ErrorKind, ToolError};
use crate::peers::Peers;
use crate::serve::{Broker, Call, Tools};
use crate::tool::BuiltIn;

/// Bytes that the content of a result may have.
pub const MOST_CONTENT: usize = 100_000;

/// Serves whoever hands in a connection by this door, until nobody holds it any more.
pub fn serve(door: OwnedFd) {
    let granted = BuiltIn::ALL.into_iter().filter(|tool| tool.works_on_files()).map(BuiltIn::tool);
    // Who may call, and how often, was decided before it came here.
    let broker = Broker::new(granted, u64::MAX, Peers::Any, Box::new(Files));
    broker.serve_door(&Door::inherited(door));
}

/// The files that a diff would write or remove, for whoever has to be asked about it.
pub fn named_in_diff(diff: &str) -> Vec<String> {
    let files = diff::parse(diff).unwrap_or_default();
    files.into_iter().flat_map(|file| [file.old, file.new]).flatten().collect()
}

struct Files;

impl Tools for Files {
    fn call(&self, call: &Call<'_>, arguments: Map<String, Value>) -> Result<Value, ToolError> {
        match BuiltIn::named(&call.tool.name) {
            Some(BuiltIn::ReadFile) => read::read_file(&parsed(arguments)?),
            Some(BuiltIn::WriteFile) => write::write_file(&parsed(arguments)?),
            Some(BuiltIn::SearchFiles) => search::search_files(&parsed(arguments)?),
            Some(BuiltIn::Patch) => patch::patch(&parsed(arguments)?),
            _ => Err(ErrorKind::UnknownTool.with("this is no tool for files")),
        }
    }
}

fn parsed<T: DeserializeOwned>(arguments: Map<String, Value>) -> Result<T, ToolError> {
    serde_json::from_value(Value::Object(arguments))
        .map_err(|error| ErrorKind::BadArguments.with(error.to_string()))
}

/// A whole number may come with a point in it.
fn whole<'de, D: serde::Deserializer<'de>>(value: D) -> Result<Option<usize>, D::Error> {
    let number: Option<f64> = serde::Deserialize::deserialize(value)?;
    // Beyond what is exact nobody counts lines.
    Ok(number.map(|number| number as usize))
}

fn failed(what: &str, path: &str, error: &std::io::Error) -> ToolError {
    ErrorKind::Failed.with(format!("cannot {what} {path}: {error}"))
}
