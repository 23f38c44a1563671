//! Queries.

use super::{DataType, Expr, Ident, JsonOn, Literal, ObjectName, SourceText, Span};

/// A query expression: `[WITH ..] body [ORDER BY ..] [LIMIT ..] [INTO ..] [FOR UPDATE ..]`
#[derive(Clone, Debug, PartialEq)]
pub struct Query {
    /// Common table expressions.
    pub with: Option<With>,
    /// The body.
    pub body: QueryBody,
    /// ORDER BY.
    pub order_by: Vec<OrderItem>,
    /// LIMIT.
    pub limit: Option<Limit>,
    /// Locking clauses.
    pub locking: Vec<Locking>,
    /// INTO.
    pub into: Option<Box<SelectInto>>,
    /// `PROCEDURE ANALYSE` is gone; nothing else follows. Whole query.
    pub span: Span,
}

/// Body of a query.
#[derive(Clone, Debug, PartialEq)]
pub enum QueryBody {
    /// One SELECT.
    Select(Box<Select>),
    /// `VALUES ROW(..), ..`
    Values(Vec<Vec<Expr>>),
    /// `TABLE t`
    Table(Box<ObjectName>),
    /// A query in parentheses that has clauses of its own (WITH, ORDER BY, LIMIT, ...).
    Query(Box<Query>),
    /// UNION, INTERSECT, EXCEPT.
    Set(Box<SetOperation>),
}

/// `first op second op third ...`, evaluated from left to right (INTERSECT, which binds closer, is nested).
#[derive(Clone, Debug, PartialEq)]
pub struct SetOperation {
    /// First operand.
    pub first: QueryBody,
    /// Operator and operand, at least one.
    pub rest: Vec<SetArm>,
}

/// Operator and right operand.
#[derive(Clone, Debug, PartialEq)]
pub struct SetArm {
    /// The operator.
    pub op: SetOp,
    /// ALL; otherwise DISTINCT.
    pub all: bool,
    /// Right operand.
    pub body: QueryBody,
}

/// Set operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are the words'")]
pub enum SetOp {
    Union,
    Except,
    Intersect,
}

/// `WITH [RECURSIVE] name [(columns)] AS (query), ...`
#[derive(Clone, Debug, PartialEq)]
pub struct With {
    /// RECURSIVE.
    pub recursive: bool,
    /// The expressions.
    pub ctes: Vec<Cte>,
}

/// One common table expression.
#[derive(Clone, Debug, PartialEq)]
pub struct Cte {
    /// Its name.
    pub name: Ident,
    /// Its columns' names.
    pub columns: Vec<Ident>,
    /// Its query.
    pub query: Box<Query>,
}

/// Options between SELECT and the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[expect(missing_docs, reason = "the names are the words'")]
pub struct SelectOptions {
    pub distinct: bool,
    /// ALL was written (means nothing, but excludes DISTINCT).
    pub all: bool,
    pub high_priority: bool,
    pub straight_join: bool,
    pub sql_small_result: bool,
    pub sql_big_result: bool,
    pub sql_buffer_result: bool,
    pub sql_no_cache: bool,
    pub sql_calc_found_rows: bool,
}

/// `SELECT ...`
#[derive(Clone, Debug, PartialEq)]
pub struct Select {
    /// DISTINCT and others.
    pub options: SelectOptions,
    /// Text inside `/*+ */`, not interpreted.
    pub hints: Option<Box<str>>,
    /// The list, never empty.
    pub items: Vec<SelectItem>,
    /// FROM; empty if absent or DUAL.
    pub from: Vec<TableRef>,
    /// WHERE.
    pub filter: Option<Expr>,
    /// GROUP BY.
    pub group_by: Vec<OrderItem>,
    /// WITH ROLLUP.
    pub rollup: bool,
    /// HAVING.
    pub having: Option<Expr>,
    /// WINDOW.
    pub windows: Vec<(Ident, WindowSpec)>,
    /// From SELECT to the end of its own clauses.
    pub span: Span,
}

impl Select {
    /// A SELECT of nothing.
    pub fn empty() -> Box<Select> {
        Box::new(Select {
            options: SelectOptions::default(),
            hints: None,
            items: Vec::new(),
            from: Vec::new(),
            filter: None,
            group_by: Vec::new(),
            rollup: false,
            having: None,
            windows: Vec::new(),
            span: Span::default(),
        })
    }
}

