//! Workers: threads that run fibers, wait for their I/O, and own connections.

mod conns;
mod driver;
mod event;
mod fiber;
mod jobs;
mod look;
mod ring;
mod sends;

use gannet_base::hash::HashMap;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use gannet_base::sync::atomic::{
    AtomicBool, AtomicU64, AtomicUsize,
    Ordering::{Acquire, Relaxed, Release, SeqCst},
};
use gannet_base::sync::{Mutex, OnceLock};
use gannet_telemetry::{Counter, Wait, count, waited};

pub(crate) use conns::{WorkerConn, await_any, fill, flush, is_sending, try_fill};
use driver::{Driver, Epoll};
use event::Event;
pub use event::{RecvMode, SendMode};
pub(crate) use fiber::{Fiber, Job, park};
use look::Look;
use ring::Ring;

use crate::cx::{CX, Kind};
use crate::op::Op;
use crate::pool;
use crate::serve::{Peer, Service};
use crate::task::{ContextInner, Route, Task, TaskContext, Waker};
use crate::time::real_now_ns;

/// Which kernel interface workers wait on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum IoMode {
    /// io_uring, or epoll where it is refused. The environment variable `GANNET_IO=epoll` forces the latter.
    #[default]
    Auto,
    /// io_uring or nothing.
    Ring,
    /// epoll for sockets and helper threads for files.
    Epoll,
}

/// How workers are set up.
#[derive(Clone, Debug)]
pub struct WorkerOptions {
    /// Number of workers; 0 means one for each core.
    pub count: usize,
    /// Kernel interface.
    pub io: IoMode,
    /// Stack of a fiber in bytes: reserved, committed as it is used.
    pub stack_size: usize,
    /// Before it sleeps, a worker on a ring looks for work for a moment, while that was of use so far.
    pub look: bool,
    /// How the ring receives.
    pub recv: RecvMode,
    /// How the ring sends.
    pub send: SendMode,
}

impl Default for WorkerOptions {
    fn default() -> Self {
        WorkerOptions {
            count: 0,
            io: IoMode::Auto,
            // Less than a huge page has: what is not touched takes no memory.
            stack_size: 1 << 20,
            look: true,
            recv: RecvMode::Multishot,
            send: SendMode::Ring,
        }
    }
}

/// What other threads ask of a worker.
pub(crate) enum Message {
    /// Run a fiber that was parked or blocked. The address of its [`Fiber`].
    Run(usize),
    /// A file operation has ended.
    OpDone { key: usize, result: i32 },
    /// Serve a new connection.
    Connect { fd: OwnedFd, peer: Peer, context: TaskContext, service: Box<dyn Service> },
    /// Ask the connections that have left the rest of a request for later.
    AskHeld,
    /// Look at a connection's context: it was interrupted.
    Interrupted { conn: u64 },
    /// Start a fiber.
    Start(Box<dyn FnOnce() + Send>, TaskContext),
    /// Close all connections, then end.
    Stop,
}

/// The part of a worker that other threads see.
pub(crate) struct WorkerShared {
    inbox: Mutex<Inbox>,
    has_mail: AtomicBool,
    /// Set while the worker may be asleep in the kernel: whoever clears it writes to the eventfd. So a burst of wakes
    /// costs one system call.
    sleeping: AtomicBool,
    eventfd: OwnedFd,
    connections: AtomicUsize,
    /// All workers of the set, this one among them, and its place there.
    team: OnceLock<(Vec<Weak<WorkerShared>>, usize)>,
}

/// What was posted to a worker and is not read.
#[derive(Default)]
struct Inbox {
    mail: Vec<Message>,
    /// The worker has ended, and reads no more.
    closed: bool,
}

impl WorkerShared {
    fn new() -> io::Result<Arc<WorkerShared>> {
        Ok(Arc::new(WorkerShared {
            inbox: Mutex::default(),
            has_mail: AtomicBool::new(false),
            sleeping: AtomicBool::new(false),
            eventfd: driver::new_eventfd()?,
            connections: AtomicUsize::new(0),
            team: OnceLock::new(),
        }))
    }

