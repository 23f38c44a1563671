//! Views: their queries are bound where they are named, in a scope that sees nothing of the statement around them; what
//! writes through them reaches the tables below; and how a definition is brought into the form which the dictionary
//! keeps.

use super::from::{FromBuilder, place};
use super::target::{BoundCheck, Conditions, ThroughView};
use super::{Binder, RowsBy, error};
use crate::expr::{Expr, ExprKind};
use crate::logical::{Block, Body, ColId, Label, Query, Rel, RelKind};
use crate::options::PlanOptions;
use crate::physical::RowLock;
use crate::plan::Intent;
use crate::rewrite::{merge, substitute};
use gannet_parser::ast::{self, Ident, ObjectName, QueryBody, SelectItem, Statement, TableRef};
use gannet_parser::{LexMode, printer};
use gannet_schema::{CatalogSnapshot, CheckOption, RowSource, Table, View, ViewAlgorithm};
use gannet_types::{ErrorCode, Level, Result, SqlError, SqlType, Value, Warning};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

fn has_outer(from: &crate::logical::From) -> bool {
    use crate::logical::{From, FromJoin};
    match from {
        From::Rel(_) => false,
        From::Join { left, right, kind, .. } => {
            !matches!(kind, FromJoin::Inner | FromJoin::Straight) || has_outer(left) || has_outer(right)
        }
    }
}

/// Shows the block of a view's query, and those of the views in it that were not merged.
fn blocks_of_view(query: &Query, each: &mut impl FnMut(&Block)) {
    let Body::Block(block) = &query.body else { return };
    each(block);
    for rel in &block.rels {
        if let (Some(_), RelKind::Derived(inner)) = (rel.view, &rel.kind) {
            blocks_of_view(inner, each);
        }
    }
}

/// What the names in a statement's text refer to, by the position of the name.
#[derive(Default)]
pub(crate) struct Names {
    /// Schema and table of a column's relation, or the relation's alias.
    columns: HashMap<u32, ObjectName>,
    /// Columns of `*` and `t.*`: relation and column.
    wildcards: HashMap<u32, Vec<(ObjectName, Box<str>)>>,
    /// Columns that USING and NATURAL compare, by the place of the join's right side.
    pairs: HashMap<u32, Vec<(ast::ColumnRef, ast::ColumnRef)>>,
    /// Schemas of tables.
    tables: HashMap<u32, Box<str>>,
    /// Schemas of stored functions.
    pub(super) routines: HashMap<u32, Box<str>>,
    /// Subqueries that are the one expression they select.
    reduced: HashSet<u32>,
    /// Aliases of tables are named with their schemas, too.
    full: bool,
}

impl Names {
    /// The subquery is the one expression that it selects.
    pub(super) fn reduce(&mut self, query: &ast::Query) {
        self.reduced.insert(query.span.start);
    }
}

/// The column whose values an expression gives unchanged: COLLATE may stand around it.
fn column_shown(e: &Expr) -> Option<ColId> {
    match &e.kind {
        ExprKind::Column(id) => Some(*id),
        ExprKind::Cast(inner) => {
            let same = SqlType { collation: inner.ty.collation, ..e.ty.clone() } == inner.ty;
            if same { column_shown(inner) } else { None }
        }
        _ => None,
    }
}

fn invalid(table: &Table) -> SqlError {
    error(ErrorCode::ViewInvalid, &[&table.schema, &table.name])
}

