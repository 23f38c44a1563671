//! Name resolution.

use super::{Binder, error};
use crate::expr::{Aggregate, Expr, ExprKind};
use crate::logical::{ColId, Label};
use crate::typing::Bound;
use gannet_parser::ast;
use gannet_schema::Table;
use gannet_schema::names::{canonical_schema, eq_name};
use gannet_types::{Coercibility, ErrorCode, Level, Result, SqlError, Warning};
use std::sync::Arc;

/// The clause that is being bound: decides what names may mean, and which words errors use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Clause {
    /// FROM: derived tables see what is before them.
    From,
    Fields,
    Where,
    On,
    Group,
    Having,
    /// ORDER BY of a SELECT.
    Order,
    /// ORDER BY of a set operation or of VALUES.
    SetOrder,
    /// ORDER BY of UPDATE and DELETE.
    ChangeOrder,
    /// Argument lists of DML, rows of VALUES, expressions without a SELECT (SET, DO).
    Values,
    /// The document of JSON_TABLE.
    TableFunction,
}

/// Whether a clause has a place for something.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Places {
    /// Aggregate functions, GROUPING(): the clause sees the rows which a SELECT's aggregation delivers.
    pub(super) aggregates: bool,
    /// Window functions.
    pub(super) windows: bool,
    /// ANY_VALUE() takes a value of a group; elsewhere it is its argument.
    pub(super) any_value: bool,
}

impl Clause {
    /// What may stand in the clause. Whatever has no place is refused when it is bound: operators have nothing to
    /// compute it with.
    pub(super) fn places(self) -> Places {
        let (aggregates, windows, any_value) = match self {
            Clause::Fields | Clause::Order => (true, true, true),
            Clause::Having => (true, false, true),
            // An aggregate is refused with an error of its own, once it is known to be there.
            Clause::SetOrder => (true, false, false),
            Clause::From | Clause::Where | Clause::On | Clause::Group => (false, false, false),
            Clause::ChangeOrder | Clause::Values | Clause::TableFunction => (false, false, false),
        };
        Places { aggregates, windows, any_value }
    }

    pub(super) fn words(self) -> &'static str {
        match self {
            Clause::Fields | Clause::Values | Clause::From => "field list",
            Clause::Where => "where clause",
            Clause::On => "on clause",
            Clause::Group => "group statement",
            Clause::Having => "having clause",
            Clause::Order | Clause::SetOrder | Clause::ChangeOrder => "order clause",
            Clause::TableFunction => "a table function argument",
        }
    }
}

