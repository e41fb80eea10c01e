//! How long nothing may happen.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::{Instant, Sleep, sleep};

/// A time limit that begins anew whenever something moves. There is no timer until somebody really waits, which
/// for most answers is never.
pub(crate) struct Patience {
    limit: Option<Duration>,
    timer: Option<Pin<Box<Sleep>>>,
    waiting: bool,
}

impl Patience {
    pub fn new(limit: Option<Duration>) -> Self {
        Self { limit, timer: None, waiting: false }
    }

    /// Something moved.
    pub fn begin_anew(&mut self) {
        self.waiting = false;
    }

    /// Ready when nothing has moved for too long.
    pub fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let Some(limit) = self.limit else { return Poll::Pending };
        let timer = self.timer.get_or_insert_with(|| Box::pin(sleep(limit)));
        if !std::mem::replace(&mut self.waiting, true) {
            timer.as_mut().reset(Instant::now() + limit);
        }
        timer.as_mut().poll(context)
    }
}
