//! What MySQL refuses of the tables that a statement changes: they may not be read by a subquery that would see the
//! changes (1093, 1443), nor change their key under two names (1706).

use super::{Binder, BoundTarget, error};
use crate::expr::{Expr, ExprKind};
use crate::logical::{Arena, Block, Body, ColId, Query, Rel, RelKind};
use crate::options::Passes;
use crate::plan::Intent;
use crate::rewrite::merge;
use gannet_parser::ast;
use gannet_schema::TableId;
use gannet_schema::names::eq_name;
use gannet_types::{ErrorCode, Level, Result, Warning};

/// A view's conditions that a row written through it must meet: over columns of any of the relations below.
pub(super) type Conditions = Vec<Expr>;

/// WITH CHECK OPTION of a view through which a table is written.
pub(crate) struct BoundCheck {
    /// Plan table of the view.
    pub(crate) view: u32,
    pub(crate) conditions: Conditions,
    /// REPLACE: what a row that goes must meet, as it could not be deleted through the view otherwise.
    pub(crate) shown: Conditions,
    /// It does not show the AUTO_INCREMENT column of the table that rows go into.
    pub(crate) hides_counter: bool,
}

/// A relation of a statement that changes rows through a view.
pub(crate) struct ThroughView {
    /// Plan table of the view.
    pub(crate) slot: u32,
    /// Its columns.
    pub(super) first: ColId,
    pub(super) width: u32,
    /// It was merged into the statement.
    pub(super) merged: bool,
    /// First columns of the base tables below.
    pub(super) bases: Vec<ColId>,
    /// Of what else is below: derived tables, views that were not merged.
    pub(super) others: Vec<ColId>,
    pub(super) conditions: Conditions,
    /// Its columns that are subqueries, or hold some.
    pub(super) computed: Vec<Expr>,
}

impl ThroughView {
    /// Its first column.
    pub(super) fn first(&self) -> ColId {
        self.first
    }

    /// The relation with this first column is the view, or a table below it.
    pub(super) fn shows(&self, first: ColId) -> bool {
        self.first == first || self.bases.contains(&first) || self.others.contains(&first)
    }
}

/// How a statement names a table, and the view that the name means, if it does.
#[derive(Clone)]
pub(super) struct Named {
    pub(super) alias: Box<str>,
    /// Plan table.
    pub(super) view: Option<u32>,
}

/// A table that is looked for in subqueries.
#[derive(Clone, Copy)]
struct Sought<'a> {
    table: TableId,
    /// Under this name only.
    alias: Option<&'a str>,
}

