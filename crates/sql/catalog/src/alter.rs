//! ALTER TABLE in the dictionary: what of a table's trees can stay, and the swap to its next version.
//!
//! | change | trees |
//! |---|---|
//! | names, defaults, comments, options, visibility, longer VARCHARs, more members of ENUM | all stay |
//! | columns added with a constant, dropped, moved, widened as far as their values stay the same bytes; NOT NULL to NULL | all stay: the rows name the definition that they were written with (`schema::History`) |
//! | indexes | added ones are built from sorted entries, dropped ones freed |
//! | columns computed or converted; NULL to NOT NULL; another clustered key | all are new: the caller copies the rows |
//!
//! Trees are created and dropped inside the transaction that also changes the dictionary's row: at any crash there is
//! either the old table or the new one. Old trees are freed by purge when no snapshot needs them.

use crate::build::{self, Load, NotLoaded};
use crate::edit::Edit;
use crate::error::{CatalogError, CatalogResult};
use crate::fill::Telling;
use crate::keys::table_key;
use crate::parts::{drop_left_parts, parts_after};
use crate::stats;
use crate::trees::StoredTable;
use gannet_engine::{Direction, Insert, KeyRange, ReadMode, ScanOptions, TreeId, TreeKind};
use gannet_runtime::Stage;
use gannet_schema::names::fold_name;
use gannet_schema::{
    Change, Column, ForeignKey, Index, IndexDefinition, IndexKind, IndexPart, Table, TableDefinition, TableParts,
    assemble, define, encode_table,
};
use gannet_types::{ErrorCode, SqlError, SqlType, TypeId, Value};
use std::collections::HashMap;
use std::sync::Arc;

/// What becomes of a table.
#[derive(Debug)]
pub struct Alteration {
    /// The table afterwards. `auto_increment` resets the counter.
    pub definition: TableDefinition,
    /// For each column of the definition: the ordinal it had, none for a new one.
    pub columns: Vec<Option<u32>>,
    /// For each index of the definition: the position it had.
    pub indexes: Vec<Option<usize>>,
    /// What a new column of the definition reads as in the rows there are, by its place: where that is the same in all
    /// of them.
    pub constants: Vec<(u32, Value)>,
    /// Make everything anew (FORCE, ENGINE).
    pub rebuild: bool,
    /// Schema afterwards.
    pub schema: Arc<str>,
}

/// An alteration whose trees are there and whose rows, if they have to be copied, are not.
pub struct Pending {
    /// Before.
    pub old: Arc<Table>,
    /// After; not in the dictionary yet.
    pub table: Arc<Table>,
    /// For each column: the ordinal it had.
    pub columns: Vec<Option<u32>>,
    /// The row tree is new: the caller inserts the rows into it.
    pub copy: bool,
    /// For each index of the new version: the position it had.
    pub origins: Vec<Option<usize>>,
    /// Indexes with new trees.
    pub(crate) fresh: Vec<usize>,
    /// Names of the foreign keys that the statement brings; one of them may have been that of a key it drops.
    brought: Vec<Arc<str>>,
    /// AUTO_INCREMENT of the statement.
    pub auto_increment: Option<u64>,
}

fn sql(code: ErrorCode, args: &[&dyn std::fmt::Display]) -> CatalogError {
    CatalogError::Sql(SqlError::new(code, args))
}

/// Rows written with type `old` are rows of type `new`.
fn same_rows(old: &SqlType, new: &SqlType) -> bool {
    if old.id != new.id || old.unsigned != new.unsigned || old.nullable != new.nullable {
        return false;
    }
    match old.id {
        TypeId::Enum | TypeId::Set => {
            let (Some(a), Some(b)) = (&old.members, &new.members) else { return false };
            // A SET of more members, or an ENUM: places are numbers of fixed width.
            old.collation.charset() == new.collation.charset()
                && b.names.len() >= a.names.len()
                && a.names.iter().zip(&b.names).all(|(a, b)| a == b)
        }
        TypeId::VarChar | TypeId::VarBinary => {
            let long = |ty: &SqlType| ty.max_bytes() > gannet_types::row::SHORT_BYTES;
            old.collation.charset() == new.collation.charset() && new.length >= old.length && long(old) == long(new)
        }
        id if id.is_string() => old.collation.charset() == new.collation.charset() && old.length == new.length,
        id if id.is_integer() => true,
        _ => old.length == new.length && old.scale == new.scale,
    }
}

