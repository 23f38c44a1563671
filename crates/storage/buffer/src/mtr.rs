//! The mini-transaction: latch what is needed (may fail), change and encode, append one log record, stamp, release.

use std::cell::Cell;

use gannet_base::{Lsn, PageNo, TreeId, Writer};
use gannet_page::raw::map_of;
use gannet_page::{Node, PageBuf, PageOp, PageType, apply_and_tell};
use gannet_telemetry::{Counter, count};
use smallvec::SmallVec;

use crate::{Error, ExclusiveGuard, OptimisticGuard, Pool, Reservation, Stop, Wal};

/// Longest payload of a mini-transaction in bytes; the log's own bound is above it.
const MAX_BYTES: usize = 1 << 20;

/// A page latched by a mini-transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PageRef(usize);

/// Changes of some pages that reach the log, and therefore the disk, together or not at all.
///
/// Order: everything that can fail comes first (latching, finding room, reserving pages); from the first [`Mtr::apply`]
/// on nothing can fail and nothing parks, until [`Mtr::commit`]. Dropped without a change it just lets go of its
/// latches.
pub struct Mtr<'p> {
    pool: &'p Pool,
    pages: SmallVec<[ExclusiveGuard<'p>; 4]>,
    ops: Vec<u8>,
    /// Extents that became empty: free once this record is durable.
    emptied: Vec<u64>,
}

