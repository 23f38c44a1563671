//! Purge: takes out what no snapshot can see any more, and frees undo pages.
//!
//! Along each stream from its first page: begin records of transactions that ended at or before the oldest snapshot,
//! and the records behind them. Committed ones: deleted rows and index entries are removed, ended overflow chains and
//! dropped trees are freed. Rolled back ones have nothing left. A page is freed when all in it is dealt with.
//!
//! INV-PURGE-1: everything done is repeatable: either it finds nothing the second time, or it marks its record in the
//! same mini-transaction. INV-PURGE-2: a tree's pages are freed only when every transaction that ended before its drop
//! is purged, in all streams: no record that names the tree is looked at afterwards, and its number can be given to
//! another.

use std::collections::BTreeSet;
use std::time::Duration;

use gannet_base::sync::Mutex;
use gannet_base::sync::atomic::{AtomicBool, AtomicU64, Ordering::*};
use gannet_base::{Lsn, PageNo, TreeId, TrxId};
use gannet_btree::Tree;
use gannet_buffer::{Mtr, PageBuf, Stop};
use gannet_page::PageOp;
use gannet_runtime::{Wait, interrupted, now_ns, park, yield_if_due};
use gannet_telemetry::{Counter, add, count};

use crate::index::split_value;
use crate::row::{RowFlags, chain_of};
use crate::rows::header_of;
use crate::store::Store;
use crate::trxtable::TrxState;
use crate::turn::Turn;
use crate::undo::record::{
    self, ACTIVE, BUILD, BUILD_CHAIN_AT, Body, COMMITTED, DONE, ENDED_CHAIN_AT, FIRST, PREPARED, Record, UndoPtr,
};
use crate::undo::stream::{Current, NOTHING, PurgePlace, Stream, copy_page, corrupt, latch, next_page, set_flags};
use crate::{EngineError, Result};

/// History from which on writers are slowed down, if no reader holds it.
const BRAKE_FROM: u64 = 100_000;
/// Longest pause of a writer.
const MAX_PAUSE: Duration = Duration::from_millis(50);
/// Pause of a purge task that found nothing to do.
const IDLE_NS: u64 = 20_000_000;
/// Pause before what could not be rolled back is tried again.
const ORPHANS_EVERY_NS: u64 = 1_000_000_000;
/// How often counts of rows are saved.
const SAVE_EVERY_NS: u64 = 10_000_000_000;

/// What purge tasks share.
pub(crate) struct PurgeState {
    /// The undo found at the start has been dealt with.
    started: AtomicBool,
    starting: Turn,
    /// Drops found at the start, to be done when all else is.
    drops: Mutex<Vec<UndoPtr>>,
    /// Trees whose drop is committed and waits for transactions to be rolled back. What these did in such a tree need
    /// not be undone; where the tree is damaged, it cannot be.
    pub(crate) doomed: Mutex<BTreeSet<TreeId>>,
    /// Transactions that could be purged but are not: as of the last round.
    backlog: AtomicU64,
    /// A drop was met that waits for what others purge, since [`Engine::purge_now`](crate::Engine::purge_now) looked
    /// last.
    pub(crate) drop_waits: AtomicBool,
    last_save_ns: AtomicU64,
    /// To roll orphans back; when that is next due after one could not be.
    orphans: Turn,
    orphans_next_ns: AtomicU64,
    /// The last error, for the status.
    pub(crate) error: Mutex<Option<EngineError>>,
    /// Damaged pages that purge has found and logged.
    damaged: Mutex<BTreeSet<PageNo>>,
}

impl PurgeState {
    pub(crate) fn new() -> Self {
        PurgeState {
            started: AtomicBool::new(false),
            starting: Turn::default(),
            drops: Mutex::new(Vec::new()),
            doomed: Mutex::new(BTreeSet::new()),
            backlog: AtomicU64::new(0),
            drop_waits: AtomicBool::new(false),
            last_save_ns: AtomicU64::new(0),
            orphans: Turn::default(),
            orphans_next_ns: AtomicU64::new(0),
            error: Mutex::new(None),
            damaged: Mutex::new(BTreeSet::new()),
        }
    }

    /// Drops of earlier incarnations that are not done.
    pub(crate) fn drops_waiting(&self) -> u64 {
        self.drops.lock().len() as u64
    }