impl Binder<'_> {
    /// Adds a view to the relations of the current scope. Errors 1356, 1462.
    pub(super) fn view_rel(
        &mut self,
        table: &Arc<Table>,
        view: &View,
        alias: &str,
        builder: &mut FromBuilder,
    ) -> Result<usize> {
        let slot = self.add_table(table, alias, builder.intent);
        let query = self.view_query(table, view, slot)?;
        self.add_derived(alias, query, Some(slot), builder)
    }

    fn view_query(&mut self, table: &Arc<Table>, view: &View, slot: u32) -> Result<Query> {
        if self.views.contains(&table.id) {
            return Err(error(ErrorCode::ViewRecursive, &[&table.schema, &table.name]));
        }
        let parsed = table.compiled.get_or_try_init(|| parse(&view.query))?;
        self.views.push(table.id);
        let scopes = std::mem::take(&mut self.scopes);
        let ctes = std::mem::take(&mut self.ctes);
        let new_row = self.new_row.take();
        let hint = self.hint.take();
        let names = self.names.take();
        let collation = std::mem::replace(&mut self.collation, view.collation);
        let through = self.through.replace(slot);
        self.arena.uses.views = true;
        let bound = self.deeper(|b| b.pinned(|b| b.query(parsed)));
        (self.scopes, self.ctes, self.new_row, self.hint, self.names) = (scopes, ctes, new_row, hint, names);
        (self.collation, self.through) = (collation, through);
        self.views.pop();
        let mut query = bound.map_err(|e| match e.code() {
            ErrorCode::NoSuchTable
            | ErrorCode::BadDb
            | ErrorCode::BadField
            | ErrorCode::SpDoesNotExist
            | ErrorCode::UnknownTable
            | ErrorCode::KeyDoesNotExits => invalid(table),
            _ => e,
        })?;
        if query.columns.len() != table.columns.len() {
            return Err(invalid(table));
        }
        for (column, named) in query.columns.iter_mut().zip(&table.columns) {
            column.name = (&*named.name).into();
        }
        if let Body::Block(block) = &mut query.body {
            block.kept = view.algorithm == ViewAlgorithm::Temptable;
        }
        Ok(query)
    }

    /// FOR UPDATE and FOR SHARE of a view lock the rows of its tables.
    pub(super) fn lock_view(&mut self, query: &mut Query, lock: RowLock) {
        if !merge::can_merge(query) {
            return;
        }
        let Body::Block(block) = &mut query.body else { return };
        for rel in &mut block.rels {
            match &mut rel.kind {
                RelKind::Base(slot) if self.arena.tables[*slot as usize].table.source.is_engine() => {
                    rel.lock = lock;
                    self.arena.tables[*slot as usize].intent = Intent::of_lock(lock.strength);
                }
                RelKind::Derived(inner) if rel.view.is_some() => self.lock_view(inner, lock),
                _ => {}
            }
        }
    }

    /// Merges the views of an UPDATE or DELETE into its block. Returns what became of each.
    pub(super) fn merge_views(&mut self, block: &mut Block) -> Vec<ThroughView> {
        let mut all = Vec::new();
        for rel in &mut block.rels {
            let (Some(slot), RelKind::Derived(inner)) = (rel.view, &mut rel.kind) else { continue };
            let mut conditions = Vec::new();
            self.conditions(inner, slot, false, &mut conditions);
            merge::view(&mut self.arena, inner, false);
            let (mut bases, mut others, mut computed) = (Vec::new(), Vec::new(), Vec::new());
            let merged = merge::can_change(&self.arena, inner) && self.reaches_tables(inner);
            if let Body::Block(below) = &inner.body {
                computed.extend(below.items.iter().map(|item| item.expr.clone()));
                computed.iter_mut().for_each(|e| substitute(e, &self.arena.replaced));
                computed.retain(|e| e.any(&mut |part| matches!(part.kind, ExprKind::Subquery(_))));
                let base = |r: &&Rel| matches!(r.kind, RelKind::Base(_));
                let (of_tables, rest): (Vec<&Rel>, Vec<&Rel>) = below.rels.iter().partition(base);
                bases.extend(of_tables.iter().map(|r| r.first));
                others.extend(rest.iter().map(|r| r.first));
            }
            let (first, width) = (rel.first, rel.width);
            all.push(ThroughView { slot, first, width, merged, bases, others, conditions, computed });
        }
        if !all.is_empty() {
            merge::views(&mut self.arena, block);
        }
        all
    }

    /// UPDATE and DELETE may go through the view with this query as far as its tables are concerned: all joins are
    /// inner, and none of its subqueries reads a table that it selects from.
    fn reaches_tables(&self, query: &Query) -> bool {
        let (mut tables, mut sound) = (Vec::new(), true);
        blocks_of_view(query, &mut |block| {
            tables.extend(block.rels.iter().filter_map(|rel| match rel.kind {
                RelKind::Base(slot) => Some(self.arena.tables[slot as usize].table.id),
                _ => None,
            }));
        });
        blocks_of_view(query, &mut |block| {
            block.for_each_own_expr(&mut |e| {
                let mut e = e.clone();
                substitute(&mut e, &self.arena.replaced);
                sound &= tables.iter().all(|table| self.read_in(&e, *table).is_none());
            });
            sound &= !block.from.as_ref().is_some_and(has_outer);
        });
        sound
    }

    /// The conditions which WITH CHECK OPTION of a view, or of one above it, makes rows meet.
    fn conditions(&mut self, query: &Query, slot: u32, inherited: bool, out: &mut Conditions) {
        let Some(check) = self.arena.tables[slot as usize].table.view().map(|v| v.check) else { return };
        let Body::Block(block) = &query.body else { return };
        if inherited || check.is_some() {
            let first = out.len();
            out.extend(block.filter.iter().cloned());
            if let Some(from) = &block.from {
                from.for_each_on(&mut |e| out.push(e.clone()));
            }
            out[first..].iter_mut().for_each(|e| self.own_subqueries(e));
        }
        for rel in &block.rels {
            if let (Some(below), RelKind::Derived(inner)) = (rel.view, &rel.kind) {
                self.conditions(inner, below, inherited || check == Some(CheckOption::Cascaded), out);
            }
        }
    }

    /// Gives a copied expression subqueries of its own: those of the original may become joins of their block.
    fn own_subqueries(&mut self, e: &mut Expr) {
        if let ExprKind::Subquery(subquery) = &mut e.kind {
            let mut copy = self.arena.subqueries[subquery.subplan as usize].clone();
            copy.query.for_each_expr_mut(&mut |e| self.own_subqueries(e));
            copy.query.for_each_cte(&mut |cte| self.arena.ctes[cte as usize].uses += 1);
            subquery.subplan = self.arena.subqueries.len() as u32;
            self.arena.subqueries.push(copy);
        }
        e.for_each_child_mut(|c| self.own_subqueries(c));
    }

    /// The base column behind a column of a merged view. Error 1348 when there is none.
    pub(super) fn base_column(&self, mut id: ColId) -> Result<ColId> {
        let name = super::scope::Labels(&self.arena).name(id).to_owned();
        while let Some(e) = self.arena.replaced.get(&id) {
            id = column_shown(e).ok_or_else(|| error(ErrorCode::NonupdateableColumn, &[&name]))?;
        }
        Ok(id)
    }

    /// The target of an INSERT into a view: its relation with the columns that can be named, those in order with the
    /// table's ordinals, and the view's conditions. `names`: of the columns that get values. Errors 1288, 1471, 1394,
    /// 1393, 1395; of LOAD DATA 1221, as it takes no view over a join.
    pub(super) fn inserted_view(
        &mut self,
        table: &Arc<Table>,
        names: Option<&[&ast::ColumnRef]>,
        by: RowsBy,
        builder: &mut FromBuilder,
    ) -> Result<(Rel, Vec<(Box<str>, u32)>, BoundCheck)> {
        let Some(view) = table.view() else { return Err(SqlError::internal("not a view")) };
        let refused = |code| super::not_inserted(table, code, by);
        let slot = self.add_table(table, &table.name, builder.intent);
        let mut query = super::changing(self, |b| b.view_query(table, view, slot))?;
        let mut conditions = Vec::new();
        self.conditions(&query, slot, false, &mut conditions);
        merge::view(&mut self.arena, &mut query, true);
        if !merge::can_merge(&query) {
            return Err(refused(ErrorCode::NonInsertableTable));
        }
        let Body::Block(block) = query.body else { return Err(refused(ErrorCode::NonInsertableTable)) };
        // Columns that show one of a table's.
        let mut shown: Vec<(Box<str>, Option<(usize, u32)>)> = Vec::new();
        for (item, column) in block.items.iter().zip(&query.columns) {
            let mut id = column_shown(&item.expr);
            while let Some(e) = id.and_then(|id| self.arena.replaced.get(&id)) {
                id = column_shown(e);
            }
            let place = id.and_then(|id| {
                let rel = block.rel_of(id)?;
                matches!(block.rels[rel].kind, RelKind::Base(_)).then(|| (rel, id - block.rels[rel].first))
            });
            shown.push((column.name.clone(), place));
        }
        let joined = block.rels.len() > 1;
        let outer = joined && block.from.as_ref().is_some_and(has_outer);
        if outer || block.rels.iter().any(|r| !matches!(r.kind, RelKind::Base(_))) {
            return Err(refused(ErrorCode::NonInsertableTable));
        }
        if joined && by == RowsBy::Load {
            return Err(error(ErrorCode::WrongUsage, &[&"Multi-table VIEW", &"LOAD"]));
        }
        if joined && builder.intent == Intent::Replace {
            return Err(refused(ErrorCode::ViewDeleteMergeView));
        }
        let named: Vec<usize> = match names {
            Some(names) if !names.is_empty() => {
                let is = |n: &&ast::ColumnRef, s: &str| gannet_schema::names::eq_name(s, &n.column.text);
                let unknown = |n: &_| error(ErrorCode::BadField, &[&super::scope::display(n), &"field list"]);
                let find = |n| shown.iter().position(|(s, _)| is(n, s)).ok_or_else(|| unknown(*n));
                names.iter().map(find).collect::<Result<_>>()?
            }
            _ if joined => return Err(refused(ErrorCode::ViewNoInsertFieldList)),
            _ => (0..shown.len()).collect(),
        };
        let mut target = None;
        for i in named {
            match (shown[i].1, target) {
                (None, _) => return Err(error(ErrorCode::NonupdateableColumn, &[&shown[i].0])),
                (Some((rel, _)), Some(other)) if rel != other => return Err(refused(ErrorCode::ViewMultiupdate)),
                (Some((rel, _)), _) => target = Some(rel),
            }
        }
        // Each column of the view, named or not, shows a column that no other shows.
        let alone = |i: usize| shown[i].1.is_some() && shown[..i].iter().all(|before| before.1 != shown[i].1);
        if !(0..shown.len()).all(alone) {
            return Err(refused(ErrorCode::NonInsertableTable));
        }
        let (target, mut block) = (target.unwrap_or(0), *block);
        let rel = block.rels.swap_remove(target);
        let RelKind::Base(base) = rel.kind else { return Err(refused(ErrorCode::NonInsertableTable)) };
        if self.arena.tables[base as usize].table.source != RowSource::Engine {
            return Err(refused(ErrorCode::NonInsertableTable));
        }
        let counter = self.arena.tables[base as usize].table.columns.iter().position(|c| c.auto_increment);
        self.arena.tables[base as usize].intent = builder.intent;
        // There is no row of the other tables.
        for other in &block.rels {
            for id in other.first..other.first + other.width {
                let ty = self.arena.types[id as usize].clone();
                self.arena.replaced.insert(id, Expr { kind: ExprKind::Literal(Value::Null), ty });
            }
        }
        let columns = shown.into_iter().filter_map(|(name, place)| match place {
            Some((r, ordinal)) if r == target => Some((name, ordinal)),
            _ => None,
        });
        let columns: Vec<(Box<str>, u32)> = columns.collect();
        let hides_counter = counter.is_some_and(|c| columns.iter().all(|(_, ordinal)| *ordinal as usize != c));
        Ok((rel, columns, BoundCheck { view: slot, conditions, hides_counter }))
    }

    // ---- names ----

    /// The name of the relation that has a column: with its schema, unless it is an alias.
    fn relation_name(&self, id: ColId) -> Option<(ObjectName, Box<str>)> {
        let scopes = self.scopes.iter().rev();
        let rel = scopes.flat_map(|s| &s.rels).find(|r| id >= r.first && id - r.first < r.names.len() as u32)?;
        let column = rel.names.name(id - rel.first).into();
        let unaliased = match (&self.arena.labels[id as usize], &rel.schema) {
            (_, None) => false,
            (Label::Base { table, .. }, _) | (Label::Derived { view: Some((table, _)), .. }, _) => {
                *self.arena.tables[*table as usize].table.name == *rel.alias
            }
            _ => false,
        };
        let full = self.names.as_ref().is_some_and(|n| n.full);
        let schema = rel.schema.as_ref().filter(|_| unaliased || full).map(|s| Ident::new(s));
        Some((ObjectName { schema, name: Ident::new(&rel.alias) }, column))
    }

    /// Notes that a column of a table or view is named, which needs a right to it, whatever becomes of the expression
    /// that names it. What the query of a view names is asked where it is read. Columns of the row that an INSERT has
    /// made are no stored ones.
    fn note_read(&mut self, id: ColId) {
        let made = |row: &super::NewRow| row.columns.iter().any(|(_, ordinal)| row.first + ordinal == id);
        if self.new_row.as_ref().is_some_and(made) {
            return;
        }
        match &self.arena.labels[id as usize] {
            Label::Derived { view: Some(read), .. } => self.arena.named.push(*read),
            Label::Base { table, ordinal } if self.views.is_empty() => self.arena.named.push((*table, *ordinal)),
            _ => {}
        }
    }

    pub(super) fn note_column(&mut self, column: &ast::ColumnRef, id: ColId) {
        self.note_read(id);
        if self.names.is_some()
            && let Some((relation, _)) = self.relation_name(id)
            && let Some(names) = &mut self.names
        {
            names.columns.insert(column.column.span.start, relation);
        }
    }

    pub(super) fn note_wildcard(&mut self, at: u32, columns: &[(Box<str>, ColId)]) {
        columns.iter().for_each(|(_, id)| self.note_read(*id));
        if self.names.is_none() {
            return;
        }
        let named = columns.iter().filter_map(|(_, id)| self.relation_name(*id)).collect();
        if let Some(names) = &mut self.names {
            names.wildcards.insert(at, named);
        }
    }

    pub(super) fn note_pair(&mut self, place: u32, a: ColId, b: ColId) {
        if self.names.is_none() {
            return;
        }
        let column = |(relation, column): (ObjectName, Box<str>)| ast::ColumnRef {
            qualifier: Some(Box::new(relation)),
            column: Ident::new(&column),
        };
        let pair = (self.relation_name(a).map(column), self.relation_name(b).map(column));
        if let (Some(names), (Some(a), Some(b))) = (&mut self.names, pair) {
            names.pairs.entry(place).or_default().push((a, b));
        }
    }

    pub(super) fn note_table(&mut self, name: &ObjectName, table: &Table) {
        if let Some(names) = &mut self.names {
            names.tables.insert(name.name.span.start, (&*table.schema).into());
        }
    }
}

