//! Bound queries, before an order of execution is chosen.
//!
//! Columns are named by [`ColId`]s, unique in a statement: every relation gets a range of them, and so does everything
//! computed (select items, group keys, aggregates, window functions). Inside logical expressions [`ExprKind::Column`]
//! holds a `ColId`, never a slot; a column of an enclosing query is just an id that the query does not define. Slots
//! and registers appear when operators are built.
//!
//! Subquery expressions hold a position in [`Arena::subqueries`] as `subplan` and no binds yet.

use crate::expr::{Aggregate, Expr, ExprKind, SortKey};
use crate::physical::{Frame, FrameBound, RowLock, SetOperation, WindowFunction};
use crate::plan::{Param, PlanTable, Uses};
use gannet_types::{Coercibility, SqlType, Value};
use std::collections::HashMap;
use std::sync::Arc;

/// A column of a statement.
pub(crate) type ColId = u32;

/// Everything that is shared by the queries of one statement.
#[derive(Debug, Default)]
pub(crate) struct Arena {
    /// See [`crate::options::PlanOptions`].
    pub bind_exprs: Option<crate::plan::BindExprs>,
    /// Types of all columns.
    pub(crate) types: Vec<SqlType>,
    /// Names of columns of base tables and derived tables, for messages and EXPLAIN: parallel to `types`.
    pub(crate) labels: Vec<Label>,
    pub(crate) tables: Vec<PlanTable>,
    pub(crate) subqueries: Vec<Subselect>,
    pub(crate) ctes: Vec<CteQuery>,
    pub(crate) params: Vec<Param>,
    /// Values of parameters that come from the text at hand; for estimates only.
    pub(crate) seen: Vec<Option<Value>>,
    pub(crate) uses: Uses,
    pub(crate) reads: crate::physical::Reads,
    /// Stored functions that are called.
    pub(crate) routines: Vec<Arc<gannet_schema::Routine>>,
    pub(crate) effects: crate::effects::Effects,
    /// Columns of tables and views that the statement names: plan table and ordinal.
    pub(crate) named: Vec<(u32, u32)>,
    /// Texts among computed columns and those of derived tables: coercibility, and whether all is ASCII. Other texts
    /// are columns of tables.
    pub(crate) texts: HashMap<ColId, (Coercibility, bool)>,
    /// Those that functions made of dates and times, which have their numbers among numbers.
    pub(crate) temporal: std::collections::HashSet<ColId>,
    /// Columns of derived tables that are plain columns of the queries inside, if these can be merged.
    pub(crate) shows: HashMap<ColId, ColId>,
    /// Columns of merged derived tables: what they stand for.
    pub(crate) replaced: HashMap<ColId, Expr>,
    /// How much that is.
    pub(crate) measures: HashMap<ColId, Measure>,
    /// Blocks as hints name them.
    pub(crate) blocks: Vec<NamedBlock>,
    /// What each execution warns of: hints that are for nothing.
    pub(crate) warnings: Vec<gannet_types::Warning>,
    /// See [`crate::plan::Plan::dates`].
    pub(crate) dates: Vec<crate::plan::DateText>,
    pub(crate) date_numbers: Vec<crate::plan::DateNumber>,
    /// Those of [`crate::plan::Plan::number_texts`] that are members of lists.
    pub(crate) listed_texts: Vec<Expr>,
    /// Texts of literals that are written in the statement: others came out of folding.
    pub(crate) written: Vec<gannet_types::Value>,
}

impl Arena {
    /// A text that stands in the statement.
    pub(crate) fn is_written_text(&self, e: &Expr) -> bool {
        e.ty.id.is_string()
            && match &e.kind {
                ExprKind::Literal(value) => self.written.contains(value),
                kind => matches!(kind, ExprKind::Param(_)),
            }
    }
}

/// Height and nodes of an expression.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Measure {
    pub(crate) height: u32,
    pub(crate) size: u64,
}

/// What a column is called.
#[derive(Clone, Debug)]
pub(crate) enum Label {
    /// Column `ordinal` of plan table `table`; `ordinal` = number of columns: the hidden row id.
    Base { table: u32, ordinal: u32 },
    /// Column of a derived table or CTE.
    /// `origin`: the column of the query inside which it shows. `view`: plan table and ordinal of a view's column.
    Derived { alias: Box<str>, name: Box<str>, origin: Option<ColId>, view: Option<(u32, u32)> },
    /// Something computed.
    Computed,
}

