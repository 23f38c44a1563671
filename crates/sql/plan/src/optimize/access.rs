//! How to read one relation: the candidates and their costs.

mod members;
mod merge;
mod parts;
mod skip;

pub(super) use skip::Grouping;

use super::array::Members;
use super::block::part_len;
use super::cost;
use super::relset::RelSet;
use super::sarg::{Sarg, Says};
use crate::logical::IndexHints;
use crate::options::Passes;
use crate::physical::{Access, Hole, Interval, KeyValue, RangeProduct, Ranges, SearchAccess};
use crate::range::tells_apart;
use gannet_schema::{Figures, IndexKind, IndexPart, Table};
use gannet_types::SqlType;
use std::cell::{OnceCell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

/// Combinations of IN lists on several key parts before the later parts are left to the filter.
const MAX_PRODUCT: usize = 4096;

/// From this many alternatives on the rows that an OR's ranges find are not compared with each of them again, where the
/// ranges are exactly its rows.
const MANY_ALTERNATIVES: usize = 64;

/// What is known of a base relation, prepared once for a block.
pub(super) struct BaseRel {
    pub(super) table: Arc<Table>,
    pub(super) figures: Arc<Figures>,
    pub(super) hints: IndexHints,
    pub(super) rows: f64,
    /// There are none: `rows` is what is assumed of such a table.
    pub(super) empty: bool,
    pub(super) sargs: Vec<Sarg>,
    /// OR conditions whose alternatives are all on this relation: their number, what each alternative says, what they
    /// need.
    pub(super) unions: Vec<(usize, Vec<Alternative>, RelSet)>,
    /// Full-text searches that are conditions on the relation.
    pub(super) searches: Vec<SearchAccess>,
    /// Conditions that multi-valued indexes serve.
    pub(super) members: Vec<Members>,
    /// Columns that have to be delivered, ascending ordinals.
    pub(super) columns: Vec<u32>,
    /// Conditions with their share of rows and what they need besides this relation.
    pub(super) filters: Vec<(usize, f64, RelSet)>,
    pub(super) virtual_source: bool,
    /// The block reads nothing else, and all its rows: entries may be read in jumps.
    pub(super) alone: bool,
    /// Rows read are locked.
    pub(super) locking: bool,
    /// The locks are exclusive.
    pub(super) exclusive: bool,
    /// SKIP LOCKED: many take rows of the table at the same time.
    pub(super) skips_locked: bool,
    /// All relations that its conditions read.
    pub(super) reads: OnceCell<RelSet>,
    /// What [`BaseRel::paths_after`] has found.
    pub(super) known: RefCell<Vec<(RelSet, Rc<[Path]>)>>,
}

/// One alternative of an OR.
pub(super) struct Alternative {
    /// What it says of columns of the relation. In place of the conditions' numbers: those of its parts, from [`PARTS`]
    /// on.
    pub(super) says: Vec<Sarg>,
    /// Conditions it is the conjunction of.
    pub(super) parts: usize,
}

/// Numbers from here on are parts of an alternative, not conditions of the block.
pub(super) const PARTS: usize = 1 << 32;

impl Alternative {
    /// An access that ensures these conditions finds rows which satisfy the alternative.
    fn is_ensured_by(&self, ensured: &[usize]) -> bool {
        (0..self.parts).all(|part| ensured.contains(&(PARTS + part)))
    }
}

/// A way to read it.
#[derive(Clone, Debug)]
pub(super) struct Path {
    pub(super) index: Option<usize>,
    pub(super) covering: bool,
    pub(super) access: Access,
    pub(super) reverse: bool,
    /// Conditions which the access itself ensures.
    pub(super) ensured: Vec<usize>,
    /// Sources of the key parts that are single values.
    pub(super) sources: Vec<Option<u32>>,
    /// Key parts used.
    pub(super) parts: usize,
    /// Leading parts in which all that is read is one value.
    pub(super) bound: usize,
    /// Entries read by one run.
    pub(super) examined: f64,
    /// They were looked up in the index, not guessed.
    pub(super) seen: bool,
    /// Rows that pass all conditions that can be checked here.
    pub(super) rows: f64,
    pub(super) cost: f64,
}

impl BaseRel {
    fn usable(&self, index: usize) -> bool {
        self.hints.join >> index & 1 == 1
    }

    /// What it costs to walk over all entries of an index (`None`: the row tree).
    fn walk_cost(&self, index: Option<usize>, covering: bool, passes: Passes) -> f64 {
        let width = match index.filter(|_| index != self.table.clustered) {
            // Of the indexes that have all that is needed, the shortest alone is worth a scan.
            Some(i) if covering && self.shortest(passes) != Some(i) => 1.0,
            Some(i) => self.width_of(i),
            None => 1.0,
        };
        self.rows * (cost::NEXT * width + self.row_cost(covering))
    }

    /// Bytes of an index's parts by their definitions (MySQL's `key_len`).
    fn key_len(&self, index: usize) -> u32 {
        let parts = self.table.indexes[index].parts.iter();
        parts.map(|p| part_len(&self.table.columns[p.column as usize], p.prefix)).fold(0, u32::saturating_add)
    }

    /// How wide an index's entries are beside rows, by the definitions: narrow entries are cheaper to walk.
    fn width_of(&self, index: usize) -> f64 {
        let row = self.table.columns.iter().map(|c| f64::from(part_len(c, None))).sum::<f64>().max(1.0);
        (f64::from(self.key_len(index)) / row).clamp(0.05, 0.95)
    }

    /// The index that a scan of the whole table walks: the shortest one that has all columns needed. By the
    /// definitions and not by figures, as in MySQL (`find_shortest_key`), so that equal tables are read in equal
    /// order. `None`: the row tree, also when the index has all columns of the table.
    fn shortest(&self, passes: Passes) -> Option<usize> {
        if !passes.has(Passes::COVERING) || self.exclusive {
            return None;
        }
        let indexes = 0..self.table.indexes.len();
        let covering = indexes.filter(|i| Some(*i) != self.table.clustered && self.usable(*i) && self.covers(Some(*i)));
        let shortest = covering.min_by_key(|i| self.key_len(*i))?;
        let whole = self.table.indexes[shortest].parts.len() >= self.table.columns.len();
        (!whole || self.table.clustered.is_none()).then_some(shortest)
    }

    /// What each entry read costs besides walking to it.
    fn row_cost(&self, covering: bool) -> f64 {
        let fetch = if covering { 0.0 } else { cost::FETCH };
        let lock = if self.locking { cost::LOCK } else { 0.0 };
        cost::ROW + fetch + lock
    }

    /// The index delivers every needed column.
    fn covers(&self, index: Option<usize>) -> bool {
        match index {
            None => true,
            Some(i) if Some(i) == self.table.clustered => true,
            Some(i) => self.columns.iter().all(|c| {
                // The hidden row id comes with every entry, and the part with the scan.
                *c >= crate::physical::ROW_ID || self.table.index_has(i, *c)
            }),
        }
    }

    /// Share of rows that pass the conditions checkable with `available`, those in `ensured` (ascending) apart.
    fn selectivity(&self, available: RelSet, ensured: &[usize]) -> f64 {
        let mut share = 1.0;
        for (condition, s, needs) in &self.filters {
            if needs.within(available) && ensured.binary_search(condition).is_err() {
                share *= s;
            }
        }
        share
    }

    /// Rows per value of the first `parts` parts of an index.
    fn rows_per_key(&self, index: usize, parts: usize) -> f64 {
        let definition = &self.table.indexes[index];
        if definition.unique() && parts == definition.parts.len() {
            return 1.0;
        }
        let distinct = self.figures.distinct(definition.tree, parts, self.rows).unwrap_or_else(|| {
            // Nothing known: a few rows a value for whole keys, more for prefixes of them.
            let whole = definition.parts.len() as f64;
            self.rows.powf(0.8 * parts as f64 / whole).max(1.0)
        });
        (self.rows / distinct.max(1.0)).max(1.0)
    }

    /// All ways to read the relation when `available` has been read, as they were found before when nothing but what
    /// does not concern the relation differs: a search for an order of joins asks for each set of relations that may
    /// come first. For one set of passes and one way to estimate.
    pub(super) fn paths_after(
        &self,
        available: RelSet,
        passes: Passes,
        estimate: &dyn Fn(usize, &Ranges) -> Option<f64>,
    ) -> Rc<[Path]> {
        let sargs = self.sargs.iter().map(|s| s.needs);
        let others = self.unions.iter().map(|u| u.2).chain(self.filters.iter().map(|f| f.2));
        let reads = *self.reads.get_or_init(|| sargs.chain(others).fold(RelSet::EMPTY, RelSet::union));
        let available = available.intersect(reads);
        let find = |known: &Vec<(RelSet, Rc<[Path]>)>| known.iter().find(|k| k.0 == available).map(|k| k.1.clone());
        if let Some(paths) = find(&self.known.borrow()) {
            return paths;
        }
        let paths: Rc<[Path]> = self.paths(available, passes, estimate).into();
        self.known.borrow_mut().push((available, paths.clone()));
        paths
    }

    /// All ways to read the relation when `available` has been read.
    pub(super) fn paths(
        &self,
        available: RelSet,
        passes: Passes,
        estimate: &dyn Fn(usize, &Ranges) -> Option<f64>,
    ) -> Vec<Path> {
        let mut paths = vec![self.full_scan(None, available, passes)];
        if self.virtual_source {
            return paths;
        }
        for index in 0..self.table.indexes.len() {
            if !self.usable(index) {
                continue;
            }
            if let Some(path) = self.index_path(index, available, passes, estimate) {
                paths.push(path);
            }
            if passes.has(Passes::RANGES) {
                self.union_paths(index, available, passes, estimate, &mut paths);
            }
            if Some(index) != self.table.clustered {
                paths.push(self.full_scan(Some(index), available, passes));
            }
        }
        self.search_paths(available, &mut paths);
        self.member_paths(available, passes, estimate, &mut paths);
        self.merge_paths(available, passes, estimate, &mut paths);
        // Jumps from group to group find each group in several parts.
        if self.alone && self.table.partitions.is_none() {
            self.skip_paths(passes, &mut paths);
        }
        // Every path passes the same rows, so the estimates of the paths that dived into their index count for all.
        let seen = paths.iter().any(|p| p.seen);
        let rows = paths.iter().filter(|p| p.seen == seen).fold(f64::INFINITY, |least, p| least.min(p.rows));
        paths.iter_mut().for_each(|p| p.rows = rows);
        paths
    }

    /// Full-text searches. As MySQL does, each is taken to find one row.
    fn search_paths(&self, available: RelSet, paths: &mut Vec<Path>) {
        for search in &self.searches {
            paths.push(Path {
                index: self.table.clustered,
                covering: false,
                access: Access::Search(Box::new(search.clone())),
                reverse: false,
                ensured: Vec::new(),
                sources: vec![None],
                parts: 0,
                bound: 0,
                examined: 1.0,
                seen: false,
                rows: self.selectivity(available, &[]).max(0.01),
                // It is made anyway, to compute the rank.
                cost: cost::DESCEND + cost::NEXT,
            });
        }
    }

    fn full_scan(&self, index: Option<usize>, available: RelSet, passes: Passes) -> Path {
        let index = index.or(self.table.clustered);
        // A statement that changes rows needs each row's lock: an exclusive scan of a secondary index takes that,
        // too.
        let covering =
            self.covers(index) && (index == self.table.clustered || passes.has(Passes::COVERING) && !self.exclusive);
        let mut cost = cost::DESCEND + self.walk_cost(index, covering, passes);
        if self.locking {
            cost += cost::LOCK_ALL;
        }
        if self.skips_locked && !self.sargs.is_empty() {
            // It locks rows that no condition lets through, too. How many, the statistics do not say: of a table that
            // is a queue they are old at once.
            cost *= 2.0;
        }
        if self.hints.force {
            cost += self.rows * 100.0 + 1e6;
        }
        let mut access = Access::Full;
        if self.virtual_source {
            let equal = self.sargs.iter().filter(|s| s.needs.within(available)).filter_map(|s| match &s.says {
                Says::Equals(key) if !key.null_safe => Some((s.column, key.value.clone())),
                _ => None,
            });
            access = Access::Virtual { equals: equal.collect() };
        }
        Path {
            index,
            covering,
            access,
            reverse: false,
            ensured: Vec::new(),
            sources: Vec::new(),
            parts: 0,
            bound: 0,
            examined: self.rows,
            seen: false,
            rows: self.rows * self.selectivity(available, &[]),
            cost,
        }
    }

    /// The best the conditions allow on one index.
    fn index_path(
        &self,
        index: usize,
        available: RelSet,
        passes: Passes,
        estimate: &dyn Fn(usize, &Ranges) -> Option<f64>,
    ) -> Option<Path> {
        let usable: Vec<&Sarg> = self.sargs.iter().filter(|s| s.needs.within(available)).collect();
        let no_ranges = self.hints.no_range >> index & 1 == 1;
        let passes = if no_ranges { passes.without(Passes::RANGES) } else { passes };
        let built = self.product(&self.table.indexes[index].parts, &usable, passes)?;
        Some(self.finish(index, &built, available, passes, estimate))
    }

    /// The column has one value in all rows for which the condition holds.
    pub(super) fn binds(&self, sarg: &Sarg) -> bool {
        match &sarg.says {
            Says::Equals(key) => tells_apart(&self.table.columns[sarg.column as usize].ty, key.by),
            _ => false,
        }
    }

    /// Walks parts of an index: equalities, then IN lists, then one interval.
    fn product(&self, parts: &[IndexPart], sargs: &[&Sarg], passes: Passes) -> Option<Product> {
        let mut product = Product::default();
        // All that is said of the parts before becomes keys: what is said of later ones is not left out.
        let mut placed = true;
        for part in parts {
            let of_part = || sargs.iter().filter(|s| s.column == part.column);
            let whole = part.prefix.is_none();
            let ty = &self.table.columns[part.column as usize].ty;
            let equal = of_part().find_map(|s| match &s.says {
                Says::Equals(key) => Some((*s, key)),
                _ => None,
            });
            if let Some((sarg, key)) = equal {
                product.fixed += usize::from(product.fixed == product.parts.len() && tells_apart(ty, key.by));
                product.parts.push(Arc::from([key.clone()]));
                product.sources.push(sarg.source);
                product.ensured.extend((placed && sarg.exact && whole).then_some(sarg.condition));
                placed &= sarg.exact && is_placed(part, ty);
                continue;
            }
            if !passes.has(Passes::RANGES) {
                break;
            }
            let listed = of_part().find_map(|s| match &s.says {
                Says::AnyOf(keys) if product.count() * keys.len() <= MAX_PRODUCT.max(keys.len()) => Some((*s, keys)),
                _ => None,
            });
            if let Some((sarg, keys)) = listed {
                product.parts.push(keys.clone());
                product.sources.push(None);
                product.ensured.extend((placed && sarg.exact && whole).then_some(sarg.condition));
                placed &= sarg.exact && is_placed(part, ty);
                continue;
            }
            product.interval(of_part().copied(), placed && whole);
            break;
        }
        if product.parts.is_empty() && product.last.is_none() { None } else { Some(product) }
    }

    fn finish(
        &self,
        index: usize,
        product: &Product,
        available: RelSet,
        passes: Passes,
        estimate: &dyn Fn(usize, &Ranges) -> Option<f64>,
    ) -> Path {
        let n = product.parts.len();
        let bound = product.bound();
        let single = bound == n && product.last.is_none();
        let mut examined = self.guess(index, product);
        let (mut most, mut seen) = (self.rows.max(1.0), false);
        let (ensured, sources) = (product.ensured.clone(), product.sources.clone());
        let used = n + usize::from(product.last.is_some());
        let access = if single && self.is_point(index, product) {
            Access::Point { key: product.single_key() }
        } else if single {
            let key = product.single_key();
            if let Some(rows) = estimate(index, &product.ranges()) {
                (examined, most, seen) = (rows, self.rows.max(rows), true);
            }
            Access::Ref { key }
        } else {
            let ranges = product.ranges();
            if let Some(rows) = estimate(index, &ranges) {
                (examined, most, seen) = (rows, self.rows.max(rows), true);
            }
            Access::Ranges { ranges }
        };
        let examined = examined.clamp(1.0, most);
        let mut path = Path {
            index: Some(index),
            covering: false,
            access,
            reverse: false,
            ensured,
            sources,
            parts: used,
            bound: product.fixed,
            examined,
            seen,
            rows: 0.0,
            cost: 0.0,
        };
        self.price(&mut path, product.count() as f64, available, passes);
        path
    }

    /// The product is one whole key of a unique index.
    fn is_point(&self, index: usize, product: &Product) -> bool {
        let definition = &self.table.indexes[index];
        let n = product.parts.len();
        definition.unique()
            && n == definition.parts.len()
            && product.bound() == n
            && product.last.is_none()
            && !product.parts.iter().any(|p| p.iter().any(|k| k.null_safe))
            && !definition.parts.iter().any(|p| p.prefix.is_some())
            && definition.parts.iter().zip(&product.parts).all(|(part, keys)| {
                let ty = &self.table.columns[part.column as usize].ty;
                keys.iter().all(|k| tells_apart(ty, k.by))
            })
    }

    /// Entries that statistics let expect of a product.
    fn guess(&self, index: usize, product: &Product) -> f64 {
        if self.is_point(index, product) {
            return 1.0;
        }
        let n = product.parts.len();
        let keys = if n == 0 { self.rows } else { self.rows_per_key(index, n) * product.count() as f64 };
        keys * product.last.as_ref().map_or(1.0, interval_share)
    }

    fn price(&self, path: &mut Path, descents: f64, available: RelSet, passes: Passes) {
        let clustered = path.index == self.table.clustered;
        path.covering = self.covers(path.index) && (clustered || passes.has(Passes::COVERING) && !self.exclusive);
        let row = cost::NEXT + self.row_cost(path.covering);
        // A part of an index is never dearer than the whole: in the index's order it has the rows at its beginning.
        let walk = (path.examined * row).min(self.walk_cost(path.index, path.covering, passes));
        // Of equal paths the one that uses more of its index.
        path.cost = descents * cost::DESCEND + walk - 0.001 * path.parts as f64;
        // The conditions that chose the entries are counted in `examined`.
        let mut served = path.ensured.clone();
        let used: Vec<u32> = path
            .index
            .map_or(Vec::new(), |i| self.table.indexes[i].parts.iter().take(path.parts).map(|p| p.column).collect());
        for sarg in &self.sargs {
            if sarg.needs.within(available) && used.contains(&sarg.column) {
                served.push(sarg.condition);
            }
        }
        served.sort_unstable();
        path.rows = (path.examined * self.selectivity(available, &served))
            .max(if matches!(path.access, Access::Point { .. }) { 0.5 } else { 0.01 });
    }

    /// Ranges from OR: each alternative restricts the index.
    fn union_paths(
        &self,
        index: usize,
        available: RelSet,
        passes: Passes,
        estimate: &dyn Fn(usize, &Ranges) -> Option<f64>,
        paths: &mut Vec<Path>,
    ) {
        if self.hints.no_range >> index & 1 == 1 {
            return;
        }
        // What holds besides an OR holds in each alternative.
        let common: Vec<&Sarg> = self.sargs.iter().filter(|s| s.needs.within(available)).collect();
        let parts = &self.table.indexes[index].parts;
        for (condition, alternatives, needs) in &self.unions {
            if !needs.within(available) {
                continue;
            }
            let mut ranges = Vec::with_capacity(alternatives.len());
            // Alternatives may overlap: as independent events, so that ranges never seem dearer than the whole index.
            let mut left_out = 1.0;
            let mut descents = 0.0;
            let mut exact = alternatives.len() >= MANY_ALTERNATIVES;
            for alternative in alternatives {
                let all: Vec<&Sarg> = alternative.says.iter().chain(common.iter().copied()).collect();
                let Some(product) = self.product(parts, &all, passes) else { break };
                let examined = self.guess(index, &product).clamp(1.0, self.rows.max(1.0));
                left_out *= 1.0 - examined / self.rows.max(examined);
                descents += product.count() as f64;
                exact &= alternative.is_ensured_by(&product.ensured);
                ranges.push(product.range());
            }
            if ranges.len() < alternatives.len() {
                continue;
            }
            let ranges = Ranges(ranges.into());
            let guess = self.rows * (1.0 - left_out);
            let dived = estimate(index, &ranges);
            let examined = dived.unwrap_or(guess).clamp(1.0, self.rows.max(1.0));
            let mut path = Path {
                index: Some(index),
                covering: false,
                access: Access::Ranges { ranges },
                reverse: false,
                ensured: if exact { vec![*condition] } else { Vec::new() },
                sources: Vec::new(),
                parts: 1,
                bound: 0,
                examined,
                seen: dived.is_some(),
                rows: 0.0,
                cost: 0.0,
            };
            self.price(&mut path, descents, available, passes);
            let served = [*condition];
            path.rows = (examined * self.selectivity(available, &served)).max(0.01);
            paths.push(path);
        }
    }

    /// Positions of indexes that some condition could use: EXPLAIN's possible_keys. `groups`: columns of a loose index
    /// scan.
    pub(super) fn possible(&self, available: RelSet, groups: &[u32]) -> Box<[u32]> {
        let sought = |i: usize| {
            let equal =
                |p: &IndexPart| self.sargs.iter().any(|s| s.column == p.column && matches!(s.says, Says::Equals(_)));
            let before = || self.table.indexes[i].parts.iter().take(self.table.array_part(i).unwrap_or(0));
            let served = |m: &Members| m.index == i && m.needs.within(available) && before().all(equal);
            self.searches.iter().any(|s| s.index as usize == i) || self.members.iter().any(served)
        };
        let first = |i: usize| self.table.indexes[i].parts[0].column;
        let served = |a: &Alternative| {
            let by = |i: usize| self.usable(i) && a.says.iter().any(|s| s.column == first(i));
            (0..self.table.indexes.len()).any(by)
        };
        let merges: Vec<&Alternative> =
            self.unions.iter().filter(|u| u.1.iter().all(served)).flat_map(|u| u.1.iter()).collect();
        let says = |column: u32| {
            let plain = self.sargs.iter().any(|s| s.column == column && s.needs.within(available));
            plain || merges.iter().any(|a| a.says.iter().any(|s| s.column == column))
        };
        let has = |i: usize, c: u32| self.table.indexes[i].parts.iter().any(|p| p.column == c);
        let grouped = |i: usize| !groups.is_empty() && groups.iter().all(|c| has(i, *c));
        let all =
            (0..self.table.indexes.len()).filter(|i| sought(*i) || self.usable(*i) && (says(first(*i)) || grouped(*i)));
        all.map(|i| i as u32).collect()
    }

    /// The path reads its entries in an order that satisfies `wanted` (column, descending); columns in `fixed` do not
    /// matter. Gives whether the walk has to be backward.
    pub(super) fn order_of(&self, path: &Path, wanted: &[(u32, bool)], fixed: &[u32]) -> Option<bool> {
        // What is ranked has an order of its own; the parts of a table are merged by the entries of one index.
        if matches!(path.access, Access::Search(_) | Access::Members(_))
            || (self.table.partitions.is_some() && matches!(path.access, Access::Merge { .. } | Access::Skip(_)))
        {
            return None;
        }
        let mut parts: Vec<(u32, bool)> = Vec::new();
        let mut clustered_columns: &[u32] = &[];
        if let Some(index) = path.index {
            let definition = &self.table.indexes[index];
            if definition.parts.iter().any(|p| p.prefix.is_some()) {
                return None;
            }
            parts.extend(definition.parts.iter().map(|p| (p.column, p.descending)));
            if self.table.clustered != Some(index) {
                clustered_columns = self.table.clustered_columns();
            }
        } else if !wanted.is_empty() {
            return None;
        }
        if let Some(clustered) = self.table.clustered {
            for (column, part) in clustered_columns.iter().zip(&self.table.indexes[clustered].parts) {
                if !parts.iter().any(|(c, _)| c == column) {
                    parts.push((*column, part.descending));
                }
            }
        }
        let bound: Vec<u32> = parts.iter().take(path.bound).map(|(c, _)| *c).collect();
        let constant = |c: u32| bound.contains(&c) || fixed.contains(&c);
        let mut reverse: Option<bool> = None;
        let mut at = 0;
        for (column, descending) in wanted {
            if constant(*column) {
                continue;
            }
            while at < parts.len() && constant(parts[at].0) {
                at += 1;
            }
            let unique = path.index.is_some_and(|i| {
                let n = self.table.indexes[i].parts.len();
                self.table.indexes[i].kind == IndexKind::Primary && at >= n
            });
            if unique {
                break;
            }
            let (part, part_descending) = *parts.get(at)?;
            if part != *column {
                return None;
            }
            let backward = part_descending != *descending;
            if *reverse.get_or_insert(backward) != backward {
                return None;
            }
            at += 1;
        }
        // A skip scan goes from group to group forwards only.
        let forwards_only = matches!(path.access, Access::Skip(_));
        Some(reverse.unwrap_or(false)).filter(|reverse| !(*reverse && forwards_only))
    }
}

/// Key parts with their alternatives, and perhaps an interval behind them.
#[derive(Clone, Debug, Default)]
struct Product {
    parts: Vec<Arc<[KeyValue]>>,
    last: Option<Interval>,
    ensured: Vec<usize>,
    sources: Vec<Option<u32>>,
    /// Leading parts in which all that is read is one value.
    fixed: usize,
}

/// A value is one key of the part, behind which the next part's lies: texts that are equal may be cut to several.
fn is_placed(part: &IndexPart, ty: &SqlType) -> bool {
    part.prefix.is_none() || !ty.id.is_string() || ty.collation.get().cuts_keep_order()
}

impl Product {
    /// Leading parts with one alternative each.
    fn bound(&self) -> usize {
        self.parts.iter().take_while(|p| p.len() == 1).count()
    }

    fn count(&self) -> usize {
        self.parts.iter().fold(1usize, |n, p| n.saturating_mul(p.len().max(1)))
    }

    fn single_key(&self) -> Box<[KeyValue]> {
        self.parts.iter().filter_map(|p| p.first().cloned()).collect()
    }

    fn range(&self) -> RangeProduct {
        RangeProduct { parts: self.parts.as_slice().into(), last: self.last.clone().map(Box::new) }
    }

    fn ranges(&self) -> Ranges {
        Ranges(Arc::new([self.range()]))
    }

    /// Combines the bounds on one column: the first lower and the first upper one; a LIKE only when nothing else is
    /// there. `ensures`: the keys of the parts before and of this one say all.
    fn interval<'s>(&mut self, sargs: impl Iterator<Item = &'s Sarg>, ensures: bool) {
        let mut interval = Interval::KNOWN;
        let mut found = false;
        let (mut like, mut holes) = (None, Vec::new());
        for sarg in sargs {
            let Says::Within(bounds) = &sarg.says else { continue };
            if bounds.like.is_some() {
                like = like.or_else(|| bounds.like.clone());
                continue;
            }
            let (takes_low, takes_high) = (bounds.low.is_some(), bounds.high.is_some());
            if takes_low && interval.low.is_some() || takes_high && interval.high.is_some() {
                continue;
            }
            if !bounds.holes.is_empty() {
                holes.extend(bounds.holes.iter().cloned());
                continue;
            }
            found = true;
            if takes_low {
                interval.low = bounds.low.clone();
            }
            if takes_high {
                interval.high = bounds.high.clone();
            }
            if sarg.exact && ensures {
                self.ensured.push(sarg.condition);
            }
        }
        if !found && like.is_some() {
            interval.like = like;
            found = true;
        } else if self.count().saturating_mul(holes.len()) <= MAX_PRODUCT {
            found |= !holes.is_empty();
            interval.holes = holes;
        }
        self.last = found.then_some(interval);
    }
}

fn interval_share(interval: &Interval) -> f64 {
    let share = match (&interval.low, &interval.high, &interval.like) {
        (_, _, Some(_)) => cost::BETWEEN,
        (Some(_), Some(_), _) => cost::BETWEEN,
        (None, None, _) => 0.9,
        _ => cost::INEQUALITY,
    };
    let of_hole = |h: &Hole| if h.high.is_some() { cost::BETWEEN } else { cost::EQUAL };
    share * (1.0 - interval.holes.iter().map(of_hole).sum::<f64>()).max(0.5)
}
