//! `MATCH ... AGAINST`.

use super::{Binder, error};
use crate::expr::{Expr, ExprKind, Match};
use crate::logical::{Arena, Body, ColId, Label, Query};
use crate::typing::Bound;
use gannet_parser::ast;
use gannet_schema::Table;
use gannet_text::Mode;
use gannet_types::{ErrorCode, Result, SqlType, TypeId};

/// Finds the index over exactly these columns, in whatever order. Error 1191 without one, but in boolean mode where the
/// table was to be MyISAM's; 1210 where something else than columns of one table is searched, or by something that is
/// not constant.
pub(super) fn bind(binder: &mut Binder<'_>, search: &ast::Match) -> Result<Bound> {
    let wrong = |what: &str| error(ErrorCode::WrongArguments, &[&what]);
    let mut of_table = None;
    let mut ordinals: Vec<u32> = Vec::with_capacity(search.columns.len());
    for column in &search.columns {
        let bound = binder.resolve(column)?;
        let ExprKind::Column(id) = bound.expr.kind else { return Err(wrong("MATCH")) };
        let (id, table, ordinal) = base_column(binder, id)?;
        let first = id - ordinal;
        if of_table.is_some_and(|known| known != (table, first)) {
            return Err(wrong("MATCH"));
        }
        of_table = Some((table, first));
        if !ordinals.contains(&ordinal) {
            ordinals.push(ordinal);
        }
    }
    let (slot, first) = of_table.ok_or_else(|| wrong("MATCH"))?;
    let against = binder.lifted(&search.against)?.expr;
    let varies = against.any(&mut |e| match &e.kind {
        ExprKind::Column(_) | ExprKind::Register(_) | ExprKind::SetUserVar(..) => true,
        ExprKind::Subquery(s) => !binder.arena.subqueries[s.subplan as usize].free.is_empty(),
        ExprKind::Default { .. } | ExprKind::Match(_) => true,
        ExprKind::Call(def, _) => def.stability.varies(),
        ExprKind::Routine(routine, _) => !routine.routine.deterministic,
        _ => false,
    });
    if varies {
        return Err(wrong("AGAINST"));
    }
    let table = binder.arena.tables[slot as usize].table.clone();
    let mode = match (search.boolean, search.expansion) {
        (true, _) => Mode::Boolean,
        (false, true) => Mode::Expansion,
        (false, false) => Mode::Natural,
    };
    let index = serving(&table, &ordinals).map(|index| index as u32);
    let mut args = vec![against];
    if index.is_some() {
        if table.has_hidden_key() {
            args.push(binder.arena.expr(first + table.columns.len() as u32));
        }
        args.extend(table.clustered_columns().iter().map(|column| binder.arena.expr(first + column)));
    } else if mode == Mode::Boolean && table.options.asked_for_myisam() {
        let types = || ordinals.iter().map(|column| &table.columns[*column as usize].ty);
        let charset = types().next().map(|ty| ty.collation.charset());
        if !types().all(|ty| is_text(ty) && Some(ty.collation.charset()) == charset) {
            return Err(wrong("MATCH"));
        }
        args.extend(ordinals.iter().map(|column| binder.arena.expr(first + column)));
    } else {
        return Err(error(ErrorCode::FtMatchingKeyNotFound, &[]));
    }
    let ty = SqlType { nullable: true, ..SqlType::new(TypeId::Double) };
    let kind = ExprKind::Match(Box::new(Match { table: slot, index, mode, args: args.into() }));
    Ok(Bound::new(Expr { kind, ty }))
}

/// The column of a table that a column is, also through views and derived tables: these are merged, or the search has
/// nothing to look into (1191).
fn base_column(binder: &Binder<'_>, mut id: ColId) -> Result<(ColId, u32, u32)> {
    while let Some(inside) = binder.arena.shows.get(&id) {
        id = *inside;
    }
    match binder.arena.labels[id as usize] {
        Label::Base { table, ordinal } => Ok((id, table, ordinal)),
        Label::Derived { .. } => Err(error(ErrorCode::FtMatchingKeyNotFound, &[])),
        Label::Computed => Err(error(ErrorCode::WrongArguments, &[&"MATCH"])),
    }
}

/// Notes what column `i` of a query shows, for the derived table's column `id`.
pub(super) fn note_shown(arena: &mut Arena, id: ColId, query: &Query, i: usize) {
    if let Body::Block(block) = &query.body
        && let Some(item) = block.items.get(i)
        && crate::rewrite::merge::can_merge(query)
    {
        if let ExprKind::Column(inside) = item.expr.kind {
            arena.shows.insert(id, inside);
        }
        if arena.temporal.contains(&item.id) {
            arena.temporal.insert(id);
        }
    }
}

/// A column that may be searched.
fn is_text(ty: &SqlType) -> bool {
    ty.id.is_string() && !ty.id.is_binary_string()
}

/// The full-text index over exactly these columns.
fn serving(table: &Table, columns: &[u32]) -> Option<usize> {
    let serves = |index: &gannet_schema::Index| {
        index.text().is_some()
            && !index.invisible
            && index.parts.len() == columns.len()
            && index.parts.iter().all(|p| columns.contains(&p.column))
    };
    table.indexes.iter().position(serves)
}
