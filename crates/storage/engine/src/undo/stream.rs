//! Undo streams: chains of undo pages, each appended to by one transaction at a time.
//!
//! The directory of streams lies in meta pages (fixed places, see [`meta`](crate::meta)): 16 bytes a stream, `u64 first
//! page`, `u64 last page`. A stream is made when more transactions write at once than ever before; it stays for good.
//!
//! INV-UNDO-1: a stream's pages from first to last are linked both ways and belong to it; the directory changes with
//! the links. INV-UNDO-2: at most the last transaction of a stream is active. All before it have ended. INV-UNDO-3:
//! records are never overwritten, except their flags; a page goes when all in it is purged, and never the last.

use std::collections::VecDeque;

use gannet_base::sync::atomic::{AtomicBool, Ordering::*};
use gannet_base::sync::{Arc, Mutex, RwLock};
use gannet_base::{CachePadded, Lsn, PAGE_SIZE, PageNo, TreeId, TrxId};
use gannet_buffer::{Mtr, PageBuf, PageBytes, Pool, Stop};
use gannet_page::raw::undo_header;
use gannet_page::{Corrupt, PageOp};

use super::record::{self, Body, FIRST, UndoPtr};
use crate::turn::Turn;
use crate::{EngineError, Result, meta};

/// Owner of all undo pages in the space maps.
pub(crate) const UNDO_OWNER: TreeId = TreeId(2);
/// Lists of idle tails, one for some threads each.
const POOLS: usize = 32;
/// [`Stream::oldest`] when nothing is to be purged.
pub(crate) const NOTHING: u64 = u64::MAX;

/// A stream as all tasks know it.
pub(crate) struct Stream {
    pub(crate) id: u64,
    ends: Mutex<Ends>,
    /// A purge task is at work here.
    pub(crate) purging: Turn,
    /// Where purge goes on. Changed by the task whose turn `purging` is.
    pub(crate) place: Mutex<PurgePlace>,
    /// Last page and free offset when the store was opened.
    pub(crate) initial_end: (PageNo, usize),
    /// Begin record of a transaction that was unfinished then.
    pub(crate) loser_begin: Option<(PageNo, usize)>,
    /// What was there when the store was opened has been purged, except drops.
    pub(crate) walked: AtomicBool,
}

struct Ends {
    /// Transactions that ended here since the store was opened.
    ended: u64,
    /// Of these, purged.
    purged: u64,
    /// At or before the end of the oldest transaction not purged; [`NOTHING`] when there is none.
    oldest: u64,
    /// Ends of the transactions that may drop trees, in order. Purge takes them out: it follows the order of drops in
    /// all streams (INV-PURGE-2), and the transaction table may have forgotten when a transaction ended.
    drops: VecDeque<(TrxId, Lsn)>,
}

/// How far a stream is purged.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PurgePlace {
    /// The stream's first page.
    pub(crate) page: PageNo,
    /// The next record in it.
    pub(crate) offset: usize,
    pub(crate) current: Current,
}

/// The transaction whose records purge works on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Current {
    /// At the start of a store that was opened: a committed transaction, if records come before the first begin record.
    Unknown,
    /// Nothing is to be done for them.
    Skip,
    /// A transaction that committed at this LSN.
    Purge(TrxId, Lsn),
}

/// The end of a stream, held by the transaction that appends to it.
pub(crate) struct Tail {
    pub(crate) stream: Arc<Stream>,
    pub(crate) page: PageNo,
    prev: PageNo,
    /// Where the next record goes.
    pub(crate) free: usize,
}

impl Tail {
    pub(crate) fn fits(&self, bytes: usize) -> bool {
        self.free + bytes <= PAGE_SIZE
    }
}

pub(crate) struct Streams {
    all: RwLock<Vec<Arc<Stream>>>,
    idle: Box<[CachePadded<Mutex<Vec<Tail>>>]>,
    /// A stream is being made.
    creating: AtomicBool,
}

impl Streams {
    pub(crate) fn new() -> Self {
        Streams {
            all: RwLock::new(Vec::new()),
            idle: (0..POOLS).map(|_| CachePadded::new(Mutex::new(Vec::new()))).collect(),
            creating: AtomicBool::new(false),
        }
    }

    /// All streams.
    pub(crate) fn all(&self) -> Vec<Arc<Stream>> {
        self.all.read().clone()
    }

    /// Transactions ended and not purged.
    pub(crate) fn history(&self) -> u64 {
        self.all.read().iter().map(|s| s.history()).sum()
    }

    /// At or before the end of the oldest transaction not purged in any stream but one.
    pub(crate) fn oldest_of_others(&self, id: u64) -> u64 {
        self.all.read().iter().filter(|s| s.id != id).map(|s| s.oldest()).min().unwrap_or(NOTHING)
    }

