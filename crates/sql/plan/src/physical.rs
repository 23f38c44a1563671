//! Physical operators: what the executor runs.
//!
//! A tree of [`Physical`] nodes. Each produces rows of `types.len()` columns; expressions inside a node read the row
//! named in its documentation. Operators hold no state and no values but pinned literals, so a plan is shared by all
//! sessions.

use crate::expr::{Aggregate, Bind, Comparison, Expr, ExprKind, SortKey};
use gannet_types::SqlType;
use std::sync::Arc;

/// An operator with its row type and estimates.
#[derive(Clone, Debug)]
pub struct Physical {
    /// The operator.
    pub op: Op,
    /// Types of the columns it delivers.
    pub types: Box<[SqlType]>,
    /// Estimated rows delivered by one run.
    pub rows: f64,
    /// Estimated cost of one run (1.0 = evaluating ten rows, as in MySQL's cost model).
    pub cost: f64,
    /// Rows are delivered one at a time, as late as possible: what reads them has effects that their evaluation may
    /// see, or the other way round.
    pub one_by_one: bool,
}

impl Physical {
    /// The scan that it consists of, if need be below a projection.
    #[inline]
    pub fn lone_scan(&self) -> Option<(&Physical, &TableScan)> {
        let input = match &self.op {
            Op::Project { input, .. } => input,
            _ => self,
        };
        if let Op::TableScan(scan) = &input.op { Some((input, scan)) } else { None }
    }

    /// Ordinals of the columns that a query sends whose rows can go to the client as they are read.
    pub(crate) fn sends_as_read(&self) -> Option<Box<[u32]>> {
        let (input, scan) = self.lone_scan()?;
        let all = matches!(scan.access, Access::Full | Access::Ref { .. } | Access::Ranges { .. })
            && scan.filter.is_none()
            && scan.index_filter.is_none()
            && scan.parts.is_none()
            && scan.lock.strength == LockStrength::None
            && !scan.covering
            && !self.one_by_one
            && !input.one_by_one;
        if !all {
            return None;
        }
        let columns: Box<[u32]> = match &self.op {
            Op::Project { exprs, .. } => {
                let ordinal = |e: &Expr| match e.kind {
                    ExprKind::Column(n) => scan.columns.get(n as usize).copied(),
                    _ => None,
                };
                exprs.iter().map(ordinal).collect::<Option<_>>()?
            }
            _ => scan.columns.clone(),
        };
        columns.iter().all(|c| *c < ROW_ID).then_some(columns)
    }
}

