//! Tasks that wait for the log to go on.

use gannet_base::sync::Mutex;
use gannet_base::sync::atomic::{
    AtomicUsize,
    Ordering::{Acquire, Relaxed, SeqCst},
    fence,
};
use gannet_runtime::Waker;

/// Tasks that wait for the log to go on.
#[derive(Default)]
pub(crate) struct Followers {
    list: Mutex<Vec<Waker>>,
    /// Length of the list. Written under its lock.
    len: AtomicUsize,
}

impl Followers {
    /// Enters the list. The caller then looks at the condition once more and parks.
    pub(crate) fn enter(&self, waker: Waker) {
        let mut list = self.list.lock();
        list.push(waker);
        self.len.store(list.len(), Relaxed);
        drop(list);
        // Against `wake`, before which the condition has changed.
        fence(SeqCst);
    }

    /// Wakes all. Called after the durable horizon has moved: without followers, one load.
    pub(crate) fn wake(&self) {
        fence(SeqCst);
        if self.len.load(Acquire) == 0 {
            return;
        }
        let all = {
            let mut list = self.list.lock();
            self.len.store(0, Relaxed);
            std::mem::take(&mut *list)
        };
        all.iter().for_each(Waker::wake);
    }
}
