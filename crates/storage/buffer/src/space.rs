//! The space of the data file: regions, extents and pages, their owners, growth, and the release of freed extents.
//!
//! The state in memory decides what may be allocated (it knows of reservations). The space map pages are what the log
//! and the disk know; they are changed in the same mini-transaction as the use that they record. At open the state is
//! read from them.
//!
//! An extent is *owned* by one tree, *ready* (free and allocated in the file), a *seed* (free, only its first pages are
//! allocated), a *hole* (free, without blocks of the file system), or *retired*: freed by a record that may not be
//! durable yet, so that neither its frames may be thrown away nor its blocks given back.
//!
//! A new tree begins in a seed: most trees never need more than a few pages, and the rest of the extent costs
//! addresses, not blocks. The rest is allocated when the tree asks for its first page. No page is given out before it
//! has blocks, so that a full file system is met while a change can still be refused.

use std::collections::{BTreeSet, HashMap};

use gannet_base::sync::Mutex;
use gannet_base::sync::atomic::{AtomicU64, Ordering::*};
use gannet_base::{Lsn, PAGE_SIZE, PageNo, TreeId};
use gannet_page::raw::{EXTENT_PAGES, Extent, REGION_EXTENTS, SYSTEM};
use gannet_runtime::{Wait, Waker, mask_interrupts, park, waker};
use gannet_telemetry::{Counter, add};

use crate::{Error, ExclusiveGuard, Mtr, Pool, Stop};

/// Pages kept for the engine's directories, at fixed places: used from the start, to be formatted with [`Mtr::create`].
pub const META_PAGES: std::ops::Range<u64> = 2..EXTENT_PAGES;

mod build;
mod open;

pub use build::BuiltExtents;

const EXTENT_BYTES: u64 = EXTENT_PAGES * PAGE_SIZE as u64;
/// How many free extents at most stay allocated in the file rather than become holes; no more than a part of the
/// pool's size, so that small stores release what they do not use (and the simulation has holes).
const KEEP_READY: usize = 32;
const READY_PART: usize = 8;
/// Pages of a seed that are allocated: a root and its first children.
const SEED_PAGES: u8 = 4;
/// Seeds made at once.
const SEEDS: usize = 8;
/// Holes beside each other that are made ready at once, in a file of many extents.
const RUN: u64 = 16;
/// A hole that could not be made is tried again after so long.
const PUNCH_AGAIN_NS: u64 = 5_000_000_000;
/// Owner in memory of an extent that is retired.
const RETIRED: TreeId = TreeId::MAX;
/// Owner in memory of an extent whose pages are being written past the pool: no reader, no check and no map knows of it
/// yet.
const BUILT: TreeId = TreeId(u64::MAX - 1);

/// What a tree has.
#[derive(Default)]
struct TreeSpace {
    extents: BTreeSet<u64>,
    /// Those with free pages.
    open: BTreeSet<u64>,
    used: u64,
}

#[derive(Default)]
struct Inner {
    /// Every extent of the file, reserved pages included.
    extents: Vec<Extent>,
    /// Pages of each extent, from its first on, known to have blocks in the file.
    blocks: Vec<u8>,
    trees: HashMap<TreeId, TreeSpace>,
    ready: BTreeSet<u64>,
    seeds: BTreeSet<u64>,
    holes: BTreeSet<u64>,
    /// Owned extents which need blocks for all their pages.
    partial: BTreeSet<u64>,
    /// Of these, the one that gets them now. Freed meanwhile it is given back later: else it would be taken for a hole,
    /// or for a seed, and have all its blocks.
    filling: Option<u64>,
    /// A task found neither a seed nor a ready extent for a new tree.
    wants_seed: bool,
    /// A task found no ready extent.
    wants_ready: bool,
    retired: Vec<(Lsn, u64)>,
    /// From this time on holes are to be made (again): pages that count as holes may have blocks, because they were
    /// not looked at since the start, or because making a hole failed.
    punch_due: Option<u64>,
    growing: bool,
    waiting: Vec<Waker>,
}

/// A step of [`Pool::grow`].
enum Next {
    /// The pages of an owned extent that have no blocks yet.
    Rest(u64),
    /// The first pages of these holes.
    Seeds(Vec<u64>),
    /// All pages of these extents: the first, and how many.
    Ready(u64, u64),
    /// The file has no free extent.
    Grow,
    Nothing,
}

