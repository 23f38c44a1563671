//! A finished plan.

use crate::expr::Expr;
use crate::physical::{Physical, Ranges, Reads, RowLock};
use gannet_schema::{Routine, Table};
use gannet_types::{SqlType, TypeId};
use std::sync::Arc;

/// An immutable plan, shared by sessions.
#[derive(Debug)]
pub struct Plan {
    /// What to run.
    pub kind: PlanKind,
    /// Result set metadata; empty for statements without a result set.
    pub columns: Box<[ResultColumn]>,
    /// Every base table used, in order of appearance; operators name them by position.
    pub tables: Box<[PlanTable]>,
    /// Subplans named by subquery expressions.
    pub subplans: Box<[Subplan]>,
    /// Common table expressions (and derived tables used more than once).
    pub ctes: Box<[Cte]>,
    /// Where each parameter's value comes from.
    pub params: Box<[Param]>,
    /// Literals which the plan depends on, by ordinal, with their text: a statement whose literal differs needs another
    /// plan.
    pub pins: Box<[(u32, Box<[u8]>)]>,
    /// Ranges that were looked up in the trees while the plan was made, those whose values may vary.
    pub dives: Box<[Dive]>,
    /// Class of what the dives found ([`Plan::selectivity`]).
    pub selectivity: u64,
    /// How its rows are found, for the status variables.
    pub accesses: Accesses,
    /// The query is one scan ([`Physical::lone_scan`]) whose rows are sent as they are read: these columns of theirs.
    pub sent_as_read: Option<Box<[u32]>>,
    /// Size of the register file.
    pub registers: u32,
    /// It is one of INSERT, REPLACE, UPDATE, DELETE.
    pub writes: bool,
    /// How it reads what it does not change.
    pub reads: Reads,
    /// What the statement uses beyond its tables.
    pub uses: Uses,
    /// The stored functions that it calls, each once.
    pub routines: Box<[Arc<Routine>]>,
    /// Where the rows go instead of to the client.
    pub into: Option<Box<gannet_parser::ast::SelectInto>>,
    /// The hint MAX_EXECUTION_TIME(n) of the query's first SELECT: milliseconds.
    pub max_execution_time: Option<u32>,
    /// What each execution warns of: hints that have no effect.
    pub warnings: Box<[gannet_types::Warning]>,
    /// Texts that the statement compares with dates: an execution begins by reading them.
    pub dates: Box<[DateText]>,
    /// Numbers that it compares with columns of dates and times: an execution begins by telling which are none.
    pub date_numbers: Box<[DateNumber]>,
    /// Texts that it compares with numbers: an execution begins by telling which are none.
    pub number_texts: Box<[NumberText]>,
}

/// A literal or parameter that is a text, and is read as a number once, before any row.
#[derive(Clone, Debug)]
pub struct NumberText {
    /// The text.
    pub text: Expr,
    /// It is read as a DECIMAL, as it is compared with one; otherwise as a DOUBLE.
    pub decimal: bool,
    /// The LIMIT of its SELECT: where that is 0, nothing is read.
    pub limit: Option<Expr>,
}

/// A literal or parameter that is compared with a value of a date type.
#[derive(Clone, Debug)]
pub struct DateText {
    /// The text.
    pub text: Expr,
    /// The type of what it is compared with.
    pub with: TypeId,
    /// The column that it alone is compared with: it is read as if it were stored there.
    pub column: Option<Box<str>>,
    /// One of a list: if it is no date it is the zero date, with a warning.
    pub listed: bool,
}

/// A literal or parameter that is a number, and the column that it is compared with.
#[derive(Clone, Debug)]
pub struct DateNumber {
    /// The number.
    pub number: Expr,
    /// The column's name.
    pub column: Box<str>,
    /// Its type.
    pub ty: SqlType,
    /// One of a list: only where it is an error is it told.
    pub listed: bool,
}

