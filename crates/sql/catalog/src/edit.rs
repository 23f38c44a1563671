//! Changes of the dictionary inside one engine transaction.

use crate::catalog::Catalog;
use crate::error::{CatalogError, CatalogResult};
use crate::keys::{KIND_SCHEMA, KIND_TABLE, dictionary_key, event_key, routine_key, table_key};
use crate::stats;
use crate::trees::StoredTable;
use crate::words::Words;
use gannet_engine::{Insert, Read, ReadMode, RowBuf, SnapshotReader, TreeHandle, TreeId, TreeKind, Txn};
use gannet_runtime::LongWork;
use gannet_schema::{
    CatalogSnapshot, Change, Column, Constraints, Figures, Index, PartTrees, Partitioned, Partitioning, RowSource,
    Schema, SchemaId, Table, TableDefinition, TableId, TableOptions, TableParts, TableStatistics, View, assemble,
    define, encode_schema, encode_table, names,
};
use gannet_types::{CollationId, ErrorCode, SqlError};
use std::sync::Arc;

/// A change in the making. What it does is visible to itself ([`Edit::snapshot`]) and to nobody else until
/// [`Catalog::ddl`] publishes it.
pub struct Edit<'a> {
    pub(crate) catalog: &'a Catalog,
    pub(crate) txn: &'a mut Txn,
    view: CatalogSnapshot,
    changes: Vec<Change>,
    /// Tables that others see in a version for the time of the change: if it fails, they get these back.
    pub(crate) lent: Vec<Arc<Table>>,
    /// Tasks that may build indexes.
    pub workers: usize,
    /// What is long of the change: told of where it is done.
    pub work: LongWork,
    /// What those who follow the log are told of the change with its commit.
    pub words: Option<Words>,
}

fn sql(code: ErrorCode, args: &[&dyn std::fmt::Display]) -> CatalogError {
    CatalogError::Sql(SqlError::new(code, args))
}