/// The space of one data file. Changed by [`Mtr::take`] and [`Mtr::free`]; see [`Pool::reserve`], [`Pool::free_tree`].
pub struct Space {
    inner: Mutex<Inner>,
    pages: AtomicU64,
}

/// Sizes of a tree as the space map has it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TreePages {
    /// Pages in use: nodes and overflow pages.
    pub used: u64,
    /// Pages of its extents.
    pub owned: u64,
}

/// What the pages of the data file are used for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SpaceUsage {
    /// Pages in use by one owner (see [`Space::usage`]), and pages of its extents that have blocks in the file.
    pub named: TreePages,
    /// The same of all other owners, the space maps among them.
    pub others: TreePages,
    /// Free pages that have blocks: ready, or freed a moment ago.
    pub free: u64,
}

impl Space {
    pub(crate) fn new() -> Self {
        Space { inner: Mutex::new(Inner::default()), pages: AtomicU64::new(0) }
    }

    /// Size of the data file in pages.
    #[inline]
    pub fn file_pages(&self) -> u64 {
        self.pages.load(Acquire)
    }

    /// Pages in extents without an owner.
    pub fn free_pages(&self) -> u64 {
        let inner = self.inner.lock();
        (inner.ready.len() + inner.seeds.len() + inner.holes.len() + inner.retired.len()) as u64 * EXTENT_PAGES
    }

    /// What a tree uses.
    pub fn tree_pages(&self, tree: TreeId) -> TreePages {
        let inner = self.inner.lock();
        inner
            .trees
            .get(&tree)
            .map_or(TreePages::default(), |t| TreePages { used: t.used, owned: t.extents.len() as u64 * EXTENT_PAGES })
    }

    /// What the blocks of the file are used for, `named` apart from all others. O(extents).
    pub fn usage(&self, named: TreeId) -> SpaceUsage {
        let inner = self.inner.lock();
        let mut usage = SpaceUsage::default();
        for (extent, &blocks) in inner.extents.iter().zip(&inner.blocks) {
            let part = match extent.owner {
                TreeId::ZERO | RETIRED => {
                    usage.free += u64::from(blocks);
                    continue;
                }
                owner if owner == named => &mut usage.named,
                _ => &mut usage.others,
            };
            part.used += u64::from(extent.used.count_ones());
            part.owned += u64::from(blocks);
        }
        usage
    }

    /// All owners of extents: trees, undo, the system itself.
    pub fn owners(&self) -> Vec<TreeId> {
        let mut owners: Vec<_> = self.inner.lock().trees.keys().copied().collect();
        owners.sort_unstable();
        owners
    }

    /// The tree that owns the page's extent; `None` when there is none.
    pub fn owner_of(&self, no: PageNo) -> Option<TreeId> {
        let inner = self.inner.lock();
        let owner = inner.extents.get((no.0 / EXTENT_PAGES) as usize)?.owner;
        inner.trees.contains_key(&owner).then_some(owner)
    }

    /// Whether the page is unused and counts as having no blocks in the file: its extent has no owner, and its freeing
    /// is durable; or the page is behind all pages of the extent that the owner uses.
    pub fn is_free(&self, no: PageNo) -> bool {
        let (inner, e) = (self.inner.lock(), no.0 / EXTENT_PAGES);
        let free =
            |extent: &Extent| extent.owner.is_zero() || inner.unallocated(e).is_some_and(|pages| pages.contains(&no.0));
        inner.extents.get(e as usize).is_some_and(free)
    }

    /// Whether a page belongs to a tree and is in use.
    pub(crate) fn is_used(&self, no: PageNo) -> bool {
        let inner = self.inner.lock();
        let extent = inner.extents.get((no.0 / EXTENT_PAGES) as usize);
        extent.is_some_and(|e| inner.trees.contains_key(&e.owner) && e.used >> (no.0 % EXTENT_PAGES) & 1 == 1)
    }

