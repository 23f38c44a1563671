//! Trees in use, and the table of all trees.
//!
//! The tree table is a B+tree of its own, outside of transactions: `u64` tree id, big-endian → `u8` kind, 7 bytes zero,
//! `u64` counter (all values up to it may have been handed out), `u64` rows (as of the last clean shutdown or
//! maintenance), `u64` zero.

use std::collections::HashMap;

use gannet_base::sync::atomic::{AtomicBool, AtomicI64, AtomicU8, AtomicU64, Ordering::*};
use gannet_base::sync::{Arc, Mutex, OnceLock, RwLock};
use gannet_base::{CachePadded, TreeId};
use gannet_btree::Tree;
use gannet_buffer::Pool;
use gannet_lock::{LockTable, TreeLocks};
use gannet_telemetry::count;

use crate::scrub::Damage;
use crate::undo::stream::corrupt;
use crate::uses::Uses;
use crate::{EngineError, Result, TreeKind, TrxId, meta};

const RECORD: usize = 32;
/// Most values persisted ahead of use.
const MAX_AHEAD: u64 = 1024;
/// Reservations ahead grow when the last one was used up within this time.
const AHEAD_WINDOW_NS: u64 = 1_000_000_000;
const STRIPES: usize = 16;
/// Bits of a cell that count entries there are; half a million million of each sign.
const NET_BITS: u32 = 40;
/// Bits of [`TreeShared::barred`]: dropped by a transaction (or freed); a page of it was found damaged; made after a
/// snapshot that may be in use.
const GONE: u8 = 1;
const DAMAGED: u8 = 2;
const YOUNG: u8 = 4;

/// One record of the tree table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct TableRecord {
    kind: TreeKind,
    counter: u64,
    rows: u64,
}

impl TreeKind {
    pub(crate) fn code(self) -> u8 {
        match self {
            TreeKind::Row => 0,
            TreeKind::Index => 1,
        }
    }

    fn from_code(code: u8) -> Option<TreeKind> {
        [TreeKind::Row, TreeKind::Index].into_iter().find(|k| k.code() == code)
    }
}

impl TableRecord {
    fn encode(&self) -> [u8; RECORD] {
        let mut out = [0; RECORD];
        out[0] = self.kind.code();
        out[8..16].copy_from_slice(&self.counter.to_le_bytes());
        out[16..24].copy_from_slice(&self.rows.to_le_bytes());
        out
    }

    fn decode(bytes: &[u8]) -> Option<TableRecord> {
        let bytes: &[u8; RECORD] = bytes.try_into().ok()?;
        let word = |at: usize| u64::from_le_bytes(std::array::from_fn(|i| bytes[at + i]));
        Some(TableRecord { kind: TreeKind::from_code(bytes[0])?, counter: word(8), rows: word(16) })
    }
}

/// A tree in use by any number of transactions.
pub(crate) struct TreeShared {
    pub(crate) id: TreeId,
    pub(crate) kind: TreeKind,
    pub(crate) tree: Tree,
    pub(crate) locks: Arc<TreeLocks>,
    /// Why it is not to be used, or not by everybody: bits, 0 = it is.
    barred: AtomicU8,
    /// The transaction that made it; zero for a tree that was there at the start, or that all snapshots may read.
    maker: TrxId,
    counter: Counter,
    /// Entries inserted less entries deleted since `rows_at_open`, in the low [`NET_BITS`] bits, and how many there
    /// were of both, modulo [`TreeHandle::CHANGES`], above: one addition counts both. One cell for some threads each.
    rows: [CachePadded<AtomicI64>; STRIPES],
    rows_at_open: AtomicI64,
    /// How often they were read and changed.
    pub(crate) uses: Uses,
    /// They are none of those that users' statements work on ([`TreeHandle::count_apart`]).
    apart: AtomicBool,
    table: Arc<OnceLock<Tree>>,
    damaged: Arc<Mutex<HashMap<TreeId, Damage>>>,
}

