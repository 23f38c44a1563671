//! Readers that several tasks use together, all at one statement's snapshot.

use std::sync::Arc;

use crate::scan::{Entry, Scan};
use crate::snapshot::CellId;
use crate::trxtable::View;
use crate::{Engine, EngineError, KeyRange, Lsn, ReadMode, Result, ScanOptions, TreeHandle, TreeKind, TrxId, Txn};

/// What a transaction's plain reads see now, for any number of tasks: its own changes, and what was committed at the
/// statement's snapshot. It keeps that snapshot from purge for as long as a copy of it exists.
///
/// The transaction must not change anything while a reader is used: its scans would see a part of that.
#[derive(Clone, Debug)]
pub struct SnapshotReader(Arc<Pinned>);

struct Pinned {
    engine: Engine,
    /// Holds the snapshot beside the transaction's own cell.
    cell: CellId,
    own: TrxId,
    /// [`ReadMode::Snapshot`], or at READ UNCOMMITTED [`ReadMode::Newest`].
    mode: ReadMode,
    view: View,
    /// The newest change of others that the transaction wrote over.
    overwrote: Lsn,
}

impl std::fmt::Debug for Pinned {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pinned").field("own", &self.own).field("view", &self.view).finish_non_exhaustive()
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        self.engine.store.snapshots.give(self.cell);
    }
}

impl Pinned {
    /// Without a snapshot yet.
    fn new(txn: &Txn, mode: ReadMode) -> Result<Pinned> {
        let engine = txn.engine.clone();
        let cell = engine.store.snapshots.take().ok_or(EngineError::TooManyTransactions)?;
        Ok(Pinned { engine, cell, own: txn.own_id(), mode, view: View::default(), overwrote: txn.overwrote })
    }
}

impl Txn {
    /// A reader at this statement's snapshot; `None` where plain reads lock rows (SERIALIZABLE).
    pub fn snapshot_reader(&mut self) -> Result<Option<SnapshotReader>> {
        self.check_active()?;
        let mode = self.effective(ReadMode::Snapshot);
        let view = match mode {
            ReadMode::Snapshot => self.view(),
            ReadMode::Newest => View::default(),
            ReadMode::Locking { .. } => return Ok(None),
        };
        let mut pinned = Pinned::new(self, mode)?;
        if mode == ReadMode::Snapshot {
            pinned.view = view;
            self.engine.store.snapshots.share(pinned.cell, view.at);
        }
        Ok(Some(SnapshotReader(Arc::new(pinned))))
    }
}

impl SnapshotReader {
    /// A reader of a transaction's own changes and of what is committed now, whatever its isolation level and its
    /// snapshot: for what is made of all rows and stays when the transaction has ended. All transactions that have
    /// ended before are seen, and none that goes on; one that a crash has left unfinished does so until it is rolled
    /// back, though no session holds its locks.
    ///
    /// `uncommitted`: the newest versions are read, whoever has made them.
    pub fn of_now(txn: &Txn, uncommitted: bool) -> Result<SnapshotReader> {
        txn.check_active()?;
        if uncommitted {
            return Ok(SnapshotReader(Arc::new(Pinned::new(txn, ReadMode::Newest)?)));
        }
        let store = &*txn.engine.store;
        store.log.wait_commit(store.log.tail_lsn())?;
        let mut pinned = Pinned::new(txn, ReadMode::Snapshot)?;
        let at = store.snapshots.open(pinned.cell, || store.log.horizon());
        store.snapshots.set_shared(pinned.cell);
        pinned.view = store.trx.view(at);
        Ok(SnapshotReader(Arc::new(pinned)))
    }

    /// Whether scans of this tree give what the transaction sees. Not those of an index when the transaction has
    /// written over rows that others changed after its snapshot: see [`Scan::must_verify`].
    pub fn reads(&self, tree: &TreeHandle) -> bool {
        tree.kind() == TreeKind::Row || self.0.mode != ReadMode::Snapshot || self.0.overwrote <= self.0.view.at
    }

    /// The engine that it reads.
    pub fn engine(&self) -> &Engine {
        &self.0.engine
    }

    /// The changes of transaction `trx` are those of a snapshot before this one: it has ended.
    pub fn sees(&self, trx: TrxId) -> bool {
        self.0.engine.store.trx.visible(trx, self.0.view)
    }

    /// Keys in ascending order that part a tree in at most `parts` of about equal size; fewer where it is small.
    pub fn cuts(&self, tree: &TreeHandle, parts: usize) -> Result<Vec<Vec<u8>>> {
        let key = |i: usize| self.0.engine.key_at(tree, i as f64 / parts as f64);
        let mut cuts = (1..parts).map(key).collect::<Result<Vec<_>>>()?;
        cuts.retain(|key| !key.is_empty());
        cuts.sort_unstable();
        cuts.dedup();
        Ok(cuts)
    }

    /// Opens a scan of a tree for which [`reads`](Self::reads) holds; the bounds are as those of [`Txn::scan`].
    pub fn scan(&self, tree: &TreeHandle, range: KeyRange<'_>, options: ScanOptions) -> Result<SnapshotScan> {
        gannet_base::check!(self.reads(tree), "a reader is asked for an index whose entries are candidates only");
        let pinned = &*self.0;
        let scan = Scan::plain(tree, range, options, pinned.mode, (&pinned.engine.store, pinned.own, pinned.view))?;
        Ok(SnapshotScan { scan, reader: self.clone() })
    }
}

/// A scan of a [`SnapshotReader`], for one task. [`ScanOptions::mode`] does not count.
#[derive(Debug)]
pub struct SnapshotScan {
    scan: Scan,
    reader: SnapshotReader,
}

impl SnapshotScan {
    /// The next visible entry, or `None` at the end.
    pub fn next(&mut self) -> Result<Option<Entry<'_>>> {
        let pinned = &*self.reader.0;
        self.scan.next_of(&pinned.engine.store, pinned.own)
    }
}
