//! Locks by name, for GET_LOCK and its kin.

use gannet_base::sync::Mutex;
use gannet_runtime::{Unpark, Wait, Waker, park, waker};
use std::collections::HashMap;

struct Held {
    owner: u64,
    /// Tasks that wait for it, by owner: each waits for one lock at a time.
    waiting: HashMap<u64, Waker>,
}

/// All named locks of the server. A lock knows its owner; the session knows how often it took it.
#[derive(Default)]
pub struct UserLocks {
    held: Mutex<HashMap<String, Held>>,
    /// Which session waits for which lock, for finding deadlocks.
    waits: Mutex<HashMap<u64, String>>,
}

/// Why a lock was not granted.
pub enum Refused {
    /// The deadline has passed.
    Timeout,
    /// The statement was interrupted.
    Interrupted,
    /// The owners would wait for each other.
    Deadlock,
}

impl UserLocks {
    /// The session that holds a lock.
    pub fn owner(&self, name: &str) -> Option<u64> {
        self.held.lock().get(name).map(|h| h.owner)
    }

    /// Gives a lock up; true when `owner` held it.
    pub fn release(&self, name: &str, owner: u64) -> bool {
        let mut held = self.held.lock();
        if held.get(name).is_none_or(|h| h.owner != owner) {
            return false;
        }
        let gone = held.remove(name);
        drop(held);
        gone.into_iter().flat_map(|h| h.waiting.into_values()).for_each(|w| w.wake());
        true
    }

    /// Takes a lock for `owner`, waiting until `deadline` (monotonic, ns).
    pub fn acquire(&self, name: &str, owner: u64, deadline: Option<u64>) -> std::result::Result<(), Refused> {
        loop {
            {
                let mut held = self.held.lock();
                match held.get_mut(name) {
                    None => {
                        held.insert(name.into(), Held { owner, waiting: HashMap::new() });
                        return Ok(());
                    }
                    Some(h) => _ = h.waiting.insert(owner, waker()),
                }
                let mut waits = self.waits.lock();
                waits.insert(owner, name.into());
                if self.circular(&held, &waits, owner) {
                    waits.remove(&owner);
                    give_up(&mut held, name, owner);
                    return Err(Refused::Deadlock);
                }
            }
            let how = park(Wait::UserLock, deadline);
            self.waits.lock().remove(&owner);
            let why = match how {
                Unpark::Woken => continue,
                Unpark::TimedOut => Refused::Timeout,
                Unpark::Interrupted => Refused::Interrupted,
            };
            give_up(&mut self.held.lock(), name, owner);
            return Err(why);
        }
    }

    /// Follows owner → lock waited for → its owner; a way back to `start` is a deadlock.
    fn circular(&self, held: &HashMap<String, Held>, waits: &HashMap<u64, String>, start: u64) -> bool {
        let mut at = start;
        for _ in 0..=waits.len() {
            let Some(next) = waits.get(&at).and_then(|name| held.get(name)) else { return false };
            if next.owner == start {
                return true;
            }
            at = next.owner;
        }
        false
    }
}

/// Ends an owner's wait for a lock.
fn give_up(held: &mut HashMap<String, Held>, name: &str, owner: u64) {
    if let Some(h) = held.get_mut(name) {
        h.waiting.remove(&owner);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gannet_runtime::now_ns;

    #[test]
    fn locks_wait_time_out_and_deadlock() {
        let locks = std::sync::Arc::new(UserLocks::default());
        assert!(locks.acquire("a", 1, None).is_ok());
        assert!(matches!(locks.acquire("a", 2, Some(now_ns() + 1_000_000)), Err(Refused::Timeout)));
        assert!(locks.held.lock()["a"].waiting.is_empty());
        assert!(locks.acquire("b", 2, None).is_ok());
        let other = locks.clone();
        let t = std::thread::spawn(move || other.acquire("b", 1, None).is_ok());
        while locks.waits.lock().is_empty() {
            std::thread::yield_now();
        }
        assert!(matches!(locks.acquire("a", 2, None), Err(Refused::Deadlock)));
        assert!(locks.held.lock()["a"].waiting.is_empty());
        assert!(locks.release("b", 2));
        assert!(t.join().unwrap());
        assert_eq!(locks.owner("b"), Some(1));
        assert!(!locks.release("b", 2));
    }
}
