//! What the dictionary describes: schemas, tables, columns, indexes.
//!
//! All of it is immutable once published; a change makes a new [`Table`] and shares what did not change. The
//! statistics live longer than one version of a table and are shared by all its versions. The AUTO_INCREMENT counter is
//! the engine's, beside the tree (see [`Table::auto_counter`]).

use crate::codec::Codecs;
use crate::names::{eq_name, fold_name};
use crate::stats::TableStatistics;
use gannet_base::TreeId;
use gannet_base::sync::atomic::AtomicU64;
use gannet_engine::{Engine, TreeHandle};
use gannet_types::{CollationId, SqlType, Value};
use std::any::Any;
use std::sync::{Arc, OnceLock};

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
    /// The AUTO_INCREMENT column.
    pub auto_column: Option<u32>,
    /// Statistics, shared by all versions of the table.
    pub statistics: Arc<TableStatistics>,
    /// Character set, comment and other table options.
    pub options: TableOptions,
    /// Where rows come from.
    pub source: RowSource,
    /// Foreign keys, checks and partitions.
    pub constraints: Constraints,
    /// A temporary table: only one session knows it.
    pub temporary: bool,
    /// End of the transaction that gave the table new trees; see [`Table::replaced_at`].
    pub(crate) replaced: AtomicU64,
    /// Time of creation, seconds since 1970.
    pub created: u64,
    /// Folded column names, sorted, with their ordinals; filled for wide tables only.
    pub(crate) by_name: Box<[(Box<str>, u32)]>,
    /// See [`crate::codec`].
    pub(crate) codecs: Codecs,
    /// Handles, opened at first use.
    pub(crate) trees: OnceLock<Trees>,
    /// What a layer above makes of the expressions, at first use: see [`Table::compiled`].
    pub(crate) compiled: OnceLock<Arc<dyn Any + Send + Sync>>,
}

/// The engine's handles of a table's trees.
#[derive(Clone)]
pub struct Trees {
    /// The row tree.
    pub row: TreeHandle,
    /// One for each index; the row tree again for the clustered one.
    pub indexes: Box<[TreeHandle]>,
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

/// What a view is besides its name and columns.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct View {
    /// The query as MySQL prints it, every name with its schema and table: it means the same in any session.
    pub query: Box<str>,
    /// ALGORITHM
    pub algorithm: ViewAlgorithm,
    /// User and host of DEFINER.
    pub definer: (Box<str>, Box<str>),
    /// SQL SECURITY INVOKER
    pub invoker: bool,
    /// WITH CHECK OPTION
    pub check: Option<CheckOption>,
    /// Names of its columns were written.
    pub named: bool,
    /// UPDATE, DELETE and perhaps INSERT reach a table through it.
    pub updatable: bool,
    /// collation_connection when it was created: of its string literals.
    pub collation: CollationId,
}

/// ALGORITHM of a view.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ViewAlgorithm {
    /// The server's choice.
    Undefined,
    /// Merged into the statement that names it, where that is possible.
    Merge,
    /// Always a query of its own.
    Temptable,
}

/// WITH CHECK OPTION of a view.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CheckOption {
    /// Its own condition, and those of views below that have an option themselves.
    Local,
    /// The conditions of all views below.
    Cascaded,
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
    pub default: ColumnDefault,
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
    /// COLLATE was written: SHOW CREATE TABLE repeats it even when it is the default.
    pub explicit_collation: bool,
    /// The generated column of a functional key part: no statement can name it.
    pub hidden: bool,
}

