//! From the root to a node: optimistic lock coupling.
//!
//! At each step the child's number is read, the parent validated, the child's version read, and the parent validated
//! again: the child was the right one when its version was read. What happens to it later changes its version.

use gannet_base::PageNo;
use gannet_buffer::{OptimisticGuard, Pool, Stop};
use gannet_page::node::{MAX_LEVEL, common_prefix};
use gannet_page::{Node, PageBytes};

use crate::{Tree, not_a_node};

/// Where a descent goes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Target<'a> {
    /// To the node that holds this key, or would.
    Key(&'a [u8]),
    /// To the node that holds the greatest keys below this one.
    Below(&'a [u8]),
    /// To the leftmost node.
    First,
    /// To the rightmost node.
    Last,
}

/// A bound of a node: a key, or none.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Bound {
    set: bool,
    bytes: Vec<u8>,
}

impl Bound {
    /// The key, if there is one.
    #[inline]
    pub fn get(&self) -> Option<&[u8]> {
        self.set.then_some(&self.bytes[..])
    }

    /// Becomes what `write` puts into the empty bytes, if it returns true; else none.
    pub fn put(&mut self, write: impl FnOnce(&mut Vec<u8>) -> bool) {
        self.bytes.clear();
        self.set = write(&mut self.bytes);
    }

    /// Becomes this key, or none.
    pub fn set(&mut self, key: Option<&[u8]>) {
        self.bytes.clear();
        self.bytes.extend_from_slice(key.unwrap_or_default());
        self.set = key.is_some();
    }

    /// Becomes none.
    pub fn clear(&mut self) {
        self.set = false;
        self.bytes.clear();
    }

    fn take_key<P: PageBytes + ?Sized>(&mut self, node: Node<'_, P>, i: usize) {
        self.set = true;
        self.bytes.clear();
        node.key_to(i, &mut self.bytes);
    }
}

/// The keys a node is for: from `lower` on, below `upper`.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub(crate) struct Bounds {
    pub(crate) lower: Bound,
    pub(crate) upper: Bound,
}

impl Bounds {
    pub(crate) fn clear(&mut self) {
        self.lower.clear();
        self.upper.clear();
    }

    pub(crate) fn narrow<P: PageBytes + ?Sized>(&mut self, node: Node<'_, P>, child: usize) {
        if child > 0 {
            self.lower.take_key(node, child - 1);
        }
        if child < node.count() {
            self.upper.take_key(node, child);
        }
    }
}

/// Length of the prefix that all keys between two bounds have.
pub(crate) fn prefix_between(lower: Option<&[u8]>, upper: Option<&[u8]>) -> usize {
    match (lower, upper) {
        (Some(lower), Some(upper)) => common_prefix(lower, upper),
        _ => 0,
    }
}

/// The end of a descent.
pub(crate) struct Descent<'p> {
    /// The parent, and which of its children the node is. `None` for the root.
    pub(crate) parent: Option<(OptimisticGuard<'p>, usize)>,
    pub(crate) node: OptimisticGuard<'p>,
}

/// What a descent notes on its way, validated.
#[derive(Default)]
pub(crate) struct Notes {
    /// Bounds of the node.
    pub(crate) bounds: Bounds,
    /// Bounds of its parent.
    pub(crate) outer: Bounds,
    /// From the root down: the child taken and the node's separators; for the leaf the position and entries.
    pub(crate) steps: Vec<(usize, usize)>,
}

impl Tree {
    pub(crate) fn child_of<P: PageBytes + ?Sized>(node: Node<'_, P>, target: Target<'_>) -> usize {
        match target {
            Target::Key(key) => node.child_index(key),
            Target::Below(key) => node.search(key).0,
            Target::First => 0,
            Target::Last => node.count(),
        }
    }

    /// The leaf for `key`.
    #[inline]
    pub(crate) fn leaf<'p>(&self, pool: &'p Pool, key: &[u8]) -> Result<OptimisticGuard<'p>, Stop> {
        let mut guard = pool.optimistic(self.id.root())?;
        let mut expected = usize::MAX;
        loop {
            let node = Node(&guard);
            let level = node.level();
            self.check_node(&guard, level, expected)?;
            if level == 0 {
                return Ok(guard);
            }
            let child = node.child(node.child_index(key));
            guard.validate()?;
            let next = pool.optimistic(child)?;
            guard.validate()?;
            guard = next;
            expected = level - 1;
        }
    }

    /// A page on the way down must be a node of this tree, one level below its parent. `expected` is `usize::MAX` for
    /// the root.
    #[inline]
    pub(crate) fn check_node(&self, guard: &OptimisticGuard<'_>, level: usize, expected: usize) -> Result<(), Stop> {
        let node = Node(guard);
        let level_ok = level == expected || (expected == usize::MAX && level <= MAX_LEVEL);
        if node.is_node() && node.owner() == self.id.0 && level_ok {
            return Ok(());
        }
        guard.validate()?;
        Err(not_a_node(guard, guard.page_no()))
    }

    /// The node at `level` for `target`, with its parent and notes. Fails with `Restart` when the tree is not that
    /// high.
    pub(crate) fn descend<'p>(
        &self,
        pool: &'p Pool,
        target: Target<'_>,
        level: usize,
        scan: bool,
        notes: &mut Notes,
    ) -> Result<Descent<'p>, Stop> {
        notes.bounds.clear();
        notes.outer.clear();
        notes.steps.clear();
        let visit = |no: PageNo| if scan { pool.optimistic_scan(no) } else { pool.optimistic(no) };
        let mut guard = visit(self.id.root())?;
        let mut parent = None;
        let mut expected = usize::MAX;
        loop {
            let node = Node(&guard);
            let at = node.level();
            self.check_node(&guard, at, expected)?;
            if at <= level {
                if at < level {
                    return Err(Stop::Restart);
                }
                return Ok(Descent { parent, node: guard });
            }
            let index = Self::child_of(node, target);
            let child = node.child(index);
            notes.outer.clone_from(&notes.bounds);
            notes.bounds.narrow(node, index);
            notes.steps.push((index, node.count()));
            guard.validate()?;
            let next = visit(child)?;
            guard.validate()?;
            expected = at - 1;
            parent = Some((guard, index));
            guard = next;
        }
    }
}