    pub(crate) fn post(&self, message: Message) {
        // What comes too late concerns nobody: fibers and connections of a worker end before it does.
        let _ = self.try_post(message);
    }

    /// Gives the message back when the worker has ended.
    pub(crate) fn try_post(&self, message: Message) -> Result<(), Message> {
        {
            let mut inbox = self.inbox.lock();
            if inbox.closed {
                return Err(message);
            }
            inbox.mail.push(message);
            self.has_mail.store(true, Release);
        }
        // Orders the store above before the load below; the sleeper does it the other way round.
        gannet_base::sync::atomic::fence(SeqCst);
        if self.sleeping.load(Relaxed) && self.sleeping.swap(false, SeqCst) {
            count(Counter::WorkerWakes);
            driver::signal(&self.eventfd);
        }
        Ok(())
    }

    /// The worker `turn` places behind this one in its set.
    pub(crate) fn after(&self, turn: usize) -> Option<Arc<WorkerShared>> {
        let (team, place) = self.team.get()?;
        team[(place + turn) % team.len()].upgrade()
    }

    /// Workers of its set.
    pub(crate) fn team_len(&self) -> usize {
        self.team.get().map_or(1, |(team, _)| team.len())
    }

    /// Takes no more messages, unless there are some to be read.
    fn close(&self) -> bool {
        let mut inbox = self.inbox.lock();
        inbox.closed = inbox.mail.is_empty();
        inbox.closed
    }
}

/// A set of worker threads. Dropping it stops them as [`Workers::shutdown`] does.
pub struct Workers {
    pub(crate) shared: Vec<Arc<WorkerShared>>,
    threads: Mutex<Vec<std::thread::JoinHandle<()>>>,
    next_conn: AtomicU64,
    uses_ring: bool,
}

