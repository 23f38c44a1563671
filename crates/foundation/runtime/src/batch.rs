//! Several file operations at once from a plain thread, through a small ring of its own.

use std::cell::RefCell;
use std::io;

use io_uring::IoUring;

use crate::op::{Op, entry};

/// Operations in flight.
const AT_ONCE: usize = 64;

enum State {
    Unknown,
    Ring(Box<IoUring>),
    Refused,
}

thread_local! {
    static RING: RefCell<State> = const { RefCell::new(State::Unknown) };
}

fn new_ring() -> State {
    if std::env::var_os("GANNET_IO").is_some_and(|v| v == "epoll") {
        return State::Refused;
    }
    let deferred = IoUring::builder().setup_single_issuer().setup_defer_taskrun().build(AT_ONCE as u32);
    deferred.or_else(|_| IoUring::new(AT_ONCE as u32)).map_or(State::Refused, |ring| State::Ring(Box::new(ring)))
}

/// Executes all operations; each result is a byte count or a negated error number. `false`: there is no ring, nothing
/// was done.
pub(crate) fn perform(ops: &[Op], results: &mut [i32]) -> bool {
    let done = RING.try_with(|ring| {
        let mut state = ring.borrow_mut();
        if let State::Unknown = *state {
            *state = new_ring();
        }
        let State::Ring(ring) = &mut *state else { return false };
        for (ops, results) in ops.chunks(AT_ONCE).zip(results.chunks_mut(AT_ONCE)) {
            some(ring, ops, results);
        }
        true
    });
    done.unwrap_or(false)
}

fn some(ring: &mut IoUring, ops: &[Op], results: &mut [i32]) {
    for (i, op) in ops.iter().enumerate() {
        // SAFETY: what the operations point to stays valid until this function returns, and it returns only when all
        // have completed. The ring is empty and has room for a chunk.
        let pushed = unsafe { ring.submission().push(&entry(op).user_data(i as u64)) };
        assert!(pushed.is_ok(), "the ring has room");
    }
    let mut left = ops.len();
    while left > 0 {
        if let Err(e) = ring.submit_and_wait(left)
            && !matches!(e.raw_os_error(), Some(libc::EINTR | libc::EAGAIN | libc::EBUSY))
        {
            // The kernel may have some of the buffers: nothing else can be done safely.
            wait_and_retry(&e);
        }
        for c in ring.completion() {
            results[c.user_data() as usize] = c.result();
            left -= 1;
        }
    }
}

#[cold]
fn wait_and_retry(e: &io::Error) {
    eprintln!("gannet: io_uring_enter: {e}");
    std::thread::sleep(std::time::Duration::from_millis(100));
}
