//! The binder: names become columns, expressions get types, MySQL's rules of scope and its errors.
//!
//! One [`Binder`] lives for one statement. Queries nest as a stack of [`scope::Scope`]s; everything with an identity
//! (columns, tables, subqueries, parameters) goes into the [`Arena`].

mod call;
mod compare;
mod depend;
mod dml;
mod expr;
mod fit;
mod from;
mod generated;
mod group;
mod hints;
mod like;
pub(crate) mod literal;
mod on_duplicate;
mod operand;
mod parameter;
mod query;
mod routine;
mod scope;
mod search;
pub(crate) mod select;
mod target;
pub(crate) mod types;
mod unique;
mod view;
mod view_text;

use crate::expr::{Expr, ExprKind};
use crate::logical::Arena;
use crate::options::PlanOptions;
use crate::plan::{Intent, Param, PlanTable};
use gannet_schema::{CatalogSnapshot, Table};
use gannet_types::{ErrorCode, Result, SqlError, SqlType, Value};
use scope::Scope;
use std::fmt::Display;
use std::sync::Arc;

pub(crate) use dml::{BoundDelete, BoundInsert, BoundSource, BoundTarget, BoundUpdate};
pub(crate) use group::replace_keys;
pub(crate) use target::BoundCheck;
pub use unique::uniquely_named;
pub use view::{Definition, definition};
pub use view_text::{explained, view_tables, view_text_in};

/// What is being bound.
pub(crate) struct Binder<'a> {
    pub(crate) snapshot: &'a CatalogSnapshot,
    pub(crate) options: &'a PlanOptions<'a>,
    pub(crate) arena: Arena,
    scopes: Vec<Scope>,
    /// Common table expressions in reach, innermost last: folded name, number.
    ctes: Vec<(String, u32)>,
    /// Recursive query blocks around what is being bound.
    recursions: Vec<query::Recursion>,
    /// Literals must keep their values: their text names a column, or decides what a clause means.
    pinning: u32,
    /// Type expected of a `?` that is bound next.
    hint: Option<SqlType>,
    /// Number of the last SELECT.
    selects: u32,
    depth: u32,
    /// The view whose query is being bound: its plan table.
    through: Option<u32>,
    /// Views around what is being bound, outermost first.
    views: Vec<gannet_schema::TableId>,
    /// collation_connection; inside a view the one it was created with.
    collation: gannet_types::CollationId,
    /// Expressions and queries bound so far.
    bound: Bound,
    /// What names stood for, when the statement is to be printed with all of them qualified.
    names: Option<view_text::Names>,
    /// The row that was to be inserted, inside ON DUPLICATE KEY UPDATE: the name of its table, those of its columns
    /// with their ordinals, its first column.
    new_row: Option<NewRow>,
    /// User variables that LOAD DATA fills with texts before SET reads them.
    filled: Vec<Box<str>>,
    pub(crate) hints: hints::Hints,
    place: query::Place,
    /// Views are defined, or changed through: no column of theirs is one that a subquery in the list selects.
    changes_views: bool,
    /// The last SELECT of one expression without tables, conditions and groups: its column and its value.
    lone_value: Option<(crate::logical::ColId, crate::typing::Bound)>,
    /// The expressions are no select list: those of SET and DO.
    pub(crate) without_select: bool,
}

/// See [`Binder::new_row`].
struct NewRow {
    table: Box<str>,
    columns: Vec<(Box<str>, u32)>,
    first: crate::logical::ColId,
}

/// A count of expressions and queries.
pub(super) struct Bound(u32);

impl Bound {
    /// One more: error 1317 where the statement was killed, which is looked at now and then.
    pub(super) fn one(&mut self, options: &PlanOptions<'_>) -> Result<()> {
        const CHECKED: u32 = 1024;
        self.0 += 1;
        if self.0.is_multiple_of(CHECKED) { options.check_stopped() } else { Ok(()) }
    }
}

#[cold]
pub(crate) fn error(code: ErrorCode, args: &[&dyn Display]) -> SqlError {
    SqlError::new(code, args)
}