/// A subquery of an expression.
#[derive(Clone, Debug)]
pub(crate) struct Subselect {
    pub(crate) query: Query,
    /// Columns of enclosing queries which it reads.
    pub(crate) free: Vec<ColId>,
}

/// A common table expression.
#[derive(Debug)]
pub(crate) struct CteQuery {
    pub(crate) name: Box<str>,
    /// Taken out when it is merged into its only user.
    pub(crate) base: Option<Query>,
    pub(crate) recursive: Option<Query>,
    pub(crate) distinct: bool,
    pub(crate) limit: Option<(Option<Expr>, Option<Expr>)>,
    pub(crate) uses: u32,
    /// Columns of enclosing queries which it reads.
    pub(crate) free: Vec<ColId>,
}

/// A query expression.
#[derive(Clone, Debug)]
pub(crate) struct Query {
    pub(crate) body: Body,
    /// Its columns, in order.
    pub(crate) columns: Vec<OutColumn>,
    /// Of a set operation or VALUES, over `columns`. (A block has its own.)
    pub(crate) order: Vec<SortKey>,
    pub(crate) limit: Option<Expr>,
    pub(crate) offset: Option<Expr>,
    /// Number of its first SELECT.
    pub(crate) select: u32,
}

impl Query {
    /// A SELECT without FROM.
    pub(crate) fn has_no_tables(&self) -> bool {
        matches!(&self.body, Body::Block(block) if block.rels.is_empty())
    }

    /// The query; one without rows and columns stays.
    pub(crate) fn take(&mut self) -> Query {
        let empty = Query {
            body: Body::Values(Vec::new()),
            columns: Vec::new(),
            order: Vec::new(),
            limit: None,
            offset: None,
            select: self.select,
        };
        std::mem::replace(self, empty)
    }
}

/// A column a query delivers.
#[derive(Clone, Debug)]
pub(crate) struct OutColumn {
    pub(crate) name: Box<str>,
    pub(crate) id: ColId,
}

#[derive(Clone, Debug)]
pub(crate) enum Body {
    Block(Box<Block>),
    Set {
        inputs: Vec<Query>,
        kind: SetOperation,
        distinct: bool,
        /// SQL_CALC_FOUND_ROWS: all rows are counted, whatever LIMIT says.
        count_all: bool,
    },
    Values(Vec<Vec<Expr>>),
    /// JSON_TABLE of a document.
    Json(Box<Expr>, std::sync::Arc<gannet_functions::json::table::JsonTable>),
}

/// One SELECT.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    pub(crate) select: u32,
    pub(crate) rels: Vec<Rel>,
    pub(crate) from: Option<From>,
    /// WHERE as conjuncts.
    pub(crate) filter: Vec<Expr>,
    /// GROUP BY keys with the ids they have behind the aggregation.
    pub(crate) groups: Vec<(Expr, ColId)>,
    pub(crate) rollup: bool,
    pub(crate) aggregates: Vec<(Aggregate, ColId)>,
    /// `ANY_VALUE(x)`: taken from any row of a group.
    pub(crate) carried: Vec<(Expr, ColId)>,
    /// `GROUPING(...)`: positions of its arguments among the groups.
    pub(crate) groupings: Vec<(Box<[u32]>, ColId)>,
    /// GROUP BY or an aggregate is there.
    pub(crate) aggregated: bool,
    /// HAVING as conjuncts, over what the aggregation delivers.
    pub(crate) having: Vec<Expr>,
    pub(crate) windows: Vec<WindowBlock>,
    /// Select list with the ids of the query's columns.
    pub(crate) items: Vec<Item>,
    pub(crate) distinct: bool,
    pub(crate) order: Vec<SortKey>,
    pub(crate) limit: Option<Expr>,
    pub(crate) offset: Option<Expr>,
    pub(crate) straight: bool,
    pub(crate) calc_found_rows: bool,
    /// Never merged into the query around it: a view with ALGORITHM = TEMPTABLE.
    pub(crate) kept: bool,
    /// Hints about the order of its joins.
    pub(crate) orders: Vec<OrderHint>,
    /// Hints about it as a subquery.
    pub(crate) semijoin: Semijoin,
}

