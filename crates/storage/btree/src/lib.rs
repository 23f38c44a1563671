//! B+trees over buffer and log.
//!
//! Keys and values are bytes; keys compare with `memcmp`. See `README.md` beside this crate for the algorithms, the
//! latch order, what a reader may find half done, and the invariants.
//!
//! | module | what |
//! |---|---|
//! | `descend` | from the root to a node, optimistically, with the node's bounds |
//! | `write` | a leaf latched for a change, with room assured |
//! | `split`, `merge` | changes of structure, each a mini-transaction of its own |
//! | [`Builder`] | an empty tree filled bottom-up from sorted entries |
//! | [`Cursor`] | scans over private copies of entries |
//! | [`Place`] | the leaf that was visited last, for who goes to keys close to each other |
//! | `overflow` | chains of pages for long values |
//! | `estimate`, `verify` | figures for the optimizer; checking a whole tree |

mod build;
mod cursor;
mod descend;
mod estimate;
mod merge;
mod overflow;
mod place;
mod split;
mod verify;
mod write;

use std::fmt;

use gannet_base::sync::Arc;
use gannet_base::{PageNo, TreeId};
use gannet_buffer::{Error, Mtr, Pool, Reservation, Stop};
use gannet_page::{Node, PageBytes, PageOp};
use gannet_telemetry::{Counter, count};

pub use build::{Builder, Built, Part};
pub use cursor::Cursor;
pub use descend::Bound;
pub use estimate::{RangeEstimate, TreeStats};
pub use gannet_page::MAX_KEY;
pub use gannet_page::node::MAX_ENTRY;
pub use place::{APPROACHED, Approach, Place, Spot, approach_leaves};
pub use verify::TreeCheck;
pub use write::Leaf;

/// A B+tree: an ordered map from byte strings to byte strings. Cheap to clone.
#[derive(Clone)]
pub struct Tree {
    pool: Arc<Pool>,
    id: TreeId,
}

impl fmt::Debug for Tree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.id)
    }
}

impl Tree {
    /// The tree with this id. Whether there is one shows at its first use.
    pub fn open(pool: Arc<Pool>, id: TreeId) -> Tree {
        Tree { pool, id }
    }

    /// Makes an empty tree in the caller's mini-transaction. Returns its id. The reservation comes from
    /// [`Pool::reserve_tree`].
    pub fn create_in<'p>(mtr: &mut Mtr<'p>, mut root: Reservation<'p>) -> TreeId {
        let owner = root.owner();
        let page = mtr.take(&mut root);
        let op = PageOp::FormatNode { owner, level: 0, leftmost: PageNo::ZERO, prefix: &[], entries: &[] };
        mtr.apply(page, &op);
        owner
    }

    /// Makes an empty tree in a mini-transaction of its own.
    pub fn create(pool: &Arc<Pool>) -> Result<Tree, Error> {
        let id = pool.run(|| {
            let mut mtr = pool.mtr()?;
            let root = pool.reserve_tree()?;
            let id = Tree::create_in(&mut mtr, root);
            mtr.commit();
            Ok(id)
        })?;
        Ok(Tree { pool: pool.clone(), id })
    }

    /// Frees everything the tree has. It must not be used any more. [`Pool::free_tree`] explains `last`.
    pub fn free(&self, last: impl for<'p> FnMut(&mut Mtr<'p>) -> Result<(), Stop>) -> Result<(), Error> {
        self.pool.free_tree(self.id, last).map(drop)
    }

    /// The tree's id: the number of its root page.
    #[inline]
    pub fn id(&self) -> TreeId {
        self.id
    }

    /// The pool it lives in.
    #[inline]
    pub fn pool(&self) -> &Arc<Pool> {
        &self.pool
    }

    /// Appends the value of `key` to `out`; false when there is none. Writes no memory that other threads read.
    #[inline]
    pub fn lookup(&self, key: &[u8], out: &mut Vec<u8>) -> Result<bool, Error> {
        let start = out.len();
        self.pool.run(|| {
            out.truncate(start);
            let leaf = self.leaf(&self.pool, key)?;
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

    /// Whether `key` is in the tree.
    pub fn contains(&self, key: &[u8]) -> Result<bool, Error> {
        self.pool.run(|| {
            let leaf = self.leaf(&self.pool, key)?;
            let (_, found) = Node(&leaf).search(key);
            leaf.validate()?;
            Ok(found)
        })
    }

    /// Inserts or replaces one entry in a mini-transaction of its own. Returns whether the key was there.
    pub fn put(&self, key: &[u8], value: &[u8]) -> Result<bool, Error> {
        self.pool.run(|| {
            let mut mtr = self.pool.mtr()?;
            let leaf = self.leaf_for_write(&mut mtr, key, value.len())?;
            if leaf.found() {
                leaf.replace(&mut mtr, value)
            } else {
                leaf.insert(&mut mtr, key, value)
            }
            mtr.commit();
            Ok(leaf.found())
        })
    }

    /// Removes one entry in a mini-transaction of its own, and merges the leaf if it became too empty. Returns whether
    /// the key was there.
    pub fn delete(&self, key: &[u8]) -> Result<bool, Error> {
        let (found, underfull) = self.pool.run(|| {
            let mut mtr = self.pool.mtr()?;
            let leaf = self.leaf_for_write(&mut mtr, key, 0)?;
            let underfull = leaf.found() && leaf.remove(&mut mtr);
            mtr.commit();
            Ok((leaf.found(), underfull))
        })?;
        if underfull {
            self.merge(key)?;
        }
        Ok(found)
    }

    /// A cursor over this tree.
    pub fn cursor(&self) -> Cursor {
        Cursor::new(self.clone())
    }
}

/// What a page that should be a node of the tree is: the answer to a failed check, once the page is known to be stable.
#[cold]
fn not_a_node<P: PageBytes + ?Sized>(page: &P, no: PageNo) -> Stop {
    let what = if Node(page).is_node() {
        "node belongs to another tree or level than its parent says"
    } else {
        "page is not a node of the tree that leads to it"
    };
    Stop::Failed(Error::page(no, gannet_base::Lsn(page.u64_at(8)), what))
}