    /// The first page in use from `from` on, the pool's own pages among them. `Err`: none up to that page, from where
    /// to ask again: the space map is not held for long. `None`: none up to the end of the file.
    pub fn next_used(&self, from: PageNo) -> Option<Result<PageNo, PageNo>> {
        const EXTENTS_AT_ONCE: u64 = 1024;
        let inner = self.inner.lock();
        let first = from.0 / EXTENT_PAGES;
        for n in first..first + EXTENTS_AT_ONCE {
            let extent = inner.extents.get(n as usize)?;
            let owned = if inner.trees.contains_key(&extent.owner) { extent.used } else { 0 };
            let pages = (n * EXTENT_PAGES).max(from.0)..(n + 1) * EXTENT_PAGES;
            let used = |p: &u64| owned >> (p % EXTENT_PAGES) & 1 == 1 || crate::pool::is_pinned(PageNo(*p));
            if let Some(page) = pages.into_iter().find(used) {
                return Some(Ok(PageNo(page)));
            }
        }
        Some(Err(PageNo((first + EXTENTS_AT_ONCE) * EXTENT_PAGES)))
    }

    /// Numbers of the pages a tree uses, ascending. For checks.
    pub fn pages_of(&self, tree: TreeId) -> Vec<PageNo> {
        let inner = self.inner.lock();
        let extents = inner.trees.get(&tree).into_iter().flat_map(|t| t.extents.iter().copied());
        let pages = |e: u64| {
            let used = inner.extents[e as usize].used;
            (0..EXTENT_PAGES).filter(move |i| used >> i & 1 == 1).map(move |i| PageNo(e * EXTENT_PAGES + i))
        };
        extents.flat_map(pages).collect()
    }

    /// Notes that a page in use is free again; true when its whole extent is now (and is retired).
    pub(crate) fn page_freed(&self, no: PageNo) -> bool {
        self.inner.lock().give_page_back(no)
    }

    /// The record that freed these extents ends at `lsn`.
    pub(crate) fn extents_freed(&self, extents: &[u64], lsn: Lsn) {
        self.inner.lock().retired.extend(extents.iter().map(|&e| (lsn, e)));
    }
}

impl Inner {
    /// Takes a free page of one of the tree's extents, or of a new extent for it. `None` when blocks are to be
    /// allocated first.
    fn pick(&mut self, tree: TreeId) -> Option<PageNo> {
        let open = self.trees.get(&tree).and_then(|t| t.open.first().copied());
        let e = match open {
            Some(e) => {
                let next = (!self.extents[e as usize].used).trailing_zeros();
                if next >= self.blocks[e as usize].into() {
                    self.partial.insert(e);
                    return None;
                }
                e
            }
            None => {
                let Some(e) = self.ready.pop_first() else {
                    self.wants_ready = true;
                    return None;
                };
                self.own(tree, e);
                e
            }
        };
        Some(self.pick_in(tree, e))
    }

    /// An extent for the first pages of a new tree.
    fn pick_first(&mut self) -> Option<u64> {
        let e = self.seeds.pop_first().or_else(|| self.ready.pop_first());
        self.wants_seed |= e.is_none();
        e
    }

    /// A free extent goes to where its blocks say.
    fn sort_in(&mut self, e: u64) {
        match self.blocks[e as usize] {
            0 => self.holes.insert(e),
            n if u64::from(n) == EXTENT_PAGES => self.ready.insert(e),
            _ => self.seeds.insert(e),
        };
    }

    /// The next allocation that a task waits for. Extents that are partly in use are completed first.
    fn next_allocation(&mut self) -> Next {
        while let Some(e) = self.partial.pop_first() {
            // Else it was freed since.
            if self.trees.contains_key(&self.extents[e as usize].owner) {
                self.filling = Some(e);
                return Next::Rest(e);
            }
        }
        if std::mem::take(&mut self.wants_seed) && self.seeds.is_empty() && self.ready.is_empty() {
            let some: Vec<u64> = self.holes.iter().take(SEEDS).copied().collect();
            for e in &some {
                self.holes.remove(e);
            }
            self.wants_seed = some.is_empty();
            return if some.is_empty() { Next::Grow } else { Next::Seeds(some) };
        }
        if std::mem::take(&mut self.wants_ready) && self.ready.is_empty() {
            if let Some(first) = self.holes.first().copied() {
                let most = (self.extents.len() as u64 / 64).clamp(1, RUN);
                let run = (1..most).take_while(|i| self.holes.contains(&(first + i))).count() as u64 + 1;
                for e in first..first + run {
                    self.holes.remove(&e);
                }
                return Next::Ready(first, run);
            }
            if let Some(e) = self.seeds.pop_first() {
                return Next::Ready(e, 1);
            }
            self.wants_ready = true;
            return Next::Grow;
        }
        Next::Nothing
    }