impl Workers {
    /// Starts the workers. Not inside a simulation, where tasks need none: an error of kind `Unsupported`.
    pub fn start(options: WorkerOptions) -> io::Result<Workers> {
        if crate::cx::simulated() {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let count = match options.count {
            0 => std::thread::available_parallelism().map_or(1, |n| n.get()),
            n => n,
        };
        let mut options = options;
        if options.io == IoMode::Auto && std::env::var_os("GANNET_IO").is_some_and(|v| v == "epoll") {
            options.io = IoMode::Epoll;
        }
        let mut workers = Workers {
            shared: Vec::new(),
            threads: Mutex::new(Vec::new()),
            next_conn: AtomicU64::new(1),
            uses_ring: false,
        };
        let (tx, rx) = std::sync::mpsc::channel();
        for index in 0..count {
            let shared = WorkerShared::new()?;
            let (s, o, tx) = (shared.clone(), options.clone(), tx.clone());
            let thread = crate::start_thread(&format!("worker-{index}"), None, move || {
                crate::stack::watch_thread();
                let driver = match new_driver(&o, &s) {
                    Ok(driver) => driver,
                    Err(e) => return drop(tx.send(Err(e))),
                };
                let _ = tx.send(Ok(matches!(driver, Driver::Ring(_))));
                drop(tx);
                Worker::new(s, driver, o).run();
            })?;
            workers.shared.push(shared);
            workers.threads.lock().push(thread);
        }
        drop(tx);
        let team: Vec<_> = workers.shared.iter().map(Arc::downgrade).collect();
        for (place, worker) in workers.shared.iter().enumerate() {
            let _ = worker.team.set((team.clone(), place));
        }
        while let Ok(started) = rx.recv() {
            workers.uses_ring = started?;
        }
        Ok(workers)
    }

    /// Number of workers.
    pub fn count(&self) -> usize {
        self.shared.len()
    }

    /// True when they wait on io_uring, false on epoll.
    pub fn uses_ring(&self) -> bool {
        self.uses_ring
    }

    /// Open connections on all workers.
    pub fn connections(&self) -> usize {
        self.shared.iter().map(|s| s.connections.load(Relaxed)).sum()
    }

    fn least_loaded(&self) -> &Arc<WorkerShared> {
        self.shared.iter().min_by_key(|s| s.connections.load(Relaxed)).expect("at least one worker")
    }

    /// A context whose interruptions reach the connection that will be made with it by `connect`.
    pub(crate) fn new_context(&self) -> TaskContext {
        let id = self.next_conn.fetch_add(1, Relaxed);
        TaskContext(ContextInner::new(Route::connection(self.least_loaded().clone(), id)))
    }

    /// Gives an accepted connection to the worker that `context` belongs to.
    pub(crate) fn connect(&self, fd: OwnedFd, peer: Peer, context: TaskContext, service: Box<dyn Service>) {
        let Some((worker, _)) = context.0.route.worker() else { return };
        worker.connections.fetch_add(1, Relaxed);
        worker.clone().post(Message::Connect { fd, peer, context, service });
    }

    /// Closes all connections and ends the workers: idle connections at once; running statements are interrupted with
    /// [`crate::Interrupt::Shutdown`] and waited for. `false` when some had not ended after `patience`; their workers
    /// are then left to themselves. Stop the listeners before.
    pub fn shutdown(&self, patience: Duration) -> bool {
        let until = Instant::now() + patience;
        let threads = std::mem::take(&mut *self.threads.lock());
        if !threads.is_empty() {
            self.shared.iter().for_each(|s| s.post(Message::Stop));
        }
        let mut clean = true;
        for t in threads {
            while !t.is_finished() && Instant::now() < until {
                std::thread::sleep(Duration::from_millis(1));
            }
            if t.is_finished() { clean &= t.join().is_ok() } else { clean = false }
        }
        clean
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        self.shutdown(Duration::from_secs(10));
    }
}

fn new_driver(options: &WorkerOptions, shared: &WorkerShared) -> io::Result<Driver> {
    let mail = shared.eventfd.as_raw_fd();
    let epoll = || Epoll::new(mail).map(Driver::Epoll);
    match options.io {
        IoMode::Epoll => epoll(),
        IoMode::Ring => Ring::new(mail, options.recv).map(Driver::Ring),
        IoMode::Auto => Ring::new(mail, options.recv).map(Driver::Ring).or_else(|_| epoll()),
    }
}

/// One worker, seen from its own thread only. Fibers reach it through the thread-local, so all is interior mutability;
/// no borrow is held while a fiber runs.
pub(crate) struct Worker {
    pub(crate) shared: Arc<WorkerShared>,
    driver: Driver,
    options: WorkerOptions,
    /// Fibers that can run.
    ready: RefCell<VecDeque<NonNull<Fiber>>>,
    /// Fibers that have had their share: ready again when the kernel has been asked for events.
    yielded: RefCell<Vec<NonNull<Fiber>>>,
    /// Fibers without a job, most recently used last.
    idle: RefCell<Vec<NonNull<Fiber>>>,
    /// The least number of them since the last sweep.
    idle_low: Cell<usize>,
    /// Fibers with a job.
    active: Cell<usize>,
    timers: RefCell<BTreeMap<(u64, u64), NonNull<Fiber>>>,
    timer_sequence: Cell<u64>,
    conns: RefCell<Vec<NonNull<WorkerConn>>>,
    by_id: RefCell<HashMap<u64, NonNull<WorkerConn>>>,
    /// Those that wait without a fiber for the rest of a request, in the order in which they began to.
    held: RefCell<VecDeque<NonNull<WorkerConn>>>,
    /// They are to be asked.
    ask_held: Cell<bool>,
    /// What they wake.
    waker: Waker,
    /// Closed connections whose last requests to the kernel have not ended.
    lingering: RefCell<Vec<NonNull<WorkerConn>>>,
    /// One of them may be free of such requests now.
    reap: Cell<bool>,
    /// Connections whose quick sends are queued and not settled.
    quick: RefCell<Vec<NonNull<WorkerConn>>>,
    look: Look,
    /// The connection whose request was the last, for comparing only, and how many it has sent in a row before.
    last_served: Cell<(*const WorkerConn, u32)>,
    /// Empty buffers for input and output.
    buffers: RefCell<Vec<Vec<u8>>>,
    /// Time at the start of this turn of the loop, or when a fiber last yielded in it.
    now: Cell<u64>,
    next_sweep: Cell<u64>,
    stopping: Cell<bool>,
}

/// Idle fibers kept with their stacks for good. Those beyond go when none of them was needed between two sweeps: a
/// crowd that comes and goes in bursts does not pay for new stacks each time.
const KEEP_IDLE: usize = 128;
/// Fibers, and connections that go on without one, before the kernel is asked for events again.
const TURN: usize = 64;
/// Requests of one connection in a row that make it the only one.
const ALONE: u32 = 16;
/// Between two looks at idle connections.
const SWEEP_NS: u64 = 250_000_000;

impl Worker {
    fn new(shared: Arc<WorkerShared>, driver: Driver, options: WorkerOptions) -> Self {
        Worker {
            look: Look::new(options.look && matches!(driver, Driver::Ring(_))),
            last_served: Cell::new((std::ptr::null(), 0)),
            waker: Waker(Task::of_loop(shared.clone())),
            shared,
            driver,
            options,
            ready: RefCell::default(),
            yielded: RefCell::default(),
            idle: RefCell::default(),
            idle_low: Cell::new(0),
            active: Cell::new(0),
            timers: RefCell::default(),
            timer_sequence: Cell::new(0),
            conns: RefCell::default(),
            by_id: RefCell::default(),
            held: RefCell::default(),
            ask_held: Cell::new(false),
            lingering: RefCell::default(),
            reap: Cell::new(false),
            quick: RefCell::default(),
            buffers: RefCell::default(),
            now: Cell::new(real_now_ns()),
            next_sweep: Cell::new(0),
            stopping: Cell::new(false),
        }
    }