/// One query block in the making.
pub(super) struct Scope {
    pub(super) rels: Vec<ScopeRel>,
    /// Columns that unqualified names see, in the order of `*`; only kept when a USING or NATURAL join merges some.
    pub(super) merged: Option<Vec<(Box<str>, ColId)>>,
    pub(super) clause: Clause,
    /// Select items by name, once they are bound.
    pub(super) items: Vec<ScopeItem>,
    /// GROUP BY has been bound: keys that are plain columns.
    pub(super) group_columns: Vec<ColId>,
    pub(super) aggregates: Vec<(Aggregate, ColId)>,
    /// Window functions, by definition.
    pub(super) windows: Vec<crate::logical::WindowBlock>,
    pub(super) named_windows: Vec<(Box<str>, ast::WindowSpec)>,
    /// Those of WINDOW, which are checked also where nobody uses them.
    pub(super) checked_windows: Vec<crate::logical::WindowBlock>,
    /// Inside an aggregate's arguments.
    pub(super) in_aggregate: bool,
    /// Inside the arguments or the definition of a window function.
    pub(super) in_window: bool,
    /// What messages call the part of a window that is bound, and the window.
    pub(super) window_part: Option<(&'static str, Box<str>)>,
    /// GROUP BY ... WITH ROLLUP.
    pub(super) rollup: bool,
    /// Its keys, where their values are, and what GROUP BY calls them.
    pub(super) rollup_keys: Vec<(crate::expr::Expr, ColId, Option<Box<str>>)>,
    /// `ANY_VALUE(x)`: expression and the column that stands for it.
    pub(super) any_values: Vec<(Expr, ColId)>,
    /// `GROUPING(...)` with its arguments.
    pub(super) groupings: Vec<(Vec<Expr>, ColId)>,
    /// Only relations from this position on may be named (ON sees the operands of its join; a derived table no
    /// neighbour).
    pub(super) visible_from: usize,
}

/// A relation as names see it.
pub(super) struct ScopeRel {
    pub(super) alias: Box<str>,
    pub(super) schema: Option<Box<str>>,
    pub(super) first: ColId,
    pub(super) names: Names,
}

/// Column names of a relation.
pub(super) enum Names {
    Table(Arc<Table>),
    List(Vec<Box<str>>),
    /// Columns of a view that is inserted into, with the ordinals of its table; and the number of that table's columns.
    View(Vec<(Box<str>, u32)>, usize),
}

pub(super) struct ScopeItem {
    pub(super) name: Box<str>,
    pub(super) bound: Bound,
    /// The name was given by AS.
    pub(super) aliased: bool,
    pub(super) has_window: bool,
}

impl Names {
    /// `_rowid`: the column of the primary key, or of the first unique key without NULL, if that is one integer
    /// (manual, "CREATE INDEX Statement").
    fn row_number(&self) -> Option<u32> {
        let Names::Table(table) = self else { return None };
        let [part] = &*table.indexes[table.clustered?].parts else { return None };
        table.columns[part.column as usize].ty.id.is_integer().then_some(part.column)
    }

    pub(super) fn find(&self, name: &str) -> Option<u32> {
        match self {
            Names::Table(table) => table.column(name),
            Names::List(list) => list.iter().position(|n| eq_name(n, name)).map(|i| i as u32),
            Names::View(list, _) => list.iter().find(|(n, _)| eq_name(n, name)).map(|(_, i)| *i),
        }
    }

    /// Names that can be given, with their ordinals.
    pub(super) fn list(&self) -> Vec<(Box<str>, u32)> {
        match self {
            Names::Table(table) => {
                let named = table.columns.iter().enumerate().filter(|(_, c)| !c.hidden);
                named.map(|(i, c)| ((&*c.name).into(), i as u32)).collect()
            }
            Names::List(list) => list.iter().enumerate().map(|(i, n)| (n.clone(), i as u32)).collect(),
            Names::View(list, _) => list.clone(),
        }
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Names::Table(table) => table.columns.len(),
            Names::List(list) => list.len(),
            Names::View(_, width) => *width,
        }
    }

    pub(super) fn name(&self, ordinal: u32) -> &str {
        match self {
            Names::Table(table) => &table.columns[ordinal as usize].name,
            Names::List(list) => &list[ordinal as usize],
            Names::View(list, _) => list.iter().find(|(_, i)| *i == ordinal).map_or("", |(n, _)| n),
        }
    }

    /// `*` leaves invisible columns out.
    pub(super) fn visible(&self, ordinal: u32) -> bool {
        match self {
            Names::Table(table) => {
                let column = &table.columns[ordinal as usize];
                !column.invisible && !column.hidden
            }
            Names::List(_) => true,
            Names::View(list, _) => list.iter().any(|(_, i)| *i == ordinal),
        }
    }
}

impl ScopeRel {
    /// The relation answers to this qualifier.
    pub(super) fn is_called(&self, qualifier: &ast::ObjectName) -> bool {
        let schema = match (&qualifier.schema, &self.schema) {
            (None, _) => true,
            (Some(q), Some(s)) => *q.text == **s || canonical_schema(&q.text) == canonical_schema(s),
            (Some(_), None) => false,
        };
        schema && *self.alias == *qualifier.name.text
    }
}

impl Scope {
    pub(super) fn new() -> Scope {
        Scope {
            rels: Vec::new(),
            merged: None,
            clause: Clause::From,
            items: Vec::new(),
            group_columns: Vec::new(),
            aggregates: Vec::new(),
            windows: Vec::new(),
            named_windows: Vec::new(),
            in_aggregate: false,
            checked_windows: Vec::new(),
            in_window: false,
            window_part: None,
            rollup: false,
            rollup_keys: Vec::new(),
            any_values: Vec::new(),
            groupings: Vec::new(),
            visible_from: 0,
        }
    }

