//! The owners that wait for a record, and the order in which they are served.
//!
//! Order is FIFO with one exception. Among the owners that want the record exclusively, those that run on the worker
//! where it was released come first, one after another, as long as they belong to the present *batch*. Handing the
//! record to a task of the same worker is a switch of fibers. Handing it to another worker wakes a thread, and no
//! owner uses the row until that thread runs. (Lock cohorting: Dice, Marathe and Shavit, PPoPP 2012.)
//!
//! A batch begins when the owner at the front is served. It consists of the owners that wait then, and lasts for
//! [`BATCH_NS`] at most. So no owner is passed over by one that came after it had reached the front; and where
//! transactions are long, owners are hardly ever passed over.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use gannet_base::sync::Arc;

use crate::Mode;
use crate::owner::{Owner, Pending};
use crate::types::Ticket;

/// How long a batch may last.
pub(crate) const BATCH_NS: u64 = 100_000_000;

/// An owner that holds the record.
pub(crate) struct Holder {
    pub(crate) owner: Arc<Owner>,
    pub(crate) mode: Mode,
    /// Writers may pass (INV-LOCK-8).
    pub(crate) pending: bool,
}

/// An owner that waits.
pub(crate) struct Waiter {
    pub(crate) wait: Pending,
    pub(crate) ticket: Ticket,
    /// Where it runs: see [`gannet_runtime::site`].
    pub(crate) site: usize,
}

/// The owners that want a record exclusively.
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

    /// Removes and returns the owner that is served next when the record is released at `site`.
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

/// The parts that most queues do not need: more than one holder, and waiters.
#[derive(Default)]
pub(crate) struct Crowd {
    /// The ticket of the first owner that waited here, by which a search recognises the queue; zero: none yet.
    number: u64,
    /// Holders, sorted by owner id.
    pub(crate) more: Vec<Holder>,
    /// The owners that want the record exclusively. They are apart from those that want to share it, so that a search
    /// finds the nearest exclusive request in front of a shared one without passing the rest.
    pub(crate) exclusive: Line,
    /// The owners that want to share the record, in order of their tickets.
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

    /// The owner at the front, and the mode that it wants.
    pub(crate) fn front(&self) -> Option<(&Waiter, Mode)> {
        match (self.exclusive.front(), self.shared.front()) {
            (Some(x), Some(s)) if s.ticket < x.ticket => Some((s, Mode::Shared)),
            (Some(x), _) => Some((x, Mode::Exclusive)),
            (None, s) => s.map(|s| (s, Mode::Shared)),
        }
    }

    /// Removes and returns the owner at the front.
    pub(crate) fn take_front(&mut self) -> Option<Waiter> {
        match self.front()? {
            (_, Mode::Shared) => self.shared.pop_front(),
            (&Waiter { ticket, .. }, Mode::Exclusive) => self.exclusive.remove(ticket),
        }
    }

    /// Removes and returns the owner that is served next. The caller knows that the front wants the record
    /// exclusively and may have it.
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
