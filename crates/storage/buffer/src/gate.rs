//! Waiting for changes of a page's state: tasks wait by key, and a task that changes the condition wakes the key's
//! waiters.

use std::collections::HashMap;

use gannet_base::sync::Mutex;
use gannet_runtime::{Wait, Waker, mask_interrupts, park, waker};

const SHARDS: usize = 32;

/// Waiters by key.
pub(crate) struct Gates {
    shards: [Mutex<HashMap<u64, Vec<Waker>>>; SHARDS],
}

impl Gates {
    pub(crate) fn new() -> Self {
        Gates { shards: std::array::from_fn(|_| Mutex::new(HashMap::new())) }
    }

    fn shard(&self, key: u64) -> &Mutex<HashMap<u64, Vec<Waker>>> {
        &self.shards[(key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as usize % SHARDS]
    }

    /// Parks once unless `blocked` is false by then. May return early: callers loop. Not interruptible: the wait is
    /// for a bounded number of I/O operations.
    pub(crate) fn wait(&self, key: u64, why: Wait, blocked: impl Fn() -> bool) {
        let _mask = mask_interrupts();
        {
            let mut shard = self.shard(key).lock();
            // Checked under the lock that `wake` takes after the change: no wake-up is lost.
            if !blocked() {
                return;
            }
            shard.entry(key).or_default().push(waker());
        }
        let _ = park(why, None);
    }

    /// Wakes all that wait for `key`. To be called after the change.
    pub(crate) fn wake(&self, key: u64) {
        let woken = self.shard(key).lock().remove(&key);
        woken.iter().flatten().for_each(Waker::wake);
    }
}