    fn own(&mut self, tree: TreeId, e: u64) {
        self.extents[e as usize] = Extent { owner: tree, used: 0 };
        let t = self.trees.entry(tree).or_default();
        t.extents.insert(e);
        t.open.insert(e);
    }

    fn pick_in(&mut self, tree: TreeId, e: u64) -> PageNo {
        let extent = &mut self.extents[e as usize];
        let i = (!extent.used).trailing_zeros() as u64;
        extent.used |= 1 << i;
        let full = extent.used == u64::MAX;
        let t = self.trees.entry(tree).or_default();
        t.used += 1;
        if full {
            t.open.remove(&e);
        }
        gannet_base::paranoid!(self.agrees(tree), "the space of tree {tree}");
        PageNo(e * EXTENT_PAGES + i)
    }

    /// Whether what is known of a tree is what its extents say.
    fn agrees(&self, tree: TreeId) -> bool {
        let Some(t) = self.trees.get(&tree) else { return self.extents.iter().all(|e| e.owner != tree) };
        let used = |e: &u64| self.extents[*e as usize].used;
        let is_open = |e: &u64| t.open.contains(e) == (used(e) != u64::MAX);
        t.extents.iter().all(|e| self.extents[*e as usize].owner == tree && is_open(e))
            && t.open.is_subset(&t.extents)
            && t.used == t.extents.iter().map(|e| u64::from(used(e).count_ones())).sum::<u64>()
    }

    /// A page is free; true when that empties its extent, which is then retired.
    fn give_page_back(&mut self, no: PageNo) -> bool {
        let e = no.0 / EXTENT_PAGES;
        let extent = &mut self.extents[e as usize];
        extent.used &= !(1 << (no.0 % EXTENT_PAGES));
        let (owner, empty) = (extent.owner, extent.used == 0);
        let Some(t) = self.trees.get_mut(&owner) else {
            return false;
        };
        t.used -= 1;
        if empty {
            self.disown(owner, e);
        } else {
            t.open.insert(e);
        }
        gannet_base::paranoid!(self.agrees(owner), "the space of tree {owner}");
        empty
    }

    fn disown(&mut self, owner: TreeId, e: u64) {
        self.extents[e as usize] = Extent { owner: RETIRED, used: 0 };
        if let Some(t) = self.trees.get_mut(&owner) {
            t.extents.remove(&e);
            t.open.remove(&e);
            if t.extents.is_empty() {
                self.trees.remove(&owner);
            }
        }
    }

    /// A reserved page was not used. An extent that was taken for it goes back.
    fn unreserve(&mut self, no: PageNo) {
        let e = no.0 / EXTENT_PAGES;
        if self.give_page_back(no) {
            // Nothing of this was logged, unless the extent was already owned and empty on its map; that is put right
            // when it is given out again.
            self.extents[e as usize] = Extent::default();
            self.sort_in(e);
        }
    }
}

/// Pages set aside for a change, latched and not yet recorded as used. What is not taken goes back on drop.
pub struct Reservation<'p> {
    pool: &'p Pool,
    owner: TreeId,
    pages: Vec<ExclusiveGuard<'p>>,
}

impl<'p> Reservation<'p> {
    /// The owner the pages will have. For a new tree: its id.
    pub fn owner(&self) -> TreeId {
        self.owner
    }

    /// The page that [`Mtr::take`] will give next.
    pub fn peek(&self) -> Option<PageNo> {
        self.pages.last().map(ExclusiveGuard::page_no)
    }

    /// Pages left.
    pub fn len(&self) -> usize {
        self.pages.len()
    }

    /// Whether no page is left.
    pub fn is_empty(&self) -> bool {
        self.pages.is_empty()
    }

    pub(crate) fn next_page(&mut self) -> (ExclusiveGuard<'p>, TreeId) {
        match self.pages.pop() {
            Some(page) => (page, self.owner),
            None => panic!("more pages are taken than were reserved"),
        }
    }
}

impl Drop for Reservation<'_> {
    fn drop(&mut self) {
        if self.pages.is_empty() {
            return;
        }
        let mut inner = self.pool.space.inner.lock();
        for page in &self.pages {
            inner.unreserve(page.page_no());
        }
    }
}