impl<'a> Edit<'a> {
    pub(crate) fn new(catalog: &'a Catalog, txn: &'a mut Txn, snapshot: &CatalogSnapshot) -> Edit<'a> {
        Edit {
            catalog,
            txn,
            view: snapshot.clone(),
            changes: Vec::new(),
            lent: Vec::new(),
            workers: 1,
            work: LongWork::default(),
            words: None,
        }
    }

    /// What is to be published when the change succeeds, and what when it fails.
    pub(crate) fn into_changes(self) -> (Vec<Change>, Vec<Change>) {
        (self.changes, self.lent.into_iter().map(Change::PutTable).collect())
    }

    /// The dictionary with this change.
    pub fn snapshot(&self) -> &CatalogSnapshot {
        &self.view
    }

    /// Reads the rows of a table whose metadata lock keeps writers away: what is committed, and what the transaction
    /// has changed. A transaction that a crash has left unfinished holds no metadata lock, and its changes are not
    /// seen. Those of a temporary table's session are, which have no other transaction.
    pub fn reader(&self, table: &Table) -> CatalogResult<SnapshotReader> {
        Ok(SnapshotReader::of_now(self.txn, table.temporary)?)
    }

    /// The transaction, for what belongs to the change (copying rows, accounts).
    pub fn txn(&mut self) -> &mut Txn {
        self.txn
    }

    pub(crate) fn note(&mut self, change: Change) {
        self.view = self.view.with([change.clone()]);
        self.changes.push(change);
    }

    pub(crate) fn schema(&self, name: &str) -> CatalogResult<Schema> {
        self.view.schema(name).cloned().ok_or_else(|| names::missing_schema(name).into())
    }

    /// Keeps the schema from being dropped by another transaction until this one ends.
    pub(crate) fn hold_schema(&mut self, name: &str) -> CatalogResult<Schema> {
        let schema = self.schema(name)?;
        if !schema.system {
            let key = dictionary_key(KIND_SCHEMA, &[&schema.name]);
            let mut row = RowBuf::new();
            if self.txn.get(self.catalog.tree(), &key, ReadMode::FOR_SHARE, &mut row)? != Read::Found {
                return Err(sql(ErrorCode::BadDb, &[&name]));
            }
        }
        Ok(schema)
    }

    /// Creates a schema. Error 1007 when there is one.
    pub fn create_schema(&mut self, name: &str, collation: CollationId) -> CatalogResult<()> {
        names::check_schema_name(name)?;
        if self.view.schema(name).is_some() {
            return Err(sql(ErrorCode::DbCreateExists, &[&name]));
        }
        let id = SchemaId(self.catalog.next_id()? as u32);
        let schema = Schema { id, name: name.into(), collation, system: false, read_only: false };
        let mut row = Vec::new();
        encode_schema(&schema, &mut row);
        let key = dictionary_key(KIND_SCHEMA, &[name]);
        if self.txn.insert(self.catalog.tree(), &key, &row)? == Insert::Duplicate {
            return Err(sql(ErrorCode::DbCreateExists, &[&name]));
        }
        self.note(Change::PutSchema(schema));
        Ok(())
    }

    /// Changes a schema's default collation, and whether it is read only.
    pub fn alter_schema(&mut self, name: &str, collation: CollationId, read_only: bool) -> CatalogResult<()> {
        let schema = Schema { collation, read_only, ..self.schema(name)? };
        self.refuse_system(&schema)?;
        let mut row = Vec::new();
        encode_schema(&schema, &mut row);
        self.txn.update(self.catalog.tree(), &dictionary_key(KIND_SCHEMA, &[name]), &row)?;
        self.note(Change::PutSchema(schema));
        Ok(())
    }

    fn refuse_system(&self, schema: &Schema) -> CatalogResult<()> {
        if schema.system {
            return Err(sql(ErrorCode::NoSystemTableAccess, &[&"system schema", &schema.name, &"*"]));
        }
        Ok(())
    }

    /// Drops a schema with its tables; gives their number. Error 1008 when there is none.
    pub fn drop_schema(&mut self, name: &str) -> CatalogResult<usize> {
        let Some(schema) = self.view.schema(name).cloned() else {
            names::check_schema_name(name)?;
            return Err(sql(ErrorCode::DbDropExists, &[&name]));
        };
        self.refuse_system(&schema)?;
        // First, so that no table can be added behind the walk.
        if self.txn.delete(self.catalog.tree(), &dictionary_key(KIND_SCHEMA, &[name]))?
            != gannet_engine::Delete::Deleted
        {
            return Err(sql(ErrorCode::DbDropExists, &[&name]));
        }
        // Tables which a transaction published between this edit's snapshot and the delete above.
        let temporaries = self.view.temporaries().cloned();
        self.view = self.catalog.snapshot().with_temporaries(temporaries).with(self.changes.iter().cloned());
        let tables: Vec<Arc<Table>> = self.view.tables(name).to_vec();
        for table in &tables {
            if table.source.is_engine() {
                self.drop_trees(table)?;
                stats::forget(self.catalog, self.txn, table)?;
            }
            let key = dictionary_key(KIND_TABLE, &[name, &table.name]);
            self.txn.delete(self.catalog.tree(), &key)?;
        }
        let routines = self.view.routines(name).map(|r| routine_key(r));
        let events = self.view.events(name).map(|e| event_key(name, &e.name));
        for key in routines.chain(events).collect::<Vec<_>>() {
            self.txn.delete(self.catalog.tree(), &key)?;
        }
        self.note(Change::DropSchema(schema.name));
        Ok(tables.len())
    }

    fn drop_trees(&mut self, table: &Table) -> CatalogResult<()> {
        let trees = table.trees(self.catalog.engine())?.clone();
        for (index, tree) in table.indexes.iter().zip(&trees.indexes) {
            if index.tree != table.row_tree {
                self.txn.drop_tree(tree)?;
            }
        }
        self.txn.drop_tree(&trees.row)?;
        match &table.partitions {
            Some(parts) => parts.shared().trees.iter().try_for_each(|part| drop_part(self, part)),
            None => Ok(()),
        }
    }

    /// Creates a table from a definition. Error 1050 when there is one, and those of [`define::define`].
    pub fn create_table(&mut self, schema: &str, definition: &TableDefinition, now: u64) -> CatalogResult<Arc<Table>> {
        self.create(schema, definition, now, false)
    }

    /// Creates a temporary table.
    pub fn create_temporary(
        &mut self,
        schema: &str,
        definition: &TableDefinition,
        now: u64,
    ) -> CatalogResult<Arc<Table>> {
        self.create(schema, definition, now, true)
    }

    fn create(
        &mut self,
        schema: &str,
        definition: &TableDefinition,
        now: u64,
        temporary: bool,
    ) -> CatalogResult<Arc<Table>> {
        names::check_table_name(&definition.name)?;
        let schema = self.hold_schema(schema)?;
        if self.is_taken(&schema.name, &definition.name, temporary) {
            return Err(sql(ErrorCode::TableExists, &[&definition.name]));
        }
        let defined = define::define(definition)?;
        let row = self.new_tree(TreeKind::Row, temporary)?;
        if let Some(first) = definition.auto_increment.filter(|n| *n > 1) {
            row.counter_reset(first)?;
        }
        let mut indexes = defined.indexes;
        self.create_index_trees(&mut indexes, defined.clustered, row.id(), temporary)?;
        let partitioned = match &definition.partitioning {
            Some(of) => Some(new_parts(self, of, &indexes, defined.clustered)?),
            None => None,
        };
        let parts = TableParts {
            id: TableId(self.catalog.next_id()?),
            schema_id: schema.id,
            row_tree: row.id(),
            history: Arc::default(),
            created: now,
            options: definition.options.clone(),
            source: RowSource::Engine,
            constraints: defined.constraints,
            temporary,
            triggers: Box::default(),
            partitioned,
        };
        // Nothing to sample yet: an empty table is known to be empty.
        let statistics = Arc::new(TableStatistics::new(Figures { rows: 0, pages: 1, indexes: Vec::new(), taken: 0 }));
        let name = definition.name.clone();
        let table = assemble(parts, schema.name, name, defined.columns, indexes, defined.clustered, statistics);
        if let Some(first) = definition.auto_increment.filter(|n| *n > 1)
            && table.clustered.is_none()
        {
            let trees = table.trees(self.catalog.engine())?;
            row.counter_reset(1)?;
            if let Some(counter) = table.auto_counter(trees) {
                counter.counter_reset(first)?;
            }
        }
        self.insert_table(table)
    }

    /// Temporary tables and others have their names apart.
    fn is_taken(&self, schema: &str, name: &str, temporary: bool) -> bool {
        if temporary {
            self.view.table(schema, name).is_some_and(|t| t.temporary)
        } else {
            self.view.base_table(schema, name).is_some()
        }
    }

    /// A tree for a table. Of a temporary one no other session has an older snapshot.
    pub(crate) fn new_tree(&mut self, kind: TreeKind, temporary: bool) -> CatalogResult<TreeHandle> {
        let tree = self.txn.create_tree(kind)?;
        if temporary {
            tree.show_to_all();
        }
        Ok(tree)
    }

    fn create_index_trees(
        &mut self,
        indexes: &mut [Index],
        clustered: Option<usize>,
        row: TreeId,
        temporary: bool,
    ) -> CatalogResult<()> {
        for (i, index) in indexes.iter_mut().enumerate() {
            index.tree = if Some(i) == clustered { row } else { self.new_tree(TreeKind::Index, temporary)?.id() };
        }
        Ok(())
    }

    fn insert_table(&mut self, table: Table) -> CatalogResult<Arc<Table>> {
        let mut row = Vec::new();
        encode_table(&table, &mut row);
        let key = table_key(&table);
        if self.txn.insert(self.catalog.tree(), &key, &row)? == Insert::Duplicate {
            return Err(sql(ErrorCode::TableExists, &[&table.name]));
        }
        let table = Arc::new(table);
        self.note(Change::PutTable(table.clone()));
        Ok(table)
    }

    pub(crate) fn update_table(&mut self, table: Table) -> CatalogResult<Arc<Table>> {
        let mut row = Vec::new();
        encode_table(&table, &mut row);
        let key = table_key(&table);
        self.txn.update(self.catalog.tree(), &key, &row)?;
        let table = Arc::new(table);
        self.note(Change::PutTable(table.clone()));
        Ok(table)
    }

    pub(crate) fn base_table(&self, schema: &str, name: &str, missing: ErrorCode) -> CatalogResult<Arc<Table>> {
        let Some(table) = self.view.table(schema, name) else {
            let full = format!("{schema}.{name}");
            return Err(match missing {
                ErrorCode::BadTable => sql(missing, &[&full]),
                _ => sql(missing, &[&schema, &name]),
            });
        };
        if table.view().is_some() {
            return Err(match missing {
                ErrorCode::BadTable => sql(missing, &[&format!("{schema}.{name}")]),
                _ => sql(ErrorCode::WrongObject, &[&schema, &name, &"BASE TABLE"]),
            });
        }
        if table.source != RowSource::Engine {
            return Err(sql(ErrorCode::NoSystemTableAccess, &[&"system table", &schema, &name]));
        }
        Ok(table.clone())
    }

    /// Drops a table. Error 1051 when there is none.
    pub fn drop_table(&mut self, schema: &str, name: &str) -> CatalogResult<()> {
        let table = self.base_table(schema, name, ErrorCode::BadTable)?;
        if table.temporary {
            // Its trees go when no transaction can want them any more.
            self.note(Change::DropTemporary(table.schema.clone(), table.name.clone()));
            return Ok(());
        }
        self.drop_trees(&table)?;
        stats::forget(self.catalog, self.txn, &table)?;
        self.txn.delete(self.catalog.tree(), &table_key(&table))?;
        self.note(Change::DropTable(table.schema.clone(), table.name.clone()));
        Ok(())
    }

    /// Creates a view, or with `replace` one in the place of another. Errors 1050; 1347 when a table has the name.
    pub fn create_view(
        &mut self,
        schema: &str,
        name: &str,
        columns: Vec<Column>,
        view: View,
        replace: bool,
        now: u64,
    ) -> CatalogResult<()> {
        names::check_table_name(name)?;
        let schema = self.hold_schema(schema)?;
        let old = self.view.base_table(&schema.name, name).cloned();
        match &old {
            Some(t) if t.view().is_none() && replace => {
                return Err(sql(ErrorCode::WrongObject, &[&schema.name, &name, &"VIEW"]));
            }
            Some(_) if !replace => return Err(sql(ErrorCode::TableExists, &[&name])),
            _ => {}
        }
        let options = TableOptions { collation: schema.collation, comment: "".into(), create_options: Box::new([]) };
        let parts = TableParts {
            id: TableId(self.catalog.next_id()?),
            schema_id: schema.id,
            row_tree: TreeId::ZERO,
            history: Arc::default(),
            created: now,
            options,
            source: RowSource::View(Arc::new(view)),
            constraints: Constraints::default(),
            temporary: false,
            triggers: Box::default(),
            partitioned: None,
        };
        let table = assemble(parts, schema.name, name.into(), columns, Vec::new(), None, Arc::default());
        match old {
            Some(_) => self.update_table(table).map(|_| ()),
            None => self.insert_table(table).map(|_| ()),
        }
    }

    /// Drops a view. Errors 1051; 1347 when it is a table.
    pub fn drop_view(&mut self, schema: &str, name: &str) -> CatalogResult<()> {
        match self.view.base_table(schema, name).cloned() {
            None => Err(sql(ErrorCode::BadTable, &[&format!("{schema}.{name}")])),
            Some(t) if t.view().is_none() => Err(sql(ErrorCode::WrongObject, &[&schema, &name, &"VIEW"])),
            Some(t) => {
                self.txn.delete(self.catalog.tree(), &dictionary_key(KIND_TABLE, &[schema, name]))?;
                self.note(Change::DropTable(t.schema.clone(), t.name.clone()));
                Ok(())
            }
        }
    }

    /// Gives a table new, empty trees. AUTO_INCREMENT begins anew.
    pub fn truncate_table(&mut self, schema: &str, name: &str) -> CatalogResult<Arc<Table>> {
        let old = self.base_table(schema, name, ErrorCode::NoSuchTable)?;
        self.drop_trees(&old)?;
        let row = self.new_tree(TreeKind::Row, old.temporary)?;
        let mut indexes = old.indexes.to_vec();
        self.create_index_trees(&mut indexes, old.clustered, row.id(), old.temporary)?;
        let partitioned = match &old.partitions {
            Some(parts) => Some(new_parts(self, parts.definition(), &indexes, old.clustered)?),
            None => None,
        };
        let parts = TableParts { row_tree: row.id(), history: Arc::default(), partitioned, ..old.parts() };
        let empty = Figures { rows: 0, pages: 1, indexes: Vec::new(), taken: 0 };
        let statistics = Arc::new(old.statistics.moved(empty));
        let columns = old.columns.to_vec();
        let table = assemble(parts, old.schema.clone(), old.name.clone(), columns, indexes, old.clustered, statistics);
        self.update_table(table)
    }

    /// Renames a table, perhaps into another schema. Names of constraints that were made from its name follow, and so
    /// do the foreign keys that refer to it; triggers stay in their schema. Errors 1146, 1050, 1049, 1435.
    pub fn rename_table(&mut self, schema: &str, name: &str, to_schema: &str, to_name: &str) -> CatalogResult<()> {
        names::check_table_name(to_name)?;
        if self.view.table(schema, name).is_none() && self.is_taken(to_schema, to_name, false) {
            return Err(sql(ErrorCode::TableExists, &[&to_name]));
        }
        let old = match self.view.table(schema, name) {
            Some(table) if table.view().is_some() && schema == to_schema => table.clone(),
            Some(table) if table.view().is_some() => {
                return Err(sql(ErrorCode::ForbidSchemaChange, &[&schema, &to_schema]));
            }
            _ => self.base_table(schema, name, ErrorCode::NoSuchTable)?,
        };
        let target = self.hold_schema(to_schema)?;
        if old.schema != target.name && !old.triggers.is_empty() {
            return Err(sql(ErrorCode::TrgInWrongSchema, &[]));
        }
        if self.is_taken(&target.name, to_name, old.temporary) {
            return Err(sql(ErrorCode::TableExists, &[&to_name]));
        }
        let constraints = renamed_constraints(&old, to_name);
        let parts = TableParts { schema_id: target.id, constraints, ..old.parts() };
        let (columns, indexes) = (old.columns.to_vec(), old.indexes.to_vec());
        let statistics = old.statistics.clone();
        let table = assemble(parts, target.name, to_name.into(), columns, indexes, old.clustered, statistics);
        let table = self.replace_table(&old, Arc::new(table))?;
        let origins: Vec<Option<u32>> = (0..table.columns.len() as u32).map(Some).collect();
        self.repoint_children(&old, &table, &origins)
    }

    /// Foreign keys that refer to `old` refer to `new` from now on; `origins` says of each new column which one of the
    /// old table it was.
    pub fn repoint_children(&mut self, old: &Table, new: &Table, origins: &[Option<u32>]) -> CatalogResult<()> {
        let renamed = |name: &Arc<str>| {
            let ordinal = old.column(name);
            let place = origins.iter().position(|o| o.is_some() && *o == ordinal);
            place.and_then(|place| new.columns.get(place)).map_or(name.clone(), |c| c.name.clone())
        };
        for child in self.view.children(&old.schema, &old.name) {
            let mut constraints = child.constraints.clone();
            for key in &mut constraints.foreign_keys {
                if key.parent_schema == old.schema && key.parent == old.name {
                    (key.parent_schema, key.parent) = (new.schema.clone(), new.name.clone());
                    key.parent_columns = key.parent_columns.iter().map(renamed).collect();
                }
            }
            let parts = TableParts { constraints, ..child.parts() };
            let (columns, indexes) = (child.columns.to_vec(), child.indexes.to_vec());
            let (schema, name) = (child.schema.clone(), child.name.clone());
            let next = assemble(parts, schema, name, columns, indexes, child.clustered, child.statistics.clone());
            self.update_table(next)?;
        }
        Ok(())
    }
}

