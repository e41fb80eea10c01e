//! The process inside the sandbox that works on files, and the way to it.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Mutex, PoisonError};

use cofferdam_exec_broker::message::{ErrorKind, Outcome, ToolError};
use cofferdam_exec_broker::{Client, Door, files};
use cofferdam_linux_sys::descriptors;
use serde_json::{Map, Value};

use crate::exit::Exit;
use crate::failure::Failure;

/// Where this program stands in the sandbox.
pub const PROGRAM: &str = "/cofferdam/bin/cofferdam";
/// The number that the door has in the process.
const DOOR: i32 = 3;

/// Serves by the door that was inherited.
pub fn serve() -> Result<Exit, Failure> {
    let door = descriptors::inherited(DOOR).map_err(|error| {
        Failure::new(Exit::Usage, format!("there is nobody to serve: {error}"))
            .hint("exec-code starts this by itself")
    })?;
    files::serve(door);
    Ok(Exit::Success)
}

/// The way in: started when it is needed first, and again if it was ended.
#[derive(Debug, Default)]
pub struct FileTools {
    door: Mutex<Option<OwnedFd>>,
    idle: Mutex<Vec<Client>>,
}

impl FileTools {
    /// Calls a tool. `start` starts the process with this as its door.
    pub fn call(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
        start: impl FnOnce(OwnedFd) -> std::io::Result<()>,
    ) -> Result<Value, ToolError> {
        let gone = || ErrorKind::Failed.with("the process that works on files was ended");
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut client = match idle {
            Some(client) => client,
            None => self.connect(start).map_err(|_| gone())?,
        };
        match client.call(tool, arguments) {
            Ok(response) => {
                self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(client);
                match response.outcome {
                    Outcome::Result(value) => Ok(value),
                    Outcome::Error(error) => Err(error),
                }
            }
            Err(_) => {
                // Not called again: it may have been done. The next call finds a new process.
                self.door.lock().unwrap_or_else(PoisonError::into_inner).take();
                self.idle.lock().unwrap_or_else(PoisonError::into_inner).clear();
                Err(gone())
            }
        }
    }

    fn connect(&self, start: impl FnOnce(OwnedFd) -> std::io::Result<()>) -> std::io::Result<Client> {
        let mut door = self.door.lock().unwrap_or_else(PoisonError::into_inner);
        if door.is_none() {
            let (theirs, ours) = Door::pair()?;
            start(theirs.into_inner())?;
            *door = Some(ours);
        }
        match door.as_ref() {
            Some(door) => Client::through(door.as_fd()),
            None => Err(std::io::Error::other("there is no door")),
        }
    }
}
