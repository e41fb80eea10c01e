//! Whether who speaks is a process of the script's sandbox.

use std::collections::HashSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::sync::{Mutex, OnceLock, PoisonError};

use crate::door::Sender;

/// Who may speak.
#[derive(Debug)]
pub enum Peers {
    /// Whoever holds a descriptor: where there is only one process on the other side.
    Any,
    /// Processes of this user in one other process namespace: that of the first that speaks.
    OneSandbox(Sandbox),
}

#[derive(Debug)]
pub struct Sandbox {
    user: u32,
    own: u64,
    theirs: OnceLock<u64>,
    /// Those that were looked at.
    known: Mutex<HashSet<i32>>,
}

impl Peers {
    pub fn one_sandbox() -> std::io::Result<Self> {
        Ok(Self::OneSandbox(Sandbox {
            user: rustix::process::getuid().as_raw(),
            own: fs::metadata("/proc/self/ns/pid")?.ino(),
            theirs: OnceLock::new(),
            known: Mutex::default(),
        }))
    }

    /// Whether the sender is one of them. A sender that cannot be looked at, because it has ended, is not.
    pub fn admit(&self, sender: Option<Sender>) -> bool {
        match (self, sender) {
            (Self::Any, _) => true,
            (Self::OneSandbox(sandbox), Some(sender)) => sandbox.admit(sender),
            (Self::OneSandbox(_), None) => false,
        }
    }
}

impl Sandbox {
    fn admit(&self, sender: Sender) -> bool {
        if sender.user != self.user {
            return false;
        }
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.contains(&sender.pid) {
            return true;
        }
        let Ok(namespace) = fs::metadata(format!("/proc/{}/ns/pid", sender.pid)) else { return false };
        let namespace = namespace.ino();
        let admitted = namespace != self.own && *self.theirs.get_or_init(|| namespace) == namespace;
        // A script that makes processes without end does not fill the memory of this one.
        if admitted && known.len() < 4096 {
            known.insert(sender.pid);
        }
        admitted
    }
}