/// Values of type `old`, as they lie in a row, are values of type `new`, if one knows that they were written with type
/// `old`.
fn same_values(old: &SqlType, new: &SqlType) -> bool {
    let wider = SqlType { nullable: new.nullable, ..old.clone() };
    if old.nullable && !new.nullable {
        return false;
    }
    let rank = |ty: &SqlType| {
        let ranks = [TypeId::TinyInt, TypeId::SmallInt, TypeId::MediumInt, TypeId::Int, TypeId::BigInt];
        ranks.iter().position(|id| *id == ty.id)
    };
    let varying = |ty: &SqlType| {
        use TypeId::*;
        matches!(
            ty.id,
            VarChar | TinyText | Text | MediumText | LongText | VarBinary | TinyBlob | Blob | MediumBlob | LongBlob
        )
    };
    let utf8 = |ty: &SqlType| ty.collation.charset().name().starts_with("utf8mb");
    match (rank(old), rank(new)) {
        (Some(a), Some(b)) => return a <= b && old.unsigned == new.unsigned,
        (None, None) => {}
        _ => return false,
    }
    if varying(old) && varying(new) {
        let charsets = (old.collation.charset(), new.collation.charset());
        let same = charsets.0 == charsets.1 || utf8(old) && new.collation.charset().name() == "utf8mb4";
        return same && new.max_bytes() >= old.max_bytes() && (new.id != TypeId::VarChar || new.length >= old.length);
    }
    if (old.id, new.id) == (TypeId::Decimal, TypeId::Decimal) {
        return old.scale == new.scale && old.length <= new.length && old.unsigned == new.unsigned;
    }
    same_rows(&wider, new)
}

/// Keys over type `old` are keys over type `new`.
fn same_keys(old: &SqlType, new: &SqlType) -> bool {
    same_rows(old, new) && old.collation == new.collation
}

/// Index `a` of one version and `b` of the next, whose columns were at `origins`, have the same entries.
fn same_index(old: &Table, a: &Index, (columns, origins): (&[Column], &[Option<u32>]), b: &Index) -> bool {
    let same = |(a, b): (&IndexPart, &IndexPart)| {
        origins.get(b.column as usize) == Some(&Some(a.column))
            && (a.prefix, a.descending) == (b.prefix, b.descending)
            && same_keys(&old.columns[a.column as usize].ty, &columns[b.column as usize].ty)
    };
    a.parts.len() == b.parts.len()
        && a.unique() == b.unique()
        && a.method == b.method
        && a.parts.iter().zip(&b.parts).all(same)
}

/// How the rows of the next version come to be.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rows {
    /// They are those of the old one.
    Same,
    /// The same, and earlier rows name an earlier definition.
    Older,
    /// They are copied.
    New,
}

/// Of a version with these columns.
fn rows_of(old: &Table, columns: &[Column], alteration: &Alteration) -> Rows {
    if alteration.rebuild || alteration.columns.len() != columns.len() || !keeps_parts(old, columns, alteration) {
        return Rows::New;
    }
    let in_place = columns.len() == old.columns.len()
        && alteration.columns.iter().enumerate().all(|(i, c)| *c == Some(i as u32))
        && old.columns.iter().zip(columns).all(|(a, b)| {
            same_rows(&a.ty, &b.ty) && a.auto_increment == b.auto_increment && a.generated == b.generated
        });
    if in_place {
        return Rows::Same;
    }
    let stays = |(i, (column, origin)): (usize, (&Column, &Option<u32>))| match origin {
        Some(origin) => {
            let old = &old.columns[*origin as usize];
            same_values(&old.ty, &column.ty)
                && old.auto_increment == column.auto_increment
                && old.generated == column.generated
        }
        None => alteration.constants.iter().any(|(place, _)| *place as usize == i),
    };
    if columns.iter().zip(&alteration.columns).enumerate().all(stays) { Rows::Older } else { Rows::New }
}

/// Rows stay in their parts: the definition is the same, and so is what it looks at.
fn keeps_parts(old: &Table, columns: &[Column], alteration: &Alteration) -> bool {
    match (&old.partitions, &alteration.definition.partitioning) {
        (None, None) => true,
        (Some(parts), Some(of)) if parts.definition() == of => parts.columns().iter().all(|c| {
            let at = alteration.columns.iter().position(|origin| *origin == Some(*c));
            at.and_then(|at| columns.get(at)).is_some_and(|new| new.ty == old.columns[*c as usize].ty)
        }),
        _ => false,
    }
}