/// AUTO_INCREMENT: the greatest value handed out, and how far the tree table is ahead of it.
struct Counter {
    used: CachePadded<AtomicU64>,
    persisted: AtomicU64,
    ahead: AtomicU64,
    last_ns: AtomicU64,
}

/// What a cell of [`TreeShared::rows`] says: entries inserted less entries deleted, and the number of both.
fn split_count(cell: i64) -> (i64, u64) {
    let net = cell << (64 - NET_BITS) >> (64 - NET_BITS);
    (net, (cell.wrapping_sub(net) as u64) >> NET_BITS)
}

impl TreeShared {
    /// Counts rows that were read or changed among those of all tables.
    #[inline]
    pub(crate) fn count_among_all(&self, counter: gannet_telemetry::Counter, rows: u64) {
        if !self.apart.load(Relaxed) {
            gannet_telemetry::add(counter, rows);
        }
    }

    pub(crate) fn set_apart(&self) {
        self.apart.store(true, Relaxed);
    }

    fn bar(&self, bit: u8, set: bool) {
        if set {
            self.barred.fetch_or(bit, AcqRel);
        } else {
            self.barred.fetch_and(!bit, AcqRel);
        }
    }

    /// Notes that it is dropped, or that this was rolled back.
    pub(crate) fn set_gone(&self, gone: bool) {
        self.bar(GONE, gone);
    }

    /// Counts an entry inserted (1) or deleted (-1); 0 counts nothing.
    #[inline]
    pub(crate) fn count_rows(&self, n: i64) {
        if n == 0 {
            return;
        }
        self.rows[gannet_base::slot::current() % STRIPES].0.fetch_add((1 << NET_BITS) + n, Relaxed);
    }

    /// Asks the processor for what an insert touches of this.
    #[inline]
    pub(crate) fn approach(&self) {
        gannet_base::prefetch(&self.tree, 0..size_of::<Tree>());
        gannet_base::prefetch(&self.barred, 0..1);
        gannet_base::prefetch(&self.uses, 0..size_of::<Uses>());
        gannet_base::prefetch(&self.rows[gannet_base::slot::current() % STRIPES], 0..8);
    }

    /// As [`TreeShared::approach`], a step later: of what hangs on this.
    #[inline]
    pub(crate) fn approach_behind(&self) {
        self.locks.approach();
        self.uses.approach();
    }

    /// Counts so many entries that were inserted at once.
    pub(crate) fn count_entries(&self, n: u64) {
        let word = ((n << NET_BITS) as i64).wrapping_add(n as i64);
        self.rows[gannet_base::slot::current() % STRIPES].0.fetch_add(word, Relaxed);
    }

    /// The transaction that made it; zero: unknown, as it is older than the start.
    pub(crate) fn maker(&self) -> TrxId {
        self.maker
    }

    pub(crate) fn rows(&self) -> u64 {
        let net: i64 = self.rows.iter().map(|c| split_count(c.0.load(Relaxed)).0).sum();
        (self.rows_at_open.load(Relaxed) + net).max(0) as u64
    }

    /// Entries inserted and deleted since it was opened, modulo [`TreeHandle::CHANGES`].
    pub(crate) fn changes(&self) -> u64 {
        self.rows.iter().map(|c| split_count(c.0.load(Relaxed)).1).sum::<u64>() % TreeHandle::CHANGES
    }

    fn change_record(&self, change: impl Fn(&mut TableRecord)) -> Result<()> {
        let table = self.table.get().ok_or(EngineError::ShutDown)?;
        let pool = table.pool();
        let key = self.id.0.to_be_bytes();
        let found = pool.run(|| {
            let mut mtr = pool.mtr()?;
            let leaf = table.leaf_for_write(&mut mtr, &key, RECORD)?;
            let old = leaf.found().then(|| TableRecord::decode(leaf.value(&mtr))).flatten();
            let Some(old) = old else { return Ok(false) };
            let mut new = old;
            change(&mut new);
            if new != old {
                leaf.replace(&mut mtr, &new.encode());
            }
            mtr.commit();
            Ok(true)
        })?;
        if found { Ok(()) } else { Err(EngineError::NoSuchTree(self.id)) }
    }