    /// Not inlined: instructions of workers are counted by its name (`cargo xtask instructions`).
    #[inline(never)]
    fn run(self) {
        CX.with(|cx| {
            cx.kind.set(Kind::Worker);
            cx.worker.set(&self);
        });
        let mut events = Vec::with_capacity(1024);
        let mut mail = Vec::new();
        loop {
            self.now.set(real_now_ns());
            self.read_mail(&mut mail);
            self.fire_timers();
            self.resume_held();
            for _ in 0..TURN {
                let Some(fiber) = self.ready.borrow_mut().pop_front() else { break };
                self.resume(fiber);
            }
            self.sweep();
            if self.stopping.get() && self.is_empty() && self.shared.close() {
                break;
            }
            self.wait(&mut events);
            for event in events.drain(..) {
                self.handle(event);
            }
            if !self.yielded.borrow().is_empty() {
                self.ready.borrow_mut().extend(self.yielded.borrow_mut().drain(..));
            }
        }
        for fiber in self.idle.take() {
            self.end_fiber(fiber);
        }
        CX.with(|cx| {
            cx.kind.set(Kind::Unset);
            cx.worker.set(std::ptr::null());
        });
    }

    fn is_empty(&self) -> bool {
        self.active.get() == 0
            && self.conns.borrow().is_empty()
            && self.lingering.borrow().is_empty()
            && !self.shared.has_mail.load(Acquire)
    }

    fn read_mail(&self, mail: &mut Vec<Message>) {
        if !self.shared.has_mail.load(Acquire) {
            return;
        }
        {
            let mut inbox = self.shared.inbox.lock();
            std::mem::swap(&mut inbox.mail, mail);
            self.shared.has_mail.store(false, Relaxed);
        }
        for message in mail.drain(..) {
            match message {
                // SAFETY (of the pointers below): whoever posts this has changed the fiber from parked to notified, so
                // it stays suspended, and alive, until it is resumed from here.
                Message::Run(fiber) => self.make_ready(NonNull::new(fiber as *mut Fiber).expect("a fiber")),
                Message::OpDone { key, result } => self.handle(Event::Op { key, result }),
                Message::Connect { fd, peer, context, service } => self.open_conn(fd, peer, context, service),
                Message::AskHeld => self.ask_held.set(true),
                Message::Interrupted { conn } => self.conn_interrupted(conn),
                Message::Start(f, context) => self.start_fiber(Job::Call(f, context)),
                Message::Stop => {
                    self.stopping.set(true);
                    self.stop_conns();
                }
            }
        }
    }