    /// An idle tail, if there is one. Does not park.
    pub(crate) fn take(&self) -> Option<Tail> {
        let home = gannet_base::slot::current() % POOLS;
        (0..POOLS).find_map(|i| self.idle[(home + i) % POOLS].0.lock().pop())
    }

    /// How many streams no transaction uses.
    pub(crate) fn idle(&self) -> u64 {
        self.idle.iter().map(|pool| pool.0.lock().len() as u64).sum()
    }

    /// Returns a tail whose transaction has ended.
    pub(crate) fn give(&self, tail: Tail) {
        self.idle[gannet_base::slot::current() % POOLS].0.lock().push(tail);
    }

    /// Makes a stream. Parks.
    pub(crate) fn create(&self, pool: &Pool) -> Result<Tail> {
        // One at a time: the number of streams is a count in the meta page.
        let mut backoff = gannet_base::sync::Backoff::new();
        while self.creating.swap(true, Acquire) {
            if backoff.is_long() {
                gannet_runtime::yield_now();
            }
            backoff.wait();
            if let Some(tail) = self.take() {
                return Ok(tail);
            }
        }
        let made = self.create_one(pool);
        self.creating.store(false, Release);
        made
    }

    fn create_one(&self, pool: &Pool) -> Result<Tail> {
        let id = self.all.read().len() as u64;
        let (dir, at) = meta::stream_slot(id).ok_or(EngineError::TooManyTransactions)?;
        let page = pool.run(|| {
            let mut mtr = pool.mtr()?;
            let head = mtr.latch(meta::PAGE)?;
            let fresh_dir = id.is_multiple_of(meta::STREAMS_PER_PAGE);
            let dir = if fresh_dir { mtr.create(dir)? } else { mtr.latch(dir)? };
            let mut pages = pool.reserve(UNDO_OWNER, 1)?;
            let page = mtr.take(&mut pages);
            let no = mtr.page_no(page);
            let none = PageNo::ZERO;
            mtr.apply(page, &PageOp::FormatUndo { owner: UNDO_OWNER, stream: id, prev: none, next: none });
            if fresh_dir {
                mtr.apply(dir, &PageOp::Format { ty: gannet_page::PageType::Meta, owner: TreeId::ZERO });
            }
            mtr.apply(dir, &PageOp::Overwrite { at, bytes: &[no.0.to_le_bytes(), no.0.to_le_bytes()].concat() });
            mtr.apply(head, &PageOp::Overwrite { at: meta::STREAM_COUNT, bytes: &(id + 1).to_le_bytes() });
            mtr.commit();
            Ok(no)
        })?;
        let stream = Stream::new(id, page, (page, FIRST), None, NOTHING);
        self.all.write().push(stream.clone());
        Ok(Tail { stream, page, prev: PageNo::ZERO, free: FIRST })
    }

    /// Links a new page to the end of a stream. `trx`: the transaction that has begun in it and goes on.
    pub(crate) fn extend(&self, pool: &Pool, tail: &mut Tail, trx: Option<TrxId>) -> Result<()> {
        let (dir, at) = meta::stream_slot(tail.stream.id).ok_or(EngineError::TooManyTransactions)?;
        let mut note = Vec::new();
        if let Some(trx) = trx {
            Body::Continue { trx }.encode(TreeId::ZERO, UndoPtr::NONE, &mut note);
        }
        let (old_no, old_prev) = (tail.page, tail.prev);
        let no = pool.run(|| {
            let mut mtr = pool.mtr()?;
            let old = mtr.latch(old_no)?;
            let dir = mtr.latch(dir)?;
            let mut pages = pool.reserve(UNDO_OWNER, 1)?;
            let page = mtr.take(&mut pages);
            let no = mtr.page_no(page);
            let (prev, next, stream) = (old_no, PageNo::ZERO, tail.stream.id);
            mtr.apply(page, &PageOp::FormatUndo { owner: UNDO_OWNER, stream, prev, next });
            if !note.is_empty() {
                mtr.apply(page, &PageOp::Append { at: FIRST as u16, bytes: &note });
            }
            mtr.apply(old, &PageOp::SetLinks { prev: old_prev, next: no });
            mtr.apply(dir, &PageOp::Overwrite { at: at + 8, bytes: &no.0.to_le_bytes() });
            mtr.commit();
            Ok(no)
        })?;
        (tail.page, tail.prev, tail.free) = (no, old_no, FIRST + note.len());
        Ok(())
    }

