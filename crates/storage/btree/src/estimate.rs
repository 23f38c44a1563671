//! Figures for the optimizer, from the branches at the two ends of a range. No scan.

use gannet_buffer::{Error, Stop};
use gannet_page::Node;
use smallvec::SmallVec;

use crate::Tree;
use crate::descend::{Notes, Target};

/// Entries in a range, estimated.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct RangeEstimate {
    /// Entries, approximately.
    pub rows: f64,
    /// The whole range lay in one leaf and was counted.
    pub exact: bool,
}

/// Sizes of a tree.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct TreeStats {
    /// Levels: 1 = the root is a leaf.
    pub height: u32,
    /// Entries, approximately.
    pub rows: f64,
    /// Leaves, approximately.
    pub leaf_pages: f64,
    /// Pages in use, overflow pages included. Exact.
    pub pages: u64,
}

/// A way down: the child taken and the count of children at every inner level, the position and the entries in the
/// leaf.
type Branch = SmallVec<[(usize, usize); 6]>;

impl Tree {
    fn branch(&self, target: Target<'_>) -> Result<Branch, Error> {
        let mut notes = Notes::default();
        self.pool.run(|| {
            let found = self.descend(&self.pool, target, 0, false, &mut notes)?;
            let node = Node(&found.node);
            let count = node.count();
            let pos = match target {
                Target::Key(key) | Target::Below(key) => node.search(key).0,
                Target::First => 0,
                Target::Last => count,
            };
            found.node.validate()?;
            let mut branch: Branch = notes.steps.iter().map(|&(index, count)| (index, count + 1)).collect();
            branch.push((pos, count));
            Ok::<Branch, Stop>(branch)
        })
    }

    /// Entries with keys from `from` on (`None`: all) and below `to` (`None`: all).
    pub fn estimate_rows(&self, from: Option<&[u8]>, to: Option<&[u8]>) -> Result<RangeEstimate, Error> {
        if from.is_some_and(|from| to.is_some_and(|to| from >= to)) {
            return Ok(RangeEstimate { rows: 0.0, exact: true });
        }
        let low = self.branch(from.map_or(Target::First, Target::Key))?;
        let high = self.branch(to.map_or(Target::Last, Target::Key))?;
        let samples = self.samples(from, &low, &high)?;
        Ok(between(&low, &high, &samples))
    }

    /// A key about `fraction` of the way through the tree, which is taken for evenly filled; empty when the leaf
    /// reached is.
    pub fn key_at(&self, fraction: f64) -> Result<Vec<u8>, Error> {
        self.pool.run(|| {
            let mut fraction = fraction.clamp(0.0, 0.999_999);
            let mut guard = self.pool.optimistic(self.id.root())?;
            let mut expected = usize::MAX;
            loop {
                let node = Node(&guard);
                let level = node.level();
                self.check_node(&guard, level, expected)?;
                let places = if level == 0 { node.count() } else { node.count() + 1 };
                let at = fraction * places as f64;
                let index = (at as usize).min(places.saturating_sub(1));
                fraction = (at - index as f64).clamp(0.0, 0.999_999);
                if level == 0 {
                    let key = if places == 0 { Vec::new() } else { node.key(index) };
                    guard.validate()?;
                    return Ok::<Vec<u8>, Stop>(key);
                }
                let child = node.child(index);
                guard.validate()?;
                let next = self.pool.optimistic(child)?;
                guard.validate()?;
                guard = next;
                expected = level - 1;
            }
        })
    }

    /// Sizes of the tree.
    pub fn stats(&self) -> Result<TreeStats, Error> {
        let low = self.branch(Target::First)?;
        let high = self.branch(Target::Last)?;
        let samples = self.samples(None, &low, &high)?;
        let cut = |b: &Branch| Branch::from_slice(&b[..b.len() - 1]);
        let leaf_pages = match low.len() {
            1 => 1.0,
            _ => between(&cut(&low), &cut(&high), &samples.iter().map(cut).collect::<Vec<_>>()).rows + 1.0,
        };
        Ok(TreeStats {
            height: low.len() as u32,
            rows: between(&low, &high, &samples).rows,
            leaf_pages,
            pages: self.pool.space().tree_pages(self.id).used,
        })
    }