    /// An aggregate may be computed for what is being bound.
    pub(super) fn takes_aggregates(&self) -> bool {
        self.clause.places().aggregates && !self.in_aggregate
    }

    /// The key of a rollup that an item of the select list is, and whether GROUP BY has it more than once: each of
    /// these is NULL in the totals of its own place, and the item is the one that has its name, else the first.
    pub(super) fn rollup_key(&self, e: &Expr, name: &str) -> Option<(ColId, bool)> {
        let same = || self.rollup_keys.iter().filter(|(key, _, _)| key == e);
        let named = same().find(|(_, _, called)| called.as_deref().is_some_and(|c| eq_name(c, name)));
        named.or_else(|| same().next()).map(|(_, id, _)| (*id, same().count() > 1))
    }

    /// The value is one that a group has many of, of which ANY_VALUE() takes one.
    pub(super) fn takes_any_value(&self, arena: &crate::logical::Arena, value: &Expr) -> bool {
        let single = |id: ColId| {
            let windows = self.windows.iter().flat_map(|w| &w.functions).any(|(_, f)| *f == id);
            let key = self.rollup_keys.iter().any(|(_, k, _)| *k == id);
            let aggregate = self.aggregates.iter().any(|(_, a)| *a == id);
            windows || key || aggregate || self.any_values.iter().any(|(_, v)| *v == id)
        };
        self.clause.places().any_value && !self.in_aggregate && !arena.reads(value, single)
    }

    /// Error 3593 where no window function may stand; 3595 in what makes a window.
    pub(super) fn check_window(&self, name: &str) -> Result<()> {
        if let Some((_, window)) = &self.window_part {
            return Err(error(ErrorCode::WindowNestedWindowFuncUseInWindowSpec, &[window]));
        }
        if !self.clause.places().windows || self.in_aggregate || self.in_window {
            return Err(error(ErrorCode::WindowInvalidWindowFuncUse, &[&name]));
        }
        Ok(())
    }

    /// The expression reads what window functions of the query make.
    pub(super) fn reads_windows(&self, arena: &crate::logical::Arena, e: &Expr) -> bool {
        arena.reads(e, |id| self.windows.iter().flat_map(|w| &w.functions).any(|(_, f)| *f == id))
    }

    /// The column of GROUP BY that an unqualified or qualified name means.
    fn grouped(&self, column: &ast::ColumnRef, labels: &Labels<'_>) -> Option<ColId> {
        self.group_columns.iter().copied().find(|id| {
            let owner = |r: &&ScopeRel| *id >= r.first && *id - r.first < r.names.len() as u32;
            let called = |q: &ast::ObjectName| self.rels.iter().find(owner).is_some_and(|r| r.is_called(q));
            eq_name(labels.name(*id), &column.column.text) && column.qualifier.as_ref().is_none_or(|q| called(q))
        })
    }

    fn visible(&self) -> impl Iterator<Item = &ScopeRel> {
        self.rels.iter().skip(self.visible_from)
    }

    /// A column of this scope: of its relations, or made by its aggregation.
    pub(super) fn defines(&self, id: ColId) -> bool {
        self.rels.iter().any(|r| id >= r.first && id - r.first < r.names.len() as u32)
            || self.aggregates.iter().any(|(_, a)| *a == id)
            || self.any_values.iter().any(|(_, a)| *a == id)
            || self.groupings.iter().any(|(_, a)| *a == id)
    }

