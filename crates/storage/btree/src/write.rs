//! A leaf latched for a change, positioned at a key, with room assured.

use gannet_buffer::{Error, Mtr, OptimisticGuard, PageRef, Stop};
use gannet_page::node::{LENGTH, MAX_ENTRY, MAX_KEY, SPACE, common_prefix, common_suffix, entry_space};
use gannet_page::{Node, PageBytes, PageOp};

use crate::descend::Target;
use crate::{Place, Spot, Tree};

/// Position of a key in a leaf that a mini-transaction has latched. Good until the leaf is changed; one change through
/// it.
#[derive(Clone, Copy, Debug)]
pub struct Leaf {
    page: PageRef,
    pos: usize,
    found: bool,
}

/// A leaf with fewer bytes in use is worth merging with a neighbour.
pub(crate) const UNDERFULL: usize = SPACE / 4;

/// A leaf had `before` bytes in use, and has `after`: it is to be merged. A merge that finds too much in the neighbour
/// is tried again when half as much is left, and when nothing is: a range that is deleted from one end leaves each leaf
/// beside a full one, and each of its last rows would have both looked at.
fn is_to_be_merged(before: usize, after: usize, count: usize) -> bool {
    let halves = |used: usize| if used < UNDERFULL { 1 + (UNDERFULL / used.max(1)).ilog2() } else { 0 };
    after < UNDERFULL && (count == 0 || halves(after) > halves(before))
}

/// Differing runs of a value closer than this are logged as one.
const RUN_GAP: usize = 8;

impl Tree {
    /// Latches the leaf for `key` exclusively, into `mtr`, with room to insert `key` with a value of `value_len` bytes
    /// if it is not there, or to make its value that long if it is. With `value_len` 0 an absent key gets no room: for
    /// removals.
    ///
    /// Splits happen before, in mini-transactions of their own: `mtr` must hold no latch.
    pub fn leaf_for_write<'p>(&self, mtr: &mut Mtr<'p>, key: &[u8], value_len: usize) -> Result<Leaf, Stop> {
        if key.len() + value_len > MAX_ENTRY {
            return Err(Error::TooLong { bytes: key.len() + value_len }.into());
        }
        self.latched_leaf(mtr, key, |node, pos, found| {
            if found {
                grown(node, pos, value_len)
            } else if value_len == 0 {
                (0, 0)
            } else {
                let new = entry_space(key.len().saturating_sub(node.prefix_len()), value_len);
                (new, new)
            }
        })
    }

    /// The leaf for `key`, whether it is there or not, with room for a value in it to grow by `bytes` bytes.
    pub fn leaf_with_room<'p>(&self, mtr: &mut Mtr<'p>, key: &[u8], bytes: usize) -> Result<Leaf, Stop> {
        self.latched_leaf(mtr, key, |node, pos, found| match (bytes, found) {
            (0, _) => (0, 0),
            (_, true) => grown(node, pos, node.entry(pos).value.len + bytes),
            (_, false) => (bytes + LENGTH, bytes + LENGTH),
        })
    }

    fn latched_leaf<'p>(
        &self,
        mtr: &mut Mtr<'p>,
        key: &[u8],
        need: impl Fn(Node<'_, OptimisticGuard<'p>>, usize, bool) -> (usize, usize),
    ) -> Result<Leaf, Stop> {
        if key.len() > MAX_KEY {
            return Err(Error::TooLong { bytes: key.len() }.into());
        }
        let pool = mtr.pool();
        loop {
            let guard = self.leaf(pool, key)?;
            let node = Node(&guard);
            let (pos, found) = node.search(key);
            let (need, whole) = need(node, pos, found);
            if node.takes(need, whole) {
                let page = mtr.upgrade(guard)?;
                return Ok(Leaf { page, pos, found });
            }
            guard.validate()?;
            drop(guard);
            gannet_base::check!(mtr.is_empty(), "INV-BT-4: a leaf has to be split while latches are held");
            self.split(pool, key, 0, (need, whole))?;
        }
    }
}

