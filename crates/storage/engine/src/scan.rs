//! Range scans.

mod locking;

use gannet_btree::Cursor;
use gannet_telemetry::Counter;

use crate::index::{bad_entry, split_key, split_value};
use crate::range::{is_beyond_all, write_bound};
use crate::read::{check_at, complete, load_older, newest, no_header, visible_version};
use crate::row::{ROW_HEADER, RowHeader};
use crate::rows::stamp_of;
use crate::store::Store;
use crate::trxtable::View;
use crate::uses::Use;
use crate::{
    Direction, Isolation, KeyRange, ReadMode, Result, RowBuf, RowStamp, ScanOptions, TreeHandle, TreeKind, TrxId, Txn,
    WaitPolicy,
};
use locking::{Locking, lock_name};

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
            l.begin(range, self.tree.kind(), self.forward);
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
            match is_settled(self.cursor.value(), self.view.settled, txn.own_id()) {
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

    /// Gives `take` the rows of [`Scan::next_row`] as long as they lie in the leaf that was read last, every reader
    /// with this view sees them as they are there, and `take` takes them: it leaves a row by returning false. Returns
    /// how many it took.
    #[inline]
    pub fn take_at_hand(&mut self, txn: &Txn, mut take: impl FnMut(&[u8]) -> bool) -> u64 {
        if self.locking.is_some() || !self.forward || self.tree.kind() != TreeKind::Row {
            return 0;
        }
        let (settled, own, mut taken) = (self.view.settled, txn.own_id(), 0);
        self.cursor.advance_while(|value| {
            let takes = is_settled(value, settled, own) == Some(true) && take(value.get(ROW_HEADER..).unwrap_or(&[]));
            taken += u64::from(takes);
            takes
        });
        self.uncounted += taken;
        if self.uncounted >= COUNTED {
            self.count_read();
        }
        taken
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

/// Whether a version is a row: told for those that every reader with a view settled up to there sees, whole as they
/// are in the leaf.
#[inline]
fn is_settled(value: &[u8], settled: TrxId, own: TrxId) -> Option<bool> {
    let h = RowHeader::decode(value)?;
    let seen = (h.writer < settled || h.writer == own) && !h.flags.overflow();
    seen.then(|| !h.flags.deleted())
}
