//! The deterministic twin: one thread, all tasks are fibers, and everything that could differ between two runs (the
//! order of tasks, time, random numbers, what a disk keeps in a crash) comes from one seed.
//!
//! ```
//! use gannet_runtime::{sim::Sim, spawn, sleep};
//! use std::time::Duration;
//!
//! let answer = Sim::new(42).run(|| {
//!     let t = spawn("background", || { let _ = sleep(Duration::from_secs(3600)); 6 });
//!     t.join().unwrap() * 7
//! });
//! assert_eq!(answer, 42);
//! ```

mod disk;
mod image;
mod net;
mod sched;

use std::panic::resume_unwind;
use std::rc::Rc;

pub(crate) use disk::SimFile;
pub use disk::{Faults, Lie, SimDisk};
pub use net::{SimClient, connect};
pub(crate) use net::{SimPipe, fill, send};
pub(crate) use sched::{
    SimCore, current_disk, io_pause, is_power_cut, note_panic, now_ns, park, random_u64, slot, slot_count, spawn_task,
    unix_micros, wake, yield_now,
};

/// One simulated run, to be configured and started.
#[derive(Clone, Debug)]
pub struct Sim {
    seed: u64,
    disk: SimDisk,
    crash_after: Option<u64>,
    max_steps: u64,
    switch_one_in: Option<u64>,
    allow_panics: bool,
}

/// What a simulated run came to.
#[derive(Debug)]
pub struct Outcome<T> {
    /// What the closure returned; `None` when the machine crashed before.
    pub value: Option<T>,
    /// Hash of all scheduling decisions with their times: equal seeds give equal hashes.
    pub trace: u64,
    /// Scheduling decisions made.
    pub steps: u64,
    /// Virtual time passed, in nanoseconds.
    pub elapsed_ns: u64,
    /// Panics of background tasks (only with [`Sim::allow_panics`]).
    pub panics: Vec<String>,
}

impl Sim {
    /// A run whose every choice follows from `seed`, with an empty disk.
    pub fn new(seed: u64) -> Sim {
        Sim {
            seed,
            disk: SimDisk::new(),
            crash_after: None,
            max_steps: 200_000_000,
            switch_one_in: None,
            allow_panics: false,
        }
    }

    /// Uses this disk, for instance what an earlier run's crash has left.
    pub fn disk(self, disk: &SimDisk) -> Sim {
        Sim { disk: disk.clone(), ..self }
    }

    /// Cuts the power after so many scheduling decisions: all tasks stop where they are and the disk keeps what was
    /// synced and a random part of what was not.
    pub fn crash_after(self, steps: u64) -> Sim {
        Sim { crash_after: Some(steps), ..self }
    }

    /// Gives up (with a panic that shows what everybody does) after so many scheduling decisions.
    pub fn max_steps(self, steps: u64) -> Sim {
        Sim { max_steps: steps, ..self }
    }

    /// At a scheduling point another task runs once in `n` times; without this the seed chooses.
    pub fn switch_one_in(self, n: u64) -> Sim {
        Sim { switch_one_in: Some(n.max(1)), ..self }
    }

    /// Background tasks may panic without the run failing.
    pub fn allow_panics(self) -> Sim {
        Sim { allow_panics: true, ..self }
    }

    /// Runs the closure and gives what it returns.
    ///
    /// # Panics
    /// When it panics, when a background task panics, when all tasks wait for ever, and when the run crashes. The seed
    /// is printed then.
    pub fn run<T: 'static>(self, f: impl FnOnce() -> T + 'static) -> T {
        let seed = self.seed;
        self.run_outcome(f).value.unwrap_or_else(|| panic!("the simulated machine crashed, seed {seed}"))
    }

    /// Runs the closure and tells how it went.
    ///
    /// # Panics
    /// As [`Sim::run`], except for crashes. Inside another simulation.
    pub fn run_outcome<T: 'static>(self, f: impl FnOnce() -> T + 'static) -> Outcome<T> {
        let core = Rc::new(SimCore::new(&self));
        let result = Rc::new(std::cell::RefCell::new(None));
        let r = result.clone();
        core.start("main", crate::task::ContextInner::new(crate::task::Route::none()), move || {
            let value = std::panic::catch_unwind(std::panic::AssertUnwindSafe(f));
            *r.borrow_mut() = Some(value);
        });
        let crashed = core.run();
        if crashed {
            self.disk.crash(core.fault_seed());
        }
        let value = match result.take() {
            _ if crashed => None,
            Some(Ok(value)) => Some(value),
            Some(Err(panic)) => {
                eprintln!("the simulation failed with seed {}", self.seed);
                resume_unwind(panic)
            }
            None => unreachable!("the scheduler runs until the main task has ended"),
        };
        let panics = core.take_panics();
        if !panics.is_empty() && !self.allow_panics {
            panic!("background tasks panicked with seed {}: {panics:?}", self.seed);
        }
        Outcome { value, trace: core.trace(), steps: core.steps(), elapsed_ns: core.elapsed(), panics }
    }
}

/// Cuts the power now: the calling task, and all others, stop. Only inside a simulation.
pub fn crash() -> ! {
    sched::crash_now()
}

/// Sets the wall clock, as an administrator or NTP would: time goes on as before. Only inside a simulation.
pub fn set_wall_clock(unix_us: u64) {
    sched::set_wall_clock(unix_us);
}

/// True inside a simulation.
pub fn active() -> bool {
    crate::cx::kind() == crate::cx::Kind::Sim
}
