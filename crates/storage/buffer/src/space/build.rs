//! Extents whose pages are written past the pool: of trees that are built from sorted entries, bottom-up.
//!
//! The order makes redo and undo of their content needless: the extents are set aside in memory only, their pages are
//! written to the data file and synced, and then one record a region says whose the extents are. A crash before that
//! record leaves free extents with meaningless bytes, as freed extents have; after it the pages are there.
//!
//! The pages carry the LSN up to which the log was durable when their extent was set aside. All records of the pages'
//! earlier lives lie below: an extent becomes free when the record that freed it is durable. All records of this life
//! lie above.

use gannet_base::sync::Arc;
use gannet_base::{Lsn, PAGE_SIZE, PageNo, TreeId};
use gannet_page::raw::{EXTENT_PAGES, Extent, REGION_EXTENTS};
use gannet_runtime::AlignedBuf;
use gannet_telemetry::{Counter, add, count};

use super::{BUILT, EXTENT_BYTES};
use crate::{Error, Mtr, Pool, Stop};

/// Extents that are written before the data file is synced: the disk has something to do meanwhile, and the last sync
/// is short.
const SYNC_EACH: usize = 64;
/// Extents whose owner one mini-transaction notes: 16 GiB.
const AT_ONCE: usize = 16 << 10;

/// Extents set aside for a tree that is being built. What is not [taken](BuiltExtents::take) goes back on drop.
pub struct BuiltExtents {
    pool: Arc<Pool>,
    owner: TreeId,
    extents: Vec<u64>,
    /// Those of which only the first pages are used, and how many these are.
    ends: Vec<(u64, u64)>,
    /// LSN of the pages of the last one.
    lsn: Lsn,
    unsynced: usize,
}

impl BuiltExtents {
    /// None yet.
    pub fn new(pool: &Arc<Pool>, owner: TreeId) -> BuiltExtents {
        let (extents, ends) = Default::default();
        BuiltExtents { pool: pool.clone(), owner, extents, ends, lsn: Lsn::ZERO, unsynced: 0 }
    }

    /// Sets another extent aside and returns its first page. May park.
    pub fn reserve(&mut self) -> Result<PageNo, Error> {
        let pool = &*self.pool;
        let e = pool.run(|| {
            let mut inner = pool.space.inner.lock();
            let Some(e) = inner.ready.pop_first() else {
                inner.wants_ready = true;
                return Err(Stop::Grow);
            };
            inner.extents[e as usize] = Extent { owner: BUILT, used: 0 };
            Ok(e)
        })?;
        self.extents.push(e);
        self.lsn = pool.wal.durable_lsn();
        Ok(PageNo(e * EXTENT_PAGES))
    }

    /// Writes the first pages of the extent that was set aside last. Stamps and seals them.
    pub fn write(&mut self, pages: &mut AlignedBuf, n: usize) -> Result<(), Error> {
        let Some(&e) = self.extents.last() else { return Ok(()) };
        let bytes = &mut pages[..n * PAGE_SIZE];
        for page in bytes.chunks_exact_mut(PAGE_SIZE) {
            gannet_page::header::stamp(page, self.lsn);
            gannet_page::header::seal(page);
        }
        let pool = &*self.pool;
        pool.file.write_at(bytes, e * EXTENT_BYTES).map_err(|error| Error::io("write the data file", error))?;
        add(Counter::InnodbDataWrites, 1);
        add(Counter::InnodbDataWritten, bytes.len() as u64);
        add(Counter::InnodbPagesWritten, n as u64);
        self.unsynced += 1;
        if self.unsynced >= SYNC_EACH { self.sync() } else { Ok(()) }
    }

    fn sync(&mut self) -> Result<(), Error> {
        self.unsynced = 0;
        if crate::testing::built_unsynced() {
            return Ok(());
        }
        count(Counter::InnodbDataFsyncs);
        self.pool.file.sync_data().map_err(|e| self.pool.poison("sync the data file", &e))
    }

    /// Of the extent that was set aside last, only the first `n` pages are used.
    pub fn end(&mut self, n: u64) {
        if let Some(&e) = self.extents.last().filter(|_| n < EXTENT_PAGES) {
            self.ends.push((e, n));
        }
    }

    /// Takes those of another one, of the same tree.
    pub fn join(&mut self, mut other: BuiltExtents) {
        gannet_base::check!(self.owner == other.owner, "extents of one tree are to be another's");
        self.extents.append(&mut other.extents);
        self.ends.append(&mut other.ends);
        self.unsynced += other.unsynced;
    }

    /// Makes the extents the tree's, but for the pages that are not [used](BuiltExtents::end); and makes `change`,
    /// which leads to their pages. Both are in the log or neither is, but for the extents beyond `AT_ONCE`, which come
    /// before and stay the tree's after an error. `change` latches what it changes, and may say no: `false`.
    pub fn take(&mut self, mut change: impl for<'p> FnMut(&mut Mtr<'p>) -> Result<bool, Stop>) -> Result<bool, Error> {
        if self.unsynced > 0 {
            self.sync()?;
        }
        let mut all = std::mem::take(&mut self.extents);
        let used = |e: u64| match self.ends.iter().find(|(end, _)| *end == e) {
            Some((_, n)) => (1 << n) - 1,
            None => u64::MAX,
        };
        all.sort_unstable();
        // What readers with outdated pointers have loaded is not what lies there now.
        all.iter().for_each(|&e| self.pool.discard(PageNo(e * EXTENT_PAGES), EXTENT_PAGES));
        let first = all.len().saturating_sub(AT_ONCE);
        let mut taken = 0;
        let mut done = false;
        let outcome = (|| {
            for region in all[..first].chunk_by(|a, b| a / REGION_EXTENTS == b / REGION_EXTENTS) {
                let mut mtr = self.pool.mtr()?;
                self.own(&mut mtr, region, used);
                mtr.commit();
                taken += region.len();
            }
            let pool = &*self.pool;
            done = pool.run(|| {
                let mut mtr = pool.mtr()?;
                if !change(&mut mtr)? {
                    return Ok(false);
                }
                self.own(&mut mtr, &all[first..], used);
                mtr.commit();
                Ok(true)
            })?;
            Ok(())
        })();
        self.extents = if done { Vec::new() } else { all.split_off(taken) };
        outcome.map(|()| done)
    }

    /// Notes whose the extents are, which ascend.
    fn own(&self, mtr: &mut Mtr<'_>, extents: &[u64], used: impl Fn(u64) -> u64) {
        for &e in extents {
            self.pool.space.inner.lock().take_built(self.owner, e, used(e));
            mtr.own_extent(e, self.owner, used(e));
        }
    }
}

impl Drop for BuiltExtents {
    fn drop(&mut self) {
        let mut inner = self.pool.space.inner.lock();
        for e in std::mem::take(&mut self.extents) {
            inner.extents[e as usize] = Extent::default();
            inner.sort_in(e);
        }
    }
}

impl super::Inner {
    fn take_built(&mut self, tree: TreeId, e: u64, used: u64) {
        self.own(tree, e);
        self.extents[e as usize].used = used;
        let t = self.trees.entry(tree).or_default();
        t.used += u64::from(used.count_ones());
        if used == u64::MAX {
            t.open.remove(&e);
        }
        gannet_base::paranoid!(self.agrees(tree), "the space of tree {tree}");
    }
}
