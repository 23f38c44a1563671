//! Index merge: rows found by several indexes of one table (manual, "Index Merge Optimization").

use super::{BaseRel, MANY_ALTERNATIVES, Path};
use crate::optimize::block::part_len;
use crate::optimize::cost;
use crate::optimize::relset::RelSet;
use crate::optimize::sarg::Sarg;
use crate::options::Passes;
use crate::physical::{Access, MergeKind, MergePart, RangeProduct, Ranges};
use crate::range::is_total;

/// Alternatives of an OR up to which the entries of each are looked up by themselves.
const MAX_LOOKED_UP: usize = MANY_ALTERNATIVES - 1;

/// Looks up how many entries some ranges of an index have.
type Estimate<'e> = dyn Fn(usize, &Ranges) -> Option<f64> + 'e;

impl BaseRel {
    /// Adds the index merges; under a hint that asks for one they replace the other paths.
    pub(super) fn merge_paths(
        &self,
        available: RelSet,
        passes: Passes,
        estimate: &Estimate<'_>,
        paths: &mut Vec<Path>,
    ) {
        if !passes.has(Passes::INDEX_MERGE) || !passes.has(Passes::RANGES) {
            return;
        }
        let mut found = Vec::new();
        self.merge_unions(available, passes, estimate, &mut found);
        if passes.has(Passes::MERGE_INTERSECT) {
            found.extend(self.intersection(available, passes, estimate));
        }
        if self.hints.force_merge && !found.is_empty() {
            paths.clear();
        }
        paths.append(&mut found);
    }

    fn merged_by(&self, index: usize) -> bool {
        self.usable(index) && self.hints.merges >> index & 1 == 1 && self.hints.no_range >> index & 1 == 0
    }

    /// OR of conditions each of which some index serves.
    fn merge_unions(&self, available: RelSet, passes: Passes, estimate: &Estimate<'_>, found: &mut Vec<Path>) {
        let common: Vec<&Sarg> = self.sargs.iter().filter(|s| s.needs.within(available)).collect();
        for (condition, alternatives, needs) in &self.unions {
            if !needs.within(available) {
                continue;
            }
            // Of a long list the indexes are asked once, not for each alternative.
            let many = alternatives.len() > MAX_LOOKED_UP;
            let mut chosen: Vec<Path> = Vec::with_capacity(alternatives.len());
            let mut exact = many;
            for alternative in alternatives {
                let all: Vec<&Sarg> = alternative.says.iter().chain(common.iter().copied()).collect();
                let one = |index: usize| {
                    let definition = &self.table.indexes[index];
                    // An index that only conditions beside the OR restrict would serve every alternative alike.
                    let first = definition.parts[0].column;
                    let own = alternative.says.iter().any(|s| definition.parts.iter().any(|p| p.column == s.column));
                    if !self.merged_by(index) || !own || !all.iter().any(|s| s.column == first) {
                        return None;
                    }
                    let product = self.product(&definition.parts, &all, passes)?;
                    let nothing: &Estimate<'_> = &|_, _| None;
                    Some(self.finish(index, &product, available, passes, if many { nothing } else { estimate }))
                };
                let best =
                    (0..self.table.indexes.len()).filter_map(one).min_by(|a, b| a.examined.total_cmp(&b.examined));
                match best {
                    Some(path) => {
                        exact &= alternative.is_ensured_by(&path.ensured);
                        chosen.push(path);
                    }
                    None => break,
                }
            }
            if chosen.len() == alternatives.len()
                && let Some(mut path) = self.merged_union(*condition, chosen, available, passes, estimate)
            {
                if exact {
                    path.ensured.push(*condition);
                }
                found.push(path);
            }
        }
    }

    fn merged_union(
        &self,
        condition: usize,
        chosen: Vec<Path>,
        available: RelSet,
        passes: Passes,
        estimate: &Estimate<'_>,
    ) -> Option<Path> {
        let many = chosen.len() > MAX_LOOKED_UP;
        let mut parts: Vec<MergePart> = Vec::new();
        // The ranges of parts with several conditions: they are one list, in the end.
        let mut lists: Vec<Vec<RangeProduct>> = Vec::new();
        let (mut left_out, mut entries, mut seen) = (1.0, 0.0, true);
        for path in chosen {
            left_out *= 1.0 - (path.examined / self.rows.max(path.examined));
            entries += path.examined;
            seen &= path.seen || matches!(path.access, Access::Point { .. });
            let part = self.merge_part(path)?;
            match parts.iter().position(|p| p.index == part.index) {
                None => {
                    parts.push(part);
                    lists.push(Vec::new());
                }
                Some(at) => {
                    let (before, list) = (&mut parts[at], &mut lists[at]);
                    if list.is_empty() {
                        list.extend(as_ranges(&before.access)?.0.iter().cloned());
                    }
                    list.extend(as_ranges(&part.access)?.0.iter().cloned());
                    before.ordered = self.table.clustered == Some(before.index as usize);
                    before.key_len = before.key_len.max(part.key_len);
                }
            }
        }
        for (part, list) in parts.iter_mut().zip(lists).filter(|(_, list)| !list.is_empty()) {
            part.access = Access::Ranges { ranges: Ranges(list.into()) };
        }
        if many {
            let looked_up = |p: &MergePart| match &p.access {
                Access::Ranges { ranges } => estimate(p.index as usize, ranges),
                _ => None,
            };
            if let Some(found) = parts.iter().map(looked_up).sum::<Option<f64>>() {
                (entries, seen, left_out) = (found, true, 1.0 - (found / self.rows.max(found)));
            }
        }
        let ordered = parts.iter().all(|p| p.ordered);
        let kind = match (ordered && passes.has(Passes::MERGE_UNION), passes.has(Passes::MERGE_SORT_UNION)) {
            (true, _) => MergeKind::Union,
            (false, true) => MergeKind::SortUnion,
            _ => return None,
        };
        if parts.len() < 2 {
            return None;
        }
        let rows = (self.rows * (1.0 - left_out)).max(1.0);
        let sorting = if ordered { 0.0 } else { cost::sort(entries, None) };
        let mut path = self.merged(kind, parts, entries, rows, sorting);
        path.seen = seen;
        path.rows = (rows * self.selectivity(available, &[condition])).max(0.01);
        Some(path)
    }