impl Plan {
    /// The statistics of its tables have not moved since it was made.
    #[inline]
    pub fn is_current(&self) -> bool {
        self.tables.iter().all(|t| t.table.statistics.epoch() == t.statistics_epoch)
    }

    /// The tables whose rows UPDATE or DELETE changes.
    pub(crate) fn targets(&self) -> Vec<u32> {
        match &self.kind {
            PlanKind::Update(update) => update.targets.iter().map(|t| t.table).collect(),
            PlanKind::Delete(delete) => delete.targets.iter().map(|(table, _)| *table).collect(),
            _ => Vec::new(),
        }
    }
}

/// The statement kinds that are planned.
#[derive(Debug)]
pub enum PlanKind {
    /// Rows for the client.
    Query(Box<Physical>),
    /// At most one row by a fully bound primary or unique key; plain columns.
    PointSelect(PointSelect),
    /// INSERT and REPLACE.
    Insert(Box<Insert>),
    /// UPDATE.
    Update(Box<Update>),
    /// DELETE.
    Delete(Box<Delete>),
}

/// The direct path: `SELECT columns FROM table WHERE key = ...`. No filter remains.
#[derive(Debug)]
pub struct PointSelect {
    /// Position in `Table::indexes`.
    pub index: u32,
    /// It is the clustered index (else: a unique secondary index).
    pub clustered: bool,
    /// One literal or parameter for each key part.
    pub key: Box<[crate::physical::KeyValue]>,
    /// Column ordinals of the table, in result order (repetitions possible).
    pub columns: Box<[u32]>,
    /// Locking read.
    pub lock: RowLock,
    /// The same as an operator tree (with EXPLAIN's facts), for executors without the direct path.
    pub query: Box<Physical>,
}

/// A base table of a plan.
#[derive(Clone, Debug)]
pub struct PlanTable {
    /// The table as of the plan's catalog version.
    pub table: Arc<Table>,
    /// Its name in the statement.
    pub alias: Box<str>,
    /// What the statement does with it.
    pub intent: Intent,
    /// Columns read, as a sorted list of ordinals; for privileges. What is written stands in the plan's kind.
    pub columns_used: Box<[u32]>,
    /// Columns were named all at once: by `*`, or by an INSERT without a list.
    pub starred: bool,
    /// Epoch of the table's statistics when the plan was made.
    pub statistics_epoch: u64,
    /// Expressions of the definition, for tables that are written and have some.
    pub exprs: Option<Arc<TableExprs>>,
    /// Foreign keys around a table that is written.
    pub links: Option<Arc<ForeignLinks>>,
    /// The parts that the statement names, ascending: it sees no others, and writes to no others.
    pub only: Option<Arc<[u32]>>,
    /// Plan table of the view inside whose query this one is named: privileges are that view's business.
    pub through: Option<u32>,
}

/// A condition of WITH CHECK OPTION.
#[derive(Clone, Debug, PartialEq)]
pub struct ViewCheck {
    /// The view named in the statement: schema and name.
    pub view: (Box<str>, Box<str>),
    /// The condition, over the row that is written: of an INSERT the target's columns (those of other tables are NULL),
    /// of an UPDATE the input row, in which the target's columns have their new values.
    pub condition: Expr,
}

/// What a statement does with a table; also says which metadata lock and privilege it needs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Intent {
    /// SELECT
    Read,
    /// SELECT ... FOR SHARE.
    LockingRead,
    /// SELECT ... FOR UPDATE: it changes nothing, and is refused where changes are.
    ReadForUpdate,
    /// INSERT target.
    Insert,
    /// REPLACE target (insert and delete).
    Replace,
    /// UPDATE target.
    Update,
    /// DELETE target.
    Delete,
    /// Asked because of a foreign key.
    ForeignRead,
    /// Changed, or asked, because of a foreign key.
    ForeignWrite,
}

impl Intent {
    /// The statement names the table: others are there for foreign keys, and need no privilege.
    pub fn is_named(self) -> bool {
        !matches!(self, Intent::ForeignRead | Intent::ForeignWrite)
    }

