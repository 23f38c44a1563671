//! One piece of work by several tasks, which may borrow from the task that waits for them.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use gannet_base::sync::Mutex;
use gannet_telemetry::Wait;

use crate::{Interrupt, interruption, spawn_beside};

/// Runs `f` in so many tasks at once, each with its number: number 0 is the current task, the others are fibers on the
/// workers after its own ([`spawn_beside`]). Returns when all have ended, with what they returned in the order of their
/// numbers. An interruption of the current task interrupts them all. `why` is shown while the current one waits.
///
/// # Panics
/// When a task panicked, with its panic, after all have ended.
pub fn together<T: Send>(tasks: usize, why: Wait, f: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let values: Vec<Mutex<Option<T>>> = (0..tasks.max(1)).map(|_| Mutex::new(None)).collect();
    let run = |n: usize| {
        let value = f(n);
        *values[n].lock() = Some(value);
    };
    beside(tasks.saturating_sub(1), why, |n| run(n + 1), || run(0));
    values.into_iter().filter_map(Mutex::into_inner).collect()
}

/// Runs `own` in the current task, and `helper` in so many others beside it, each with its number from 0. Returns when
/// all have ended: `own` has to see to that the helpers do. Otherwise as [`together`].
///
/// # Panics
/// When a task panicked, with its panic, after all have ended.
pub fn beside<T>(helpers: usize, why: Wait, helper: impl Fn(usize) + Sync, own: impl FnOnce() -> T) -> T {
    let borrowed: &(dyn Fn(usize) + Sync) = &helper;
    // SAFETY: only the lifetime becomes longer. The tasks that are given the reference are all joined below, before
    // `helper` and what it borrows go; until then nothing leaves this function, as panics are caught. A task that could
    // not be started has dropped the reference unused.
    let lasting: &'static (dyn Fn(usize) + Sync) = unsafe { std::mem::transmute(borrowed) };
    let mut others = Vec::with_capacity(helpers);
    let own = catch_unwind(AssertUnwindSafe(|| {
        for n in 0..helpers {
            others.push(spawn_beside(n + 1, "part", move || lasting(n)));
        }
        own()
    }));
    let to_end = match &own {
        Ok(_) => (!others.iter().all(|task| task.wait(why))).then(|| interruption().unwrap_or(Interrupt::Query)),
        Err(_) => Some(Interrupt::Query),
    };
    if let Some(why) = to_end {
        others.iter().for_each(|task| task.context().interrupt(why));
    }
    let mut outcome = own;
    for task in others {
        let ended = task.join();
        outcome = outcome.and_then(|value| ended.map(|()| value));
    }
    outcome.unwrap_or_else(|panic| resume_unwind(panic))
}
