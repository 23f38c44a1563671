//! What the dictionary describes: schemas, tables, columns, indexes.
//!
//! All of it is immutable once published; a change makes a new [`Table`] and shares what did not change. Two things
//! live longer than one version of a table and are shared by all its versions: the AUTO_INCREMENT counter and the
//! statistics.

use crate::stats::TableStatistics;
use gannet_types::{CollationId, RowLayout, SqlType, Value};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Number of a tree in the engine (its root page).
pub type TreeId = u64;

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
}

/// A table.
#[derive(Debug)]
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
    /// Encoding of the row payload. It holds all stored columns, those of the clustered key too.
    pub layout: RowLayout,
    /// The AUTO_INCREMENT column.
    pub auto_column: Option<u32>,
    /// The AUTO_INCREMENT counter and the hidden row id counter, shared by all versions of the table.
    pub counters: Arc<Counters>,
    /// Statistics, shared by all versions of the table.
    pub statistics: Arc<TableStatistics>,
    /// Character set, comment and other table options.
    pub options: TableOptions,
    /// Where rows come from.
    pub source: RowSource,
    /// Foreign keys, checks and partitions as they were declared; not enforced by anything yet, hence refused by DDL.
    pub constraints: Constraints,
    /// Time of creation, seconds since 1970.
    pub created: u64,
    /// Position of each column by lower-case name is found by [`Table::column`]; names are sorted here.
    pub(crate) by_name: Box<[(Box<str>, u32)]>,
    /// See [`crate::codec`].
    pub(crate) codecs: crate::codec::Codecs,
}

/// Counters that outlive one version of a table.
#[derive(Debug, Default)]
pub struct Counters {
    /// Next AUTO_INCREMENT value; 0 = not known yet, to be found from the largest key when the table is first written.
    pub auto_increment: AtomicU64,
    /// Next hidden row id; 0 = not known yet.
    pub row_id: AtomicU64,
    /// Rows changed since statistics were taken; written in steps by workers, read by the refresher.
    pub changes: AtomicU64,
}

impl Counters {
    /// The next AUTO_INCREMENT value without taking it, or `None` when it is not known yet.
    pub fn peek_auto_increment(&self) -> Option<u64> {
        match self.auto_increment.load(Ordering::Acquire) {
            0 => None,
            n => Some(n),
        }
    }

    /// Raises the counter so that the next value is at least `next`.
    pub fn raise_auto_increment(&self, next: u64) {
        if self.auto_increment.load(Ordering::Relaxed) < next {
            self.auto_increment.fetch_max(next, Ordering::AcqRel);
        }
    }
}

/// Where rows come from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RowSource {
    /// The engine's trees.
    Engine,
    /// The server makes them: virtual table number `n` of its registry.
    Virtual(u32),
}

/// A column.
#[derive(Clone, Debug)]
pub struct Column {
    /// Name as created.
    pub name: Arc<str>,
    /// Type. `ty.nullable` and the column's nullability agree.
    pub ty: SqlType,
    /// NULL is allowed.
    pub nullable: bool,
    /// DEFAULT.
    pub default: Default,
    /// ON UPDATE CURRENT_TIMESTAMP.
    pub on_update_now: bool,
    /// AUTO_INCREMENT.
    pub auto_increment: bool,
    /// GENERATED ALWAYS AS.
    pub generated: Option<Generated>,
    /// COMMENT
    pub comment: Box<str>,
    /// INVISIBLE
    pub invisible: bool,
    /// The character set was written in the column's definition and differs from the table's, or the collation did: SHOW
    /// CREATE TABLE prints it by comparing with the table's; nothing to keep here. Explicit NULL on TIMESTAMP is printed always.
    pub position: u32,
}

