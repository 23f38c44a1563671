use std::any::Any;
use std::sync::Arc;

use gannet_base::sync::Mutex;
use gannet_telemetry::Wait;

use crate::task::{ContextInner, Route};
use crate::worker::{Message, WorkerShared, Workers};
use crate::{TaskContext, Unpark, Waker, cx, mask_interrupts, park, start_thread, waker};

type Outcome<T> = Result<T, Box<dyn Any + Send>>;

enum State<T> {
    Running(Vec<Waker>),
    Done(Outcome<T>),
    Taken,
}

/// The way to a background task: wait for its end, interrupt it. Dropping it lets the task run on.
pub struct JoinHandle<T> {
    state: Arc<Mutex<State<T>>>,
    context: TaskContext,
    // Joined last so that the thread's own end (its slot, its thread-locals) is behind the join too.
    thread: Option<std::thread::JoinHandle<()>>,
}

impl<T> JoinHandle<T> {
    /// Waits for the task's end and gives what its closure returned, or what it panicked with. Not interruptible.
    pub fn join(mut self) -> Outcome<T> {
        let _mask = mask_interrupts();
        loop {
            {
                let mut state = self.state.lock();
                match &mut *state {
                    State::Running(waiting) => waiting.push(waker()),
                    _ => {
                        let State::Done(outcome) = std::mem::replace(&mut *state, State::Taken) else {
                            unreachable!("the outcome is taken by join only, and join takes the handle")
                        };
                        drop(state);
                        if let Some(thread) = self.thread.take() {
                            let _ = thread.join();
                        }
                        return outcome;
                    }
                }
            }
            let _ = park(Wait::Join, None);
        }
    }

    /// Waits for the task's end, shown as `why`; false when the current task is interrupted before.
    pub fn wait(&self, why: Wait) -> bool {
        loop {
            match &mut *self.state.lock() {
                State::Running(waiting) => waiting.push(waker()),
                State::Done(_) | State::Taken => return true,
            }
            if park(why, None) == Unpark::Interrupted {
                return false;
            }
        }
    }

    /// Waits for the task's end until a deadline, in nanoseconds of the clock; false: it has not ended by then. Not
    /// interruptible.
    pub fn wait_until(&self, deadline: u64) -> bool {
        let _mask = mask_interrupts();
        loop {
            match &mut *self.state.lock() {
                State::Running(waiting) => waiting.push(waker()),
                State::Done(_) | State::Taken => return true,
            }
            if park(Wait::Join, Some(deadline)) == Unpark::TimedOut {
                return self.is_finished();
            }
        }
    }

    /// True when the task has ended.
    pub fn is_finished(&self) -> bool {
        !matches!(*self.state.lock(), State::Running(_))
    }

    /// The task's context, to interrupt it.
    pub fn context(&self) -> &TaskContext {
        &self.context
    }
}

/// Runs the closure and hands its outcome to whoever joins.
fn run_and_publish<T>(state: &Mutex<State<T>>, f: impl FnOnce() -> T) {
    let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(f));
    if let Err(panic) = &outcome
        && crate::cx::simulated()
    {
        crate::sim::note_panic(&**panic);
    }
    publish(state, outcome);
}

fn publish<T>(state: &Mutex<State<T>>, outcome: Outcome<T>) {
    let before = std::mem::replace(&mut *state.lock(), State::Done(outcome));
    if let State::Running(waiting) = before {
        waiting.iter().for_each(Waker::wake);
    }
}

/// A task that a worker is to start. Dropped when there is no memory for a fiber: whoever joins it learns that.
struct Start<T, F: FnOnce() -> T> {
    state: Arc<Mutex<State<T>>>,
    f: Option<F>,
}

impl<T, F: FnOnce() -> T> Start<T, F> {
    fn run(mut self) {
        if let Some(f) = self.f.take() {
            run_and_publish(&self.state, f);
        }
    }
}

