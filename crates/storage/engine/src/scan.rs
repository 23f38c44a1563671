//! Range scans.

use gannet_btree::Cursor;
use gannet_lock::{Cut as LockCut, Mode, Wait};
use gannet_telemetry::Counter;

use crate::index::{EntryState, bad_entry, entry_state, split_key, split_value};
use crate::range::{bounds, is_beyond_all, write_bound};
use crate::read::{check_at, complete, load_older, newest, no_header, visible_version};
use crate::row::{ROW_HEADER, RowHeader};
use crate::rows::stamp_of;
use crate::store::{Store, Whose};
use crate::trxtable::View;
use crate::uses::Use;
use crate::waiting::LockWait;
use crate::{
    Cut, Direction, EngineError, Isolation, KeyRange, LockMode, Lsn, ReadMode, Result, RowBuf, RowStamp, ScanOptions,
    TreeHandle, TreeKind, TrxId, Txn, WaitPolicy,
};

/// One visible entry of a scan; valid until the next call.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'a> {
    /// The key: of a row tree as stored; of an index tree the columns (without the engine's stamp).
    pub key: &'a [u8],
    /// The row, or an index entry's carried bytes.
    pub value: &'a [u8],
    /// The version, for [`Txn::update_if`] (row trees).
    pub stamp: RowStamp,
    /// Another has locked the row: this is the version committed at the statement's snapshot, and nothing is locked.
    /// Only of scans that are [semi-consistent](ScanOptions::semi_consistent).
    pub blocked: bool,
}

/// A scan in progress. Holds private copies only: no latch and no borrow of the transaction between calls, so several
/// scans and writes of one transaction may interleave. Under [`ReadMode::Snapshot`] it returns the state at the
/// statement's snapshot, with the transaction's own changes up to the moment the leaf was copied; a statement that
/// changes the keys it scans must collect them first. A locking scan sees each row as it is when it is locked.
pub struct Scan {
    tree: TreeHandle,
    cursor: Cursor,
    mode: ReadMode,
    forward: bool,
    /// The snapshot, zero for other modes.
    view: View,
    /// A transaction that it sees: that of the last entry, which is mostly the next one's too.
    sees: TrxId,
    /// A version that differs from what the leaf has.
    buf: RowBuf,
    /// The leaf whose older versions were read ahead.
    ahead_of: u64,
    locking: Option<Box<Locking>>,
    /// See [`Scan::must_verify`].
    verify: bool,
    /// Then: the key last returned.
    last: Vec<u8>,
    done: bool,
    /// Entries that were read and are not counted yet.
    uncounted: u64,
    /// What they count as.
    counts_as: Option<Use>,
}

/// So many entries are counted at once at most.
const COUNTED: u64 = 256;

impl Drop for Scan {
    fn drop(&mut self) {
        self.count_read();
    }
}

impl std::fmt::Debug for Scan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Scan").field("tree", &self.tree).field("mode", &self.mode).finish_non_exhaustive()
    }
}

/// How many rows a scan locks one by one before it folds them into intervals: performance_schema.data_locks shows
/// them as rows. Few where assertions are on, for the sake of tests.
const ONE_BY_ONE: usize = if cfg!(debug_assertions) { 2 } else { 256 };

