//! Snapshots in use, and the oldest of them.
//!
//! Each [`Txn`](crate::Txn) owns a cell for its life. Cells of transactions made by the same thread share cache
//! lines, and no other thread writes these. The purge task reads all cells (8 bytes each) when it wants a new
//! horizon.
//!
//! A reader publishes its snapshot, then looks at the published purge horizon: if the snapshot is older, it takes a
//! newer one. The purger publishes the horizon it wants, then reads the cells again: it sees the snapshot of any
//! reader that did not see the horizon.
//!
//! INV-SNAP-1: no version that a published snapshot may need is purged: `oldest()` never exceeds a snapshot in use.

use gannet_base::sync::atomic::{AtomicU64, Ordering::*, fence};
use gannet_base::sync::{Mutex, OnceLock};
use gannet_base::{CachePadded, Lsn};

const CHUNK: usize = 256;
const MAX_CHUNKS: usize = 4096;
const LINE: usize = 8;
const FREE_LISTS: usize = 64;
const NONE: u64 = u64::MAX;
/// [`Info::kind`] of a cell that shares a transaction's snapshot.
pub(crate) const SHARED: u64 = 16;

/// What a person may see of a transaction; written by its owner alone. On one line.
#[derive(Default)]
#[repr(align(64))]
pub(crate) struct Info {
    pub(crate) trx: AtomicU64,
    pub(crate) owner: AtomicU64,
    pub(crate) undo_records: AtomicU64,
    /// Rows changed.
    pub(crate) rows: AtomicU64,
    /// By the monotonic clock.
    pub(crate) started_ns: AtomicU64,
    /// 0 running, 1 rolling back.
    pub(crate) rolling_back: AtomicU64,
    /// Of its locks.
    pub(crate) lock_owner: AtomicU64,
    /// [`TxnOptions`](crate::TxnOptions): isolation, and 4 read only, 8 autocommit; or [`SHARED`].
    pub(crate) kind: AtomicU64,
}

#[repr(align(64))]
struct Chunk {
    snapshots: [AtomicU64; CHUNK],
    infos: [Info; CHUNK],
}

pub(crate) struct Snapshots {
    chunks: Box<[OnceLock<Box<Chunk>>]>,
    /// Free cells by the thread that first took them.
    free: Box<[CachePadded<Mutex<Vec<u32>>>]>,
    /// Cells ever given out.
    used: Mutex<u32>,
    high_water: AtomicU64,
    /// The horizon that readers compare with.
    published: CachePadded<AtomicU64>,
    /// The horizon that holds: at or before `published` and every snapshot in use.
    oldest: AtomicU64,
    advancing: Mutex<()>,
}

/// Number of a cell, and the free list it goes back to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CellId {
    index: u32,
    home: u32,
}

impl Snapshots {
    pub(crate) fn new() -> Self {
        Snapshots {
            chunks: (0..MAX_CHUNKS).map(|_| OnceLock::new()).collect(),
            free: (0..FREE_LISTS).map(|_| CachePadded::new(Mutex::new(Vec::new()))).collect(),
            used: Mutex::new(0),
            high_water: AtomicU64::new(0),
            published: CachePadded::new(AtomicU64::new(0)),
            oldest: AtomicU64::new(0),
            advancing: Mutex::new(()),
        }
    }

    /// Takes a cell; `None` when about a million are in use.
    pub(crate) fn take(&self) -> Option<CellId> {
        let home = gannet_base::slot::current() % FREE_LISTS;
        let mut free = self.free[home].0.lock();
        if free.is_empty() {
            let first = {
                let mut used = self.used.lock();
                let first = *used;
                if first as usize + LINE > CHUNK * MAX_CHUNKS {
                    return None;
                }
                *used = first + LINE as u32;
                self.chunks[first as usize / CHUNK].get_or_init(|| {
                    Box::new(Chunk {
                        snapshots: std::array::from_fn(|_| AtomicU64::new(NONE)),
                        infos: std::array::from_fn(|_| Info::default()),
                    })
                });
                self.high_water.store(u64::from(*used), Release);
                first
            };
            free.extend((first..first + LINE as u32).rev());
        }
        free.pop().map(|index| CellId { index, home: home as u32 })
    }

    /// Returns a cell.
    pub(crate) fn give(&self, cell: CellId) {
        self.cell(cell).store(NONE, Release);
        self.info(cell).trx.store(0, Release);
        self.free[cell.home as usize].0.lock().push(cell.index);
    }