    /// Makes the tree table cover values up to `last` at least.
    fn persist_counter(&self, last: u64) -> Result<()> {
        let now = gannet_runtime::now_ns();
        let busy = now.saturating_sub(self.counter.last_ns.swap(now, Relaxed)) < AHEAD_WINDOW_NS;
        let ahead = if busy { (self.counter.ahead.load(Relaxed) * 2).clamp(1, MAX_AHEAD) } else { 0 };
        self.counter.ahead.store(ahead, Relaxed);
        let cover = last.saturating_add(ahead);
        // In the log before any commit that may carry such a value: no need to wait for the disk.
        self.change_record(|r| r.counter = r.counter.max(cover))?;
        self.counter.persisted.fetch_max(cover, AcqRel);
        Ok(())
    }
}

/// A tree, ready for use by any transaction. Clone it freely but not per statement: the catalog keeps one for each
/// tree of a table.
#[derive(Clone)]
pub struct TreeHandle {
    pub(crate) shared: Arc<TreeShared>,
}

impl std::fmt::Debug for TreeHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "TreeHandle({}, {:?})", self.id(), self.kind())
    }
}

impl TreeHandle {
    /// Longest key a row tree carries, in bytes; index trees carry 8 less.
    pub const MAX_KEY_BYTES: usize = gannet_btree::MAX_KEY;
    /// Most bytes of key and carried bytes in an entry of an index tree.
    pub const MAX_INDEX_ENTRY_BYTES: usize = gannet_btree::MAX_ENTRY - crate::index::OVERHEAD;

    /// Asks the processor for where the tree is, before an insert into many ([`TreeHandle::insert_spread`]).
    #[inline]
    pub fn approach_handle(&self) {
        gannet_base::prefetch(&self.shared, 0..1);
    }

    /// Asks the processor for what reading the rows with these keys, [`APPROACHED`](crate::APPROACHED) at most, will
    /// touch, for all of them side by side. For keys that lie far apart.
    pub fn approach(&self, keys: &[&[u8]]) {
        gannet_btree::approach_leaves(&self.shared.tree, keys);
    }

    /// Refuses a tree that is dropped, or of another kind, or damaged.
    #[inline]
    pub(crate) fn check(&self, kind: TreeKind) -> Result<()> {
        let free = self.shared.barred.load(Acquire) & !YOUNG == 0 && self.shared.kind == kind;
        if free { Ok(()) } else { self.refuse(kind) }
    }

    /// As [`check`](Self::check); the transaction that made the tree, if there may be snapshots that are older than it.
    #[inline]
    pub(crate) fn check_young(&self, kind: TreeKind) -> Result<Option<TrxId>> {
        let free = self.shared.barred.load(Acquire) == 0 && self.shared.kind == kind;
        if free { Ok(None) } else { self.young(kind) }
    }

    #[cold]
    fn young(&self, kind: TreeKind) -> Result<Option<TrxId>> {
        self.check(kind)?;
        Ok((self.shared.barred.load(Acquire) & YOUNG != 0).then_some(self.shared.maker))
    }

    /// Lets snapshots read the tree that are older than it: nobody but the session that has made it knows it (a
    /// temporary table).
    pub fn show_to_all(&self) {
        self.shared.bar(YOUNG, false);
    }

    #[cold]
    fn refuse(&self, kind: TreeKind) -> Result<()> {
        self.check_there()?;
        if self.shared.kind != kind {
            return Err(EngineError::NoSuchTree(self.id()));
        }
        match self.shared.damaged.lock().get(&self.id()) {
            Some(damage) => Err(damage.into()),
            None => Ok(()),
        }
    }