/// New, empty trees for a part of a table with these indexes.
pub(crate) fn new_part(edit: &mut Edit<'_>, indexes: &[Index], clustered: Option<usize>) -> CatalogResult<PartTrees> {
    let row = edit.new_tree(TreeKind::Row, false)?.id();
    let mut trees = Vec::with_capacity(indexes.len());
    for position in 0..indexes.len() {
        let own = Some(position) == clustered;
        trees.push(if own { row } else { edit.new_tree(TreeKind::Index, false)?.id() });
    }
    Ok(PartTrees { row, indexes: trees.into() })
}

/// A definition whose parts have new, empty trees.
pub(crate) fn new_parts(
    edit: &mut Edit<'_>,
    definition: &Partitioning,
    indexes: &[Index],
    clustered: Option<usize>,
) -> CatalogResult<Arc<Partitioned>> {
    let trees = (0..definition.leaves()).map(|_| new_part(edit, indexes, clustered));
    let trees = trees.collect::<CatalogResult<_>>()?;
    Ok(Arc::new(Partitioned { definition: definition.clone().placed_anew(), trees }))
}

/// Gives up the trees of a part. No row is read: purge frees them when no snapshot needs them.
pub(crate) fn drop_part(edit: &mut Edit<'_>, part: &PartTrees) -> CatalogResult<()> {
    for tree in part.indexes.iter().filter(|t| **t != part.row) {
        let tree = edit.catalog.engine().tree(*tree)?;
        edit.txn.drop_tree(&tree)?;
    }
    let row = edit.catalog.engine().tree(part.row)?;
    Ok(edit.txn.drop_tree(&row)?)
}

/// Constraints of a table under its new name: `t_chk_1` and `t_ibfk_1` were made from the old one.
pub(crate) fn renamed_constraints(table: &Table, to: &str) -> Constraints {
    let renamed = |name: &Arc<str>, word: &str| -> Arc<str> {
        let stem = format!("{}{word}", table.name);
        match name.strip_prefix(&*stem) {
            Some(number) if number.parse::<u32>().is_ok() => format!("{to}{word}{number}").into(),
            _ => name.clone(),
        }
    };
    let mut constraints = table.constraints.clone();
    for key in &mut constraints.foreign_keys {
        key.name = renamed(&key.name, "_ibfk_");
    }
    for check in &mut constraints.checks {
        check.name = renamed(&check.name, "_chk_");
    }
    constraints
}
