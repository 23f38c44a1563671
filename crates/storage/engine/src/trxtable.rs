//! The state of each transaction: id → active, or the LSN of its end.
//!
//! A ring indexed by id answers for the latest [`RING`] ids with two loads. An id whose slot is taken over by a later
//! one while it still matters (active, or ended after the oldest snapshot) moves to a sharded map first; an id found in
//! neither ended before every snapshot in use.
//!
//! While an old snapshot is held the map keeps every id that ended since (8 bytes each), which purge and that snapshot
//! alone need: a [`View`] knows the first id that it cannot see, and the *floor* tells everyone else that an id below
//! it ended long ago. Neither takes a lock. A view that begins behind the floor also knows below which id it sees
//! everything, and rows of many old transactions are read without a look at the ring.
//!
//! Writers: the transaction's owner (begin, end), a task that takes over a slot, and purge. Readers write nothing.
//!
//! INV-TRX-1: an id is in the ring or in the map from before its first stamp reaches a page until its end is at or
//! before the oldest snapshot. INV-TRX-2: the end is entered between reservation and publication of the end record: a
//! horizon at or beyond the end implies that the table says so. INV-TRX-3: an id below the floor's bound ended at or
//! before its LSN, unless it is among the floor's exceptions.

use std::collections::HashMap;

use gannet_base::sync::atomic::{AtomicU64, Ordering::*};
use gannet_base::sync::{Mutex, sched_point, spin_hint};
use gannet_base::{CachePadded, Lsn, Sequence, TrxId};

/// Slots of the ring, as a power of two; 16 bytes each.
const RING_BITS: u32 = 17;
#[cfg(test)]
pub(crate) const RING: usize = 1 << RING_BITS;
const SHARDS: usize = 64;
/// Ids of a shard in one allocation of the map.
const CHUNK: usize = 256;
/// Ids given out from one raise of the floor to the next, at least.
const RAISED_BY: u64 = 256;
/// Most transactions that may stay active below the floor.
const EXCEPTIONS: usize = 32;

/// In `Slot::state`: the top bit and the id while active; alone: moved to the map. Otherwise the end's LSN.
const ACTIVE: u64 = 1 << 63;
/// In `Slot::id`: a taker is exchanging the occupant.
const BUSY: u64 = 1 << 63;

/// What the table knows of an id.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum TrxState {
    /// Neither committed nor rolled back.
    Active,
    /// Ended by the record with this LSN.
    Ended(Lsn),
    /// Ended before every snapshot in use.
    Old,
}

/// What a reader sees: the transactions that ended at or before `at`. Those from `next` on began later.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct View {
    pub(crate) at: Lsn,
    /// The next id to be given out, read after `at` was.
    pub(crate) next: TrxId,
    /// All ids below ended at or before `at`.
    pub(crate) settled: TrxId,
}

/// The next id to be given out, at the floor's last raise and at the last look.
#[derive(Default)]
struct Raised {
    at: u64,
    seen: u64,
}

#[derive(Default)]
struct Slot {
    id: AtomicU64,
    state: AtomicU64,
}

/// States of neighbouring ids of a shard, zero for none.
struct Chunk {
    states: [u64; CHUNK],
    held: u32,
    active: u32,
}

/// A part of the map: every [`SHARDS`]th id, by chunks.
#[derive(Default)]
struct Shard(HashMap<u64, Box<Chunk>>);

impl Shard {
    fn place(id: u64) -> (u64, usize) {
        let of_shard = id / SHARDS as u64;
        (of_shard / CHUNK as u64, of_shard as usize % CHUNK)
    }

    fn get(&self, id: u64) -> Option<u64> {
        let (chunk, at) = Self::place(id);
        self.0.get(&chunk).map(|c| c.states[at]).filter(|&state| state != 0)
    }

    /// Enters a state (zero removes the id) and returns the one before.
    fn set(&mut self, id: u64, state: u64) -> Option<u64> {
        let (number, at) = Self::place(id);
        let chunk = self.0.entry(number).or_insert_with(|| Box::new(Chunk { states: [0; CHUNK], held: 0, active: 0 }));
        let before = std::mem::replace(&mut chunk.states[at], state);
        chunk.held += u32::from(state != 0);
        chunk.held -= u32::from(before != 0);
        chunk.active += u32::from(state == ACTIVE);
        chunk.active -= u32::from(before == ACTIVE);
        if chunk.held == 0 {
            self.0.remove(&number);
        }
        (before != 0).then_some(before)
    }
}

/// The id below which all transactions have ended, with exceptions. Written by the holder of [`TrxTable::raising`].
struct Floor<const OPEN: usize> {
    /// Guards the rest.
    sequence: Sequence,
    below: AtomicU64,
    /// All ends are at or before this LSN.
    end: AtomicU64,
    /// Ids below that may be active, ascending; zeros behind them.
    active: [AtomicU64; OPEN],
}

