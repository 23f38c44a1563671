//! Intervals of cuts, each with its owner. Intervals of one owner that touch are joined.

use std::collections::{BTreeMap, HashMap};

use gannet_base::sync::Arc;

use crate::Cut;
use crate::owner::Owner;
use crate::treap::Treap;
pub(crate) use crate::treap::{OwnedCut, Side};

#[derive(Default)]
pub(crate) struct Intervals {
    treap: Treap,
    /// Each owner's intervals by lower end: disjoint, not touching.
    by_owner: HashMap<u64, BTreeMap<OwnedCut, OwnedCut>>,
}

impl Intervals {
    /// Adds an interval, and joins it with those of the same owner that overlap or touch it. True if the owner had
    /// none.
    pub(crate) fn add(&mut self, owner: &Arc<Owner>, low: Cut<'_>, high: Cut<'_>) -> bool {
        let first = !self.by_owner.contains_key(&owner.id);
        let own = self.by_owner.entry(owner.id).or_default();
        // The common case: a scan takes its next step, and its last interval grows.
        if let Some(mut last) = own.last_entry()
            && last.key().cmp_cut(low).is_le()
            && last.get().cmp_cut(low).is_ge()
        {
            if last.get().cmp_cut(high).is_lt() {
                let high = OwnedCut::new(high);
                self.treap.extend(last.key(), owner.id, &high);
                last.insert(high);
            }
            return first;
        }
        let mut low = OwnedCut::new(low);
        let mut high = OwnedCut::new(high);
        if let Some((l, h)) = own.range(..=&low).next_back() {
            if *h >= high {
                return first;
            }
            if *h >= low {
                low = l.clone();
            }
        }
        while let Some((l, h)) = own.range(&low..=&high).next().map(|(l, h)| (l.clone(), h.clone())) {
            own.remove(&l);
            self.treap.remove(&l, owner.id);
            high = high.max(h);
        }
        own.insert(low.clone(), high.clone());
        self.treap.insert(low, high, owner.clone());
        first
    }

    /// Removes all intervals of the owner. False if there were none.
    pub(crate) fn remove(&mut self, owner: &Owner) -> bool {
        let Some(own) = self.by_owner.remove(&owner.id) else { return false };
        for low in own.keys() {
            self.treap.remove(low, owner.id);
        }
        true
    }

    /// Whether the owner has any.
    pub(crate) fn has(&self, owner: &Owner) -> bool {
        self.by_owner.contains_key(&owner.id)
    }

    /// Calls `f` for the owners of all intervals over `key`, until it returns false.
    pub(crate) fn over(&self, key: &[u8], f: impl FnMut(&Arc<Owner>) -> bool) {
        self.treap.over(key, f);
    }

    /// All intervals, in no order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&OwnedCut, &OwnedCut, &Arc<Owner>)> {
        self.treap.iter()
    }
}