/// Gives indexes their trees: the old one where `kept` says which index it is, else new ones, which are returned.
fn index_trees(
    edit: &mut Edit<'_>,
    old: &Table,
    indexes: &mut [Index],
    (clustered, row_tree): (Option<usize>, TreeId),
    kept: impl Fn(&Index) -> Option<usize>,
) -> CatalogResult<Vec<TreeId>> {
    let mut fresh = Vec::new();
    for (position, index) in indexes.iter_mut().enumerate() {
        index.tree = match kept(index) {
            _ if Some(position) == clustered => row_tree,
            Some(origin) if Some(origin) != old.clustered => old.indexes[origin].tree,
            _ => {
                let tree = edit.new_tree(TreeKind::Index, old.temporary)?.id();
                fresh.push(tree);
                tree
            }
        };
    }
    Ok(fresh)
}

impl Pending {
    /// Positions of the indexes with new trees.
    pub fn fresh_indexes(&self) -> &[usize] {
        &self.fresh
    }

    /// How much there is to do where an alteration copies rows or builds indexes: each row is read, and each tree gets
    /// an entry of it. Tells the edit's work of it.
    pub fn expect(&self, edit: &Edit<'_>) -> CatalogResult<u64> {
        let table = if self.copy { &self.old } else { &self.table };
        build::expect_builds(edit.txn, table, self.fresh.len(), &edit.work)
    }

    /// The statement brings this foreign key of the new version.
    pub fn brings(&self, key: &ForeignKey) -> bool {
        self.brought.contains(&key.name)
    }
}

impl<'t> Load<'t> {
    /// Begins to load the rows of an alteration that copies them, with its indexes; see [`Load::begin`].
    pub fn of(edit: &mut Edit<'_>, pending: &'t Pending, ordered: bool) -> CatalogResult<Load<'t>> {
        Load::begin(edit.txn, &pending.table, &pending.fresh, ordered)
    }

    /// Completes what [`Load::of`] has begun: the stage at which it is then.
    pub fn finish_in(self, edit: &mut Edit<'_>, insert: Stage) -> Result<(), NotLoaded> {
        let telling = Telling { work: &edit.work, insert };
        self.finish(edit.txn, edit.workers, telling)
    }
}

