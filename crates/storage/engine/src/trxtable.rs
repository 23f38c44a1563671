//! What became of a transaction: id → active, or the LSN of its end.
//!
//! A ring indexed by id answers for the latest [`RING`] ids with two loads. An id whose slot is taken over by a later one
//! while it still matters (active, or ended after the oldest snapshot) moves to a sharded map first; an id found in neither
//! ended before every snapshot in use.
//!
//! Written by: the owner (begin, end) and whoever takes a slot over. Read by everyone, without writing.
//!
//! INV-TRX-1: an id is in the ring or in the map from before its first stamp reaches a page until its end is at or before the
//! oldest snapshot.
//! INV-TRX-2: the end is entered between reservation and publication of the end record: a horizon at or beyond the end
//! implies that the table says so.

use std::collections::HashMap;

use gannet_base::sync::atomic::{AtomicU64, Ordering::*};
use gannet_base::sync::{Mutex, sched_point, spin_hint};
use gannet_base::{CachePadded, Lsn, TrxId};

/// Slots of the ring, as a power of two; 16 bytes each.
const RING_BITS: u32 = 17;
#[cfg(test)]
pub(crate) const RING: usize = 1 << RING_BITS;
const SHARDS: usize = 64;

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

#[derive(Default)]
struct Slot {
    id: AtomicU64,
    state: AtomicU64,
}

type Shard = CachePadded<Mutex<HashMap<u64, u64>>>;

pub(crate) struct TrxTable<const BITS: u32 = RING_BITS> {
    slots: Box<[Slot]>,
    overflow: Box<[Shard]>,
    overflow_len: CachePadded<AtomicU64>,
    next: CachePadded<AtomicU64>,
}

impl<const BITS: u32> TrxTable<BITS> {
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
            overflow: (0..SHARDS).map(|_| CachePadded::new(Mutex::new(HashMap::new()))).collect(),
            overflow_len: CachePadded::new(AtomicU64::new(0)),
            next: CachePadded::new(AtomicU64::new(next.0.max(1))),
        }
    }

    fn shard(&self, id: u64) -> &Mutex<HashMap<u64, u64>> {
        &self.overflow[id as usize % SHARDS].0
    }

    /// The id the next writer gets.
    pub(crate) fn next(&self) -> TrxId {
        TrxId(self.next.load(Relaxed))
    }

    /// Gives out an id and enters it as active. `oldest` is the oldest snapshot in use.
    pub(crate) fn begin(&self, oldest: Lsn) -> TrxId {
        let id = self.next.fetch_add(1, Relaxed);
        let slot = &self.slots[Self::slot_index(id)];
        loop {
            let old = slot.id.load(Acquire);
            if old & BUSY != 0 {
                spin_hint(); // another taker, a whole ring apart, is at work
            } else if old > id {
                // Overtaken by a later round before we entered: live in the map only.
                self.put(id, ACTIVE);
                return TrxId(id);
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
    }

    fn put(&self, id: u64, state: u64) {
        // Counted before it is there: an empty map is not looked into.
        self.overflow_len.fetch_add(1, Release);
        if self.shard(id).lock().insert(id, state).is_some() {
            self.overflow_len.fetch_sub(1, Release);
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
            // Who sees the word moved finds the map counted, and waits for its lock.
            self.overflow_len.fetch_add(1, Release);
            // The owner ends by exchanging its own word, then looks in the map: under the shard's mutex one of us is first.
            if slot.state.compare_exchange(state, ACTIVE, AcqRel, Relaxed).is_ok() {
                if map.insert(id, if state & ACTIVE != 0 { ACTIVE } else { state }).is_some() {
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
        let mut map = self.shard(id.0).lock();
        let entry = map.get_mut(&id.0);
        gannet_base::check!(entry.is_some(), "transaction {id} ends but is not in the table");
        if let Some(state) = entry {
            *state = lsn.0;
        }
    }

    /// What became of `id`.
    #[inline]
    pub(crate) fn state(&self, id: TrxId) -> TrxState {
        let slot = &self.slots[Self::slot_index(id.0)];
        if slot.id.load(Acquire) & !BUSY == id.0 {
            let state = slot.state.load(Acquire);
            if state == ACTIVE | id.0 {
                return TrxState::Active;
            }
            // The active bit alone, or with a taker's id: moved out. Else the word is ours if the id still is.
            if state & ACTIVE == 0 && slot.id.load(Acquire) & !BUSY == id.0 {
                return TrxState::Ended(Lsn(state));
            }
        }
        self.state_overflow(id)
    }

    fn state_overflow(&self, id: TrxId) -> TrxState {
        if self.overflow_len.load(Acquire) == 0 {
            return TrxState::Old;
        }
        match self.shard(id.0).lock().get(&id.0) {
            None => TrxState::Old,
            Some(&ACTIVE) => TrxState::Active,
            Some(&lsn) => TrxState::Ended(Lsn(lsn)),
        }
    }

    /// True when a snapshot at `at` sees what `id` wrote (and `id` is not the reader itself).
    #[inline]
    pub(crate) fn visible(&self, id: TrxId, at: Lsn) -> bool {
        match self.state(id) {
            TrxState::Active => false,
            TrxState::Ended(lsn) => lsn <= at,
            TrxState::Old => true,
        }
    }

    /// Forgets ids in the map that ended at or before `oldest`. For the purge task, now and then.
    pub(crate) fn trim(&self, oldest: Lsn) {
        if self.overflow_len.load(Acquire) == 0 {
            return;
        }
        for shard in &self.overflow {
            let mut map = shard.0.lock();
            let before = map.len();
            map.retain(|_, &mut state| state == ACTIVE || Lsn(state) > oldest);
            self.overflow_len.fetch_sub((before - map.len()) as u64, Release);
        }
    }

    #[cfg(test)]
    pub(crate) fn overflow_len(&self) -> u64 {
        self.overflow_len.load(Relaxed)
    }
}