/// Window functions over one definition.
#[derive(Clone, Debug)]
pub(crate) struct WindowBlock {
    /// Its name; `None`: it is written where it is used.
    pub(crate) name: Option<Box<str>>,
    pub(crate) partition: Vec<Expr>,
    pub(crate) order: Vec<SortKey>,
    pub(crate) frame: Frame,
    pub(crate) functions: Vec<(WindowFunction, ColId)>,
}

/// An element of the select list.
#[derive(Clone, Debug)]
pub(crate) struct Item {
    pub(crate) expr: Expr,
    pub(crate) id: ColId,
}

/// A relation in FROM.
#[derive(Clone, Debug)]
pub(crate) struct Rel {
    pub(crate) alias: Box<str>,
    pub(crate) kind: RelKind,
    /// Its first column; the others follow.
    pub(crate) first: ColId,
    /// Number of its columns (the hidden row id of a base table included).
    pub(crate) width: u32,
    pub(crate) lock: RowLock,
    pub(crate) hints: IndexHints,
    /// The SELECT in whose FROM it was named.
    pub(crate) origin: u32,
    /// The derived table is a view: its plan table.
    pub(crate) view: Option<u32>,
}

#[derive(Clone, Debug)]
pub(crate) enum RelKind {
    /// Plan table.
    Base(u32),
    Derived(Box<Query>),
    Cte(u32),
}

/// What hints say of a relation. Sets of indexes are bits by position (a table has 65 at most).
#[derive(Clone, Debug)]
pub(crate) struct IndexHints {
    /// Indexes that may find rows.
    pub(crate) join: u128,
    /// Indexes that may give ORDER BY its order.
    pub(crate) order: u128,
    /// Indexes that may give GROUP BY its groups.
    pub(crate) group: u128,
    /// FORCE: a full scan is a last resort.
    pub(crate) force: bool,
    /// Indexes without index conditions.
    pub(crate) no_icp: u128,
    /// Indexes without ranges.
    pub(crate) no_range: u128,
    /// Indexes that an index merge may use.
    pub(crate) merges: u128,
    /// An index merge is taken wherever there is one.
    pub(crate) force_merge: bool,
    /// Indexes that a skip scan may use.
    pub(crate) skips: u128,
    /// A skip scan is taken wherever there is one.
    pub(crate) force_skip: bool,
    /// It is to be joined by hashing, or never is.
    pub(crate) hash: Option<bool>,
    /// A derived table is to be merged, or never is.
    pub(crate) merge: Option<bool>,
    /// How the semijoin it is inside of may be run ([`Semijoin::strategies`]).
    pub(crate) semijoin: u8,
}

impl Default for IndexHints {
    fn default() -> Self {
        IndexHints {
            join: u128::MAX,
            order: u128::MAX,
            group: u128::MAX,
            force: false,
            no_icp: 0,
            no_range: 0,
            merges: u128::MAX,
            force_merge: false,
            skips: u128::MAX,
            force_skip: false,
            hash: None,
            merge: None,
            semijoin: u8::MAX,
        }
    }
}

/// Whether and how a subquery's block may become a semijoin.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Semijoin {
    /// It stays a subquery.
    pub(crate) off: bool,
    /// Bits of [`Semijoin::strategy`].
    pub(crate) strategies: u8,
}

impl Default for Semijoin {
    fn default() -> Self {
        Semijoin { off: false, strategies: u8::MAX }
    }
}

impl Semijoin {
    /// A loop over the inner side that ends at the first match.
    pub(crate) const FIRST_MATCH: u8 = 1;
    /// A hash table of the inner side.
    pub(crate) const MATERIALIZATION: u8 = 2;
    /// The inner side first, each of its keys once.
    pub(crate) const LEADING: u8 = 4;

    /// The bits of a strategy's name.
    pub(crate) fn strategy(name: &str) -> u8 {
        match name {
            "FIRSTMATCH" => Self::FIRST_MATCH,
            "MATERIALIZATION" => Self::MATERIALIZATION | Self::LEADING,
            _ => Self::LEADING,
        }
    }
}