/// A locking scan's place. 'Boundary' is the entry last returned (or skipped because it was locked).
struct Locking {
    mode: LockMode,
    policy: WaitPolicy,
    unique_equality: bool,
    /// Bounds as byte strings: from `lower` on, below `upper`; `None` is open.
    lower: Option<Vec<u8>>,
    upper: Option<Vec<u8>>,
    /// Row trees: the key that ends the range exactly, if the far cut lies at a key.
    exact_end: Option<Vec<u8>>,
    /// Row trees: the key that begins the range exactly.
    exact_start: Option<Vec<u8>>,
    /// Gaps are locked.
    gaps: bool,
    /// Key in the tree of the boundary; `None` at the start.
    passed: Option<Vec<u8>>,
    /// Lock name of the boundary, or of the neighbour outside of the range; `None` = none, the end of the tree.
    edge: Option<Vec<u8>>,
    /// The cursor is where [`Scan::find`] has put it for this boundary.
    looked: bool,
    /// The boundary is locked by this scan. The gap lock behind it then begins before the boundary's key, so that the
    /// gap locks of a scan are one interval. (No other transaction can insert at a key whose record is locked, so
    /// this makes no difference to others.)
    edge_locked: bool,
    /// The candidate whose gap and record are locked; the buffer for the next one's name.
    prepared: Option<Vec<u8>>,
    spare: Vec<u8>,
    /// The gap up to this entry beyond the range (`Some(None)`: up to the end) is locked.
    closed: Option<Option<Vec<u8>>>,
    /// Whether this scan took the candidate's record lock, and what was held before.
    fresh: Option<Option<Mode>>,
    /// Rows locked so far.
    locked: usize,
    key: Vec<u8>,
    /// See [`ScanOptions::semi_consistent`].
    semi: bool,
    /// The boundary before the entry last returned, when that was blocked.
    back: Option<(Option<Vec<u8>>, Option<Vec<u8>>)>,
    /// The next entry is waited for.
    insist: bool,
}

/// Where the entry to be returned lies.
enum Source {
    Leaf {
        stamp: RowStamp,
    },
    /// An index entry there, whose name and deleter are so long.
    Entry {
        name: usize,
        deleter: usize,
    },
    Buffer,
}

impl Locking {
    /// Without a range yet.
    fn new(mode: LockMode, policy: WaitPolicy) -> Locking {
        Locking {
            mode,
            policy,
            unique_equality: false,
            lower: None,
            upper: None,
            exact_end: None,
            exact_start: None,
            gaps: false,
            passed: None,
            edge: None,
            looked: false,
            edge_locked: false,
            prepared: None,
            spare: Vec::new(),
            closed: None,
            fresh: None,
            locked: 0,
            key: Vec::new(),
            semi: false,
            back: None,
            insist: false,
        }
    }

    /// Begins with a range: its bounds, and the keys that begin and end it exactly.
    fn begin(
        &mut self,
        (lower, upper): (Option<Vec<u8>>, Option<Vec<u8>>),
        (exact_start, exact_end): (Option<Vec<u8>>, Option<Vec<u8>>),
    ) {
        (self.lower, self.upper, self.exact_start, self.exact_end) = (lower, upper, exact_start, exact_end);
        (self.passed, self.edge, self.edge_locked, self.looked) = (None, None, false, false);
        (self.prepared, self.closed, self.fresh, self.back, self.insist) = (None, None, None, None, false);
        self.locked = 0;
    }
}

impl Scan {
    pub(crate) fn open(txn: &mut Txn, tree: &TreeHandle, range: KeyRange<'_>, options: ScanOptions) -> Result<Scan> {
        txn.check_active()?;
        let mut scan = Scan::new(tree, options, txn.effective(options.mode));
        if let ReadMode::Locking { mode, wait } = scan.mode {
            scan.cursor.set_single();
            let mut locking = Box::new(Locking::new(mode, wait));
            locking.unique_equality = options.unique_equality;
            locking.gaps = txn.options.isolation >= Isolation::RepeatableRead;
            locking.semi = options.semi_consistent
                && wait == WaitPolicy::Wait
                && tree.kind() == TreeKind::Row
                && txn.options.isolation <= Isolation::ReadCommitted;
            scan.locking = Some(locking);
        }
        scan.begin(txn, range)?;
        Ok(scan)
    }

    /// Begins anew, with another range: cheaper than another scan, most of all where the range lies in the leaf that
    /// was read last.
    pub fn restart(&mut self, txn: &mut Txn, range: KeyRange<'_>) -> Result<()> {
        txn.check_active()?;
        self.begin(txn, range)
    }

