//! Checking a whole tree: structure of every node, order, bounds, levels, ownership.

use std::collections::HashSet;

use gannet_base::PageNo;
use gannet_buffer::{Error, Priority};
use gannet_page::raw::{extent, map_of};
use gannet_page::{Node, PageBuf, PageBytes, check};

use crate::Tree;
use crate::descend::prefix_between;

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

/// The tree may change while it is walked: damage is believed when it is seen so often.
const TRIES: usize = 3;

impl Tree {
    /// Walks the whole tree. `visit` sees every entry in key order. Other tasks may change the tree meanwhile; then the count of
    /// other pages is approximate. An interrupted task gets [`std::io::ErrorKind::Interrupted`].
    pub fn check_tree(&self, mut visit: impl FnMut(&[u8], &[u8])) -> Result<TreeCheck, Error> {
        let mut tries = 0;
        loop {
            tries += 1;
            let mut walk = Walk { tree: self, found: TreeCheck::default(), pages: HashSet::new(), visit: &mut visit };
            match walk.node(self.id.root(), None, None, None) {
                Ok(()) => {
                    let used = self.pool.space().pages_of(self.id);
                    let mut found = walk.found;
                    found.other_pages = used.iter().filter(|no| !walk.pages.contains(no)).count() as u64;
                    return Ok(found);
                }
                Err(Error::Page(_)) if tries < TRIES => continue,
                Err(e) => return Err(e),
            }
        }
    }
}

struct Walk<'a> {
    tree: &'a Tree,
    found: TreeCheck,
    pages: HashSet<PageNo>,
    visit: &'a mut dyn FnMut(&[u8], &[u8]),
}

impl Walk<'_> {
    /// The node at `no`, which is for keys from `lower` on and below `upper`, and everything below it. Recursion is bounded by the levels,
    /// which fall by one each.
    fn node(
        &mut self,
        no: PageNo,
        level: Option<usize>,
        lower: Option<&[u8]>,
        upper: Option<&[u8]>,
    ) -> Result<(), Error> {
        gannet_runtime::yield_if_due();
        if gannet_runtime::interrupted() {
            let error = std::sync::Arc::new(std::io::ErrorKind::Interrupted.into());
            return Err(Error::Io { what: "check of a tree", error });
        }
        let pool = &self.tree.pool;
        let mut page = PageBuf::boxed();
        pool.run_as(Priority::Scan, || {
            let guard = pool.optimistic_scan(no)?;
            guard.copy_page(&mut page);
            guard.validate()
        })?;
        let bad = |what: &'static str| Error::page(no, page.lsn(), what);
        check(&page).map_err(|c| bad(c.what))?;
        let node = Node(&*page);
        if !node.is_node() || page.owner() != self.tree.id || page.page_no() != no {
            return Err(bad("page is not a node of the tree that leads to it"));
        }
        if level.is_some_and(|level| node.level() != level) {
            return Err(bad("node has another level than its parent says"));
        }
        if !self.pages.insert(no) {
            return Err(bad("node is reached twice"));
        }
        if node.prefix_len() > prefix_between(lower, upper) {
            return Err(bad("node's prefix is longer than its bounds allow"));
        }
        self.is_mapped(no)?;
        let mut keys: Vec<Vec<u8>> = Vec::with_capacity(node.count());
        for i in 0..node.count() {
            let key = node.key(i);
            if lower.is_some_and(|lower| &key[..] < lower) || upper.is_some_and(|upper| &key[..] >= upper) {
                return Err(bad("key is outside of the node's bounds"));
            }
            keys.push(key);
        }
        self.found.nodes += 1;
        if node.level() == 0 {
            self.found.leaves += 1;
            self.found.entries += keys.len() as u64;
            for (i, key) in keys.iter().enumerate() {
                (self.visit)(key, node.value_bytes(i));
            }
            return Ok(());
        }
        if lower.is_some() && keys.first().map(|k| &k[..]) == lower {
            return Err(bad("the leftmost child's range is empty"));
        }
        for i in 0..=keys.len() {
            let low = if i == 0 { lower } else { Some(&keys[i - 1][..]) };
            let high = if i == keys.len() { upper } else { Some(&keys[i][..]) };
            self.node(node.child(i), Some(node.level() - 1), low, high)?;
        }
        Ok(())
    }

    /// The space map must say that the page is the tree's and in use.
    fn is_mapped(&self, no: PageNo) -> Result<(), Error> {
        let (map, index) = map_of(no);
        let e = self.tree.pool.read(map, |p| Ok(extent(p, index)))?;
        if e.owner == self.tree.id && e.used >> (no.0 % 64) & 1 == 1 {
            return Ok(());
        }
        Err(Error::page(no, gannet_base::Lsn::ZERO, "the space map does not count the node for its tree"))
    }
}