    /// Some branches between two, evenly spread over the node where they part: both ends of a range may be untypical,
    /// as the last leaf of a tree that grows at its end is.
    fn samples(
        &self,
        from: Option<&[u8]>,
        low: &[(usize, usize)],
        high: &[(usize, usize)],
    ) -> Result<Vec<Branch>, Error> {
        let Some(parted) = parted(low, high) else {
            return Ok(Vec::new());
        };
        // Where the ways part, what lies between them; where that is little, what lies right of the low way further
        // down.
        let wide = |depth: usize| {
            let last = if depth == parted { high[depth].0 } else { low[depth].1 };
            (depth, low[depth].0, last)
        };
        let Some((depth, first, last)) = (parted..low.len() - 1).map(wide).find(|(_, first, last)| *last >= first + 3)
        else {
            return Ok(Vec::new());
        };
        let level = low.len() - 1 - depth;
        let mut notes = Notes::default();
        let keys = self.pool.run(|| {
            let target = from.map_or(Target::First, Target::Key);
            let found = match self.descend(&self.pool, target, level, false, &mut notes) {
                // The tree became lower.
                Err(Stop::Restart) => return Ok(Vec::new()),
                other => other?,
            };
            let node = Node(&found.node);
            let step = (last - first).div_ceil(SAMPLES + 1);
            // The separator before child `i` leads to that child.
            let wanted = (first + 1..last.min(node.count() + 1)).step_by(step).take(SAMPLES);
            let keys: Vec<Vec<u8>> = wanted.map(|i| node.key(i - 1)).collect();
            found.node.validate()?;
            Ok(keys)
        })?;
        let branches: Result<Vec<_>, _> = keys.iter().map(|key| self.branch(Target::Key(key))).collect();
        Ok(branches?.into_iter().filter(|b| b.len() == low.len()).collect())
    }
}

/// Branches looked at between the ends of a range.
const SAMPLES: usize = 6;

/// The level, from the root, at which two branches of equal length part.
fn parted(low: &[(usize, usize)], high: &[(usize, usize)]) -> Option<usize> {
    (low.len() == high.len()).then(|| low.iter().zip(high).position(|(a, b)| a.0 != b.0)).flatten()
}

/// Entries between two branches at the lowest level they have: from the level where they part, the number of nodes
/// between them times the fill seen on the way.
fn between(low: &[(usize, usize)], high: &[(usize, usize)], samples: &[Branch]) -> RangeEstimate {
    let Some(parted) = parted(low, high) else {
        // The same place; or the tree changed between the two descents.
        return RangeEstimate { rows: 0.0, exact: low.len() == high.len() };
    };
    // Children strictly between the two ways, at the level looked at.
    let mut between = high[parted].0 as f64 - low[parted].0 as f64;
    if between < 0.0 {
        return RangeEstimate { rows: 0.0, exact: false };
    }
    if parted + 1 == low.len() {
        return RangeEstimate { rows: between, exact: low[..parted] == high[..parted] };
    }
    between -= 1.0;
    for level in parted + 1..low.len() {
        let leaf = level + 1 == low.len();
        let average = match samples.len() {
            0 => (low[level].1 + high[level].1) as f64 / 2.0,
            n => samples.iter().map(|b| b[level].1).sum::<usize>() as f64 / n as f64,
        };
        // On the low way what lies right of it, on the high way what lies left of it; in a leaf the low position counts
        // too.
        let right = low[level].1 as f64 - low[level].0 as f64 - if leaf { 0.0 } else { 1.0 };
        between = between * average + right.max(0.0) + high[level].0 as f64;
    }
    RangeEstimate { rows: between, exact: false }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_within_a_leaf_and_multiplies_above() {
        assert_eq!(between(&[(3, 10)], &[(7, 10)], &[]), RangeEstimate { rows: 4.0, exact: true });
        // Two neighbouring leaves: 4 right of the position in the first, 2 left of it in the second.
        assert_eq!(between(&[(0, 2), (6, 10)], &[(1, 2), (2, 10)], &[]).rows, 6.0);
        // Three whole leaves of 10 in between.
        assert_eq!(between(&[(0, 5), (6, 10)], &[(4, 5), (2, 10)], &[]).rows, 36.0);
        assert_eq!(between(&[(1, 2), (0, 10)], &[(0, 2), (0, 10)], &[]).rows, 0.0);
    }
}