thread_local! {
    // The operations' buffer of the last mini-transaction of this thread, taken out while in use.
    static SPARE: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// Latch rank of a page for blocking acquisition: ascending within a mini-transaction.
fn rank(page: &PageBuf) -> u32 {
    match page.page_type() {
        Some(PageType::Node) => 1000 - Node(page).level().min(999) as u32,
        Some(PageType::Overflow) => 1500,
        Some(PageType::Undo) => 2000,
        Some(PageType::Meta) => 2500,
        Some(PageType::SpaceMap) => 3000,
        _ => 4000,
    }
}

impl<'p> Mtr<'p> {
    pub(crate) fn new(pool: &'p Pool) -> Self {
        Mtr { pool, pages: SmallVec::new(), ops: SPARE.take(), emptied: Vec::new() }
    }

    /// The pool.
    pub fn pool(&self) -> &'p Pool {
        self.pool
    }

    /// Whether no page is latched.
    pub fn is_empty(&self) -> bool {
        self.pages.is_empty()
    }

    /// Whether a page has been changed: from here on the mini-transaction must be committed.
    pub fn is_changed(&self) -> bool {
        !self.ops.is_empty()
    }

    /// Lets go of all latches. Nothing may have been changed.
    pub fn release(&mut self) {
        gannet_base::check!(self.ops.is_empty(), "INV-BUF-3: a changed page would be let go without its log record");
        self.pages.clear();
    }

    /// Takes over a guard.
    pub fn own(&mut self, guard: ExclusiveGuard<'p>) -> PageRef {
        self.pages.push(guard);
        PageRef(self.pages.len() - 1)
    }

    /// Upgrades an optimistic guard and takes it over.
    pub fn upgrade(&mut self, guard: OptimisticGuard<'p>) -> Result<PageRef, Stop> {
        let guard = guard.upgrade()?;
        Ok(self.own(guard))
    }

    /// Latches a page exclusively, waiting for it; a page that is latched already is returned as it is. In rank order
    /// only.
    pub fn latch(&mut self, no: PageNo) -> Result<PageRef, Stop> {
        if let Some(held) = self.find(no) {
            return Ok(held);
        }
        let guard = ExclusiveGuard::new(self.pool, no)?;
        debug_assert!(
            self.pages.iter().all(|held| rank(held) <= rank(&guard) || rank(held) == 4000),
            "INV-BUF-8: {no:?} is latched against the rank order"
        );
        Ok(self.own(guard))
    }

    /// Latches a page exclusively if that is possible at once: out of rank order.
    pub fn try_latch(&mut self, no: PageNo) -> Result<PageRef, Stop> {
        if let Some(held) = self.find(no) {
            return Ok(held);
        }
        if !self.pool.is_resident(no) {
            return Err(Stop::Fault(no));
        }
        let guard = ExclusiveGuard::try_new(self.pool, no).ok_or(Stop::Restart)?;
        Ok(self.own(guard))
    }

    /// Makes a page resident that will be formatted, without reading it, and latches it. For pages at fixed places;
    /// others come from [`Mtr::take`].
    pub fn create(&mut self, no: PageNo) -> Result<PageRef, Stop> {
        let guard = self.pool.create(no)?;
        Ok(self.own(guard))
    }

    /// The page with this number, if this mini-transaction has latched it.
    pub fn find(&self, no: PageNo) -> Option<PageRef> {
        self.pages.iter().position(|p| p.page_no() == no).map(PageRef)
    }

    /// The content of a latched page.
    #[inline]
    pub fn page(&self, page: PageRef) -> &PageBuf {
        &self.pages[page.0]
    }

    /// The number of a latched page.
    #[inline]
    pub fn page_no(&self, page: PageRef) -> PageNo {
        self.pages[page.0].page_no()
    }

    /// Changes a page and notes the operation for the log. The caller has made sure that the operation fits the page.
    ///
    /// # Panics
    /// When it does not fit: the pages are checked when they are loaded, so that is a program's error, and going on
    /// would lose the connection of pages and log.
    pub fn apply(&mut self, page: PageRef, op: &PageOp<'_>) {
        let guard = &mut self.pages[page.0];
        let no = guard.page_no();
        match apply_and_tell(no, op, guard.page_mut()) {
            Ok(false) => {}
            Ok(true) => count(Counter::IndexPageReorgs),
            Err(e) => broken(no, op, e),
        }
        Writer::new(&mut self.ops).varint(no.0);
        op.encode(&mut self.ops);
        count(Counter::InnodbBufferPoolWriteRequests);
    }

    /// Bytes of log noted so far.
    pub fn log_bytes(&self) -> usize {
        self.ops.len()
    }

    /// Takes a reserved page: it is latched, marked as used in its space map, and to be formatted by the caller.
    ///
    /// # Panics
    /// When the reservation has no page left.
    pub fn take(&mut self, from: &mut Reservation<'p>) -> PageRef {
        let (guard, owner) = from.next_page();
        let (map_no, index) = map_of(guard.page_no());
        let bit = 1u64 << (guard.page_no().0 % gannet_page::raw::EXTENT_PAGES);
        let page = self.own(guard);
        let map = self.latch_map(map_no);
        let old = gannet_page::raw::extent(self.page(map), index);
        gannet_base::check!(
            (old.owner == owner || old.used == 0) && old.used & bit == 0,
            "INV-SPACE-1: a page is given out twice"
        );
        self.apply(map, &PageOp::SetExtent { index: index as u16, owner, used: old.used | bit });
        page
    }

    /// Frees a latched page: its content is gone and its place can be given out again once this is committed.
    pub fn free(&mut self, page: PageRef) {
        let no = self.page_no(page);
        self.apply(page, &PageOp::Free);
        let (map_no, index) = map_of(no);
        let bit = 1u64 << (no.0 % gannet_page::raw::EXTENT_PAGES);
        let map = self.latch_map(map_no);
        let old = gannet_page::raw::extent(self.page(map), index);
        gannet_base::check!(old.used & bit != 0, "INV-SPACE-1: a page is freed twice");
        let emptied = self.pool.space.page_freed(no);
        let owner = if emptied { TreeId::ZERO } else { old.owner };
        gannet_base::check!(!emptied || old.used == bit, "INV-SPACE-2: a page of an emptied extent is in use");
        self.apply(map, &PageOp::SetExtent { index: index as u16, owner, used: old.used & !bit });
        if emptied {
            self.emptied.push(no.0 / gannet_page::raw::EXTENT_PAGES);
        }
    }

    /// Frees a whole extent without touching its pages. See [`Space`](crate::Space).
    pub(crate) fn free_extent(&mut self, extent: u64) {
        let (map_no, index) = map_of(PageNo(extent * gannet_page::raw::EXTENT_PAGES));
        let map = self.latch_map(map_no);
        self.apply(map, &PageOp::SetExtent { index: index as u16, owner: TreeId::ZERO, used: 0 });
        self.emptied.push(extent);
    }

    /// Notes that an extent belongs to `owner`, with pages that are in the data file. See
    /// [`BuiltExtents`](crate::BuiltExtents).
    pub(crate) fn own_extent(&mut self, extent: u64, owner: TreeId, used: u64) {
        let (map_no, index) = map_of(PageNo(extent * gannet_page::raw::EXTENT_PAGES));
        let map = self.latch_map(map_no);
        let old = gannet_page::raw::extent(self.page(map), index);
        gannet_base::check!(old.used == 0, "INV-SPACE-1: an extent in use is given out");
        self.apply(map, &PageOp::SetExtent { index: index as u16, owner, used });
    }

    fn latch_map(&mut self, no: PageNo) -> PageRef {
        debug_assert!(
            self.pages.iter().all(|p| p.page_type() != Some(PageType::SpaceMap) || p.page_no() <= no),
            "INV-BUF-8: space maps are latched in ascending order"
        );
        match self.latch(no) {
            Ok(map) => map,
            Err(_) => panic!("INV-SPACE-3: space map {no} is not resident"),
        }
    }

    /// Appends the log record, stamps the pages, releases the latches. Returns the record's LSN, or the log's end
    /// when nothing was changed.
    pub fn commit(self) -> Lsn {
        self.commit_with(|_| ())
    }

    /// [`Mtr::commit`]; `at` runs with the LSN between reservation and publication in the log: what it stores is
    /// visible to any thread that sees the log's horizon at or above that LSN.
    #[inline]
    pub fn commit_with(self, at: impl FnOnce(Lsn)) -> Lsn {
        self.append(at, |wal, ops, at| wal.append(ops, at))
    }

    /// [`Mtr::commit_with`] right behind a record for the log's consumers: either both are in the log or neither is.
    ///
    /// # Panics
    /// When nothing was changed.
    pub fn commit_behind(self, consumers: &[&[u8]], at: impl FnOnce(Lsn)) -> Lsn {
        gannet_base::check!(!self.ops.is_empty(), "a payload without a commit");
        self.append(at, |wal, ops, at| wal.append_behind(consumers, ops, at))
    }

    fn append(mut self, at: impl FnOnce(Lsn), append: impl FnOnce(&dyn Wal, &[u8], &mut dyn FnMut(Lsn)) -> Lsn) -> Lsn {
        if self.ops.is_empty() {
            return self.pool.wal.tail_lsn();
        }
        gannet_base::check!(self.ops.len() <= MAX_BYTES, "a mini-transaction of {} bytes", self.ops.len());
        for page in self.pages.iter().filter(|g| g.is_changed()) {
            gannet_base::paranoid!(gannet_page::check(page).is_ok(), "page {} after its changes", page.page_no());
        }
        let ops = std::mem::take(&mut self.ops);
        let (pool, pages) = (self.pool, &mut self.pages);
        let mut at = Some(at);
        let lsn = append(&*pool.wal, &ops, &mut |lsn| {
            for guard in pages.iter_mut().filter(|g| g.is_changed()) {
                guard.page_mut().set_lsn(lsn);
                pool.set_dirty(guard.page_no(), lsn);
            }
            if let Some(at) = at.take() {
                at(lsn);
            }
        });
        self.pages.clear();
        if !self.emptied.is_empty() {
            pool.space.extents_freed(&std::mem::take(&mut self.emptied), lsn);
        }
        let mut ops = ops;
        ops.clear();
        if ops.capacity() <= 64 << 10 {
            SPARE.set(ops);
        }
        lsn
    }
}

