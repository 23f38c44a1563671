//! Keys of rows that index entries have led to, which are read together: see [`TreeHandle::approach`].

use gannet_engine::{APPROACHED, TreeHandle};
use smallvec::SmallVec;

/// These keys, one behind the other, and where each ends.
#[derive(Default)]
pub(super) struct Gathered {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Gathered {
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(super) fn is_full(&self) -> bool {
        self.len() == APPROACHED
    }

    pub(super) fn push(&mut self, key: &[u8]) {
        self.bytes.extend_from_slice(key);
        self.ends.push(self.bytes.len());
    }

    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    pub(super) fn keys(&self) -> impl Iterator<Item = &[u8]> {
        self.ends.iter().scan(0, |start, end| self.bytes.get(std::mem::replace(start, *end)..*end))
    }

    /// Has what reading these rows will touch fetched.
    pub(super) fn approach(&self, tree: &TreeHandle) {
        tree.approach(&self.keys().collect::<SmallVec<[&[u8]; APPROACHED]>>());
    }
}
