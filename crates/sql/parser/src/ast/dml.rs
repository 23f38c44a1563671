//! INSERT, REPLACE, UPDATE, DELETE, LOAD, HANDLER.

use super::{
    ColumnRef, Expr, FieldFormat, Ident, IntoTarget, Limit, ObjectName, OrderItem, Query, SelectItem, TableRef, With,
};

/// LOW_PRIORITY and its kin; they mean nothing to a row-locking engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are the words'")]
pub enum Priority {
    Low,
    Delayed,
    High,
}

/// INSERT and REPLACE.
#[derive(Clone, Debug, PartialEq)]
pub struct Insert {
    /// REPLACE.
    pub replace: bool,
    /// Text inside `/*+ */`.
    pub hints: Option<Box<str>>,
    /// LOW_PRIORITY, DELAYED, HIGH_PRIORITY.
    pub priority: Option<Priority>,
    /// IGNORE.
    pub ignore: bool,
    /// The table.
    pub table: ObjectName,
    /// PARTITION.
    pub partitions: Vec<Ident>,
    /// The columns; `None` if no list was written. (Those of SET are here too.)
    pub columns: Option<Vec<ColumnRef>>,
    /// Where the rows come from.
    pub source: InsertSource,
    /// `AS alias [(columns)]` after VALUES or SET.
    pub row_alias: Option<(Ident, Vec<Ident>)>,
    /// ON DUPLICATE KEY UPDATE.
    pub on_duplicate: Vec<Assignment>,
    /// RETURNING (MariaDB).
    pub returning: Vec<SelectItem>,
}

/// Rows of an INSERT.
#[derive(Clone, Debug, PartialEq)]
pub enum InsertSource {
    /// `VALUES (..), ..`, or one row for SET. A row may be empty.
    Values(Vec<Vec<Expr>>),
    /// A query (also TABLE t, VALUES ROW(..)).
    Query(Box<Query>),
}

/// `column = expr`
#[derive(Clone, Debug, PartialEq)]
pub struct Assignment {
    /// The column.
    pub column: ColumnRef,
    /// Its value; may be [`Expr::Default`].
    pub value: Expr,
}

/// UPDATE.
#[derive(Clone, Debug, PartialEq)]
pub struct Update {
    /// WITH.
    pub with: Option<With>,
    /// Text inside `/*+ */`.
    pub hints: Option<Box<str>>,
    /// LOW_PRIORITY.
    pub low_priority: bool,
    /// IGNORE.
    pub ignore: bool,
    /// The tables: one [`TableRef::Table`] means the single-table form.
    pub tables: Vec<TableRef>,
    /// SET.
    pub assignments: Vec<Assignment>,
    /// WHERE.
    pub filter: Option<Expr>,
    /// ORDER BY.
    pub order_by: Vec<OrderItem>,
    /// LIMIT.
    pub limit: Option<Limit>,
}

/// DELETE.
#[derive(Clone, Debug, PartialEq)]
pub struct Delete {
    /// WITH.
    pub with: Option<With>,
    /// Text inside `/*+ */`.
    pub hints: Option<Box<str>>,
    /// LOW_PRIORITY.
    pub low_priority: bool,
    /// QUICK.
    pub quick: bool,
    /// IGNORE.
    pub ignore: bool,
    /// Multi-table form: the tables deleted from (names or aliases). Empty in the single-table form.
    pub targets: Vec<ObjectName>,
    /// The multi-table form was written `DELETE FROM targets USING tables`.
    pub using: bool,
    /// The tables read; exactly one [`TableRef::Table`] in the single-table form.
    pub tables: Vec<TableRef>,
    /// WHERE.
    pub filter: Option<Expr>,
    /// ORDER BY.
    pub order_by: Vec<OrderItem>,
    /// LIMIT.
    pub limit: Option<Limit>,
    /// RETURNING (MariaDB).
    pub returning: Vec<SelectItem>,
}

/// LOAD DATA and LOAD XML.
#[derive(Clone, Debug, PartialEq)]
pub struct Load {
    /// LOAD XML.
    pub xml: bool,
    /// LOW_PRIORITY or CONCURRENT.
    pub concurrency: Option<LoadConcurrency>,
    /// LOCAL.
    pub local: bool,
    /// The file.
    pub file: Box<str>,
    /// What happens to duplicates.
    pub duplicates: LoadDuplicates,
    /// The table.
    pub table: ObjectName,
    /// PARTITION.
    pub partitions: Vec<Ident>,
    /// CHARACTER SET.
    pub charset: Option<Ident>,
    /// ROWS IDENTIFIED BY of LOAD XML.
    pub rows_identified_by: Option<Box<[u8]>>,
    /// FIELDS and LINES.
    pub format: FieldFormat,
    /// IGNORE n LINES.
    pub ignore_lines: u64,
    /// Columns and variables the fields go to; all columns if empty.
    pub columns: Vec<LoadTarget>,
    /// SET.
    pub assignments: Vec<Assignment>,
}

/// Concurrency word of LOAD.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are the words'")]
pub enum LoadConcurrency {
    LowPriority,
    Concurrent,
}

/// Treatment of duplicates in LOAD.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are the words'")]
pub enum LoadDuplicates {
    Error,
    Replace,
    Ignore,
}

/// Where a field of LOAD goes.
#[derive(Clone, Debug, PartialEq)]
pub enum LoadTarget {
    /// A column.
    Column(ColumnRef),
    /// A user variable.
    Variable(IntoTarget),
}

/// HANDLER.
#[derive(Clone, Debug, PartialEq)]
pub struct Handler {
    /// The table (or its alias).
    pub table: ObjectName,
    /// What is done.
    pub action: HandlerAction,
}

/// What a HANDLER statement does.
#[derive(Clone, Debug, PartialEq)]
pub enum HandlerAction {
    /// `OPEN [AS alias]`
    Open(Option<Ident>),
    /// `CLOSE`
    Close,
    /// `READ [index] ...`
    Read {
        /// The index; natural row order if absent.
        index: Option<Ident>,
        /// How to move.
        position: HandlerPosition,
        /// WHERE.
        filter: Option<Expr>,
        /// LIMIT.
        limit: Option<Limit>,
    },
}

/// Position read by HANDLER.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the names are the words'")]
pub enum HandlerPosition {
    First,
    Next,
    Prev,
    Last,
    /// `= | <= | >= | < | > (values)`
    Key(super::BinaryOp, Vec<Expr>),
}