    fn begin(&mut self, txn: &mut Txn, range: KeyRange<'_>) -> Result<()> {
        let snapshot = self.mode == ReadMode::Snapshot;
        let view = if snapshot { txn.view() } else { View::default() };
        self.verify = snapshot && self.tree.kind() == TreeKind::Index && txn.overwrote > view.at;
        self.set(range, (&txn.engine.store, txn.own_id(), view))
    }

    /// A scan that locks nothing, at its start.
    pub(crate) fn plain(
        tree: &TreeHandle,
        range: KeyRange<'_>,
        options: ScanOptions,
        mode: ReadMode,
        by: (&Store, TrxId, View),
    ) -> Result<Scan> {
        let mut scan = Scan::new(tree, options, mode);
        scan.set(range, by)?;
        Ok(scan)
    }

    /// Without a range yet.
    fn new(tree: &TreeHandle, options: ScanOptions, mode: ReadMode) -> Scan {
        let mut cursor = tree.shared.tree.cursor();
        cursor.set_scan(options.sequential);
        Scan {
            tree: tree.clone(),
            cursor,
            mode,
            forward: options.direction == Direction::Forward,
            view: View::default(),
            sees: TrxId(0),
            buf: RowBuf::new(),
            ahead_of: 0,
            locking: None,
            verify: false,
            last: Vec::new(),
            done: false,
            uncounted: 0,
            counts_as: match options {
                ScanOptions { unseen: true, .. } => None,
                ScanOptions { whole: true, .. } => Some(Use::Scanned),
                _ => Some(Use::Read),
            },
        }
    }

    /// Goes to the start of a range.
    fn set(&mut self, range: KeyRange<'_>, (store, own, view): (&Store, TrxId, View)) -> Result<()> {
        match self.mode {
            ReadMode::Snapshot => check_at(&self.tree, self.tree.kind(), (store, own, view))?,
            ReadMode::Newest | ReadMode::Locking { .. } => self.tree.check(self.tree.kind())?,
        }
        (self.view, self.sees) = (view, TrxId(0));
        self.last.clear();
        self.done = is_beyond_all(range);
        if self.done {
            return Ok(());
        }
        self.cursor.set_range_by(|out| write_bound(range.lower, out), |out| write_bound(range.upper, out));
        self.done = self.cursor.is_at_end();
        if let Some(l) = &mut self.locking {
            let row = self.tree.kind() == TreeKind::Row;
            let before = if let Cut::Before(k) = range.lower { row.then(|| k.to_vec()) } else { None };
            let after = if let Cut::After(k) = range.upper { row.then(|| k.to_vec()) } else { None };
            l.begin(bounds(range).unwrap_or_default(), if self.forward { (before, after) } else { (after, before) });
        }
        Ok(())
    }