impl Drop for Mtr<'_> {
    fn drop(&mut self) {
        // In a simulated power cut everything unwinds wherever it is.
        let power_cut = std::thread::panicking() && gannet_runtime::sim::active();
        if !self.ops.is_empty() && !power_cut {
            // INV-BUF-3: pages were changed and the log does not know. Nothing may see them, let alone write them.
            eprintln!("a mini-transaction was dropped after a change and before its commit; stopping");
            std::process::abort();
        }
        self.ops.clear();
        if self.ops.capacity() > 0 && self.ops.capacity() <= 64 << 10 {
            SPARE.set(std::mem::take(&mut self.ops));
        }
    }
}

#[cold]
#[inline(never)]
fn broken(no: PageNo, op: &PageOp<'_>, e: gannet_page::Corrupt) -> ! {
    panic!("INV-BUF-3: operation {op:?} does not fit {no:?}: {e}")
}

/// Calls `each` for every change in a mini-transaction's payload, in order, with its encoding. For recovery.
pub fn decode_payload<'a>(
    payload: &'a [u8],
    mut each: impl FnMut(PageNo, PageOp<'a>, &'a [u8]) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut r = gannet_base::Reader::new(payload);
    while !r.is_empty() {
        let no = r.varint().map(PageNo);
        let no = no.map_err(|_| Error::page(PageNo::ZERO, Lsn::ZERO, "log record cannot be decoded"))?;
        let before = r;
        let op = PageOp::decode(&mut r).map_err(|c| Error::page(no, Lsn::ZERO, c.what))?;
        each(no, op, r.since(&before))?;
    }
    Ok(())
}