    /// The column of this scope's relations that a name means. Error 1052.
    fn find(&self, column: &ast::ColumnRef, clause: Clause) -> Result<Option<ColId>> {
        let name = &*column.column.text;
        let mut found = None;
        let mut take = |id: ColId| match found.replace(id) {
            Some(other) if other != id => Err(error(ErrorCode::NonUniq, &[&display(column), &clause.words()])),
            _ => Ok(()),
        };
        match (&column.qualifier, &self.merged) {
            (Some(qualifier), _) => {
                for rel in self.visible().filter(|r| r.is_called(qualifier)) {
                    if let Some(ordinal) = rel.names.find(name) {
                        take(rel.first + ordinal)?;
                    }
                }
            }
            (None, Some(merged)) if self.visible_from == 0 => {
                for (_, id) in merged.iter().filter(|(n, _)| eq_name(n, name)) {
                    take(*id)?;
                }
            }
            (None, _) => {
                for rel in self.visible() {
                    if let Some(ordinal) = rel.names.find(name) {
                        take(rel.first + ordinal)?;
                    }
                }
            }
        }
        if found.is_none() && eq_name(name, "_rowid") {
            let called = |rel: &&ScopeRel| column.qualifier.as_ref().is_none_or(|q| rel.is_called(q));
            let mut numbers = self.visible().filter(called).filter_map(|r| r.names.row_number().map(|n| r.first + n));
            found = numbers.next();
            if numbers.next().is_some() {
                return Err(error(ErrorCode::NonUniq, &[&display(column), &clause.words()]));
            }
        }
        Ok(found)
    }

    /// The select item that an unqualified (or table-qualified) name means. Error 1052 when it means several different
    /// columns.
    pub(super) fn find_item(
        &self,
        column: &ast::ColumnRef,
        clause: Clause,
        types: &Labels<'_>,
    ) -> Result<Option<usize>> {
        let name = &*column.column.text;
        let mut found: Option<usize> = None;
        for (i, item) in self.items.iter().enumerate() {
            if !eq_name(&item.name, name) {
                continue;
            }
            match &column.qualifier {
                None => {}
                // A qualified name means an item which is just that column, under its own name.
                Some(qualifier) => {
                    let same = match &item.bound.expr.kind {
                        ExprKind::Column(id) => self.rels.iter().any(|r| {
                            let inside = *id >= r.first && *id < r.first + r.names.len() as u32;
                            inside && r.is_called(qualifier) && eq_name(types.name(*id), name)
                        }),
                        _ => false,
                    };
                    if !same {
                        continue;
                    }
                }
            }
            let computed = match &item.bound.expr.kind {
                ExprKind::Column(id) => {
                    self.aggregates.iter().any(|(_, made)| made == id)
                        || self.groupings.iter().any(|(_, made)| made == id)
                }
                _ => true,
            };
            match found {
                // What is no column is taken as soon as it is met, whatever else has its name.
                _ if computed => return Ok(Some(i)),
                None => found = Some(i),
                Some(other) if self.items[other].bound.expr == item.bound.expr => {}
                // An alias is firmer than the name of a column.
                Some(other)
                    if self.items[other].aliased != item.aliased
                        && !matches!(
                            clause,
                            Clause::Order | Clause::SetOrder | Clause::ChangeOrder | Clause::Group
                        ) =>
                {
                    if item.aliased {
                        found = Some(i);
                    }
                }
                Some(_) => return Err(error(ErrorCode::NonUniq, &[&display(column), &clause.words()])),
            }
        }
        Ok(found)
    }
}

/// Names of columns.
pub(super) struct Labels<'a>(pub(super) &'a crate::logical::Arena);

impl Labels<'_> {
    pub(super) fn name(&self, id: ColId) -> &str {
        match &self.0.labels[id as usize] {
            Label::Base { table, ordinal } => {
                let columns = &self.0.tables[*table as usize].table.columns;
                columns.get(*ordinal as usize).map_or("", |c| &c.name)
            }
            Label::Derived { name, .. } => name,
            Label::Computed => "",
        }
    }
}

/// A table's name as messages of locking clauses print it.
pub(super) fn quoted_table(name: &ast::ObjectName) -> String {
    match &name.schema {
        Some(schema) => format!("`{}`.`{}`", schema.text, name.name.text),
        None => format!("`{}`", name.name.text),
    }
}

