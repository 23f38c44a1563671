//! Merging nodes that have become too empty with a neighbour under the same parent.
//!
//! A node never loses its last child, and content moves only between neighbours under one parent: so the bounds of a
//! node change only together with a change of its parent (INV-BT-2), which optimistic descents notice.

use gannet_base::PageNo;
use gannet_buffer::{Error, Mtr, PageRef, Pool, Stop};
use gannet_page::node::{SPACE, encode_entry, entry_space};
use gannet_page::{Node, PageBuf, PageOp};
use gannet_telemetry::{Counter, count};

use crate::Tree;
use crate::descend::{Notes, Target, prefix_between};
use crate::write::UNDERFULL;

/// Two nodes are merged when together they use at most this: it leaves room before the next split.
const MERGED: usize = SPACE * 3 / 4;

/// Rounds over the levels in one call, at most.
const ROUNDS: usize = 16;

/// What came of an attempt at one level.
enum Outcome {
    /// Nothing to do, or not possible.
    Done,
    /// The node is its parent's only child: first the parent has to get neighbours' children.
    OnlyChild,
    /// Two nodes became one, or divided their children again; `above` when the parent has become too empty by that.
    Merged { above: bool },
}

impl Tree {
    /// Merges the leaf for `key` with a neighbour if it is too empty, and its ancestors likewise. Called without any
    /// latch, after the mini-transaction that emptied the leaf. A merge that is not possible now is left to the next
    /// call.
    pub fn merge(&self, key: &[u8]) -> Result<(), Error> {
        for _ in 0..ROUNDS {
            let (mut level, mut again) = (0, false);
            loop {
                match self.pool.run(|| self.merge_at(&self.pool, key, level))? {
                    Outcome::Done => break,
                    Outcome::OnlyChild => level += 1,
                    Outcome::Merged { above } => {
                        // The nodes below may have got neighbours.
                        again |= level > 0;
                        if !above {
                            break;
                        }
                        level += 1;
                    }
                }
            }
            if !again {
                break;
            }
        }
        Ok(())
    }

    fn merge_at(&self, pool: &Pool, key: &[u8], level: usize) -> Result<Outcome, Stop> {
        let mut mtr = pool.mtr()?;
        let mut notes = Notes::default();
        let found = match self.descend(pool, Target::Key(key), level, false, &mut notes) {
            // The tree has become lower meanwhile.
            Err(Stop::Restart) if level > 0 => {
                let root = pool.optimistic(self.id.root())?;
                let height = Node(&root).level();
                root.validate()?;
                return if height < level { Ok(Outcome::Done) } else { Err(Stop::Restart) };
            }
            other => other?,
        };
        let Some((parent, index)) = found.parent else {
            return self.lower_root(mtr, found.node.upgrade()?).map(|()| Outcome::Done);
        };
        let node = Node(&found.node);
        let wanted = node.used_space() < UNDERFULL || node.count() == 0;
        let siblings = Node(&parent).count();
        found.node.validate()?;
        parent.validate()?;
        if !wanted {
            return Ok(Outcome::Done);
        }
        if siblings == 0 {
            return Ok(Outcome::OnlyChild);
        }
        count(Counter::IndexPageMergeAttempts);
        // The right neighbour, or for the last child the left one.
        let left_index = if index < siblings { index } else { index - 1 };
        let other = Node(&parent).child(if index < siblings { index + 1 } else { index - 1 });
        let parent = mtr.upgrade(parent)?;
        let node = mtr.upgrade(found.node)?;
        let other = mtr.try_latch(other)?;
        let (left, right) = if index < siblings { (node, other) } else { (other, node) };
        if self.merge_pair(&mut mtr, parent, left_index, left, right, &notes)? {
            let above = Node(mtr.page(parent));
            let more = above.used_space() < UNDERFULL || above.count() == 0;
            mtr.commit();
            count(Counter::PageMerges);
            return Ok(Outcome::Merged { above: more });
        }
        Ok(Outcome::Done)
    }

    /// Moves everything of `right` into `left` and frees `right`, if it fits.
    fn merge_pair(
        &self,
        mtr: &mut Mtr<'_>,
        parent: PageRef,
        left_index: usize,
        left: PageRef,
        right: PageRef,
        notes: &Notes,
    ) -> Result<bool, Stop> {
        let (above, l, r) = (Node(mtr.page(parent)), Node(mtr.page(left)), Node(mtr.page(right)));
        for (node, page) in [(l, left), (r, right)] {
            if !node.is_node() || node.owner() != self.id.0 || node.level() + 1 != above.level() {
                return Err(crate::not_a_node(mtr.page(page), mtr.page_no(page)));
            }
        }
        let level = l.level() as u8;
        let separator = above.key(left_index);
        let lower = match left_index {
            0 => notes.outer.lower.get().map(<[u8]>::to_vec),
            i => Some(above.key(i - 1)),
        };
        let upper = match left_index + 1 {
            i if i == above.count() => notes.outer.upper.get().map(<[u8]>::to_vec),
            i => Some(above.key(i)),
        };
        let prefix_len = prefix_between(lower.as_deref(), upper.as_deref());
        let pulled = if level > 0 { entry_space(separator.len() - prefix_len, 8) } else { 0 };
        let total = prefix_len + pulled + space_with_prefix(l, prefix_len) + space_with_prefix(r, prefix_len);
        let empty = l.count() == 0 || r.count() == 0;
        if total > if empty { SPACE } else { MERGED } {
            return Ok(empty && level > 0 && self.rotate(mtr, parent, left_index, left, right, notes));
        }
        let leftmost = if level == 0 { PageNo::ZERO } else { l.child(0) };
        let prefix = separator[..prefix_len].to_vec();
        if level == 0 && r.count() == 0 {
            if l.prefix_len() != prefix_len {
                let keep = l.count() as u16;
                mtr.apply(left, &PageOp::Rebuild { keep, prefix: &prefix });
            }
        } else {
            let mut entries = Vec::new();
            l.encode_entries(0..l.count(), prefix_len, &mut entries);
            if level > 0 {
                encode_entry(&separator[prefix_len..], &r.child(0).0.to_le_bytes(), &mut entries);
            }
            r.encode_entries(0..r.count(), prefix_len, &mut entries);
            let op = PageOp::FormatNode { owner: self.id, level, leftmost, prefix: &prefix, entries: &entries };
            mtr.apply(left, &op);
        }
        mtr.apply(parent, &PageOp::Remove { pos: left_index as u16 });
        mtr.free(right);
        if empty {
            count(Counter::IndexPageDiscards);
        }
        Ok(true)
    }