impl<'a> Binder<'a> {
    pub(crate) fn new(snapshot: &'a CatalogSnapshot, options: &'a PlanOptions<'a>) -> Binder<'a> {
        Binder {
            snapshot,
            options,
            arena: Arena { bind_exprs: options.bind_exprs, ..Arena::default() },
            scopes: Vec::new(),
            ctes: Vec::new(),
            recursions: Vec::new(),
            pinning: 0,
            hint: None,
            selects: 0,
            depth: 0,
            bound: Bound(0),
            new_row: None,
            filled: Vec::new(),
            through: None,
            views: Vec::new(),
            collation: options.collation,
            names: None,
            hints: hints::Hints::default(),
            place: query::Place::default(),
            changes_views: false,
            lone_value: None,
            without_select: false,
        }
    }

    /// Runs `f` one level deeper; error 1436 beyond the bound.
    fn deeper<R>(&mut self, f: impl FnOnce(&mut Self) -> Result<R>) -> Result<R> {
        self.options.check_depth(self.depth)?;
        self.bound.one(self.options)?;
        self.depth += 1;
        let result = f(self);
        self.depth -= 1;
        result
    }

    /// Runs `f` with all literals pinned.
    fn pinned<R>(&mut self, f: impl FnOnce(&mut Self) -> Result<R>) -> Result<R> {
        self.pinning += 1;
        let result = f(self);
        self.pinning -= 1;
        result
    }

    /// The schema of a name, or the default one; error 1046.
    pub(crate) fn schema_of<'n>(&self, name: &'n gannet_parser::ast::ObjectName) -> Result<&'n str>
    where
        'a: 'n,
    {
        match &name.schema {
            Some(schema) => Ok(&schema.text),
            None => self.options.database.ok_or_else(|| error(ErrorCode::NoDb, &[])),
        }
    }

    /// Binds an expression over one table. Returns also the table's first column.
    pub(crate) fn over_table(
        &mut self,
        table: &Arc<Table>,
        e: &gannet_parser::ast::Expr,
    ) -> Result<(Expr, crate::logical::ColId)> {
        let mut scope = Scope::new();
        scope.clause = scope::Clause::Values;
        self.scopes.push(scope);
        let mut builder = from::FromBuilder::new(Intent::Read);
        self.add_base(table, &table.name, &mut builder, Default::default());
        let first = builder.rels[0].first;
        let bound = self.pinned(|b| b.expr(e));
        self.scopes.pop();
        Ok((bound?.expr, first))
    }

    /// Adds a base table to the plan.
    fn add_table(&mut self, table: &Arc<Table>, alias: &str, intent: Intent) -> u32 {
        if matches!(table.source, gannet_schema::RowSource::Virtual(_)) {
            self.arena.uses.virtual_tables = true;
        }
        let statistics_epoch = table.statistics.epoch();
        let (table, alias) = (table.clone(), alias.into());
        let columns_used = Box::new([]);
        let slot = PlanTable {
            table,
            alias,
            intent,
            columns_used,
            starred: false,
            statistics_epoch,
            exprs: None,
            links: None,
            only: None,
            through: self.through,
        };
        self.arena.tables.push(slot);
        self.arena.tables.len() as u32 - 1
    }

    /// A new parameter.
    fn add_param(&mut self, param: Param, seen: Option<Value>) -> Expr {
        let ty = match &param {
            Param::Literal { ty, .. } | Param::Marker { ty, .. } | Param::Local { ty, .. } => ty.clone(),
        };
        self.arena.params.push(param);
        self.arena.seen.push(seen);
        Expr { kind: ExprKind::Param(self.arena.params.len() as u32 - 1), ty }
    }
}

/// Binds what a statement changes: see [`Binder::changes_views`].
pub(super) fn changing<'a, R>(b: &mut Binder<'a>, f: impl FnOnce(&mut Binder<'a>) -> R) -> R {
    b.changes_views = true;
    let bound = f(b);
    b.changes_views = false;
    bound
}

/// What rows come by.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum RowsBy {
    Insert,
    Load,
}

/// Why a view takes no rows.
pub(super) fn not_inserted(view: &Table, code: ErrorCode, by: RowsBy) -> SqlError {
    match (code, by) {
        (ErrorCode::NonInsertableTable, RowsBy::Insert) => error(code, &[&view.name, &"INSERT"]),
        (ErrorCode::NonInsertableTable, RowsBy::Load) => error(ErrorCode::NonUpdatableTable, &[&view.name, &"LOAD"]),
        _ => error(code, &[&view.schema, &view.name]),
    }
}
