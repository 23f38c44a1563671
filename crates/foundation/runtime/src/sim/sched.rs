//! The seeded scheduler and the virtual clock.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::panic::resume_unwind;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use gannet_base::slot::MAX_SLOTS;
use gannet_base::sync::{self, Point};

use super::{Sim, SimDisk};
use crate::cx::{CX, Kind};
use crate::fiber::Core;
use crate::task::{ContextInner, Home, Task};
use crate::time::splitmix;

/// What the power cut throws through the stacks of all tasks, so that their memory is freed.
struct PowerCut;

/// True for the panic payload by which tasks of a crashed simulation are taken down.
pub(crate) fn is_power_cut(payload: &(dyn Any + Send)) -> bool {
    payload.is::<PowerCut>()
}

struct SimTask {
    name: String,
    core: Core,
    task: Arc<Task>,
    context: Arc<ContextInner>,
    slot: usize,
    held: Cell<u32>,
    /// Being taken down: its calls return errors instead of waiting.
    dying: Cell<bool>,
    dead_calls: Cell<u32>,
}

pub(crate) struct SimCore {
    id: u64,
    seed: u64,
    disk: SimDisk,
    tasks: RefCell<BTreeMap<u64, Rc<SimTask>>>,
    runnable: RefCell<Vec<u64>>,
    /// Deadlines of parked tasks (`false`) and ends of I/O (`true`).
    timers: RefCell<BTreeMap<(u64, u64), (u64, bool)>>,
    next_id: Cell<u64>,
    sequence: Cell<u64>,
    current: RefCell<Option<Rc<SimTask>>>,
    current_id: Cell<u64>,
    clock: Cell<u64>,
    /// What the wall clock, as it is set now, showed at the start.
    started_unix_us: Cell<u64>,
    choices: Cell<u64>,
    randoms: Cell<u64>,
    trace: Cell<u64>,
    steps: Cell<u64>,
    slots: RefCell<Vec<bool>>,
    crash_after: Option<u64>,
    max_steps: u64,
    switch_one_in: u64,
    power_cut: Cell<bool>,
    ending: Cell<bool>,
    /// Tasks suspended in the middle of being unwound: for the thread they all panic.
    unwinding: Cell<u32>,
    panics: RefCell<Vec<String>>,
}

/// Virtual time of a scheduling decision.
const STEP_NS: u64 = 100;
/// The virtual clock's start, and what the wall clock shows then: 2024-01-01 00:00:00 UTC.
const START_NS: u64 = 1_000_000_000;
const START_UNIX_US: u64 = 1_704_067_200_000_000;
/// Calls a dying task may make before it is left alone with what it holds.
const MAX_DEAD_CALLS: u32 = 100_000;

static NEXT_SIM: AtomicU64 = AtomicU64::new(1);

impl SimCore {
    pub(super) fn new(sim: &Sim) -> Self {
        let mut seed = sim.seed;
        let choices = splitmix(&mut seed);
        let randoms = splitmix(&mut seed);
        let one_in = 1 << (1 + splitmix(&mut seed) % 7);
        SimCore {
            id: NEXT_SIM.fetch_add(1, Relaxed),
            seed: sim.seed,
            disk: sim.disk.clone(),
            tasks: RefCell::default(),
            runnable: RefCell::default(),
            timers: RefCell::default(),
            next_id: Cell::new(0),
            sequence: Cell::new(0),
            current: RefCell::default(),
            current_id: Cell::new(u64::MAX),
            clock: Cell::new(START_NS),
            started_unix_us: Cell::new(START_UNIX_US),
            choices: Cell::new(choices),
            randoms: Cell::new(randoms),
            trace: Cell::new(0),
            steps: Cell::new(0),
            slots: RefCell::default(),
            crash_after: sim.crash_after,
            max_steps: sim.max_steps,
            switch_one_in: sim.switch_one_in.unwrap_or(one_in),
            power_cut: Cell::new(false),
            ending: Cell::new(false),
            unwinding: Cell::new(0),
            panics: RefCell::default(),
        }
    }

    fn choose(&self, n: u64) -> u64 {
        let mut state = self.choices.get();
        let value = splitmix(&mut state);
        self.choices.set(state);
        value % n
    }

    pub(super) fn fault_seed(&self) -> u64 {
        self.choose(u64::MAX)
    }

    pub(super) fn trace(&self) -> u64 {
        self.trace.get()
    }

