//! Who waits for a record, and who is served next.
//!
//! In order, but for one thing: among those who want the record exclusively, the ones that run where it was let go come first, one
//! after the other, while they are of the present *batch*. A hand-over to a task of the same worker is a switch of fibers; one to
//! another worker wakes a thread, and nobody has the row until that runs. (Lock cohorting: Dice, Marathe and Shavit, PPoPP 2012.)
//!
//! A batch begins when whoever is at the front is served, and consists of those who are in the line then; it lasts for
//! [`BATCH_NS`] at most. So nobody is passed over by one that came after he was at the front, and where transactions are long, as
//! good as nobody is passed over at all.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use gannet_base::sync::Arc;

use crate::Mode;
use crate::owner::Owner;
use crate::record::Holder;

/// How long a batch may last.
pub(crate) const BATCH_NS: u64 = 100_000_000;

/// A place in a queue: less is nearer to the front. Never given twice by a table; those of raises are all less than others.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Ticket(u64);

impl Ticket {
    pub(crate) fn new(number: u64, raise: bool) -> Ticket {
        Ticket(if raise { number } else { number | 1 << 63 })
    }

    pub(crate) fn raises(self) -> bool {
        self.0 >> 63 == 0
    }
}

/// One who waits.
pub(crate) struct Waiter {
    pub(crate) owner: Arc<Owner>,
    pub(crate) ticket: Ticket,
    /// Where it runs: see [`gannet_runtime::site`].
    pub(crate) site: usize,
}

/// Those who want a record exclusively.
#[derive(Default)]
pub(crate) struct Line {
    waiting: BTreeMap<Ticket, Waiter>,
    pub(crate) by_site: BTreeSet<(usize, Ticket)>,
    /// The last ticket of the batch, and when the batch is over.
    batch: Option<(Ticket, u64)>,
}

impl Line {
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Waiter> {
        self.waiting.values()
    }

    pub(crate) fn front(&self) -> Option<&Waiter> {
        self.waiting.first_key_value().map(|(_, w)| w)
    }

    pub(crate) fn add(&mut self, waiter: Waiter) {
        self.by_site.insert((waiter.site, waiter.ticket));
        self.waiting.insert(waiter.ticket, waiter);
    }

    fn remove(&mut self, ticket: Ticket) -> Option<Waiter> {
        let waiter = self.waiting.remove(&ticket)?;
        self.by_site.remove(&(waiter.site, ticket));
        Some(waiter)
    }

    /// Takes out who is served next when the record is let go at `site`.
    pub(crate) fn take_next(&mut self, site: usize, now: u64) -> Option<Waiter> {
        let front = self.front()?.ticket;
        if let Some((last, until)) = self.batch
            && !front.raises()
            && front <= last
            && now < until
            && let Some(&(_, near)) = self.by_site.range((site, front)..=(site, last)).next()
        {
            return self.remove(near);
        }
        self.batch = self.waiting.last_key_value().map(|(&last, _)| (last, now.saturating_add(BATCH_NS)));
        self.remove(front)
    }
}

/// What most queues do not have: more than one holder, or waiters.
#[derive(Default)]
pub(crate) struct Crowd {
    /// The ticket of the first that waited here, by which a search knows the queue again; none yet: zero.
    number: u64,
    /// Holders, sorted by owner id.
    pub(crate) more: Vec<Holder>,
    /// Those who want the record exclusively, and those who want to share it: so the nearest in front of somebody that excludes
    /// him is found without passing the rest.
    pub(crate) exclusive: Line,
    /// In order of their tickets.
    pub(crate) shared: VecDeque<Waiter>,
}

impl Crowd {
    pub(crate) fn nobody_waits(&self) -> bool {
        self.exclusive.is_empty() && self.shared.is_empty()
    }

    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    pub(crate) fn add(&mut self, mode: Mode, waiter: Waiter) {
        if self.number == 0 {
            self.number = waiter.ticket.0;
        }
        match mode {
            Mode::Exclusive => self.exclusive.add(waiter),
            Mode::Shared => {
                let at = self.shared.partition_point(|w| w.ticket < waiter.ticket);
                self.shared.insert(at, waiter);
            }
        }
    }

    /// Who is at the front, and the mode wanted.
    pub(crate) fn front(&self) -> Option<(&Waiter, Mode)> {
        match (self.exclusive.front(), self.shared.front()) {
            (Some(x), Some(s)) if s.ticket < x.ticket => Some((s, Mode::Shared)),
            (Some(x), _) => Some((x, Mode::Exclusive)),
            (None, s) => s.map(|s| (s, Mode::Shared)),
        }
    }

    /// Takes out who is at the front.
    pub(crate) fn take_front(&mut self) -> Option<Waiter> {
        match self.front()? {
            (_, Mode::Shared) => self.shared.pop_front(),
            (&Waiter { ticket, .. }, Mode::Exclusive) => self.exclusive.remove(ticket),
        }
    }

    /// Takes out who is served next, all of whom want the record exclusively and may have it.
    pub(crate) fn take_next(&mut self, site: usize, now: u64) -> Option<Waiter> {
        self.exclusive.take_next(site, now)
    }

    pub(crate) fn remove(&mut self, mode: Mode, ticket: Ticket) {
        match mode {
            Mode::Exclusive => _ = self.exclusive.remove(ticket),
            Mode::Shared => {
                if let Ok(i) = self.shared.binary_search_by_key(&ticket, |w| w.ticket) {
                    self.shared.remove(i);
                }
            }
        }
    }

    pub(crate) fn has(&self, mode: Mode, ticket: Ticket) -> bool {
        match mode {
            Mode::Exclusive => self.exclusive.waiting.contains_key(&ticket),
            Mode::Shared => self.shared.binary_search_by_key(&ticket, |w| w.ticket).is_ok(),
        }
    }
}