    /// SELECT, with or without row locks.
    pub fn is_select(self) -> bool {
        matches!(self, Intent::Read | Intent::LockingRead | Intent::ReadForUpdate)
    }

    /// What a SELECT with these row locks does.
    pub fn of_lock(strength: crate::physical::LockStrength) -> Intent {
        match strength {
            crate::physical::LockStrength::Exclusive => Intent::ReadForUpdate,
            _ => Intent::LockingRead,
        }
    }
}

/// A subquery's plan.
#[derive(Debug)]
pub struct Subplan {
    /// Operators. They may read the registers of the subquery expression's binds, and of those around it.
    pub root: Physical,
    /// The rows depend on registers (its own binds or outer ones): run for each evaluation. Otherwise run once for each
    /// execution and kept.
    pub correlated: bool,
    /// Registers its result depends on, its own binds and those of enclosing drivers: a steady result may be reused
    /// while they are unchanged.
    pub depends: Box<[u32]>,
    /// The same registers give the same result.
    pub steady: bool,
    /// It has effects, or sees effects of the statement.
    pub ordered: bool,
}

/// A common table expression.
#[derive(Debug)]
pub struct Cte {
    /// Name.
    pub name: Box<str>,
    /// Non-recursive part, or the whole.
    pub base: Physical,
    /// Recursive part: reads `CteScan` of itself (the rows of the previous round).
    pub recursive: Option<Physical>,
    /// UNION DISTINCT between rounds.
    pub distinct: bool,
    /// LIMIT / OFFSET on the recursive union: stops the rounds.
    pub limit: Option<(Option<Expr>, Option<Expr>)>,
    /// Registers which it reads: when one is bound anew the rows are computed anew.
    pub depends: Box<[u32]>,
}

/// Where a parameter's value comes from.
#[derive(Clone, Debug, PartialEq)]
pub enum Param {
    /// Literal `ordinal` of the statement's text (see the parser's shape).
    Literal {
        /// The literal's ordinal.
        ordinal: u32,
        /// What literals fit.
        class: LiteralClass,
        /// The type the plan was made for.
        ty: SqlType,
    },
    /// `?` number `n`.
    Marker {
        /// Its position, from 0.
        index: u32,
        /// Type inferred from its context.
        ty: SqlType,
    },
    /// A variable of the stored program whose statement this is, or a column of OLD or NEW.
    Local {
        /// Its place among the program's.
        slot: u32,
        /// Its declared type.
        ty: SqlType,
        /// What error 1690 calls it.
        name: Box<str>,
    },
}

/// Literals which are the same to a plan.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum LiteralClass {
    /// An integer that fits BIGINT.
    Integer,
    /// An integer that fits BIGINT UNSIGNED only.
    Unsigned,
    /// A DECIMAL of so many fraction digits, and not too many before the point.
    Decimal(u8),
    /// With an exponent.
    Float,
    /// Text without an introducer.
    String,
    /// Such text of ASCII characters only, for which a plan is that relies on it.
    Ascii,
    /// Anything else; never lifted.
    Other,
}

/// A column of a result set as the protocol describes it.
#[derive(Clone, Debug, PartialEq)]
pub struct ResultColumn {
    /// Name or alias.
    pub name: Box<str>,
    /// Column name in its base table; empty for expressions.
    pub org_name: Box<str>,
    /// Alias of its table.
    pub table: Box<str>,
    /// Name of its base table.
    pub org_table: Box<str>,
    /// Schema of its base table.
    pub schema: Box<str>,
    /// Type with length, decimals, collation.
    pub ty: SqlType,
    /// Flag bits of the column definition packet ([`gannet_types::sqltype::flags`]), those of the type included.
    pub flags: u16,
    /// What an expression gives, also through a view or derived table that is merged.
    pub computed: bool,
}