pub(crate) struct TrxTable<const BITS: u32 = RING_BITS, const OPEN: usize = EXCEPTIONS> {
    slots: Box<[Slot]>,
    overflow: Box<[CachePadded<Mutex<Shard>>]>,
    overflow_len: CachePadded<AtomicU64>,
    /// As far as the map was trimmed.
    trimmed: AtomicU64,
    next: CachePadded<AtomicU64>,
    /// The first id given out.
    first: AtomicU64,
    floor: CachePadded<Floor<OPEN>>,
    /// An id below this may not enter any more: the floor is about to pass it.
    closed: AtomicU64,
    /// `next` when the floor was last raised.
    raising: Mutex<Raised>,
}

impl<const BITS: u32, const OPEN: usize> TrxTable<BITS, OPEN> {
    /// Neighbouring ids lie on different cache lines: rotate the low bits of the id.
    #[inline]
    const fn slot_index(id: u64) -> usize {
        let by = if BITS > 3 { 3 } else { 0 };
        let low = id as usize & ((1 << BITS) - 1);
        ((low << by) | (low >> (BITS - by))) & ((1 << BITS) - 1)
    }

    /// `next` is the first id that will be given out, at least 1.
    pub(crate) fn new(next: TrxId) -> Self {
        TrxTable {
            slots: (0..1 << BITS).map(|_| Slot::default()).collect(),
            overflow: (0..SHARDS).map(|_| CachePadded::new(Mutex::new(Shard::default()))).collect(),
            overflow_len: CachePadded::new(AtomicU64::new(0)),
            trimmed: AtomicU64::new(0),
            next: CachePadded::new(AtomicU64::new(next.0.max(1))),
            first: AtomicU64::new(next.0.max(1)),
            floor: CachePadded::new(Floor {
                sequence: Sequence::new(),
                below: AtomicU64::new(0),
                end: AtomicU64::new(0),
                active: std::array::from_fn(|_| AtomicU64::new(0)),
            }),
            closed: AtomicU64::new(0),
            raising: Mutex::new(Raised::default()),
        }
    }

    fn shard(&self, id: u64) -> &Mutex<Shard> {
        &self.overflow[id as usize % SHARDS].0
    }

    /// The id the next writer gets.
    pub(crate) fn next(&self) -> TrxId {
        TrxId(self.next.load(Relaxed))
    }

    /// Allocates an id and enters it as active. `oldest` is the oldest snapshot in use.
    pub(crate) fn begin(&self, oldest: Lsn) -> TrxId {
        let mut id = self.next.fetch_add(1, Relaxed);
        loop {
            let slot = &self.slots[Self::slot_index(id)];
            let old = slot.id.load(Acquire);
            if old & BUSY != 0 {
                spin_hint(); // another taker, a whole ring apart, is at work
            } else if old > id {
                // Overtaken by a later round before we entered: live in the map only.
                self.put(id, ACTIVE);
                if id >= self.closed.load(Acquire) {
                    return TrxId(id);
                }
                self.put(id, 0);
                id = self.next.fetch_add(1, Relaxed);
            } else if slot.id.compare_exchange(old, old | BUSY, AcqRel, Relaxed).is_ok() {
                self.move_out(slot, old, oldest);
                slot.state.store(ACTIVE | id, Release);
                slot.id.store(id, Release);
                return TrxId(id);
            }
        }
    }

    /// Enters an id found active at recovery.
    pub(crate) fn begin_recovered(&self, id: TrxId) {
        self.put(id.0, ACTIVE);
        self.next.fetch_max(id.0 + 1, Relaxed);
        self.first.fetch_max(id.0 + 1, Relaxed);
    }

    /// Enters a state in the map, zero to take the id out.
    fn put(&self, id: u64, state: u64) {
        // Counted before it is there: an empty map is not looked into.
        self.overflow_len.fetch_add(1, Release);
        let before = self.shard(id).lock().set(id, state);
        let gone = u64::from(before.is_some()) + u64::from(state == 0);
        if gone > 0 {
            self.overflow_len.fetch_sub(gone, Release);
        }
    }

    /// Saves the occupant of a slot in the map if anyone may still ask for it. The caller has set the slot busy.
    fn move_out(&self, slot: &Slot, id: u64, oldest: Lsn) {
        loop {
            let state = slot.state.load(Acquire);
            if id == 0 || state & ACTIVE == 0 && Lsn(state) <= oldest {
                return;
            }
            let mut map = self.shard(id).lock();
            // A reader that sees the word moved finds the map counted, and waits for the map's lock.
            self.overflow_len.fetch_add(1, Release);
            // The owner ends by exchanging its own word, then looks in the map: under the shard's mutex one of us is
            // first.
            if slot.state.compare_exchange(state, ACTIVE, AcqRel, Relaxed).is_ok() {
                if map.set(id, if state & ACTIVE != 0 { ACTIVE } else { state }).is_some() {
                    self.overflow_len.fetch_sub(1, Release);
                }
                return;
            }
            self.overflow_len.fetch_sub(1, Release);
        }
    }

