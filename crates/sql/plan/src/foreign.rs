//! The foreign keys around the tables that a statement writes: which tables are checked, and which are changed as a
//! consequence.

use crate::physical::Op;
use crate::plan::{ChildLink, Delete, ForeignLinks, Intent, ParentLink, PlanTable};
use gannet_schema::define::serves;
use gannet_schema::{CatalogSnapshot, ForeignKey, ReferenceAction, Table};
use gannet_types::Result;
use std::sync::Arc;

/// Position of an index whose first parts are the columns.
pub fn serving(table: &Table, columns: &[u32]) -> Option<usize> {
    table.indexes.iter().position(|i| serves(i, columns))
}

/// Ordinals of the columns that a key refers to.
fn parent_columns(key: &ForeignKey, parent: &Table) -> Option<Box<[u32]>> {
    key.parent_columns.iter().map(|name| parent.column(name)).collect()
}

/// What a statement does to the rows of a table, as far as it matters for foreign keys.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Writes {
    /// Rows come or change: they need parents.
    arrive: bool,
    /// Rows go or change: others may refer to them.
    leave: bool,
}

/// Links the written tables of a plan; tables that foreign keys reach are added behind the others.
pub(crate) fn link(tables: &mut Vec<PlanTable>, updates_duplicates: bool, snapshot: &CatalogSnapshot) -> Result<()> {
    let mut next = 0;
    while next < tables.len() {
        let writes = match tables[next].intent {
            Intent::Read | Intent::LockingRead | Intent::ReadForUpdate | Intent::ForeignRead => {
                Writes { arrive: false, leave: false }
            }
            Intent::Insert => Writes { arrive: true, leave: updates_duplicates },
            Intent::Replace | Intent::Update | Intent::ForeignWrite => Writes { arrive: true, leave: true },
            Intent::Delete => Writes { arrive: false, leave: true },
        };
        let target = &tables[next].table;
        if (writes.arrive || writes.leave)
            && !target.temporary
            && snapshot.schema(&target.schema).is_some_and(|s| s.read_only)
        {
            return Err(gannet_types::sql_err!(SchemaReadOnly, target.schema));
        }
        let links = links_of(next, writes, tables, snapshot)?;
        if !links.parents.is_empty() || !links.children.is_empty() {
            tables[next].links = Some(Arc::new(links));
        }
        next += 1;
    }
    Ok(())
}

/// Has LIMIT count deleted rows where others may be met: those that IGNORE leaves, and those that went with rows before
/// them.
pub(crate) fn count_deleted(delete: &mut Delete, tables: &[PlanTable]) {
    let [(slot, _)] = *delete.targets else { return };
    let target = &tables[slot as usize];
    let follows = |t: &PlanTable| t.intent == Intent::ForeignWrite && t.table.id == target.table.id;
    if !(delete.ignore && target.links.is_some() || tables.iter().any(follows)) {
        return;
    }
    let Op::Limit { input, limit: Some(_), offset: None, .. } = &mut delete.input.op else { return };
    if let Op::Sort { limit, .. } = &mut input.op {
        *limit = None;
    }
    delete.counts_deleted = true;
}

fn links_of(
    slot: usize,
    writes: Writes,
    tables: &mut Vec<PlanTable>,
    snapshot: &CatalogSnapshot,
) -> Result<ForeignLinks> {
    let table = tables[slot].table.clone();
    let mut links = ForeignLinks::default();
    if writes.arrive && !table.constraints.foreign_keys.is_empty() {
        let mut parents = Vec::new();
        for (position, key) in table.constraints.foreign_keys.iter().enumerate() {
            let parent = snapshot.base_table(&key.parent_schema, &key.parent).cloned();
            let found = parent.and_then(|p| {
                let columns = parent_columns(key, &p)?;
                Some((serving(&p, &columns)? as u32, p))
            });
            let parent = match found {
                Some((index, p)) => Some((place(&p, Intent::ForeignRead, tables)?, index)),
                None => None,
            };
            parents.push(ParentLink { key: position as u32, parent });
        }
        links.parents = parents.into();
    }
    if writes.leave && !table.temporary {
        let mut children = Vec::new();
        for child in snapshot.children(&table.schema, &table.name) {
            for (position, key) in child.constraints.foreign_keys.iter().enumerate() {
                if key.parent_schema != table.schema || key.parent != table.name {
                    continue;
                }
                let Some(index) = serving(&child, &key.columns) else { continue };
                let Some(columns) = parent_columns(key, &table) else { continue };
                let changes = |a: ReferenceAction| matches!(a, ReferenceAction::Cascade | ReferenceAction::SetNull);
                let follows = changes(key.on_delete) || changes(key.on_update);
                let intent = if follows { Intent::ForeignWrite } else { Intent::ForeignRead };
                let place = place(&child, intent, tables)?;
                children.push(ChildLink { table: place, key: position as u32, index: index as u32, columns });
            }
        }
        // InnoDB asks by the parent's indexes, the key of the rows first, and for each by the names.
        children.sort_by_cached_key(|c| {
            let child = &tables[c.table as usize].table;
            let index = serving(&table, &c.columns);
            let name = &child.constraints.foreign_keys[c.key as usize].name;
            (index != table.clustered, index, format!("{}/{name}", child.schema))
        });
        links.children = children.into();
    }
    Ok(links)
}

/// The place of a table that a foreign key reaches.
fn place(table: &Arc<Table>, intent: Intent, tables: &mut Vec<PlanTable>) -> Result<u32> {
    let found = tables.iter().position(|t| t.intent == intent && Arc::ptr_eq(&t.table, table));
    if let Some(at) = found {
        return Ok(at as u32);
    }
    let written = intent == Intent::ForeignWrite && table.has_expressions();
    let exprs = written.then(|| crate::table_exprs::table_exprs(table)).transpose()?;
    tables.push(PlanTable {
        table: table.clone(),
        alias: (&*table.name).into(),
        intent,
        columns_used: Box::new([]),
        starred: false,
        statistics_epoch: table.statistics.epoch(),
        exprs,
        links: None,
        only: None,
        through: None,
    });
    Ok(tables.len() as u32 - 1)
}
