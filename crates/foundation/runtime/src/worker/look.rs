//! Looking for work before sleeping.
//!
//! A sleep costs its worker a switch and whoever ends it a wake-up; on a virtual machine, where an idle core has to be
//! fetched from the host, a client that has one statement under way waits longer for that than for the statement. So
//! a worker whose sleeps have been short looks for the next request for a moment before it sleeps. Where that finds
//! nothing, because clients are slow or wait for the core themselves, it does not look again for a while, which is
//! longer each time. (It does not offer the core meanwhile: a thread that yields stands behind all others, one that
//! wakes up before them.)

use std::cell::Cell;

/// How long a look takes at most, and how long a sleep that one might have spared.
const LOOK_NS: u64 = 50_000;
/// After a look in vain there is none for so long, and twice as long after each further one, up to a thousand times.
const REST_NS: u64 = 1_000_000;
const MOST_VAIN: u32 = 10;
/// Looks between two looks at the clock.
const TURN: usize = 16;
/// So many short sleeps in a row are a reason to look.
const SHORT: u32 = 8;

/// What a worker has learned of looking.
pub(super) struct Look {
    wanted: bool,
    /// Short sleeps, and looks that found something, in a row.
    short: Cell<u32>,
    /// Looks in vain; those that find something make up for them.
    vain: Cell<u32>,
    not_before: Cell<u64>,
}

impl Look {
    pub(super) fn new(wanted: bool) -> Look {
        Look { wanted, short: Cell::new(0), vain: Cell::new(0), not_before: Cell::new(0) }
    }

    #[inline]
    pub(super) fn is_worth_it(&self, now: u64) -> bool {
        self.wanted && self.short.get() >= SHORT && now >= self.not_before.get()
    }

    /// A sleep has ended.
    #[inline]
    pub(super) fn has_slept(&self, ns: u64) {
        self.short.set(if ns < LOOK_NS { self.short.get().saturating_add(1) } else { 0 });
    }

    /// Looks until there is something or it has taken too long by the clock.
    pub(super) fn until(&self, start: u64, clock: impl Fn() -> u64, due: impl Fn() -> bool) -> bool {
        loop {
            for _ in 0..TURN {
                if due() {
                    self.vain.set(self.vain.get().saturating_sub(1));
                    return true;
                }
                gannet_base::sync::spin_hint();
            }
            let now = clock();
            if now.saturating_sub(start) > LOOK_NS {
                let vain = self.vain.get();
                self.vain.set((vain + 1).min(MOST_VAIN));
                self.not_before.set(now + (REST_NS << vain));
                self.short.set(0);
                return false;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_sleeps_make_it_look_and_vain_looks_end_that() {
        let look = Look::new(true);
        let tire = || (0..SHORT).for_each(|_| look.has_slept(LOOK_NS / 2));
        assert!(!look.is_worth_it(0));
        tire();
        assert!(look.is_worth_it(0) && look.until(0, || 0, || true));
        let mut now = 0;
        for vain in 0..3 {
            tire();
            assert!(look.is_worth_it(now));
            let end = now + LOOK_NS + 1;
            assert!(!look.until(now, || end, || false));
            tire();
            now = end + (REST_NS << vain);
            assert!(!look.is_worth_it(now - 1) && look.is_worth_it(now));
        }
        tire();
        look.has_slept(LOOK_NS);
        assert!(!look.is_worth_it(u64::MAX));
    }
}
