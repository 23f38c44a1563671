//! GROUP BY: keys, what may stand beside aggregates (ONLY_FULL_GROUP_BY), and expressions over the grouped rows.

use super::depend::determined;
use super::scope::{Clause, Labels, Scope};
use super::{Binder, error};
use crate::expr::{Expr, ExprKind};
use crate::logical::{Arena, Block, ColId, Label, Query, RelKind, WindowBlock};
use gannet_parser::ast;
use gannet_types::{ErrorCode, Result, SqlError, SqlMode};

impl Binder<'_> {
    /// Binds GROUP BY. Errors 1054, 1056.
    pub(super) fn group_by(&mut self, select: &ast::Select, block: &mut Block) -> Result<()> {
        block.rollup = select.rollup;
        for item in &select.group_by {
            let key = self.order_item(&item.expr, Clause::Group, block)?;
            let top = self.scopes.len() - 1;
            if self.contains_aggregate(top, &key) || self.scopes[top].reads_windows(&self.arena, &key) {
                let name = match &item.expr {
                    ast::Expr::Column(column) => column.column.text.to_string(),
                    e => super::call::position(e)
                        .and_then(|n| n.checked_sub(1))
                        .and_then(|n| self.scopes[top].items.get(n as usize))
                        .map_or(String::new(), |i| i.name.to_string()),
                };
                return Err(error(ErrorCode::WrongGroupField, &[&name]));
            }
            let id = match key.kind {
                // A column of a query around is not this block's to deliver under its own id.
                ExprKind::Column(id) if !select.rollup && block.rel_of(id).is_some() => id,
                _ => {
                    let mut ty = key.ty.clone();
                    ty.nullable |= select.rollup;
                    ty.own_digits &= key.is_execution_constant();
                    self.arena.column(ty, Label::Computed)
                }
            };
            if let ExprKind::Column(column) = key.kind {
                self.scope().group_columns.push(column);
            }
            // Without totals a key that is there twice groups no further. With them it has totals of its own.
            if select.rollup {
                let name = self.scopes.last().and_then(|scope| key_name(scope, &item.expr));
                self.scope().rollup_keys.push((key.clone(), id, name));
            } else if block.groups.iter().any(|(k, _)| *k == key) {
                continue;
            }
            block.groups.push((key, id));
        }
        Ok(())
    }

    /// Everything is bound: takes the aggregates over, makes expressions refer to the keys, checks what is not grouped.
    pub(super) fn finish_groups(&mut self, block: &mut Block) -> Result<()> {
        let scope = self.scope();
        block.aggregates = std::mem::take(&mut scope.aggregates);
        block.windows = std::mem::take(&mut scope.windows);
        let any_values = std::mem::take(&mut scope.any_values);
        block.aggregated = !block.groups.is_empty() || !block.aggregates.is_empty();
        if !block.aggregated {
            let values = any_values.into_iter().map(|(e, id)| (id, e)).collect();
            block.for_each_expr_mut(&mut |e| crate::rewrite::substitute(e, &values));
            // Subqueries may read them too.
            self.arena.replaced.extend(values);
            return Ok(());
        }
        // What a key reads is the key's own value: ANY_VALUE() of it takes none of many.
        let in_key = |id: ColId| block.groups.iter().any(|(key, _)| self.arena.reads(key, |read| read == id));
        let (mut keys, mut carried): (Vec<_>, Vec<_>) = any_values.into_iter().partition(|(_, id)| in_key(*id));
        if block.rollup {
            carried = beside_totals(&mut self.arena, block, carried, &mut keys);
        }
        if !keys.is_empty() {
            let values = keys.into_iter().map(|(e, id)| (id, e)).collect();
            block.for_each_expr_mut(&mut |e| crate::rewrite::substitute(e, &values));
            self.arena.replaced.extend(values);
        }
        block.carried = carried;
        for (args, id) in std::mem::take(&mut self.scope().groupings) {
            let place = |(n, arg): (usize, &Expr)| {
                // In HAVING an alias of a key is the key's value.
                let is_key = |(key, id): &(Expr, ColId)| key == arg || arg.kind == ExprKind::Column(*id);
                let found = block.groups.iter().position(is_key);
                found.map(|p| p as u32).ok_or_else(|| error(ErrorCode::FieldInGroupingNotGroupBy, &[&(n + 1)]))
            };
            let places = args.iter().enumerate().map(place).collect::<Result<_>>()?;
            block.groupings.push((places, id));
        }
        if let Some(scope) = self.scopes.last() {
            name_repeated_keys(&self.arena, scope, block);
        }
        let keys: Vec<(Expr, ColId)> = block.groups.clone();
        let types = &self.arena.types;
        let mut replace = |e: &mut Expr| replace_keys(e, &keys, types);
        block.items.iter_mut().for_each(|i| replace(&mut i.expr));
        block.having.iter_mut().for_each(&mut replace);
        block.order.iter_mut().for_each(|k| replace(&mut k.expr));
        let mut named = self.scopes.last_mut().map(|s| std::mem::take(&mut s.checked_windows)).unwrap_or_default();
        for window in block.windows.iter_mut().chain(&mut named) {
            window.partition.iter_mut().for_each(&mut replace);
            window.order.iter_mut().for_each(|k| replace(&mut k.expr));
            window.functions.iter_mut().flat_map(|(f, _)| &mut f.args).for_each(&mut replace);
        }
        if block.rollup {
            keys_in_subqueries(&mut self.arena, block, &keys);
        }
        aliases_in_subqueries(&mut self.arena, block, &keys);
        for item in &block.items {
            self.arena.types[item.id as usize] = item.expr.ty.clone();
        }
        if block.groups.is_empty() {
            // One row is in order.
            block.order.clear();
        }
        if self.options.sql_mode.contains(SqlMode::ONLY_FULL_GROUP_BY) {
            self.check_full_group(block, &named)?;
        }
        self.order_by_groups(block);
        Ok(())
    }

    /// MySQL sorts for aggregates which it cannot keep in a temporary table; its clients see the groups in order.
    fn order_by_groups(&self, block: &mut Block) {
        let sorts = |a: &crate::expr::Aggregate| {
            a.distinct || matches!(a.def.name, "GROUP_CONCAT" | "JSON_ARRAYAGG" | "JSON_OBJECTAGG")
        };
        let whole = block.order.is_empty() && !block.rollup && !block.groups.is_empty();
        if whole && block.aggregates.iter().any(|(a, _)| sorts(a)) {
            let key = |id: &ColId| crate::expr::SortKey { expr: self.arena.expr(*id), descending: false };
            block.order = block.groups.iter().map(|(_, id)| key(id)).collect();
        }
    }

    fn check_full_group(&self, block: &Block, named: &[WindowBlock]) -> Result<()> {
        let mut known: Vec<ColId> = Vec::new();
        for (key, id) in &block.groups {
            known.push(*id);
            if let ExprKind::Column(column) = key.kind
                && !block.rollup
            {
                known.push(column);
            }
        }
        let mut closure: Option<Vec<ColId>> = None;
        let order_in_list = |e: &Expr| block.items.iter().any(|i| i.expr == *e);
        let items = block.items.iter().enumerate().map(|(i, item)| (i, &item.expr, "SELECT list"));
        let having = block.having.iter().enumerate().map(|(i, e)| (i, e, "HAVING clause"));
        let order = block.order.iter().enumerate().map(|(i, k)| (i, &k.expr, "ORDER BY clause"));
        // What a window function takes stands where the function stands; what makes its window is apart.
        let windows: Vec<(String, Vec<&Expr>)> = block.windows.iter().chain(named).map(window_keys).collect();
        let made = windows.iter().flat_map(|(part, keys)| keys.iter().enumerate().map(|(i, e)| (i, *e, &**part)));
        let plain = items.chain(having).chain(order.filter(|(_, e, _)| !order_in_list(e)));
        for (i, e, part) in plain.chain(made) {
            let mut loose = Vec::new();
            let mut look = |id: ColId| {
                if !known.contains(&id) && block.rel_of(id).is_some() {
                    loose.push(id);
                }
            };
            self.arena.columns_of(e, &mut |id| match window_args(block, id) {
                Some(args) => args.iter().for_each(|arg| self.arena.columns_of(arg, &mut look)),
                None => look(id),
            });
            for id in loose {
                let closure = closure.get_or_insert_with(|| determined(&self.arena, block, known.clone(), true));
                if !closure.contains(&id) {
                    return Err(self.not_grouped(block, i, part, id));
                }
            }
        }
        Ok(())
    }

    #[cold]
    fn not_grouped(&self, block: &Block, position: usize, part: &str, id: ColId) -> SqlError {
        let n = position + 1;
        let name = self.full_name(block, id);
        if block.groups.is_empty() {
            return SqlError::with_message(
                ErrorCode::MixOfGroupFuncAndFields,
                format!(
                    "In aggregated query without GROUP BY, expression #{n} of {part} contains nonaggregated column \
                     '{name}'; this is incompatible with sql_mode=only_full_group_by"
                ),
            );
        }
        SqlError::with_message(
            ErrorCode::WrongFieldWithGroup,
            format!(
                "Expression #{n} of {part} is not in GROUP BY clause and contains nonaggregated column '{name}' which is \
                 not functionally dependent on columns in GROUP BY clause; this is incompatible with \
                 sql_mode=only_full_group_by"
            ),
        )
    }

    /// `schema.alias.column`
    fn full_name(&self, block: &Block, id: ColId) -> String {
        let labels = Labels(&self.arena);
        let column = labels.name(id);
        let Some(rel) = block.rel_of(id).map(|i| &block.rels[i]) else { return column.to_owned() };
        match rel.kind {
            RelKind::Base(slot) => {
                let schema = &self.arena.tables[slot as usize].table.schema;
                format!("{schema}.{}.{column}", rel.alias)
            }
            _ => format!("{}.{column}", rel.alias),
        }
    }
}