/// A column's default.
#[derive(Clone, Debug, PartialEq, core::default::Default)]
pub enum Default {
    /// None: an error in strict mode when no value is given, unless the column is nullable with `Default::Null`.
    #[default]
    None,
    /// DEFAULT NULL, written or implied by nullability.
    Null,
    /// A constant, already of the column's type.
    Literal(Value),
    /// CURRENT_TIMESTAMP with the column's fraction digits.
    CurrentTimestamp,
    /// `(expression)`: its text as MySQL prints it.
    Expression(Box<str>),
}

/// A generated column's definition.
#[derive(Clone, Debug, PartialEq)]
pub struct Generated {
    /// Expression text as MySQL prints it.
    pub expression: Box<str>,
    /// STORED, else VIRTUAL.
    pub stored: bool,
}

/// An index.
#[derive(Clone, Debug)]
pub struct Index {
    /// Name; "PRIMARY" for the primary key.
    pub name: Arc<str>,
    /// Kind.
    pub kind: IndexKind,
    /// Its parts in order.
    pub parts: Box<[IndexPart]>,
    /// Its tree; the table's row tree for the clustered index.
    pub tree: TreeId,
    /// COMMENT
    pub comment: Box<str>,
    /// INVISIBLE: maintained, but not used by the optimizer.
    pub invisible: bool,
    /// USING BTREE/HASH was written (SHOW CREATE TABLE repeats it).
    pub using: Option<Using>,
}

/// `USING` of an index.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Using {
    /// BTREE
    Btree,
    /// HASH (kept in the text; a B+tree is built, as InnoDB does).
    Hash,
}

/// Kinds of index.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IndexKind {
    /// PRIMARY KEY
    Primary,
    /// UNIQUE
    Unique,
    /// Plain.
    Plain,
}

/// A part of an index.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexPart {
    /// Column ordinal.
    pub column: u32,
    /// Prefix length: characters of a character column, bytes of a binary one.
    pub prefix: Option<u32>,
    /// DESC
    pub descending: bool,
}

impl Index {
    /// At most one entry per key (NULLs apart).
    pub fn unique(&self) -> bool {
        !matches!(self.kind, IndexKind::Plain)
    }
}

/// Table options.
#[derive(Clone, Debug)]
pub struct TableOptions {
    /// Default collation of its columns.
    pub collation: CollationId,
    /// COMMENT
    pub comment: Box<str>,
    /// Options which only SHOW CREATE TABLE and information_schema repeat, as (NAME, text): ROW_FORMAT, STATS_PERSISTENT, ...
    pub create_options: Box<[(Box<str>, Box<str>)]>,
}

/// Constraints that are recorded for later versions; DDL refuses them today.
#[derive(Clone, Debug, Default)]
pub struct Constraints {
    /// FOREIGN KEY clauses.
    pub foreign_keys: Box<[Box<str>]>,
    /// CHECK clauses.
    pub checks: Box<[Box<str>]>,
    /// PARTITION BY clause.
    pub partition: Option<Box<str>>,
}

impl Table {
    /// Ordinal of a column by name, whatever its case.
    pub fn column(&self, name: &str) -> Option<u32> {
        if self.by_name.len() <= 8 {
            return self.columns.iter().position(|c| eq_name(&c.name, name)).map(|i| i as u32);
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

    /// Rows have a hidden id as key.
    pub fn has_hidden_key(&self) -> bool {
        self.clustered.is_none()
    }
}

/// Folds an identifier for comparison: column, index and alias names ignore case.
pub fn fold_name(name: &str) -> std::borrow::Cow<'_, str> {
    if name.bytes().all(|b| b.is_ascii() && !b.is_ascii_uppercase()) {
        std::borrow::Cow::Borrowed(name)
    } else {
        std::borrow::Cow::Owned(name.to_lowercase())
    }
}

/// Names are equal whatever their case.
pub fn eq_name(a: &str, b: &str) -> bool {
    if a.is_ascii() && b.is_ascii() { a.eq_ignore_ascii_case(b) } else { fold_name(a) == fold_name(b) }
}