/// Joins in parentheses and commas as joins, as MySQL prints them.
fn grouped(list: Vec<TableRef>) -> Option<TableRef> {
    let mut joined: Option<TableRef> = None;
    for table in list {
        let table = match table {
            TableRef::Join(join) => TableRef::Nested(vec![TableRef::Join(join)]),
            TableRef::Nested(inner) => grouped(inner)?,
            other => other,
        };
        joined = Some(match joined {
            None => table,
            Some(left) => {
                let (kind, condition) = (ast::JoinKind::Inner, ast::JoinCondition::None);
                let join = ast::Join { left, right: table, kind, condition };
                TableRef::Nested(vec![TableRef::Join(Box::new(join))])
            }
        });
    }
    joined
}

fn parse(text: &str) -> Result<ast::Query> {
    match gannet_parser::parse(text.as_bytes(), LexMode::default()).map(|p| p.statement) {
        Ok(Statement::Query(query)) => Ok(*query),
        _ => Err(SqlError::internal("a view's text is not a query")),
    }
}

/// A view's definition, as the dictionary keeps it.
pub struct Definition {
    /// The query, every name with its schema or alias, every column with a name.
    pub query: Box<str>,
    /// UPDATE and DELETE can go through it.
    pub updatable: bool,
    /// It can be merged into a statement.
    pub mergeable: bool,
}