/// What a window function takes, if the column is one's result.
fn window_args(block: &Block, id: ColId) -> Option<&[Expr]> {
    let functions = block.windows.iter().flat_map(|w| &w.functions);
    functions.filter(|(_, of)| *of == id).map(|(function, _)| &*function.args).next()
}

/// What a window's rows are divided and ordered by, and what errors call that.
fn window_keys(window: &WindowBlock) -> (String, Vec<&Expr>) {
    let name = window.name.as_deref().unwrap_or("<unnamed window>");
    let part = format!("PARTITION BY or ORDER BY clause of window '{name}'");
    (part, window.partition.iter().chain(window.order.iter().map(|k| &k.expr)).collect())
}

/// Subqueries over the rows of a rollup read its keys too, which are NULL in the rows of totals. (Without a
/// rollup a key that is a column has that column's name.)
fn keys_in_subqueries(arena: &mut Arena, block: &Block, keys: &[(Expr, ColId)]) {
    let column = |(key, id): &(Expr, ColId)| match key.kind {
        ExprKind::Column(column) => Some((column, *id)),
        _ => None,
    };
    let keys: Vec<(ColId, ColId)> = keys.iter().filter_map(column).collect();
    let inside = for_each_subquery(arena, block, |arena, query| {
        let mut reads = false;
        let types = &arena.types;
        query.for_each_expr_mut(&mut |e| reads |= read_keys(e, &keys, types));
        if reads {
            query.columns.iter().for_each(|c| arena.types[c.id as usize].nullable = true);
        }
    });
    arena.find_free_of(&inside.subqueries, &inside.ctes);
}