    /// Refuses a tree that is dropped.
    pub(crate) fn check_there(&self) -> Result<()> {
        let gone = self.shared.barred.load(Acquire) & GONE != 0;
        if gone { Err(EngineError::NoSuchTree(self.id())) } else { Ok(()) }
    }

    /// Its id, as kept in the catalog.
    pub fn id(&self) -> TreeId {
        self.shared.id
    }

    /// Row or index tree.
    pub fn kind(&self) -> TreeKind {
        self.shared.kind
    }

    /// AUTO_INCREMENT: reserves `count` values of the form `offset + k * step` (MySQL's `auto_increment_offset` and
    /// `auto_increment_increment`; both count as 1 when 0) greater than all values reserved or noted before, and
    /// returns the first. `None` when they would pass `u64::MAX`.
    ///
    /// One atomic operation, no lock, not transactional. No value that a committed row can carry is handed out twice,
    /// `kill -9` included. A crash may skip values reserved ahead: none on a table with few inserts, up to 1024 on one
    /// with many a second. A clean shutdown skips nothing.
    pub fn counter_reserve(&self, count: u64, step: u64, offset: u64) -> Result<Option<u64>> {
        let (step, offset, counter) = (step.max(1), offset.max(1), &self.shared.counter);
        loop {
            let used = counter.used.load(Acquire);
            let Some((first, last)) = next_values(used, count.max(1), step, offset) else { return Ok(None) };
            if last > counter.persisted.load(Acquire) {
                self.shared.persist_counter(last)?;
            }
            if counter.used.compare_exchange(used, last, AcqRel, Relaxed).is_ok() {
                return Ok(Some(first));
            }
        }
    }

    /// The same for a column whose type ends at `most`: the counter goes no further, and the values returned may lie
    /// behind it. `None` when it is further already, and when the first would be `u64::MAX`.
    pub fn counter_reserve_within(&self, count: u64, step: u64, offset: u64, most: u64) -> Result<Option<u64>> {
        let (step, offset, counter) = (step.max(1), offset.max(1), &self.shared.counter);
        loop {
            let used = counter.used.load(Acquire);
            let first = if used > most { None } else { next_values(used, 1, step, offset) };
            let Some((first, _)) = first.filter(|(first, _)| *first < u64::MAX) else { return Ok(None) };
            let last = first.saturating_add((count.max(1) - 1).saturating_mul(step)).min(most).min(u64::MAX - 1);
            if last > counter.persisted.load(Acquire) {
                self.shared.persist_counter(last)?;
            }
            if counter.used.compare_exchange(used, last.max(used), AcqRel, Relaxed).is_ok() {
                return Ok(Some(first));
            }
        }
    }

    /// Notes that `used` is in use: later reservations are greater. For explicit values in INSERT.
    pub fn counter_raise(&self, used: u64) -> Result<()> {
        let counter = &self.shared.counter;
        if used <= counter.used.load(Acquire) {
            return Ok(());
        }
        if used > counter.persisted.load(Acquire) {
            self.shared.persist_counter(used)?;
        }
        counter.used.fetch_max(used, AcqRel);
        Ok(())
    }

    /// Sets the counter so that the next value (step 1) is `next`, also downwards: ALTER TABLE, TRUNCATE. The caller's
    /// metadata lock keeps reservations away.
    pub fn counter_reset(&self, next: u64) -> Result<()> {
        let used = next.saturating_sub(1);
        self.shared.change_record(|r| r.counter = used)?;
        self.shared.counter.persisted.store(used, Release);
        self.shared.counter.used.store(used, Release);
        Ok(())
    }

    /// The next value (step 1): SHOW TABLE STATUS.
    pub fn counter_next(&self) -> u64 {
        self.shared.counter.used.load(Acquire).saturating_add(1)
    }
}