/// One element of the list.
#[derive(Clone, Debug, PartialEq)]
pub enum SelectItem {
    /// `*`
    Wildcard(Span),
    /// `[schema.]table.*`
    TableWildcard(ObjectName),
    /// An expression.
    Expr {
        /// It.
        expr: Expr,
        /// `[AS] alias`
        alias: Option<Ident>,
        /// Name of the result's column if there is no alias: the column's name, the string's value, the number's text,
        /// or the source text.
        text: SourceText,
    },
}

/// A table reference.
#[derive(Clone, Debug, PartialEq)]
pub enum TableRef {
    /// A named table, view or common table expression.
    Table(Box<TableFactor>),
    /// `[LATERAL] (query) [AS] alias [(columns)]`
    Derived(Box<Derived>),
    /// `JSON_TABLE(...) AS alias`
    JsonTable(Box<JsonTable>),
    /// A join.
    Join(Box<Join>),
    /// `(a, b, ...)`: cross join of the list, in parentheses.
    Nested(Vec<TableRef>),
}

/// `[schema.]table [PARTITION (..)] [[AS] alias] [index hints]`
#[derive(Clone, Debug, PartialEq)]
pub struct TableFactor {
    /// The table.
    pub name: ObjectName,
    /// PARTITION.
    pub partitions: Vec<Ident>,
    /// Alias.
    pub alias: Option<Ident>,
    /// USE / FORCE / IGNORE INDEX.
    pub index_hints: Vec<IndexHint>,
}

/// `USE | FORCE | IGNORE {INDEX | KEY} [FOR ..] (..)`
#[derive(Clone, Debug, PartialEq)]
pub struct IndexHint {
    /// Which.
    pub action: IndexHintAction,
    /// FOR.
    pub purpose: Option<IndexHintPurpose>,
    /// The indexes; may be empty for USE.
    pub indexes: Vec<Ident>,
}

/// Action of an index hint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are the words'")]
pub enum IndexHintAction {
    Use,
    Force,
    Ignore,
}

/// What an index hint is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are the words'")]
pub enum IndexHintPurpose {
    Join,
    OrderBy,
    GroupBy,
}

/// A derived table.
#[derive(Clone, Debug, PartialEq)]
pub struct Derived {
    /// LATERAL.
    pub lateral: bool,
    /// The query.
    pub query: Query,
    /// Alias (error 1248 if absent, found by the binder).
    pub alias: Option<Ident>,
    /// Its columns' names.
    pub columns: Vec<Ident>,
}

/// A join of two references.
#[derive(Clone, Debug, PartialEq)]
pub struct Join {
    /// Left side.
    pub left: TableRef,
    /// Right side.
    pub right: TableRef,
    /// Kind.
    pub kind: JoinKind,
    /// ON, USING, NATURAL, or nothing.
    pub condition: JoinCondition,
}

/// Kinds of joins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are the words'")]
pub enum JoinKind {
    /// JOIN, INNER JOIN, CROSS JOIN.
    Inner,
    Left,
    Right,
    /// STRAIGHT_JOIN.
    Straight,
}

/// Condition of a join.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the names are the words'")]
pub enum JoinCondition {
    None,
    On(Expr),
    Using(Vec<Ident>),
    Natural,
}

/// `JSON_TABLE(expr, path COLUMNS (..)) [AS] alias`
#[derive(Clone, Debug, PartialEq)]
pub struct JsonTable {
    /// The document.
    pub expr: Expr,
    /// The path of the rows.
    pub path: Literal,
    /// The columns.
    pub columns: Vec<JsonTableColumn>,
    /// Alias.
    pub alias: Option<Ident>,
}

/// A column of JSON_TABLE.
#[derive(Clone, Debug, PartialEq)]
pub enum JsonTableColumn {
    /// `name FOR ORDINALITY`
    Ordinality(Ident),
    /// `name type [EXISTS] PATH '..' [ON EMPTY] [ON ERROR]`
    Path {
        /// Its name.
        name: Ident,
        /// Its type.
        data_type: DataType,
        /// Collation of the type.
        collation: Option<Ident>,
        /// EXISTS PATH.
        exists: bool,
        /// Its path.
        path: Literal,
        /// ON EMPTY.
        on_empty: Option<JsonOn>,
        /// ON ERROR.
        on_error: Option<JsonOn>,
    },
    /// `NESTED [PATH] '..' COLUMNS (..)`
    Nested {
        /// Its path.
        path: Literal,
        /// Its columns.
        columns: Vec<JsonTableColumn>,
    },
}

