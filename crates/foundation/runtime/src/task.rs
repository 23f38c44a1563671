//! Tasks, parking and waking, interruption.

use std::marker::PhantomData;
use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use gannet_base::sync::Mutex;
use gannet_base::sync::atomic::{
    AtomicU32, AtomicU64,
    Ordering::{Acquire, Relaxed, SeqCst},
};
use gannet_base::{slot as thread_slot, sync};
use gannet_telemetry::{Wait, waited};

use crate::cx::{self, CX, Kind, kind};
use crate::sim;
use crate::stack::LastWord;
use crate::time::{now_ns, real_now_ns};
use crate::worker::{self, Fiber, Message, Worker, WorkerShared};

/// Why a park ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use = "a park may end for other reasons than a wake"]
pub enum Unpark {
    /// A waker was used, now or since the last park. May also be a leftover: check the condition and park again.
    Woken,
    /// The deadline has passed.
    TimedOut,
    /// The task was interrupted ([`TaskContext::interrupt`]) and is not masked.
    Interrupted,
}

/// No wake is pending and the task runs.
const EMPTY: u32 = 0;
/// The task is parked: whoever changes this must make it run.
const PARKED: u32 = 1;
/// A wake is pending.
const NOTIFIED: u32 = 2;

/// Where a task runs, and so how it is made to run again.
pub(crate) enum Home {
    Thread(std::thread::Thread),
    /// The address of the fiber: used only while the task is parked or notified, when the fiber is alive.
    Fiber {
        worker: Arc<WorkerShared>,
        fiber: usize,
    },
    /// A worker's own loop, for the connections that need no fiber while they wait. It counts as parked until it is
    /// woken.
    Loop(Arc<WorkerShared>),
    /// A simulated task, by the number of its simulation and its own.
    Sim {
        sim: u64,
        id: u64,
    },
}

/// What is parked and woken.
pub(crate) struct Task {
    token: AtomicU32,
    home: Home,
}

impl Task {
    pub(crate) fn new(home: Home) -> Self {
        Task { token: AtomicU32::new(EMPTY), home }
    }

    fn wake(self: &Arc<Self>) {
        // A wake before a task looks at its condition must be visible with what was written before the wake.
        if self.token.swap(NOTIFIED, SeqCst) == PARKED {
            match &self.home {
                Home::Thread(thread) => thread.unpark(),
                Home::Loop(worker) => worker.post(Message::AskHeld),
                Home::Sim { sim, id } => sim::wake(*sim, *id),
                Home::Fiber { worker, fiber } => {
                    let here = CX.with(|cx| cx.worker.get());
                    // SAFETY: the thread-local's worker is alive while the thread is its.
                    match unsafe { here.as_ref() } {
                        Some(here) if Arc::ptr_eq(&here.shared, worker) => here.make_ready(fiber_at(*fiber)),
                        _ => worker.post(Message::Run(*fiber)),
                    }
                }
            }
        }
    }

    /// What wakes a worker's loop.
    pub(crate) fn of_loop(worker: Arc<WorkerShared>) -> Arc<Self> {
        Arc::new(Task { token: AtomicU32::new(PARKED), home: Home::Loop(worker) })
    }

    /// The loop has been woken and is about to look: a wake from now on is another one.
    pub(crate) fn awake(&self) {
        // Reads what the waker wrote: what it did before is seen by the look.
        self.token.swap(PARKED, SeqCst);
    }

    /// The same, from the worker that the task's fiber belongs to.
    pub(crate) fn wake_local(&self, worker: &Worker) {
        if self.token.swap(NOTIFIED, SeqCst) == PARKED
            && let Home::Fiber { fiber, .. } = &self.home
        {
            worker.make_ready(fiber_at(*fiber));
        }
    }

    /// Announces that the task is about to be suspended. `false`: a wake was pending and is taken; do not suspend.
    pub(crate) fn begin_park(&self) -> bool {
        let parked = self.token.compare_exchange(EMPTY, PARKED, SeqCst, SeqCst).is_ok();
        if !parked {
            self.token.store(EMPTY, SeqCst);
        }
        parked
    }

    /// After the suspension: `true` when the task was woken, `false` when it timed out.
    pub(crate) fn end_park(&self) -> bool {
        self.token.swap(EMPTY, SeqCst) == NOTIFIED
    }

    /// The timer's side: `true` when it has ended the park and must make the task run.
    pub(crate) fn time_out(&self) -> bool {
        self.token.compare_exchange(PARKED, EMPTY, SeqCst, SeqCst).is_ok()
    }