/// JOIN_ORDER, JOIN_PREFIX, JOIN_SUFFIX.
#[derive(Clone, Debug)]
pub(crate) struct OrderHint {
    pub(crate) kind: OrderKind,
    /// The block it is for.
    pub(crate) block: u32,
    /// Tables, and the blocks they name.
    pub(crate) tables: Vec<(Box<str>, Option<Box<str>>)>,
    /// As written, for a warning.
    pub(crate) text: Box<str>,
}

/// Which.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum OrderKind {
    /// These in this order.
    Order,
    /// These first.
    Prefix,
    /// These last.
    Suffix,
}

/// The tree of joins; relations by position in the block.
#[derive(Clone, Debug)]
pub(crate) enum From {
    Rel(usize),
    Join { left: Box<From>, right: Box<From>, kind: FromJoin, on: Vec<Expr> },
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum FromJoin {
    Inner,
    Straight,
    Left,
    Semi,
    /// `null_aware`: NOT IN.
    Anti {
        null_aware: bool,
    },
}

impl From {
    /// Relations below, in order.
    pub(crate) fn rels(&self, out: &mut Vec<usize>) {
        match self {
            From::Rel(i) => out.push(*i),
            From::Join { left, right, .. } => {
                left.rels(out);
                right.rels(out);
            }
        }
    }

    pub(crate) fn for_each_on_mut(&mut self, f: &mut impl FnMut(&mut Expr)) {
        if let From::Join { left, right, on, .. } = self {
            left.for_each_on_mut(f);
            right.for_each_on_mut(f);
            on.iter_mut().for_each(f);
        }
    }

    pub(crate) fn for_each_on<'a>(&'a self, f: &mut impl FnMut(&'a Expr)) {
        if let From::Join { left, right, on, .. } = self {
            left.for_each_on(f);
            right.for_each_on(f);
            on.iter().for_each(f);
        }
    }
}

impl Rel {
    pub(crate) fn has(&self, id: ColId) -> bool {
        id >= self.first && id < self.first + self.width
    }
}

impl Arena {
    pub(crate) fn column(&mut self, ty: SqlType, label: Label) -> ColId {
        self.types.push(ty);
        self.labels.push(label);
        self.types.len() as ColId - 1
    }

    /// A column with the coercibility of the expression that it shows.
    pub(crate) fn text_column(&mut self, ty: SqlType, label: Label, of: (Coercibility, bool)) -> ColId {
        let id = self.column(ty, label);
        self.texts.insert(id, of);
        id
    }

    /// Coercibility of a column's text, if that is not the one of a table's column; and whether all is ASCII.
    pub(crate) fn text(&self, id: ColId) -> Option<(Coercibility, bool)> {
        self.texts.get(&id).copied()
    }

    /// Columns that a query reads and does not define.
    pub(crate) fn free_columns(&self, query: &Query) -> Vec<ColId> {
        let mut read = std::collections::BTreeSet::new();
        query.for_each_expr(&mut |e| {
            self.columns_of(e, &mut |id| {
                read.insert(id);
            })
        });
        query.for_each_cte(&mut |number| {
            // A recursive part that names its own expression is not in the arena yet, or taken out.
            let cte = &self.ctes[number as usize];
            read.extend(cte.free.iter().copied());
        });
        let mut defined: Vec<(ColId, u32)> = Vec::new();
        query.for_each_defined(&mut |first, n| defined.push((first, n)));
        // What HAVING and the select list read of ANY_VALUE and windows is defined by the same block.
        read.retain(|id| !defined.iter().any(|(first, n)| *id >= *first && id - first < *n));
        read.into_iter().collect()
    }

    /// Notes anew what all subqueries and common table expressions read from outside.
    pub(crate) fn find_free(&mut self) {
        let subqueries: Vec<u32> = (0..self.subqueries.len() as u32).collect();
        let ctes: Vec<u32> = (0..self.ctes.len() as u32).collect();
        self.find_free_of(&subqueries, &ctes);
    }

