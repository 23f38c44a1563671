//! Checking a whole tree: structure of every node, order, bounds, levels, ownership.
//!
//! The tree may change meanwhile, so the check goes from leaf to leaf, each time from the root: what a descent says of
//! a node's bounds holds for the copy it makes of the node. Inner nodes are checked when the first of their leaves is
//! reached. What is amiss is believed when a second look finds the same page, unchanged, with the same fault.

use std::collections::HashSet;

use gannet_base::PageNo;
use gannet_buffer::{Error, Priority};
use gannet_page::raw::{extent, map_of};
use gannet_page::{Node, PageBuf, PageBytes, check};

use crate::Tree;
use crate::descend::{Bounds, Notes, Target, prefix_between};

/// The figures of a check. Damage is an error instead.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TreeCheck {
    /// Entries in the leaves.
    pub entries: u64,
    /// Leaves.
    pub leaves: u64,
    /// Nodes, leaves included.
    pub nodes: u64,
    /// Pages that the space map counts for the tree and that are no nodes: overflow pages, and leaked pages.
    pub other_pages: u64,
}

impl Tree {
    /// Walks the whole tree. `visit` sees every entry in key order. Other tasks may change the tree meanwhile; then the
    /// counts are approximate. An interrupted task gets [`std::io::ErrorKind::Interrupted`].
    pub fn check_tree(&self, mut visit: impl FnMut(&[u8], &[u8])) -> Result<TreeCheck, Error> {
        let mut walk = Walk {
            tree: self,
            found: TreeCheck::default(),
            pages: HashSet::new(),
            page: PageBuf::boxed(),
            notes: Notes::default(),
        };
        let mut from = Vec::new();
        while walk.leaf(&mut from, &mut visit)? {
            gannet_runtime::yield_if_due();
            if gannet_runtime::interrupted() {
                let error = std::sync::Arc::new(std::io::ErrorKind::Interrupted.into());
                return Err(Error::Io { what: "check of a tree", error });
            }
        }
        let used = self.pool.space().pages_of(self.id);
        let mut found = walk.found;
        found.other_pages = used.iter().filter(|no| !walk.pages.contains(no)).count() as u64;
        Ok(found)
    }
}

/// A check in progress.
struct Walk<'a> {
    tree: &'a Tree,
    found: TreeCheck,
    pages: HashSet<PageNo>,
    /// A copy of the node looked at, and what the descent to it noted.
    page: Box<PageBuf>,
    notes: Notes,
}

impl Walk<'_> {
    /// Checks the leaf for `from`, the inner nodes that begin with it, and moves `from` to the next leaf. `false`: it
    /// was the last one.
    fn leaf(&mut self, from: &mut Vec<u8>, visit: &mut dyn FnMut(&[u8], &[u8])) -> Result<bool, Error> {
        let mut level = 0;
        let (mut next, mut last) = (Vec::new(), false);
        while let Some(root) = self.node(from, level)? {
            let (node, bounds) = (Node(&*self.page), &self.notes.bounds);
            if level == 0 {
                self.found.leaves += 1;
                for i in 0..node.count() {
                    let key = node.key(i);
                    // What has moved here since it was seen is not new.
                    if key >= *from {
                        self.found.entries += 1;
                        visit(&key, node.value_bytes(i));
                    }
                }
                match bounds.upper.get() {
                    Some(upper) => next.extend_from_slice(upper),
                    None => last = true,
                }
            }
            if root || self.notes.outer.lower != bounds.lower {
                break;
            }
            level += 1;
        }
        if !last && next <= *from {
            let what = "the keys of inner nodes do not ascend";
            return Err(Error::page(self.page.page_no(), self.page.lsn(), what));
        }
        *from = next;
        Ok(!last)
    }

    /// Copies and checks the node for `key` at a level. Says whether it is the root; `None`: the tree is not so high
    /// any more.
    fn node(&mut self, key: &[u8], level: usize) -> Result<Option<bool>, Error> {
        let mut seen = None;
        loop {
            let Some((no, root)) = self.copy(key, level)? else { return Ok(None) };
            let Some(what) = self.fault(no, level)? else {
                self.found.nodes += 1;
                self.pages.insert(no);
                return Ok(Some(root));
            };
            let fault = (no, self.page.lsn(), what);
            if seen.replace(fault) == Some(fault) {
                return Err(Error::page(no, self.page.lsn(), what));
            }
        }
    }

    /// The page that was copied, and whether it is the root's.
    fn copy(&mut self, key: &[u8], level: usize) -> Result<Option<(PageNo, bool)>, Error> {
        let (tree, pool) = (self.tree, &*self.tree.pool);
        pool.run_as(Priority::Scan, || {
            let root = pool.optimistic_scan(tree.id.root())?;
            let height = Node(&root).level();
            tree.check_node(&root, height, usize::MAX)?;
            root.validate()?;
            if height < level {
                return Ok(None);
            }
            let found = tree.descend(pool, Target::Key(key), level, true, &mut self.notes)?;
            found.node.copy_page(&mut self.page);
            found.node.validate()?;
            Ok(Some((found.node.page_no(), found.parent.is_none())))
        })
    }

    /// What is wrong with the copy of page `no`. A node that is reached from two places has keys outside of its bounds
    /// at one of them.
    fn fault(&self, no: PageNo, level: usize) -> Result<Option<&'static str>, Error> {
        let Bounds { lower, upper } = &self.notes.bounds;
        let (lower, upper, page) = (lower.get(), upper.get(), &*self.page);
        if let Err(c) = check(page) {
            return Ok(Some(c.what));
        }
        let node = Node(page);
        let first = (node.count() > 0).then(|| node.key(0));
        let within = |key: &[u8]| lower.is_none_or(|l| key >= l) && upper.is_none_or(|u| key < u);
        let what = match () {
            () if page.page_no() != no => "page has another number",
            () if node.prefix_len() > prefix_between(lower, upper) => "node's prefix is longer than its bounds allow",
            () if !self.is_mapped(no)? => "the space map does not count the node for its tree",
            () if !(0..node.count()).all(|i| within(&node.key(i))) => "key is outside of the node's bounds",
            () if level > 0 && lower.is_some() && first.as_deref() == lower => "the leftmost child's range is empty",
            () => return Ok(None),
        };
        Ok(Some(what))
    }

    /// The space map must say that the page is the tree's and in use.
    fn is_mapped(&self, no: PageNo) -> Result<bool, Error> {
        let (map, index) = map_of(no);
        let e = self.tree.pool.read(map, |p| Ok(extent(p, index)))?;
        Ok(e.owner == self.tree.id && e.used >> (no.0 % 64) & 1 == 1)
    }
}
