//! Locks by name: GET_LOCK and its kin.

use crate::session::state::State;
use gannet_base::sync::Mutex;
use gannet_runtime::{Unpark, Wait, Waker, now_ns, park, waker};
use gannet_types::{Result, SqlError, Value, sql_err};
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
    /// Who waits for which lock, for finding deadlocks.
    waits: Mutex<HashMap<u64, String>>,
}

/// Why a lock was not granted.
enum Refused {
    Timeout,
    Interrupted,
    Deadlock,
}

/// MySQL: names have at most 64 characters.
const MAX_NAME: usize = 64;

impl UserLocks {
    /// Who holds a lock.
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

    fn acquire(&self, name: &str, owner: u64, deadline: Option<u64>) -> std::result::Result<(), Refused> {
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

/// Who asks again and again leaves nothing behind.
fn give_up(held: &mut HashMap<String, Held>, name: &str, owner: u64) {
    if let Some(h) = held.get_mut(name) {
        h.waiting.remove(&owner);
    }
}

fn name_of(function: &str, v: Option<&Value>) -> Result<String> {
    let mut text = Vec::new();
    if let Some(v) = v.filter(|v| !v.is_null()) {
        v.write_text(&mut text);
    }
    let name = String::from_utf8_lossy(&text).to_lowercase();
    if name.is_empty() || name.chars().count() > MAX_NAME {
        let _ = function;
        return Err(sql_err!(UserLockWrongName, name));
    }
    Ok(name)
}

/// GET_LOCK, RELEASE_LOCK, RELEASE_ALL_LOCKS, IS_FREE_LOCK, IS_USED_LOCK.
pub(crate) fn call(state: &mut State, function: &'static str, args: &[Value]) -> Result<Value> {
    let me = state.entry.id;
    let locks = &state.server.user_locks;
    match function {
        "GET_LOCK" => {
            let name = name_of(function, args.first())?;
            if let Some((_, n)) = state.user_locks.iter_mut().find(|(n, _)| *n == name) {
                *n += 1;
                return Ok(Value::Int(1));
            }
            let seconds = match args.get(1) {
                Some(Value::Int(n)) => *n as f64,
                Some(Value::UInt(n)) => *n as f64,
                Some(Value::Double(d)) => *d,
                Some(Value::Decimal(d)) => d.to_f64(),
                _ => 0.0,
            };
            let deadline = (seconds >= 0.0).then(|| now_ns().saturating_add((seconds.min(1e9) * 1e9) as u64));
            match locks.acquire(&name, me, deadline) {
                Ok(()) => {
                    state.user_locks.push((name, 1));
                    Ok(Value::Int(1))
                }
                Err(Refused::Timeout) => Ok(Value::Int(0)),
                Err(Refused::Interrupted) => Ok(Value::Null),
                Err(Refused::Deadlock) => Err(sql_err!(UserLockDeadlock)),
            }
        }
        "RELEASE_LOCK" => {
            let name = name_of(function, args.first())?;
            match state.user_locks.iter().position(|(n, _)| *n == name) {
                Some(at) => {
                    state.user_locks[at].1 -= 1;
                    if state.user_locks[at].1 == 0 {
                        state.user_locks.swap_remove(at);
                        locks.release(&name, me);
                    }
                    Ok(Value::Int(1))
                }
                None => Ok(if locks.owner(&name).is_some() { Value::Int(0) } else { Value::Null }),
            }
        }
        "RELEASE_ALL_LOCKS" => {
            let n: u64 = state.user_locks.iter().map(|(_, n)| u64::from(*n)).sum();
            state.release_locks();
            Ok(Value::UInt(n))
        }
        "IS_FREE_LOCK" => {
            let name = name_of(function, args.first())?;
            Ok(Value::from(locks.owner(&name).is_none()))
        }
        "IS_USED_LOCK" => {
            let name = name_of(function, args.first())?;
            Ok(locks.owner(&name).map_or(Value::Null, Value::UInt))
        }
        other => Err(SqlError::unsupported(other)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
