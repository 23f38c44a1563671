//! The thread-local that says what the current task is.

use std::cell::{Cell, RefCell};
use std::ptr;
use std::sync::Arc;

use crate::sim::SimCore;
use crate::task::{ContextInner, Home, Route, Task};
use crate::worker::{Fiber, Worker};

/// What runs on this thread right now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// Nothing has asked yet: will become `Thread`.
    Unset,
    /// A plain thread.
    Thread,
    /// A worker's loop, between fibers: may not wait.
    Worker,
    /// A fiber of a worker.
    Fiber,
    /// A task of a simulation.
    Sim,
    /// The simulation's own loop: may not wait.
    SimScheduler,
}

pub(crate) struct Cx {
    pub(crate) kind: Cell<Kind>,
    pub(crate) task: Cell<*const Task>,
    pub(crate) context: Cell<*const ContextInner>,
    /// The worker whose thread this is, or null.
    pub(crate) worker: Cell<*const Worker>,
    /// The fiber that runs, or null.
    pub(crate) fiber: Cell<*const Fiber>,
    /// The simulation that runs on this thread, or null.
    pub(crate) sim: Cell<*const SimCore>,
}

thread_local! {
    pub(crate) static CX: Cx = const {
        Cx {
            kind: Cell::new(Kind::Unset),
            task: Cell::new(ptr::null()),
            context: Cell::new(ptr::null()),
            worker: Cell::new(ptr::null()),
            fiber: Cell::new(ptr::null()),
            sim: Cell::new(ptr::null()),
        }
    };
    static OWN: RefCell<Option<Own>> = const { RefCell::new(None) };
}

/// Keeps a plain thread's task alive as long as the thread-local points to it.
struct Own {
    _task: Arc<Task>,
    _context: Arc<ContextInner>,
}

impl Drop for Own {
    fn drop(&mut self) {
        CX.with(|cx| {
            cx.kind.set(Kind::Unset);
            cx.task.set(ptr::null());
            cx.context.set(ptr::null());
        });
    }
}

/// Makes the calling thread a plain-thread task if it is nothing yet, and gives its kind.
#[inline]
pub(crate) fn kind() -> Kind {
    match CX.with(|cx| cx.kind.get()) {
        Kind::Unset => adopt(None),
        kind => kind,
    }
}

/// Makes the calling thread a plain-thread task, with a given context or its own.
#[cold]
pub(crate) fn adopt(context: Option<Arc<ContextInner>>) -> Kind {
    let task = Arc::new(Task::new(Home::Thread(std::thread::current())));
    let context = context.unwrap_or_else(|| ContextInner::new(Route::none()));
    context.attach(&task);
    crate::stack::watch_thread();
    CX.with(|cx| {
        cx.kind.set(Kind::Thread);
        cx.task.set(Arc::as_ptr(&task));
        cx.context.set(Arc::as_ptr(&context));
    });
    let own = Own { _task: task, _context: context };
    let kept = OWN.try_with(|o| o.try_borrow_mut().map(|mut o| o.replace(own)));
    if kept.is_err() {
        // The thread's locals are being destroyed: `own` went with the closure, and so must the pointers.
        CX.with(|cx| {
            cx.kind.set(Kind::Unset);
            cx.task.set(ptr::null());
            cx.context.set(ptr::null());
        });
    }
    Kind::Thread
}

/// Runs `f` on a helper thread as part of another task: the interruptions that it sees are that one's.
pub(crate) fn with_context_of<T>(context: &Arc<ContextInner>, f: impl FnOnce() -> T) -> T {
    /// Puts the thread's own context back, also when `f` panics.
    struct Restore(*const ContextInner);
    impl Drop for Restore {
        fn drop(&mut self) {
            CX.with(|cx| cx.context.set(self.0));
        }
    }
    kind();
    let _restore = Restore(CX.with(|cx| cx.context.replace(Arc::as_ptr(context))));
    f()
}

/// True on the thread of a running simulation.
#[inline]
pub fn simulated() -> bool {
    CX.with(|cx| !cx.sim.get().is_null())
}