    /// How long a new writer should wait for purge to catch up.
    #[inline]
    pub(crate) fn brake(&self) -> Option<Duration> {
        let beyond = self.backlog.load(Relaxed).checked_sub(BRAKE_FROM)?;
        Some(Duration::from_micros(beyond / 10).min(MAX_PAUSE))
    }
}

/// The body of a background task; ends when interrupted.
pub(crate) fn task(store: &Store) {
    while !store.stopped.load(Acquire) && !interrupted() {
        let start = now_ns();
        let outcome = round(store, false);
        add(Counter::PurgeNs, now_ns().saturating_sub(start));
        match outcome {
            Ok(0) => {
                let _ = park(Wait::Purge, Some(now_ns() + IDLE_NS));
            }
            Ok(_) => yield_if_due(),
            Err(EngineError::ShutDown) => return,
            Err(e) => {
                let first = store.purge.error.lock().replace(e.clone()) != Some(e.clone());
                if first {
                    store.events.error(format_args!("purge: {e}"));
                }
                let _ = park(Wait::Purge, Some(now_ns() + 1_000_000_000));
            }
        }
    }
}

/// Purges all streams once. Returns how many transactions it dealt with. `all`: waits for streams that another task
/// works on, and purges these too.
pub(crate) fn round(store: &Store, all: bool) -> Result<u64> {
    // What it does frees space, and is no more than writers have done.
    let _hurry = gannet_runtime::hurry();
    count(Counter::PurgeInvoked);
    roll_back_orphans(store, all);
    let horizon = store.advance_horizon();
    store.trx.trim(horizon);
    store.trx.raise_floor(|| store.log.tail_lsn());
    if !store.purge.started.load(Acquire) && !start(store, all)? {
        return Ok(0);
    }
    let (mut done, mut failed) = (0, None);
    for stream in store.streams.all() {
        if !all && stream.oldest() > horizon.0 {
            continue;
        }
        let Some(turn) = stream.purging.take(all) else { continue };
        let mut place = *stream.place.lock();
        let result = Purger { store, stream: &stream, horizon }.run(&mut place);
        *stream.place.lock() = place;
        drop(turn);
        match result {
            Ok(n) => done += n,
            // The other streams go on.
            Err(e) => failed = Some(e),
        }
        if interrupted() {
            break;
        }
    }
    // Purge's own backlog is the history that no snapshot holds, without transactions that cannot be rolled back and
    // damaged streams.
    let waits = failed.is_some() || !store.purge.doomed.lock().is_empty();
    let held = store.snapshots.oldest() < horizon || done == 0 || waits;
    store.purge.backlog.store(if held { 0 } else { store.streams.history() }, Relaxed);
    save_rows(store)?;
    failed.map_or(Ok(done), Err)
}

/// Rolls orphans back. Those that cannot be rolled back yet stay; `all`: also tries those that failed a moment ago.
fn roll_back_orphans(store: &Store, all: bool) {
    let purge = &store.purge;
    let Some(_turn) = purge.orphans.take(all) else { return };
    if all || now_ns() >= purge.orphans_next_ns.load(Relaxed) {
        let orphans = std::mem::take(&mut *store.orphans.lock());
        let mut left = Vec::new();
        for mut orphan in orphans {
            match orphan.roll_back(store) {
                Ok(()) => orphan.free(store),
                Err(_) => left.push(orphan),
            }
        }
        if !left.is_empty() {
            purge.orphans_next_ns.store(now_ns() + ORPHANS_EVERY_NS, Relaxed);
            store.orphans.lock().append(&mut left);
        }
    }
}

fn save_rows(store: &Store) -> Result<()> {
    let (now, last) = (now_ns(), store.purge.last_save_ns.load(Relaxed));
    if now.saturating_sub(last) > SAVE_EVERY_NS
        && store.purge.last_save_ns.compare_exchange(last, now, Relaxed, Relaxed).is_ok()
        && last != 0
    {
        store.trees.save(false, || Ok(()))?;
    }
    Ok(())
}

/// Deals with the undo of earlier incarnations. All of it is older than every snapshot, but the order of the
/// transactions' ends is not known. So first come all records except drops, in all streams; then the drops, when the
/// losers are rolled back, which may need the trees. False: not finished. `wait`: waits for another task that does
/// this.
fn start(store: &Store, wait: bool) -> Result<bool> {
    let Some(_turn) = store.purge.starting.take(wait) else { return Ok(store.purge.started.load(Acquire)) };
    start_one(store)
}

