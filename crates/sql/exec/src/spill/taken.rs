//! How much memory was taken and given back: by one session, and by all together.

use super::{Pressure, TempSpace};
use gannet_base::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::Arc;

/// Memory that was taken and given back, in bytes. Counted grant by grant, a megabyte each, by all tasks that a
/// session's statement has.
#[derive(Debug, Default)]
pub struct Taken {
    taken: AtomicU64,
    given: AtomicU64,
    least: AtomicU64,
    most: AtomicU64,
    /// What was held when the session's statement began, and the most since; 0 before it takes any.
    began: AtomicU64,
    peak: AtomicU64,
}

/// [`Taken::within`]: what the statement around has.
pub struct Around {
    began: u64,
    peak: u64,
}

/// What [`Taken`] says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    pub taken: u64,
    pub given: u64,
    /// The least and the most that were held at once.
    pub least: u64,
    pub most: u64,
}

impl Taken {
    /// Returns what is held.
    pub(super) fn take(&self, bytes: usize) -> u64 {
        let taken = self.taken.fetch_add(bytes as u64, Relaxed) + bytes as u64;
        let held = taken.saturating_sub(self.given.load(Relaxed));
        self.most.fetch_max(held, Relaxed);
        held
    }

    /// The same.
    pub(super) fn give(&self, bytes: usize) -> u64 {
        let given = self.given.fetch_add(bytes as u64, Relaxed) + bytes as u64;
        let held = self.taken.load(Relaxed).saturating_sub(given);
        self.least.fetch_min(held, Relaxed);
        held
    }

    fn held(&self) -> u64 {
        self.taken.load(Relaxed).saturating_sub(self.given.load(Relaxed))
    }

    /// The session's statement has taken some.
    #[inline]
    pub fn is_touched(&self) -> bool {
        self.peak.load(Relaxed) != 0
    }

    /// The most that the session's statement has held so far, beyond what was there before it.
    pub fn of_statement(&self) -> u64 {
        self.peak.load(Relaxed).saturating_sub(self.began.load(Relaxed))
    }

    /// The same; the statement ends, and another one begins.
    pub fn end_statement(&self) -> u64 {
        let most = self.of_statement();
        self.peak.store(0, Relaxed);
        self.began.store(self.held(), Relaxed);
        most
    }

    /// A statement begins within another one.
    pub fn within(&self) -> Around {
        let around = Around { began: self.began.load(Relaxed), peak: self.peak.swap(0, Relaxed) };
        self.began.store(self.held(), Relaxed);
        around
    }

    /// It has ended: the most that it held. What it held counts for the one around, too.
    pub fn end_within(&self, around: Around) -> u64 {
        let most = self.of_statement();
        self.began.store(around.began, Relaxed);
        self.peak.fetch_max(around.peak, Relaxed);
        most
    }

    /// Up to now.
    pub fn read(&self) -> Figures {
        // In this order: what is taken meanwhile is not given back before it.
        let given = self.given.load(Relaxed);
        let taken = self.taken.load(Relaxed).max(given);
        let held = taken - given;
        Figures { taken, given, least: self.least.load(Relaxed).min(held), most: self.most.load(Relaxed).max(held) }
    }

    /// What was given back counts no more, and the least and the most begin with what is held. Returns how it was.
    pub fn begin_again(&self) -> Figures {
        let before = self.read();
        self.taken.fetch_sub(before.given, Relaxed);
        self.given.fetch_sub(before.given, Relaxed);
        self.least.store(before.held(), Relaxed);
        self.most.store(before.held(), Relaxed);
        before
    }
}

impl Figures {
    /// Bytes that are held.
    pub fn held(&self) -> u64 {
        self.taken - self.given
    }

    /// What is over of it: all that was given back.
    pub fn over(&self) -> Figures {
        Figures { taken: self.given, given: self.given, least: 0, most: self.most }
    }

    /// The same when nothing is held any more.
    pub fn ended(&self) -> Figures {
        Figures { taken: self.taken, given: self.taken, least: 0, most: self.most }
    }

    /// Adds another session's. The most is the most that one of them held, or what they hold now.
    pub fn add(&mut self, other: &Figures) {
        self.taken += other.taken;
        self.given += other.given;
        self.least += other.least;
        self.most = self.most.max(other.most).max(self.held());
    }
}

/// Memory and disk of the server, as one session takes of them.
#[derive(Debug)]
pub struct SessionSpace {
    pub(super) space: Arc<TempSpace>,
    taken: Arc<Taken>,
}

impl SessionSpace {
    /// `taken`: where the session's memory is counted.
    pub fn new(space: Arc<TempSpace>, taken: Arc<Taken>) -> SessionSpace {
        SessionSpace { space, taken }
    }

    /// Takes memory.
    pub(super) fn grant(&self, bytes: usize) -> Pressure {
        let held = self.taken.take(bytes);
        self.taken.peak.fetch_max(held, Relaxed);
        self.space.grant(bytes)
    }

    /// Gives memory back.
    pub(super) fn give_back(&self, bytes: usize) -> Pressure {
        let held = self.taken.give(bytes);
        if !self.taken.is_touched() {
            self.taken.began.store(held, Relaxed);
        }
        self.space.give_back(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_held_stays_when_the_rest_is_forgotten() {
        let taken = Taken::default();
        taken.take(30);
        taken.give(10);
        taken.take(5);
        let was = Figures { taken: 35, given: 10, least: 0, most: 30 };
        assert_eq!((taken.read(), taken.begin_again()), (was, was));
        assert_eq!(taken.read(), Figures { taken: 25, given: 0, least: 25, most: 25 });
        taken.give(5);
        taken.take(1);
        let now = Figures { taken: 26, given: 5, least: 20, most: 25 };
        assert_eq!(taken.read(), now);
        let mut sum = was.over();
        sum.add(&now);
        assert_eq!(sum, Figures { taken: 36, given: 15, least: 20, most: 30 });
        assert_eq!(now.ended().held(), 0);
    }
}
