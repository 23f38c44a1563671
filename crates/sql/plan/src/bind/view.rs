//! Views: their queries are bound where they are named, in a scope that sees nothing of the statement around them; what
//! writes through them reaches the tables below; and how a definition is brought into the form which the dictionary
//! keeps.

use super::from::FromBuilder;
use super::target::{BoundCheck, Conditions, ThroughView};
use super::view_text::{Names, Walk, parse};
use super::{Binder, RowsBy, error};
use crate::expr::{Expr, ExprKind};
use crate::logical::{Block, Body, ColId, Label, Query, Rel, RelKind};
use crate::options::PlanOptions;
use crate::physical::RowLock;
use crate::plan::Intent;
use crate::rewrite::{merge, substitute};
use gannet_parser::ast::{self, Ident, ObjectName, Statement};
use gannet_parser::printer;
use gannet_schema::{CatalogSnapshot, CheckOption, RowSource, Table, View, ViewAlgorithm};
use gannet_types::{ErrorCode, Result, SqlError, SqlType, Value};
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

/// UPDATE and DELETE may go through the view with this query as far as its tables are concerned: all joins are
/// inner, and none of its subqueries reads a table that it selects from.
fn reaches_tables(binder: &Binder<'_>, query: &Query) -> bool {
    let (mut tables, mut sound) = (Vec::new(), true);
    blocks_of_view(query, &mut |block| {
        tables.extend(block.rels.iter().filter_map(|rel| match rel.kind {
            RelKind::Base(slot) => Some(binder.arena.tables[slot as usize].table.id),
            _ => None,
        }));
    });
    blocks_of_view(query, &mut |block| {
        block.for_each_own_expr(&mut |e| {
            let mut e = e.clone();
            substitute(&mut e, &binder.arena.replaced);
            sound &= tables.iter().all(|table| binder.read_in(&e, *table).is_none());
        });
        sound &= !block.from.as_ref().is_some_and(has_outer);
    });
    sound
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
            let merged = merge::can_change(&self.arena, inner) && reaches_tables(self, inner);
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
        let mut visible = Vec::new();
        if builder.intent == Intent::Replace {
            self.conditions(&query, slot, true, &mut visible);
        }
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
        Ok((rel, columns, BoundCheck { view: slot, conditions, shown: visible, hides_counter }))
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

    /// A name is resolved in the scope of that level.
    pub(super) fn note_outer(&mut self, column: &ast::ColumnRef, level: usize) {
        let up = self.scopes.len() - 1 - level;
        if up > 0
            && let Some(names) = &mut self.names
        {
            names.outer.insert(column.column.span.start, up);
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
        && reaches_tables(&binder, &bound)
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
    Walk::qualify(names, options).query(&mut query)?;
    let text = String::from_utf8(printer::statement(&Statement::Query(Box::new(query))));
    let text = text.map_err(|_| SqlError::unsupported("strings outside of UTF-8 in views"))?;
    Ok(Definition { query: text.into(), updatable, mergeable })
}