impl Binder<'_> {
    /// The base table that DELETE from a view means, by its first column. Errors 1288, 1395.
    pub(super) fn deleted_through(&mut self, view: &ThroughView) -> Result<ColId> {
        let table = self.arena.tables[view.slot as usize].table.clone();
        match &view.bases[..] {
            _ if !view.merged || view.bases.is_empty() => {
                Err(error(ErrorCode::NonUpdatableTable, &[&table.name, &"DELETE"]))
            }
            [only] if view.others.is_empty() => {
                self.arena.tables[view.slot as usize].intent = Intent::Delete;
                Ok(*only)
            }
            _ => Err(error(ErrorCode::ViewDeleteMergeView, &[&table.schema, &table.name])),
        }
    }

    /// The view that has the column.
    pub(super) fn view_of(views: &[ThroughView], id: ColId) -> Option<&ThroughView> {
        views.iter().find(|v| id >= v.first && id < v.first + v.width)
    }

    /// Marks views as updated, and gives the targets their conditions. Errors 1288, and 1393 for a second table of one
    /// view.
    pub(super) fn updated_through(&mut self, views: Vec<ThroughView>, targets: &mut [BoundTarget]) -> Result<()> {
        for view in views {
            let of_view = |t: &&mut BoundTarget| view.bases.contains(&t.first);
            let mut below = targets.iter_mut().filter(of_view);
            let Some(target) = below.next() else { continue };
            let table = self.arena.tables[view.slot as usize].table.clone();
            if !view.merged {
                return Err(error(ErrorCode::NonUpdatableTable, &[&table.name, &"UPDATE"]));
            }
            if below.next().is_some() {
                return Err(error(ErrorCode::ViewMultiupdate, &[&table.schema, &table.name]));
            }
            self.arena.tables[view.slot as usize].intent = Intent::Update;
            target.checks.push(BoundCheck {
                view: view.slot,
                conditions: view.conditions,
                shown: Vec::new(),
                hides_counter: false,
            });
        }
        Ok(())
    }

    /// How the statement names the relation that has `first` as its first column.
    pub(super) fn named(&self, first: ColId, views: &[ThroughView], block: &Block) -> Named {
        let view = views.iter().find(|v| v.shows(first));
        let outer = view.map_or(first, |v| v.first());
        let scopes = self.scopes.iter().rev().flat_map(|s| &s.rels);
        let alias = scopes.into_iter().find(|r| r.first == outer).map(|r| r.alias.clone());
        let alias = alias.or_else(|| block.rels.iter().find(|r| r.first == first).map(|r| r.alias.clone()));
        Named { alias: alias.unwrap_or_default(), view: view.map(|v| v.slot) }
    }

    /// A subquery of the block, or of `values`, reads a table that the statement changes. Errors 1093, 1443; they name
    /// `shown`, which for UPDATE is the first table of the statement.
    pub(super) fn refuse_read_targets(
        &mut self,
        block: Option<&Block>,
        values: &[&Expr],
        targets: &[(TableId, Named)],
        verb: &str,
    ) -> Result<()> {
        for (table, shown) in targets {
            // What INSERT reads under another name are the rows that were there before; below a view the table has the
            // name of there.
            let below = self.arena.tables.iter().find(|t| t.table.id == *table).map(|t| &*t.alias);
            let alias = if shown.view.is_some() { below } else { Some(&*shown.alias) };
            let sought = Sought { table: *table, alias: alias.filter(|_| verb == "INSERT") };
            let mut found = None;
            let mut look = |e: &Expr| {
                if found.is_none() {
                    found = self.sought_in(e, sought);
                }
            };
            if let Some(block) = block {
                block.for_each_own_expr(&mut look);
            }
            values.iter().for_each(|e| look(e));
            if let Some(reader) = found {
                return Err(self.read_target(shown, &reader, verb));
            }
        }
        keep_derived(&mut self.arena);
        Ok(())
    }

    fn read_target(&self, shown: &Named, reader: &Named, verb: &str) -> gannet_types::SqlError {
        let table = |view: u32| self.arena.tables[view as usize].table.id;
        let prevents = |by: &Named| error(ErrorCode::ViewPreventUpdate, &[&by.alias, &verb, &shown.alias]);
        match (shown.view.map(table), reader.view.map(table)) {
            (None, None) => error(ErrorCode::UpdateTableUsed, &[&shown.alias]),
            (Some(a), Some(b)) if a == b => error(ErrorCode::UpdateTableUsed, &[&shown.alias]),
            (_, Some(_)) => prevents(reader),
            (Some(_), None) => prevents(shown),
        }
    }

    /// How the subqueries of an expression name a table, if they read it.
    pub(super) fn read_in(&self, e: &Expr, table: TableId) -> Option<Named> {
        self.sought_in(e, Sought { table, alias: None })
    }

    fn sought_in(&self, e: &Expr, table: Sought<'_>) -> Option<Named> {
        let mut found = match &e.kind {
            ExprKind::Subquery(s) => self.read_by(&self.arena.subqueries[s.subplan as usize].query, table),
            _ => None,
        };
        e.for_each_child(|c| {
            if found.is_none() {
                found = self.sought_in(c, table);
            }
        });
        found
    }

    fn read_by(&self, query: &Query, table: Sought<'_>) -> Option<Named> {
        let mut found = None;
        let mut look = |e: &Expr| {
            if found.is_none() {
                found = self.sought_in(e, table);
            }
        };
        match &query.body {
            Body::Block(block) => {
                block.for_each_own_expr(&mut look);
                found.or_else(|| block.rels.iter().find_map(|rel| self.read_of(rel, table)))
            }
            Body::Set { inputs, .. } => inputs.iter().find_map(|q| self.read_by(q, table)),
            Body::Values(rows) => {
                rows.iter().flatten().for_each(look);
                found
            }
            Body::Json(document, _) => {
                look(document);
                found
            }
        }
    }

    /// A derived table that has rows of its own has read the table before it is changed.
    fn read_of(&self, rel: &Rel, table: Sought<'_>) -> Option<Named> {
        let merges = |query: &Query| {
            let wanted = match rel.hints.merge {
                Some(asked) => asked,
                None => rel.view.is_some() && self.options.passes.has(Passes::DERIVED_MERGE),
            };
            wanted && merge::can_merge(query)
        };
        match &rel.kind {
            RelKind::Base(slot) => {
                let found = self.arena.tables[*slot as usize].table.id == table.table;
                let other = table.alias.is_some_and(|alias| !eq_name(alias, &rel.alias));
                (found && !other).then(|| Named { alias: rel.alias.clone(), view: None })
            }
            RelKind::Derived(query) if merges(query) => {
                let below = self.read_by(query, table)?;
                let outermost = Named { alias: rel.alias.clone(), view: rel.view };
                Some(if rel.view.is_some() { outermost } else { below })
            }
            RelKind::Cte(number) => {
                let cte = &self.arena.ctes[*number as usize];
                let base = cte.base.as_ref().filter(|base| cte.recursive.is_none() && merges(base))?;
                self.read_by(base, table)
            }
            RelKind::Derived(_) => None,
        }
    }

    /// One table is updated under two names, and one of them changes the key by which the other finds its rows. Error 1706.
    pub(super) fn refuse_two_keys(&self, targets: &[BoundTarget], views: &[ThroughView], block: &Block) -> Result<()> {
        let table = |t: &BoundTarget| match block.rels.iter().find(|r| r.first == t.first).map(|r| &r.kind) {
            Some(RelKind::Base(slot)) => Some(&self.arena.tables[*slot as usize].table),
            _ => None,
        };
        let changes_key = |t: &BoundTarget| {
            let Some(table) = table(t) else { return false };
            let parts = table.clustered.map_or(&[][..], |c| &table.indexes[c].parts);
            parts.iter().any(|p| t.assignments.iter().any(|(c, _)| *c == p.column))
        };
        // In the order of the text, which is that of the columns.
        let mut sorted: Vec<&BoundTarget> = targets.iter().collect();
        sorted.sort_by_key(|t| t.first);
        for (i, a) in sorted.iter().enumerate() {
            for b in &sorted[i + 1..] {
                let same = table(a).zip(table(b)).is_some_and(|(x, y)| x.id == y.id);
                if same && (changes_key(a) || changes_key(b)) {
                    let (a, b) = (self.named(a.first, views, block), self.named(b.first, views, block));
                    return Err(error(ErrorCode::MultiUpdateKeyConflict, &[&a.alias, &b.alias]));
                }
            }
        }
        Ok(())
    }

    /// The target of an INSERT or LOAD DATA, as [`Binder::refuse_read_targets`] wants it.
    pub(super) fn inserted(&self, slot: u32, name: &ast::ObjectName, view: Option<u32>) -> (TableId, Named) {
        let table = self.arena.tables[slot as usize].table.id;
        (table, Named { alias: name.name.text.clone(), view })
    }
}

