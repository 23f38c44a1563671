//! Reads the log while it is written, for a consumer ([`Retention`](crate::Retention)): the log is kept from its
//! position on, and it can wait for more.

use gannet_base::Lsn;
use gannet_base::sync::atomic::Ordering::SeqCst;
use gannet_runtime::{Unpark, Wait, park, waker};

use crate::reader::Record;
use crate::recent::MANY;
use crate::tail::Tail;
use crate::{LogError, Retention};

/// Reads the log behind its durable horizon, for one consumer.
pub struct Follower {
    retention: Retention,
    tail: Tail,
}

impl Follower {
    pub(crate) fn new(retention: Retention) -> Result<Follower, LogError> {
        let position = retention.position()?;
        let tail = Tail::of(retention.core().clone(), position.from, position.epoch);
        Ok(Follower { retention, tail })
    }

    /// The place in the log that is kept.
    pub fn retention(&self) -> &Retention {
        &self.retention
    }

    /// Returns the retention, so that it can be forgotten.
    pub fn into_retention(self) -> Retention {
        self.retention
    }

    /// Where it reads on: all records before were handed out.
    pub fn at(&self) -> Lsn {
        self.tail.at()
    }

    /// Epoch in force there: what was begun in an earlier one and has not ended never will.
    pub fn epoch(&self) -> u64 {
        self.tail.epoch().1
    }

    /// The next record of a kind that users append, with its epoch; `None` when no more is durable. It waits for
    /// nothing but the disk. [`LogError::CutOff`] when the place is lost.
    #[expect(clippy::should_implement_trait, reason = "a lending iterator: the record borrows the buffer")]
    pub fn next(&mut self) -> Result<Option<(u64, Record<'_>)>, LogError> {
        match self.tail.next() {
            Ok(next) => Ok(next.map(|((_, epoch), record)| (epoch, record))),
            // The log is gone because the place is, perhaps.
            Err(e) => Err(self.retention.position().err().unwrap_or(e)),
        }
    }

    /// Passes over changes of pages that are at hand, for whoever waits for none of them.
    pub fn pass_changes(&mut self) {
        self.tail.pass_changes();
    }

    /// True when much of the log waits to be read, though all of that is in memory still. Else the task that calls is
    /// woken when it does, or when no more will be; perhaps for nothing.
    pub fn has_much(&mut self) -> bool {
        self.tail.expect(MANY)
    }

    /// Waits until more is durable; false when no more will be: the log is closed or poisoned, or the task was
    /// interrupted. [`LogError::CutOff`] when the place is lost.
    pub fn wait(&self) -> Result<bool, LogError> {
        let (core, at) = (self.tail.core(), self.tail.at().get());
        loop {
            if core.durable().get() > at {
                self.retention.position()?;
                return Ok(true);
            }
            // Only now, so that hardly ever an entry is left in the list: it would end another wait of this task.
            core.followers.enter(waker(), at + 1);
            self.retention.position()?;
            if core.durable().get() > at {
                continue;
            }
            if core.ended.load(SeqCst) || core.poisoned().is_some() {
                return Ok(false);
            }
            if park(Wait::LogFollow, None) == Unpark::Interrupted {
                return Ok(false);
            }
        }
    }
}
