//! The state word of a page: which threads may read and write its frame. Model-checked (crate `models`), so it
//! depends on nothing else but what counts its waits.
//!
//! Low 8 bits latch state, high 56 bits version.
//!
//! | latch state | meaning |
//! |---|---|
//! | 0 | evicted: not resident (what fresh memory says) |
//! | 1 | unlocked |
//! | 2..=252 | shared by (state - 1) holders |
//! | 253 | unlocked and marked by the clock: a candidate for eviction |
//! | 254 | in transit: being read in or evicted |
//! | 255 | exclusive |
//!
//! The version grows whenever the content may have changed: at the release of an exclusive latch under which the page
//! was changed, at loading, at eviction. It is never reset while the server runs, so a version seen means one content.
//!
//! It is a sequence lock: readers load content between [`StateWord::optimistic`] and [`StateWord::validate`], and use
//! it only when the version is still the same. A thread gets the right to write the frame (exclusive, transit) behind
//! a release fence, so that a reader which has seen any of its writes sees the changed word too.

use gannet_base::sync::atomic::{AtomicU64, Ordering::*, fence};
use gannet_base::sync::{Backoff, sched_point};
use gannet_telemetry::{Counter, add, count};

pub(crate) const EVICTED: u64 = 0;
pub(crate) const UNLOCKED: u64 = 1;
const SHARED_MAX: u64 = 252;
pub(crate) const MARKED: u64 = 253;
pub(crate) const TRANSIT: u64 = 254;
pub(crate) const EXCLUSIVE: u64 = 255;

/// The latch state of a word.
#[inline]
pub(crate) const fn latch(state: u64) -> u64 {
    state & 0xff
}

/// The version of a word.
#[inline]
pub(crate) const fn version(state: u64) -> u64 {
    state >> 8
}

#[inline]
const fn state(version: u64, latch: u64) -> u64 {
    version << 8 | latch
}

/// How many turns of a spin-wait an attempt makes before it gives up and starts again.
pub(crate) const PATIENCE: u32 = 64;

/// A spin-wait for a latch. It is counted when it ends, if it took any turn.
struct Spin {
    backoff: Backoff,
    turns: u32,
    waits: [Counter; 3],
}

impl Spin {
    /// For readers.
    const fn shared() -> Spin {
        Spin::of([Counter::LatchSharedWaits, Counter::LatchSharedTurns, Counter::LatchSharedYields])
    }

    /// For writers.
    const fn exclusive() -> Spin {
        Spin::of([Counter::LatchExclusiveWaits, Counter::LatchExclusiveTurns, Counter::LatchExclusiveYields])
    }

    const fn of(waits: [Counter; 3]) -> Spin {
        Spin { backoff: Backoff::new(), turns: 0, waits }
    }

    #[inline]
    fn wait(&mut self) {
        self.turns += 1;
        self.backoff.wait();
    }
}

impl Drop for Spin {
    #[inline]
    fn drop(&mut self) {
        if self.turns > 0 {
            let [waits, turns, yields] = self.waits;
            count(waits);
            add(turns, self.turns.into());
            if self.turns > Backoff::SPINS {
                count(yields);
            }
        }
    }
}

/// Why a latch was not had.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Miss {
    /// The page is not resident, or on its way in or out.
    Absent,
    /// Another thread has the latch for longer than the caller waits.
    Taken,
}

/// One page's word.
#[derive(Default)]
#[repr(transparent)]
pub(crate) struct StateWord(AtomicU64);

impl StateWord {
    /// The word now; the state may have changed already.
    #[inline]
    pub(crate) fn load(&self) -> u64 {
        self.0.load(Acquire)
    }

    /// Whether the page is on its way in or out.
    pub(crate) fn in_transit(&self) -> bool {
        latch(self.load()) == TRANSIT
    }

    /// Whether the exclusive latch is held. A thread that has seen what the holder published (a reservation in the
    /// log) sees the latch, or its release.
    pub(crate) fn is_exclusive(&self) -> bool {
        latch(self.load()) == EXCLUSIVE
    }

    /// Begins an optimistic read: returns the version. `touch` clears the clock's mark.
    #[inline]
    pub(crate) fn optimistic(&self, touch: bool) -> Result<u64, Miss> {
        let mut s = self.load();
        if latch(s) >= UNLOCKED && latch(s) <= SHARED_MAX {
            return Ok(version(s));
        }
        let mut spin = Spin::shared();
        for _ in 0..PATIENCE {
            match latch(s) {
                EVICTED | TRANSIT => return Err(Miss::Absent),
                MARKED => {
                    if touch {
                        // Losing the race is fine: another thread touched or took the page.
                        let _ = self.0.compare_exchange(s, state(version(s), UNLOCKED), Relaxed, Relaxed);
                    }
                    return Ok(version(s));
                }
                EXCLUSIVE => spin.wait(),
                _ => return Ok(version(s)),
            }
            s = self.load();
        }
        Err(Miss::Taken)
    }