    /// Enters the end of an active id. Called inside the log's closure for the end record: does not park.
    pub(crate) fn end(&self, id: TrxId, lsn: Lsn) {
        sched_point();
        let slot = &self.slots[Self::slot_index(id.0)];
        if slot.state.compare_exchange(ACTIVE | id.0, lsn.0, AcqRel, Relaxed).is_ok() {
            return;
        }
        let before = self.shard(id.0).lock().set(id.0, lsn.0.max(1));
        gannet_base::check!(before.is_some(), "transaction {id} ends but is not in the table");
    }

    /// What became of `id`.
    #[inline]
    pub(crate) fn state(&self, id: TrxId) -> TrxState {
        self.in_ring(id).unwrap_or_else(|| self.in_map(id))
    }

    /// As [`state`](Self::state), but the end may be given later than it was, though not later than now.
    #[inline]
    pub(crate) fn outcome(&self, id: TrxId) -> TrxState {
        self.in_ring(id).unwrap_or_else(|| {
            if self.overflow_len.load(Acquire) == 0 {
                return TrxState::Old;
            }
            self.end_by_floor(id).map_or_else(|| self.in_map(id), TrxState::Ended)
        })
    }

    #[inline]
    fn in_ring(&self, id: TrxId) -> Option<TrxState> {
        let slot = &self.slots[Self::slot_index(id.0)];
        if slot.id.load(Acquire) & !BUSY == id.0 {
            let state = slot.state.load(Acquire);
            if state == ACTIVE | id.0 {
                return Some(TrxState::Active);
            }
            // The active bit alone, or with a taker's id: moved out. Else the word is ours if the id still is.
            if state & ACTIVE == 0 && slot.id.load(Acquire) & !BUSY == id.0 {
                return Some(TrxState::Ended(Lsn(state)));
            }
        }
        None
    }

    fn in_map(&self, id: TrxId) -> TrxState {
        if self.overflow_len.load(Acquire) == 0 {
            return TrxState::Old;
        }
        match self.shard(id.0).lock().get(id.0) {
            None => TrxState::Old,
            Some(ACTIVE) => TrxState::Active,
            Some(lsn) => TrxState::Ended(Lsn(lsn)),
        }
    }

    /// What a reader sees who reads all that ended at or before `at`.
    #[inline]
    pub(crate) fn view(&self, at: Lsn) -> View {
        let (next, floor) = (self.next(), &self.floor.0);
        let settled = floor.sequence.read(|| match floor.active[0].load(Relaxed) {
            _ if floor.end.load(Relaxed) > at.0 => 0,
            0 => floor.below.load(Relaxed),
            active => active,
        });
        View { at, next, settled: TrxId(settled.unwrap_or(0)) }
    }

    /// True when a reader sees what `id` wrote (and `id` is not the reader itself).
    #[inline]
    pub(crate) fn visible(&self, id: TrxId, view: View) -> bool {
        if id < view.settled {
            return true;
        }
        if id >= view.next {
            return false;
        }
        match self.in_ring(id) {
            Some(TrxState::Ended(lsn)) => lsn <= view.at,
            Some(_) => false,
            None => self.overflow_len.load(Acquire) == 0 || self.visible_old(id, view),
        }
    }

    #[cold]
    fn visible_old(&self, id: TrxId, view: View) -> bool {
        if self.end_by_floor(id).is_some_and(|end| end <= view.at) {
            return true;
        }
        match self.in_map(id) {
            TrxState::Active => false,
            TrxState::Ended(lsn) => lsn <= view.at,
            TrxState::Old => true,
        }
    }

    /// Forgets ids in the map that ended at or before `oldest`. For the purge task, now and then.
    pub(crate) fn trim(&self, oldest: Lsn) {
        if self.overflow_len.load(Acquire) == 0 || self.trimmed.fetch_max(oldest.0, AcqRel) >= oldest.0 {
            return;
        }
        for shard in &self.overflow {
            let mut gone = 0;
            shard.0.lock().0.retain(|_, chunk| {
                for state in &mut chunk.states {
                    if *state != 0 && *state != ACTIVE && Lsn(*state) <= oldest {
                        *state = 0;
                        chunk.held -= 1;
                        gone += 1;
                    }
                }
                chunk.held > 0
            });
            self.overflow_len.fetch_sub(gone, Release);
        }
    }