    /// The same of some. They stand in each other, and what an inner one reads counts for the outer one: until nothing
    /// is added.
    pub(crate) fn find_free_of(&mut self, subqueries: &[u32], ctes: &[u32]) {
        subqueries.iter().for_each(|i| self.subqueries[*i as usize].free.clear());
        ctes.iter().for_each(|i| self.ctes[*i as usize].free.clear());
        loop {
            let mut found = 0;
            for i in subqueries.iter().map(|i| *i as usize) {
                let free = self.free_columns(&self.subqueries[i].query);
                found += free.len() - self.subqueries[i].free.len();
                self.subqueries[i].free = free;
            }
            for i in ctes.iter().map(|i| *i as usize) {
                let cte = &self.ctes[i];
                let mut free: Vec<ColId> =
                    cte.base.iter().chain(&cte.recursive).flat_map(|part| self.free_columns(part)).collect();
                free.sort_unstable();
                free.dedup();
                found += free.len() - cte.free.len();
                self.ctes[i].free = free;
            }
            if found == 0 {
                return;
            }
        }
    }

    /// Completes a recursive common table expression.
    pub(crate) fn recurses(
        &mut self,
        number: u32,
        part: Query,
        distinct: bool,
        limit: Option<(Option<Expr>, Option<Expr>)>,
    ) {
        let free = self.free_columns(&part);
        let cte = &mut self.ctes[number as usize];
        let more: Vec<ColId> = free.into_iter().filter(|id| !cte.free.contains(id)).collect();
        cte.free.extend(more);
        (cte.recursive, cte.distinct, cte.limit) = (Some(part), distinct, limit);
        // References from inside do not count as uses.
        cte.uses = 0;
    }

    pub(crate) fn expr(&self, id: ColId) -> Expr {
        Expr { kind: ExprKind::Column(id), ty: self.types[id as usize].clone() }
    }

    /// Calls `f` with each column the expression reads, those read by its subqueries from outside included.
    pub(crate) fn columns_of(&self, e: &Expr, f: &mut impl FnMut(ColId)) {
        match &e.kind {
            ExprKind::Column(id) => f(*id),
            ExprKind::Subquery(s) => {
                if let Some(sub) = self.subqueries.get(s.subplan as usize) {
                    sub.free.iter().for_each(|id| f(*id));
                }
            }
            _ => {}
        }
        e.for_each_child(|c| self.columns_of(c, f));
    }

    /// The expression reads a column for which `test` holds.
    pub(crate) fn reads(&self, e: &Expr, test: impl Fn(ColId) -> bool) -> bool {
        let mut found = false;
        self.columns_of(e, &mut |id| found |= test(id));
        found
    }
}

impl Query {
    /// Calls `f` with each expression of this query and of the derived tables inside it (not of subquery expressions,
    /// which are in the arena).
    pub(crate) fn for_each_expr_mut(&mut self, f: &mut impl FnMut(&mut Expr)) {
        self.order.iter_mut().for_each(|k| f(&mut k.expr));
        self.limit.iter_mut().chain(&mut self.offset).for_each(&mut *f);
        match &mut self.body {
            Body::Block(block) => block.for_each_expr_mut(f),
            Body::Set { inputs, .. } => inputs.iter_mut().for_each(|q| q.for_each_expr_mut(f)),
            Body::Values(rows) => rows.iter_mut().flatten().for_each(f),
            Body::Json(document, _) => f(document),
        }
    }

    /// As [`Query::for_each_expr_mut`].
    pub(crate) fn for_each_expr<'a>(&'a self, f: &mut impl FnMut(&'a Expr)) {
        self.order.iter().for_each(|k| f(&k.expr));
        self.limit.iter().chain(&self.offset).for_each(&mut *f);
        match &self.body {
            Body::Block(block) => block.for_each_expr(f),
            Body::Set { inputs, .. } => inputs.iter().for_each(|q| q.for_each_expr(f)),
            Body::Values(rows) => rows.iter().flatten().for_each(f),
            Body::Json(document, _) => f(document),
        }
    }

    /// Calls `f` with each relation of the query and of its derived tables.
    pub(crate) fn for_each_rel_mut(&mut self, f: &mut impl FnMut(&mut Rel)) {
        match &mut self.body {
            Body::Block(block) => block.rels.iter_mut().for_each(|rel| {
                f(rel);
                if let RelKind::Derived(query) = &mut rel.kind {
                    query.for_each_rel_mut(f);
                }
            }),
            Body::Set { inputs, .. } => inputs.iter_mut().for_each(|q| q.for_each_rel_mut(f)),
            Body::Values(_) | Body::Json(..) => {}
        }
    }