fn start_one(store: &Store) -> Result<bool> {
    if store.purge.started.load(Acquire) {
        return Ok(true);
    }
    let streams = store.streams.all();
    let horizon = Lsn::ZERO;
    for stream in streams.iter().filter(|s| !s.walked.load(Acquire)) {
        let mut purger = Purger { store, stream, horizon };
        let (trees, mut drops): (Vec<_>, Vec<_>) = purger.walk_old()?.into_iter().unzip();
        if store.losers.load(Acquire) > 0 {
            store.purge.doomed.lock().extend(trees);
        }
        stream.walked.store(true, Release);
        store.purge.drops.lock().append(&mut drops);
    }
    let mut bytes = Vec::new();
    loop {
        let Some(&at) = store.purge.drops.lock().last() else { break };
        crate::undo::stream::read_record(&store.pool, at, &mut bytes)?;
        let record = record::decode(&bytes).map_err(|_| corrupt(at.page(), "undo record cannot be decoded"))?;
        if !record.is_done() && !drop_tree(store, at, &record)? {
            return Ok(false);
        }
        store.purge.drops.lock().pop();
    }
    for stream in &streams {
        let purger = Purger { store, stream, horizon };
        purger.free_old()?;
        stream.start_over();
    }
    store.purge.started.store(true, Release);
    Ok(true)
}

/// Frees a tree. False: there are transactions to be rolled back, which may name it.
fn drop_tree(store: &Store, at: UndoPtr, record: &Record<'_>) -> Result<bool> {
    if store.losers.load(Acquire) > 0 {
        store.purge.doomed.lock().insert(record.tree);
        return Ok(false);
    }
    // The number may be another tree's soon.
    store.purge.doomed.lock().remove(&record.tree);
    let began = now_ns();
    store.trees.remove(record.tree)?;
    let freed = store.pool.free_tree(record.tree, |mtr| {
        let page = latch(mtr, at)?;
        set_flags(mtr, page, at, record.flags | DONE);
        Ok(())
    });
    add(Counter::DropNs, now_ns().saturating_sub(began));
    freed?;
    Ok(true)
}

struct Purger<'a> {
    store: &'a Store,
    stream: &'a Stream,
    horizon: Lsn,
}