impl<T, F: FnOnce() -> T> Drop for Start<T, F> {
    fn drop(&mut self) {
        if self.f.take().is_some() {
            publish(&self.state, Err(Box::new("there is no memory for another fiber")));
        }
    }
}

/// Starts a background task: a thread of its own in reality, a fiber in the simulation.
///
/// # Panics
/// When the system refuses another thread.
pub fn spawn<T: Send + 'static>(name: &str, f: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
    let state = Arc::new(Mutex::new(State::Running(Vec::new())));
    let context = TaskContext(ContextInner::new(Route::none()));
    let (s, c) = (state.clone(), context.clone());
    if crate::cx::simulated() {
        crate::sim::spawn_task(name, c.0, move || run_and_publish(&s, f));
        return JoinHandle { state, context, thread: None };
    }
    let started = start_thread(name, None, move || {
        cx::adopt(Some(c.0));
        run_and_publish(&s, f);
    });
    let thread = started.unwrap_or_else(|e| panic!("cannot start the thread {name}: {e}"));
    JoinHandle { state, context, thread: Some(thread) }
}

/// Starts a task beside the current one: a fiber on the same worker, when the current task is a fiber; otherwise the
/// same as [`spawn`].
pub fn spawn_local<T: Send + 'static>(name: &str, f: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
    match crate::worker::current_shared() {
        Some(shared) => on_worker(&shared, f),
        None => spawn(name, f),
    }
}

/// Starts a task on another worker: the one `turn` places behind the current task's, as a fiber. Where that worker has
/// ended, on the current one; outside of a worker's fibers the same as [`spawn`].
pub fn spawn_beside<T: Send + 'static>(
    turn: usize,
    name: &str,
    f: impl FnOnce() -> T + Send + 'static,
) -> JoinHandle<T> {
    match crate::worker::current_shared() {
        Some(own) => {
            let worker = own.after(turn).unwrap_or_else(|| own.clone());
            let (task, handle) = task(f);
            if let Err(refused) = worker.try_post(task) {
                own.post(refused);
            }
            handle
        }
        None => spawn(name, f),
    }
}

/// Workers that tasks [beside](spawn_beside) the current one may run on, its own among them; 1 outside of a worker's
/// fibers.
pub fn workers_beside() -> usize {
    crate::worker::current_shared().map_or(1, |own| own.team_len())
}

impl Workers {
    /// Runs a closure on a fiber of some worker. For tests and background work that waits for much I/O.
    pub fn run<T: Send + 'static>(&self, f: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
        let shared = &self.shared[crate::random_u64() as usize % self.shared.len()];
        on_worker(shared, f)
    }
}

/// Starts a fiber on a worker that has not ended.
fn on_worker<T: Send + 'static>(worker: &WorkerShared, f: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
    let (task, handle) = task(f);
    worker.post(task);
    handle
}

/// What starts a fiber, and the way to it.
fn task<T: Send + 'static>(f: impl FnOnce() -> T + Send + 'static) -> (Message, JoinHandle<T>) {
    let state = Arc::new(Mutex::new(State::Running(Vec::new())));
    let context = TaskContext(ContextInner::new(Route::none()));
    let start = Start { state: state.clone(), f: Some(f) };
    let start = Message::Start(Box::new(move || start.run()), context.clone());
    (start, JoinHandle { state, context, thread: None })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Interrupt;

    #[test]
    fn joins_results_and_panics() {
        assert_eq!(spawn("a", || 7).join().unwrap(), 7);
        let outcome = spawn("b", || panic!("boom")).join();
        assert_eq!(*outcome.unwrap_err().downcast::<&str>().unwrap(), "boom");
    }

    #[test]
    fn interrupts_before_and_after_start() {
        let t = spawn("c", || park(Wait::Background, None));
        t.context().interrupt(Interrupt::Shutdown);
        assert_eq!(t.join().unwrap(), Unpark::Interrupted);
    }
}