    /// An LSN at or after the end of an id that the floor has passed.
    pub(crate) fn end_by_floor(&self, id: TrxId) -> Option<Lsn> {
        let floor = &self.floor.0;
        let seen = floor.sequence.read(|| {
            let open = id.0 >= floor.below.load(Relaxed) || floor.active.iter().any(|a| a.load(Relaxed) == id.0);
            (!open).then(|| Lsn(floor.end.load(Relaxed)))
        });
        seen.flatten()
    }

    /// Raises the floor when some ids were given out since; while the map is in use, which has to be searched, when
    /// the ring has moved on by an eighth. Few ids are enough when no more came since the last call, and none when the
    /// first transaction that was active below the floor has ended. `tail`: the end of the log now. For the purge task.
    pub(crate) fn raise_floor(&self, tail: impl FnOnce() -> Lsn) {
        let ring = 1_u64 << BITS;
        let step =
            if self.overflow_len.load(Acquire) == 0 { RAISED_BY.min(ring.div_ceil(8)) } else { ring.div_ceil(8) };
        let mut raised = self.raising.lock();
        let next = self.next.load(Relaxed);
        let quiet = step == RAISED_BY && next == std::mem::replace(&mut raised.seen, next);
        let first = self.floor.0.active[0].load(Relaxed);
        let over = || first != 0 && !matches!(self.in_ring(TrxId(first)), Some(TrxState::Active));
        if next < raised.at + if quiet { 1 } else { step } && !(quiet && over()) {
            return;
        }
        raised.at = next;
        let below = self.floor.0.below.load(Relaxed);
        let mut active =
            if next - below < ring { self.not_over_since(below, next) } else { self.not_over_in_ring(next) };
        let bound = active.get(OPEN).copied().unwrap_or(next);
        // The bound is closed before the map is searched: a task that enters an id below it after the search finds
        // that out under the shard's mutex.
        self.closed.fetch_max(bound, AcqRel);
        for (i, shard) in self.overflow.iter().enumerate() {
            for (number, chunk) in shard.0.lock().0.iter().filter(|(_, chunk)| chunk.active > 0) {
                let first = number * CHUNK as u64;
                let ids = (first..).zip(&chunk.states).filter(|(_, state)| **state == ACTIVE);
                active.extend(ids.map(|(of_shard, _)| of_shard * SHARDS as u64 + i as u64));
            }
        }
        active.sort_unstable();
        active.dedup();
        let below = active.get(OPEN).copied().unwrap_or(bound).min(bound);
        active.retain(|&id| id < below);
        // Every transaction found ended here had reserved its end record.
        self.publish_floor(below, tail(), &active);
    }

    /// The id in the slot of `id`, and its state.
    fn occupant(&self, id: u64) -> (u64, u64) {
        let slot = &self.slots[Self::slot_index(id)];
        loop {
            let id = slot.id.load(Acquire);
            let state = slot.state.load(Acquire);
            if id & BUSY == 0 && slot.id.load(Acquire) == id {
                return (id, state);
            }
            spin_hint();
        }
    }

    /// What [`not_over_in_ring`](Self::not_over_in_ring) finds, of the ids since the floor's bound and of its
    /// exceptions.
    fn not_over_since(&self, below: u64, next: u64) -> Vec<u64> {
        let exceptions = self.floor.0.active.iter().map(|a| a.load(Relaxed)).take_while(|&id| id != 0);
        let open = |id: &u64| {
            let (occupant, state) = self.occupant(*id);
            occupant < *id || occupant == *id && state == ACTIVE | *id
        };
        exceptions.chain(below.max(self.first.load(Relaxed))..next).filter(open).collect()
    }

    /// Ids before `next`, in order, that are active in the ring or were allocated and not entered in it yet.
    fn not_over_in_ring(&self, next: u64) -> Vec<u64> {
        let (ring, first) = (1_u64 << BITS, self.first.load(Relaxed));
        let mut active = Vec::new();
        for low in 0..ring {
            let (id, state) = self.occupant(low);
            if id != 0 && id < next && state == ACTIVE | id {
                active.push(id);
            }
            let mut due = if id == 0 { first + (low.wrapping_sub(first) & (ring - 1)) } else { id + ring };
            while due < next {
                active.push(due);
                due += ring;
            }
        }
        active.sort_unstable();
        active
    }

    pub(crate) fn publish_floor(&self, below: u64, end: Lsn, active: &[u64]) {
        let floor = &self.floor.0;
        floor.sequence.write(|| {
            floor.below.store(below, Relaxed);
            floor.end.store(end.0, Relaxed);
            for (i, place) in floor.active.iter().enumerate() {
                place.store(active.get(i).copied().unwrap_or(0), Relaxed);
            }
        });
    }

    #[cfg(test)]
    pub(crate) fn overflow_len(&self) -> u64 {
        self.overflow_len.load(Relaxed)
    }
}