    /// True when nothing has changed since [`StateWord::optimistic`] gave `seen`: everything read so far is then right.
    #[inline]
    pub(crate) fn validate(&self, seen: u64) -> bool {
        // The loads of content above must not move below the load of the state.
        fence(Acquire);
        let s = self.0.load(Relaxed);
        version(s) == seen && latch(s) < TRANSIT && latch(s) != EVICTED
    }

    /// Takes the exclusive latch if nothing has changed since `seen`; one latch of `sharers` (1 or none) is the
    /// caller's own.
    #[inline]
    pub(crate) fn upgrade(&self, seen: u64, sharers: u64) -> bool {
        let mut spin = Spin::exclusive();
        for _ in 0..PATIENCE {
            sched_point();
            let s = self.0.load(Relaxed);
            if version(s) != seen || latch(s) >= TRANSIT || latch(s) == EVICTED {
                break;
            }
            if (latch(s) == UNLOCKED + sharers || latch(s) == MARKED) && self.take(s, EXCLUSIVE) {
                return true;
            }
            spin.wait();
        }
        false
    }

    /// From `s` to the right to write the frame. A failure means that the word is not `s` any more.
    #[inline]
    fn take(&self, s: u64, latch: u64) -> bool {
        if self.0.compare_exchange(s, state(version(s), latch), Acquire, Relaxed).is_err() {
            return false;
        }
        // As in every sequence lock: stores of content must not become visible before the latch state.
        fence(Release);
        true
    }

    /// Waits for the shared latch. Returns the version.
    pub(crate) fn lock_shared(&self) -> Result<u64, Miss> {
        let mut spin = Spin::shared();
        loop {
            sched_point();
            let s = self.0.load(Relaxed);
            let next = match latch(s) {
                EVICTED | TRANSIT => return Err(Miss::Absent),
                UNLOCKED | MARKED => Some(UNLOCKED + 1),
                n if n < SHARED_MAX => Some(n + 1),
                _ => None,
            };
            if let Some(next) = next
                && self.0.compare_exchange(s, state(version(s), next), Acquire, Relaxed).is_ok()
            {
                return Ok(version(s));
            }
            spin.wait();
        }
    }

    /// Lets go of a shared latch.
    #[inline]
    pub(crate) fn unlock_shared(&self) {
        // From n sharers to n - 1; one sharer less is 'unlocked'.
        self.0.fetch_sub(1, Release);
    }

    /// Waits for the exclusive latch. Returns the version.
    pub(crate) fn lock_exclusive(&self) -> Result<u64, Miss> {
        let mut spin = Spin::exclusive();
        loop {
            match self.try_exclusive() {
                Ok(version) => return Ok(version),
                Err(Miss::Absent) => return Err(Miss::Absent),
                Err(Miss::Taken) => spin.wait(),
            }
        }
    }

    /// Takes the exclusive latch if it is free right now. Returns the version.
    pub(crate) fn try_exclusive(&self) -> Result<u64, Miss> {
        sched_point();
        let s = self.0.load(Relaxed);
        match latch(s) {
            EVICTED | TRANSIT => Err(Miss::Absent),
            UNLOCKED | MARKED if self.take(s, EXCLUSIVE) => Ok(version(s)),
            _ => Err(Miss::Taken),
        }
    }

    /// Lets go of the exclusive latch had at `version`.
    #[inline]
    pub(crate) fn unlock_exclusive(&self, version: u64, changed: bool) {
        self.0.store(state(version + changed as u64, UNLOCKED), Release);
    }

    /// From evicted to `to` ([`TRANSIT`] or [`EXCLUSIVE`]), if it still is as `s` says. Returns the version.
    pub(crate) fn take_evicted(&self, s: u64, to: u64) -> Option<u64> {
        debug_assert_eq!(latch(s), EVICTED);
        self.take(s, to).then_some(version(s))
    }

    /// Ends the transit begun at `version`: `as_latch` says what the page is now.
    pub(crate) fn end_transit(&self, version: u64, as_latch: u64) {
        self.0.store(state(version + 1, as_latch), Release);
    }

    /// Ends the exclusive latch had at `version` with the page not resident any more.
    pub(crate) fn end_evicted(&self, version: u64) {
        self.end_transit(version, EVICTED);
    }

    /// From free, as `s` says, to in transit, if it still is; for eviction.
    pub(crate) fn take_free(&self, s: u64) -> bool {
        debug_assert!(matches!(latch(s), UNLOCKED | MARKED));
        self.take(s, TRANSIT)
    }

    /// Takes [`StateWord::take_free`] back: the page stays as it is.
    pub(crate) fn untake(&self, s: u64) {
        self.0.store(s, Release);
    }

    /// The clock passes: marks a page that is not in use. `true`: it was marked already, and not touched since.
    pub(crate) fn pass(&self) -> bool {
        let s = self.0.load(Relaxed);
        match latch(s) {
            UNLOCKED => {
                let _ = self.0.compare_exchange(s, state(version(s), MARKED), Relaxed, Relaxed);
                false
            }
            l => l == MARKED,
        }
    }
}