/// The subqueries of a block's select list, HAVING and ORDER BY, and those within, outer ones first; the common table
/// expressions that they name.
#[derive(Default)]
struct Inside {
    subqueries: Vec<u32>,
    ctes: Vec<u32>,
}

impl Inside {
    fn find(&mut self, query: &Query) {
        query.for_each_expr(&mut |e| subqueries_of(e, &mut self.subqueries));
        query.for_each_cte(&mut |number| {
            if !self.ctes.contains(&number) {
                self.ctes.push(number);
            }
        });
    }
}

/// Calls `f` for all queries inside the block's expressions.
fn for_each_subquery(arena: &mut Arena, block: &Block, mut f: impl FnMut(&mut Arena, &mut Query)) -> Inside {
    let mut inside = Inside::default();
    let items = block.items.iter().map(|i| &i.expr);
    for e in items.chain(&block.having).chain(block.order.iter().map(|k| &k.expr)) {
        subqueries_of(e, &mut inside.subqueries);
    }
    let (mut subqueries, mut ctes) = (0, 0);
    loop {
        if let Some(number) = inside.subqueries.get(subqueries).map(|n| *n as usize) {
            subqueries += 1;
            let mut query = arena.subqueries[number].query.take();
            inside.find(&query);
            f(arena, &mut query);
            arena.subqueries[number].query = query;
        } else if let Some(number) = inside.ctes.get(ctes).map(|n| *n as usize) {
            ctes += 1;
            let (mut base, mut recursive) = (arena.ctes[number].base.take(), arena.ctes[number].recursive.take());
            for query in base.iter_mut().chain(&mut recursive) {
                inside.find(query);
                f(arena, query);
            }
            (arena.ctes[number].base, arena.ctes[number].recursive) = (base, recursive);
        } else {
            // One that is being bound is known when that is done.
            inside.ctes.retain(|number| arena.ctes[*number as usize].base.is_some());
            return inside;
        }
    }
}