    /// Takes a pending wake.
    fn take_token(&self) -> bool {
        self.token.load(Relaxed) == NOTIFIED && self.token.swap(EMPTY, Acquire) == NOTIFIED
    }

    fn park_thread(&self, deadline: Option<u64>) -> bool {
        if !self.begin_park() {
            return true;
        }
        loop {
            match deadline {
                None => std::thread::park(),
                Some(deadline) => {
                    let now = real_now_ns();
                    if now >= deadline {
                        return self.token.swap(EMPTY, SeqCst) == NOTIFIED;
                    }
                    std::thread::park_timeout(Duration::from_nanos(deadline - now));
                }
            }
            if self.token.load(SeqCst) == NOTIFIED {
                self.token.store(EMPTY, SeqCst);
                return true;
            }
        }
    }
}

fn fiber_at(address: usize) -> NonNull<Fiber> {
    NonNull::new(address as *mut Fiber).expect("a fiber's address")
}

/// Makes a parked task run again; if it is not parked, its next park returns at once. May be kept, cloned, sent to any
/// thread, and used any number of times, also after the task has ended.
#[derive(Clone)]
pub struct Waker(pub(crate) Arc<Task>);

impl Waker {
    /// Wakes the task.
    pub fn wake(&self) {
        self.0.wake();
    }

    /// True when both wake the same task.
    pub fn same_task(&self, other: &Waker) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl std::fmt::Debug for Waker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Waker({:p})", Arc::as_ptr(&self.0))
    }
}

fn is_task(kind: Kind) -> bool {
    !matches!(kind, Kind::Worker | Kind::SimScheduler)
}

/// Whether the caller is a task, which may park; a worker's own loop may not.
pub fn may_park() -> bool {
    is_task(kind())
}

/// A waker of the current task.
pub fn waker() -> Waker {
    assert!(is_task(kind()), "a worker's own loop is no task");
    let task = CX.with(|cx| cx.task.get());
    // SAFETY: the thread-local's task pointer comes from `Arc::as_ptr` of an Arc that lives as long as the task is
    // current, so the count is at least one while it is raised.
    unsafe {
        Arc::increment_strong_count(task);
        Waker(Arc::from_raw(task))
    }
}

/// Why a task is asked to stop. The greater one wins.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(u32)]
pub enum Interrupt {
    /// The statement is to end with an error, the session stays (KILL QUERY, MAX_EXECUTION_TIME).
    Query = 1,
    /// The client is gone.
    PeerGone = 2,
    /// The session is to end (KILL CONNECTION).
    Connection = 4,
    /// The server shuts down.
    Shutdown = 8,
}

/// How an interruption reaches the task.
pub(crate) struct Route {
    task: OnceLock<Waker>,
    /// A thread that serves a connection blocks in the kernel between requests: a kill ends reception.
    socket: Mutex<Option<Arc<OwnedFd>>>,
    /// The worker that owns the connection, and the connection's id there.
    connection: Option<(Arc<WorkerShared>, u64)>,
}

impl Route {
    pub(crate) fn none() -> Self {
        Route { task: OnceLock::new(), socket: Mutex::new(None), connection: None }
    }

    pub(crate) fn connection(worker: Arc<WorkerShared>, id: u64) -> Self {
        Route { connection: Some((worker, id)), ..Route::none() }
    }

    pub(crate) fn worker(&self) -> Option<&(Arc<WorkerShared>, u64)> {
        self.connection.as_ref()
    }

    pub(crate) fn set_socket(&self, fd: Option<Arc<OwnedFd>>) {
        *self.socket.lock() = fd;
    }
}

pub(crate) struct ContextInner {
    flags: AtomicU32,
    masked: AtomicU32,
    /// Written and read by the task alone.
    hurries: AtomicU32,
    /// The wait event + 1 while parked, else 0; and since when. Written by the task, read by anybody.
    waiting: AtomicU32,
    waiting_since: AtomicU64,
    /// Of a task that is a connection with a thread of its own, that thread's number; else 0.
    pub(crate) os_thread: AtomicU32,
    pub(crate) route: Route,
    /// See [`TaskContext::set_last_word`].
    pub(crate) last_word: OnceLock<Weak<dyn LastWord>>,
}