/// First and last of `count` values `offset + k * step` above `used`.
fn next_values(used: u64, count: u64, step: u64, offset: u64) -> Option<(u64, u64)> {
    let first = match used.checked_sub(offset) {
        None => offset,
        Some(beyond) => offset.checked_add((beyond / step).checked_add(1)?.checked_mul(step)?)?,
    };
    Some((first, first.checked_add((count - 1).checked_mul(step)?)?))
}

/// All trees in use.
pub(crate) struct Trees {
    map: RwLock<HashMap<TreeId, Arc<TreeShared>>>,
    /// Set when the store is open.
    table: Arc<OnceLock<Tree>>,
    locks: Arc<LockTable>,
    /// Opening and creating: one at a time.
    opening: Mutex<()>,
    /// Trees with a page that cannot be used, and which.
    damaged: Arc<Mutex<HashMap<TreeId, Damage>>>,
}

impl Trees {
    pub(crate) fn new(locks: Arc<LockTable>) -> Self {
        let (map, table, damaged) = Default::default();
        Trees { map: RwLock::new(map), table: Arc::new(table), locks, opening: Mutex::new(()), damaged }
    }

    /// Makes the tree table of a new store, or opens that of an old one.
    pub(crate) fn open_table(&self, pool: &Arc<Pool>) -> Result<()> {
        let root = meta::read_u64(pool, meta::PAGE, meta::TREE_TABLE as usize)?;
        let table = match root {
            0 => {
                let tree = Tree::create(pool)?;
                meta::write_u64(pool, meta::TREE_TABLE, tree.id().0)?;
                tree
            }
            id => Tree::open(pool.clone(), TreeId(id)),
        };
        let _ = self.table.set(table);
        Ok(())
    }

    fn table(&self) -> Result<&Tree> {
        self.table.get().ok_or(EngineError::ShutDown)
    }

    /// Bars a tree from use because of a damaged page; `None` lets it be used again.
    pub(crate) fn set_damage(&self, id: TreeId, damage: Option<Damage>) {
        let barred = damage.is_some();
        match damage {
            Some(damage) => drop(self.damaged.lock().insert(id, damage)),
            None => drop(self.damaged.lock().remove(&id)),
        }
        // A tree that is opened meanwhile has looked before: it is entered, or will be, under this lock.
        let _one = self.opening.lock();
        if let Some(tree) = self.map.read().get(&id) {
            tree.bar(DAMAGED, barred);
        }
    }

    /// The tree table's own number.
    pub(crate) fn table_id(&self) -> Result<TreeId> {
        Ok(self.table()?.id())
    }

    /// Numbers of all trees, ascending.
    pub(crate) fn all(&self) -> Result<Vec<TreeId>> {
        let (mut cursor, mut all) = (self.table()?.cursor(), Vec::new());
        cursor.set_range(None, None);
        while cursor.next()? {
            let id = cursor.key().first_chunk().map(|b| TreeId(u64::from_be_bytes(*b)));
            all.push(id.ok_or_else(|| corrupt(meta::PAGE, "key of the tree table"))?);
        }
        Ok(all)
    }

    fn shared(&self, id: TreeId, record: TableRecord, maker: TrxId) -> Result<Arc<TreeShared>> {
        let tree = Tree::open(self.table()?.pool().clone(), id);
        let counter = Counter {
            used: CachePadded::new(AtomicU64::new(record.counter)),
            persisted: AtomicU64::new(record.counter),
            ahead: AtomicU64::new(0),
            last_ns: AtomicU64::new(0),
        };
        let damaged = if self.damaged.lock().contains_key(&id) { DAMAGED } else { 0 };
        Ok(Arc::new(TreeShared {
            id,
            kind: record.kind,
            tree,
            locks: self.locks.tree(id),
            barred: AtomicU8::new(damaged | if maker.is_zero() { 0 } else { YOUNG }),
            maker,
            damaged: self.damaged.clone(),
            counter,
            rows: std::array::from_fn(|_| CachePadded::new(AtomicI64::new(0))),
            rows_at_open: AtomicI64::new(record.rows as i64),
            uses: Uses::new(),
            apart: AtomicBool::new(false),
            table: self.table.clone(),
        }))
    }