    /// Frees a stream's first page, all of it purged; `next` becomes the first.
    pub(crate) fn drop_first(&self, pool: &Pool, stream: &Stream, first: PageNo, next: PageNo) -> Result<()> {
        let (dir, at) = meta::stream_slot(stream.id).ok_or(EngineError::TooManyTransactions)?;
        Ok(pool.run(|| {
            let mut mtr = pool.mtr()?;
            let page = mtr.latch(first)?;
            let dir = mtr.latch(dir)?;
            mtr.apply(dir, &PageOp::Overwrite { at, bytes: &next.0.to_le_bytes() });
            mtr.free(page);
            mtr.commit();
            Ok(())
        })?)
    }

    /// Reads the directory at the start. Calls `loser` for each stream whose last transaction has not ended. Returns
    /// the greatest transaction id seen.
    pub(crate) fn open(&self, pool: &Pool, mut loser: impl FnMut(Tail, Unfinished)) -> Result<TrxId> {
        let count = meta::read_u64(pool, meta::PAGE, meta::STREAM_COUNT as usize)?;
        let mut greatest = TrxId::ZERO;
        for id in 0..count {
            let (dir, at) = meta::stream_slot(id).ok_or_else(|| corrupt(meta::PAGE, "number of undo streams"))?;
            let first = PageNo(meta::read_u64(pool, dir, at as usize)?);
            let last = PageNo(meta::read_u64(pool, dir, at as usize + 8)?);
            let end = find_end(pool, id, first, last)?;
            greatest = greatest.max(end.trx);
            let loser_begin = end.unfinished.as_ref().map(|u| (u.begin.page(), u.begin.offset()));
            // Whatever has ended here is older than every snapshot to come.
            let stream = Stream::new(id, first, (last, end.free), loser_begin, 0);
            let tail = Tail { stream: stream.clone(), page: last, prev: end.prev, free: end.free };
            self.all.write().push(stream);
            match end.unfinished {
                Some(unfinished) => loser(tail, unfinished),
                None => self.give(tail),
            }
        }
        Ok(greatest)
    }
}

impl Stream {
    fn new(
        id: u64,
        first: PageNo,
        initial_end: (PageNo, usize),
        loser_begin: Option<(PageNo, usize)>,
        oldest: u64,
    ) -> Arc<Stream> {
        Arc::new(Stream {
            id,
            ends: Mutex::new(Ends { ended: 0, purged: 0, oldest, drops: VecDeque::new() }),
            purging: Turn::default(),
            place: Mutex::new(PurgePlace { page: first, offset: FIRST, current: Current::Unknown }),
            initial_end,
            loser_begin,
            walked: AtomicBool::new(oldest == NOTHING),
        })
    }

    /// Notes that a transaction ends. `drops`: it may drop trees. Called inside the log's closure for its end record,
    /// so that a reader which sees a horizon at or beyond `lsn` sees this.
    pub(crate) fn note_end(&self, trx: TrxId, lsn: Lsn, drops: bool) {
        let mut ends = self.ends.lock();
        ends.ended += 1;
        ends.oldest = ends.oldest.min(lsn.0);
        if drops {
            ends.drops.push_back((trx, lsn));
        }
    }

    /// Purge has come to a transaction: its end, if it may drop trees and has ended since the store was opened.
    pub(crate) fn take_end_of_drop(&self, trx: TrxId) -> Option<Lsn> {
        let mut ends = self.ends.lock();
        let (_, lsn) = ends.drops.pop_front_if(|(dropper, _)| *dropper == trx)?;
        Some(lsn)
    }

    fn history(&self) -> u64 {
        let ends = self.ends.lock();
        ends.ended.saturating_sub(ends.purged)
    }

    pub(crate) fn oldest(&self) -> u64 {
        self.ends.lock().oldest
    }

    /// The purger's note that nothing before `lsn` is left.
    pub(crate) fn set_oldest(&self, lsn: u64) {
        self.ends.lock().oldest = lsn;
    }

    pub(crate) fn count_purged(&self) {
        self.ends.lock().purged += 1;
    }

    /// Called when the purger has reached the stream's end. False when a transaction has ended since it looked.
    pub(crate) fn nothing_left(&self) -> bool {
        let mut ends = self.ends.lock();
        let nothing = ends.ended == ends.purged;
        if nothing {
            ends.oldest = NOTHING;
        }
        nothing
    }

    /// The purger has come to an active transaction.
    pub(crate) fn active_next(&self) {
        self.nothing_left();
    }

    /// What was there when the store was opened is purged.
    pub(crate) fn start_over(&self) {
        let mut ends = self.ends.lock();
        ends.oldest = if ends.ended == ends.purged { NOTHING } else { 1 };
    }
}

/// A transaction that was active when the server ended.
pub(crate) struct Unfinished {
    pub(crate) trx: TrxId,
    pub(crate) begin: UndoPtr,
    /// Its last record, done or not; none when it has only begun.
    pub(crate) last: UndoPtr,
    /// The transaction was prepared, so it stays.
    pub(crate) prepared: bool,
}