impl ContextInner {
    pub(crate) fn new(route: Route) -> Arc<Self> {
        Arc::new(ContextInner {
            flags: AtomicU32::new(0),
            masked: AtomicU32::new(0),
            hurries: AtomicU32::new(0),
            waiting: AtomicU32::new(0),
            waiting_since: AtomicU64::new(0),
            os_thread: AtomicU32::new(0),
            route,
            last_word: OnceLock::new(),
        })
    }

    /// The context's interruptions go to this task from now on.
    pub(crate) fn attach(&self, task: &Arc<Task>) {
        let _ = self.route.task.set(Waker(task.clone()));
    }

    /// Shows and records that the task waits while `f` runs.
    fn wait(&self, why: Wait, f: impl FnOnce()) {
        self.begin_wait(why);
        f();
        self.end_wait(why);
    }

    /// Shows that the task waits.
    pub(crate) fn begin_wait(&self, why: Wait) {
        self.waiting_since.store(now_ns(), Relaxed);
        self.waiting.store(why as u32 + 1, Relaxed);
    }

    /// Records what began with [`ContextInner::begin_wait`].
    pub(crate) fn end_wait(&self, why: Wait) {
        self.waiting.store(0, Relaxed);
        waited(why, now_ns().saturating_sub(self.waiting_since.load(Relaxed)));
    }

    #[inline]
    fn pending(&self) -> bool {
        self.flags.load(Relaxed) != 0 && self.masked.load(Relaxed) == 0
    }
}

/// What other tasks may know of and do to a task: interrupt it, see what it waits for. Belongs to a connection for its
/// whole life, or to a background task.
#[derive(Clone)]
pub struct TaskContext(pub(crate) Arc<ContextInner>);

impl TaskContext {
    /// Asks the task to stop: its parks return [`Unpark::Interrupted`] at once until the interruption is cleared.
    pub fn interrupt(&self, why: Interrupt) {
        self.0.flags.fetch_or(why as u32, SeqCst);
        if let Some(waker) = self.0.route.task.get() {
            waker.wake();
        }
        if let Some((worker, conn)) = &self.0.route.connection {
            worker.post(Message::Interrupted { conn: *conn });
        }
        if why >= Interrupt::Connection
            && let Some(fd) = &*self.0.route.socket.lock()
        {
            crate::serve::shutdown_read(fd.as_raw_fd());
        }
    }

    /// The system's number of the thread that a connection has for itself; `None` for what runs on a worker.
    pub fn os_thread(&self) -> Option<u32> {
        Some(self.0.os_thread.load(Relaxed)).filter(|id| *id != 0)
    }

    /// Takes back an interruption, for instance [`Interrupt::Query`] when the statement has ended.
    pub fn clear(&self, why: Interrupt) {
        if self.0.flags.load(Relaxed) & why as u32 != 0 {
            self.0.flags.fetch_and(!(why as u32), SeqCst);
        }
    }

    /// What is written of the task should it end the process by overflowing its stack.
    pub fn set_last_word(&self, word: Weak<dyn LastWord>) {
        let _ = self.0.last_word.set(word);
    }

    /// The strongest pending interruption, masked or not.
    pub fn pending(&self) -> Option<Interrupt> {
        let flags = self.0.flags.load(Relaxed);
        [Interrupt::Shutdown, Interrupt::Connection, Interrupt::PeerGone, Interrupt::Query]
            .into_iter()
            .find(|&i| flags & i as u32 != 0)
    }

    /// What the task waits for, and since when (as [`now_ns`] counts). `None` while it runs.
    pub fn waiting(&self) -> Option<(Wait, u64)> {
        let wait = (self.0.waiting.load(Relaxed) as usize).checked_sub(1)?;
        Some((*Wait::ALL.get(wait)?, self.0.waiting_since.load(Relaxed)))
    }
}

/// The current task's context.
pub fn context() -> TaskContext {
    assert!(is_task(kind()), "a worker's own loop is no task");
    let context = CX.with(|cx| cx.context.get());
    // SAFETY: as in `waker`: the pointer comes from an Arc which the current task keeps alive.
    unsafe {
        Arc::increment_strong_count(context);
        TaskContext(Arc::from_raw(context))
    }
}

fn with_context<R>(f: impl FnOnce(&ContextInner) -> R) -> R {
    assert!(is_task(kind()), "a worker's own loop is no task");
    let context = CX.with(|cx| cx.context.get());
    // SAFETY: as in `waker`; the reference does not outlive the closure, during which the task stays current.
    f(unsafe { &*context })
}

