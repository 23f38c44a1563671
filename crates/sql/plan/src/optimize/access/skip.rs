//! Scans that jump from group to group of an index: loose index scans for GROUP BY and DISTINCT, and skip scans for
//! conditions on columns behind the first (manual, "GROUP BY Optimization", "Skip Scan Range Access Method").

use super::{BaseRel, Path};
use crate::optimize::cost;
use crate::optimize::relset::RelSet;
use crate::optimize::sarg::{Sarg, Says};
use crate::options::Passes;
use crate::physical::{Access, Ranges, SkipScan, SkipTake};

/// What a grouped or distinct block needs of its rows.
#[derive(Clone, Debug, Default)]
pub(in crate::optimize) struct Grouping {
    /// Columns each combination of which is needed once.
    pub(in crate::optimize) columns: Vec<u32>,
    /// The column of MIN or MAX beyond those.
    pub(in crate::optimize) extreme: Option<u32>,
    /// Which of them.
    pub(in crate::optimize) minimum: bool,
    pub(in crate::optimize) maximum: bool,
    /// Columns that conditions read.
    pub(in crate::optimize) read: Vec<u32>,
}

impl BaseRel {
    /// Conditions of the statement alone.
    fn constant_sargs(&self) -> Vec<&Sarg> {
        self.sargs.iter().filter(|s| s.needs.is_empty()).collect()
    }

    /// The access to the first `n` columns of an index, and how many of them are bound to one value each.
    fn outer(&self, index: usize, n: usize, passes: Passes) -> (Access, usize, f64) {
        let parts = &self.table.indexes[index].parts[..n];
        match self.product(parts, &self.constant_sargs(), passes) {
            None => (Access::Full, 0, 1.0),
            Some(product) => {
                let bound = product.fixed;
                let share = product.last.as_ref().map_or(1.0, super::interval_share);
                let keys = product.parts.len();
                let values = product.count() as f64;
                let distinct = self.groups(index, keys.max(1)).unwrap_or(1.0);
                let share = if keys == 0 { share } else { share * (values / distinct.max(1.0)).min(1.0) };
                (Access::Ranges { ranges: product.ranges() }, bound, share)
            }
        }
    }

    /// Distinct values of the first `n` columns of an index.
    fn groups(&self, index: usize, n: usize) -> Option<f64> {
        self.figures.distinct(self.table.indexes[index].tree, n, self.rows)
    }

    /// Loose index scans, with the group's columns in the order of the index.
    pub(in crate::optimize) fn loose_paths(
        &self,
        need: &Grouping,
        passes: Passes,
        estimate: &dyn Fn(usize, &Ranges) -> Option<f64>,
    ) -> Vec<(Path, Vec<(u32, bool)>)> {
        let mut found = Vec::new();
        // Each part of a table would give its own first entry of a group.
        if !passes.has(Passes::LOOSE_GROUP) || self.locking || self.virtual_source || self.table.partitions.is_some() {
            return found;
        }
        for index in 0..self.table.indexes.len() {
            let usable = self.usable(index) && self.hints.group >> index & 1 == 1;
            if usable && self.covers(Some(index)) {
                found.extend(self.loose_path(index, need, passes, estimate));
            }
        }
        found
    }

    fn loose_path(
        &self,
        index: usize,
        need: &Grouping,
        passes: Passes,
        estimate: &dyn Fn(usize, &Ranges) -> Option<f64>,
    ) -> Option<(Path, Vec<(u32, bool)>)> {
        let parts = &self.table.indexes[index].parts;
        let constants = self.constant_sargs();
        let fixed = |c: u32| constants.iter().any(|s| s.column == c && self.binds(s));
        let wanted = |c: u32| need.columns.contains(&c);
        let n = parts.iter().take_while(|p| p.prefix.is_none() && (wanted(p.column) || fixed(p.column))).count();
        // Constants behind the last group column belong to what is read of a group.
        let n = parts[..n].iter().rposition(|p| wanted(p.column))? + 1;
        if n == parts.len() && self.table.indexes[index].unique() {
            return None;
        }
        if !need.columns.iter().all(|c| fixed(*c) || parts[..n].iter().any(|p| p.column == *c)) {
            return None;
        }
        let mut end = n;
        let mut take = SkipTake::Ends { first: true, last: false, nullable: None };
        if let Some(extreme) = need.extreme {
            end = n + parts[n..].iter().position(|p| p.column == extreme)?;
            let part = &parts[end];
            if part.descending || part.prefix.is_some() || !parts[n..end].iter().all(|p| fixed(p.column)) {
                return None;
            }
            let nullable = self.table.columns[extreme as usize].nullable && need.minimum;
            let nullable = nullable.then_some(end as u32);
            take = SkipTake::Ends { first: need.minimum, last: need.maximum, nullable };
            end += 1;
        } else {
            end += parts[n..].iter().take_while(|p| p.prefix.is_none() && fixed(p.column)).count();
        }
        // Conditions on other columns might have it walk through whole groups.
        let known = |c: &u32| parts[..end].iter().any(|p| p.column == *c) || fixed(*c);
        if !need.read.iter().all(known) {
            return None;
        }
        let inner = self.product(&parts[n..end], &constants, passes).map(|p| p.ranges());
        let (outer, bound, share) = self.outer(index, n, passes);
        let mut groups = self.groups(index, n)?.max(1.0);
        let looked_up = match &outer {
            Access::Ranges { ranges } => estimate(index, ranges),
            _ => None,
        };
        groups *= looked_up.map_or(share, |rows| (rows / self.rows.max(1.0)).min(1.0));
        let groups = groups.clamp(1.0, self.rows.max(1.0));
        let descents = 1.0 + f64::from(u8::from(inner.is_some())) + f64::from(u8::from(need.maximum));
        let order = parts[..n].iter().filter(|p| wanted(p.column)).map(|p| (p.column, p.descending)).collect();
        let path = Path {
            index: Some(index),
            covering: true,
            access: Access::Skip(Box::new(SkipScan { outer, parts: n as u32, inner, take })),
            reverse: false,
            ensured: Vec::new(),
            sources: Vec::new(),
            parts: end,
            bound,
            examined: groups,
            seen: false,
            rows: groups,
            cost: groups * (descents * cost::DESCEND + cost::ROW),
        };
        Some((path, order))
    }

