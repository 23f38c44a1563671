//! Schemas and tables.
//!
//! All of it is immutable once published; a change makes a new [`Table`] and shares what did not change. The
//! statistics live longer than one version of a table and are shared by all its versions.

use crate::codec::Codecs;
use crate::column::{Column, ColumnDefault};
use crate::constraint::Constraints;
use crate::history::History;
use crate::index::{Index, IndexKind};
use crate::names::{eq_name, fold_name};
use crate::partition::{PartOf, Partitioned, Parts};
use crate::program::{Trigger, TriggerEvent};
use crate::row_log::RowLog;
use crate::statistics::TableStatistics;
use crate::view::View;
use gannet_base::{Attached, TreeId};
use gannet_types::{CollationId, TypeId};
use std::sync::Arc;

/// Number of a table; never used again after a drop. Metadata locks name it. TRUNCATE keeps it (the trees change).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct TableId(pub u64);

/// Number of a schema; never used again.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct SchemaId(pub u32);

/// A database.
#[derive(Clone, Debug)]
pub struct Schema {
    /// Number.
    pub id: SchemaId,
    /// Name as created.
    pub name: Arc<str>,
    /// Default collation (and with it the character set) of its tables.
    pub collation: CollationId,
    /// One of the server's own: mysql, information_schema, performance_schema, sys.
    pub system: bool,
    /// ALTER DATABASE ... READ ONLY = 1: nothing in it is changed.
    pub read_only: bool,
}

/// A table.
pub struct Table {
    /// Number.
    pub id: TableId,
    /// Its schema.
    pub schema_id: SchemaId,
    /// Its schema's name.
    pub schema: Arc<str>,
    /// Name as created.
    pub name: Arc<str>,
    /// Columns in order; `u32` ordinals elsewhere are positions here.
    pub columns: Box<[Column]>,
    /// Indexes in MySQL's order: PRIMARY first, then unique ones, then the others.
    pub indexes: Box<[Index]>,
    /// Position of the index whose key is the row tree's key: PRIMARY, else the first unique index over NOT NULL
    /// columns without prefixes. `None`: rows have a hidden 6-byte id.
    pub clustered: Option<usize>,
    /// The clustered tree.
    pub row_tree: TreeId,
    /// The definitions that its rows may have been written with.
    pub history: Arc<History>,
    /// The AUTO_INCREMENT column.
    pub auto_column: Option<u32>,
    /// Statistics, shared by all versions of the table.
    pub statistics: Arc<TableStatistics>,
    /// Character set, comment and other table options.
    pub options: TableOptions,
    /// Where rows come from.
    pub source: RowSource,
    /// Foreign keys and checks.
    pub constraints: Constraints,
    /// Its parts: then its own trees are empty, and only their counters are used.
    pub partitions: Option<Box<Parts>>,
    /// It is a part of the table that it is named after.
    pub part_of: Option<Box<PartOf>>,
    /// A temporary table: only one session knows it.
    pub temporary: bool,
    /// Its triggers, in the order in which they fire among those of the same event and time.
    pub triggers: Box<[Arc<Trigger>]>,
    /// Time of creation, seconds since 1970.
    pub created: u64,
    /// Folded column names, sorted, with their ordinals; filled for wide tables only.
    pub(crate) by_name: Box<[(Box<str>, u32)]>,
    /// See [`crate::codec`].
    pub(crate) codecs: Codecs,
    /// Where writers note the rows they change, while something is made of all rows beside them.
    pub row_log: Option<Arc<RowLog>>,
    /// What the store has opened to reach the rows, its own to fill.
    pub opened: Attached,
    /// How the binary log writes the rows, its own to fill.
    pub logged: Attached,
    /// What the planner has made of the expressions or of the view's query, its own to fill.
    pub compiled: Attached,
}

/// Where rows come from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RowSource {
    /// The engine's trees.
    Engine,
    /// The server makes them: virtual table number `n` of its registry.
    Virtual(u32),
    /// A query makes them.
    View(Arc<View>),
}

impl RowSource {
    /// Rows are stored in the engine's trees.
    pub fn is_engine(&self) -> bool {
        matches!(self, RowSource::Engine)
    }
}

