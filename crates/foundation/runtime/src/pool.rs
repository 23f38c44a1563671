//! A few helper threads for calls that block: the fallback for file I/O, and metadata operations.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::Duration;

type Job = Box<dyn FnOnce() + Send>;

struct State {
    queue: VecDeque<Job>,
    threads: usize,
    idle: usize,
}

static STATE: Mutex<State> = Mutex::new(State { queue: VecDeque::new(), threads: 0, idle: 0 });
static WORK: Condvar = Condvar::new();

/// Helper threads at most. Their work is waiting for a disk.
const MAX_THREADS: usize = 8;
/// A helper without work for this long ends.
const IDLE: Duration = Duration::from_secs(10);

fn lock() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(|e| e.into_inner())
}

/// Queues a job for the helper threads; starts one if all are busy. Runs it here when no thread can be had at all.
pub(crate) fn submit(job: Job) {
    let mut state = lock();
    state.queue.push_back(job);
    if state.idle >= state.queue.len() {
        WORK.notify_one();
        return;
    }
    if state.threads == MAX_THREADS {
        return;
    }
    state.threads += 1;
    drop(state);
    if std::thread::Builder::new().name("blocking".into()).stack_size(256 << 10).spawn(run).is_err() {
        let mut state = lock();
        state.threads -= 1;
        if state.threads == 0
            && let Some(job) = state.queue.pop_back()
        {
            drop(state);
            job();
        }
    }
}

fn run() {
    let mut state = lock();
    loop {
        if let Some(job) = state.queue.pop_front() {
            drop(state);
            // A job catches its own panics: they belong to the task that waits for it.
            job();
            state = lock();
            continue;
        }
        state.idle += 1;
        let (s, timeout) = WORK.wait_timeout(state, IDLE).unwrap_or_else(|e| e.into_inner());
        state = s;
        state.idle -= 1;
        if timeout.timed_out() && state.queue.is_empty() {
            state.threads -= 1;
            return;
        }
    }
}