    pub(super) fn steps(&self) -> u64 {
        self.steps.get()
    }

    pub(super) fn elapsed(&self) -> u64 {
        self.clock.get() - START_NS
    }

    pub(super) fn take_panics(&self) -> Vec<String> {
        self.panics.take()
    }

    /// Makes a task; it will run when the scheduler chooses it.
    pub(super) fn start(self: &Rc<Self>, name: &str, context: Arc<ContextInner>, f: impl FnOnce() + 'static) {
        let id = self.next_id.get();
        self.next_id.set(id + 1);
        let stack = if cfg!(debug_assertions) { 2 << 20 } else { 512 << 10 };
        let body = move || {
            // A power cut unwinds to here.
            let entered = current_task();
            entered.core.entered();
            drop(entered);
            // Not begun before the end: only dropped, inside the catch as well, since destructors may be cut too.
            let ending = self::core().ending.get();
            let run = move || if ending { drop(f) } else { f() };
            let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run));
        };
        let core = Core::reusing(stack, body).expect("memory for a simulated task's stack");
        let task = Arc::new(Task::new(Home::Sim { sim: self.id, id }));
        context.attach(&task);
        let slot = {
            let mut slots = self.slots.borrow_mut();
            let free = slots.iter().position(|taken| !taken).unwrap_or(slots.len());
            assert!(free < MAX_SLOTS, "more simulated tasks than slots");
            if free == slots.len() {
                slots.push(true)
            } else {
                slots[free] = true
            }
            free
        };
        let task = SimTask {
            name: name.to_owned(),
            core,
            task,
            context,
            slot,
            held: Cell::new(0),
            dying: Cell::new(false),
            dead_calls: Cell::new(0),
        };
        self.tasks.borrow_mut().insert(id, Rc::new(task));
        self.runnable.borrow_mut().push(id);
    }

    /// Runs until the main task has ended and all others are taken down. `true` when the power was cut before.
    pub(super) fn run(self: &Rc<Self>) -> bool {
        assert!(CX.with(|cx| cx.sim.get().is_null()), "a simulation inside a simulation");
        let before_kind = CX.with(|cx| {
            cx.sim.set(Rc::as_ptr(self));
            cx.kind.get()
        });
        let before_hook = sync::set_hook(Some(hook));
        let before_held = sync::held();
        struct Restore(Kind, Option<fn(Point)>, u32);
        impl Drop for Restore {
            fn drop(&mut self) {
                sync::set_hook(self.1);
                sync::set_held(self.2);
                CX.with(|cx| {
                    cx.sim.set(std::ptr::null());
                    cx.kind.set(self.0);
                });
            }
        }
        let (task, context) = CX.with(|cx| (cx.task.get(), cx.context.get()));
        let restore = Restore(before_kind, before_hook, before_held);
        let mut crashed = false;
        while self.tasks.borrow().contains_key(&0) {
            if self.power_cut.get() || self.crash_after.is_some_and(|at| self.steps.get() >= at) {
                crashed = true;
                break;
            }
            if self.steps.get() >= self.max_steps {
                self.give_up("has run for too long");
            }
            self.step();
        }
        self.take_down();
        drop(restore);
        CX.with(|cx| {
            cx.task.set(task);
            cx.context.set(context);
        });
        crashed
    }

    fn step(&self) {
        self.fire_timers();
        let id = {
            let mut runnable = self.runnable.borrow_mut();
            if runnable.is_empty() {
                drop(runnable);
                let Some(next) = self.timers.borrow().first_key_value().map(|(&(at, _), _)| at) else {
                    self.give_up("is deadlocked");
                };
                // Nobody can run: time jumps.
                self.clock.set(self.clock.get().max(next));
                return;
            }
            let chosen = self.choose(runnable.len() as u64) as usize;
            runnable.swap_remove(chosen)
        };
        self.steps.set(self.steps.get() + 1);
        self.clock.set(self.clock.get() + STEP_NS);
        let mut mixed = self.trace.get() ^ id.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ self.clock.get();
        self.trace.set(splitmix(&mut mixed));
        self.resume(id);
    }

    fn resume(&self, id: u64) {
        let Some(task) = self.tasks.borrow().get(&id).cloned() else { return };
        let low = CX.with(|cx| {
            cx.kind.set(Kind::Sim);
            cx.task.set(Arc::as_ptr(&task.task));
            cx.context.set(Arc::as_ptr(&task.context));
            gannet_base::stack::set_low(task.core.stack_low())
        });
        sync::set_held(task.held.get());
        *self.current.borrow_mut() = Some(task.clone());
        self.current_id.set(id);
        // SAFETY: this is the simulation's thread and the scheduler's stack; ended tasks are removed below.
        let alive = unsafe { task.core.resume() };
        self.current_id.set(u64::MAX);
        *self.current.borrow_mut() = None;
        task.held.set(sync::held());
        sync::set_held(0);
        CX.with(|cx| {
            cx.kind.set(Kind::SimScheduler);
            gannet_base::stack::set_low(low);
        });
        if !alive {
            self.tasks.borrow_mut().remove(&id);
            self.slots.borrow_mut()[task.slot] = false;
        }
    }

    fn fire_timers(&self) {
        loop {
            let (id, io) = {
                let mut timers = self.timers.borrow_mut();
                match timers.first_entry() {
                    Some(e) if e.key().0 <= self.clock.get() => e.remove(),
                    _ => return,
                }
            };
            let Some(task) = self.tasks.borrow().get(&id).cloned() else { continue };
            if io || task.task.time_out() {
                self.runnable.borrow_mut().push(id);
            }
        }
    }

    fn add_timer(&self, at: u64, id: u64, io: bool) -> (u64, u64) {
        let key = (at, self.sequence.get());
        self.sequence.set(key.1 + 1);
        self.timers.borrow_mut().insert(key, (id, io));
        key
    }

    #[cold]
    fn give_up(&self, what: &str) -> ! {
        let mut state = String::new();
        for task in self.tasks.borrow().values() {
            let doing = crate::TaskContext(task.context.clone()).waiting().map_or("runs", |(wait, _)| wait.name());
            state.push_str(&format!("\n  {}: {doing}", task.name));
        }
        // Their stacks cannot be unwound in this state; the test process is about to report anyway.
        self.tasks.take().into_values().for_each(std::mem::forget);
        panic!("the simulation {what}, seed {}, step {}:{state}", self.seed, self.steps.get());
    }

    /// Ends all tasks by unwinding their stacks. They can neither wait nor reach the disk any more.
    fn take_down(&self) {
        self.ending.set(true);
        self.timers.borrow_mut().clear();
        let mut rounds = 0u32;
        while !self.tasks.borrow().is_empty() {
            let ids: Vec<u64> = self.tasks.borrow().keys().copied().collect();
            ids.into_iter().for_each(|id| self.resume(id));
            rounds += 1;
            if rounds > MAX_DEAD_CALLS {
                // Somebody does not end. What it holds is lost to this process; say so.
                eprintln!("a simulated task does not end, its memory leaks");
                self.tasks.take().into_values().for_each(std::mem::forget);
            }
        }
        self.runnable.borrow_mut().clear();
    }
}

