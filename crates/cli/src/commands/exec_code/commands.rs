//! Commands in the sandbox besides the script: the file tools, and what its tools run.

use std::collections::HashMap;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use cofferdam_linux_sys::exec::Image;
use cofferdam_sandbox::approved_files::ApprovedFile;
use cofferdam_sandbox::launch::{News, Sandbox, Start};
use cofferdam_sandbox::messages::{Ended, Last, NotStarted};
use cofferdam_sandbox::plan::Limits as KernelLimits;

use super::toolbox::{SCRIPT, locked};

/// Commands in the sandbox besides the script.
pub struct Commands {
    sandbox: Arc<Sandbox>,
    limits: KernelLimits,
    pub null: OwnedFd,
    /// The side of the door that is inherited.
    pub door: OwnedFd,
    next: AtomicU64,
    /// Those that are waited for; none any more when the sandbox is gone.
    waiting: Mutex<Option<HashMap<u64, Sender<News>>>>,
}

pub enum Finished {
    Ended(Ended),
    NotStarted(NotStarted),
    TimedOut,
    Lost,
}

impl Commands {
    pub fn new(sandbox: Arc<Sandbox>, limits: KernelLimits, null: OwnedFd, door: OwnedFd) -> Self {
        let waiting = Mutex::new(Some(HashMap::new()));
        Self { sandbox, limits, null, door, next: AtomicU64::new(SCRIPT + 1), waiting }
    }

    pub fn start(
        &self,
        image: &Image,
        directory: &Path,
        approved: &[ApprovedFile],
        descriptors: &[BorrowedFd<'_>],
    ) -> io::Result<(u64, Receiver<News>)> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let (tell, news) = mpsc::channel();
        match locked(&self.waiting).as_mut() {
            Some(waiting) => waiting.insert(id, tell),
            None => return Err(io::Error::other("the sandbox is gone")),
        };
        let directory = PathBuf::from(directory);
        let start = Start {
            image,
            directory: &directory,
            terminal: None,
            limits: self.limits,
            last: Last::No,
            approved,
            descriptors,
            answer: None,
        };
        self.sandbox.start(id, &start)?;
        Ok((id, news))
    }

    /// Waits for the end; with a time, everything that the command has started is ended by then.
    pub fn wait(&self, id: u64, news: &Receiver<News>, timeout: Option<Duration>) -> Finished {
        let mut timed_out = false;
        let mut timeout = timeout;
        loop {
            let heard = match timeout {
                Some(timeout) => news.recv_timeout(timeout),
                None => news.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            match heard {
                Ok(News::Ended { .. }) if timed_out => return Finished::TimedOut,
                Ok(News::Ended { how, .. }) => return Finished::Ended(how),
                Ok(News::NotStarted(why)) => return Finished::NotStarted(why),
                Ok(_) => {}
                Err(RecvTimeoutError::Timeout) => {
                    timed_out = true;
                    timeout = None;
                    if self.sandbox.end(id).is_err() {
                        return Finished::Lost;
                    }
                }
                Err(RecvTimeoutError::Disconnected) => return Finished::Lost,
            }
        }
    }

    /// Passes on what the sandbox tells about a command.
    pub fn heard(&self, id: u64, news: News) {
        let over = matches!(news, News::Ended { .. } | News::NotStarted(_));
        if let Some(waiting) = locked(&self.waiting).as_mut() {
            if let Some(tell) = waiting.get(&id) {
                // Nobody waits for the file tools.
                let _ = tell.send(news);
            }
            if over {
                waiting.remove(&id);
            }
        }
    }

    /// Nothing is heard of any of them again.
    pub fn all_ended(&self) {
        locked(&self.waiting).take();
    }
}
