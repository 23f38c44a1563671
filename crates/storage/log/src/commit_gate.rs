//! The gate of [`gate`](crate::gate), as it is closed and opened.

use crate::core::Core;
use crate::gate::OPEN;
use gannet_base::Lsn;
use gannet_base::sync::atomic::{AtomicU64, Ordering::SeqCst};

/// Holds commits back that are durable. One task at a time uses it.
pub struct CommitGate<'a>(pub(crate) &'a Core);

impl CommitGate<'_> {
    /// Commits beyond the log's end are not told, however durable they are, until [`CommitGate::advance`] has passed
    /// them. `hides`: they are not shown to snapshots either.
    pub fn close(&self, hides: bool) {
        self.hide(hides);
        let bound = self.0.ring.reserved();
        self.0.gate.tell(|told| told.store(bound, SeqCst), bound);
        self.advance(Lsn(bound));
    }

    /// From now on, what waits is shown or not. What was shown stays so.
    pub fn hide(&self, hides: bool) {
        let shown = &self.0.rules.shown;
        shown.store(if hides { self.0.ring.reserved() } else { OPEN }, SeqCst);
        if hides {
            // A horizon that was read beside this, without the bound, lies at or below the log's end now.
            shown.fetch_max(self.0.ring.reserved(), SeqCst);
        }
    }

    /// Commits up to `bound` are told. They are shown before.
    pub fn advance(&self, bound: Lsn) {
        let bound = bound.get();
        if self.0.rules.shown.load(SeqCst) != OPEN {
            self.0.rules.shown.fetch_max(bound, SeqCst);
        }
        let up = |told: &AtomicU64| {
            told.fetch_max(bound, SeqCst);
        };
        self.0.gate.tell(up, bound);
    }

    /// Commits wait for the log only.
    pub fn open(&self) {
        self.0.rules.shown.store(OPEN, SeqCst);
        self.0.gate.tell(|told| told.store(OPEN, SeqCst), OPEN);
    }
}
