//! The way to a leaf, and the way back: who goes to keys that lie close to each other descends once for each leaf.

use gannet_base::PageNo;
use gannet_buffer::{Error, OptimisticGuard, Pool, Stop};
use gannet_page::node::SLOTS;
use gannet_page::{Node, PageBytes};
use gannet_telemetry::{Counter, count};

use crate::Tree;
use crate::descend::{Bounds, Target};

/// The leaf that was visited last, with its bounds. It is visited again without a descent while its page has the
/// version that was read: the bounds of a node become narrower only when its content moves away (INV-BT-2), and a
/// version never repeats.
#[derive(Debug, Default)]
pub struct Place {
    /// Root of the tree, page and version; root 0: nowhere.
    root: u64,
    page: PageNo,
    version: u64,
    pub(crate) bounds: Bounds,
    /// Lookups that went elsewhere in a row, and how many of the next ones do not look here.
    strays: u32,
    rest: u32,
}

/// Where an entry was found. It is there still while its page has the version that was read.
#[derive(Clone, Copy, Debug, Default)]
pub struct Spot {
    /// Page 0: nowhere.
    page: PageNo,
    version: u64,
    pos: usize,
}

impl Spot {
    /// As [`Tree::lookup`], and becomes where the entry is; nowhere, if it is not there.
    #[inline]
    pub fn lookup(&mut self, tree: &Tree, key: &[u8], out: &mut Vec<u8>) -> Result<bool, Error> {
        let start = out.len();
        tree.pool.run(|| {
            out.truncate(start);
            *self = Spot::default();
            let leaf = tree.leaf(&tree.pool, key)?;
            let node = Node(&leaf);
            let (pos, found) = node.search(key);
            if found {
                node.value_to(pos, out);
            }
            leaf.validate()?;
            if found {
                *self = Spot::of(&leaf, pos);
            }
            count(Counter::InnodbBufferPoolReadRequests);
            Ok(found)
        })
    }

    #[inline]
    pub(crate) fn of(leaf: &OptimisticGuard<'_>, pos: usize) -> Spot {
        Spot { page: leaf.page_no(), version: leaf.version(), pos }
    }

    /// The leaf and the entry's position in it, if that is still the entry of `key` in this tree.
    #[inline]
    pub(crate) fn leaf<'p>(self, tree: &Tree, pool: &'p Pool, key: &[u8]) -> Option<(OptimisticGuard<'p>, usize)> {
        if self.page == PageNo::ZERO {
            return None;
        }
        let guard = pool.optimistic(self.page).ok()?;
        let node = Node(&guard);
        let same = guard.version() == self.version
            && node.is_node()
            && node.owner() == tree.id.0
            && node.level() == 0
            && node.has_key(self.pos, key);
        same.then_some((guard, self.pos))
    }
}

/// After as many strays lookups give up looking, for twice as long each time, up to [`LONGEST_REST`].
const STRAYS: u32 = 4;
const LONGEST_REST: u32 = 1024;

impl Place {
    /// Nowhere yet.
    pub fn new() -> Place {
        Place::default()
    }

    /// Nowhere again.
    pub(crate) fn leave(&mut self) {
        (self.root, self.strays, self.rest) = (0, 0, 0);
    }

    /// The last lookups went to other leaves, each of them.
    #[inline]
    pub fn strays(&self) -> bool {
        self.strays >= STRAYS
    }

    /// The key lies below the upper bound of the leaf.
    #[inline]
    pub fn is_below_end(&self, key: &[u8]) -> bool {
        self.bounds.upper.get().is_none_or(|upper| key < upper)
    }

    fn is_for(&self, tree: &Tree, target: Target<'_>) -> bool {
        let (lower, upper) = (self.bounds.lower.get(), self.bounds.upper.get());
        self.root == tree.id.0
            && match target {
                Target::Key(key) => lower.is_none_or(|l| l <= key) && upper.is_none_or(|u| key < u),
                Target::Below(key) => lower.is_none_or(|l| l < key) && upper.is_none_or(|u| key <= u),
                Target::First => lower.is_none(),
                Target::Last => upper.is_none(),
            }
    }
}

/// What is asked of memory before an insert into a tree that nobody has used for a while. A step needs what the one
/// before it has asked for.
#[derive(Clone, Copy)]
pub enum Approach {
    /// What the pool has about the root.
    State,
    /// The root's header.
    Head,
    /// What an insert into a root that is a leaf touches.
    Slots,
}

impl Approach {
    /// This step of the way to the tree's root. Changes nothing.
    #[inline]
    pub fn take(self, tree: &Tree) {
        let root = tree.id.root();
        if let Approach::State = self {
            return OptimisticGuard::approach(&tree.pool, root);
        }
        let Ok(guard) = tree.pool.optimistic_scan(root) else { return };
        match self {
            Approach::State | Approach::Head => guard.prefetch(0..SLOTS),
            Approach::Slots => Node(&guard).insert_touches().into_iter().for_each(|part| guard.prefetch(part)),
        }
    }
}

/// Keys whose leaves are approached at once.
pub const APPROACHED: usize = 16;