    #[inline]
    fn chunk(&self, index: u32) -> &Chunk {
        // A cell id exists only after its chunk was made.
        self.chunks[index as usize / CHUNK].get().expect("cell without chunk")
    }

    #[inline]
    fn cell(&self, cell: CellId) -> &AtomicU64 {
        &self.chunk(cell.index).snapshots[cell.index as usize % CHUNK]
    }

    #[inline]
    pub(crate) fn info(&self, cell: CellId) -> &Info {
        &self.chunk(cell.index).infos[cell.index as usize % CHUNK]
    }

    /// Publishes the horizon as this cell's snapshot and returns it.
    #[inline]
    pub(crate) fn open(&self, cell: CellId, horizon: impl Fn() -> Lsn) -> Lsn {
        let mine = self.cell(cell);
        loop {
            let at = horizon();
            mine.store(at.0, Relaxed);
            fence(SeqCst);
            if at.0 >= self.published.load(Relaxed) {
                return at;
            }
        }
    }

    /// Publishes a snapshot a second time, which another cell has open: so no horizon can be beyond it.
    pub(crate) fn share(&self, cell: CellId, at: Lsn) {
        self.cell(cell).store(at.0, Release);
        self.set_shared(cell);
    }

    /// Nobody shows the cell as a transaction of its own.
    pub(crate) fn set_shared(&self, cell: CellId) {
        self.info(cell).kind.store(SHARED, Relaxed);
    }

    /// The snapshot is no longer in use.
    #[inline]
    pub(crate) fn close(&self, cell: CellId) {
        self.cell(cell).store(NONE, Release);
    }

    /// What may be purged: ends at or before this LSN are visible to every snapshot in use or to come.
    pub(crate) fn oldest(&self) -> Lsn {
        Lsn(self.oldest.load(Acquire))
    }

    fn least(&self, bound: u64) -> u64 {
        let mut least = bound;
        let mut left = self.high_water.load(Acquire) as usize;
        for chunk in self.chunks.iter() {
            let Some(chunk) = chunk.get() else { break };
            for cell in &chunk.snapshots[..left.min(CHUNK)] {
                least = least.min(cell.load(Acquire));
            }
            left = left.saturating_sub(CHUNK);
            if left == 0 {
                break;
            }
        }
        least
    }

    /// Moves the purge horizon up as far as the snapshots in use allow, at most to `horizon`, and returns it.
    pub(crate) fn advance(&self, horizon: Lsn) -> Lsn {
        let _one = self.advancing.lock();
        let want = self.least(horizon.0).max(self.published.load(Relaxed));
        self.published.store(want, Relaxed);
        fence(SeqCst);
        let holds = self.least(want);
        self.oldest.fetch_max(holds, AcqRel);
        self.oldest()
    }

    /// Calls `f` for the info of each cell that ever had a transaction, telling whether it has a snapshot now.
    pub(crate) fn for_each(&self, mut f: impl FnMut(&Info, bool)) {
        for chunk in self.chunks.iter().map_while(|c| c.get()) {
            for (info, snapshot) in chunk.infos.iter().zip(&chunk.snapshots) {
                f(info, snapshot.load(Acquire) != NONE);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn horizon_stops_at_the_oldest_snapshot() {
        let s = Snapshots::new();
        let (a, b) = (s.take().unwrap(), s.take().unwrap());
        assert_eq!(s.open(a, || Lsn(10)), Lsn(10));
        assert_eq!(s.open(b, || Lsn(20)), Lsn(20));
        assert_eq!(s.advance(Lsn(30)), Lsn(10));
        s.close(a);
        assert_eq!(s.advance(Lsn(30)), Lsn(20));
        s.give(b);
        assert_eq!(s.advance(Lsn(30)), Lsn(30));
        assert_eq!(s.oldest(), Lsn(30));
    }

    #[test]
    fn readers_never_fall_behind_the_purge_horizon() {
        let s = &Snapshots::new();
        let clock = &AtomicU64::new(1);
        let stop = &AtomicU64::new(0);
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(move || {
                    let cell = s.take().unwrap();
                    for _ in 0..20_000 {
                        let at = s.open(cell, || Lsn(clock.fetch_add(1, AcqRel)));
                        assert!(s.oldest() <= at);
                        std::hint::spin_loop();
                        assert!(s.oldest() <= at);
                        s.close(cell);
                    }
                    s.give(cell);
                    stop.fetch_add(1, AcqRel);
                });
            }
            scope.spawn(move || {
                while stop.load(Acquire) < 3 {
                    s.advance(Lsn(clock.load(Acquire)));
                }
            });
        });
    }
}