    /// Sleeps in the kernel when there is nothing to run; else only looks what has come.
    fn wait(&self, events: &mut Vec<Event>) {
        if !self.ready.borrow().is_empty() || !self.yielded.borrow().is_empty() || self.ask_held.get() {
            return self.ask_kernel(Some(0), events);
        }
        let start = real_now_ns();
        if self.look.is_worth_it(start) {
            self.ask_kernel(Some(0), events);
            let due = || self.driver.is_due() || self.shared.has_mail.load(Relaxed);
            if !events.is_empty() || self.look.until(start, real_now_ns, due) {
                return;
            }
        }
        self.shared.sleeping.store(true, SeqCst);
        gannet_base::sync::atomic::fence(SeqCst);
        if self.shared.has_mail.load(Relaxed) {
            self.shared.sleeping.store(false, Relaxed);
            return self.ask_kernel(Some(0), events);
        }
        let timer = self.timers.borrow().first_key_value().map(|(&(at, _), _)| at);
        let swept = !self.conns.borrow().is_empty()
            || !self.lingering.borrow().is_empty()
            || self.idle.borrow().len() > KEEP_IDLE;
        let sweep = swept.then(|| self.next_sweep.get());
        let next = timer.into_iter().chain(sweep).min();
        // A timeout of 0 would mean not to wait, and events of a ring come with waiting only.
        let timeout = next.map(|at| at.saturating_sub(start).max(1));
        self.ask_kernel(timeout, events);
        self.shared.sleeping.store(false, Relaxed);
        count(Counter::WorkerSleeps);
        // What is served now has its share from here on, not from before the sleep.
        self.now.set(real_now_ns());
        let slept = self.now.get().saturating_sub(start);
        self.look.has_slept(slept);
        waited(Wait::WorkerIdle, slept);
    }

    #[inline(always)]
    fn handle(&self, event: Event) {
        match event {
            // The ring has read the eventfd; epoll watches it edge-triggered, so its count need not be read.
            Event::Mail => {}
            Event::Op { key, result } => {
                // SAFETY: the slot lives on the stack of a fiber that is blocked until all its slots are done.
                let slot = unsafe { &*(key as *const OpSlot) };
                slot.result.set(result);
                // SAFETY: as above.
                let batch = unsafe { &*slot.batch };
                batch.pending.set(batch.pending.get() - 1);
                if batch.pending.get() == 0 {
                    self.make_ready(batch.fiber);
                }
            }
            Event::Received { key, result, buffer, more } => self.on_received(key, result, buffer, more),
            Event::Sent { key, result } => self.on_sent(key, result),
            Event::Ready { key, readable, writable, ended } => self.on_ready(key, readable, writable, ended),
        }
    }

    fn fire_timers(&self) {
        let now = self.now.get();
        loop {
            let fiber = {
                let mut timers = self.timers.borrow_mut();
                match timers.first_entry() {
                    Some(e) if e.key().0 <= now => e.remove(),
                    _ => return,
                }
            };
            // SAFETY: a fiber takes its timer away before it runs on, so this one is still parked (or has just been
            // notified and waits to be resumed).
            let f = unsafe { fiber.as_ref() };
            f.timer.set(None);
            if f.task.time_out() {
                self.make_ready(fiber);
            }
        }
    }

    pub(crate) fn add_timer(&self, deadline: u64, fiber: NonNull<Fiber>) -> (u64, u64) {
        let sequence = self.timer_sequence.get();
        self.timer_sequence.set(sequence + 1);
        self.timers.borrow_mut().insert((deadline, sequence), fiber);
        (deadline, sequence)
    }

    pub(crate) fn remove_timer(&self, key: (u64, u64)) {
        self.timers.borrow_mut().remove(&key);
    }

    pub(crate) fn make_ready(&self, fiber: NonNull<Fiber>) {
        self.ready.borrow_mut().push_back(fiber);
    }