fn core<'a>() -> &'a SimCore {
    let core = CX.with(|cx| cx.sim.get());
    assert!(!core.is_null());
    // SAFETY: set by `SimCore::run` while the Rc is alive, on this thread.
    unsafe { &*core }
}

fn current_task() -> Rc<SimTask> {
    core().current.borrow().clone().expect("a simulated task")
}

/// Leaves the current task until it is chosen again; takes it down when the simulation ends.
fn switch() {
    let task = current_task();
    // SAFETY: on the current task's own stack.
    unsafe { task.core.suspend() };
    drop(task);
    die_if_ending();
}

/// In a simulation that ends: unwinds the task, or, if it already unwinds, returns `true`.
fn die_if_ending() -> bool {
    let core = core();
    if !core.ending.get() {
        return false;
    }
    let task = current_task();
    // A panic of the thread is this task's own unless another one is suspended in it.
    let panics = std::thread::panicking() && core.unwinding.get() == 0;
    if !task.dying.replace(true) && !panics {
        drop(task);
        resume_unwind(Box::new(PowerCut));
    }
    let calls = task.dead_calls.get() + 1;
    task.dead_calls.set(calls);
    if calls > 2 * MAX_DEAD_CALLS && std::thread::panicking() {
        eprintln!("the destructors of simulated task {} wait for ever after the power was cut", task.name);
        std::process::abort();
    }
    if calls > MAX_DEAD_CALLS && !std::thread::panicking() {
        // It catches panics and goes on: suspended for ever.
        loop {
            // SAFETY: on the current task's own stack.
            unsafe { task.core.suspend() };
        }
    }
    true
}

