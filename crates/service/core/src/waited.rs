//! What sessions waited for, by session and by the account, user and host of each, for performance_schema.
//!
//! Sessions count their waits in cells that never go back ([`SessionCounters::waits`]). TRUNCATE notes where they
//! stood, for each of the sums.

use crate::sums::Of;
use gannet_base::sync::Mutex;
use gannet_telemetry::{Event, SessionCounters};

/// How often and how long, in nanoseconds, was waited for each event, at its [`Event::place`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waits([(u64, u64); Event::COUNT]);

impl Default for Waits {
    fn default() -> Self {
        Waits([(0, 0); Event::COUNT])
    }
}

impl Waits {
    fn of(counters: &SessionCounters) -> Waits {
        Waits(counters.waits())
    }

    /// Adds those of others.
    pub fn add(&mut self, other: &Waits) {
        self.0.iter_mut().zip(&other.0).for_each(|(a, b)| *a = (a.0 + b.0, a.1 + b.1));
    }

    fn since(mut self, before: &Waits) -> Waits {
        let less = |a: (u64, u64), b: &(u64, u64)| (a.0.saturating_sub(b.0), a.1.saturating_sub(b.1));
        self.0.iter_mut().zip(&before.0).for_each(|(a, b)| *a = less(*a, b));
        self
    }

    /// Each event that was waited for: count and nanoseconds.
    pub fn each(&self) -> impl Iterator<Item = (Event, u64, u64)> {
        let all = Event::all().zip(&self.0);
        all.filter(|(_, (count, _))| *count > 0).map(|(event, (count, ns))| (event, *count, *ns))
    }
}

/// Of the session itself, and its part of its account, user, host and of all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    Session,
    Sum(Of),
}

const ALL: [Whose; 5] =
    [Whose::Session, Whose::Sum(Of::Account), Whose::Sum(Of::User), Whose::Sum(Of::Host), Whose::Sum(Of::All)];

impl Whose {
    fn place(self) -> usize {
        match self {
            Whose::Session => 0,
            Whose::Sum(of) => 1 + of as usize,
        }
    }
}

/// Where a session's waits stood when they were forgotten last.
#[derive(Default)]
pub struct SessionWaits(Mutex<Option<Box<[Waits; ALL.len()]>>>);

impl SessionWaits {
    /// What counts.
    pub fn read(&self, counters: &SessionCounters, whose: Whose) -> Waits {
        let now = Waits::of(counters);
        match &*self.0.lock() {
            Some(since) => now.since(&since[whose.place()]),
            None => now,
        }
    }

    /// They count from now on, in some of the sums.
    pub fn forget(&self, counters: &SessionCounters, whose: impl Fn(Whose) -> bool) {
        let now = Waits::of(counters);
        let mut since = self.0.lock();
        let since = since.get_or_insert_with(|| Box::new([Waits::default(); ALL.len()]));
        ALL.into_iter().filter(|w| whose(*w)).for_each(|w| since[w.place()] = now);
    }

    /// The same in all of them.
    pub fn forget_all(&self, counters: &SessionCounters) {
        self.forget(counters, |_| true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gannet_telemetry::Wait;

    #[test]
    fn each_sum_counts_from_its_own_moment() {
        let (counters, session) = (SessionCounters::new(), SessionWaits::default());
        let wait = || {
            counters.enter();
            gannet_telemetry::waited(Wait::Purge, 5);
            counters.leave();
        };
        let count = |whose| session.read(&counters, whose).each().map(|(_, n, ns)| (n, ns)).next();
        wait();
        assert_eq!((count(Whose::Session), count(Whose::Sum(Of::All))), (Some((1, 5)), Some((1, 5))));
        session.forget(&counters, |w| w == Whose::Session);
        assert_eq!((count(Whose::Session), count(Whose::Sum(Of::User))), (None, Some((1, 5))));
        wait();
        assert_eq!((count(Whose::Session), count(Whose::Sum(Of::Host))), (Some((1, 5)), Some((2, 10))));
        session.forget_all(&counters);
        assert!(ALL.iter().all(|w| count(*w).is_none()));
    }
}