/// True when the current task should stop soon: somebody interrupted it and it is not masked. Cheap; long loops ask.
#[inline]
pub fn interrupted() -> bool {
    with_context(|c| c.pending())
}

/// Why the current task was interrupted, when it was and is not masked.
pub fn interruption() -> Option<Interrupt> {
    if interrupted() { context().pending() } else { None }
}

/// While it lives, the current task's parks do not end by interruption: for roll-back and other work which must be done
/// whatever happens. Nests.
#[must_use = "the mask ends when this is dropped"]
pub struct InterruptMask(PhantomData<*const ()>);

/// Masks interruptions of the current task. See [`InterruptMask`].
pub fn mask_interrupts() -> InterruptMask {
    // Only the task itself writes `masked`.
    with_context(|c| c.masked.store(c.masked.load(Relaxed) + 1, Relaxed));
    InterruptMask(PhantomData)
}

impl Drop for InterruptMask {
    fn drop(&mut self) {
        with_context(|c| c.masked.store(c.masked.load(Relaxed) - 1, Relaxed));
    }
}

/// While it lives, the current task is not held back for the sake of those who follow: it ends a transaction, clears up
/// or makes room, and others wait for that. Nests.
#[must_use = "the hurry ends when this is dropped"]
pub struct Hurry(PhantomData<*const ()>);

/// Lets the current task [`Hurry`].
pub fn hurry() -> Hurry {
    with_context(|c| c.hurries.store(c.hurries.load(Relaxed) + 1, Relaxed));
    Hurry(PhantomData)
}

impl Drop for Hurry {
    fn drop(&mut self) {
        with_context(|c| c.hurries.store(c.hurries.load(Relaxed) - 1, Relaxed));
    }
}

/// Whether the current task is in a [`Hurry`].
pub fn hurries() -> bool {
    with_context(|c| c.hurries.load(Relaxed) != 0)
}

/// Waits until somebody uses a [`Waker`] of this task, the deadline ([`now_ns`]) passes, or the task is interrupted.
///
/// The only way to wait. Wakes are remembered (one), so the order 'make the waker known, check the condition, park'
/// loses none. `why` is the wait event that telemetry and the process list show.
///
/// No lock, latch, `RefCell` borrow or reference into a thread-local may be held; debug builds check locks and latches.
pub fn park(why: Wait, deadline: Option<u64>) -> Unpark {
    let kind = kind();
    debug_assert_eq!(sync::held(), 0, "parking for {} with a lock or latch held", why.name());
    assert!(is_task(kind), "a worker's own loop may not wait");
    debug_assert!(
        kind == Kind::Sim || !std::thread::panicking(),
        "parking while unwinding would let other tasks see the panic"
    );
    let (task, context) = CX.with(|cx| (cx.task.get(), cx.context.get()));
    // SAFETY: both come from Arcs that the current task keeps alive while it is current, and it is current (though
    // perhaps suspended) until this function returns.
    let (task, context) = unsafe { (&*task, &*context) };
    if context.pending() {
        return Unpark::Interrupted;
    }
    if kind != Kind::Sim && task.take_token() {
        return Unpark::Woken;
    }
    let mut woken = false;
    context.wait(why, || {
        woken = match kind {
            Kind::Thread | Kind::Unset => task.park_thread(deadline),
            Kind::Fiber => worker::park(task, deadline),
            Kind::Sim => sim::park(task, deadline),
            Kind::Worker | Kind::SimScheduler => unreachable!("see above"),
        }
    });
    if context.pending() {
        Unpark::Interrupted
    } else if woken {
        Unpark::Woken
    } else {
        Unpark::TimedOut
    }
}

/// Shows and records that the current task, if it is one, waits while `f` runs.
pub(crate) fn waiting(why: Wait, f: impl FnOnce()) {
    if is_task(kind()) { with_context(|c| c.wait(why, f)) } else { f() }
}

/// Runs a closure on a fiber that may block its worker for a moment, where nothing else waits for the worker: what it
/// does with files is done on the thread itself, and it must not wait for other tasks. Shows the task as waiting.
pub(crate) fn block_briefly(why: Wait, f: impl FnOnce()) {
    /// Puts the kind back, also when `f` panics.
    struct Restore(Kind);
    impl Drop for Restore {
        fn drop(&mut self) {
            cx::CX.with(|cx| cx.kind.set(self.0));
        }
    }
    waiting(why, || {
        let _restore = Restore(cx::CX.with(|cx| cx.kind.replace(Kind::Worker)));
        f();
    });
}