impl Pool {
    /// Sets `n` pages aside for `owner` (a tree, or the engine's own owner of undo pages). They are latched: use them
    /// or drop them before parking.
    pub fn reserve(&self, owner: TreeId, n: usize) -> Result<Reservation<'_>, Stop> {
        let mut picked = Vec::with_capacity(n);
        {
            let mut inner = self.space.inner.lock();
            for _ in 0..n {
                match inner.pick(owner) {
                    Some(no) => picked.push(no),
                    None => {
                        picked.iter().for_each(|&no| inner.unreserve(no));
                        return Err(Stop::Grow);
                    }
                }
            }
        }
        self.latch_reserved(owner, picked)
    }

    /// Sets a page in an extent of its own aside: the root of a new tree, whose id is the page's number.
    pub fn reserve_tree(&self) -> Result<Reservation<'_>, Stop> {
        let (tree, root) = {
            let mut inner = self.space.inner.lock();
            let e = inner.pick_first().ok_or(Stop::Grow)?;
            let tree = TreeId(e * EXTENT_PAGES);
            inner.own(tree, e);
            (tree, inner.pick_in(tree, e))
        };
        self.latch_reserved(tree, vec![root])
    }

    fn latch_reserved(&self, owner: TreeId, picked: Vec<PageNo>) -> Result<Reservation<'_>, Stop> {
        // Ascending, so that space maps are latched in ascending order when the pages are taken.
        let mut picked = picked;
        picked.sort_unstable();
        let mut r = Reservation { pool: self, owner, pages: Vec::with_capacity(picked.len()) };
        // Taken from the end: the lowest page comes first.
        for (i, &no) in picked.iter().enumerate().rev() {
            match self.create(no) {
                Ok(guard) => r.pages.push(guard),
                Err(stop) => {
                    let mut inner = self.space.inner.lock();
                    picked[..=i].iter().for_each(|&no| inner.unreserve(no));
                    drop(inner);
                    return Err(stop);
                }
            }
        }
        Ok(r)
    }

    /// Frees all of a tree's extents; the tree must not be used any more. The extent of the root goes last, in a
    /// mini-transaction to which `last` may add changes (the engine's note that the work is done). So a repetition
    /// after a crash cannot free another tree that got the same id. `last` may be called more than once.
    pub fn free_tree(
        &self,
        tree: TreeId,
        mut last: impl for<'p> FnMut(&mut Mtr<'p>) -> Result<(), Stop>,
    ) -> Result<Lsn, Error> {
        let root_extent = tree.0 / EXTENT_PAGES;
        let extents: Vec<u64> = {
            let inner = self.space.inner.lock();
            inner.trees.get(&tree).map_or(Vec::new(), |t| t.extents.iter().copied().collect())
        };
        let others: Vec<u64> = extents.iter().copied().filter(|&e| e != root_extent).collect();
        // One space map per mini-transaction: they are latched in no order among themselves.
        for chunk in others.chunk_by(|a, b| a / REGION_EXTENTS == b / REGION_EXTENTS) {
            let mut mtr = self.mtr()?;
            for &e in chunk {
                self.space.inner.lock().retire_owned(tree, e);
                mtr.free_extent(e);
            }
            mtr.commit();
        }
        self.run(|| {
            let mut mtr = self.mtr()?;
            last(&mut mtr)?;
            if extents.contains(&root_extent) {
                self.space.inner.lock().retire_owned(tree, root_extent);
                mtr.free_extent(root_extent);
            }
            Ok(mtr.commit())
        })
    }

    /// Makes extents whose freeing is durable available again, most of them as holes. Frames that still hold their
    /// pages are dropped, unwritten. Called by the cleaner and before the file grows.
    pub fn give_back(&self) {
        self.punch_unknown();
        let durable = self.wal.durable_lsn();
        let (due, keep) = {
            let mut inner = self.space.inner.lock();
            let due = inner.take_due(durable);
            let most = KEEP_READY.min(self.budget.get() / EXTENT_PAGES as usize / READY_PART);
            (due, most.saturating_sub(inner.ready.len() + inner.seeds.len()))
        };
        for (i, e) in due.into_iter().enumerate() {
            self.discard(PageNo(e * EXTENT_PAGES), EXTENT_PAGES);
            let hole = i >= keep && matches!(self.file.punch_hole(e * EXTENT_BYTES, EXTENT_BYTES), Ok(true));
            if hole {
                add(Counter::SpaceGivenBack, EXTENT_BYTES);
            }
            let mut inner = self.space.inner.lock();
            inner.extents[e as usize] = Extent::default();
            if hole {
                inner.blocks[e as usize] = 0;
            }
            // It may have more blocks than are known: where it was retired while these were looked for.
            let rest = if hole { None } else { inner.unallocated(e) };
            drop(inner);
            rest.into_iter().for_each(|pages| self.punch(pages));
            self.space.inner.lock().sort_in(e);
        }
    }

    /// Allocates what was missed when [`Stop::Grow`] was given: the rest of an extent, free extents, or new ones at the
    /// end of the file. No latch may be held.
    pub(crate) fn grow(&self) -> Result<(), Error> {
        self.give_back();
        self.alone(|| self.grow_alone())
    }

    /// Runs `f` while no other task allocates or releases blocks of free extents.
    fn alone<T>(&self, f: impl FnOnce() -> T) -> T {
        let _mask = mask_interrupts();
        loop {
            {
                let mut inner = self.space.inner.lock();
                if !inner.growing {
                    inner.growing = true;
                    break;
                }
                inner.waiting.push(waker());
            }
            let _ = park(Wait::FileMeta, None);
        }
        let outcome = f();
        let waiting = {
            let mut inner = self.space.inner.lock();
            inner.growing = false;
            std::mem::take(&mut inner.waiting)
        };
        waiting.iter().for_each(Waker::wake);
        outcome
    }

    /// Allocates for all tasks that wait for space. One task at a time: `growing` is set.
    fn grow_alone(&self) -> Result<(), Error> {
        loop {
            let next = self.space.inner.lock().next_allocation();
            match next {
                Next::Rest(e) => self.allocate(&[e], false, EXTENT_PAGES)?,
                Next::Seeds(some) => self.allocate(&some, true, SEED_PAGES.into())?,
                Next::Ready(e, run) => self.allocate(&(e..e + run).collect::<Vec<_>>(), true, EXTENT_PAGES)?,
                Next::Grow => self.extend()?,
                Next::Nothing => return Ok(()),
            }
        }
    }

    /// Gives extents blocks for their first `pages`, in one piece where all of neighbours are due; `free` ones go to
    /// where they belong then. Where there is no room for all there may be for some: an error says that none has got
    /// any.
    fn allocate(&self, some: &[u64], free: bool, pages: u64) -> Result<(), Error> {
        let bytes = pages * PAGE_SIZE as u64;
        let neighbours = some.len() > 1 && pages == EXTENT_PAGES;
        let at_once = neighbours && self.file.allocate(some[0] * EXTENT_BYTES, some.len() as u64 * bytes).is_ok();
        let (mut outcome, mut any) = (Ok(()), false);
        for &e in some {
            if !at_once && outcome.is_ok() {
                outcome = self.file.allocate(e * EXTENT_BYTES, bytes);
            }
            let mut inner = self.space.inner.lock();
            if !free {
                inner.filling = None;
            }
            if outcome.is_ok() {
                inner.blocks[e as usize] = pages as u8;
                any = true;
            }
            let rest = outcome.is_err().then(|| inner.unallocated(e)).flatten();
            drop(inner);
            // What fails for want of room may have taken all the room there was.
            rest.into_iter().for_each(|pages| self.punch(pages));
            if free {
                self.space.inner.lock().sort_in(e);
            }
        }
        match outcome {
            Err(error) if !any => Err(Error::io("allocate space in the data file", error)),
            _ => Ok(()),
        }
    }

    /// Releases the blocks of unused pages. A failure is tried again later.
    fn punch(&self, pages: std::ops::Range<u64>) {
        let (at, bytes) = (PageNo(pages.start).offset(), (pages.end - pages.start) * PAGE_SIZE as u64);
        if self.file.punch_hole(at, bytes).is_err() {
            self.space.inner.lock().punch_due = Some(gannet_runtime::now_ns() + PUNCH_AGAIN_NS);
        }
    }

    /// Makes the file longer: by holes.
    fn extend(&self) -> Result<(), Error> {
        let from = self.space.inner.lock().extents.len() as u64;
        let most = self.arena.pages() / EXTENT_PAGES;
        let step = (from / 8).clamp(4, 64).min(most.saturating_sub(from));
        if step == 0 {
            return Err(Error::Full);
        }
        let grown = self.file.set_len((from + step) * EXTENT_BYTES);
        grown.map_err(|error| Error::io("extend the data file", error))?;
        // The length is durable before any page beyond the old one is used: recovery relies on it.
        self.file.sync_all().map_err(|e| self.poison("sync the data file", &e))?;
        // The map of a region has its blocks before it is made.
        for region in from.div_ceil(REGION_EXTENTS)..(from + step).div_ceil(REGION_EXTENTS) {
            let allocated = self.file.allocate(region * REGION_EXTENTS * EXTENT_BYTES, EXTENT_BYTES);
            allocated.map_err(|error| Error::io("allocate space in the data file", error))?;
        }
        self.space.pages.store((from + step) * EXTENT_PAGES, Release);
        for region in from.div_ceil(REGION_EXTENTS)..(from + step).div_ceil(REGION_EXTENTS) {
            self.format_region(region)?;
        }
        let mut inner = self.space.inner.lock();
        for e in from..from + step {
            inner.add(e, Extent::default());
        }
        Ok(())
    }
}