    /// Makes a fiber run in the next turn: requests that have come meanwhile are served before. (Run again in the same
    /// turn it would keep the kernel's events waiting for as long as [`TURN`] shares.)
    pub(crate) fn make_ready_later(&self, fiber: NonNull<Fiber>) {
        self.now.set(real_now_ns());
        self.yielded.borrow_mut().push(fiber);
    }
}

/// Executes file operations for the current fiber, which is blocked until all have ended.
pub(crate) fn perform(ops: &[Op], results: &mut [i32]) {
    const AT_ONCE: usize = 64;
    let worker = fiber::worker();
    for (ops, results) in ops.chunks(AT_ONCE).zip(results.chunks_mut(AT_ONCE)) {
        let batch = Batch { pending: Cell::new(ops.len()), fiber: fiber::current() };
        let slots: Vec<OpSlot> = ops.iter().map(|_| OpSlot { result: Cell::new(0), batch: &batch }).collect();
        for (op, slot) in ops.iter().zip(&slots) {
            // SAFETY: this frame, with the slots and whatever the operations point to, stays until all have ended.
            unsafe { worker.driver.start(op, slot as *const OpSlot as usize, &worker.shared) };
        }
        batch.wait();
        for (slot, result) in slots.iter().zip(results) {
            *result = slot.result.get();
        }
    }
}

/// Runs a closure on a helper thread while the current fiber is blocked.
pub(crate) fn run_blocking<T: Send>(f: impl FnOnce() -> T + Send) -> T {
    run_on(&pool::BLOCKING, f)
}

/// The same for a computation, which sees when the fiber's task is interrupted.
pub(crate) fn run_long<T: Send>(f: impl FnOnce() -> T + Send) -> T {
    // SAFETY: the current fiber's context is alive, and stays so while the fiber is blocked: it is raised for the time.
    let context = unsafe {
        let context = CX.with(|cx| cx.context.get());
        Arc::increment_strong_count(context);
        Arc::from_raw(context)
    };
    run_on(&pool::LONG, move || crate::cx::with_context_of(&context, f))
}

fn run_on<T: Send>(pool: &'static pool::Pool, f: impl FnOnce() -> T + Send) -> T {
    debug_assert_eq!(gannet_base::sync::held(), 0, "others run while a lock or latch is held");
    let batch = Batch { pending: Cell::new(1), fiber: fiber::current() };
    let slot = OpSlot { result: Cell::new(0), batch: &batch };
    let (key, shared) = (&raw const slot as usize, fiber::worker().shared.clone());
    let mut outcome = None;
    let place = &mut outcome;
    let job: Box<dyn FnOnce() + Send + '_> = Box::new(move || {
        *place = Some(std::panic::catch_unwind(std::panic::AssertUnwindSafe(f)));
        shared.post(Message::OpDone { key, result: 0 });
    });
    // SAFETY: only the lifetime changes. What the job borrows lives in this frame and the caller's, and this function
    // returns only after the message that is posted when the job is done with its borrows.
    let job: Box<dyn FnOnce() + Send + 'static> = unsafe { std::mem::transmute(job) };
    pool.submit(job);
    batch.wait();
    match outcome.expect("the job has run") {
        Ok(value) => value,
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

/// The worker whose fiber runs on this thread, if one does.
pub(crate) fn current_shared() -> Option<Arc<WorkerShared>> {
    (crate::cx::kind() == Kind::Fiber).then(|| fiber::worker().shared.clone())
}

/// Lets the worker's other fibers run, and looks for events.
pub(crate) fn yield_now() {
    debug_assert_eq!(gannet_base::sync::held(), 0, "others run while a lock or latch is held");
    fiber::suspend(fiber::State::Yielded);
}

/// The share of a fiber before it gives others a turn.
const TURN_NS: u64 = 1_000_000;

/// Yields when the current fiber has had its share.
pub(crate) fn yield_if_due() {
    // SAFETY: the current fiber is alive.
    let since = unsafe { fiber::current().as_ref() }.resumed_at.get();
    if real_now_ns().saturating_sub(since) > TURN_NS {
        yield_now();
    }
}

/// Operations that one fiber waits for.
struct Batch {
    pending: Cell<usize>,
    fiber: NonNull<Fiber>,
}

impl Batch {
    fn wait(&self) {
        while self.pending.get() > 0 {
            fiber::block();
        }
    }
}

#[repr(align(16))]
struct OpSlot {
    result: Cell<i32>,
    batch: *const Batch,
}
