//! The writing side of a transaction: its id, its place in an undo stream, the way back.

use gannet_base::sync::atomic::Ordering::Acquire;
use gannet_base::{Lsn, TreeId, TrxId};
use gannet_buffer::{Mtr, PageRef};
use gannet_page::PageOp;

use crate::Result;
use crate::consumer;
use crate::plant::{Fault, planted, undo_fails};
use crate::store::Store;
use crate::undo::record::{self, Body, UndoPtr};
use crate::undo::stream::{self, Tail};

/// Exists from a transaction's first write to its end.
pub(crate) struct Writer {
    pub(crate) id: TrxId,
    pub(crate) tail: Tail,
    /// Its begin record, none before the first record.
    pub(crate) begin: UndoPtr,
    /// Its last record that is not undone.
    pub(crate) last: UndoPtr,
    /// Records not undone.
    pub(crate) records: u64,
    /// Of these, those of rows.
    pub(crate) rows: u64,
    /// It committed together with its only record, at this LSN; zero: it has not.
    pub(crate) committed: Lsn,
    /// It may have created trees: when everything is undone they go as a whole, and not entry by entry.
    pub(crate) makes_trees: bool,
    /// It may drop trees.
    pub(crate) drops_trees: bool,
    /// These, as far as it dropped them in this run.
    pub(crate) drops: Vec<TreeId>,
}

impl Writer {
    pub(crate) fn new(id: TrxId, tail: Tail) -> Self {
        Writer {
            id,
            tail,
            begin: UndoPtr::NONE,
            last: UndoPtr::NONE,
            records: 0,
            rows: 0,
            committed: Lsn::ZERO,
            makes_trees: false,
            drops_trees: false,
            drops: Vec::new(),
        }
    }

    /// Encodes a record into `out` (with the begin record when it is the first) and says where it will lie; `None` when
    /// the stream needs another page first.
    pub(crate) fn stage(&self, tree: TreeId, body: &Body<'_>, out: &mut Vec<u8>) -> Option<UndoPtr> {
        out.clear();
        if self.begin.is_none() {
            Body::Begin { trx: self.id }.encode(TreeId::ZERO, UndoPtr::NONE, out);
        }
        let at = out.len();
        body.encode(tree, self.last, out);
        let fits = self.tail.fits(out.len());
        fits.then(|| UndoPtr::new(self.tail.page, self.tail.free + at, body.kind()))
    }

    /// Makes what was staged the whole of the transaction: its begin record says that it has committed. False when it
    /// has written before. The caller appends it, and then ends the mini-transaction with [`Writer::ended`].
    pub(crate) fn stage_end(&self, staged: &mut [u8]) -> bool {
        let whole = self.begin.is_none() && !planted(Fault::ReleaseEarly);
        if whole {
            staged[record::FLAGS_AT] = record::COMMITTED;
        }
        whole
    }

    /// The end is in the log at `lsn`, and about to be published.
    pub(crate) fn ended(&self, store: &Store, lsn: Lsn) {
        store.trx.end(self.id, lsn);
        self.note_end(lsn);
    }

    fn note_end(&self, lsn: Lsn) {
        self.tail.stream.note_end(self.id, lsn, self.drops_trees);
    }

    /// Writes what was staged; `page` is the tail's page.
    pub(crate) fn append(&mut self, mtr: &mut Mtr<'_>, page: PageRef, staged: &[u8], at: UndoPtr) {
        gannet_base::paranoid!(record::decode(staged).is_ok(), "an undo record that cannot be decoded");
        mtr.apply(page, &PageOp::Append { at: self.tail.free as u16, bytes: staged });
        if self.begin.is_none() {
            self.begin = UndoPtr::new(self.tail.page, self.tail.free, record::BEGIN);
        }
        self.tail.free += staged.len();
        self.last = at;
        self.records += 1;
        self.rows += u64::from(record::is_of_row(at.kind()));
    }

    /// Another page for the stream.
    pub(crate) fn extend(&mut self, store: &Store) -> Result<()> {
        let trx = (!self.begin.is_none()).then_some(self.id);
        store.streams.extend(&store.pool, &mut self.tail, trx)
    }

    /// Records the end (`state` of the begin record) and enters it in the transaction table: from then on the
    /// transaction has ended for all readers. Returns the end's LSN, zero when nothing was written.
    pub(crate) fn end(&self, store: &Store, state: u8) -> Result<Lsn> {
        self.end_behind(store, state, &[])
    }

    /// [`Writer::end`] right behind a record for the log's consumers, unless that is empty.
    pub(crate) fn end_behind(&self, store: &Store, state: u8, consumers: &[&[u8]]) -> Result<Lsn> {
        if self.begin.is_none() {
            store.trx.end(self.id, store.snapshots.oldest());
            return Ok(Lsn::ZERO);
        }
        if !self.committed.is_zero() {
            return Ok(self.committed);
        }
        if state == record::COMMITTED && undo_fails(self.begin) {
            return Err(crate::EngineError::DiskFull);
        }
        let early = planted(Fault::ReleaseEarly) && state == record::COMMITTED;
        if early {
            store.trx.end(self.id, store.log.tail_lsn());
            gannet_runtime::yield_now();
        }
        let lsn = store.pool.run(|| {
            let mut mtr = store.pool.mtr()?;
            let page = stream::latch(&mut mtr, self.begin)?;
            stream::set_flags(&mut mtr, page, self.begin, state);
            let at = |lsn| {
                if state == record::COMMITTED && !self.drops.is_empty() && store.losers.load(Acquire) > 0 {
                    store.purge.doomed.lock().extend(&self.drops);
                }
                if early { self.note_end(lsn) } else { self.ended(store, lsn) }
            };
            Ok(consumer::behind(store, consumers, mtr, at))
        })?;
        Ok(lsn)
    }
}