impl Purger<'_> {
    /// Purges as far as the horizon allows.
    fn run(&self, place: &mut PurgePlace) -> Result<u64> {
        let mut page = PageBuf::boxed();
        let mut done = 0;
        'page: loop {
            let (_, free) = copy_page(&self.store.pool, place.page, self.stream.id, &mut page)?;
            while let Some(r) = self.decode(&page, place, free)? {
                match r.body {
                    Body::Begin { trx } => {
                        let ended = match self.store.trx.state(trx) {
                            TrxState::Active => return self.finish(NOTHING, done),
                            TrxState::Ended(lsn) if lsn > self.horizon => return self.finish(lsn.0, done),
                            TrxState::Ended(lsn) => lsn,
                            TrxState::Old => Lsn(1),
                        };
                        if matches!(r.flags, ACTIVE | PREPARED) {
                            continue 'page; // the copy is older than the end
                        }
                        let lsn = self.stream.take_end_of_drop(trx).unwrap_or(ended);
                        self.stream.set_oldest(lsn.0.max(1));
                        place.current = if r.flags == COMMITTED { Current::Purge(trx, lsn) } else { Current::Skip };
                        self.stream.count_purged();
                        done += 1;
                    }
                    Body::Continue { .. } => {}
                    _ => {
                        if let Current::Purge(trx, lsn) = place.current {
                            let at = UndoPtr::new(place.page, place.offset, r.kind);
                            if !r.is_done() && !self.record(trx, lsn, at, &r)? {
                                return self.finish(lsn.0.max(1), done);
                            }
                        }
                    }
                }
                place.offset += r.len;
                yield_if_due();
            }
            let next = next_page(&page);
            if next.is_zero() {
                if self.stream.nothing_left() {
                    return Ok(done);
                }
                continue; // somebody ended meanwhile
            }
            let start = now_ns();
            self.store.streams.drop_first(&self.store.pool, self.stream, place.page, next)?;
            count(Counter::PurgeTruncateHistory);
            count(Counter::PurgeUndoLogPages);
            add(Counter::PurgeTruncateHistoryNs, now_ns().saturating_sub(start));
            (place.page, place.offset) = (next, FIRST);
            *self.stream.place.lock() = *place;
        }
    }

    fn decode<'p>(&self, page: &'p PageBuf, place: &PurgePlace, free: usize) -> Result<Option<Record<'p>>> {
        record::decode_at(&page.0[..free], place.offset).map_err(|_| corrupt(place.page, "undo record"))
    }

    fn finish(&self, oldest: u64, done: u64) -> Result<u64> {
        match oldest {
            NOTHING => self.stream.active_next(),
            lsn => self.stream.set_oldest(lsn),
        }
        Ok(done)
    }

    /// Everything from before the start except drops, which are returned with their trees. Frees no page.
    fn walk_old(&mut self) -> Result<Vec<(TreeId, UndoPtr)>> {
        let mut drops = Vec::new();
        let mut place = *self.stream.place.lock();
        let (last, end) = self.stream.initial_end;
        let mut page = PageBuf::boxed();
        loop {
            let (_, free) = copy_page(&self.store.pool, place.page, self.stream.id, &mut page)?;
            let free = if place.page == last { free.min(end) } else { free };
            while let Some(r) = self.decode(&page, &place, free)? {
                let at = UndoPtr::new(place.page, place.offset, r.kind);
                if self.stream.loser_begin == Some((place.page, place.offset)) {
                    // A transaction that was unfinished may end at any time from now on; it is purged like later
                    // ones.
                    return Ok(drops);
                }
                match r.body {
                    Body::Begin { trx } if r.flags == COMMITTED => place.current = Current::Purge(trx, Lsn(1)),
                    Body::Begin { .. } => place.current = Current::Skip,
                    Body::Continue { trx } if place.current == Current::Unknown => {
                        place.current = Current::Purge(trx, Lsn(1));
                    }
                    Body::Continue { .. } => {}
                    Body::DropTree { .. } if !r.is_done() && matches!(place.current, Current::Purge(..)) => {
                        drops.push((r.tree, at));
                    }
                    _ => {
                        if let Current::Purge(trx, lsn) = place.current
                            && !r.is_done()
                        {
                            self.record(trx, lsn, at, &r)?;
                        }
                    }
                }
                place.offset += r.len;
                yield_if_due();
            }
            let next = next_page(&page);
            if place.page == last || next.is_zero() {
                return Ok(drops);
            }
            (place.page, place.offset) = (next, FIRST);
        }
    }

    /// Frees the pages that only hold what [`walk_old`](Self::walk_old) has dealt with, and goes to the place after.
    fn free_old(&self) -> Result<()> {
        let stop = self.stream.loser_begin.unwrap_or(self.stream.initial_end);
        let mut place = *self.stream.place.lock();
        while place.page != stop.0 {
            let mut page = PageBuf::boxed();
            copy_page(&self.store.pool, place.page, self.stream.id, &mut page)?;
            let next = next_page(&page);
            if next.is_zero() {
                return Err(corrupt(place.page, "undo stream ends before its last page"));
            }
            self.store.streams.drop_first(&self.store.pool, self.stream, place.page, next)?;
            place.page = next;
            *self.stream.place.lock() = place;
        }
        place.offset = stop.1;
        place.current = Current::Skip;
        *self.stream.place.lock() = place;
        Ok(())
    }

    /// Deals with one record of a committed transaction. False: not yet possible. Entries in a damaged page stay
    /// there, because they cannot be read; purge goes on with the records behind.
    fn record(&self, trx: TrxId, lsn: Lsn, at: UndoPtr, r: &Record<'_>) -> Result<bool> {
        match self.deal_with(trx, lsn, at, r) {
            // A drop is done only when the tree is freed.
            Err(e @ EngineError::Corrupt { page, .. }) if e.is_damage() && !matches!(r.body, Body::DropTree { .. }) => {
                if self.store.purge.damaged.lock().insert(page) {
                    self.store.events.error(format_args!("purge: {e}; what is to be purged in tree {} stays", r.tree));
                }
                Ok(true)
            }
            other => other,
        }
    }

    fn deal_with(&self, trx: TrxId, lsn: Lsn, at: UndoPtr, r: &Record<'_>) -> Result<bool> {
        match r.body {
            Body::RowDelete { ended_chain, key, .. } => {
                let chain = if ended_chain.is_zero() { self.remove_row(trx, at, r, key)? } else { ended_chain };
                self.free_chain(at, r, chain)?;
            }
            Body::RowModify { ended_chain, .. } => {
                count(Counter::PurgeUpdates);
                self.free_chain(at, r, ended_chain)?;
            }
            Body::IndexDelete { key } => self.remove_entry(trx, r, key)?,
            Body::DropTree { .. } => {
                if self.store.streams.oldest_of_others(self.stream.id) <= lsn.0 {
                    let unfinished = self.store.losers.load(Acquire) > 0;
                    self.store.purge.drop_waits.fetch_or(!unfinished, AcqRel);
                    return Ok(false);
                }
                return drop_tree(self.store, at, r);
            }
            _ => {}
        }
        Ok(true)
    }

    fn tree(&self, r: &Record<'_>) -> Result<Option<Tree>> {
        Ok(self.store.trees.get(r.tree)?.map(|t| t.tree.clone()))
    }

    /// Removes a row deleted by `trx` unless it was inserted again. Returns its overflow chain, which the record
    /// holds then.
    fn remove_row(&self, trx: TrxId, at: UndoPtr, r: &Record<'_>, key: &[u8]) -> Result<PageNo> {
        let Some(tree) = self.tree(r)? else { return Ok(PageNo::ZERO) };
        let (chain, underfull) = self.store.pool.run(|| {
            let mut mtr = self.store.pool.mtr()?;
            let leaf = tree.leaf_for_write(&mut mtr, key, 0)?;
            if !leaf.found() {
                return Ok((PageNo::ZERO, false));
            }
            let h = header_of(&mtr, leaf)?;
            if h.writer != trx || h.undo != at || h.flags.0 & RowFlags::DELETED == 0 {
                return Ok((PageNo::ZERO, false));
            }
            let chain = chain_of(leaf.value(&mtr)).map_or(PageNo::ZERO, |c| c.0);
            if !chain.is_zero() {
                note_chain(&mut mtr, at, chain)?;
            }
            let underfull = leaf.remove(&mut mtr);
            mtr.commit();
            count(Counter::RowsPurged);
            Ok((chain, underfull))
        })?;
        if underfull {
            tree.merge(key)?;
        }
        Ok(chain)
    }

    fn remove_entry(&self, trx: TrxId, r: &Record<'_>, key: &[u8]) -> Result<()> {
        let Some(tree) = self.tree(r)? else { return Ok(()) };
        let underfull = self.store.pool.run(|| {
            let mut mtr = self.store.pool.mtr()?;
            let leaf = tree.leaf_for_write(&mut mtr, key, 0)?;
            if !leaf.found() || split_value(leaf.value(&mtr)).is_none_or(|(deleter, _)| deleter != trx) {
                return Ok(false);
            }
            let underfull = leaf.remove(&mut mtr);
            mtr.commit();
            count(Counter::RowsPurged);
            Ok(underfull)
        })?;
        if underfull {
            tree.merge(key)?;
        }
        Ok(())
    }

    /// Frees an overflow chain; the record always names the part that is left.
    fn free_chain(&self, at: UndoPtr, r: &Record<'_>, chain: PageNo) -> Result<()> {
        if chain.is_zero() {
            return Ok(());
        }
        if let Some(tree) = self.tree(r)? {
            tree.free_chain(chain, |mtr, next| {
                note_chain(mtr, at, next)?;
                if next.is_zero() {
                    let page = latch(mtr, at)?;
                    set_flags(mtr, page, at, r.flags | DONE);
                }
                Ok(())
            })?;
        }
        Ok(())
    }
}

/// Notes in a record which overflow chain is left to be freed.
pub(crate) fn note_chain(mtr: &mut Mtr<'_>, at: UndoPtr, chain: PageNo) -> std::result::Result<(), Stop> {
    let page = latch(mtr, at)?;
    let field = if at.kind() == BUILD { BUILD_CHAIN_AT } else { ENDED_CHAIN_AT };
    let place = (at.offset() + field) as u16;
    mtr.apply(page, &PageOp::Overwrite { at: place, bytes: &chain.0.to_le_bytes() });
    Ok(())
}
