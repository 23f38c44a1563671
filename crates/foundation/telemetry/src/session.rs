//! Counters of one session: what its own statements counted.
//!
//! A session borrows a block for as long as it lives. While one of its commands runs on a thread, that block is the
//! thread's [`current`] one, and [`crate::count`] adds to it beside the thread's own. The runtime puts the block aside
//! when it suspends a task and takes it up again when the task goes on. Blocks are never freed: they are lent again,
//! zeroed.

use std::cell::Cell;

use gannet_base::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use gannet_base::sync::{Mutex, OnceLock};

use crate::{Counter, Event, FileKind, Scope, Staging, Wait};
use std::sync::{Arc, Weak};

/// A block of counters. Written by the thread that runs the session, read by anybody. On lines of its own, of which a
/// simple statement counts on two. Many sessions never count the rarer ones, or wait for nothing.
#[repr(align(64))]
struct Cells {
    /// The first of those that sessions have.
    hot: [AtomicU64; HOT],
    /// The others, in parts that the first one makes.
    cold: [OnceLock<Box<[AtomicU64; PART]>>; COLD_PARTS],
    /// How often and how long was waited for each event, of those that were waited for.
    waits: Mutex<Vec<(Event, u64, u64)>>,
    /// Processor time that the session's commands have taken, in nanoseconds.
    cpu: AtomicU64,
    /// Where the session's long work is shown.
    staging: Mutex<Option<Weak<dyn Staging>>>,
}

/// Counters that are at hand.
const HOT: usize = 64;
const PART: usize = 16;
const COLD_PARTS: usize = (PLACES.1 - HOT).div_ceil(PART);

/// Where a session has each counter, and how many it has; `NONE`: none of its own.
const PLACES: ([u16; Counter::COUNT], usize) = {
    let (mut places, mut used, mut at) = ([NONE; Counter::COUNT], 0, 0);
    while at < Counter::COUNT {
        if matches!(Counter::ALL[at].scope(), Scope::Both) {
            places[at] = used as u16;
            used += 1;
        }
        at += 1;
    }
    (places, used)
};
const NONE: u16 = u16::MAX;

impl Cells {
    fn new() -> Cells {
        Cells {
            hot: [const { AtomicU64::new(0) }; HOT],
            cold: [const { OnceLock::new() }; COLD_PARTS],
            waits: Mutex::new(Vec::new()),
            cpu: AtomicU64::new(0),
            staging: Mutex::new(None),
        }
    }

    #[inline(always)]
    fn add(&self, c: Counter, n: u64) {
        let place = usize::from(PLACES.0[c as usize]);
        match self.hot.get(place) {
            Some(cell) => cell.store(cell.load(Relaxed).wrapping_add(n), Relaxed),
            None => self.add_cold(place, n),
        }
    }

    #[cold]
    fn add_cold(&self, place: usize, n: u64) {
        let Some(place) = place.checked_sub(HOT) else { return };
        if let Some(part) = self.cold.get(place / PART) {
            let cell = &part.get_or_init(|| Box::new([const { AtomicU64::new(0) }; PART]))[place % PART];
            cell.store(cell.load(Relaxed).wrapping_add(n), Relaxed);
        }
    }

    fn get(&self, c: Counter) -> u64 {
        let place = usize::from(PLACES.0[c as usize]);
        let cold = || {
            let place = place.checked_sub(HOT)?;
            self.cold.get(place / PART)?.get()?.get(place % PART)
        };
        self.hot.get(place).or_else(cold).map_or(0, |cell| cell.load(Relaxed))
    }

    fn reset(&self) {
        let cold = self.cold.iter().filter_map(OnceLock::get).flat_map(|part| part.iter());
        self.hot.iter().chain(cold).chain([&self.cpu]).for_each(|cell| cell.store(0, Relaxed));
    }
}