/// The operators.
#[derive(Clone, Debug)]
pub enum Op {
    /// Rows of one table.
    TableScan(Box<TableScan>),
    /// Constant rows: `SELECT 1`, `VALUES ROW(...)`. No rows at all: an impossible condition; `reason` is EXPLAIN's
    /// wording of it.
    Values {
        /// Each row's expressions (they see an empty row).
        rows: Box<[Box<[Expr]>]>,
        /// Why there are none, for EXPLAIN.
        reason: Option<&'static str>,
    },
    /// Rows out of a JSON document.
    JsonTable {
        /// The document; sees an empty row (and registers).
        document: Box<Expr>,
        /// Paths and columns.
        table: Arc<gannet_functions::json::table::JsonTable>,
    },
    /// For each row of `outer`: store `binds` (over the outer row), run `inner`, join.
    NestedLoop {
        /// Left input.
        outer: Box<Physical>,
        /// Right input, run once for each outer row.
        inner: Box<Physical>,
        /// Kind of join.
        kind: JoinKind,
        /// Registers the inner side reads.
        binds: Box<[Bind]>,
        /// Join condition beyond what the inner side's access and filters ensure; over the joined row (for
        /// semi- and anti-joins too: left columns, then right columns).
        on: Option<Expr>,
    },
    /// Hash join; `right` is the build side. Without keys it is a block nested loop (one bucket).
    HashJoin {
        /// Probe side.
        left: Box<Physical>,
        /// Build side, run once.
        right: Box<Physical>,
        /// Kind of join; `left` is the preserved side of Left, Semi and Anti.
        kind: JoinKind,
        /// Equal pairs: expression over the left row, over the right row, and the domain. NULL matches nothing,
        /// unless `null_safe`.
        keys: Box<[HashKey]>,
        /// Residual condition, over the joined row.
        on: Option<Expr>,
        /// NOT IN semantics for Anti: a NULL on either side makes the row neither in nor not in, hence it goes.
        null_aware: bool,
        /// Rows have to come in the order of the left side's, even when the join does not fit into memory.
        keeps_order: bool,
    },
    /// Rows for which the predicate is true.
    Filter {
        /// Input.
        input: Box<Physical>,
        /// Over the input row.
        predicate: Expr,
        /// It reads no row: it is asked when the operator opens, and the input is not opened unless it is true.
        once: bool,
    },
    /// One expression a column, over the input row.
    Project {
        /// Input.
        input: Box<Physical>,
        /// Output columns.
        exprs: Box<[Expr]>,
        /// Plain columns pass as they are stored, not as values of expressions (a TIMESTAMP stays an instant).
        stored: bool,
    },
    /// Sorted rows. Stable order is not promised.
    Sort {
        /// Input.
        input: Box<Physical>,
        /// Keys, most significant first, over the input row.
        keys: Box<[SortKey]>,
        /// Keep only that many first rows (a heap); an expression over parameters: LIMIT + OFFSET.
        limit: Option<TopN>,
    },
    /// `LIMIT limit OFFSET offset`; both over parameters only.
    Limit {
        /// Input.
        input: Box<Physical>,
        /// Rows at most.
        limit: Option<Expr>,
        /// Rows skipped first.
        offset: Option<Expr>,
        /// SQL_CALC_FOUND_ROWS: go on counting after the limit.
        count_all: bool,
    },
    /// Grouping. Delivers group expressions, then carried expressions, then aggregates, then groupings.
    Aggregate {
        /// Input.
        input: Box<Physical>,
        /// Group expressions over the input row; none: one group, one row even without input.
        groups: Box<[Expr]>,
        /// Expressions over the input row that are the same in all rows of a group, or of which any will do; taken from
        /// the group's first row, NULL without one.
        carried: Box<[Expr]>,
        /// Aggregates.
        aggregates: Box<[Aggregate]>,
        /// The input arrives grouped (equal groups are neighbours): no hash table.
        streaming: bool,
        /// WITH ROLLUP: super-aggregate rows too (input arrives sorted by the groups).
        rollup: bool,
        /// GROUPING(): positions of its arguments among the groups.
        groupings: Box<[Box<[u32]>]>,
    },
    /// Each distinct row once, in order of first appearance.
    Distinct {
        /// Input.
        input: Box<Physical>,
        /// Equal rows arrive as neighbours.
        streaming: bool,
    },
    /// UNION, INTERSECT, EXCEPT. Inputs have the same types (casts are inside them).
    SetOperation {
        /// Inputs, in order.
        inputs: Box<[Physical]>,
        /// Which.
        kind: SetOperation,
        /// DISTINCT; otherwise ALL.
        distinct: bool,
    },
    /// The input's rows kept for several runs: run once while the registers in `depends` do not change.
    Materialize {
        /// Input.
        input: Box<Physical>,
        /// Registers which the input reads; when one is bound anew the rows are computed anew.
        depends: Box<[u32]>,
        /// A derived table's name, for EXPLAIN.
        name: Option<Box<str>>,
        /// Names of its columns, for EXPLAIN.
        columns: Box<[Box<str>]>,
    },
    /// Rows of common table expression `cte` of [`crate::plan::Plan::ctes`]: materialised at first use in an execution.
    /// Inside the recursive part of that expression: the rows of the previous round.
    CteScan {
        /// Index into the plan's list.
        cte: u32,
        /// Its name where it is read, for EXPLAIN.
        name: Box<str>,
        /// Names of its columns, for EXPLAIN.
        columns: Box<[Box<str>]>,
    },
    /// Window functions: input sorted by (partition, order); delivers the input row, then one column a function.
    Window {
        /// Input.
        input: Box<Physical>,
        /// Functions over one window definition.
        window: Box<Window>,
    },
}

/// A top-N limit.
#[derive(Clone, Debug)]
pub struct TopN {
    /// LIMIT.
    pub limit: Expr,
    /// OFFSET; its rows are kept too (a Limit operator above skips them).
    pub offset: Option<Expr>,
}

/// A pair of hash join keys.
#[derive(Clone, Debug)]
pub struct HashKey {
    /// Over the left row.
    pub left: Expr,
    /// Over the right row.
    pub right: Expr,
    /// Domain of the comparison.
    pub by: Comparison,
    /// `<=>`.
    pub null_safe: bool,
}

/// Kinds of join. Semi and anti joins deliver the left row only.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum JoinKind {
    /// Matching pairs.
    Inner,
    /// Matching pairs, and left rows without a match with NULLs.
    Left,
    /// Left rows with a match, once.
    Semi,
    /// Left rows without a match.
    Anti,
}