impl Leaf {
    /// As [`Tree::leaf_for_write`], without a descent where the entry of `key` still is at a spot.
    pub fn at_spot<'p>(tree: &Tree, mtr: &mut Mtr<'p>, key: &[u8], value_len: usize, spot: Spot) -> Result<Leaf, Stop> {
        if key.len() + value_len <= MAX_ENTRY
            && let Some((guard, pos)) = spot.leaf(tree, mtr.pool(), key)
        {
            let node = Node(&guard);
            let (need, whole) = grown(node, pos, value_len);
            if node.takes(need, whole) {
                let page = mtr.upgrade(guard)?;
                return Ok(Leaf { page, pos, found: true });
            }
        }
        tree.leaf_for_write(mtr, key, value_len)
    }

    /// As [`Tree::leaf_for_write`], for several keys that ascend: `place` has the leaf's bounds then, for
    /// [`Leaf::next`].
    pub fn for_run<'p>(
        tree: &'p Tree,
        mtr: &mut Mtr<'p>,
        key: &[u8],
        value_len: usize,
        place: &mut Place,
    ) -> Result<Leaf, Stop> {
        if key.len() + value_len > MAX_ENTRY || key.len() > MAX_KEY {
            return Err(Error::TooLong { bytes: key.len() + value_len }.into());
        }
        loop {
            let guard = tree.leaf_by(Target::Key(key), place, None)?;
            let node = Node(&guard);
            let (pos, found) = node.search_new(key);
            let need = entry_space(key.len().saturating_sub(node.prefix_len()), value_len);
            if found || node.takes(need, need) {
                let page = mtr.upgrade(guard)?;
                return Ok(Leaf { page, pos, found });
            }
            guard.validate()?;
            drop(guard);
            gannet_base::check!(mtr.is_empty(), "INV-BT-4: a leaf has to be split while latches are held");
            tree.split(mtr.pool(), key, 0, (need, need))?;
        }
    }

    /// The leaf for a key beyond the bounds of `place`, beside those that `mtr` has latched. `None`: the key is there,
    /// there is no room, or the leaf is not to be had at once.
    pub fn beside<'p>(
        tree: &'p Tree,
        mtr: &mut Mtr<'p>,
        key: &[u8],
        value_len: usize,
        place: &mut Place,
    ) -> Option<Leaf> {
        if key.len() + value_len > MAX_ENTRY || key.len() > MAX_KEY {
            return None;
        }
        let guard = tree.leaf_by(Target::Key(key), place, None).ok()?;
        let node = Node(&guard);
        let (pos, found) = node.search_new(key);
        let need = entry_space(key.len().saturating_sub(node.prefix_len()), value_len);
        if found || !node.takes(need, need) {
            return None;
        }
        let page = mtr.upgrade(guard).ok()?;
        Some(Leaf { page, pos, found })
    }

    /// Whether the key is in the leaf.
    #[inline]
    pub fn found(&self) -> bool {
        self.found
    }

    /// The leaf's page.
    pub fn page(&self) -> PageRef {
        self.page
    }

    /// The position of the first key that is greater, in the leaf as it was latched.
    #[inline]
    pub fn behind(&self) -> usize {
        self.pos + usize::from(self.found)
    }

    /// The value. The key must have been found.
    #[inline]
    pub fn value<'m>(&self, mtr: &'m Mtr<'_>) -> &'m [u8] {
        Node(mtr.page(self.page)).value_bytes(self.pos)
    }

    /// Appends the next key in this leaf above the position's (the found key itself not counted) to `out`; false when
    /// the leaf has none.
    pub fn next_key(&self, mtr: &Mtr<'_>, out: &mut Vec<u8>) -> bool {
        let node = Node(mtr.page(self.page));
        let next = self.behind();
        if next < node.count() {
            node.key_to(next, out);
        }
        next < node.count()
    }

    /// The position of a greater key that is not there, if it belongs into the same leaf, whose bounds `place` has, and
    /// has room in it.
    pub fn next(&self, mtr: &Mtr<'_>, key: &[u8], value_len: usize, place: &Place) -> Option<Leaf> {
        if !place.is_below_end(key) { None } else { self.next_here(mtr, key, value_len) }
    }

    /// The position of a greater key that is not there, and belongs into the same leaf, if that has room.
    pub fn next_here(&self, mtr: &Mtr<'_>, key: &[u8], value_len: usize) -> Option<Leaf> {
        if key.len() + value_len > MAX_ENTRY {
            return None;
        }
        let node = Node(mtr.page(self.page));
        let (pos, found) = node.search_behind(self.pos, key);
        let need = entry_space(key.len().saturating_sub(node.prefix_len()), value_len);
        (!found && node.takes(need, need)).then_some(Leaf { page: self.page, pos, found })
    }

    /// How many entries from the position on are such that `is` holds for key and value; the last one's key goes into
    /// `last`.
    pub fn run(&self, mtr: &Mtr<'_>, last: &mut Vec<u8>, mut is: impl FnMut(&[u8], &[u8]) -> bool) -> usize {
        let (node, mut key) = (Node(mtr.page(self.page)), Vec::new());
        let mut n = 0;
        while self.pos + n < node.count() {
            key.clear();
            node.key_to(self.pos + n, &mut key);
            if !is(&key, node.value_bytes(self.pos + n)) {
                break;
            }
            std::mem::swap(last, &mut key);
            n += 1;
        }
        n
    }

    /// Removes so many entries from the position on. True as for [`Leaf::remove`].
    pub fn remove_run(&self, mtr: &mut Mtr<'_>, n: usize) -> bool {
        let before = Node(mtr.page(self.page)).used_space();
        for pos in (self.pos..self.pos + n).rev() {
            mtr.apply(self.page, &PageOp::Remove { pos: pos as u16 });
        }
        let node = Node(mtr.page(self.page));
        is_to_be_merged(before, node.used_space(), node.count())
    }

    /// Inserts the entry. The key must be the one the leaf was positioned at, and not found.
    pub fn insert(&self, mtr: &mut Mtr<'_>, key: &[u8], value: &[u8]) {
        debug_assert!(!self.found, "INV-BT-5: a key is in a tree once");
        let suffix = &key[Node(mtr.page(self.page)).prefix_len()..];
        mtr.apply(self.page, &PageOp::Insert { pos: self.pos as u16, suffix, value });
    }

    /// Replaces the found key's value. Only the bytes that differ are logged.
    pub fn replace(&self, mtr: &mut Mtr<'_>, value: &[u8]) {
        let old = self.value(mtr).to_vec();
        if old.len() == value.len() {
            let mut start = common_prefix(&old, value);
            while start < old.len() {
                let end = end_of_run(&old, value, start);
                self.splice(mtr, start, end - start, &value[start..end]);
                start = end + common_prefix(&old[end..], &value[end..]);
            }
            return;
        }
        let front = common_prefix(&old, value);
        let back = common_suffix(&old[front..], &value[front..]);
        self.splice(mtr, front, old.len() - front - back, &value[front..value.len() - back]);
    }

    /// In the found key's value, replaces `cut` bytes from `at` by `bytes`.
    pub fn splice(&self, mtr: &mut Mtr<'_>, at: usize, cut: usize, bytes: &[u8]) {
        debug_assert!(self.found, "the value of a key that is not there is changed");
        mtr.apply(self.page, &PageOp::Splice { pos: self.pos as u16, at: at as u16, cut: cut as u16, bytes });
    }

    /// Removes the found key. True when the leaf has become so empty that [`Tree::merge`] should be called after the
    /// commit.
    pub fn remove(&self, mtr: &mut Mtr<'_>) -> bool {
        debug_assert!(self.found, "a key that is not there is removed");
        self.remove_run(mtr, 1)
    }
}

