use std::task::Waker;

use super::*;

/// Takes so many bytes, and remembers what came in which call.
struct Taking {
    room: usize,
    calls: Vec<Vec<u8>>,
    flushed: usize,
}

impl AsyncWrite for Taking {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let count = bytes.len().min(this.room);
        if count == 0 {
            return Poll::Pending;
        }
        this.room -= count;
        this.calls.push(bytes[..count].to_vec());
        Poll::Ready(Ok(count))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.get_mut().flushed += 1;
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

fn taking(room: usize) -> (Gathered<Taking>, Outlet<Taking>) {
    gather(Taking { room, calls: Vec::new(), flushed: 0 })
}

/// As the library does it: written, and flushed at once.
fn write(into: &mut Gathered<Taking>, bytes: &[u8]) -> Poll<usize> {
    let mut context = Context::from_waker(Waker::noop());
    let count = ready!(Pin::new(&mut *into).poll_write(&mut context, bytes)).expect("nothing is broken");
    assert!(Pin::new(into).poll_flush(&mut context).is_ready());
    Poll::Ready(count)
}

fn calls(outlet: &Arc<Mutex<Gathering<Taking>>>) -> Vec<usize> {
    lock(outlet).stream.calls.iter().map(Vec::len).collect()
}

#[test]
fn req_e30_what_is_written_in_one_turn_leaves_together_at_its_end() {
    let (mut into, outlet) = taking(usize::MAX);
    let (shared, mut turns) = (outlet.0.clone(), 0);
    let mut following = pin!(outlet.follow(poll_fn(|_| {
        for piece in [&b"one"[..], b"two", b"three"] {
            assert_eq!(write(&mut into, piece), Poll::Ready(piece.len()));
        }
        turns += 1;
        Poll::<()>::Pending
    })));
    for turn in 1..3 {
        assert!(following.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        assert_eq!(calls(&shared), vec![11; turn], "nothing waits for the next turn");
        assert_eq!(lock(&shared).stream.flushed, turn);
        assert_eq!(lock(&shared).written.capacity(), 0);
    }
}

#[test]
fn req_e30_who_writes_much_waits_until_the_other_side_takes_it() {
    let (mut into, outlet) = taking(10);
    let large = vec![b'x'; 2 * ENOUGH];
    assert_eq!(write(&mut into, &large), Poll::Ready(ENOUGH));
    assert_eq!(write(&mut into, &large), Poll::Pending, "no more is held than that");
    lock(&outlet.0).stream.room = usize::MAX;
    assert_eq!(write(&mut into, b"the rest"), Poll::Ready(8));
    assert_eq!(calls(&outlet.0), [10, ENOUGH - 10]);
}