/// How many servers of the process measure the processor time of sessions.
static MEASURES_CPU: AtomicUsize = AtomicUsize::new(0);

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
        Self(Box::leak(Box::new(Cells::new())))
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
        gannet_base::prefetch(&self.0.hot, 0..128);
    }

    /// The present value.
    pub fn get(&self, c: Counter) -> u64 {
        self.0.get(c)
    }

    /// Processor time of its commands while that was measured, in nanoseconds, up to the last [`cpu_upto`].
    pub fn cpu_ns(&self) -> u64 {
        self.0.cpu.load(Relaxed)
    }

    /// How often and how long, in nanoseconds, was waited for each event, each at its [`Event::place`]. They are not
    /// reset.
    pub fn waits(&self) -> [(u64, u64); Event::COUNT] {
        let mut all = [(0, 0); Event::COUNT];
        self.0.waits.lock().iter().for_each(|(event, count, ns)| all[event.place()] = (*count, *ns));
        all
    }

    /// The session's long work is shown there from now on.
    pub fn stages_go_to(&self, staging: Weak<dyn Staging>) {
        *self.0.staging.lock() = Some(staging);
    }

    /// Sets all but the waits to zero (FLUSH STATUS, COM_RESET_CONNECTION).
    pub fn reset(&self) {
        self.0.reset();
    }
}

impl Default for SessionCounters {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for SessionCounters {
    fn drop(&mut self) {
        self.0.reset();
        self.0.waits.lock().clear();
        *self.0.staging.lock() = None;
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
        cells.add(c, n);
    }
}

#[inline(always)]
pub(crate) fn bump_all<const N: usize>(some: [(Counter, u64); N]) {
    if let Current(Some(cells)) = CURRENT.get() {
        for (c, n) in some {
            cells.add(c, n);
        }
    }
}

/// The session that runs on this thread, if there is one, has waited: [`crate::waited`] says so, which counts for the
/// whole server. Where a session waits without a stack, its thread has nothing of it then, and says it later.
pub fn session_waited(why: Wait, ns: u64) {
    // The file's operation is counted by whoever runs it, which waits for nothing where the machine has it at once.
    if !why.is_of_file() {
        session_did(Event::Wait(why), 1, ns);
    }
}

/// The session that runs on this thread, if there is one, has done so many operations on a file.
pub fn session_used_file(kind: FileKind, count: u64, ns: u64) {
    session_did(Event::File(kind), count, ns);
}

fn session_did(event: Event, times: u64, ns: u64) {
    if let Current(Some(cells)) = CURRENT.get() {
        let mut waits = cells.waits.lock();
        match waits.iter_mut().find(|(known, ..)| *known == event) {
            Some((_, count, sum)) => (*count, *sum) = (count.wrapping_add(times), sum.wrapping_add(ns)),
            None => waits.push((event, times, ns)),
        }
    }
}

/// Where the long work of the session is shown that runs on this thread, if there is one.
pub(crate) fn staging() -> Option<Arc<dyn Staging>> {
    let Current(cells) = CURRENT.get();
    cells?.staging.lock().as_ref().and_then(Weak::upgrade)
}

/// Whether processor time is measured, which costs two system calls a command and for each wait in it.
#[inline(always)]
pub fn measures_cpu() -> bool {
    MEASURES_CPU.load(Relaxed) > 0
}

/// A server of the process begins or ends to measure it: each in turn.
pub fn measure_cpu(on: bool) {
    if on {
        MEASURES_CPU.fetch_add(1, Relaxed);
    } else {
        MEASURES_CPU.fetch_sub(1, Relaxed);
    }
}

/// The current session's command goes on, when its thread has taken so much processor time.
pub fn cpu_from(thread_ns: u64) {
    SINCE.set(thread_ns.max(1));
}

/// It pauses or ends, when its thread has taken so much: the session has taken what is between.
pub fn cpu_upto(thread_ns: u64) {
    let since = SINCE.replace(0);
    if let (Current(Some(cells)), 1..) = (CURRENT.get(), since) {
        let cell = &cells.cpu;
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
    fn all_counters_of_sessions_have_a_place_and_the_frequent_ones_are_at_hand() {
        let session = SessionCounters::new();
        session.enter();
        Counter::ALL.iter().for_each(|c| add(*c, 1 + *c as u64));
        session.leave();
        let want = |c: &Counter| if c.scope() == Scope::Both { 1 + *c as u64 } else { 0 };
        assert!(Counter::ALL.iter().all(|c| session.get(*c) == want(c)));
        Counter::ALL.iter().for_each(|c| sub(*c, 1 + *c as u64));
        for c in [Counter::ComStmtClose, Counter::SortMergePasses, Counter::HandlerReadPrev, Counter::HandlerRollback] {
            assert!(usize::from(PLACES.0[c as usize]) < HOT, "{c:?}");
        }
        assert!(size_of::<Cells>() <= 12 * 64);
        session.reset();
        assert!(Counter::ALL.iter().all(|c| session.get(*c) == 0));
    }

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
