//! Intervals of cuts in a treap (Seidel and Aragon, 1996). Each subtree knows its greatest upper end, so finding the
//! intervals over a key costs O(log n + found).

use std::cmp::Ordering;

use gannet_base::sync::Arc;
use gannet_telemetry::{Counter, add, sub};

use crate::Cut;
use crate::owner::Owner;

/// A cut that owns its key. Field order gives the order of cuts.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum OwnedCut {
    Min,
    At(Arc<[u8]>, Side),
    Max,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Side {
    Before,
    After,
}

impl OwnedCut {
    pub(crate) fn new(cut: Cut<'_>) -> OwnedCut {
        match cut {
            Cut::Min => OwnedCut::Min,
            Cut::Before(k) => OwnedCut::At(k.into(), Side::Before),
            Cut::After(k) => OwnedCut::At(k.into(), Side::After),
            Cut::Max => OwnedCut::Max,
        }
    }

    pub(crate) fn cmp_cut(&self, other: Cut<'_>) -> Ordering {
        let class = |c: &OwnedCut| match c {
            OwnedCut::Min => 0,
            OwnedCut::At(..) => 1,
            OwnedCut::Max => 2,
        };
        let (other_class, key, side) = match other {
            Cut::Min => (0, &[][..], Side::Before),
            Cut::Before(k) => (1, k, Side::Before),
            Cut::After(k) => (1, k, Side::After),
            Cut::Max => (2, &[][..], Side::Before),
        };
        match self {
            OwnedCut::At(own, own_side) if other_class == 1 => (**own).cmp(key).then(own_side.cmp(&side)),
            _ => class(self).cmp(&other_class),
        }
    }
}

const NIL: u32 = u32::MAX;

/// About how much memory an interval takes: a node, its place among its owner's intervals, the keys.
fn interval_bytes(low: &OwnedCut, high: &OwnedCut) -> u64 {
    let key = |cut: &OwnedCut| if let OwnedCut::At(key, _) = cut { key.len() + 32 } else { 0 };
    (size_of::<Option<Node>>() + 3 * size_of::<OwnedCut>() + key(low) + key(high)) as u64
}

struct Node {
    low: OwnedCut,
    high: OwnedCut,
    owner: Arc<Owner>,
    priority: u64,
    left: u32,
    right: u32,
    /// The node of this subtree with the greatest `high`.
    reaches: u32,
}

pub(crate) struct Treap {
    nodes: Vec<Option<Node>>,
    free: Vec<u32>,
    root: u32,
    random: u64,
}

impl Default for Treap {
    fn default() -> Self {
        Treap { nodes: Vec::new(), free: Vec::new(), root: NIL, random: 0x9e37_79b9_7f4a_7c15 }
    }
}

impl Treap {
    fn node(&self, i: u32) -> &Node {
        match &self.nodes[i as usize] {
            Some(node) => node,
            None => unreachable!("a link to a freed node"),
        }
    }

    fn node_mut(&mut self, i: u32) -> &mut Node {
        match &mut self.nodes[i as usize] {
            Some(node) => node,
            None => unreachable!("a link to a freed node"),
        }
    }

    /// Computes `reaches` from the children.
    fn update(&mut self, i: u32) {
        let node = self.node(i);
        let mut best = i;
        for child in [node.left, node.right] {
            if child != NIL {
                let candidate = self.node(child).reaches;
                if self.node(candidate).high > self.node(best).high {
                    best = candidate;
                }
            }
        }
        self.node_mut(i).reaches = best;
    }

    fn merge(&mut self, a: u32, b: u32) -> u32 {
        if a == NIL || b == NIL {
            return if a == NIL { b } else { a };
        }
        if self.node(a).priority > self.node(b).priority {
            let right = self.merge(self.node(a).right, b);
            self.node_mut(a).right = right;
            self.update(a);
            a
        } else {
            let left = self.merge(a, self.node(b).left);
            self.node_mut(b).left = left;
            self.update(b);
            b
        }
    }