/// Table options.
#[derive(Clone, Debug)]
pub struct TableOptions {
    /// Default collation of its columns.
    pub collation: CollationId,
    /// COMMENT
    pub comment: Box<str>,
    /// Options which only SHOW CREATE TABLE and information_schema repeat, as (NAME, text): ROW_FORMAT,
    /// STATS_PERSISTENT, ...
    pub create_options: Box<[(Box<str>, Box<str>)]>,
}

impl TableOptions {
    /// ENGINE=MyISAM was asked for.
    pub fn asked_for_myisam(&self) -> bool {
        self.create_options.iter().any(|(name, value)| **name == *crate::options::ENGINE && **value == *"MyISAM")
    }

    /// The format of rows that was asked for, as `information_schema` has it.
    pub fn row_format(&self) -> &'static str {
        let given = |name: &str| self.create_options.iter().find(|(n, _)| **n == *name).map(|(_, value)| &**value);
        match given("ROW_FORMAT") {
            Some("REDUNDANT") => "Redundant",
            Some("COMPACT") => "Compact",
            Some("COMPRESSED") => "Compressed",
            None if given("KEY_BLOCK_SIZE").is_some() => "Compressed",
            _ => "Dynamic",
        }
    }
}

/// The column of a generated invisible primary key.
pub const GENERATED_KEY: &str = "my_row_id";

/// The column has what a generated key's has, but for its name and whether it is visible.
pub fn is_generated_key_type(column: &Column) -> bool {
    column.ty.id == TypeId::BigInt && column.ty.unsigned && !column.nullable && column.auto_increment
}

/// The primary key is one that `sql_generate_invisible_primary_key` makes, as far as its definition tells.
pub fn has_generated_key(table: &Table) -> bool {
    let alone = table.primary_key().is_some_and(|k| matches!(&k.parts[..], [part] if part.column == 0));
    alone && table.partitions.is_none() && is_generated_key(&table.columns[0])
}

/// The column is a generated key's.
fn is_generated_key(column: &Column) -> bool {
    eq_name(&column.name, GENERATED_KEY) && is_generated_key_type(column) && column.invisible
}

impl Table {
    /// Ordinal of a column by name, whatever its case.
    pub fn column(&self, name: &str) -> Option<u32> {
        if self.by_name.is_empty() {
            return self.columns.iter().position(|c| eq_name(&c.name, name) && !c.hidden).map(|i| i as u32);
        }
        let folded = fold_name(name);
        self.by_name.binary_search_by(|(n, _)| (**n).cmp(&*folded)).ok().map(|i| self.by_name[i].1)
    }

    /// Position of an index by name, whatever its case.
    pub fn index(&self, name: &str) -> Option<usize> {
        self.indexes.iter().position(|i| eq_name(&i.name, name))
    }

    /// The clustered index, if the table has one.
    pub fn clustered_index(&self) -> Option<&Index> {
        self.clustered.map(|i| &self.indexes[i])
    }

    /// The primary key (declared as such).
    pub fn primary_key(&self) -> Option<&Index> {
        self.indexes.first().filter(|i| i.kind == IndexKind::Primary)
    }

    /// Some column, default or constraint is an expression, or an expression says which part a row belongs to: rows are
    /// completed, checked and placed when they are written.
    pub fn has_expressions(&self) -> bool {
        let column = |c: &Column| c.generated.is_some() || matches!(c.default, ColumnDefault::Expression(_));
        let places = |p: &Parts| p.definition().is_by_expression();
        let parts = self.partitions.as_deref().is_some_and(places);
        self.view().is_none() && (self.columns.iter().any(column) || !self.constraints.checks.is_empty() || parts)
    }

    /// The definition of a view.
    pub fn view(&self) -> Option<&View> {
        match &self.source {
            RowSource::View(view) => Some(view),
            _ => None,
        }
    }

    /// The triggers of an event and time, in the order in which they fire.
    pub fn triggers_of(&self, event: TriggerEvent, after: bool) -> impl Iterator<Item = &Arc<Trigger>> {
        self.triggers.iter().filter(move |t| t.event == event && t.after == after)
    }

