//! Wake-ups that are worth something.
//!
//! The two ends of a connection inside this process wake each other when they pass something on. Both are polled by the
//! same task here, one after the other, so that such a wake-up would only make the task begin again from its top. It
//! makes the two of them be polled once more instead; what comes from outside wakes the task as usual.

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

const IDLE: u8 = 0;
const POLLING: u8 = 1;
const AGAIN: u8 = 2;
/// Whoever wants more rounds than this gives others a turn first.
const ROUNDS: usize = 8;

pub(crate) struct Quiet {
    shared: Arc<Shared>,
    waker: Waker,
}

struct Shared {
    state: AtomicU8,
    task: Mutex<Waker>,
}

impl Wake for Shared {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let noted = self
            .state
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |state| (state != IDLE).then_some(AGAIN));
        if noted.is_err() {
            self.task.lock().unwrap_or_else(PoisonError::into_inner).wake_by_ref();
        }
    }
}

impl Quiet {
    pub fn new() -> Self {
        let shared = Arc::new(Shared { state: AtomicU8::new(IDLE), task: Mutex::new(Waker::noop().clone()) });
        Self { waker: Waker::from(shared.clone()), shared }
    }

    /// Polls for as long as the parts of `work` wake each other.
    pub fn poll<T>(
        &self,
        context: &mut Context<'_>,
        mut work: impl FnMut(&mut Context<'_>) -> Poll<T>,
    ) -> Poll<T> {
        self.belong_to(context.waker());
        let mut quietly = Context::from_waker(&self.waker);
        for _ in 0..ROUNDS {
            self.shared.state.store(POLLING, Ordering::Release);
            if let Poll::Ready(done) = work(&mut quietly) {
                self.shared.state.store(IDLE, Ordering::Release);
                return Poll::Ready(done);
            }
            let ended =
                self.shared.state.compare_exchange(POLLING, IDLE, Ordering::AcqRel, Ordering::Acquire);
            if ended.is_ok() {
                return Poll::Pending;
            }
        }
        self.shared.state.store(IDLE, Ordering::Release);
        context.waker().wake_by_ref();
        Poll::Pending
    }

    fn belong_to(&self, task: &Waker) {
        let mut known = self.shared.task.lock().unwrap_or_else(PoisonError::into_inner);
        known.clone_from(task);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::*;

    struct Counting(AtomicUsize);

    impl Wake for Counting {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn what_wakes_itself_is_polled_again_and_the_task_is_not_woken() {
        let (quiet, task) = (Quiet::new(), Arc::new(Counting(AtomicUsize::new(0))));
        let waker = Waker::from(task.clone());
        let (mut rounds, mut kept) = (0, None);
        let ended = quiet.poll(&mut Context::from_waker(&waker), |context| {
            rounds += 1;
            kept = Some(context.waker().clone());
            if rounds < 3 {
                context.waker().wake_by_ref();
            }
            Poll::<()>::Pending
        });
        assert_eq!((ended, rounds, task.0.load(Ordering::Relaxed)), (Poll::Pending, 3, 0));
        kept.expect("polled").wake();
        assert_eq!(task.0.load(Ordering::Relaxed), 1, "from outside");
    }

    #[test]
    fn what_never_comes_to_rest_lets_others_have_a_turn() {
        let (quiet, task) = (Quiet::new(), Arc::new(Counting(AtomicUsize::new(0))));
        let waker = Waker::from(task.clone());
        let ended = quiet.poll(&mut Context::from_waker(&waker), |context| {
            context.waker().wake_by_ref();
            Poll::<()>::Pending
        });
        assert_eq!((ended, task.0.load(Ordering::Relaxed)), (Poll::Pending, 1));
    }
}