/// Brings the query of CREATE VIEW into the form that the dictionary keeps. Errors 1350, 1351 and those of the query.
pub fn definition(
    query: &ast::Query,
    columns: &[Ident],
    snapshot: &CatalogSnapshot,
    options: &PlanOptions<'_>,
) -> Result<Definition> {
    if query.into.is_some() {
        return Err(error(ErrorCode::ViewSelectClause, &[&"INTO"]));
    }
    let mut query = query.clone();
    let mut binder = Binder::new(snapshot, options);
    (binder.names, binder.changes_views) = (Some(Names::default()), true);
    let mut bound = binder.top_query(&query)?;
    super::from::rename(&mut bound, columns)?;
    super::from::unique_names(&bound)?;
    let names = binder.names.take().unwrap_or_default();
    if let Some(t) = binder.arena.tables.iter().find(|t| t.table.temporary) {
        return Err(error(ErrorCode::ViewSelectTmptable, &[&t.alias]));
    }
    merge::view(&mut binder.arena, &mut bound, false);
    let mergeable = merge::can_merge(&bound);
    let updatable = merge::selects_rows(&bound)
        && binder.reaches_tables(&bound)
        && match &bound.body {
            Body::Block(block) => {
                let table = |slot: u32| &binder.arena.tables[slot as usize].table;
                let changeable = |r: &Rel| match (&r.kind, r.view) {
                    (RelKind::Base(slot), _) => table(*slot).source.is_engine(),
                    (RelKind::Derived(_), Some(slot)) => table(slot).view().is_some_and(|view| view.updatable),
                    _ => false,
                };
                block.rels.iter().any(changeable) && block.items.iter().any(|i| column_shown(&i.expr).is_some())
            }
            _ => false,
        };
    Walk::new(Work::Qualify(names)).query(&mut query)?;
    let text = String::from_utf8(printer::statement(&Statement::Query(Box::new(query))));
    let text = text.map_err(|_| SqlError::unsupported("strings outside of UTF-8 in views"))?;
    Ok(Definition { query: text.into(), updatable, mergeable })
}