/// Subqueries read a key that is computed by the name that the select list gives it.
fn aliases_in_subqueries(arena: &mut Arena, block: &Block, keys: &[(Expr, ColId)]) {
    let computed = |(key, _): &&(Expr, ColId)| !matches!(key.kind, ExprKind::Column(_) | ExprKind::Literal(_));
    let keys: Vec<(Expr, ColId)> = keys.iter().filter(computed).cloned().collect();
    if keys.is_empty() {
        return;
    }
    let inside = for_each_subquery(arena, block, |arena, query| {
        let types = &arena.types;
        query.for_each_expr_mut(&mut |e| replace_keys(e, &keys, types));
    });
    arena.find_free_of(&inside.subqueries, &inside.ctes);
}

/// ANY_VALUE() of keys is NULL in the rows of totals, as they are: of what reads a key only the other columns are
/// carried, and the rest is added to what is `computed` in each row.
fn beside_totals(
    arena: &mut Arena,
    block: &Block,
    values: Vec<(Expr, ColId)>,
    computed: &mut Vec<(Expr, ColId)>,
) -> Vec<(Expr, ColId)> {
    let mut carried = Vec::new();
    let is_key = |e: &Expr| block.groups.iter().any(|(key, _)| key == e);
    let key_column = |id: ColId| block.groups.iter().any(|(key, _)| key.kind == ExprKind::Column(id));
    for (mut value, id) in values {
        let keys = value.any(&mut |e| is_key(e)) || arena.reads(&value, key_column);
        // A subquery that reads other columns, too, has no column of the group to read.
        let mixed = value.any(&mut |e| matches!(e.kind, ExprKind::Subquery(_)))
            && arena.reads(&value, |id| block.rel_of(id).is_some() && !key_column(id));
        if !keys || mixed {
            carried.push((value, id));
            continue;
        }
        carry_columns(arena, block, &mut value, &mut carried);
        computed.push((value, id));
    }
    carried
}