/// A column reference as messages print it.
pub(super) fn display(column: &ast::ColumnRef) -> String {
    let mut text = String::new();
    if let Some(qualifier) = &column.qualifier {
        if let Some(schema) = &qualifier.schema {
            text.push_str(&schema.text);
            text.push('.');
        }
        if !qualifier.name.text.is_empty() {
            text.push_str(&qualifier.name.text);
            text.push('.');
        }
    }
    text.push_str(&column.column.text);
    text
}

impl Binder<'_> {
    pub(super) fn scope(&mut self) -> &mut Scope {
        if self.scopes.is_empty() {
            self.scopes.push(Scope::new());
        }
        let last = self.scopes.len() - 1;
        &mut self.scopes[last]
    }

    pub(super) fn clause(&self) -> Clause {
        self.scopes.last().map_or(Clause::Fields, |s| s.clause)
    }

    /// Runs `f` with another clause in force.
    pub(super) fn in_clause<R>(&mut self, clause: Clause, f: impl FnOnce(&mut Self) -> Result<R>) -> Result<R> {
        let before = std::mem::replace(&mut self.scope().clause, clause);
        let result = f(self);
        self.scope().clause = before;
        result
    }

    /// What a column name means. Errors 1054, 1052, 1247.
    pub(super) fn resolve(&mut self, column: &ast::ColumnRef) -> Result<Bound> {
        if let Some(local) = local(self, column)? {
            return Ok(local);
        }
        let clause = self.clause();
        for level in (0..self.scopes.len()).rev() {
            let scope = &self.scopes[level];
            let own = level + 1 == self.scopes.len();
            let at = scope.clause;
            // HAVING sees the select list and the group keys first, and of the tables only what is grouped.
            if at == Clause::Having && !scope.in_aggregate {
                if let Some(item) = scope.find_item(column, at, &Labels(&self.arena))? {
                    // A column of GROUP BY comes before another item of its name (manual, "SELECT Statement").
                    let Some(id) = scope
                        .grouped(column, &Labels(&self.arena))
                        .filter(|id| scope.items[item].bound.expr.kind != ExprKind::Column(*id))
                    else {
                        self.note_outer(column, level);
                        if let ExprKind::Column(id) = scope_item(self, level, item)
                            && eq_name(Labels(&self.arena).name(id), &column.column.text)
                        {
                            self.note_column(column, id);
                        }
                        return self.item_alias(level, item, column);
                    };
                    let told = [&display(column) as &dyn std::fmt::Display, &at.words()];
                    self.arena.warnings.push(Warning::new(Level::Warning, ErrorCode::NonUniq, &told));
                    self.note_column(column, id);
                    self.note_outer(column, level);
                    return Ok(self.column(id));
                }
                if let Some(id) = scope.find(column, at)?
                    && (scope.group_columns.contains(&id) || !own)
                {
                    self.note_column(column, id);
                    self.note_outer(column, level);
                    return Ok(self.column(id));
                }
                continue;
            }
            if let Some(id) = scope.find(column, if own { clause } else { at })? {
                self.note_column(column, id);
                self.note_outer(column, level);
                return Ok(self.column(id));
            }
            // Elsewhere aliases are a last resort, and only where the list is bound already.
            if (matches!(at, Clause::Order | Clause::SetOrder | Clause::ChangeOrder | Clause::Group)
                || at == Clause::Fields && !own)
                && column.qualifier.is_none()
                && let Some(item) = scope.find_item(column, at, &Labels(&self.arena))?
            {
                self.note_outer(column, level);
                return self.item_alias(level, item, column);
            }
        }
        let words = self.scopes.last().and_then(|s| s.window_part.as_ref()).map_or(clause.words(), |(part, _)| part);
        Err(error(ErrorCode::BadField, &[&display(column), &words]))
    }

    fn item_alias(&mut self, level: usize, item: usize, column: &ast::ColumnRef) -> Result<Bound> {
        let scope = &self.scopes[level];
        let item = &scope.items[item];
        if item.has_window && (!scope.clause.places().windows || scope.in_window) {
            return Err(error(ErrorCode::WindowInvalidWindowFuncAliasUse, &[&column.column.text]));
        }
        let in_list = scope.clause == Clause::Fields;
        if (scope.in_aggregate || in_list) && self.contains_aggregate(level, &item.bound.expr) {
            let what = "reference to group function";
            return Err(SqlError::new(ErrorCode::IllegalReference, &[&column.column.text, &what]));
        }
        let mut bound = item.bound.clone();
        // A key is NULL in the rows of totals, also one that is a constant. A column is its own key.
        if scope.clause == Clause::Having
            && !scope.in_aggregate
            && let Some((id, repeated)) = scope.rollup_key(&bound.expr, &item.name)
            && (repeated || !matches!(bound.expr.kind, crate::expr::ExprKind::Column(_)))
        {
            bound.expr = self.arena.expr(id);
        }
        Ok(bound)
    }

    /// The expression reads a value that the scope's aggregation makes.
    pub(super) fn contains_aggregate(&self, level: usize, e: &crate::expr::Expr) -> bool {
        let aggregates = &self.scopes[level].aggregates;
        self.arena.reads(e, |id| aggregates.iter().any(|(_, a)| *a == id))
    }

    pub(super) fn column(&self, id: ColId) -> Bound {
        let mut bound = Bound::new(self.arena.expr(id));
        if let Some((coercibility, ascii)) = self.arena.text(id) {
            (bound.coercibility, bound.ascii) = (coercibility, ascii);
        }
        bound.temporal = self.arena.temporal.contains(&id);
        bound
    }
}

