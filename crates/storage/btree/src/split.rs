//! Splitting nodes. Each split is a mini-transaction of its own, after which the tree is valid; the change that needs
//! the room comes later.

use gannet_base::PageNo;
use gannet_buffer::{Mtr, PageRef, Pool, Stop};
use gannet_page::node::{SPACE, encode_entry, entry_space, separator};
use gannet_page::{Node, PageBuf, PageOp};
use gannet_telemetry::{Counter, count};

use crate::Tree;
use crate::descend::{Notes, Target, prefix_between};

/// Consecutive ascending or descending inserts from which on a split in the middle of a page goes by the run.
const RUN: i16 = 3;

/// Where a node is cut. Entries from `at` on go right; in an inner node entry `at` itself becomes the separator.
struct Plan {
    at: usize,
    separator: Vec<u8>,
}

impl Tree {
    /// Makes room in the node at `level` for `key`: splits it, or an ancestor that has no room for the new separator.
    /// One split a call and level; the caller looks again. `need`: see [`Node::takes`].
    pub(crate) fn split(&self, pool: &Pool, key: &[u8], level: usize, need: (usize, usize)) -> Result<(), Stop> {
        let parent_need = {
            // Parks if it must, so before everything else.
            let mut mtr = pool.mtr()?;
            let mut notes = Notes::default();
            let found = self.descend(pool, Target::Key(key), level, false, &mut notes)?;
            let is_root = found.parent.is_none();
            let mut pages = pool.reserve(self.id, if is_root { 2 } else { 1 })?;
            let parent = match found.parent {
                Some((guard, index)) => Some((mtr.upgrade(guard)?, index)),
                None => None,
            };
            let node = mtr.upgrade(found.node)?;
            if Node(mtr.page(node)).takes(need.0, need.1) {
                return Ok(());
            }
            let plan = plan(mtr.page(node), key);
            match parent {
                None => {
                    let (left, right) = (mtr.take(&mut pages), mtr.take(&mut pages));
                    self.split_root(&mut mtr, node, left, right, &plan);
                    None
                }
                Some((parent, index)) => {
                    let above = Node(mtr.page(parent));
                    let need = entry_space(plan.separator.len() - above.prefix_len(), 8);
                    if !above.takes(need, need) {
                        Some((need, need))
                    } else {
                        let right = mtr.take(&mut pages);
                        self.split_below(&mut mtr, (parent, index), node, right, &plan, &notes);
                        None
                    }
                }
            }
            .or_else(|| {
                mtr.commit();
                count(Counter::PageSplits);
                None
            })
        };
        match parent_need {
            // The tree's height bounds this.
            Some(need) => self.split(pool, key, level + 1, need),
            None => Ok(()),
        }
    }

    /// A node below the root: its upper part goes to a new right neighbour.
    fn split_below(
        &self,
        mtr: &mut Mtr<'_>,
        (parent, index): (PageRef, usize),
        node: PageRef,
        right: PageRef,
        plan: &Plan,
        notes: &Notes,
    ) {
        let separator = &plan.separator[..];
        let lower_len = prefix_between(notes.bounds.lower.get(), Some(separator));
        let upper_len = prefix_between(Some(separator), notes.bounds.upper.get());
        self.format_part(mtr, node, right, plan, upper_len);
        mtr.apply(node, &PageOp::Rebuild { keep: plan.at as u16, prefix: &separator[..lower_len] });
        let child = mtr.page_no(right).0.to_le_bytes();
        let suffix = &separator[Node(mtr.page(parent)).prefix_len()..];
        mtr.apply(parent, &PageOp::Insert { pos: index as u16, suffix, value: &child });
    }

