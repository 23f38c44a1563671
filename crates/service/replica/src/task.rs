//! The receiver or the applier of a channel, as a task that starts and ends.

use gannet_base::sync::Mutex;
use gannet_base::sync::atomic::{AtomicBool, Ordering};
use gannet_runtime::{Interrupt, JoinHandle};

/// One of them.
#[derive(Default)]
pub(crate) struct Task {
    handle: Mutex<Option<JoinHandle<()>>>,
    stopping: AtomicBool,
}

impl Task {
    /// Starts it. One that ran before has ended.
    pub(crate) fn run(&self, name: &'static str, task: impl FnOnce() + Send + 'static) {
        self.stopping.store(false, Ordering::Release);
        *self.handle.lock() = Some(gannet_runtime::spawn(name, task));
    }

    /// It is to end.
    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Acquire)
    }

    /// Tells it to end. Gives what [`Task::wait`] waits for.
    pub(crate) fn stop(&self) -> Option<JoinHandle<()>> {
        self.stopping.store(true, Ordering::Release);
        let handle = self.handle.lock().take();
        if let Some(handle) = &handle {
            handle.context().interrupt(Interrupt::Shutdown);
        }
        handle
    }

    /// Waits for its end, until a deadline at most. False: it has not ended then.
    pub(crate) fn wait(&self, handle: Option<JoinHandle<()>>, deadline: Option<u64>) -> bool {
        let Some(handle) = handle else { return true };
        if deadline.is_some_and(|deadline| !handle.wait_until(deadline)) {
            // Whoever ends it next waits for it.
            *self.handle.lock() = Some(handle);
            return false;
        }
        let _ended = handle.join();
        true
    }
}