/// A column's default.
#[derive(Clone, Debug, PartialEq, Default)]
pub enum ColumnDefault {
    /// None: an error in strict mode when no value is given, unless the column is nullable with `ColumnDefault::Null`.
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
    /// Made for a foreign key, not asked for: goes when another index serves.
    pub generated: bool,
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

/// Constraints of a table beyond its keys.
#[derive(Clone, Debug, Default)]
pub struct Constraints {
    /// FOREIGN KEY clauses, by name.
    pub foreign_keys: Box<[ForeignKey]>,
    /// CHECK clauses, by name.
    pub checks: Box<[Check]>,
    /// PARTITION BY clause.
    pub partition: Option<Box<str>>,
}

/// A CHECK constraint.
#[derive(Clone, Debug, PartialEq)]
pub struct Check {
    /// Its name, unique in the schema.
    pub name: Arc<str>,
    /// Expression text as MySQL prints it.
    pub expression: Box<str>,
    /// ENFORCED
    pub enforced: bool,
}

/// A FOREIGN KEY constraint of the table that refers.
#[derive(Clone, Debug, PartialEq)]
pub struct ForeignKey {
    /// Its name, unique in the schema.
    pub name: Arc<str>,
    /// Referring columns.
    pub columns: Box<[u32]>,
    /// Schema of the table referred to. The table may be missing (`foreign_key_checks` = 0).
    pub parent_schema: Arc<str>,
    /// The table referred to.
    pub parent: Arc<str>,
    /// Columns referred to, one for each of `columns`.
    pub parent_columns: Box<[Arc<str>]>,
    /// ON DELETE
    pub on_delete: ReferenceAction,
    /// ON UPDATE
    pub on_update: ReferenceAction,
}

/// What happens to a referring row when the row it refers to goes or changes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ReferenceAction {
    /// NO ACTION, the default: refused, as by RESTRICT.
    #[default]
    NoAction,
    /// RESTRICT: refused.
    Restrict,
    /// CASCADE: follows.
    Cascade,
    /// SET NULL
    SetNull,
    /// SET DEFAULT: parsed, and refused when the constraint is created, as InnoDB does.
    SetDefault,
}

impl ReferenceAction {
    /// As SQL writes it.
    pub fn words(self) -> &'static str {
        match self {
            ReferenceAction::NoAction => "NO ACTION",
            ReferenceAction::Restrict => "RESTRICT",
            ReferenceAction::Cascade => "CASCADE",
            ReferenceAction::SetNull => "SET NULL",
            ReferenceAction::SetDefault => "SET DEFAULT",
        }
    }
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

    /// The trees' handles; opened at first use.
    #[inline]
    pub fn trees(&self, engine: &Engine) -> Result<&Trees, gannet_engine::EngineError> {
        match self.trees.get() {
            Some(trees) => Ok(trees),
            None => self.open_trees(engine),
        }
    }

    /// The trees' handles if somebody has used the table since the start; only then can it have changed.
    pub fn opened_trees(&self) -> Option<&Trees> {
        self.trees.get()
    }

    #[cold]
    fn open_trees(&self, engine: &Engine) -> Result<&Trees, gannet_engine::EngineError> {
        let row = engine.tree(self.row_tree)?;
        let open = |i: &Index| if i.tree == self.row_tree { Ok(row.clone()) } else { engine.tree(i.tree) };
        let indexes = self.indexes.iter().map(open).collect::<Result<_, _>>()?;
        Ok(self.trees.get_or_init(|| Trees { row, indexes }))
    }

    /// The tree whose counter numbers the AUTO_INCREMENT column. It is the row tree's, unless that one numbers hidden row
    /// ids: then it is the first index which begins with the column.
    pub fn auto_counter<'a>(&self, trees: &'a Trees) -> Option<&'a TreeHandle> {
        let column = self.auto_column?;
        if self.clustered.is_some() {
            return Some(&trees.row);
        }
        let position = self.indexes.iter().position(|i| i.parts.first().is_some_and(|p| p.column == column))?;
        trees.indexes.get(position)
    }

    /// Something made of this version of the table by a layer above (bound expressions), kept with it. `make` runs at most once
    /// unless two threads race; its error is not kept.
    pub fn compiled<T: Any + Send + Sync, E>(&self, make: impl FnOnce() -> Result<T, E>) -> Result<Arc<T>, E> {
        if let Some(Ok(made)) = self.compiled.get().map(|kept| kept.clone().downcast::<T>()) {
            return Ok(made);
        }
        let made = Arc::new(make()?);
        let _ = self.compiled.set(made.clone());
        Ok(made)
    }

    /// Some column, default or constraint is an expression: rows are completed and checked when they are written.
    pub fn has_expressions(&self) -> bool {
        let column = |c: &Column| c.generated.is_some() || matches!(c.default, ColumnDefault::Expression(_));
        self.columns.iter().any(column) || !self.constraints.checks.is_empty()
    }

    /// The definition of a view.
    pub fn view(&self) -> Option<&View> {
        match &self.source {
            RowSource::View(view) => Some(view),
            _ => None,
        }
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