    /// Moves one of the neighbour's children into an inner node without separators, which cannot be merged because
    /// separators are long. So the node's only child gets a neighbour. False when the parent has no room for the
    /// other separator.
    fn rotate(
        &self,
        mtr: &mut Mtr<'_>,
        parent: PageRef,
        left_index: usize,
        left: PageRef,
        right: PageRef,
        notes: &Notes,
    ) -> bool {
        let (above, l, r) = (Node(mtr.page(parent)), Node(mtr.page(left)), Node(mtr.page(right)));
        let old = above.key(left_index);
        let to_left = l.count() == 0;
        if r.count() == 0 && to_left {
            return false;
        }
        let new = if to_left { r.key(0) } else { l.key(l.count() - 1) };
        if new.len() > old.len() + above.free_space() {
            return false;
        }
        let bound = |i: Option<usize>, outer: Option<&[u8]>| match i {
            Some(i) => Some(above.key(i)),
            None => outer.map(<[u8]>::to_vec),
        };
        // The node that gains a child is rewritten: its range has grown.
        let (lower, upper, page, leftmost, second) = if to_left {
            let lower = bound(left_index.checked_sub(1), notes.outer.lower.get());
            (lower, Some(new.clone()), left, l.child(0), r.child(0))
        } else {
            let next = Some(left_index + 1).filter(|&i| i < above.count());
            let upper = bound(next, notes.outer.upper.get());
            (Some(new.clone()), upper, right, l.child(l.count()), r.child(0))
        };
        let prefix_len = prefix_between(lower.as_deref(), upper.as_deref());
        let (level, last) = (l.level() as u8, l.count().wrapping_sub(1));
        let suffix = new[above.prefix_len()..].to_vec();
        let mut entries = Vec::new();
        encode_entry(&old[prefix_len..], &second.0.to_le_bytes(), &mut entries);
        let prefix = &old[..prefix_len];
        mtr.apply(page, &PageOp::FormatNode { owner: self.id, level, leftmost, prefix, entries: &entries });
        if to_left {
            mtr.apply(right, &PageOp::DropLeftmost);
        } else {
            mtr.apply(left, &PageOp::Remove { pos: last as u16 });
        }
        let child = mtr.page_no(right).0.to_le_bytes();
        mtr.apply(parent, &PageOp::Remove { pos: left_index as u16 });
        mtr.apply(parent, &PageOp::Insert { pos: left_index as u16, suffix: &suffix, value: &child });
        true
    }

    /// A root with one child takes over the child's content, until it has more or is a leaf.
    fn lower_root<'p>(&self, mut mtr: Mtr<'p>, root: gannet_buffer::ExclusiveGuard<'p>) -> Result<(), Stop> {
        let root = mtr.own(root);
        let node = Node(mtr.page(root));
        if node.level() == 0 || node.count() > 0 {
            return Ok(());
        }
        let level = node.level() - 1;
        let child = mtr.latch(node.child(0))?;
        let from = Node(mtr.page(child));
        if !from.is_node() || from.owner() != self.id.0 || from.level() != level {
            return Err(crate::not_a_node(mtr.page(child), mtr.page_no(child)));
        }
        let leftmost = if level == 0 { PageNo::ZERO } else { from.child(0) };
        let more = level > 0 && from.count() == 0;
        let mut entries = Vec::new();
        from.encode_entries(0..from.count(), 0, &mut entries);
        let op = PageOp::FormatNode { owner: self.id, level: level as u8, leftmost, prefix: &[], entries: &entries };
        mtr.apply(root, &op);
        mtr.free(child);
        mtr.commit();
        count(Counter::PageMerges);
        if more { Err(Stop::Restart) } else { Ok(()) }
    }
}

/// Bytes a node's entries take when only `prefix_len` bytes are common.
fn space_with_prefix(node: Node<'_, PageBuf>, prefix_len: usize) -> usize {
    let longer = node.prefix_len() - prefix_len.min(node.prefix_len());
    let size = |i| {
        let e = node.entry(i);
        entry_space(e.suffix.len + longer, e.value.len)
    };
    (0..node.count()).map(size).sum()
}