impl Inner {
    /// The pages of an extent that count as having no blocks; `None` when there are none, or it is retired.
    fn unallocated(&self, e: u64) -> Option<std::ops::Range<u64>> {
        let pages = e * EXTENT_PAGES + u64::from(self.blocks[e as usize])..(e + 1) * EXTENT_PAGES;
        (self.extents[e as usize].owner != RETIRED && !pages.is_empty()).then_some(pages)
    }

    /// The retired extents that may be given back, as the log is durable up to there.
    fn take_due(&mut self, durable: Lsn) -> Vec<u64> {
        let filling = self.filling;
        let is_due = |(lsn, e): &(Lsn, u64)| *lsn <= durable && Some(*e) != filling;
        let (due, later) = self.retired.drain(..).partition::<Vec<_>, _>(is_due);
        self.retired = later;
        due.into_iter().map(|(_, e)| e).collect()
    }

    fn retire_owned(&mut self, tree: TreeId, e: u64) {
        if let Some(t) = self.trees.get_mut(&tree) {
            t.used -= (self.extents[e as usize].used.count_ones() as u64).min(t.used);
        }
        self.disown(tree, e);
    }

    /// Enters an extent of the file as its space map has it.
    fn add(&mut self, e: u64, extent: Extent) {
        debug_assert_eq!(e as usize, self.extents.len());
        self.extents.push(extent);
        self.blocks.push(known_blocks(&extent));
        if e.is_multiple_of(REGION_EXTENTS) {
            // The space map itself and what is kept beside it.
            self.extents[e as usize] = Extent { owner: SYSTEM, used: u64::MAX };
        } else if extent.owner.is_zero() {
            // Whether its blocks are allocated is not recorded; allocating them again costs little.
            self.holes.insert(e);
        } else {
            let t = self.trees.entry(extent.owner).or_default();
            t.extents.insert(e);
            t.used += extent.used.count_ones() as u64;
            if extent.used != u64::MAX {
                t.open.insert(e);
            }
        }
    }
}