/// INSERT and REPLACE.
#[derive(Debug)]
pub struct Insert {
    /// Target: position in the plan's tables.
    pub table: u32,
    /// Target column of each source value; columns not named get their defaults.
    pub columns: Box<[u32]>,
    /// The rows.
    pub source: InsertSource,
    /// REPLACE: conflicting rows are deleted first.
    pub replace: bool,
    /// IGNORE: errors become warnings, rows that collide are skipped.
    pub ignore: bool,
    /// ON DUPLICATE KEY UPDATE assignments. Their row: all columns of the existing row (ordinals 0..n), then all
    /// columns of the row that could not be inserted (n..2n), then the source row's values (2n..).
    pub on_duplicate: Box<[Assignment]>,
    /// Conditions of WITH CHECK OPTION that the rows must meet.
    pub checks: Box<[ViewCheck]>,
    /// REPLACE through a view: conditions that rows which go must meet.
    pub shown: Box<[Expr]>,
    /// INSERT ... SET / VALUES rows may refer to columns already assigned in the same row; such expressions read
    /// column slots of the row under construction (ordinals 0..n).
    pub self_reference: bool,
    /// The target is a view that does not show the table's AUTO_INCREMENT column: LAST_INSERT_ID() stays as it is.
    pub hides_counter: bool,
}

/// Where a field of LOAD DATA goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoadField {
    /// Into a column: its ordinal.
    Column(u32),
    /// Into a user variable.
    Variable(Box<str>),
}

impl LoadField {
    pub(crate) fn variable(&self) -> Option<Box<str>> {
        match self {
            LoadField::Column(_) => None,
            LoadField::Variable(name) => Some(name.clone()),
        }
    }
}

/// Where inserted rows come from.
#[derive(Debug)]
pub enum InsertSource {
    /// VALUES lists; `None` is DEFAULT. Expressions see the row under construction.
    Values(Box<[Box<[Option<Expr>]>]>),
    /// A query with one column for each target column.
    Query(Box<Physical>),
}

/// UPDATE. The input delivers, for each target, all columns of its table (then [`crate::physical::ROW_ID`], when
/// the table has no clustered index, and [`crate::physical::ROW_PART`], when it has parts) starting at the target's
/// `offset`.
#[derive(Debug)]
pub struct Update {
    /// Rows to change (locking scans), after ORDER BY and LIMIT.
    pub input: Physical,
    /// Target tables with their assignments.
    pub targets: Box<[UpdateTarget]>,
    /// IGNORE.
    pub ignore: bool,
    /// The scan walks an index (or the clustered tree) whose key columns are assigned: keys have to be collected before
    /// the first change.
    pub collect_first: bool,
    /// The rows come from a join: one row of a target may be met several times, and is changed once.
    pub joined: bool,
}

/// One table changed by UPDATE.
#[derive(Debug)]
pub struct UpdateTarget {
    /// Position in the plan's tables.
    pub table: u32,
    /// First column of the table's row within the input row.
    pub offset: u32,
    /// Assignments in the statement's order; each sees the effects of those before it.
    pub assignments: Box<[Assignment]>,
    /// Indexes (positions) that contain an assigned column; others need no maintenance.
    pub indexes: Box<[u32]>,
    /// The primary key (or the clustered unique key) is assigned: the row moves.
    pub moves: bool,
    /// Conditions of WITH CHECK OPTION that the rows must meet.
    pub checks: Box<[ViewCheck]>,
}

/// `column = value`.
#[derive(Clone, Debug)]
pub struct Assignment {
    /// Column ordinal in the target table.
    pub column: u32,
    /// Value over the operator's row; `None` = DEFAULT.
    pub value: Option<Expr>,
}

/// DELETE. Input as for [`Update`].
#[derive(Debug)]
pub struct Delete {
    /// Rows to delete.
    pub input: Physical,
    /// (table, offset) of each target.
    pub targets: Box<[(u32, u32)]>,
    /// IGNORE.
    pub ignore: bool,
    /// Several tables: rows are collected first, each deleted once.
    pub collect_first: bool,
    /// Conditions that a row of the one table must still satisfy when rows deleted before it have changed it by a
    /// foreign key; they read the input row.
    pub recheck: Box<[Expr]>,
    /// Rows of the input may stay, or go with rows before them: LIMIT, the input's root, counts those that are deleted.
    pub counts_deleted: bool,
}