    /// Calls `f` with each common table expression that the query, without its subqueries, names.
    pub(crate) fn for_each_cte(&self, f: &mut impl FnMut(u32)) {
        match &self.body {
            Body::Block(block) => block.rels.iter().for_each(|rel| match &rel.kind {
                RelKind::Cte(number) => f(*number),
                RelKind::Derived(q) => q.for_each_cte(f),
                RelKind::Base(_) => {}
            }),
            Body::Set { inputs, .. } => inputs.iter().for_each(|q| q.for_each_cte(f)),
            Body::Values(_) | Body::Json(..) => {}
        }
    }

    /// Calls `f` with each range of columns defined in the query: `first..first + n`.
    pub(crate) fn for_each_defined(&self, f: &mut impl FnMut(ColId, u32)) {
        self.columns.iter().for_each(|c| f(c.id, 1));
        match &self.body {
            Body::Block(block) => {
                for rel in &block.rels {
                    f(rel.first, rel.width);
                    if let RelKind::Derived(q) = &rel.kind {
                        q.for_each_defined(f);
                    }
                }
                block.groups.iter().for_each(|(_, id)| f(*id, 1));
                block.aggregates.iter().for_each(|(_, id)| f(*id, 1));
                block.carried.iter().for_each(|(_, id)| f(*id, 1));
                block.groupings.iter().for_each(|(_, id)| f(*id, 1));
                block.items.iter().for_each(|i| f(i.id, 1));
                block.windows.iter().flat_map(|w| &w.functions).for_each(|(_, id)| f(*id, 1));
            }
            Body::Set { inputs, .. } => inputs.iter().for_each(|q| q.for_each_defined(f)),
            Body::Values(_) | Body::Json(..) => {}
        }
    }
}

impl Block {
    pub(crate) fn for_each_expr_mut(&mut self, f: &mut impl FnMut(&mut Expr)) {
        for rel in &mut self.rels {
            if let RelKind::Derived(q) = &mut rel.kind {
                q.for_each_expr_mut(f);
            }
        }
        if let Some(from) = &mut self.from {
            from.for_each_on_mut(f);
        }
        self.filter.iter_mut().for_each(&mut *f);
        self.groups.iter_mut().for_each(|(e, _)| f(e));
        for (aggregate, _) in &mut self.aggregates {
            aggregate.args.iter_mut().for_each(&mut *f);
            aggregate.order.iter_mut().for_each(|k| f(&mut k.expr));
        }
        self.carried.iter_mut().for_each(|(e, _)| f(e));
        self.having.iter_mut().for_each(&mut *f);
        for window in &mut self.windows {
            window.partition.iter_mut().for_each(&mut *f);
            window.order.iter_mut().for_each(|k| f(&mut k.expr));
            window.functions.iter_mut().flat_map(|(w, _)| &mut w.args).for_each(&mut *f);
            for bound in [&mut window.frame.start, &mut window.frame.end] {
                if let FrameBound::Preceding(e) | FrameBound::Following(e) = bound {
                    f(e);
                }
            }
        }
        self.items.iter_mut().for_each(|i| f(&mut i.expr));
        self.order.iter_mut().for_each(|k| f(&mut k.expr));
        self.limit.iter_mut().chain(&mut self.offset).for_each(f);
    }

    pub(crate) fn for_each_expr<'a>(&'a self, f: &mut impl FnMut(&'a Expr)) {
        for rel in &self.rels {
            if let RelKind::Derived(q) = &rel.kind {
                q.for_each_expr(f);
            }
        }
        self.for_each_own_expr(f);
    }

    /// Those of [`Block::for_each_expr`] that are not in derived tables.
    pub(crate) fn for_each_own_expr<'a>(&'a self, f: &mut impl FnMut(&'a Expr)) {
        if let Some(from) = &self.from {
            from.for_each_on(f);
        }
        self.filter.iter().for_each(&mut *f);
        self.groups.iter().for_each(|(e, _)| f(e));
        for (aggregate, _) in &self.aggregates {
            aggregate.args.iter().for_each(&mut *f);
            aggregate.order.iter().for_each(|k| f(&k.expr));
        }
        self.carried.iter().for_each(|(e, _)| f(e));
        self.having.iter().for_each(&mut *f);
        for window in &self.windows {
            window.partition.iter().for_each(&mut *f);
            window.order.iter().for_each(|k| f(&k.expr));
            window.functions.iter().flat_map(|(w, _)| &w.args).for_each(&mut *f);
            for bound in [&window.frame.start, &window.frame.end] {
                if let FrameBound::Preceding(e) | FrameBound::Following(e) = bound {
                    f(e);
                }
            }
        }
        self.items.iter().for_each(|i| f(&i.expr));
        self.order.iter().for_each(|k| f(&k.expr));
        self.limit.iter().chain(&self.offset).for_each(f);
    }