struct End {
    trx: TrxId,
    prev: PageNo,
    free: usize,
    unfinished: Option<Unfinished>,
}

/// Looks at a stream's end: back from the last page to the begin record of the last transaction.
fn find_end(pool: &Pool, id: u64, first: PageNo, last: PageNo) -> Result<End> {
    let mut page = PageBuf::boxed();
    let mut no = last;
    let mut end = End { trx: TrxId::ZERO, prev: PageNo::ZERO, free: FIRST, unfinished: None };
    let mut last_record = UndoPtr::NONE;
    loop {
        let (prev, free) = copy_page(pool, no, id, &mut page)?;
        if no == last {
            (end.prev, end.free) = (prev, free);
        }
        let (mut at, mut begin, mut last_here) = (FIRST, None, UndoPtr::NONE);
        while let Some(r) = record::decode_at(&page.0[..free], at).map_err(|_| corrupt(no, "undo record"))? {
            let ptr = UndoPtr::new(no, at, r.kind);
            match r.body {
                Body::Begin { trx } => (begin, last_here) = (Some((trx, ptr, r.flags)), UndoPtr::NONE),
                Body::Continue { trx } => end.trx = end.trx.max(trx),
                _ => last_here = ptr,
            }
            at += r.len;
        }
        if last_record.is_none() {
            last_record = last_here;
        }
        if let Some((trx, ptr, flags)) = begin {
            end.trx = end.trx.max(trx);
            if matches!(flags, record::ACTIVE | record::PREPARED) {
                let prepared = flags == record::PREPARED;
                end.unfinished = Some(Unfinished { trx, begin: ptr, last: last_record, prepared });
            }
            return Ok(end);
        }
        // No begin record in the whole stream: its transaction has ended, and its first pages are purged.
        if no == first || prev.is_zero() {
            return Ok(end);
        }
        no = prev;
    }
}

/// Copies an undo page of stream `id`. Returns its previous page and its free offset.
pub(crate) fn copy_page(pool: &Pool, no: PageNo, id: u64, out: &mut PageBuf) -> Result<(PageNo, usize)> {
    pool.read(no, |g| {
        g.copy_page(out);
        Ok(())
    })?;
    let header = undo_header(&*out).map_err(|c| corrupt(no, c.what))?;
    if header.stream != id {
        return Err(corrupt(no, "undo page of another stream"));
    }
    Ok((header.prev, header.free))
}

/// The page after `page` in its stream, 0 = none.
pub(crate) fn next_page(page: &PageBuf) -> PageNo {
    undo_header(page).map_or(PageNo::ZERO, |h| h.next)
}

/// Copies one record to `out`.
pub(crate) fn read_record(pool: &Pool, at: UndoPtr, out: &mut Vec<u8>) -> Result<()> {
    pool.read(at.page(), |g| {
        out.clear();
        let len = usize::from(g.u16_at(at.offset()));
        g.copy_to(at.offset(), len, out);
        if g.u8_at(4) != gannet_page::PageType::Undo as u8 {
            return Err(Corrupt::new("undo pointer leads to another kind of page"));
        }
        Ok(())
    })?;
    Ok(())
}

/// Sets a record's flags within a mini-transaction that has no undo page yet.
pub(crate) fn set_flags(mtr: &mut Mtr<'_>, page: gannet_buffer::PageRef, at: UndoPtr, flags: u8) {
    let at = (at.offset() + record::FLAGS_AT) as u16;
    mtr.apply(page, &PageOp::Overwrite { at, bytes: &[flags] });
}

/// Sets a record's flags in a mini-transaction of its own. Returns its LSN.
pub(crate) fn flag(pool: &Pool, at: UndoPtr, flags: u8) -> Result<Lsn> {
    flag_behind(pool, at, flags, &[])
}

/// [`flag`] right behind a record for the log's consumers, unless that is empty.
pub(crate) fn flag_behind(pool: &Pool, at: UndoPtr, flags: u8, consumers: &[&[u8]]) -> Result<Lsn> {
    Ok(pool.run(|| {
        let mut mtr = pool.mtr()?;
        let page = latch(&mut mtr, at)?;
        set_flags(&mut mtr, page, at, flags);
        Ok(if consumers.is_empty() { mtr.commit_with(|_| ()) } else { mtr.commit_behind(consumers, |_| ()) })
    })?)
}

/// Latches the page of a record.
pub(crate) fn latch(mtr: &mut Mtr<'_>, at: UndoPtr) -> std::result::Result<gannet_buffer::PageRef, Stop> {
    mtr.latch(at.page())
}

pub(crate) fn corrupt(page: PageNo, what: &str) -> EngineError {
    EngineError::Corrupt { page, lsn: Lsn::ZERO, what: what.to_owned() }
}
