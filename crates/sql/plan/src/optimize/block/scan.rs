//! The scan of one table, with what EXPLAIN tells of it.

use super::Planned;
use crate::expr::{Expr, ExprKind};
use crate::fold;
use crate::logical::{ColId, Label, Rel, RelKind};
use crate::make::and;
use crate::optimize::access::Path;
use crate::optimize::build::{Builder, Node};
use crate::optimize::relset::RelSet;
use crate::options::Passes;
use crate::physical::{Access, Op, PartFilter, PartScan, ROW_ID, ROW_PART, Ranges, ScanExplain, SkipTake, TableScan};
use gannet_types::{Result, SqlError};

impl Builder<'_> {
    /// The scan of a base relation by a path, with the conditions that need nothing else.
    pub(super) fn scan(
        &mut self,
        planned: &mut Planned<'_>,
        i: usize,
        path: &Path,
        own: Vec<usize>,
        few: bool,
    ) -> Result<Node> {
        let block = planned.block;
        let rel = &block.rels[i];
        let RelKind::Base(slot) = rel.kind else { return Err(SqlError::internal("a scan of no table")) };
        let Some(base) = &planned.bases[i] else { return Err(SqlError::internal("a scan of no table")) };
        let (columns, table) = (base.columns.clone(), base.table.clone());
        let groups: Vec<u32> = match (&path.access, path.index) {
            (Access::Skip(skip), Some(index)) if skip.take != SkipTake::All => {
                table.indexes[index].parts.iter().take(skip.parts as usize).map(|p| p.column).collect()
            }
            _ => Vec::new(),
        };
        let possible = base.possible(RelSet(u64::MAX), &groups);
        let examined = path.examined;
        let schema: Vec<ColId> = columns.iter().map(|c| rel.first + place(*c, &table)).collect();
        let mut access = path.access.clone();
        access.for_each_value_mut_result(&mut |e| self.lower_in_place(e, &[]))?;
        let covers_all = path.index == table.clustered || path.covering;
        let filters_of = base.part_filters(&own);
        let (mut filters, mut index_filters) = (Vec::new(), Vec::new());
        // What is ordered is evaluated above the scan, which reads ahead.
        let (above, own): (Vec<usize>, Vec<usize>) =
            own.into_iter().partition(|c| self.arena.is_ordered(&planned.conditions[*c]));
        for c in own {
            planned.applied[c] = true;
            if path.ensured.contains(&c) || fold::is_true(&planned.conditions[c]) {
                continue;
            }
            let e = planned.conditions[c].clone();
            let by_index = !covers_all
                && !matches!(path.access, Access::Members(_))
                && self.options.passes.has(Passes::INDEX_CONDITION)
                && path.index.is_some_and(|index| rel.hints.no_icp >> index & 1 == 0)
                && path.index.is_some_and(|index| self.index_alone(&e, rel, &table, index));
            if by_index { index_filters.push(e) } else { filters.push(e) }
        }
        for c in &path.ensured {
            planned.applied[*c] = true;
        }
        filters.sort_by_cached_key(|e| e.any(&mut |e| matches!(e.kind, ExprKind::Subquery(_))));
        let filter = self.conjunction(filters, &schema)?;
        let index_filter = self.conjunction(index_filters, &schema)?;
        let explain = self.scan_explain(planned, i, path, possible, &table);
        let parts = part_scan(self, &filters_of, &table, planned.ordered)?;
        let scan = TableScan {
            table: slot,
            index: path.index.map(|i| i as u32),
            covering: covers_all && path.index != table.clustered,
            access,
            reverse: path.reverse,
            columns: columns.into(),
            filter,
            index_filter,
            lock: rel.lock,
            parts,
            expects_few: few || matches!(path.access, Access::Point { .. }) || examined < 50.0,
            explain: Box::new(explain),
        };
        let node = self.node(Op::TableScan(Box::new(scan)), schema, path.rows, path.cost);
        self.filtered(planned, node, &above)
    }

    fn conjunction(&mut self, exprs: Vec<Expr>, schema: &[ColId]) -> Result<Option<Expr>> {
        if exprs.is_empty() {
            return Ok(None);
        }
        Ok(Some(and(self.lower_all(&exprs, schema)?)))
    }

    /// The condition reads columns of the index only, and is cheap.
    fn index_alone(&self, e: &Expr, rel: &Rel, table: &gannet_schema::Table, index: usize) -> bool {
        let mut all = true;
        self.arena.columns_of(e, &mut |id| all &= !rel.has(id) || table.index_has(index, id - rel.first));
        all && !e.any(&mut |e| matches!(e.kind, ExprKind::Subquery(_))) && !self.arena.varies(e)
    }

    fn scan_explain(
        &self,
        planned: &Planned<'_>,
        i: usize,
        path: &Path,
        possible: Box<[u32]>,
        table: &gannet_schema::Table,
    ) -> ScanExplain {
        let rel = &planned.block.rels[i];
        let refs = path.sources.iter().map(|source| match source {
            None => "const".into(),
            Some(id) => self.qualified(*id).into(),
        });
        let refs: Box<[Box<str>]> = match path.access {
            Access::Ref { .. } | Access::Point { .. } | Access::Search(_) => refs.collect(),
            Access::Members(ref members) if members.single => refs.collect(),
            _ => Box::new([]),
        };
        let empty = planned.bases[i].as_ref().is_some_and(|b| b.empty);
        let filtered = (path.rows / path.examined.max(0.01) * 100.0).clamp(0.01, 100.0);
        ScanExplain {
            select: planned.block.select,
            name: rel.alias.clone(),
            possible,
            refs,
            // MySQL shows at least a row, and so one for an empty table.
            examined: if empty { 1.0 } else { path.examined },
            filtered,
            key_len: key_len(table, path),
            extra: Box::new([]),
        }
    }

    /// `schema.alias.column` of a base column.
    fn qualified(&self, id: ColId) -> String {
        match &self.arena.labels[id as usize] {
            Label::Base { table, ordinal } => {
                let t = &self.arena.tables[*table as usize];
                let column = t.table.columns.get(*ordinal as usize).map_or("", |c| &c.name);
                format!("{}.{}.{column}", t.table.schema, t.alias)
            }
            Label::Derived { alias, name, .. } => format!("{alias}.{name}"),
            Label::Computed => "func".into(),
        }
    }
}