/// Derived tables in the subqueries of a change have rows of their own, read before anything changes, unless a
/// hint asks otherwise.
fn keep_derived(arena: &mut Arena) {
    for subquery in &mut arena.subqueries {
        subquery.query.for_each_rel_mut(&mut |rel| {
            if rel.view.is_none() && !matches!(rel.kind, RelKind::Base(_)) && rel.hints.merge.is_none() {
                rel.hints.merge = Some(false);
            }
        });
    }
}

/// A change with LIMIT goes through a view that shows no unique key of the table below, and not all of its
/// columns: nobody can say which rows are meant. Note 1355 or error 1288, as updatable_views_with_limit says.
pub(super) fn limited_through(
    b: &mut Binder<'_>,
    views: &[ThroughView],
    block: &Block,
    base: ColId,
    verb: &str,
) -> Result<()> {
    let Some(view) = views.iter().find(|v| v.shows(base)) else { return Ok(()) };
    let rel = block.rel_of(base).map(|i| &block.rels[i].kind);
    let Some(RelKind::Base(slot)) = rel else { return Ok(()) };
    let table = b.arena.tables[*slot as usize].table.clone();
    let below = (view.first()..view.first() + view.width).filter_map(|id| b.base_column(id).ok());
    let shown: Vec<u32> = below.filter_map(|id| id.checked_sub(base)).collect();
    let in_view = |column: u32| table.columns[column as usize].hidden || shown.contains(&column);
    let known = |key: &gannet_schema::Index| {
        let one = |column: u32| shown.contains(&column) && !table.columns[column as usize].nullable;
        key.unique() && key.parts.iter().all(|part| one(part.column))
    };
    if table.indexes.iter().any(known) || (0..table.columns.len() as u32).all(in_view) {
        return Ok(());
    }
    if b.options.limited_views {
        b.arena.warnings.push(Warning::new(Level::Note, ErrorCode::WarnViewWithoutKey, &[]));
        return Ok(());
    }
    let named = &b.arena.tables[view.slot as usize].alias;
    Err(error(ErrorCode::NonUpdatableTable, &[named, &verb]))
}