/// Set operations.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SetOperation {
    /// UNION
    Union,
    /// INTERSECT
    Intersect,
    /// EXCEPT
    Except,
}

/// Pseudo column ordinal of the hidden row id of a table without a primary key (BIGINT UNSIGNED).
pub use gannet_schema::ROW_ID;

/// Pseudo column ordinal of the number of the part that a row of a table with parts was read from (BIGINT UNSIGNED).
pub const ROW_PART: u32 = u32::MAX;

/// A scan of one table through one index.
#[derive(Clone, Debug)]
pub struct TableScan {
    /// Index into [`crate::plan::Plan::tables`].
    pub table: u32,
    /// The index walked: position in `Table::indexes`, or `None` for the clustered tree of a table without a clustered
    /// index of its own (hidden row id). The clustered index when `Table::clustered == Some(position)`.
    pub index: Option<u32>,
    /// A secondary index holds all of `columns`: the row tree is not visited.
    pub covering: bool,
    /// Which entries.
    pub access: Access,
    /// Descending index order.
    pub reverse: bool,
    /// The delivered row: column ordinals of the table (or [`ROW_ID`], [`ROW_PART`]), ascending.
    pub columns: Box<[u32]>,
    /// Over the delivered row; may be evaluated as soon as the row is there. For a locking scan, rows which fail it are
    /// unlocked at READ COMMITTED and stay locked at REPEATABLE READ.
    pub filter: Option<Expr>,
    /// The part of the filter which needs only columns of a (non-covering) secondary index: evaluated before the row is
    /// fetched. Over the delivered row, of which only index columns are filled then. Not repeated in `filter`.
    pub index_filter: Option<Expr>,
    /// Row locks taken.
    pub lock: RowLock,
    /// Of a table with parts: which of them are read, and how.
    pub parts: Option<Box<PartScan>>,
    /// Rows wanted at most when known (LIMIT above without anything between that drops rows): read-ahead hint only.
    pub expects_few: bool,
    /// For EXPLAIN.
    pub explain: Box<ScanExplain>,
}

/// How the parts of a table are read.
#[derive(Clone, Debug)]
pub struct PartScan {
    /// The rows of all parts come in the order of the index walked; else part after part.
    pub merged: bool,
    /// What the conditions say of the columns that PARTITION BY looks at, each for itself; the values are known when
    /// the scan opens.
    pub main: Box<[PartFilter]>,
    /// And of those of SUBPARTITION BY.
    pub sub: Box<[PartFilter]>,
}

/// A condition on the columns that say which part a row belongs to: ranges of these columns in their order, as if they
/// were an index.
#[derive(Clone, Debug)]
pub struct PartFilter {
    /// The ranges. Those of a condition that says less than a range are wide.
    pub ranges: Ranges,
}

