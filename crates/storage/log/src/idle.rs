//! One task that sleeps when it has nothing to do, and other tasks that wake it.

use gannet_base::sync::atomic::{AtomicBool, Ordering::SeqCst, fence};

/// Whether the task sleeps, or is about to.
#[derive(Default)]
pub(crate) struct Idle(AtomicBool);

impl Idle {
    /// Parks with `park` unless there is `work`. A task that makes work first enters it where `work` looks, and then
    /// calls [`Idle::take_up`]. This task announces its sleep first and looks for work afterwards, so one of the two
    /// sees the other.
    pub(crate) fn sleep(&self, work: impl FnOnce() -> bool, park: impl FnOnce()) {
        self.0.store(true, SeqCst);
        // The look at the work must not come before the store, whatever the loads in it are.
        fence(SeqCst);
        if !work() {
            park();
        }
        self.0.store(false, SeqCst);
    }

    /// Called after work was entered. True when the caller has to wake the task; no other caller does then.
    #[inline]
    pub(crate) fn take_up(&self) -> bool {
        self.0.load(SeqCst) && self.0.swap(false, SeqCst)
    }
}