    /// The table has a trigger of an event, at whatever time.
    pub fn fires(&self, event: TriggerEvent) -> bool {
        self.triggers.iter().any(|t| t.event == event)
    }

    /// Rows have a hidden id as key. The row tree's counter numbers it.
    pub fn has_hidden_key(&self) -> bool {
        self.clustered.is_none()
    }
}

impl std::fmt::Debug for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Table({}.{} #{})", self.schema, self.name, self.id.0)
    }
}

impl Table {
    /// The same table, whose writers note in `log` which rows they change.
    pub fn with_row_log(&self, log: Arc<RowLog>) -> Table {
        let (columns, indexes) = (self.columns.to_vec(), self.indexes.to_vec());
        let (schema, name, statistics) = (self.schema.clone(), self.name.clone(), self.statistics.clone());
        let same = assemble(self.parts(), schema, name, columns, indexes, self.clustered, statistics);
        Table { row_log: Some(log), ..same }
    }

    /// What [`assemble`] takes besides names, columns and indexes: to make the next version of a table.
    pub fn parts(&self) -> TableParts {
        TableParts {
            id: self.id,
            schema_id: self.schema_id,
            row_tree: self.row_tree,
            history: self.history.clone(),
            created: self.created,
            options: self.options.clone(),
            source: self.source.clone(),
            constraints: self.constraints.clone(),
            temporary: self.temporary,
            triggers: self.triggers.iter().map(|t| Arc::new(t.copy())).collect(),
            partitioned: self.partitions.as_ref().map(|p| p.shared().clone()),
        }
    }
}

/// What a table has besides names, columns and indexes.
#[derive(Clone, Debug)]
pub struct TableParts {
    /// Number.
    pub id: TableId,
    /// Its schema.
    pub schema_id: SchemaId,
    /// The clustered tree.
    pub row_tree: TreeId,
    /// The definitions that its rows may have been written with.
    pub history: Arc<History>,
    /// Seconds since 1970.
    pub created: u64,
    /// Options.
    pub options: TableOptions,
    /// Where rows come from.
    pub source: RowSource,
    /// Foreign keys and checks.
    pub constraints: Constraints,
    /// See [`Table::temporary`].
    pub temporary: bool,
    /// See [`Table::triggers`].
    pub triggers: Box<[Arc<Trigger>]>,
    /// See [`Table::partitions`].
    pub partitioned: Option<Arc<Partitioned>>,
}

/// Puts a table together from checked parts. The store makes tables of the engine; virtual tables and fixtures
/// are made here.
pub fn assemble(
    parts: TableParts,
    schema: Arc<str>,
    name: Arc<str>,
    columns: Vec<Column>,
    indexes: Vec<Index>,
    clustered: Option<usize>,
    statistics: Arc<TableStatistics>,
) -> Table {
    let mut by_name: Vec<(Box<str>, u32)> = Vec::new();
    if columns.len() > 8 {
        let folded = |c: &Column| fold_name(&c.name).into_owned().into();
        let named = columns.iter().enumerate().filter(|(_, c)| !c.hidden);
        by_name = named.map(|(i, c)| (folded(c), i as u32)).collect();
        by_name.sort();
    }
    let auto_column = columns.iter().position(|c| c.auto_increment).map(|i| i as u32);
    let codecs = Codecs::new(&columns, &indexes, clustered, &parts.history);
    let primary: Vec<u32> = match clustered {
        Some(c) => indexes[c].parts.iter().map(|p| p.column).collect(),
        None => Vec::new(),
    };
    let partitions = parts.partitioned.map(|of| Box::new(Parts::new(of, &columns, &primary)));
    Table {
        id: parts.id,
        schema_id: parts.schema_id,
        schema,
        name,
        columns: columns.into(),
        indexes: indexes.into(),
        clustered,
        row_tree: parts.row_tree,
        history: parts.history,
        auto_column,
        statistics,
        options: parts.options,
        source: parts.source,
        constraints: parts.constraints,
        partitions,
        part_of: None,
        temporary: parts.temporary,
        triggers: parts.triggers,
        created: parts.created,
        by_name: by_name.into(),
        codecs,
        row_log: None,
        opened: Attached::default(),
        logged: Attached::default(),
        compiled: Attached::default(),
    }
}
