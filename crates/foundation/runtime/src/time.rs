use std::cell::Cell;
use std::time::Duration;

use gannet_telemetry::Wait;

use crate::{Unpark, cx, park, sim};

/// Monotonic time in nanoseconds from an arbitrary start. About 20 ns a call; virtual in the simulation.
#[inline]
pub fn now_ns() -> u64 {
    if cx::simulated() { sim::now_ns() } else { real_now_ns() }
}

#[inline]
pub(crate) fn real_now_ns() -> u64 {
    let ts = clock(libc::CLOCK_MONOTONIC);
    ts.tv_sec as u64 * 1_000_000_000 + ts.tv_nsec as u64
}

#[inline]
fn clock(id: libc::clockid_t) -> libc::timespec {
    let mut ts = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `ts` is a valid place for the result; the clocks asked for exist on every Linux.
    unsafe { libc::clock_gettime(id, &mut ts) };
    ts
}

/// A time of day, in microseconds since 1970-01-01 UTC: for people, dates and files. The wall clock is set forward and
/// back while the server runs, so two of these have no difference: how long something takes or lasts is a difference of
/// [`now_ns`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WallTime(u64);

impl WallTime {
    /// What the wall clock shows; virtual in the simulation.
    pub fn now() -> Self {
        if cx::simulated() {
            return Self(sim::unix_micros());
        }
        let ts = clock(libc::CLOCK_REALTIME);
        // A clock before 1970 counts as 1970.
        Self(u64::try_from(ts.tv_sec).map_or(0, |s| s * 1_000_000 + ts.tv_nsec as u64 / 1000))
    }

    /// The time at which [`now_ns`] was `ns`, by the wall clock as it is set now.
    pub fn of(ns: u64) -> Self {
        Self(Self::now().0.saturating_sub(now_ns().saturating_sub(ns) / 1000))
    }

    /// Microseconds since 1970-01-01 UTC.
    pub fn micros(self) -> u64 {
        self.0
    }

    /// Seconds since 1970-01-01 UTC.
    pub fn seconds(self) -> u64 {
        self.0 / 1_000_000
    }
}

thread_local! {
    static RANDOM: Cell<u64> = const { Cell::new(0) };
}

/// A random number for back-off, sampling, placement: fast, not for secrets. From the seed in the simulation.
pub fn random_u64() -> u64 {
    if cx::simulated() {
        return sim::random_u64();
    }
    let mut state = RANDOM.get();
    if state == 0 {
        // The standard library's per-process random keys, hashed with this thread's address of the variable.
        use std::hash::{BuildHasher, RandomState};
        state = RandomState::new().hash_one(RANDOM.with(|r| r as *const _ as usize)) | 1;
    }
    let value = splitmix(&mut state);
    RANDOM.set(state);
    value
}

/// SplitMix64 (Steele, Lea, Flood, OOPSLA 2014): advances `state` and gives the next number.
pub(crate) fn splitmix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// Parks the current task for `d`. Ends early only when the task is interrupted.
pub fn sleep(d: Duration) -> Unpark {
    sleep_until(Wait::UserSleep, now_ns().saturating_add(u64::try_from(d.as_nanos()).unwrap_or(u64::MAX)))
}

/// Parks until the deadline, whatever wakes come in between.
pub(crate) fn sleep_until(why: Wait, deadline: u64) -> Unpark {
    loop {
        match park(why, Some(deadline)) {
            Unpark::Woken => continue,
            other => return other,
        }
    }
}