fn hook(point: Point) {
    if CX.with(|cx| cx.kind.get()) != Kind::Sim {
        return;
    }
    let core = core();
    if core.ending.get() {
        if die_if_ending() && point == Point::Spin {
            // Another task must let go first.
            let task = current_task();
            let unwinding = u32::from(std::thread::panicking());
            core.unwinding.set(core.unwinding.get() + unwinding);
            // SAFETY: on the current task's own stack.
            unsafe { task.core.suspend() };
            core.unwinding.set(core.unwinding.get() - unwinding);
        }
        return;
    }
    if point == Point::Spin || core.choose(core.switch_one_in) == 0 {
        yield_now();
    }
}

/// Runs another task, or perhaps the same again.
pub(crate) fn yield_now() {
    if die_if_ending() {
        return;
    }
    let core = core();
    core.runnable.borrow_mut().push(core.current_id.get());
    switch();
}

/// Parks the current task: `true` when woken, `false` when the deadline passed.
pub(crate) fn park(task: &Task, deadline: Option<u64>) -> bool {
    if die_if_ending() {
        return false;
    }
    let core = core();
    if !task.begin_park() {
        // Others run also when this one need not wait: a loop around the park must not run alone.
        yield_now();
        return true;
    }
    let timer = deadline.map(|at| core.add_timer(at, core.current_id.get(), false));
    switch();
    if let Some(timer) = timer {
        core.timers.borrow_mut().remove(&timer);
    }
    task.end_park()
}

/// Makes a task of a simulation runnable after its park was ended by a wake.
pub(crate) fn wake(sim: u64, id: u64) {
    let core = CX.with(|cx| cx.sim.get());
    // SAFETY: as in `core`.
    match unsafe { core.as_ref() } {
        Some(core) if core.id == sim => core.runnable.borrow_mut().push(id),
        // The simulation is over.
        _ => {}
    }
}

/// Waits as a device would, between `min` and `max` microseconds. `false`: the power is cut, do nothing.
pub(crate) fn io_pause(min: u64, max: u64) -> bool {
    if CX.with(|cx| cx.kind.get()) != Kind::Sim {
        return true;
    }
    if die_if_ending() {
        return false;
    }
    let core = core();
    let latency = (min + core.choose(max - min + 1)) * 1000 + core.choose(1000);
    core.add_timer(core.clock.get() + latency, core.current_id.get(), true);
    switch();
    !core.ending.get()
}

/// The virtual clock. Reading it takes a moment of virtual time, so loops that wait for a time end.
pub(crate) fn now_ns() -> u64 {
    let core = core();
    core.clock.set(core.clock.get() + 25);
    core.clock.get()
}

pub(crate) fn unix_micros() -> u64 {
    let passed = (now_ns() - START_NS) / 1000;
    core().started_unix_us.get() + passed
}

pub(crate) fn set_wall_clock(unix_us: u64) {
    let passed = (now_ns() - START_NS) / 1000;
    core().started_unix_us.set(unix_us.saturating_sub(passed));
}

pub(crate) fn random_u64() -> u64 {
    let core = core();
    let mut state = core.randoms.get();
    let value = splitmix(&mut state);
    core.randoms.set(state);
    value
}

pub(crate) fn slot() -> usize {
    current_task().slot
}

pub(crate) fn slot_count() -> usize {
    core().slots.borrow().len()
}

pub(crate) fn current_disk() -> SimDisk {
    core().disk.clone()
}

pub(super) fn crash_now() -> ! {
    let core = core();
    core.power_cut.set(true);
    loop {
        yield_now();
    }
}

/// Starts a background task.
pub(crate) fn spawn_task(name: &str, context: Arc<ContextInner>, f: impl FnOnce() + 'static) {
    let core = CX.with(|cx| cx.sim.get());
    // SAFETY: the pointer comes from the Rc that `SimCore::run` borrows, so the count is at least one.
    let core = unsafe {
        Rc::increment_strong_count(core);
        Rc::from_raw(core)
    };
    core.start(name, context, f);
}

/// Notes that a background task has panicked. After a power cut it means nothing: a task that could not be unwound at
/// once, because another one of this thread was being, sees errors that never were.
pub(crate) fn note_panic(payload: &(dyn Any + Send)) {
    if is_power_cut(payload) || core().ending.get() {
        return;
    }
    let text = payload.downcast_ref::<&str>().copied().map(str::to_owned);
    let text = text.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_else(|| "a panic".into());
    core().panics.borrow_mut().push(text);
}