    /// Conditions on a column behind others that have few values: the ranges are read below each of these.
    pub(super) fn skip_paths(&self, passes: Passes, paths: &mut Vec<Path>) {
        if !passes.has(Passes::SKIP_SCAN) || !passes.has(Passes::RANGES) || self.locking || self.virtual_source {
            return;
        }
        // A pattern need not have a constant beginning; what is left out bounds nothing.
        let open = |i: &crate::physical::Interval| i.like.is_some() || !i.holes.is_empty();
        let bounded = |s: &&Sarg| !matches!(&s.says, Says::Within(interval) if open(interval));
        let constants: Vec<&Sarg> = self.constant_sargs().into_iter().filter(bounded).collect();
        let mut found = Vec::new();
        for index in 0..self.table.indexes.len() {
            if self.usable(index) && self.hints.skips >> index & 1 == 1 && self.covers(Some(index)) {
                found.extend(self.skip_path(index, &constants, passes));
            }
        }
        if self.hints.force_skip && !found.is_empty() {
            paths.clear();
        }
        paths.append(&mut found);
    }

    fn skip_path(&self, index: usize, constants: &[&Sarg], passes: Passes) -> Option<Path> {
        let parts = &self.table.indexes[index].parts;
        let says = |c: u32| constants.iter().any(|s| s.column == c);
        let fixed = |c: u32| constants.iter().any(|s| s.column == c && self.binds(s));
        let bound = parts.iter().take_while(|p| fixed(p.column)).count();
        let skipped = parts[bound..].iter().take_while(|p| !says(p.column)).count();
        let n = bound + skipped;
        if skipped == 0 || n == parts.len() || parts[..n].iter().any(|p| p.prefix.is_some()) {
            return None;
        }
        let product = self.product(&parts[n..], constants, passes)?;
        let used = n + product.parts.len() + usize::from(product.last.is_some());
        let (outer, _, share) = self.outer(index, bound, passes);
        let groups = (self.groups(index, n)? * share).max(1.0);
        let mut inside = product.last.as_ref().map_or(1.0, super::interval_share);
        if !product.parts.is_empty() {
            let ratio = self.groups(index, n + product.parts.len())? / self.groups(index, n)?.max(1.0);
            inside *= (product.count() as f64 / ratio.max(1.0)).min(1.0);
        }
        // A histogram, or what is known of the values, tells more than the form of the condition.
        let of = &parts[n].column;
        let told = constants
            .iter()
            .filter(|s| s.column == *of)
            .filter_map(|s| self.filters.iter().find(|(c, _, _)| *c == s.condition).map(|(_, share, _)| *share));
        inside = told.fold(inside, f64::min);
        let examined = (self.rows * share * inside).max(groups.min(1.0));
        let ranges = product.clone().ranges();
        let rows = self.rows * self.selectivity(RelSet::EMPTY, &[]);
        Some(Path {
            index: Some(index),
            covering: true,
            access: Access::Skip(Box::new(SkipScan {
                outer,
                parts: n as u32,
                inner: Some(ranges),
                take: SkipTake::All,
            })),
            reverse: false,
            ensured: Vec::new(),
            sources: Vec::new(),
            parts: used,
            bound,
            examined,
            seen: false,
            rows: rows.max(0.01),
            cost: groups * 2.0 * cost::DESCEND + examined * (cost::NEXT + cost::ROW),
        })
    }
}