/// What EXPLAIN tells beyond the operator itself.
#[derive(Clone, Debug, Default)]
pub struct ScanExplain {
    /// Number of the SELECT.
    pub select: u32,
    /// Name or alias of the table in the statement.
    pub name: Box<str>,
    /// Indexes considered, by position.
    pub possible: Box<[u32]>,
    /// `ref` column: per key part "const", "func" or "db.table.column".
    pub refs: Box<[Box<str>]>,
    /// Rows read (before filters).
    pub examined: f64,
    /// Percent that pass.
    pub filtered: f64,
    /// Bytes of the key prefix used, in MySQL's arithmetic.
    pub key_len: u32,
    /// Parts of `Extra` that no operator shows.
    pub extra: Box<[&'static str]>,
}

/// How a scan finds its entries. Key expressions read parameters and registers only. Conversion of their values into
/// the columns' types is [`crate::range`]'s.
#[derive(Clone, Debug)]
pub enum Access {
    /// All entries of the index.
    Full,
    /// At most one row: all parts of a unique index by equality. A NULL value finds nothing.
    Point {
        /// One for each key part.
        key: Box<[KeyValue]>,
    },
    /// Entries that begin with the given parts.
    Ref {
        /// A prefix of the index's parts.
        key: Box<[KeyValue]>,
    },
    /// The union of ranges; they are encoded, sorted and merged when the scan opens. Entries are delivered in index
    /// order and once each.
    Ranges {
        /// The ranges.
        ranges: Ranges,
    },
    /// Index merge: keys of rows from several indexes, brought together; the rows are read by them, in the order of the
    /// row tree (the scan's index is the clustered one). The whole condition stays in the filter.
    Merge {
        /// How the parts come together.
        kind: MergeKind,
        /// One for each index, two at least.
        parts: Box<[MergePart]>,
    },
    /// Some entries only of each group of entries that begin alike; the whole condition stays in the filter.
    Skip(Box<SkipScan>),
    /// Rows made by the server for a virtual table; `equals` are equalities it may use to make fewer rows (they are
    /// also in the filter).
    Virtual {
        /// (column ordinal, value).
        equals: Box<[(u32, Expr)]>,
    },
    /// The rows that a full-text search finds, those of the highest rank first; the whole condition stays in the
    /// filter.
    Search(Box<SearchAccess>),
    /// Rows by elements of an array, through a multi-valued index, each once and in no order; the whole condition stays
    /// in the filter.
    Members(Box<MembersAccess>),
}

/// Elements of an array as the way to a table's rows. The scan's index is the multi-valued one.
#[derive(Clone, Debug)]
pub struct MembersAccess {
    /// The JSON document whose elements are looked for; NULL finds nothing. What an index does not tell, an empty array
    /// among it, is found by reading all rows.
    pub document: Expr,
    /// Rows with all of the elements are wanted; else with any of them.
    pub all: bool,
    /// MEMBER OF: there is one element.
    pub single: bool,
    /// Elements are compared as documents, not as the index has them.
    pub exact: bool,
    /// Values of the parts in front of the element, and of some behind it.
    pub before: Box<[KeyValue]>,
    /// See `before`.
    pub after: Box<[KeyValue]>,
}

impl MembersAccess {
    /// Its expressions.
    pub fn exprs(&self) -> impl Iterator<Item = &Expr> {
        std::iter::once(&self.document).chain(self.before.iter().chain(&self.after).map(|k| &k.value))
    }

    /// As [`MembersAccess::exprs`], to change them.
    pub fn exprs_mut(&mut self) -> impl Iterator<Item = &mut Expr> {
        let keys = self.before.iter_mut().chain(&mut self.after).map(|k| &mut k.value);
        std::iter::once(&mut self.document).chain(keys)
    }
}

/// A full-text search as the way to a table's rows.
#[derive(Clone, Debug)]
pub struct SearchAccess {
    /// The full-text index: position in `Table::indexes`. (The scan's own is the clustered one.)
    pub index: u32,
    /// How the query is read.
    pub mode: gannet_text::Mode,
    /// The query.
    pub against: Expr,
    /// `MATCH ... > x`, `>= x`: what is not found has rank 0. Should that satisfy the condition too, all rows are read.
    pub above: Option<(Expr, bool)>,
    /// ORDER BY wants the order of ranks: EXPLAIN says so.
    pub sorted: bool,
}

impl SearchAccess {
    /// Its expressions.
    pub fn exprs(&self) -> impl Iterator<Item = &Expr> {
        std::iter::once(&self.against).chain(self.above.iter().map(|(e, _)| e))
    }

    /// As [`SearchAccess::exprs`], to change them.
    pub fn exprs_mut(&mut self) -> impl Iterator<Item = &mut Expr> {
        std::iter::once(&mut self.against).chain(self.above.iter_mut().map(|(e, _)| e))
    }
}

/// How the parts of an index merge come together (manual, "Index Merge Optimization").
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MergeKind {
    /// Rows of any part; each part delivers its row keys in order.
    Union,
    /// Rows of any part.
    SortUnion,
    /// Rows of all parts; each part delivers its row keys in order.
    Intersect,
}

impl MergeKind {
    /// EXPLAIN's word.
    pub fn name(self) -> &'static str {
        match self {
            MergeKind::Union => "union",
            MergeKind::SortUnion => "sort_union",
            MergeKind::Intersect => "intersect",
        }
    }
}

/// One index of an index merge.
#[derive(Clone, Debug)]
pub struct MergePart {
    /// Position in `Table::indexes`.
    pub index: u32,
    /// Point, Ref or Ranges.
    pub access: Access,
    /// All parts of the index are bound to one value each, or it is the clustered one: row keys arrive in order.
    pub ordered: bool,
    /// Bytes of the key prefix used, as EXPLAIN counts them.
    pub key_len: u32,
}

