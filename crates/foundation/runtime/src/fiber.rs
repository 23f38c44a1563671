//! A stack and the code that runs on it: what worker fibers and simulated tasks are made of.

use std::cell::{Cell, RefCell, UnsafeCell};
use std::io;
use std::ptr;

use corosensei::stack::{DefaultStack, Stack};
use corosensei::{Coroutine, CoroutineResult, Yielder};

type Co = Coroutine<(), (), (), DefaultStack>;

/// A suspended or running stack. Belongs to one thread; pinned in memory by its owner, because the code on it may hold
/// pointers to it.
pub(crate) struct Core {
    co: UnsafeCell<Option<Co>>,
    yielder: Cell<*const Yielder<(), ()>>,
    stack_low: usize,
    /// Its size when the stack is to be used again.
    spare: Option<usize>,
}

/// Bytes below which the kernel's guard page lies; none of them may be used.
const GUARD: usize = 4096;

impl Core {
    /// A stack of `stack_size` bytes (lazily committed, with a guard page below) that will run `body` at the first
    /// resume. `body` gets the address at which it can call [`Core::suspend`]: the core must not move after its first
    /// resume.
    pub(crate) fn new(stack_size: usize, body: impl FnOnce() + 'static) -> io::Result<Core> {
        Ok(Core::on(DefaultStack::new(stack_size)?, None, body))
    }

    /// The same on a stack that ended code of this thread has left, if there is one of that size: for who makes many.
    pub(crate) fn reusing(stack_size: usize, body: impl FnOnce() + 'static) -> io::Result<Core> {
        let spare = SPARE.with_borrow_mut(|all| {
            let i = all.iter().position(|(size, _)| *size == stack_size)?;
            Some(all.swap_remove(i).1)
        });
        let stack = spare.map_or_else(|| DefaultStack::new(stack_size), Ok)?;
        Ok(Core::on(stack, Some(stack_size), body))
    }

    fn on(stack: DefaultStack, spare: Option<usize>, body: impl FnOnce() + 'static) -> Core {
        let stack_low = stack.limit().get() + GUARD;
        let co = Coroutine::with_stack(stack, move |yielder: &Yielder<(), ()>, this: ()| {
            let () = this;
            FIRST.with(|f| f.set(yielder));
            body()
        });
        Core { co: UnsafeCell::new(Some(co)), yielder: Cell::new(ptr::null()), stack_low, spare }
    }

    /// Lowest usable address of the stack.
    pub(crate) fn stack_low(&self) -> usize {
        self.stack_low
    }

    /// Runs the code on the stack until it suspends (`true`) or ends (`false`).
    ///
    /// # Safety
    /// Only on the thread that made it, not from the code on this same stack, and not after it has ended.
    pub(crate) unsafe fn resume(&self) -> bool {
        // SAFETY: by the contract nobody else uses the coroutine value now: the code on the stack only uses the
        // yielder.
        let co = unsafe { (*self.co.get()).as_mut().unwrap_unchecked() };
        matches!(co.resume(()), CoroutineResult::Yield(()))
    }

    /// Called first by the body: keeps the way back.
    pub(crate) fn entered(&self) {
        self.yielder.set(FIRST.with(|f| f.get()));
    }

    /// Goes back to the resumer until the next resume.
    ///
    /// # Safety
    /// Only from the code on this stack, after [`Core::entered`].
    pub(crate) unsafe fn suspend(&self) {
        // SAFETY: the yielder lives on the stack that is running, below this frame.
        unsafe { (*self.yielder.get()).suspend(()) }
    }
}

impl Drop for Core {
    fn drop(&mut self) {
        if let (Some(size), Some(co)) = (self.spare, self.co.get_mut().take_if(|co| co.done())) {
            let stack = co.into_stack();
            // Not while the thread ends.
            let _ = SPARE.try_with(|all| {
                let mut all = all.borrow_mut();
                if all.len() < SPARES {
                    all.push((size, stack));
                }
            });
        }
    }
}

/// Stacks that are kept for [`Core::reusing`].
const SPARES: usize = 64;

thread_local! {
    static SPARE: RefCell<Vec<(usize, DefaultStack)>> = const { RefCell::new(Vec::new()) };
    static FIRST: Cell<*const Yielder<(), ()>> = const { Cell::new(ptr::null()) };
}