/// What a walk over a query's tree does.
enum Work<'w> {
    /// Puts qualifiers, and aliases of columns, into it.
    Qualify(Names),
    /// Shows each qualifier of a column and each name of a table.
    Relations(&'w mut dyn FnMut(&mut ObjectName, bool)),
}

struct Walk<'w> {
    work: Work<'w>,
    /// Subqueries of expressions around: their columns stay unnamed.
    inside: u32,
    /// For EXPLAIN: SELECTs so far, each is marked by its number. Variables are allowed.
    explained: Option<u32>,
    /// For EXPLAIN: the marks of subqueries that are shown as their expressions.
    reduced: Vec<Box<str>>,
}

impl<'w> Walk<'w> {
    fn new(work: Work<'w>) -> Walk<'w> {
        Walk { work, inside: 0, explained: None, reduced: Vec::new() }
    }

    fn query(&mut self, query: &mut ast::Query) -> Result<()> {
        if let Some(with) = &mut query.with {
            for cte in &mut with.ctes {
                let inside = std::mem::take(&mut self.inside);
                let done = self.query(&mut cte.query);
                self.inside = inside;
                done?;
            }
        }
        self.body(&mut query.body)?;
        for item in &mut query.order_by {
            self.expr(&mut item.expr)?;
        }
        if let Some(limit) = &mut query.limit {
            self.expr(&mut limit.count)?;
            limit.offset.iter_mut().try_for_each(|e| self.expr(e))?;
        }
        Ok(())
    }

    fn body(&mut self, body: &mut QueryBody) -> Result<()> {
        match body {
            QueryBody::Select(select) => self.select(select),
            QueryBody::Values(rows) => rows.iter_mut().flatten().try_for_each(|e| self.expr(e)),
            QueryBody::Table(name) => {
                let wildcard = SelectItem::Wildcard(ast::Span::default());
                let factor = ast::TableFactor {
                    name: (**name).clone(),
                    partitions: Vec::new(),
                    alias: None,
                    index_hints: Vec::new(),
                };
                let mut select = ast::Select::empty();
                select.items.push(wildcard);
                select.from.push(TableRef::Table(Box::new(factor)));
                self.select(&mut select)?;
                *body = QueryBody::Select(select);
                Ok(())
            }
            QueryBody::Query(inner) => self.query(inner),
            QueryBody::Set(set) => {
                self.body(&mut set.first)?;
                set.rest.iter_mut().try_for_each(|arm| self.body(&mut arm.body))
            }
        }
    }

    fn select(&mut self, select: &mut ast::Select) -> Result<()> {
        if let Some(n) = &mut self.explained {
            *n += 1;
            select.hints = Some(format!("{NUMBER}{n}").into());
        }
        for table in &mut select.from {
            self.table_ref(table)?;
        }
        if matches!(self.work, Work::Qualify(_)) {
            select.from = grouped(std::mem::take(&mut select.from)).into_iter().collect();
        }
        let mut items = Vec::with_capacity(select.items.len());
        for mut item in std::mem::take(&mut select.items) {
            let at = match &item {
                _ if !matches!(self.work, Work::Qualify(_)) => None,
                SelectItem::Wildcard(span) => Some(span.start),
                SelectItem::TableWildcard(name) => Some(name.name.span.start),
                SelectItem::Expr { .. } => None,
            };
            if let Some(at) = at {
                let Work::Qualify(names) = &self.work else { continue };
                for (relation, column) in names.wildcards.get(&at).cloned().unwrap_or_default() {
                    let name = Ident::new(&column);
                    let expr =
                        ast::Expr::Column(ast::ColumnRef { qualifier: Some(Box::new(relation)), column: name.clone() });
                    items.push(SelectItem::Expr { expr, alias: Some(name), text: ast::SourceText::default() });
                }
                continue;
            }
            if let SelectItem::Expr { expr, alias, text } = &mut item {
                let name = super::select::item_name(expr, alias.as_ref(), text);
                self.expr(expr)?;
                if self.inside == 0 && matches!(self.work, Work::Qualify(_)) {
                    *alias = Some(Ident::new(&name));
                }
            }
            items.push(item);
        }
        select.items = items;
        let exprs = select.filter.iter_mut().chain(select.group_by.iter_mut().map(|g| &mut g.expr));
        exprs.chain(&mut select.having).try_for_each(|e| self.expr(e))?;
        select.windows.iter_mut().try_for_each(|(_, spec)| self.window(spec))
    }

    fn window(&mut self, spec: &mut ast::WindowSpec) -> Result<()> {
        let exprs = spec.partition_by.iter_mut().chain(spec.order_by.iter_mut().map(|o| &mut o.expr));
        exprs.into_iter().try_for_each(|e| self.expr(e))
    }

    fn table_ref(&mut self, table: &mut TableRef) -> Result<()> {
        match table {
            TableRef::Table(factor) => {
                match &mut self.work {
                    Work::Qualify(names) => {
                        if let Some(schema) = names.tables.get(&factor.name.name.span.start) {
                            factor.name.schema = Some(Ident::new(schema));
                        }
                    }
                    Work::Relations(show) => show(&mut factor.name, true),
                }
                Ok(())
            }
            TableRef::Derived(derived) => {
                let inside = std::mem::take(&mut self.inside);
                let done = self.query(&mut derived.query);
                self.inside = inside;
                done
            }
            TableRef::JsonTable(table) => self.expr(&mut table.expr),
            TableRef::Join(join) => {
                self.write_out(join);
                self.table_ref(&mut join.left)?;
                self.table_ref(&mut join.right)?;
                if matches!(self.work, Work::Qualify(_)) {
                    for side in [&mut join.left, &mut join.right] {
                        let nothing = TableRef::Nested(Vec::new());
                        if let Some(side_grouped) = grouped(vec![std::mem::replace(side, nothing)]) {
                            *side = side_grouped;
                        }
                    }
                }
                match &mut join.condition {
                    ast::JoinCondition::On(e) => self.expr(e),
                    _ => Ok(()),
                }
            }
            TableRef::Nested(list) => list.iter_mut().try_for_each(|t| self.table_ref(t)),
        }
    }

    /// USING and NATURAL become comparisons: columns that the tables get later do not take part.
    fn write_out(&self, join: &mut ast::Join) {
        let Work::Qualify(names) = &self.work else { return };
        if !matches!(join.condition, ast::JoinCondition::Using(_) | ast::JoinCondition::Natural) {
            return;
        }
        let pairs = names.pairs.get(&place(&join.right)).map_or(&[][..], |p| p);
        let equal = |(a, b): &(ast::ColumnRef, ast::ColumnRef)| ast::Expr::Binary {
            op: ast::BinaryOp::Eq,
            left: Box::new(ast::Expr::Column(a.clone())),
            right: Box::new(ast::Expr::Column(b.clone())),
        };
        let mut all: Vec<ast::Expr> = pairs.iter().map(equal).collect();
        join.condition = match all.len() {
            // An outer join needs a condition.
            0 => match join.kind {
                ast::JoinKind::Left | ast::JoinKind::Right => {
                    let always = ast::Literal::new(ast::LiteralValue::Bool(true));
                    ast::JoinCondition::On(ast::Expr::Literal(always))
                }
                ast::JoinKind::Inner | ast::JoinKind::Straight => ast::JoinCondition::None,
            },
            1 => ast::JoinCondition::On(all.remove(0)),
            _ => ast::JoinCondition::On(ast::Expr::And(all)),
        };
    }

    fn column(&mut self, column: &mut ast::ColumnRef) {
        match &mut self.work {
            Work::Qualify(names) => {
                if let Some(relation) = names.columns.get(&column.column.span.start) {
                    column.qualifier = Some(Box::new(relation.clone()));
                }
            }
            Work::Relations(show) => {
                if let Some(qualifier) = &mut column.qualifier {
                    show(qualifier, false);
                }
            }
        }
    }

    fn expr(&mut self, e: &mut ast::Expr) -> Result<()> {
        match e {
            ast::Expr::UserVar(_) | ast::Expr::SysVar(_) | ast::Expr::Param(_) | ast::Expr::Assign { .. }
                if self.explained.is_none() =>
            {
                return Err(error(ErrorCode::ViewSelectVariable, &[]));
            }
            ast::Expr::Call(call) if call.schema.is_none() => {
                if let Work::Qualify(names) = &self.work
                    && let Some(schema) = names.routines.get(&call.span.start)
                {
                    call.schema = Some(ast::Ident { text: schema.clone(), span: call.span });
                }
            }
            ast::Expr::Column(column) => self.column(column),
            ast::Expr::JsonPath { column, .. } => self.column(column),
            ast::Expr::DefaultOf(column) => self.column(column),
            ast::Expr::Match(search) => search.columns.iter_mut().for_each(|column| self.column(column)),
            ast::Expr::Aggregate(aggregate) => {
                // COUNT(*), in MySQL's words.
                if aggregate.args.is_empty() && matches!(self.work, Work::Qualify(_)) {
                    aggregate.args.push(ast::Expr::Literal(ast::Literal::new(ast::LiteralValue::Int(0))));
                }
                aggregate.order_by.iter_mut().try_for_each(|o| self.expr(&mut o.expr))?;
                if let Some(ast::WindowRef::Spec(spec)) = &mut aggregate.over {
                    self.window(spec)?;
                }
            }
            ast::Expr::Window(window) => {
                if let ast::WindowRef::Spec(spec) = &mut window.over {
                    self.window(spec)?;
                }
            }
            ast::Expr::Subquery(query) => {
                self.subquery(query)?;
                if let Some(only) = self.reduced(query) {
                    *e = only;
                    return Ok(());
                }
            }
            ast::Expr::Exists(query) => self.subquery(query)?,
            ast::Expr::InSubquery { query, .. } | ast::Expr::Quantified { query, .. } => self.subquery(query)?,
            _ => {}
        }
        let mut outcome = Ok(());
        e.for_each_child_mut(&mut |c| {
            if outcome.is_ok() {
                outcome = self.expr(c);
            }
        });
        outcome
    }

    /// For EXPLAIN: the expression that stands for a subquery.
    fn reduced(&mut self, query: &mut ast::Query) -> Option<ast::Expr> {
        let Work::Qualify(names) = &self.work else { return None };
        if self.explained.is_none() || !names.reduced.contains(&query.span.start) {
            return None;
        }
        let select = only_select(&mut query.body)?;
        let Some(SelectItem::Expr { expr, .. }) = select.items.pop() else { return None };
        self.reduced.extend(select.hints.take());
        Some(expr)
    }

    fn subquery(&mut self, query: &mut ast::Query) -> Result<()> {
        self.inside += 1;
        let done = self.query(query);
        self.inside -= 1;
        done
    }
}

/// The SELECT that a query is, with nothing around it but parentheses.
fn only_select(body: &mut QueryBody) -> Option<&mut ast::Select> {
    match body {
        QueryBody::Select(select) => Some(select),
        QueryBody::Query(inner) => only_select(&mut inner.body),
        _ => None,
    }
}

/// Marks the number of a SELECT, in the place of its hints, until it is printed.
const NUMBER: char = '\u{1}';

/// EXPLAIN's notes of a query: 1249 for each subquery that is its one expression, 1003 with the query, every name in
/// full, every SELECT numbered. Errors of the query.
pub fn explained(query: &ast::Query, snapshot: &CatalogSnapshot, options: &PlanOptions<'_>) -> Result<Vec<Warning>> {
    let mut query = query.clone();
    let mut binder = Binder::new(snapshot, options);
    binder.names = Some(Names { full: true, ..Names::default() });
    binder.top_query(&query)?;
    let names = binder.names.take().unwrap_or_default();
    let mut walk = Walk { explained: Some(0), ..Walk::new(Work::Qualify(names)) };
    walk.query(&mut query)?;
    let note = |code, text: &str| Warning::new(Level::Note, code, &[&text]);
    let numbers = walk.reduced.iter().map(|mark| mark.trim_start_matches(NUMBER));
    let mut notes: Vec<Warning> = numbers.map(|n| note(ErrorCode::SelectReduced, n)).collect();
    query.into = None;
    let printed = String::from_utf8_lossy(&printer::statement(&Statement::Query(Box::new(query)))).into_owned();
    let mut text = String::with_capacity(printed.len());
    let mark = format!("/*+{NUMBER}");
    let mut rest = printed.as_str();
    // Hints stand behind the verb, numbers before it.
    while let Some(at) = rest.find(&mark) {
        let (before, behind) = (&rest[..at], &rest[at + mark.len()..]);
        let Some(end) = behind.find("*/ ") else { break };
        let verb = before.rfind("select").unwrap_or(at);
        text.push_str(&before[..verb]);
        text.push_str(&format!("/* select#{} */ {}", &behind[..end], &before[verb..]));
        rest = &behind[end + 3..];
    }
    text.push_str(rest);
    notes.push(note(ErrorCode::Yes, &text));
    Ok(notes)
}

/// The tables that a stored view's query names: schema and name, in order, each once.
pub fn view_tables(text: &str) -> Result<Vec<(Box<str>, Box<str>)>> {
    let mut query = parse(text)?;
    let mut all: Vec<(Box<str>, Box<str>)> = Vec::new();
    let mut note = |name: &mut ObjectName, table| {
        if table && let Some(schema) = &name.schema {
            let found = (schema.text.clone(), name.name.text.clone());
            if !all.contains(&found) {
                all.push(found);
            }
        }
    };
    Walk::new(Work::Relations(&mut note)).query(&mut query)?;
    Ok(all)
}

/// A stored view's text as SHOW CREATE VIEW prints it when `schema` is the default one: without that name.
pub fn view_text_in(text: &str, schema: &str) -> Result<String> {
    let mut query = parse(text)?;
    let mut shorten = |name: &mut ObjectName, _| {
        if name.schema.as_ref().is_some_and(|s| *s.text == *schema) {
            name.schema = None;
        }
    };
    Walk::new(Work::Relations(&mut shorten)).query(&mut query)?;
    let printed = printer::statement(&Statement::Query(Box::new(query)));
    String::from_utf8(printed).map_err(|_| SqlError::unsupported("strings outside of UTF-8 in views"))
}