/// Lets other tasks of this worker run. On a plain thread: gives up the processor.
pub fn yield_now() {
    match kind() {
        Kind::Fiber => worker::yield_now(),
        Kind::Sim => sim::yield_now(),
        _ => std::thread::yield_now(),
    }
}

/// To be called at batch boundaries of long work: yields when the task has run for longer than its share (about 1 ms).
/// On a plain thread it does nothing: the kernel shares the processor.
#[inline]
pub fn yield_if_due() {
    match kind() {
        Kind::Fiber => worker::yield_if_due(),
        Kind::Sim => sync::sched_point(),
        _ => {}
    }
}

/// A small dense number for per-worker state, below [`crate::MAX_SLOTS`]: the index of the current worker or plain
/// thread. It is given back when the thread ends. A fiber keeps its worker's slot across parks; in the simulation each
/// task has its own.
#[inline]
pub fn slot() -> usize {
    if cx::simulated() { sim::slot() } else { thread_slot::current() }
}

/// Tasks of which this is equal take turns on one thread: one that wakes another costs no call of the kernel. A
/// worker's fibers have one in common, a plain thread has its own. In the simulation it is one of two.
#[inline]
pub fn site() -> usize {
    if cx::simulated() { sim::slot() % 2 } else { thread_slot::current() }
}

/// One more than the greatest slot in use so far.
pub fn slot_count() -> usize {
    if cx::simulated() { sim::slot_count() } else { thread_slot::high_water() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, AtomicUsize};

    #[test]
    fn token_is_sticky_and_single() {
        std::thread::spawn(|| {
            let w = waker();
            w.wake();
            w.wake();
            assert_eq!(park(Wait::Condition, None), Unpark::Woken);
            assert_eq!(park(Wait::Condition, Some(now_ns() + 1_000_000)), Unpark::TimedOut);
            assert_eq!(park(Wait::Condition, Some(0)), Unpark::TimedOut);
        })
        .join()
        .unwrap();
    }

    #[test]
    fn no_wake_is_lost() {
        // Two threads hand a turn back and forth: one lost wake and both hang.
        const ROUNDS: usize = 20_000;
        let turn = Arc::new(AtomicUsize::new(0));
        let wakers: Arc<[OnceLock<Waker>; 2]> = Arc::new([OnceLock::new(), OnceLock::new()]);
        let threads: Vec<_> = (0..2)
            .map(|me| {
                let (turn, wakers) = (turn.clone(), wakers.clone());
                std::thread::spawn(move || {
                    wakers[me].set(waker()).unwrap();
                    while wakers[1 - me].get().is_none() {
                        std::thread::yield_now();
                    }
                    for round in 0..ROUNDS {
                        while turn.load(SeqCst) != 2 * round + me {
                            assert_eq!(park(Wait::Condition, Some(now_ns() + 20_000_000_000)), Unpark::Woken);
                        }
                        turn.store(2 * round + me + 1, SeqCst);
                        wakers[1 - me].get().unwrap().wake();
                    }
                })
            })
            .collect();
        threads.into_iter().for_each(|t| t.join().unwrap());
    }

    #[test]
    fn interruption_ends_parks_unless_masked() {
        let (tx, rx) = std::sync::mpsc::channel();
        let masked = Arc::new(AtomicBool::new(false));
        let m = masked.clone();
        let t = std::thread::spawn(move || {
            tx.send(context()).unwrap();
            assert_eq!(park(Wait::RowLock, None), Unpark::Interrupted);
            assert_eq!(interruption(), Some(Interrupt::Query));
            assert_eq!(park(Wait::RowLock, None), Unpark::Interrupted, "sticky");
            {
                let _mask = mask_interrupts();
                assert!(!interrupted());
                // The interruption's own wake may still be there.
                while park(Wait::FileSync, Some(now_ns() + 2_000_000)) == Unpark::Woken {}
                m.store(true, SeqCst);
            }
            assert!(interrupted());
            context().clear(Interrupt::Query);
            assert!(!interrupted());
            while park(Wait::FileSync, Some(now_ns() + 1_000_000)) == Unpark::Woken {}
        });
        let ctx = rx.recv().unwrap();
        while ctx.waiting().is_none() {
            std::thread::yield_now();
        }
        assert_eq!(ctx.waiting().unwrap().0, Wait::RowLock);
        ctx.interrupt(Interrupt::Query);
        t.join().unwrap();
        assert!(masked.load(SeqCst));
    }
}