fn scope_item(binder: &Binder<'_>, level: usize, item: usize) -> ExprKind {
    binder.scopes[level].items[item].bound.expr.kind.clone()
}

/// The variable of a stored program that a name means: it comes before columns. The queries of views know none.
pub(super) fn local(binder: &mut Binder<'_>, column: &ast::ColumnRef) -> Result<Option<Bound>> {
    let Some(locals) = binder.options.locals.filter(|_| binder.views.is_empty()) else { return Ok(None) };
    let row = match &column.qualifier {
        None => None,
        Some(q) if q.schema.is_none() && (eq_name(&q.name.text, "OLD") || eq_name(&q.name.text, "NEW")) => {
            Some(&*q.name.text)
        }
        Some(_) => return Ok(None),
    };
    let Some(crate::options::Local { slot, ty, name }) = locals.find(row, &column.column.text)? else {
        return Ok(None);
    };
    let seen = binder.options.values.get(slot as usize).cloned();
    let mut bound = Bound::new(binder.add_param(crate::plan::Param::Local { slot, ty, name }, seen));
    // A variable is as firm as a column.
    if bound.coercibility == Coercibility::Coercible {
        bound.coercibility = Coercibility::Implicit;
    }
    Ok(Some(bound))
}

/// A plain name in GROUP BY: a column of the tables, with warning 1052 where an item of the select list that is
/// something else has the name; the item where no table has it, or several have. Errors 1054, 1052 when it means
/// several items.
pub(super) fn group_name(binder: &mut Binder<'_>, column: &ast::ColumnRef) -> Result<Bound> {
    let top = binder.scopes.len() - 1;
    let scope = &binder.scopes[top];
    let item = scope.find_item(column, Clause::Group, &Labels(&binder.arena))?;
    if let Some(local) = local(binder, column)? {
        return Ok(local);
    }
    let Some(item) = item else { return binder.resolve(column) };
    let scope = &binder.scopes[top];
    match scope.find(column, Clause::Group) {
        Ok(Some(id)) => {
            if scope.items[item].bound.expr.kind != ExprKind::Column(id) {
                let told = [&display(column) as &dyn std::fmt::Display, &Clause::Group.words()];
                binder.arena.warnings.push(Warning::new(Level::Warning, ErrorCode::NonUniq, &told));
            }
            binder.note_column(column, id);
            Ok(binder.column(id))
        }
        Ok(None) | Err(_) => binder.item_alias(top, item, column),
    }
}