/// Asks the processor for what lookups of these keys, [`APPROACHED`] at most, will touch. Their leaves are likely to
/// be in none of its caches, and one lookup after the other would wait for each line; asked for a step of all of
/// them at a time, the lines come side by side. Changes nothing and reads no page that is not in the pool.
pub fn approach_leaves(tree: &Tree, keys: &[&[u8]]) {
    let pool = &*tree.pool;
    let mut leaves = [PageNo::ZERO; APPROACHED];
    for (leaf, key) in leaves.iter_mut().zip(keys) {
        *leaf = leaf_number(tree, key).unwrap_or(PageNo::ZERO);
        OptimisticGuard::approach(pool, *leaf);
    }
    let ways = || leaves.iter().zip(keys).filter(|(leaf, _)| **leaf != PageNo::ZERO);
    let there = |leaf: PageNo| pool.optimistic_scan(leaf).ok();
    ways().filter_map(|(leaf, _)| there(*leaf)).for_each(|guard| guard.prefetch(0..SLOTS));
    for guard in ways().filter_map(|(leaf, _)| there(*leaf)) {
        Node(&guard).search_touches().into_iter().for_each(|part| guard.prefetch(part));
    }
    for (leaf, key) in ways() {
        let Some(guard) = there(*leaf) else { continue };
        let node = Node(&guard);
        if node.is_node() && node.owner() == tree.id.0 && node.level() == 0 {
            let entry = node.entry(node.search(key).0);
            guard.prefetch(entry.suffix.at..entry.value.at + entry.value.len);
        }
    }
}

/// The leaf for `key`, by the nodes above it; `None` where one of them is not there, or where there are none.
fn leaf_number(tree: &Tree, key: &[u8]) -> Option<PageNo> {
    let mut guard = tree.pool.optimistic_scan(tree.id.root()).ok()?;
    let mut expected = usize::MAX;
    loop {
        let node = Node(&guard);
        let level = node.level();
        tree.check_node(&guard, level, expected).ok()?;
        if level == 0 {
            return None;
        }
        let child = node.child(node.child_index(key));
        guard.validate().ok()?;
        if level == 1 {
            return Some(child);
        }
        guard = tree.pool.optimistic_scan(child).ok()?;
        expected = level - 1;
    }
}

/// Leaves read ahead at once.
const AHEAD: usize = 32;

/// Numbers of the leaves from child `index` on in the direction of a scan for `target`.
fn leaves_ahead<P: PageBytes + ?Sized>(parent: Node<'_, P>, index: usize, target: Target<'_>, out: &mut Vec<PageNo>) {
    let children = match target {
        Target::Key(_) | Target::First => index..(index + AHEAD).min(parent.count() + 1),
        Target::Below(_) | Target::Last => (index + 1).saturating_sub(AHEAD)..index + 1,
    };
    out.extend(children.map(|i| parent.child(i)));
}

impl Tree {
    /// The leaf for `target`, which `place` then is. With `ahead` the pages are those of a scan, which are not kept
    /// for it: when the leaf is not resident, it has the leaf's number and those of the leaves that come next.
    pub(crate) fn leaf_by<'p>(
        &'p self,
        target: Target<'_>,
        place: &mut Place,
        mut ahead: Option<&mut Vec<PageNo>>,
    ) -> Result<OptimisticGuard<'p>, Stop> {
        let pool = &*self.pool;
        let scan = ahead.is_some();
        let visit = |no: PageNo| if scan { pool.optimistic_scan(no) } else { pool.optimistic(no) };
        // A page that is not to be had may be anything by now: the descent tells.
        if place.is_for(self, target)
            && let Ok(guard) = visit(place.page)
            && guard.version() == place.version
        {
            return Ok(guard);
        }
        place.root = 0;
        place.bounds.clear();
        let mut guard = visit(self.id.root())?;
        let mut expected = usize::MAX;
        loop {
            let node = Node(&guard);
            let at = node.level();
            self.check_node(&guard, at, expected)?;
            if at == 0 {
                (place.root, place.page, place.version) = (self.id.0, guard.page_no(), guard.version());
                return Ok(guard);
            }
            let index = Self::child_of(node, target);
            let child = node.child(index);
            place.bounds.narrow(node, index);
            guard.validate()?;
            let next = match visit(child) {
                Err(Stop::Fault(no)) if at == 1 => {
                    if let Some(ahead) = &mut ahead {
                        leaves_ahead(node, index, target, ahead);
                        guard.validate()?;
                    }
                    return Err(Stop::Fault(no));
                }
                other => other?,
            };
            guard.validate()?;
            expected = at - 1;
            guard = next;
        }
    }

    /// Whether the leaf of a place is still what was read.
    pub(crate) fn is_still(&self, place: &Place) -> bool {
        place.root == self.id.0 && self.pool.optimistic_scan(place.page).is_ok_and(|g| g.version() == place.version)
    }

    /// As [`Tree::lookup`], from the leaf where the last lookup with this place was, if the key is there.
    #[inline]
    pub fn lookup_near(&self, key: &[u8], place: &mut Place, out: &mut Vec<u8>) -> Result<bool, Error> {
        if place.rest > 0 {
            place.rest -= 1;
            return self.lookup(key, out);
        }
        if place.is_for(self, Target::Key(key)) {
            place.strays = 0;
        } else {
            place.strays += 1;
            if place.strays > STRAYS {
                place.rest = (1 << place.strays.min(20)).min(LONGEST_REST);
            }
        }
        let start = out.len();
        self.pool.run(|| {
            out.truncate(start);
            let leaf = self.leaf_by(Target::Key(key), place, None)?;
            let node = Node(&leaf);
            let (pos, found) = node.search(key);
            if found {
                node.value_to(pos, out);
            }
            leaf.validate()?;
            count(Counter::InnodbBufferPoolReadRequests);
            Ok(found)
        })
    }
}