    /// Position of the relation that defines a column.
    pub(crate) fn rel_of(&self, id: ColId) -> Option<usize> {
        self.rels.iter().position(|r| r.has(id))
    }
}

/// Splits a condition into conjuncts.
pub(crate) fn conjuncts(e: Expr, out: &mut Vec<Expr>) {
    match e.kind {
        ExprKind::And(args) => args.into_vec().into_iter().for_each(|a| conjuncts(a, out)),
        _ => out.push(e),
    }
}

/// A block as hints name it.
#[derive(Debug)]
pub(crate) struct NamedBlock {
    pub(crate) number: u32,
    pub(crate) name: Option<Box<str>>,
    pub(crate) tables: Vec<Box<str>>,
}

impl NamedBlock {
    /// A hint means it by this name.
    pub(crate) fn is(&self, name: &str) -> bool {
        let number = name.strip_prefix("select#").and_then(|n| n.parse().ok());
        self.name.as_deref().is_some_and(|n| n.eq_ignore_ascii_case(name)) || number == Some(self.number)
    }
}

/// The number of the block that a table of an order hint belongs to.
pub(crate) fn block_of(blocks: &[NamedBlock], named: Option<&str>, around: u32) -> Option<u32> {
    match named {
        None => Some(around),
        Some(name) => blocks.iter().find(|b| b.is(name)).map(|b| b.number),
    }
}

impl RelKind {
    /// The query of a derived table.
    pub(crate) fn derived(&self) -> Option<&Query> {
        match self {
            RelKind::Derived(query) => Some(query),
            RelKind::Base(_) | RelKind::Cte(_) => None,
        }
    }
}

impl Arena {
    /// The expression, or a subquery in it, varies.
    pub(crate) fn varies(&self, e: &Expr) -> bool {
        let possible = self.uses.non_deterministic || self.effects.any();
        possible && self.any(e, &|kind| self.effects.varies(kind))
    }

    /// The expression is the same for all rows and depends on none, of its block or of one around it. Subqueries are
    /// left out: they may cost much, and are for nothing where there is no row.
    pub(crate) fn reads_no_row(&self, e: &Expr) -> bool {
        let reads = |e: &Expr| matches!(e.kind, ExprKind::Column(_) | ExprKind::Subquery(_));
        !e.any(&mut |e| reads(e)) && !self.varies(e)
    }

    /// The expression, or a subquery in it, is ordered.
    pub(crate) fn is_ordered(&self, e: &Expr) -> bool {
        self.effects.any() && self.any(e, &|kind| self.effects.ordered(kind))
    }

    /// Something in the query varies.
    pub(crate) fn query_varies(&self, query: &Query) -> bool {
        let possible = self.uses.non_deterministic || self.effects.any();
        possible && self.any_in_query(query, &|kind| self.effects.varies(kind))
    }

    /// Something in the query is ordered.
    pub(crate) fn query_is_ordered(&self, query: &Query) -> bool {
        self.effects.any() && self.any_in_query(query, &|kind| self.effects.ordered(kind))
    }

    fn any(&self, e: &Expr, test: &dyn Fn(&ExprKind) -> bool) -> bool {
        e.any(&mut |e| match &e.kind {
            ExprKind::Subquery(s) => {
                self.subqueries.get(s.subplan as usize).is_some_and(|sub| self.any_in_query(&sub.query, test))
            }
            kind => test(kind),
        })
    }

    fn any_in_query(&self, query: &Query, test: &dyn Fn(&ExprKind) -> bool) -> bool {
        let mut found = false;
        query.for_each_expr(&mut |e| found = found || self.any(e, test));
        // A recursive part names its own expression, whose parts are out of the arena while they are looked at.
        query.for_each_cte(&mut |number| {
            let cte = &self.ctes[number as usize];
            found = found || cte.recursive.is_none() && cte.base.iter().any(|q| self.any_in_query(q, test));
        });
        found
    }
}