    /// The root keeps its number: both halves go to new children.
    fn split_root(&self, mtr: &mut Mtr<'_>, root: PageRef, left: PageRef, right: PageRef, plan: &Plan) {
        let node = Node(mtr.page(root));
        let level = node.level() as u8;
        let leftmost = if level == 0 { PageNo::ZERO } else { node.child(0) };
        let mut entries = Vec::new();
        node.encode_entries(0..plan.at, 0, &mut entries);
        mtr.apply(left, &PageOp::FormatNode { owner: self.id, level, leftmost, prefix: &[], entries: &entries });
        self.format_part(mtr, root, right, plan, 0);
        entries.clear();
        encode_entry(&plan.separator, &mtr.page_no(right).0.to_le_bytes(), &mut entries);
        let leftmost = mtr.page_no(left);
        let op = PageOp::FormatNode { owner: self.id, level: level + 1, leftmost, prefix: &[], entries: &entries };
        mtr.apply(root, &op);
    }

    /// Formats `right` with the upper part of `node`.
    fn format_part(&self, mtr: &mut Mtr<'_>, node: PageRef, right: PageRef, plan: &Plan, prefix_len: usize) {
        let from = Node(mtr.page(node));
        let level = from.level() as u8;
        let (first, leftmost) = match level {
            0 => (plan.at, PageNo::ZERO),
            // The separator's child becomes the right node's leftmost one.
            _ => (plan.at + 1, from.child(plan.at + 1)),
        };
        let mut entries = Vec::new();
        from.encode_entries(first..from.count(), prefix_len, &mut entries);
        let prefix = &plan.separator[..prefix_len];
        mtr.apply(right, &PageOp::FormatNode { owner: self.id, level, leftmost, prefix, entries: &entries });
    }
}

/// Chooses where to cut a full node for the insert of `key`.
///
/// Ascending inserts cut right before the new key, descending ones right after it, so that pages which will get no more
/// inserts stay full. All others cut near the middle of the bytes, at the shortest separator.
fn plan(page: &PageBuf, key: &[u8]) -> Plan {
    let node = Node(page);
    if node.level() > 0 { plan_inner(node) } else { plan_leaf(node, key) }
}

fn plan_leaf(node: Node<'_, PageBuf>, key: &[u8]) -> Plan {
    let count = node.count();
    let (pos, found) = node.search(key);
    let (last, run) = node.insert_run();
    let ascending = pos > 0 && last == Some(pos - 1) && (pos == count || run >= RUN);
    let descending = last == Some(pos) && (pos == 0 || run <= -RUN);
    if !found && (ascending || (count < 2 && pos > 0)) {
        return Plan { at: pos, separator: separator(&node.key(pos - 1), key).to_vec() };
    }
    if !found && (descending || count < 2) {
        return Plan { at: pos, separator: separator(key, &node.key(pos)).to_vec() };
    }
    let at = middle(node, 1, count);
    Plan { at, separator: separator(&node.key(at - 1), &node.key(at)).to_vec() }
}

fn plan_inner(node: Node<'_, PageBuf>) -> Plan {
    let count = node.count();
    let (last, run) = node.insert_run();
    let at = match last {
        Some(last) if last + 1 == count && run >= RUN => count - 1,
        Some(0) if run <= -RUN => 0,
        _ => middle(node, 0, count),
    };
    Plan { at, separator: node.key(at) }
}

/// The slot in `from..to` to cut at: near the middle of the bytes; among the candidates there the one with the shortest
/// key (inner) or the earliest difference from the key before it (leaf).
fn middle(node: Node<'_, PageBuf>, from: usize, to: usize) -> usize {
    let size = |i: usize| {
        let e = node.entry(i);
        entry_space(e.suffix.len, e.value.len)
    };
    let half = (node.used_space() - node.prefix_len()) / 2;
    let tolerance = SPACE / 16;
    let mut best = (usize::MAX, usize::MAX, from);
    let mut below = 0usize;
    for i in 0..to {
        if i >= from {
            let off = below.abs_diff(half);
            // Far from the middle only the distance counts.
            let rank = if off > tolerance {
                if below > half && best.0 == 0 {
                    break;
                }
                (1, off)
            } else {
                let cost = match node.level() {
                    0 if i > 0 => gannet_page::node::common_prefix(node.suffix_bytes(i - 1), node.suffix_bytes(i)) + 1,
                    _ => node.suffix_bytes(i).len(),
                };
                (0, cost * SPACE + off)
            };
            best = best.min((rank.0, rank.1, i));
        }
        below += size(i);
    }
    best.2
}
