//! The server's recent past: once a second, who was active and on what, and what was counted since the
//! second before.
//!
//! ```text
//!   sampler, each second ──▶ active:  a row for each active session     an hour
//!                        ──▶ moments: counters, waits, latencies        1 s for an hour, 10 s for a day, 1 min for
//!                                                                       eight days, these on disk, too
//!                        ──▶ digests: latencies of the busiest          the same, in memory
//! ```
//!
//! Statements write nothing for it: the sampler reads what sessions and workers publish anyway. All is bounded.

mod active;
mod digests;
mod kept;
mod moments;
mod sampler;

use gannet_base::sync::atomic::{AtomicBool, Ordering::Relaxed};

pub use active::{ActiveHistory, Class, Sample, Shown, Whom};
pub use digests::{DigestMoment, DigestName, DigestRow, Digests};
pub use moments::{Gauge, Moment, Moments, Span, WaitDelta};
pub(crate) use sampler::run;

/// The server's recent past.
#[derive(Default)]
pub struct Seen {
    /// Nothing is kept.
    off: AtomicBool,
    /// Who was active.
    pub active: ActiveHistory,
    /// What was counted.
    pub moments: Moments,
    /// What statements did.
    pub digests: Digests,
}

impl Seen {
    /// Whether anything is kept.
    pub fn is_on(&self) -> bool {
        !self.off.load(Relaxed)
    }

    /// Keeps the past from now on, or forgets it.
    pub fn switch(&self, on: bool) {
        self.off.store(!on, Relaxed);
        if !on {
            self.active.clear();
            self.moments.clear();
            self.digests.clear();
        }
    }
}