    /// AND of equalities over whole indexes: their row keys are intersected while that is cheaper than reading rows.
    fn intersection(&self, available: RelSet, passes: Passes, estimate: &Estimate<'_>) -> Option<Path> {
        let one = |index: usize| {
            if !self.merged_by(index) || Some(index) == self.table.clustered || self.table.indexes[index].unique() {
                return None;
            }
            let path = self.index_path(index, available, passes, estimate)?;
            let whole =
                matches!(&path.access, Access::Ref { key } if key.len() == self.table.indexes[index].parts.len());
            (whole && self.merge_part(path.clone())?.ordered).then_some(path)
        };
        let mut candidates: Vec<Path> = (0..self.table.indexes.len()).filter_map(one).collect();
        candidates.sort_by(|a, b| a.examined.total_cmp(&b.examined));
        let mut used: Vec<u32> = Vec::new();
        let (mut parts, mut served): (Vec<MergePart>, Vec<usize>) = (Vec::new(), Vec::new());
        let (mut entries, mut share, mut best) = (0.0, 1.0, f64::INFINITY);
        for path in candidates {
            let columns = path.index.map(|i| self.table.indexes[i].parts.iter().map(|p| p.column));
            let columns: Vec<u32> = columns.into_iter().flatten().collect();
            // What is said of a column counts once.
            if columns.iter().any(|c| used.contains(c)) {
                continue;
            }
            let (more, less) = (entries + path.examined, share * path.examined / self.rows.max(path.examined));
            let cost = self.merge_cost(more, self.rows * less, parts.len() + 1);
            if cost >= best {
                break;
            }
            (entries, share, best) = (more, less, cost);
            used.extend(columns);
            served.extend(&path.ensured);
            parts.push(self.merge_part(path)?);
        }
        if parts.len() < 2 {
            return None;
        }
        let rows = (self.rows * share).max(1.0);
        let mut path = self.merged(MergeKind::Intersect, parts, entries, rows, 0.0);
        served.sort_unstable();
        path.rows = (rows * self.selectivity(available, &served)).max(0.01);
        Some(path)
    }

    fn merge_cost(&self, entries: f64, rows: f64, parts: usize) -> f64 {
        let lock = if self.locking { cost::LOCK } else { 0.0 };
        parts as f64 * cost::DESCEND + entries * (cost::NEXT + cost::ROW * 0.5 + lock) + rows * self.row_cost(false)
    }

    fn merged(&self, kind: MergeKind, parts: Vec<MergePart>, entries: f64, rows: f64, more: f64) -> Path {
        Path {
            index: self.table.clustered,
            covering: false,
            // It locks entries of several indexes, and is no better than locking all.
            cost: self.merge_cost(entries, rows, parts.len()) + more + if self.locking { cost::LOCK_ALL } else { 0.0 },
            access: Access::Merge { kind, parts: parts.into() },
            reverse: false,
            ensured: Vec::new(),
            sources: Vec::new(),
            parts: 0,
            bound: 0,
            examined: rows,
            seen: false,
            rows,
        }
    }

    fn merge_part(&self, path: Path) -> Option<MergePart> {
        let index = path.index?;
        let parts = &self.table.indexes[index].parts;
        let total = |(part, key): (&gannet_schema::IndexPart, &crate::physical::KeyValue)| {
            let column = &self.table.columns[part.column as usize];
            part.prefix.is_none() && is_total(&column.ty, key.by, &key.value.ty)
        };
        let ordered = Some(index) == self.table.clustered
            || match &path.access {
                Access::Point { key } | Access::Ref { key } => {
                    key.len() == parts.len() && parts.iter().zip(key).all(total)
                }
                _ => false,
            };
        let len = |p: &gannet_schema::IndexPart| part_len(&self.table.columns[p.column as usize], p.prefix);
        let key_len = parts.iter().take(path.parts).map(len).sum();
        Some(MergePart { index: index as u32, access: path.access, ordered, key_len })
    }
}

/// An access by one key as ranges.
fn as_ranges(access: &Access) -> Option<Ranges> {
    match access {
        Access::Point { key } | Access::Ref { key } => Some(Ranges::of_key(key)),
        Access::Ranges { ranges } => Some(ranges.clone()),
        _ => None,
    }
}