    /// The tree, from the table if it is not in use yet. `None` when there is none.
    pub(crate) fn get(&self, id: TreeId) -> Result<Option<Arc<TreeShared>>> {
        if let Some(tree) = self.map.read().get(&id) {
            return Ok(Some(tree.clone()));
        }
        let mut value = Vec::new();
        if !self.table()?.lookup(&id.0.to_be_bytes(), &mut value)? {
            return Ok(None);
        }
        let record = TableRecord::decode(&value).ok_or_else(|| {
            corrupt(self.table.get().map_or(TreeId::ZERO, Tree::id).root(), "record of the tree table")
        })?;
        let _one = self.opening.lock();
        let made = self.shared(id, record, TrxId::ZERO)?;
        Ok(Some(self.map.write().entry(id).or_insert(made).clone()))
    }

    /// Enters a tree that the transaction `maker` has just created.
    pub(crate) fn insert(&self, id: TreeId, kind: TreeKind, maker: TrxId) -> Result<Arc<TreeShared>> {
        let record = TableRecord { kind, counter: 0, rows: 0 };
        self.table()?.put(&id.0.to_be_bytes(), &record.encode())?;
        let made = self.shared(id, record, maker)?;
        self.map.write().insert(id, made.clone());
        Ok(made)
    }

    /// Takes a tree out that is about to be freed. Repeating it is harmless.
    pub(crate) fn remove(&self, id: TreeId) -> Result<()> {
        if let Some(tree) = self.map.write().remove(&id) {
            tree.set_gone(true);
        }
        // The number may be another tree's soon.
        self.damaged.lock().remove(&id);
        self.table()?.delete(&id.0.to_be_bytes())?;
        Ok(())
    }

    /// Writes counts and exact counters of the trees in use into the table. `exact`: no session reserves values any
    /// more. `make_room` is called before each tree: where no checkpointer runs, these writes must not fill the log.
    pub(crate) fn save(&self, exact: bool, make_room: impl Fn() -> Result<()>) -> Result<()> {
        let trees: Vec<_> = self.map.read().values().cloned().collect();
        for tree in trees.iter().filter(|t| t.barred.load(Acquire) & GONE == 0) {
            make_room()?;
            let (rows, used) = (tree.rows(), tree.counter.used.load(Acquire));
            let saved = tree.change_record(|r| {
                r.rows = rows;
                if exact {
                    r.counter = used;
                }
            });
            match saved {
                Ok(()) | Err(EngineError::NoSuchTree(_)) => {}
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }
}

/// Counts a table whose trees are opened.
pub fn note_open_table() {
    count(gannet_telemetry::Counter::TableHandlesOpened);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_keep_their_form() {
        assert_eq!(next_values(0, 1, 1, 1), Some((1, 1)));
        assert_eq!(next_values(7, 3, 1, 1), Some((8, 10)));
        assert_eq!(next_values(0, 2, 10, 5), Some((5, 15)));
        assert_eq!(next_values(5, 2, 10, 5), Some((15, 25)));
        assert_eq!(next_values(14, 1, 10, 5), Some((15, 15)));
        assert_eq!(next_values(u64::MAX - 1, 1, 1, 1), Some((u64::MAX, u64::MAX)));
        assert_eq!(next_values(u64::MAX, 1, 1, 1), None);
        assert_eq!(next_values(u64::MAX - 1, 2, 1, 1), None);
    }

    #[test]
    fn table_record_round_trips() {
        let r = TableRecord { kind: TreeKind::Index, counter: 7, rows: 9 };
        assert_eq!(TableRecord::decode(&r.encode()), Some(r));
        assert_eq!(TableRecord::decode(&[9; RECORD]), None);
        assert_eq!(TableRecord::decode(&[0; 5]), None);
    }
}