/// Pages of an extent that must have blocks, by what its space map says: whether they are allocated is not recorded,
/// and allocating them again costs little.
fn known_blocks(extent: &Extent) -> u8 {
    match 64 - extent.used.leading_zeros() as u8 {
        _ if extent.owner.is_zero() => 0,
        n if n <= SEED_PAGES => SEED_PAGES,
        _ => EXTENT_PAGES as u8,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_freed_extent_gets_no_blocks() {
        let mut inner = Inner::default();
        inner.add(0, Extent::default());
        for e in 1..3 {
            inner.add(e, Extent { owner: TreeId(e), used: 1 });
            // It needs more than it has.
            inner.partial.insert(e);
        }
        inner.retire_owned(TreeId(1), 1);
        assert!(matches!(inner.next_allocation(), Next::Rest(2)));
        assert!(matches!(inner.next_allocation(), Next::Nothing));
    }

    #[test]
    fn an_extent_that_gets_its_blocks_is_given_back_later() {
        let space = Space::new();
        let mut inner = space.inner.lock();
        inner.add(0, Extent::default());
        inner.add(1, Extent { owner: TreeId(1), used: 1 });
        inner.partial.insert(1);
        assert!(matches!(inner.next_allocation(), Next::Rest(1)));
        inner.retire_owned(TreeId(1), 1);
        inner.retired.push((Lsn(8), 1));
        assert!(inner.take_due(Lsn(8)).is_empty());
        inner.filling = None;
        assert_eq!(inner.take_due(Lsn(8)), [1]);
    }
}