impl Edit<'_> {
    /// Checks an alteration, creates the trees it needs and makes the table's next version. Errors of
    /// [`define::define`].
    pub fn begin_alter(&mut self, old: &Arc<Table>, alteration: Alteration) -> CatalogResult<Pending> {
        let definition = &alteration.definition;
        let defined = define::define(definition)?;
        let origins = alteration.origins();
        let mut indexes = defined.indexes;
        let columns = defined.columns;
        let mut rows = rows_of(old, &columns, &alteration);
        let placed = (&columns[..], &alteration.columns[..]);
        let origin = |index: &Index| origins.get(&*fold_name(&index.name)).copied();
        // The rows keep their key if it is still a key: a unique key that would be promoted in a new table stays
        // secondary.
        let primary = indexes.iter().position(|i| i.kind == IndexKind::Primary);
        let stays = |i: &Index| {
            origin(i) == old.clustered && same_index(old, &old.indexes[old.clustered.unwrap_or(0)], placed, i)
        };
        let clustered = match old.clustered {
            _ if rows == Rows::New => None,
            None => primary.is_none().then_some(None),
            Some(_) => match primary {
                Some(p) => stays(&indexes[p]).then_some(Some(p)),
                None => {
                    let whole = |i: &&Index| i.parts.iter().all(|p| !columns[p.column as usize].nullable);
                    let kept = indexes.iter().position(|i| origin(i) == old.clustered);
                    kept.filter(|k| stays(&indexes[*k]) && whole(&&indexes[*k])).map(Some)
                }
            },
        };
        let history = match rows {
            Rows::Older if clustered.is_some() => {
                old.history.next(&old.columns, &alteration.columns, &alteration.constants)
            }
            _ => Some(old.history.clone()),
        };
        // A number that no row has can name no row.
        let clustered = clustered.filter(|_| history.is_some());
        if clustered.is_none() {
            rows = Rows::New;
        }
        let copy = rows == Rows::New;
        let clustered = clustered.unwrap_or(defined.clustered);
        let row_tree = if copy { self.new_tree(TreeKind::Row, old.temporary)?.id() } else { old.row_tree };
        let kept = |index: &Index| origin(index).filter(|o| !copy && same_index(old, &old.indexes[*o], placed, index));
        let fresh_trees = index_trees(self, old, &mut indexes, (clustered, row_tree), kept)?;
        let index_origins = indexes.iter().map(&origin).collect();
        let stay = (!copy).then(|| indexes.iter().map(kept).collect());
        let partitioned = parts_after(self, definition.partitioning.as_ref(), old, (&indexes, clustered), stay)?;
        let schema = self.hold_schema(&alteration.schema)?;
        let parts = TableParts {
            schema_id: schema.id,
            row_tree,
            history: if copy { Arc::default() } else { history.unwrap_or_default() },
            options: definition.options.clone(),
            constraints: defined.constraints,
            partitioned,
            ..old.parts()
        };
        let statistics = if rows == Rows::Same && old.statistics.histograms().is_empty() {
            old.statistics.clone()
        } else {
            old.statistics.altered(&old.columns, &columns, &alteration.columns, copy)
        };
        let table = assemble(parts, schema.name, definition.name.clone(), columns, indexes, clustered, statistics);
        let fresh = table.indexes.iter().enumerate().filter(|(_, i)| fresh_trees.contains(&i.tree));
        let fresh = fresh.map(|(i, _)| i).collect();
        Ok(Pending {
            old: old.clone(),
            columns: alteration.columns,
            copy,
            fresh,
            brought: definition.foreign_keys.iter().filter(|k| k.fresh).map(|k| k.name.clone()).collect(),
            origins: index_origins,
            auto_increment: definition.auto_increment,
            table: Arc::new(table),
        })
    }

    /// Builds the new indexes, gives up the trees which the table no longer has, and puts the new version into the
    /// dictionary. `used` is the greatest AUTO_INCREMENT value among copied rows, `end` the stage behind the
    /// building. Error 1062 for equal rows in a unique index.
    pub fn finish_alter(&mut self, pending: Pending, used: u64, end: Stage) -> CatalogResult<Arc<Table>> {
        let Pending { old, table, copy, fresh, auto_increment, .. } = pending;
        // Where the rows were copied, their indexes came with them.
        if !fresh.is_empty() && !copy {
            for part in table.all_parts() {
                let part = part?;
                let reader = self.reader(part)?;
                build::build_indexes(&reader, self.txn, part, &fresh, self.workers, &self.work)?;
            }
        }
        self.work.enter(end);
        stats::forget_columns(self.catalog, self.txn, &old, &table)?;
        let old_trees = old.trees(self.catalog.engine())?.clone();
        let old_next = old.auto_counter(&old_trees).map(|t| (t.id(), t.counter_next()));
        if copy {
            self.txn.drop_tree(&old_trees.row)?;
        }
        for (index, tree) in old.indexes.iter().zip(&old_trees.indexes) {
            let kept = index.tree == old.row_tree || table.indexes.iter().any(|i| i.tree == index.tree);
            if !kept {
                self.txn.drop_tree(tree)?;
            }
        }
        drop_left_parts(self, &old, &table)?;
        let trees = table.trees(self.catalog.engine())?.clone();
        if copy && table.clustered.is_none() && old.clustered.is_none() {
            trees.hidden_ids().counter_raise(old_trees.hidden_ids().counter_next().saturating_sub(1))?;
        }
        if let Some(counter) = table.auto_counter(&trees) {
            if let Some(wanted) = auto_increment.filter(|n| *n > 0) {
                let greatest = if copy { used } else { self.greatest_auto_value(&table)? };
                counter.counter_reset(wanted.max(greatest.saturating_add(1)))?;
            } else {
                let same = old.auto_column.zip(old_next).filter(|_| self.keeps_counter(&old, &table));
                let next = same.map_or(0, |(_, (_, next))| next);
                counter.counter_raise(used.max(next.saturating_sub(1)))?;
            }
        }
        self.replace_table(&old, table)
    }

    /// The AUTO_INCREMENT column of both versions is the same one.
    fn keeps_counter(&self, old: &Table, table: &Table) -> bool {
        let name = |t: &Table| t.auto_column.map(|c| t.columns[c as usize].name.clone());
        old.auto_column.is_some() && (name(old) == name(table) || old.columns.len() == table.columns.len())
    }

    /// The greatest value of the AUTO_INCREMENT column, from the index that begins with it.
    fn greatest_auto_value(&mut self, table: &Table) -> CatalogResult<u64> {
        let Some(column) = table.auto_column else { return Ok(0) };
        let Some(position) = table.indexes.iter().position(|i| i.is_ordered() && i.parts[0].column == column) else {
            return Ok(0);
        };
        if table.partitions.is_some() {
            let mut greatest = 0;
            for part in table.all_parts() {
                greatest = greatest.max(self.greatest_auto_value(part?)?);
            }
            return Ok(greatest);
        }
        let trees = table.trees(self.catalog.engine())?;
        let direction =
            if table.indexes[position].parts[0].descending { Direction::Forward } else { Direction::Backward };
        let options = ScanOptions { direction, mode: ReadMode::Newest, ..ScanOptions::default() };
        let mut scan = self.txn.scan(&trees.indexes[position], KeyRange::ALL, options)?;
        let Some(entry) = scan.next(self.txn)? else { return Ok(0) };
        let value = gannet_types::key::decode(&table.key_parts(position)[0], &mut &*entry.key)?;
        Ok(auto_value(&value))
    }

    /// Puts the next version of a table into the dictionary, perhaps under another name.
    pub(crate) fn replace_table(&mut self, old: &Table, table: Arc<Table>) -> CatalogResult<Arc<Table>> {
        let mut row = Vec::new();
        encode_table(&table, &mut row);
        let key = table_key(&table);
        if old.name == table.name && old.schema == table.schema {
            self.txn.update(self.catalog.tree(), &key, &row)?;
        } else {
            self.txn.delete(self.catalog.tree(), &table_key(old))?;
            let name = (old.schema.clone(), old.name.clone());
            self.note(if old.temporary {
                Change::DropTemporary(name.0, name.1)
            } else {
                Change::DropTable(name.0, name.1)
            });
            if self.txn.insert(self.catalog.tree(), &key, &row)? == Insert::Duplicate {
                return Err(sql(ErrorCode::TableExists, &[&table.name]));
            }
        }
        self.note(Change::PutTable(table.clone()));
        Ok(table)
    }

    /// Adds indexes to a table whose rows stay where they are. Errors 1062 and those of [`define::define_index`].
    pub fn create_index(&mut self, schema: &str, name: &str, given: &[IndexDefinition]) -> CatalogResult<Arc<Table>> {
        let old = self.base_table(schema, name, ErrorCode::NoSuchTable)?;
        let mut alteration = Alteration::of(&old);
        for index in given {
            alteration.definition.indexes.push(index.clone());
            alteration.indexes.push(None);
        }
        let pending = self.begin_alter(&old, alteration)?;
        if pending.copy {
            return Err(SqlError::unsupported("an index that changes the rows' key").into());
        }
        self.finish_alter(pending, 0, Stage::AlterEnd)
    }

    /// Drops an index of a table whose rows stay where they are. Error 1091 when there is none.
    pub fn drop_index(&mut self, schema: &str, name: &str, index: &str) -> CatalogResult<Arc<Table>> {
        let old = self.base_table(schema, name, ErrorCode::NoSuchTable)?;
        let Some(position) = old.index(index) else {
            return Err(sql(ErrorCode::CantDropFieldOrKey, &[&index]));
        };
        let mut alteration = Alteration::of(&old);
        alteration.definition.indexes.remove(position);
        alteration.indexes.remove(position);
        let pending = self.begin_alter(&old, alteration)?;
        if pending.copy {
            return Err(SqlError::unsupported("dropping the rows' key").into());
        }
        self.finish_alter(pending, 0, Stage::AlterEnd)
    }
}

/// What a stored AUTO_INCREMENT value counts for.
pub(crate) fn auto_value(value: &Value) -> u64 {
    match value {
        Value::Int(n) => u64::try_from(*n).unwrap_or(0),
        Value::UInt(n) => *n,
        Value::Double(n) => *n as u64,
        Value::Float(n) => *n as u64,
        _ => 0,
    }
}

impl Alteration {
    /// The position that each index had, by folded name.
    fn origins(&self) -> HashMap<String, usize> {
        let named = self.definition.indexes.iter().zip(&self.indexes);
        let of = |index: &IndexDefinition| fold_name(index.name.as_deref().unwrap_or("PRIMARY")).into_owned();
        named.filter_map(|(index, origin)| origin.map(|o| (of(index), o))).collect()
    }

    /// The alteration that changes nothing.
    pub fn of(table: &Table) -> Alteration {
        Alteration {
            definition: TableDefinition::of(table),
            columns: (0..table.columns.len() as u32).map(Some).collect(),
            indexes: (0..table.indexes.len()).map(Some).collect(),
            constants: Vec::new(),
            rebuild: false,
            schema: table.schema.clone(),
        }
    }
}
