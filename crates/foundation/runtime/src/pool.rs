//! Helper threads: a few for calls that block (the fallback for file I/O, metadata operations), others for computations
//! that take long, which must not keep files waiting.

use gannet_base::sync::{Condvar, Mutex, MutexGuard};
use std::collections::VecDeque;
use std::time::Duration;

type Job = Box<dyn FnOnce() + Send>;

struct State {
    queue: VecDeque<Job>,
    threads: usize,
    idle: usize,
}

/// Threads that take jobs from one queue.
pub(crate) struct Pool {
    name: &'static str,
    state: Mutex<State>,
    work: Condvar,
}

/// Their work is waiting for a disk.
pub(crate) static BLOCKING: Pool = Pool::new("blocking");
/// Their work is computing.
pub(crate) static LONG: Pool = Pool::new("long");

/// Helper threads at most, of each pool.
const MAX_THREADS: usize = 8;
/// A helper without work for this long ends.
const IDLE: Duration = Duration::from_secs(10);
/// As deep as what runs on a fiber's own stack.
const STACK: usize = 1 << 20;

impl Pool {
    const fn new(name: &'static str) -> Pool {
        let state = State { queue: VecDeque::new(), threads: 0, idle: 0 };
        Pool { name, state: Mutex::new(state), work: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    /// Queues a job for the helper threads; starts one if all are busy. Runs it here when no thread can be had at all.
    pub(crate) fn submit(&'static self, job: Job) {
        let mut state = self.lock();
        state.queue.push_back(job);
        if state.idle >= state.queue.len() {
            self.work.notify_one();
            return;
        }
        if state.threads == MAX_THREADS {
            return;
        }
        state.threads += 1;
        drop(state);
        if crate::start_thread(self.name, Some(STACK), || self.run()).is_err() {
            let mut state = self.lock();
            state.threads -= 1;
            if state.threads == 0
                && let Some(job) = state.queue.pop_back()
            {
                drop(state);
                job();
            }
        }
    }

    fn run(&self) {
        let mut state = self.lock();
        loop {
            if let Some(job) = state.queue.pop_front() {
                drop(state);
                // A job catches its own panics: they belong to the task that waits for it.
                job();
                state = self.lock();
                continue;
            }
            state.idle += 1;
            let timed_out = self.work.wait_for(&mut state, IDLE);
            state.idle -= 1;
            if timed_out && state.queue.is_empty() {
                state.threads -= 1;
                return;
            }
        }
    }
}
