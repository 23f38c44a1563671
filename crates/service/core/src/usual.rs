//! Whether all is collected of a session's statements that is collected by default, and no more.
//!
//! What decides that is in many places: the consumers, the instruments, the session's row of `threads`, the rounds of
//! the sums. A statement that ends asks none of them: each says here that it has changed, and a session that has asked
//! them all keeps the number of changes that there had been.

use gannet_base::CachePadded;
use gannet_base::sync::atomic::{AtomicU64, Ordering::*};

/// Changes so far, of all servers of the process: where there are several, their sessions ask more often than they
/// have to.
static CHANGES: CachePadded<AtomicU64> = CachePadded::new(AtomicU64::new(1));

/// Something has changed that sessions ask for.
pub(crate) fn changed() {
    CHANGES.fetch_add(1, Release);
}

/// What a session knows of it: the number of changes when all was usual; 0: it is not, or the session has not asked.
#[derive(Default)]
pub(crate) struct Usual(AtomicU64);

impl Usual {
    /// All was usual when the session asked, and nothing has changed since.
    #[inline(always)]
    pub fn holds(&self) -> bool {
        self.0.load(Relaxed) == CHANGES.load(Relaxed)
    }

    /// Asks. What changes meanwhile has it ask again. By the session alone.
    pub fn ask(&self, is_usual: impl FnOnce() -> bool) -> bool {
        let changes = CHANGES.load(Acquire);
        let usual = is_usual();
        self.0.store(if usual { changes } else { 0 }, Relaxed);
        usual
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_seen_by_the_next_statement() {
        let (one, other) = (Usual::default(), Usual::default());
        assert!(!one.holds());
        // Other tests of the process change something meanwhile.
        assert!((0..10_000).any(|_| one.ask(|| true) && one.holds()));
        changed();
        assert!(!one.holds());
        assert!(!other.ask(|| false) && !other.holds());
        // Nor is what has changed while it was asked for passed over.
        one.ask(|| {
            changed();
            true
        });
        assert!(!one.holds());
    }
}