/// An element of ORDER BY or GROUP BY.
#[derive(Clone, Debug, PartialEq)]
pub struct OrderItem {
    /// The expression; an integer literal is a position in the list.
    pub expr: Expr,
    /// DESC.
    pub desc: bool,
}

/// `LIMIT [offset,] count`
#[derive(Clone, Debug, PartialEq)]
pub struct Limit {
    /// Rows at most: a literal, a parameter, or (in stored programs) a variable.
    pub count: Expr,
    /// Rows skipped.
    pub offset: Option<Expr>,
}

/// A locking clause.
#[derive(Clone, Debug, PartialEq)]
pub struct Locking {
    /// Strength.
    pub strength: LockStrength,
    /// OF: the tables' names or aliases; all if empty.
    pub of: Vec<ObjectName>,
    /// What happens if a row is locked.
    pub wait: LockWait,
}

/// Strength of a locking clause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockStrength {
    /// FOR UPDATE.
    Update,
    /// FOR SHARE, LOCK IN SHARE MODE.
    Share,
}

/// What happens on a locked row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are the words'")]
pub enum LockWait {
    Wait,
    NoWait,
    SkipLocked,
}

/// `INTO ...`
#[derive(Clone, Debug, PartialEq)]
pub enum SelectInto {
    /// `INTO OUTFILE 'file' ...`
    Outfile {
        /// The file.
        file: Box<str>,
        /// CHARACTER SET.
        charset: Option<Ident>,
        /// FIELDS and LINES.
        format: FieldFormat,
    },
    /// `INTO DUMPFILE 'file'`
    Dumpfile(Box<str>),
    /// `INTO @a, b`
    Variables(Vec<IntoTarget>),
}

/// A variable a value goes to.
#[derive(Clone, Debug, PartialEq)]
pub enum IntoTarget {
    /// `@name`
    User(Ident),
    /// A stored program's variable.
    Local(Ident),
}

/// FIELDS and LINES clauses; `None` means MySQL's default.
#[derive(Clone, Debug, PartialEq, Default)]
#[expect(missing_docs, reason = "the names are the words'")]
pub struct FieldFormat {
    pub terminated_by: Option<Box<[u8]>>,
    pub enclosed_by: Option<Box<[u8]>>,
    pub optionally_enclosed: bool,
    pub escaped_by: Option<Box<[u8]>>,
    pub lines_starting_by: Option<Box<[u8]>>,
    pub lines_terminated_by: Option<Box<[u8]>>,
}

/// `OVER name` or `OVER (spec)`
#[derive(Clone, Debug, PartialEq)]
pub enum WindowRef {
    /// A window of the WINDOW clause.
    Named(Ident),
    /// Written in place.
    Spec(Box<WindowSpec>),
}

/// `([name] [PARTITION BY ..] [ORDER BY ..] [frame])`
#[derive(Clone, Debug, PartialEq)]
pub struct WindowSpec {
    /// Window it builds on.
    pub base: Option<Ident>,
    /// PARTITION BY.
    pub partition_by: Vec<Expr>,
    /// ORDER BY.
    pub order_by: Vec<OrderItem>,
    /// The frame.
    pub frame: Option<WindowFrame>,
}

/// Frame of a window.
#[derive(Clone, Debug, PartialEq)]
pub struct WindowFrame {
    /// Rows, range or groups.
    pub unit: FrameUnit,
    /// Where it starts.
    pub start: FrameBound,
    /// Where it ends; the current row if not written.
    pub end: Option<FrameBound>,
    /// EXCLUDE (parsed; MySQL refuses it).
    pub exclude: Option<FrameExclude>,
}

/// Unit of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are the words'")]
pub enum FrameUnit {
    Rows,
    Range,
    Groups,
}

/// A bound of a frame.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the names are the words'")]
pub enum FrameBound {
    UnboundedPreceding,
    UnboundedFollowing,
    CurrentRow,
    Preceding(FrameOffset),
    Following(FrameOffset),
}

/// Distance of a bound from the current row.
#[derive(Clone, Debug, PartialEq)]
pub struct FrameOffset {
    /// The amount.
    pub amount: Box<Expr>,
    /// Set for `INTERVAL amount unit`.
    pub unit: Option<super::IntervalUnit>,
}

/// EXCLUDE of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are the words'")]
pub enum FrameExclude {
    CurrentRow,
    Group,
    Ties,
    NoOthers,
}
