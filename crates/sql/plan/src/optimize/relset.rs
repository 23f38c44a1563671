//! Sets of a block's relations.

/// Relations by position; a block has at most 61.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
pub(super) struct RelSet(pub(super) u64);

impl RelSet {
    pub(super) const EMPTY: RelSet = RelSet(0);

    pub(super) fn one(i: usize) -> RelSet {
        RelSet(1 << i)
    }

    pub(super) fn union(self, other: RelSet) -> RelSet {
        RelSet(self.0 | other.0)
    }

    pub(super) fn intersect(self, other: RelSet) -> RelSet {
        RelSet(self.0 & other.0)
    }

    pub(super) fn minus(self, other: RelSet) -> RelSet {
        RelSet(self.0 & !other.0)
    }

    pub(super) fn intersects(self, other: RelSet) -> bool {
        self.0 & other.0 != 0
    }

    pub(super) fn within(self, other: RelSet) -> bool {
        self.0 & !other.0 == 0
    }

    /// The least member; 0 of an empty set.
    pub(super) fn first(self) -> usize {
        if self.0 == 0 { 0 } else { self.0.trailing_zeros() as usize }
    }

    pub(super) fn is_empty(self) -> bool {
        self.0 == 0
    }
}
