//! Work that one task does at a time.

use gannet_runtime::{Monitor, Wait};

/// The right to do something, which one task has at a time.
#[derive(Default)]
pub(crate) struct Turn(Monitor<bool>);

/// The right, until it is dropped.
#[must_use = "the turn is over when this is dropped"]
pub(crate) struct Taken<'a>(&'a Turn);

impl Turn {
    /// Takes the right. Where another task has it: `wait`s for its end, not interruptibly, or gives `None`.
    pub(crate) fn take(&self, wait: bool) -> Option<Taken<'_>> {
        let take = |taken: &mut bool| (!std::mem::replace(taken, true)).then_some(());
        if wait {
            self.0.wait(Wait::Purge, take)
        } else {
            self.0.change(take)?
        }
        Some(Taken(self))
    }
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        self.0.0.change(|taken| *taken = false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gannet_base::sync::atomic::{AtomicU64, Ordering::SeqCst};

    #[test]
    fn one_task_at_a_time() {
        let (turn, at_work, done) = (Turn::default(), AtomicU64::new(0), AtomicU64::new(0));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..1000 {
                        let taken = turn.take(true);
                        assert!(taken.is_some() && turn.take(false).is_none());
                        assert_eq!(at_work.fetch_add(1, SeqCst), 0);
                        done.fetch_add(1, SeqCst);
                        at_work.fetch_sub(1, SeqCst);
                    }
                });
            }
        });
        assert_eq!(done.into_inner(), 4000);
        assert!(turn.take(false).is_some());
    }
}
