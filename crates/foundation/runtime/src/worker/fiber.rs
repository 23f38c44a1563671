//! Fibers of a worker, and how one suspends itself.

use std::cell::Cell;
use std::ptr::NonNull;
use std::sync::Arc;

use super::{Worker, WorkerConn};
use crate::cx::CX;
use crate::fiber::Core;
use crate::serve::Next;
use crate::task::{ContextInner, Task, TaskContext};

/// What a fiber does next.
pub(crate) enum Job {
    /// Serve what a connection has received.
    Serve(NonNull<WorkerConn>),
    /// Do what a connection's service has said when it was resumed.
    GoOn(NonNull<WorkerConn>, Next),
    /// Tell a connection's service that it ends, then close it.
    Close(NonNull<WorkerConn>),
    /// A background task.
    Call(Box<dyn FnOnce() + Send>, TaskContext),
    /// Leave the stack for good.
    Exit,
}

/// Why a fiber went back to the worker's loop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum State {
    Running,
    /// Until its task is woken, or its timer fires.
    Parked,
    /// Until somebody makes it ready.
    Blocked,
    /// Ready again at once.
    Yielded,
    /// The job is done.
    Done,
}

/// One fiber. Never moves, freed only by its worker.
pub(crate) struct Fiber {
    pub(super) core: Core,
    pub(crate) task: Arc<Task>,
    pub(super) job: Cell<Option<Job>>,
    /// The context it has between jobs.
    pub(super) own: Arc<ContextInner>,
    pub(crate) context: Cell<*const ContextInner>,
    pub(crate) state: Cell<State>,
    pub(crate) timer: Cell<Option<(u64, u64)>>,
    /// When it last began to run.
    pub(crate) resumed_at: Cell<u64>,
}

/// The fiber that runs on this thread.
pub(crate) fn current() -> NonNull<Fiber> {
    NonNull::new(CX.with(|cx| cx.fiber.get()).cast_mut()).expect("on a fiber")
}

/// The worker of this thread.
pub(crate) fn worker<'a>() -> &'a Worker {
    let worker = CX.with(|cx| cx.worker.get());
    assert!(!worker.is_null());
    // SAFETY: set by the worker's thread for as long as its loop runs, and all fibers of the thread run inside it.
    unsafe { &*worker }
}

/// Suspends the current fiber.
pub(crate) fn suspend(why: State) {
    let fiber = current();
    // What other fibers of this thread count is not this one's session's.
    crate::cpu::cpu_rests();
    let counters = gannet_telemetry::put_aside();
    // SAFETY: the current fiber is alive, and this code runs on its stack.
    unsafe {
        let fiber = fiber.as_ref();
        fiber.state.set(why);
        fiber.core.suspend();
    }
    gannet_telemetry::take_up(counters);
    crate::cpu::cpu_runs();
}

/// Suspends the current fiber until somebody makes it ready. The caller checks its condition and blocks again.
pub(crate) fn block() {
    suspend(State::Blocked);
}

/// Parks the current fiber until its task is woken (`true`) or the deadline passes.
pub(crate) fn park(task: &Task, deadline: Option<u64>) -> bool {
    if !task.begin_park() {
        return true;
    }
    let this = current();
    // SAFETY: the current fiber is alive.
    let fiber = unsafe { this.as_ref() };
    if let Some(deadline) = deadline {
        fiber.timer.set(Some(worker().add_timer(deadline, this)));
    }
    suspend(State::Parked);
    if let Some(timer) = fiber.timer.take() {
        worker().remove_timer(timer);
    }
    task.end_park()
}