/// A scan that jumps from group to group of an index, a group being the entries whose first `parts` columns are the
/// same.
#[derive(Clone, Debug)]
pub struct SkipScan {
    /// Where groups are looked for: Full, Point, Ref or Ranges over the first `parts` columns at most.
    pub outer: Access,
    /// Columns that make a group.
    pub parts: u32,
    /// What is read of each group: ranges over the columns behind the first `parts`; `None`: all of it.
    pub inner: Option<Ranges>,
    /// Which of these entries are delivered.
    pub take: SkipTake,
}

/// Entries that a [`SkipScan`] delivers of each group, of those that pass the filter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SkipTake {
    /// All: "Using index for skip scan".
    All,
    /// Those that GROUP BY and DISTINCT need ("Using index for group-by"): the first, unless only the last is wanted.
    Ends {
        /// The first, for MIN; and when it is NULL in column `nullable`, the first that is not.
        first: bool,
        /// The last, for MAX.
        last: bool,
        /// Position in the index of the column MIN is of, if it may be NULL.
        nullable: Option<u32>,
    },
}

/// One value of a key.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyValue {
    /// Over parameters and registers.
    pub value: Expr,
    /// Domain of the original comparison.
    pub by: Comparison,
    /// `<=>` or IS NULL: a NULL value finds NULL entries. Otherwise a NULL value finds nothing.
    pub null_safe: bool,
}

/// A multi-range condition on an index, still symbolic: the union of its products. One flat list, however an OR is
/// written, so that nothing recurses over it; shared, because a search for a plan keeps many paths with the same
/// ranges.
#[derive(Clone, Debug, PartialEq)]
pub struct Ranges(pub Arc<[RangeProduct]>);

impl Ranges {
    /// One product.
    pub fn one(parts: Box<[Arc<[KeyValue]>]>, last: Option<Interval>) -> Ranges {
        Ranges(Arc::new([RangeProduct { parts, last: last.map(Box::new) }]))
    }

    /// Alternatives of all parts.
    pub(crate) fn alternatives(&self) -> usize {
        self.0.iter().flat_map(|product| &product.parts).map(|part| part.len()).sum()
    }

    /// The entries that begin with a key.
    pub fn of_key(key: &[KeyValue]) -> Ranges {
        Ranges::one(key.iter().map(|k| Arc::from([k.clone()])).collect(), None)
    }
}

/// Per index part a list of alternatives (equalities from `=`, IN, IS NULL): all combinations. Then optionally an
/// interval on the part that follows, applied to each combination.
#[derive(Clone, Debug, PartialEq)]
pub struct RangeProduct {
    /// Alternatives for each leading part.
    pub parts: Box<[Arc<[KeyValue]>]>,
    /// Interval on the next part.
    pub last: Option<Box<Interval>>,
}

/// An interval on one key part. An inclusive bound on neither side means IS NOT NULL.
#[derive(Clone, Debug, PartialEq)]
pub struct Interval {
    /// Lower bound; absent: the first value that is not NULL.
    pub low: Option<IntervalBound>,
    /// Upper bound; absent: the last value.
    pub high: Option<IntervalBound>,
    /// `LIKE 'abc%'`: `low` is the pattern (at run time it may turn out to have no constant prefix); the bounds are
    /// computed from it. The condition itself stays in the filter.
    pub like: Option<Box<LikeRange>>,
    /// What is left out of it: `<>`, NOT IN, NOT BETWEEN. The conditions themselves stay in the filter.
    pub holes: Vec<Hole>,
}

impl Interval {
    /// It is what lies between two bounds.
    #[inline]
    pub fn is_plain(&self) -> bool {
        self.like.is_none() && self.holes.is_empty()
    }
}

impl Hole {
    /// Its values.
    pub fn values(&self) -> impl Iterator<Item = &Expr> {
        std::iter::once(&self.low).chain(&self.high).map(|b| &b.value)
    }
}

impl Interval {
    /// Everything that is not NULL.
    pub const KNOWN: Interval = Interval { low: None, high: None, like: None, holes: Vec::new() };
}

/// Values left out of an interval.
#[derive(Clone, Debug, PartialEq)]
pub struct Hole {
    /// The value, or the least. NULL: with `high` no bound, else nothing lies in the interval.
    pub low: IntervalBound,
    /// The greatest.
    pub high: Option<IntervalBound>,
}

/// A pattern whose constant prefix bounds a range.
#[derive(Clone, Debug, PartialEq)]
pub struct LikeRange {
    /// The pattern, over parameters and registers.
    pub pattern: Expr,
    /// ESCAPE character.
    pub escape: char,
}

