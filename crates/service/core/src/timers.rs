//! `max_execution_time`: one thread that interrupts statements which take too long. Statements without a limit never
//! come here.

use gannet_base::sync::Mutex;
use gannet_runtime::{Interrupt, TaskContext, Unpark, Wait, Waker, now_ns, park, waker};
use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, OnceLock};

#[derive(Default)]
struct Due {
    /// Deadline and number → the task to interrupt.
    queue: BTreeMap<(u64, u64), TaskContext>,
    next: u64,
    /// Timers that have fired and still live.
    expired: HashSet<(u64, u64)>,
}

/// The timers of a server.
#[derive(Default)]
pub struct Timers {
    due: Arc<Mutex<Due>>,
    thread: OnceLock<Waker>,
}

/// A running timer; stops when dropped.
pub struct Timer {
    due: Arc<Mutex<Due>>,
    key: (u64, u64),
}

impl Timer {
    /// The statement was stopped by it.
    pub fn fired(&self) -> bool {
        self.due.lock().expired.contains(&self.key)
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        let mut due = self.due.lock();
        due.queue.remove(&self.key);
        due.expired.remove(&self.key);
    }
}

impl Timers {
    /// Interrupts the task in `ms` milliseconds unless the result is dropped before.
    pub fn start(&self, context: TaskContext, ms: u64) -> Timer {
        let deadline = now_ns().saturating_add(ms.saturating_mul(1_000_000));
        let key = {
            let mut due = self.due.lock();
            due.next += 1;
            let key = (deadline, due.next);
            due.queue.insert(key, context);
            key
        };
        self.thread().wake();
        Timer { due: self.due.clone(), key }
    }

    fn thread(&self) -> &Waker {
        self.thread.get_or_init(|| {
            let due = self.due.clone();
            let (tx, rx) = std::sync::mpsc::channel();
            // The thread is not joined: it ends with the process, and holds nothing that has to be released.
            let started = gannet_runtime::start_thread("timers", None, move || {
                let _ = tx.send(waker());
                run(&due);
            });
            let _ = started;
            rx.recv().unwrap_or_else(|_| waker())
        })
    }
}

fn run(due: &Mutex<Due>) {
    loop {
        let now = now_ns();
        let next = {
            let mut due = due.lock();
            while let Some((&key, _)) = due.queue.first_key_value().filter(|(k, _)| k.0 <= now) {
                if let Some(context) = due.queue.remove(&key) {
                    due.expired.insert(key);
                    context.interrupt(Interrupt::Query);
                }
            }
            due.queue.first_key_value().map(|(k, _)| k.0)
        };
        if park(Wait::Background, next) == Unpark::Interrupted {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_is_stopped_in_time_and_only_then() {
        let timers = Timers::default();
        let me = gannet_runtime::context();
        // Dropped before its time, unless this thread had to wait in between.
        const MS: u64 = 20;
        loop {
            let begun = now_ns();
            drop(timers.start(me.clone(), MS));
            if now_ns() - begun < MS * 1_000_000 {
                break;
            }
            me.clear(Interrupt::Query);
        }
        assert_eq!(park(Wait::Condition, Some(now_ns() + 3 * MS * 1_000_000)), Unpark::TimedOut);
        let begun = now_ns();
        let t = timers.start(me.clone(), MS);
        assert!(!t.fired() || now_ns() - begun >= MS * 1_000_000);
        while park(Wait::Condition, Some(now_ns() + 60_000_000_000)) == Unpark::Woken {}
        assert!(now_ns() - begun >= MS * 1_000_000);
        assert!(t.fired());
        drop(t);
        assert!(timers.due.lock().expired.is_empty());
        me.clear(Interrupt::Query);
    }
}