/// Bytes that the node needs more for the value at `pos` to have `len`, and those of the whole entry, which moves when
/// it grows.
fn grown<P: PageBytes>(node: Node<'_, P>, pos: usize, len: usize) -> (usize, usize) {
    let old = node.entry(pos);
    let whole = entry_space(old.suffix.len, len);
    match whole.saturating_sub(entry_space(old.suffix.len, old.value.len)) {
        0 => (0, 0),
        need => (need, whole),
    }
}

/// End of the run of differing bytes that begins at `start`; runs with short gaps are one.
fn end_of_run(old: &[u8], new: &[u8], start: usize) -> usize {
    let mut end = start + 1;
    let mut i = end;
    while i < old.len() && i < end + RUN_GAP {
        if old[i] != new[i] {
            end = i + 1;
        }
        i += 1;
    }
    end
}

#[cfg(test)]
mod tests {
    use super::{UNDERFULL, is_to_be_merged};

    #[test]
    fn a_leaf_that_empties_is_to_be_merged_a_few_times() {
        let used = (0..=UNDERFULL + 100).rev().step_by(20);
        let asked: Vec<usize> = used.filter(|after| is_to_be_merged(after + 20, *after, 1)).collect();
        assert!((5..=12).contains(&asked.len()), "{asked:?}");
        assert!(asked[0] < UNDERFULL && asked[0] + 20 >= UNDERFULL);
        // The last entry, however little it took, and a run of many.
        assert!(is_to_be_merged(9, 8, 0) && is_to_be_merged(2 * UNDERFULL, 1, 1));
        assert!(!is_to_be_merged(2 * UNDERFULL, UNDERFULL, 1));
    }
}