/// One end of an interval.
#[derive(Clone, Debug, PartialEq)]
pub struct IntervalBound {
    /// The value. NULL makes the interval empty.
    pub value: Expr,
    /// Domain of the original comparison.
    pub by: Comparison,
    /// The bound itself belongs to the interval.
    pub inclusive: bool,
}

/// Row locks of a scan.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
pub struct RowLock {
    /// Strength.
    pub strength: LockStrength,
    /// What to do when another holds the lock.
    pub wait: LockWait,
}

/// Strength of row locks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
pub enum LockStrength {
    /// Snapshot read.
    #[default]
    None,
    /// FOR SHARE, LOCK IN SHARE MODE; any read at SERIALIZABLE inside a transaction.
    Shared,
    /// A read without a locking clause, of [`Reads::Source`].
    SharedSource,
    /// The same, of [`Reads::Current`].
    SharedCurrent,
    /// FOR UPDATE, UPDATE, DELETE.
    Exclusive,
}

/// What a statement reads beside the rows that it changes, where it says nothing of locks. A statement of a function or
/// trigger is further bound by the statement around all: it locks only what both would.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
pub enum Reads {
    /// SELECT: the snapshot; at SERIALIZABLE, inside a transaction or another statement, as [`Reads::Current`].
    #[default]
    Snapshot,
    /// INSERT, REPLACE and CREATE TABLE ... SELECT, UPDATE of one table: up to READ COMMITTED the snapshot, then as
    /// [`Reads::Current`].
    Source,
    /// All others: the rows as they are now, locked shared.
    Current,
}

impl Reads {
    /// The lock of a table that is read.
    pub(crate) fn lock(self) -> RowLock {
        let strength = match self {
            Reads::Snapshot => LockStrength::None,
            Reads::Source => LockStrength::SharedSource,
            Reads::Current => LockStrength::SharedCurrent,
        };
        RowLock { strength, wait: LockWait::Wait }
    }
}

/// What a locking read does when it meets a lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
pub enum LockWait {
    /// Waits, up to innodb_lock_wait_timeout.
    #[default]
    Wait,
    /// Error 3572.
    NoWait,
    /// Leaves the row out.
    SkipLocked,
    /// UPDATE of one table: at READ COMMITTED and below waits only for rows whose last committed version passes the
    /// scan's filter; waits above.
    IfMatched,
}

/// Window functions that share a definition.
#[derive(Clone, Debug)]
pub struct Window {
    /// PARTITION BY, over the input row.
    pub partition: Box<[Expr]>,
    /// ORDER BY, over the input row.
    pub order: Box<[SortKey]>,
    /// Frame.
    pub frame: Frame,
    /// The functions.
    pub functions: Box<[WindowFunction]>,
}

/// A window function.
#[derive(Clone, Debug, PartialEq)]
pub struct WindowFunction {
    /// Which.
    pub kind: WindowKind,
    /// Arguments over the input row.
    pub args: Box<[Expr]>,
    /// Result type.
    pub ty: SqlType,
}

/// The window functions.
#[derive(Clone, Debug, PartialEq)]
pub enum WindowKind {
    /// ROW_NUMBER()
    RowNumber,
    /// RANK()
    Rank,
    /// DENSE_RANK()
    DenseRank,
    /// PERCENT_RANK()
    PercentRank,
    /// CUME_DIST()
    CumeDist,
    /// NTILE(n)
    Ntile,
    /// LAG(expr, n, default)
    Lag,
    /// LEAD(expr, n, default)
    Lead,
    /// FIRST_VALUE(expr)
    FirstValue,
    /// LAST_VALUE(expr)
    LastValue,
    /// NTH_VALUE(expr, n)
    NthValue,
    /// An aggregate over the frame.
    Aggregate(&'static gannet_functions::AggregateDef),
}

/// A window frame.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    /// ROWS or RANGE.
    pub unit: FrameUnit,
    /// Start.
    pub start: FrameBound,
    /// End.
    pub end: FrameBound,
}

/// Unit of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FrameUnit {
    /// ROWS
    Rows,
    /// RANGE
    Range,
}

/// A frame's end.
#[derive(Clone, Debug, PartialEq)]
pub enum FrameBound {
    /// UNBOUNDED PRECEDING
    UnboundedPreceding,
    /// n PRECEDING (for RANGE: the bound's value computed over the current row)
    Preceding(Expr),
    /// CURRENT ROW
    CurrentRow,
    /// n FOLLOWING
    Following(Expr),
    /// UNBOUNDED FOLLOWING
    UnboundedFollowing,
}