    /// [`Scan::next`] of a scan that locks nothing.
    pub(crate) fn next_of<'a>(&'a mut self, store: &Store, own: TrxId) -> Result<Option<Entry<'a>>> {
        if self.done {
            return Ok(None);
        }
        let Some(source) = self.next_plain(store, own)? else {
            self.done = true;
            return Ok(None);
        };
        self.count_one();
        Ok(Some(self.entry(source)))
    }

    /// True when the entries of this index scan are candidates only: read each row by its primary key and check that
    /// the row's columns still make the entry's key. Covering does not work then.
    ///
    /// So it is when the transaction has written over rows that others changed after its snapshot. What it sees of such
    /// a row is its own version, whatever the snapshot says; but index entries made and ended by the others say nothing
    /// of that. (The transaction would see its row under a key it had at the snapshot, or not under the key it has.)
    pub fn must_verify(&self) -> bool {
        self.verify
    }

    /// The next visible entry, or `None` at the end. Locks it first when the scan locks.
    pub fn next<'a>(&'a mut self, txn: &mut Txn) -> Result<Option<Entry<'a>>> {
        if self.done {
            return Ok(None);
        }
        txn.check_active()?;
        let source = match self.locking {
            Some(_) => match self.next_locking(txn) {
                Ok(found) => found.then_some(Source::Buffer),
                Err(e) => return Err(txn.failed(e)),
            },
            None => self.next_plain(&txn.engine.store, txn.own_id())?,
        };
        let Some(source) = source else {
            self.done = true;
            return Ok(None);
        };
        self.count_one();
        Ok(Some(self.entry(source)))
    }

    /// The row of [`Scan::next`]'s entry, of a scan of a row tree: cheaper where a leaf has many.
    #[inline]
    pub fn next_row<'a>(&'a mut self, txn: &mut Txn) -> Result<Option<&'a [u8]>> {
        if self.locking.is_some() || !self.forward || self.tree.kind() != TreeKind::Row {
            return Ok(self.next(txn)?.map(|entry| entry.value));
        }
        while self.cursor.advance() {
            match self.is_settled(txn.own_id()) {
                Some(true) => {
                    self.count_one();
                    return Ok(Some(self.cursor.value().get(ROW_HEADER..).unwrap_or(&[])));
                }
                Some(false) => {}
                None => match self.plain_row(&txn.engine.store, txn.own_id())? {
                    None => {}
                    Some(source) => {
                        self.count_one();
                        let entry = if let Source::Buffer = source { &self.buf.entry[..] } else { self.cursor.value() };
                        return Ok(Some(entry.get(ROW_HEADER..).unwrap_or(&[])));
                    }
                },
            }
        }
        Ok(self.next(txn)?.map(|entry| entry.value))
    }

    /// Whether the version under the cursor is a row: told for those that every reader with this view sees, whole as
    /// they are in the leaf.
    #[inline]
    fn is_settled(&self, own: TrxId) -> Option<bool> {
        let h = RowHeader::decode(self.cursor.value())?;
        let seen = (h.writer < self.view.settled || h.writer == own) && !h.flags.overflow();
        seen.then(|| !h.flags.deleted())
    }

    #[inline]
    fn count_one(&mut self) {
        self.uncounted += 1;
        if self.uncounted == COUNTED {
            self.count_read();
        }
    }

    fn count_read(&mut self) {
        let n = std::mem::take(&mut self.uncounted);
        if let Some(counts_as) = self.counts_as
            && n > 0
        {
            self.tree.shared.count_among_all(Counter::InnodbRowsRead, n);
            self.tree.shared.uses.add(counts_as, n);
        }
    }

    fn entry(&self, source: Source) -> Entry<'_> {
        let key = match &self.locking {
            Some(l) => &l.key[..],
            None => self.cursor.key(),
        };
        let (value, stamp) = match source {
            Source::Entry { name, deleter } => {
                let (key, value) = (&key[..name], &self.cursor.value()[deleter..]);
                return Entry { key, value, stamp: RowStamp::default(), blocked: false };
            }
            Source::Leaf { stamp } => (self.cursor.value(), stamp),
            Source::Buffer => (&self.buf.entry[..], self.buf.stamp()),
        };
        let blocked = self.locking.as_ref().is_some_and(|l| l.back.is_some());
        match self.tree.kind() {
            TreeKind::Row => Entry { key, value: value.get(ROW_HEADER..).unwrap_or(&[]), stamp, blocked },
            TreeKind::Index => {
                let name = split_key(key).map_or(key, |k| k.0);
                let carried = split_value(value).map_or(value, |v| v.1);
                Entry { key: name, value: carried, stamp: RowStamp::default(), blocked }
            }
        }
    }

    fn step(&mut self) -> Result<bool> {
        Ok(if self.forward { self.cursor.next()? } else { self.cursor.prev()? })
    }

    fn next_plain(&mut self, store: &Store, own: TrxId) -> Result<Option<Source>> {
        while self.step()? {
            let found = match self.tree.kind() {
                TreeKind::Row => self.plain_row(store, own)?,
                TreeKind::Index => self.plain_entry(store, own)?,
            };
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    fn plain_row(&mut self, store: &Store, own: TrxId) -> Result<Option<Source>> {
        let tree = &*self.tree.shared;
        let value = self.cursor.value();
        let h = RowHeader::decode(value).ok_or_else(|| no_header(tree))?;
        if self.mode == ReadMode::Newest || h.writer == own || store.trx.visible(h.writer, self.view) {
            if h.flags.deleted() {
                return Ok(None);
            }
            if !h.flags.overflow() {
                return Ok(Some(Source::Leaf { stamp: stamp_of(h) }));
            }
            if self.mode == ReadMode::Newest {
                // Nothing keeps the chain of a copy that is not a snapshot's: read the row as it is now.
                self.cursor.assemble_key();
                let found = newest(tree, self.cursor.key(), &mut self.buf)?;
                return Ok((found == crate::Read::Found).then_some(Source::Buffer));
            }
        }
        if self.ahead_of != self.cursor.leaves() && !store.pool.is_resident(h.undo.page()) {
            self.ahead_of = self.cursor.leaves();
            load_older(store, own, self.view, self.cursor.values_ahead(self.forward));
        }
        self.buf.entry.clear();
        self.buf.entry.extend_from_slice(value);
        if !visible_version(store, tree, own, self.view, &mut self.buf.entry)? {
            return Ok(None);
        }
        complete(tree, &mut self.buf.entry)?;
        Ok(Some(Source::Buffer))
    }

    fn plain_entry(&mut self, store: &Store, own: TrxId) -> Result<Option<Source>> {
        let bad = || bad_entry(&self.tree.shared);
        let (key, value) = (self.cursor.key(), self.cursor.value());
        let (name, inserter) = split_key(key).ok_or_else(bad)?;
        let (deleter, carried) = split_value(value).ok_or_else(bad)?;
        let source = Source::Entry { name: name.len(), deleter: value.len() - carried.len() };
        if self.verify {
            let new = self.last != name;
            name.clone_into(&mut self.last);
            return Ok(new.then_some(source));
        }
        if self.mode == ReadMode::Newest {
            return Ok(deleter.is_zero().then_some(source));
        }
        let visible = |trx: TrxId| trx == own || store.trx.visible(trx, self.view);
        if inserter != self.sees {
            if !visible(inserter) {
                return Ok(None);
            }
            self.sees = inserter;
        }
        Ok((deleter.is_zero() || !visible(deleter)).then_some(source))
    }

    /// At READ COMMITTED and below: releases the lock of the entry last returned, for a row that did not match.
    /// Without effect at higher levels and when the lock was held before.
    pub fn unlock_row(&mut self, txn: &mut Txn) {
        if let Some(l) = &mut self.locking
            && let Some(before) = l.fresh.take()
            && txn.options.isolation <= Isolation::ReadCommitted
        {
            let name = lock_name(self.tree.kind(), &l.key);
            txn.owner.unlock_record(&self.tree.shared.locks, name, before);
        }
    }
}

impl Scan {
    /// Called after a [blocked](Entry::blocked) entry: the next call of [`Scan::next`] returns to it and waits for
    /// its lock.
    pub fn insist(&mut self) {
        if let Some(l) = &mut self.locking
            && let Some((passed, edge)) = l.back.take()
        {
            (l.passed, l.edge, l.insist, l.looked) = (passed, edge, true, false);
        }
    }
}

/// A copy of bytes in a buffer that was used before.
fn copied(mut buffer: Vec<u8>, bytes: &[u8]) -> Vec<u8> {
    buffer.clear();
    buffer.extend_from_slice(bytes);
    buffer
}

/// What locks on an entry name: in index trees the key without the stamp.
fn lock_name(kind: TreeKind, key: &[u8]) -> &[u8] {
    match kind {
        TreeKind::Row => key,
        TreeKind::Index => split_key(key).map_or(key, |k| k.0),
    }
}

/// What the next entry that is not dead is, beyond the boundary.
enum Candidate {
    /// In the range, under the cursor.
    Inside(EntryState),
    /// The first beyond the range, under the cursor.
    Beyond,
    /// The tree ends.
    End,
}

// Locking scans. For each entry: lock the gap before it and the record, then look again from the boundary on. If the
// same entry is still first, nothing was inserted before the gap lock was seen, and the record cannot change any
// more.
impl Scan {
    fn next_locking(&mut self, txn: &mut Txn) -> Result<bool> {
        let Some(mut l) = self.locking.take() else { return Ok(false) };
        let result = self.lock_next(txn, &mut l);
        if result.is_err() {
            self.drop_candidate(txn, &mut l);
        }
        self.locking = Some(l);
        result
    }

    /// Releases the record lock of a candidate that is not returned.
    fn drop_candidate(&self, txn: &mut Txn, l: &mut Locking) {
        if let Some(name) = l.prepared.take()
            && let Some(before) = l.fresh.take()
        {
            txn.owner.unlock_record(&self.tree.shared.locks, &name, before);
        }
    }

    fn lock_next(&mut self, txn: &mut Txn, l: &mut Locking) -> Result<bool> {
        let wait = LockWait::new(txn.options.lock_wait_timeout);
        let left =
            |l: &Locking| if l.policy == WaitPolicy::Wait && (!l.semi || l.insist) { wait.left() } else { Wait::No };
        l.spare = l.prepared.take().unwrap_or_default();
        l.fresh = None;
        l.back = None;
        if self.ends_at(l) {
            return Ok(false);
        }
        if l.passed.is_none() && l.gaps && l.edge.is_none() {
            l.edge = self.outer_neighbour(l)?;
        }
        loop {
            match self.find(txn, l)? {
                Candidate::Inside(state) => {
                    let name = lock_name(self.tree.kind(), self.cursor.key());
                    if l.prepared.as_deref() != Some(name) {
                        self.drop_candidate(txn, l);
                        let name = copied(std::mem::take(&mut l.spare), name);
                        if !self.prepare(txn, l, name, state, left(l))? {
                            // Locked by another, and not to be waited for.
                            if self.pass(txn, l)? {
                                return Ok(true);
                            }
                        }
                        continue;
                    }
                    match state {
                        EntryState::Undecided(trx) => match txn.wait_trx(&self.tree, name, trx, left(l)) {
                            Ok(()) => {}
                            Err(EngineError::NoWait) if l.policy != WaitPolicy::NoWait => {
                                self.drop_candidate(txn, l);
                                if self.pass(txn, l)? {
                                    return Ok(true);
                                }
                            }
                            Err(e) => return Err(e),
                        },
                        EntryState::Live(lsn) => {
                            txn.seen = txn.seen.max(lsn);
                            self.accept(txn, l)?;
                            return Ok(true);
                        }
                        EntryState::Dead => {}
                    }
                }
                outside => {
                    self.drop_candidate(txn, l);
                    if self.close(txn, l, &outside) {
                        return Ok(false);
                    }
                }
            }
        }
    }

    /// Nothing can follow the entry last returned.
    fn ends_at(&self, l: &Locking) -> bool {
        match &l.passed {
            None => false,
            Some(passed) => l.unique_equality || l.exact_end.as_ref() == Some(passed),
        }
    }

    /// The entry just outside of the range on the side where the scan begins: there the first gap ends.
    fn outer_neighbour(&mut self, l: &Locking) -> Result<Option<Vec<u8>>> {
        let found = if self.forward {
            self.cursor.set_range(None, l.lower.as_deref());
            l.lower.is_some() && self.cursor.prev()?
        } else {
            self.cursor.set_range(l.upper.as_deref(), None);
            l.upper.is_some() && self.cursor.next()?
        };
        Ok(found.then(|| lock_name(self.tree.kind(), self.cursor.key()).to_vec()))
    }

    /// Puts the cursor on the first entry beyond the boundary that is not dead.
    fn find(&mut self, txn: &Txn, l: &mut Locking) -> Result<Candidate> {
        if l.looked && self.cursor.is_current() {
            // The entry that was found is still the first one; how its writer stands may have changed.
            match (self.state(txn.store(), txn.own_id())?, self.is_inside(l)) {
                (EntryState::Dead, _) => {}
                (_, false) => return Ok(Candidate::Beyond),
                (state, true) => return Ok(Candidate::Inside(state)),
            }
        }
        l.looked = true;
        match (self.forward, &l.passed) {
            (true, None) => self.cursor.set_range(l.lower.as_deref(), None),
            (true, Some(passed)) => {
                let after = |out: &mut Vec<u8>| {
                    out.extend_from_slice(passed);
                    out.push(0);
                    true
                };
                self.cursor.set_range_by(after, |_| false);
            }
            (false, None) => self.cursor.set_range(None, l.upper.as_deref()),
            (false, Some(passed)) => self.cursor.set_range(None, Some(passed)),
        }
        while self.step()? {
            let inside = self.is_inside(l);
            let state = self.state(txn.store(), txn.own_id())?;
            match (state, inside) {
                (EntryState::Dead, _) => {}
                (_, false) => return Ok(Candidate::Beyond),
                (state, true) => return Ok(Candidate::Inside(state)),
            }
        }
        Ok(Candidate::End)
    }

    /// The entry under the cursor lies in the range.
    fn is_inside(&self, l: &Locking) -> bool {
        let key = self.cursor.key();
        if self.forward {
            l.upper.as_deref().is_none_or(|u| key < u)
        } else {
            l.lower.as_deref().is_none_or(|low| key >= low)
        }
    }

    /// State of the entry under the cursor.
    fn state(&self, store: &Store, own: TrxId) -> Result<EntryState> {
        let tree = &*self.tree.shared;
        if self.tree.kind() == TreeKind::Index {
            let (_, inserter) = split_key(self.cursor.key()).ok_or_else(|| bad_entry(tree))?;
            let (deleter, _) = split_value(self.cursor.value()).ok_or_else(|| bad_entry(tree))?;
            return Ok(entry_state(store, own, inserter, deleter));
        }
        let h = RowHeader::decode(self.cursor.value()).ok_or_else(|| no_header(tree))?;
        Ok(match store.whose(own, h.writer) {
            Whose::Active(trx) => EntryState::Undecided(trx),
            _ if h.flags.deleted() => EntryState::Dead,
            Whose::Own => EntryState::Live(Lsn::ZERO),
            Whose::Committed(lsn) => EntryState::Live(lsn),
        })
    }

    /// True when the entry under the cursor was written by this transaction: its stamp is the lock.
    fn is_own(&self, own: TrxId) -> bool {
        let writer = match self.tree.kind() {
            TreeKind::Row => RowHeader::decode(self.cursor.value()).map(|h| h.writer),
            TreeKind::Index => split_key(self.cursor.key()).map(|k| k.1),
        };
        !own.is_zero() && writer == Some(own)
    }

    /// Locks the gap before the candidate and its record. False: locked by another, and not to be waited for.
    fn prepare(&self, txn: &mut Txn, l: &mut Locking, name: Vec<u8>, state: EntryState, wait: Wait) -> Result<bool> {
        let exact = l.passed.is_none() && l.exact_start.as_ref() == Some(&name);
        if l.gaps && !l.unique_equality && !exact {
            self.lock_gap(txn, l, Some(&name));
        }
        let own = self.is_own(txn.own_id()) && matches!(state, EntryState::Live(_));
        if !own {
            match txn.lock_key(&self.tree, &name, l.mode, wait) {
                Ok(granted) => l.fresh = Some(granted.before),
                Err(EngineError::NoWait) if l.policy != WaitPolicy::NoWait => return Ok(false),
                Err(e) => return Err(e),
            }
        }
        l.prepared = Some(name);
        Ok(true)
    }

    /// Locks the gap between the boundary and `to` (`None`: the end of the tree), in the scan's direction.
    fn lock_gap(&self, txn: &Txn, l: &Locking, to: Option<&[u8]>) {
        let edge = l.edge.as_deref();
        let (low, high) = match (self.forward, l.edge_locked) {
            (true, false) => (edge.map(LockCut::After), to.map(LockCut::Before)),
            (true, true) => (edge.map(LockCut::Before), to.map(LockCut::Before)),
            (false, false) => (to.map(LockCut::After), edge.map(LockCut::Before)),
            (false, true) => (to.map(LockCut::After), edge.map(LockCut::After)),
        };
        let (low, high) = (low.unwrap_or(LockCut::Min), high.unwrap_or(LockCut::Max));
        txn.owner.lock_gap(&self.tree.shared.locks, low, high);
    }

    /// Goes past the entry under the cursor, which another has locked. True: its committed version is the scan's
    /// result.
    fn pass(&mut self, txn: &mut Txn, l: &mut Locking) -> Result<bool> {
        if !l.semi {
            self.skip(l);
            return Ok(false);
        }
        let view = txn.view();
        let name = self.cursor.key().to_vec();
        // Read again: what this copy of the leaf refers to, the snapshot keeps.
        if !matches!(self.find(txn, l)?, Candidate::Inside(_)) || self.cursor.key() != name {
            // The entry is gone meanwhile: the caller looks again.
            return Ok(false);
        }
        self.buf.entry.clear();
        self.buf.entry.extend_from_slice(self.cursor.value());
        if !visible_version(&txn.engine.store, &self.tree.shared, txn.own_id(), view, &mut self.buf.entry)? {
            self.skip(l);
            return Ok(false);
        }
        complete(&self.tree.shared, &mut self.buf.entry)?;
        l.key.clear();
        l.key.extend_from_slice(&name);
        l.back = Some((l.passed.take(), l.edge.take()));
        self.skip(l);
        Ok(true)
    }

    /// Makes the entry under the cursor the boundary.
    fn skip(&self, l: &mut Locking) {
        (l.insist, l.looked) = (false, false);
        let key = self.cursor.key();
        l.passed = Some(copied(l.passed.take().unwrap_or_default(), key));
        l.edge = Some(copied(l.edge.take().unwrap_or_default(), lock_name(self.tree.kind(), key)));
        l.edge_locked = false;
    }

    /// Takes the entry under the cursor as the scan's result.
    fn accept(&mut self, txn: &Txn, l: &mut Locking) -> Result<()> {
        l.key.clear();
        l.key.extend_from_slice(self.cursor.key());
        self.buf.entry.clear();
        self.buf.entry.extend_from_slice(self.cursor.value());
        if self.tree.kind() == TreeKind::Row {
            complete(&self.tree.shared, &mut self.buf.entry)?;
        }
        self.fold(txn, l);
        self.skip(l);
        l.edge_locked = true;
        l.prepared = None;
        Ok(())
    }

    /// After the first rows, those between the last one and this are locked as an interval: there are only these two,
    /// and nothing can come between.
    fn fold(&self, txn: &Txn, l: &mut Locking) {
        l.locked += 1;
        if l.locked <= ONE_BY_ONE || !l.gaps || self.tree.kind() != TreeKind::Row || l.fresh != Some(None) {
            return;
        }
        let last = l.edge.as_deref().filter(|_| l.edge_locked).unwrap_or(&l.key);
        let (low, high) = if self.forward { (last, &l.key[..]) } else { (&l.key[..], last) };
        let cuts = (LockCut::Before(low), LockCut::After(high));
        txn.owner.fold_record(&self.tree.shared.locks, &l.key, l.mode.into(), cuts);
        l.fresh = None;
    }

    /// Locks the last gap, up to the entry beyond the range. True when that is done and nothing was inserted in
    /// between.
    fn close(&self, txn: &Txn, l: &mut Locking, outside: &Candidate) -> bool {
        if !l.gaps {
            return true;
        }
        let beyond = match outside {
            Candidate::Beyond => Some(lock_name(self.tree.kind(), self.cursor.key()).to_vec()),
            _ => None,
        };
        if l.closed.as_ref() == Some(&beyond) {
            return true;
        }
        self.lock_gap(txn, l, beyond.as_deref());
        l.closed = Some(beyond);
        false
    }
}