/// What a statement uses beyond its tables.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Uses {
    /// User variables (evaluation order matters).
    pub user_variables: bool,
    /// System variables.
    pub system_variables: bool,
    /// Functions that are not deterministic: RAND, UUID, SLEEP, GET_LOCK ...
    pub non_deterministic: bool,
    /// The statement's time.
    pub now: bool,
    /// SQL_CALC_FOUND_ROWS
    pub calc_found_rows: bool,
    /// Virtual tables of the server.
    pub virtual_tables: bool,
    /// Views: their definers' rights count, not the session's.
    pub views: bool,
    /// Stored functions, or triggers of tables that it changes.
    pub programs: bool,
    /// Assignments to user variables, stored functions and others with effects: none may be evaluated twice for a row.
    pub effects: bool,
    /// Must not be put into the plan cache (SQL_NO_CACHE does not matter): e.g. temporary tables.
    pub uncacheable: bool,
}

/// Binds the expressions of a table, if that was not done before.
pub type BindExprs = fn(&Arc<Table>) -> gannet_types::Result<Arc<TableExprs>>;

/// Bound expressions; column slots are the table's ordinals. Immutable, kept with the table's version.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TableExprs {
    /// By column: a default that is an expression.
    pub defaults: Box<[Option<Expr>]>,
    /// Generated columns in their order, which is one of evaluation: each refers to earlier ones only.
    pub generated: Box<[(u32, Expr)]>,
    /// Enforced checks, by position among the table's.
    pub checks: Box<[(u32, Expr)]>,
    /// The number by which PARTITION BY places a row, and that of SUBPARTITION BY.
    pub places: [Option<Expr>; 2],
}

impl TableExprs {
    /// Those of a table, where they are bound already. The place of a view has its query.
    pub(crate) fn bound(table: &Table) -> Option<&Arc<TableExprs>> {
        match table.view() {
            None => table.compiled.get(),
            Some(_) => None,
        }
    }
}

/// The foreign keys of one written table. Tables are places in the plan.
#[derive(Debug, Default, PartialEq)]
pub struct ForeignLinks {
    /// Its own keys: a row needs a parent.
    pub parents: Box<[ParentLink]>,
    /// Keys of other tables (and its own) that refer to it: rows may be needed, or follow.
    pub children: Box<[ChildLink]>,
}

/// A key of the written table.
#[derive(Debug, PartialEq)]
pub struct ParentLink {
    /// Position among the table's foreign keys.
    pub key: u32,
    /// The table referred to and its index that begins with the columns; none when it is missing: then no row fits.
    pub parent: Option<(u32, u32)>,
}

/// A key that refers to the written table.
#[derive(Debug, PartialEq)]
pub struct ChildLink {
    /// The referring table.
    pub table: u32,
    /// Position among its foreign keys.
    pub key: u32,
    /// Its index that begins with the referring columns.
    pub index: u32,
    /// The columns referred to, in the order of the key.
    pub columns: Box<[u32]>,
}

/// A range looked at while a plan was made.
#[derive(Clone, Debug)]
pub struct Dive {
    /// Position in the plan's tables.
    pub table: u32,
    /// Position in the table's indexes.
    pub index: u32,
    /// The range, over parameters.
    pub ranges: Ranges,
}

/// Tables read from end to end or by ranges: the first of a join, and the others.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Accesses {
    /// `Select_scan`
    pub scan: u32,
    /// `Select_full_join`
    pub full_join: u32,
    /// `Select_range`
    pub range: u32,
    /// `Select_full_range_join`
    pub full_range_join: u32,
    /// There is a join.
    pub(crate) joins: bool,
    /// An operator sorts or keeps rows: the figures of sorts and temporary tables matter for the statement.
    pub keeps_rows: bool,
}
