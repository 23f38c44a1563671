//! Counters of one session: what its own statements counted.
//!
//! A session borrows a block for as long as it lives. While one of its commands runs on a thread, that block is the
//! thread's [`current`] one, and [`crate::count`] adds to it beside the thread's own. The runtime puts the block aside
//! when it suspends a task and takes it up again when the task goes on. Blocks are never freed: they are lent again,
//! zeroed.

use std::cell::Cell;

use gannet_base::sync::Mutex;
use gannet_base::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use crate::{Counter, Wait};

/// A block of counters. Written by the thread that runs the session, read by anybody. On lines of its own, of which a
/// simple statement counts on two. Behind the counters: [`CPU`], then how often and how long was waited for each event.
#[repr(align(64))]
struct Cells([AtomicU64; WAITS + 2 * Wait::COUNT]);

/// Where the processor time is that the session's commands have taken, in nanoseconds.
const CPU: usize = Counter::COUNT;
/// Where the waits are.
const WAITS: usize = CPU + 1;

/// Processor time of sessions is measured.
static MEASURES_CPU: AtomicBool = AtomicBool::new(false);

/// The block that counts now, to be put aside and taken up again.
#[derive(Clone, Copy, Default)]
pub struct Current(Option<&'static Cells>);

thread_local! {
    static CURRENT: Cell<Current> = const { Cell::new(Current(None)) };
    /// The thread's processor time when the current block's command went on; 0: nothing is measured.
    static SINCE: Cell<u64> = const { Cell::new(0) };
}

static FREE: Mutex<Vec<&'static Cells>> = Mutex::new(Vec::new());

/// One session's counters.
pub struct SessionCounters(&'static Cells);

impl SessionCounters {
    /// All zero.
    pub fn new() -> Self {
        if let Some(cells) = FREE.lock().pop() {
            return Self(cells);
        }
        Self(Box::leak(Box::new(Cells(std::array::from_fn(|_| AtomicU64::new(0))))))
    }

    /// What the calling task counts from now on is the session's too.
    #[inline]
    pub fn enter(&self) {
        CURRENT.set(Current(Some(self.0)));
    }

    /// The session's command is over.
    #[inline]
    pub fn leave(&self) {
        CURRENT.set(Current(None));
    }

    /// The session is about to count what a simple statement counts.
    #[inline]
    pub fn prefetch(&self) {
        gannet_base::prefetch(self.0, 0..128);
    }

    /// The present value.
    pub fn get(&self, c: Counter) -> u64 {
        self.0.0[c as usize].load(Relaxed)
    }

    /// Processor time of its commands while that was measured, in nanoseconds, up to the last [`cpu_upto`].
    pub fn cpu_ns(&self) -> u64 {
        self.0.0[CPU].load(Relaxed)
    }

    /// How often and how long, in nanoseconds, was waited for each event, in the order of [`Wait::ALL`]. They are not
    /// reset.
    pub fn waits(&self) -> [(u64, u64); Wait::COUNT] {
        let at = |i: usize| self.0.0[WAITS + i].load(Relaxed);
        std::array::from_fn(|i| (at(2 * i), at(2 * i + 1)))
    }

    /// Sets all but the waits to zero (FLUSH STATUS, COM_RESET_CONNECTION).
    pub fn reset(&self) {
        self.0.0[..WAITS].iter().for_each(|c| c.store(0, Relaxed));
    }
}

impl Default for SessionCounters {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for SessionCounters {
    fn drop(&mut self) {
        self.0.0.iter().for_each(|c| c.store(0, Relaxed));
        if CURRENT.get().0.is_some_and(|c| std::ptr::eq(c, self.0)) {
            CURRENT.set(Current(None));
        }
        FREE.lock().push(self.0);
    }
}

/// Adds to the session that runs on this thread, if there is one.
#[inline(always)]
pub(crate) fn bump(c: Counter, n: u64) {
    if let Current(Some(cells)) = CURRENT.get() {
        let cell = &cells.0[c as usize];
        cell.store(cell.load(Relaxed).wrapping_add(n), Relaxed);
    }
}

#[inline(always)]
pub(crate) fn bump_all<const N: usize>(some: [(Counter, u64); N]) {
    if let Current(Some(cells)) = CURRENT.get() {
        for (c, n) in some {
            let cell = &cells.0[c as usize];
            cell.store(cell.load(Relaxed).wrapping_add(n), Relaxed);
        }
    }
}

/// The session that runs on this thread, if there is one, has waited: [`crate::waited`] says so, which counts for the
/// whole server. Where a session waits without a stack, its thread has nothing of it then, and says it later.
pub fn session_waited(why: Wait, ns: u64) {
    if let Current(Some(cells)) = CURRENT.get() {
        for (cell, n) in cells.0[WAITS + 2 * why as usize..].iter().zip([1, ns]) {
            cell.store(cell.load(Relaxed).wrapping_add(n), Relaxed);
        }
    }
}

/// Whether processor time is measured, which costs two system calls a command and for each wait in it.
#[inline(always)]
pub fn measures_cpu() -> bool {
    MEASURES_CPU.load(Relaxed)
}

/// Turns that on or off.
pub fn measure_cpu(on: bool) {
    MEASURES_CPU.store(on, Relaxed);
}

/// The current session's command goes on, when its thread has taken so much processor time.
pub fn cpu_from(thread_ns: u64) {
    SINCE.set(thread_ns.max(1));
}

/// It pauses or ends, when its thread has taken so much: the session has taken what is between.
pub fn cpu_upto(thread_ns: u64) {
    let since = SINCE.replace(0);
    if let (Current(Some(cells)), 1..) = (CURRENT.get(), since) {
        let cell = &cells.0[CPU];
        cell.store(cell.load(Relaxed).wrapping_add(thread_ns.saturating_sub(since)), Relaxed);
    }
}

/// Takes the thread's current block away: its task is suspended.
#[inline]
pub fn put_aside() -> Current {
    CURRENT.replace(Current(None))
}

/// Makes a block that was put aside the current one again: its task goes on.
#[inline]
pub fn take_up(current: Current) {
    CURRENT.set(current);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{add, count, sub};

    #[test]
    fn a_session_counts_only_while_it_runs() {
        let (a, b) = (SessionCounters::new(), SessionCounters::new());
        count(Counter::Questions);
        a.enter();
        add(Counter::Questions, 2);
        let aside = put_aside();
        b.enter();
        count(Counter::Questions);
        b.leave();
        count(Counter::Questions);
        take_up(aside);
        add(Counter::Questions, 5);
        sub(Counter::Questions, 1);
        a.leave();
        assert_eq!((a.get(Counter::Questions), b.get(Counter::Questions)), (6, 1));
        a.enter();
        cpu_upto(7);
        cpu_from(10);
        cpu_upto(15);
        cpu_upto(20);
        cpu_from(30);
        cpu_upto(31);
        a.leave();
        assert_eq!((a.cpu_ns(), b.cpu_ns()), (6, 0));
        a.enter();
        crate::waited(Wait::UserLock, 7);
        a.leave();
        crate::waited(Wait::UserLock, 7);
        a.reset();
        assert_eq!((a.get(Counter::Questions), a.cpu_ns()), (0, 0));
        let waits = |s: &SessionCounters| s.waits()[Wait::UserLock as usize];
        assert_eq!((waits(&a), waits(&b)), ((1, 7), (0, 0)));
        // Another session that has the block begins with nothing.
        drop(a);
        assert_eq!(waits(&SessionCounters::new()), (0, 0));
    }
}
