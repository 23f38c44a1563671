//! One task that sleeps when it has nothing to do, and many that see to it that it is awake.

use gannet_base::sync::atomic::{AtomicBool, Ordering::SeqCst, fence};

/// Whether the task sleeps, or is about to.
#[derive(Default)]
pub(crate) struct Idle(AtomicBool);

impl Idle {
    /// Parks with `park` unless there is `work`. Who makes work enters it where `work` looks and then asks
    /// [`Idle::take_up`]; here the order is the other way round, so one of the two sees the other.
    pub(crate) fn sleep(&self, work: impl FnOnce() -> bool, park: impl FnOnce()) {
        self.0.store(true, SeqCst);
        // The look at the work must not come before the store, whatever the loads in it are.
        fence(SeqCst);
        if !work() {
            park();
        }
        self.0.store(false, SeqCst);
    }

    /// After work was entered: true when the caller has to wake the task, which nobody else does then.
    #[inline]
    pub(crate) fn take_up(&self) -> bool {
        self.0.load(SeqCst) && self.0.swap(false, SeqCst)
    }
}