/// Columns that are no keys become ones that each group carries.
fn carry_columns(arena: &mut Arena, block: &Block, e: &mut Expr, carried: &mut Vec<(Expr, ColId)>) {
    if block.groups.iter().any(|(key, _)| key == e) {
        return;
    }
    if let ExprKind::Column(column) = e.kind {
        if block.rel_of(column).is_some() {
            let id = arena.column(e.ty.clone(), Label::Computed);
            carried.push((std::mem::replace(e, arena.expr(id)), id));
        }
        return;
    }
    e.for_each_child_mut(|c| carry_columns(arena, block, c, carried));
}

/// The subqueries that stand in an expression, those not listed yet.
fn subqueries_of(e: &Expr, found: &mut Vec<u32>) {
    if let ExprKind::Subquery(s) = &e.kind
        && !found.contains(&s.subplan)
    {
        found.push(s.subplan);
    }
    e.for_each_child(|c| subqueries_of(c, found));
}

/// Makes an expression read the keys of a rollup where it reads the columns that they are of: what is made of
/// them may be NULL.
fn read_keys(e: &mut Expr, keys: &[(ColId, ColId)], types: &[gannet_types::SqlType]) -> bool {
    if let ExprKind::Column(id) = &mut e.kind {
        let Some((_, key)) = keys.iter().find(|(column, _)| column == id) else { return false };
        *id = *key;
        e.ty = types[*key as usize].clone();
        return true;
    }
    let mut reads = false;
    e.for_each_child_mut(|c| reads |= read_keys(c, keys, types));
    e.ty.nullable |= reads;
    reads
}

/// Replaces group keys inside an expression by the columns which hold them.
pub(crate) fn replace_keys(e: &mut Expr, keys: &[(Expr, ColId)], types: &[gannet_types::SqlType]) {
    if let Some((_, id)) = keys.iter().find(|(key, _)| key == e) {
        *e = Expr { kind: ExprKind::Column(*id), ty: types[*id as usize].clone() };
        return;
    }
    e.for_each_child_mut(|c| replace_keys(c, keys, types));
}

/// The name by which GROUP BY means an item of the select list.
fn key_name(scope: &Scope, e: &ast::Expr) -> Option<Box<str>> {
    if let ast::Expr::Column(column) = e {
        return Some(column.column.text.to_string().into());
    }
    let place = super::call::position(e)?.checked_sub(1)?;
    scope.items.get(place as usize).map(|item| item.name.clone())
}

/// Items of the select list that are keys of a rollup which GROUP BY has more than once.
fn name_repeated_keys(arena: &Arena, scope: &Scope, block: &mut Block) {
    for (item, listed) in block.items.iter_mut().zip(&scope.items) {
        if let Some((id, true)) = scope.rollup_key(&item.expr, &listed.name) {
            item.expr = arena.expr(id);
        }
    }
}

/// What orders the rows of SELECT DISTINCT is told by them: it is an item of the list, or made of columns that are
/// items (manual, "MySQL Handling of GROUP BY"). Error 3065.
pub(super) fn check_distinct_order(binder: &Binder<'_>, block: &Block) -> Result<()> {
    let one_row = block.groups.is_empty() && binder.scopes.last().is_none_or(|s| !s.aggregates.is_empty());
    if !block.distinct || one_row || !binder.options.sql_mode.contains(SqlMode::ONLY_FULL_GROUP_BY) {
        return Ok(());
    }
    let listed = |e: &Expr| block.items.iter().any(|i| i.expr == *e);
    for (i, key) in block.order.iter().enumerate().filter(|(_, key)| !listed(&key.expr)) {
        let mut loose = None;
        binder.arena.columns_of(&key.expr, &mut |id| {
            if block.rel_of(id).is_some() && !block.items.iter().any(|i| i.expr.kind == ExprKind::Column(id)) {
                loose = loose.or(Some(id));
            }
        });
        if let Some(id) = loose {
            let name = binder.full_name(block, id);
            return Err(error(ErrorCode::FieldInOrderNotSelect, &[&(i + 1), &name, &"DISTINCT"]));
        }
    }
    Ok(())
}