    /// Splits the subtree into the nodes before `(low, owner)` and the rest.
    fn split(&mut self, at: u32, low: &OwnedCut, owner: u64) -> (u32, u32) {
        if at == NIL {
            return (NIL, NIL);
        }
        let node = self.node(at);
        if (&node.low, node.owner.id) < (low, owner) {
            let (a, b) = self.split(node.right, low, owner);
            self.node_mut(at).right = a;
            self.update(at);
            (at, b)
        } else {
            let (a, b) = self.split(node.left, low, owner);
            self.node_mut(at).left = b;
            self.update(at);
            (a, at)
        }
    }

    pub(crate) fn insert(&mut self, low: OwnedCut, high: OwnedCut, owner: Arc<Owner>) {
        // xorshift64 (Marsaglia, 2003). The priorities serve the balance only.
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        add(Counter::LockMemory, interval_bytes(&low, &high));
        let (a, b) = self.split(self.root, &low, owner.id);
        let node = Node { low, high, owner, priority: self.random, left: NIL, right: NIL, reaches: NIL };
        let i = match self.free.pop() {
            Some(i) => {
                self.nodes[i as usize] = Some(node);
                i
            }
            None => {
                self.nodes.push(Some(node));
                self.nodes.len() as u32 - 1
            }
        };
        self.update(i);
        let left = self.merge(a, i);
        self.root = self.merge(left, b);
    }

    pub(crate) fn remove(&mut self, low: &OwnedCut, owner: u64) {
        let (a, rest) = self.split(self.root, low, owner);
        let (found, b) = self.split(rest, low, owner + 1);
        if found != NIL {
            let gone = self.node(found);
            sub(Counter::LockMemory, interval_bytes(&gone.low, &gone.high));
            self.nodes[found as usize] = None;
            self.free.push(found);
        }
        self.root = self.merge(a, b);
        if self.root == NIL {
            // Many intervals may have come and gone: give their memory back.
            self.nodes = Vec::new();
            self.free = Vec::new();
        }
    }

    /// Moves the upper end of the interval `(low, owner)` up.
    pub(crate) fn extend(&mut self, low: &OwnedCut, owner: u64, high: &OwnedCut) {
        let mut path = Vec::new();
        let mut at = self.root;
        while at != NIL {
            path.push(at);
            let node = self.node_mut(at);
            match (&node.low, node.owner.id).cmp(&(low, owner)) {
                Ordering::Less => at = node.right,
                Ordering::Greater => at = node.left,
                Ordering::Equal => break,
            }
        }
        if at == NIL {
            return;
        }
        let node = self.node_mut(at);
        let before = interval_bytes(&node.low, &node.high);
        node.high = high.clone();
        add(Counter::LockMemory, interval_bytes(&node.low, high).wrapping_sub(before));
        for above in path {
            let reaches = self.node(above).reaches;
            if reaches != at && self.node(reaches).high < *high {
                self.node_mut(above).reaches = at;
            }
        }
    }

    /// Calls `f` for the owners of all intervals over `key`, until it returns false.
    pub(crate) fn over(&self, key: &[u8], mut f: impl FnMut(&Arc<Owner>) -> bool) {
        let mut stack = vec![self.root];
        while let Some(at) = stack.pop() {
            if at == NIL {
                continue;
            }
            let node = self.node(at);
            if self.node(node.reaches).high.cmp_cut(Cut::After(key)).is_lt() {
                continue;
            }
            stack.push(node.left);
            if node.low.cmp_cut(Cut::Before(key)).is_le() {
                if node.high.cmp_cut(Cut::After(key)).is_ge() && !f(&node.owner) {
                    return;
                }
                stack.push(node.right);
            }
        }
    }

    /// All intervals, in no order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&OwnedCut, &OwnedCut, &Arc<Owner>)> {
        self.nodes.iter().flatten().map(|n| (&n.low, &n.high, &n.owner))
    }
}
