//! ON DUPLICATE KEY UPDATE: what its assignments may name.

use super::dml::{BoundInsert, BoundSource};
use super::scope::{Clause, Names, ScopeRel, display};
use super::{Binder, error};
use crate::logical::{Body, ColId, Item, Label, OutColumn, Query, RelKind};
use gannet_parser::ast;
use gannet_schema::Table;
use gannet_schema::names::eq_name;
use gannet_types::{ErrorCode, Result, SqlError};
use std::sync::Arc;

impl Binder<'_> {
    pub(super) fn on_duplicate(
        &mut self,
        table: &Arc<Table>,
        insert: &ast::Insert,
        bound: &mut BoundInsert,
    ) -> Result<()> {
        let width = table.columns.len() as u32;
        let mut new = 0;
        for (i, column) in table.columns.iter().enumerate() {
            let label = Label::Base { table: bound.table, ordinal: i as u32 };
            let mut ty = column.ty.clone();
            ty.nullable = true;
            let id = self.arena.column(ty, label);
            if i == 0 {
                new = id;
            }
        }
        let old = bound.value_row.first().copied().unwrap_or(0);
        bound.update_row = (old..old + width).chain(new..new + width).collect();
        let target = &self.scope().rels[0];
        let (name, columns) = (target.alias.clone(), target.names.list());
        self.new_row = Some(super::NewRow { table: name, columns, first: new });
        if let Some((alias, names)) = &insert.row_alias {
            self.row_alias(table, alias, names, new, bound)?;
        }
        if let BoundSource::Query(query) = &bound.source {
            self.see_source(query);
        }
        self.scope().clause = Clause::Values;
        for assignment in &insert.on_duplicate {
            self.check_qualifier(&assignment.column, insert)?;
            let target = &self.scope().rels[0].names;
            let column = target
                .find(&assignment.column.column.text)
                .ok_or_else(|| error(ErrorCode::BadField, &[&display(&assignment.column), &"field list"]))?;
            let value = self.assigned(&assignment.value, table, column)?;
            bound.on_duplicate.push((column, value));
        }
        self.new_row = None;
        deliver(self, bound)
    }

    /// A column of the target may be qualified by the target only.
    fn check_qualifier(&self, column: &ast::ColumnRef, insert: &ast::Insert) -> Result<()> {
        let Some(qualifier) = &column.qualifier else { return Ok(()) };
        let schema = qualifier.schema.as_ref().map(|s| &*s.text);
        let same = qualifier.name.text == insert.table.name.text
            && schema.is_none_or(|s| self.schema_of(&insert.table).is_ok_and(|t| t == s));
        if same { Ok(()) } else { Err(self.unknown(column, Clause::Fields)) }
    }

    /// `AS new [(a, b)]`: the new row under a name of its own.
    fn row_alias(
        &mut self,
        table: &Arc<Table>,
        alias: &ast::Ident,
        names: &[ast::Ident],
        new: ColId,
        bound: &BoundInsert,
    ) -> Result<()> {
        if eq_name(&alias.text, &self.scope().rels[0].alias) {
            return Err(error(ErrorCode::NonuniqTable, &[&alias.text]));
        }
        // Columns that the view does not show cannot be named.
        let mut list: Vec<Box<str>> = vec!["".into(); table.columns.len()];
        for (name, ordinal) in self.scope().rels[0].names.list() {
            list[ordinal as usize] = name;
        }
        if !names.is_empty() {
            if names.len() != bound.columns.len() {
                return Err(error(ErrorCode::ViewWrongList, &[]));
            }
            for (i, (name, column)) in names.iter().zip(&bound.columns).enumerate() {
                if names[..i].iter().any(|n| eq_name(&n.text, &name.text)) {
                    return Err(error(ErrorCode::DupFieldname, &[&name.text]));
                }
                list[*column as usize] = name.text.clone();
            }
        }
        let alias = alias.text.clone();
        self.scope().rels.push(ScopeRel { alias, schema: None, first: new, names: Names::List(list) });
        Ok(())
    }

    /// The relations of the source query may be named in ON DUPLICATE KEY UPDATE.
    fn see_source(&mut self, query: &Query) {
        // A group has no single row that could be meant.
        let Body::Block(block) = &query.body else { return };
        if block.aggregated {
            return;
        }
        let mut seen = Vec::new();
        for rel in &block.rels {
            let names = match &rel.kind {
                RelKind::Base(slot) => {
                    let table = self.arena.tables[*slot as usize].table.clone();
                    seen.push((rel.alias.clone(), Some(Box::from(&*table.schema)), rel.first, Names::Table(table)));
                    continue;
                }
                RelKind::Derived(inner) => inner.columns.iter().map(|c| c.name.clone()).collect(),
                RelKind::Cte(_) => {
                    let columns = rel.first..rel.first + rel.width;
                    let name = |id: u32| match &self.arena.labels[id as usize] {
                        Label::Derived { name, .. } => name.clone(),
                        _ => Box::default(),
                    };
                    columns.map(name).collect()
                }
            };
            seen.push((rel.alias.clone(), None, rel.first, Names::List(names)));
        }
        let scope = self.scope();
        for (alias, schema, first, names) in seen {
            scope.rels.push(ScopeRel { alias, schema, first, names });
        }
    }
}

/// Columns of the source which the assignments read are delivered behind the values.
fn deliver(binder: &mut Binder<'_>, bound: &mut BoundInsert) -> Result<()> {
    if let BoundSource::Query(query) = &mut bound.source {
        let mut wanted: Vec<ColId> = Vec::new();
        for value in bound.on_duplicate.iter().filter_map(|(_, v)| v.as_ref()) {
            binder.arena.columns_of(value, &mut |id| {
                if !bound.update_row.contains(&id) && !wanted.contains(&id) {
                    wanted.push(id);
                }
            });
        }
        bound.update_row.extend(query.columns.iter().map(|c| c.id));
        if !wanted.is_empty() {
            let Body::Block(block) = &mut query.body else {
                return Err(SqlError::unsupported("columns of a UNION in ON DUPLICATE KEY UPDATE"));
            };
            // A distinct row has the columns of its list alone, which are there already.
            let listed = bound.update_row.len() - block.items.len();
            if block.distinct {
                for (item, id) in block.items.iter().zip(&mut bound.update_row[listed..]) {
                    if let Some(at) = wanted.iter().position(|c| item.expr == binder.arena.expr(*c)) {
                        *id = wanted.swap_remove(at);
                    }
                }
                if !wanted.is_empty() {
                    let what = "columns that a SELECT DISTINCT does not list in ON DUPLICATE KEY UPDATE";
                    return Err(SqlError::unsupported(what));
                }
            }
            for id in wanted {
                let expr = binder.arena.expr(id);
                let out = binder.arena.column(expr.ty.clone(), Label::Computed);
                block.items.push(Item { expr, id: out });
                query.columns.push(OutColumn { name: "".into(), id: out });
                bound.update_row.push(id);
            }
        }
    }
    Ok(())
}