/// The place of a column among those of its relation.
fn place(column: u32, table: &gannet_schema::Table) -> u32 {
    match column {
        ROW_ID => table.columns.len() as u32,
        ROW_PART => table.columns.len() as u32 + 1,
        column => column,
    }
}

/// MySQL's `key_len`: bytes of the parts used, with a NULL byte and length bytes.
fn key_len(table: &gannet_schema::Table, path: &Path) -> u32 {
    let Some(index) = path.index else { return 0 };
    let parts = match path.access {
        Access::Full => table.indexes[index].parts.len(),
        Access::Merge { .. } | Access::Search(_) => 0,
        _ => path.parts,
    };
    let of_part = |p: &gannet_schema::IndexPart| {
        let column = &table.columns[p.column as usize];
        match table.indexes[index].element() {
            Some(ty) if column.ty.id == gannet_types::TypeId::Json => {
                part_len(&gannet_schema::Column { ty: ty.clone(), ..column.clone() }, None)
            }
            _ => part_len(column, p.prefix),
        }
    };
    table.indexes[index].parts.iter().take(parts).map(of_part).sum()
}

pub(crate) fn part_len(column: &gannet_schema::Column, prefix: Option<u32>) -> u32 {
    use gannet_types::TypeId as T;
    let ty = &column.ty;
    let chars = ty.collation.charset().max_len();
    let bytes = match ty.id {
        id if id.is_integer() => id.int_width() as u32,
        T::Float => 4,
        T::Double | T::Set => 8,
        T::Date | T::MediumInt => 3,
        T::Time => 3 + u32::from(ty.scale.div_ceil(2)),
        T::DateTime => 5 + u32::from(ty.scale.div_ceil(2)),
        T::Timestamp => 4 + u32::from(ty.scale.div_ceil(2)),
        T::Year => 1,
        T::Enum => 1 + u32::from(ty.members.as_ref().is_some_and(|m| m.names.len() > 255)),
        T::Bit => ty.length.div_ceil(8),
        T::Decimal => gannet_types::Decimal::encoded_len(ty.length as u8) as u32,
        T::Char => prefix.unwrap_or(ty.length) * chars,
        T::Binary => prefix.unwrap_or(ty.length),
        // A LONGTEXT as a whole is as long as the number can tell.
        _ if ty.id.is_binary_string() => prefix.unwrap_or(ty.length).saturating_add(2),
        _ => prefix.unwrap_or(ty.length).saturating_mul(chars).saturating_add(2),
    };
    bytes.saturating_add(u32::from(column.nullable))
}

/// How the parts of a table are read.
fn part_scan(
    builder: &mut Builder<'_>,
    filters: &[Vec<Ranges>; 2],
    table: &gannet_schema::Table,
    merged: bool,
) -> Result<Option<Box<PartScan>>> {
    if table.partitions.is_none() {
        return Ok(None);
    }
    let mut lowered = |list: &Vec<Ranges>| -> Result<Box<[PartFilter]>> {
        let mut filters = Vec::with_capacity(list.len());
        for ranges in list {
            let (mut ranges, mut outcome) = (ranges.clone(), Ok(()));
            ranges.for_each_value_mut(&mut |e| {
                if outcome.is_ok() {
                    outcome = builder.lower_in_place(e, &[]);
                }
            });
            outcome?;
            filters.push(PartFilter { ranges });
        }
        Ok(filters.into())
    };
    let [main, sub] = filters;
    Ok(Some(Box::new(PartScan { merged, main: lowered(main)?, sub: lowered(sub)? })))
}
