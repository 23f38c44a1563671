//! A worker runs its fibers: pooled stacks that take one job after the other.

use std::cell::Cell;
use std::ptr::NonNull;
use std::sync::Arc;

use gannet_telemetry::{Counter, count};

use super::fiber::{Fiber, Job, State, worker};
use super::{KEEP_IDLE, Worker};
use crate::cx::{CX, Kind};
use crate::fiber::Core;
use crate::task::{ContextInner, Home, Route, Task};

impl Worker {
    /// Gives a job to a fiber, and runs it at once.
    pub(crate) fn start_fiber(&self, job: Job) {
        let fiber = match self.take_fiber() {
            Ok(fiber) => fiber,
            Err(e) => return self.no_fiber(job, e),
        };
        // SAFETY: fibers in the idle list, and new ones, are alive.
        let f = unsafe { fiber.as_ref() };
        let context = match &job {
            // SAFETY: a connection with a job is alive.
            Job::Serve(c) | Job::GoOn(c, _) | Job::Close(c) => unsafe {
                c.as_ref().fiber.set(fiber.as_ptr());
                Arc::as_ptr(&c.as_ref().context.0)
            },
            Job::Call(_, context) => {
                context.0.attach(&f.task);
                Arc::as_ptr(&context.0)
            }
            Job::Exit => Arc::as_ptr(&f.own),
        };
        f.context.set(context);
        f.job.set(Some(job));
        self.active.set(self.active.get() + 1);
        self.resume(fiber);
    }

    /// No memory for another stack: the connection closes without its service being asked, other jobs are dropped.
    fn no_fiber(&self, job: Job, error: std::io::Error) {
        count(Counter::ConnectionErrorsInternal);
        eprintln!("gannet: no memory for another fiber: {error}");
        if let Job::Serve(c) | Job::GoOn(c, _) | Job::Close(c) = job {
            self.finish_close(c);
        }
    }

    fn take_fiber(&self) -> std::io::Result<NonNull<Fiber>> {
        let idle = self.idle.borrow_mut().pop();
        self.idle_low.set(self.idle_low.get().min(self.idle.borrow().len()));
        if let Some(fiber) = idle {
            return Ok(fiber);
        }
        count(Counter::FibersCreated);
        let place: *mut Fiber = Box::into_raw(Box::<Fiber>::new_uninit()).cast();
        let address = place as usize;
        let core = match Core::new(self.options.stack_size, move || body(address as *const Fiber)) {
            Ok(core) => core,
            Err(e) => {
                // SAFETY: the box made above, still without a value in it.
                drop(unsafe { Box::from_raw(place.cast::<std::mem::MaybeUninit<Fiber>>()) });
                return Err(e);
            }
        };
        let own = ContextInner::new(Route::none());
        let fiber = Fiber {
            core,
            task: Arc::new(Task::new(Home::Fiber { worker: self.shared.clone(), fiber: address })),
            job: Cell::new(None),
            context: Cell::new(Arc::as_ptr(&own)),
            own,
            state: Cell::new(State::Done),
            timer: Cell::new(None),
            resumed_at: Cell::new(0),
        };
        // SAFETY: `place` is valid for a Fiber and not yet initialised.
        unsafe {
            place.write(fiber);
            Ok(NonNull::new_unchecked(place))
        }
    }

    /// Runs a fiber until it suspends, and does what its state asks for.
    pub(crate) fn resume(&self, fiber: NonNull<Fiber>) {
        // SAFETY: fibers are freed only here and in `end_fiber`, when nothing refers to them any more.
        let f = unsafe { fiber.as_ref() };
        let before = CX.with(|cx| {
            debug_assert!(cx.fiber.get().is_null(), "fibers are started by the worker's loop only");
            cx.kind.set(Kind::Fiber);
            cx.task.set(Arc::as_ptr(&f.task));
            cx.context.set(f.context.get());
            cx.fiber.set(fiber.as_ptr());
            gannet_base::stack::set_low(f.core.stack_low())
        });
        f.state.set(State::Running);
        f.resumed_at.set(self.now.get());
        // SAFETY: this is the fiber's thread, on the thread's own stack; fibers with a job have not ended.
        let alive = unsafe { f.core.resume() };
        CX.with(|cx| {
            cx.kind.set(Kind::Worker);
            cx.task.set(std::ptr::null());
            cx.context.set(std::ptr::null());
            cx.fiber.set(std::ptr::null());
            gannet_base::stack::set_low(before);
        });
        debug_assert!(alive);
        match f.state.get() {
            State::Done => {
                self.active.set(self.active.get() - 1);
                f.context.set(Arc::as_ptr(&f.own));
                self.idle.borrow_mut().push(fiber);
            }
            State::Yielded => self.make_ready_later(fiber),
            State::Parked | State::Blocked => {}
            State::Running => unreachable!("a fiber says why it suspends"),
        }
    }

    /// Frees those idle fibers beyond [`KEEP_IDLE`] that were not needed since this was done last.
    pub(super) fn trim_idle(&self) {
        let unused = self.idle_low.get().saturating_sub(KEEP_IDLE);
        // The first ones were used longest ago.
        let unused: Vec<_> = self.idle.borrow_mut().drain(..unused).collect();
        unused.into_iter().for_each(|fiber| self.end_fiber(fiber));
        self.idle_low.set(self.idle.borrow().len());
    }

    /// Frees a fiber without a job.
    pub(crate) fn end_fiber(&self, fiber: NonNull<Fiber>) {
        // SAFETY: the fiber is in no list, has no job, and its task cannot be parked: nothing refers to it. It was made
        // by Box::into_raw.
        unsafe {
            let f = fiber.as_ref();
            f.job.set(Some(Job::Exit));
            let alive = f.core.resume();
            debug_assert!(!alive);
            drop(Box::from_raw(fiber.as_ptr()));
        }
    }
}

/// What runs on a fiber's stack.
fn body(this: *const Fiber) {
    // SAFETY: the fiber is freed only after this function has returned.
    let fiber = unsafe { &*this };
    fiber.core.entered();
    loop {
        match fiber.job.take() {
            None => unreachable!("a fiber is resumed with a job"),
            Some(Job::Exit) => return,
            Some(Job::Serve(conn)) => super::conns::serve(worker(), conn, None),
            Some(Job::GoOn(conn, next)) => super::conns::serve(worker(), conn, Some(next)),
            Some(Job::Close(conn)) => super::conns::close(worker(), conn),
            Some(Job::Call(f, context)) => {
                let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(f));
                if let Err(panic) = outcome {
                    crate::serve::log_panic("running a background task", &*panic);
                }
                drop(context);
            }
        }
        fiber.state.set(State::Done);
        // SAFETY: on this fiber's own stack.
        unsafe { fiber.core.suspend() };
    }
}
