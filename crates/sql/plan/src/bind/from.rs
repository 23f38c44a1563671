//! FROM: tables, derived tables, joins.

use super::scope::{Clause, Names, ScopeRel};
use super::{Binder, error};
use crate::expr::{Expr, ExprKind};
use crate::logical::{Body, ColId, From, FromJoin, IndexHints, Label, Query, Rel, RelKind, conjuncts};
use crate::physical::{LockStrength, LockWait, RowLock};
use crate::plan::Intent;
use gannet_parser::ast::{self, JoinCondition, JoinKind, TableRef};
use gannet_schema::Table;
use gannet_schema::names::{eq_name, fold_name};
use gannet_types::{ErrorCode, Result, SqlError, SqlType, sql_err};
use std::sync::Arc;

/// Tables of one join (MySQL's bound).
const MAX_TABLES: usize = 61;

/// Columns which unqualified names see, in the order of `*`. Kept for blocks with USING or NATURAL only.
type Shape = Vec<(Box<str>, ColId)>;

fn merges(from: &[TableRef]) -> bool {
    from.iter().any(|t| match t {
        TableRef::Join(join) => {
            matches!(join.condition, JoinCondition::Using(_) | JoinCondition::Natural)
                || merges(std::slice::from_ref(&join.left))
                || merges(std::slice::from_ref(&join.right))
        }
        TableRef::Nested(list) => merges(list),
        _ => false,
    })
}

/// What binding a FROM clause collects.
pub(super) struct FromBuilder {
    pub(super) rels: Vec<Rel>,
    shapes: bool,
    /// Intent of base tables.
    pub(super) intent: Intent,
    on_error: Option<SqlError>,
}

/// A bound FROM clause.
pub(super) struct Tables {
    pub(super) from: Option<From>,
    pub(super) rels: Vec<Rel>,
    /// The first name in a condition of ON that was not found, or found twice.
    pub(super) on_error: Option<SqlError>,
}

impl FromBuilder {
    pub(super) fn new(intent: Intent) -> FromBuilder {
        FromBuilder { rels: Vec::new(), shapes: false, intent, on_error: None }
    }
}

/// What [`Binder::require_tables`] does for a derived table, but for one that names tables of its own.
fn require_tables_of(b: &mut Binder<'_>, query: &ast::Query) -> Result<()> {
    match &query.body {
        _ if query.with.is_some() => Ok(()),
        ast::QueryBody::Select(select) => b.require_tables(&select.from),
        ast::QueryBody::Query(query) => b.deeper(|b| require_tables_of(b, query)),
        _ => Ok(()),
    }
}

/// A condition of ON over the relations from `start` on; `both`: the columns of a join that has merged some.
fn on_condition(b: &mut Binder<'_>, condition: &ast::Expr, start: usize, both: Option<Shape>) -> Result<Expr> {
    let before = std::mem::replace(&mut b.scope().visible_from, start);
    let merged = b.scope().merged.take();
    if both.is_some() {
        b.scope().visible_from = 0;
        b.scope().merged = both;
    }
    let scopes = b.scopes.len();
    let bound = b.in_clause(Clause::On, |b| b.condition(condition));
    // A subquery that is refused leaves its scope.
    b.scopes.truncate(scopes);
    b.scope().visible_from = before;
    b.scope().merged = merged;
    bound
}

impl Binder<'_> {
    /// Binds a FROM clause into the current scope: a comma is an inner join. A name that a condition of ON does not
    /// find is `on_error`, since the select list and WHERE are blamed before it.
    pub(super) fn from_clause(&mut self, from: &[TableRef], intent: Intent) -> Result<Tables> {
        if from.iter().any(|t| !matches!(t, TableRef::Table(_))) {
            self.require_tables(from)?;
        }
        let mut builder = FromBuilder { rels: Vec::new(), shapes: merges(from), intent, on_error: None };
        let joined = self.from_list(from, &mut builder)?;
        if builder.rels.len() > MAX_TABLES {
            return Err(error(ErrorCode::TooManyTables, &[&MAX_TABLES]));
        }
        let from = joined.map(|(from, shape)| {
            if builder.shapes {
                self.scope().merged = Some(shape);
            }
            from
        });
        Ok(Tables { from, rels: builder.rels, on_error: builder.on_error })
    }

    /// A table that does not exist is noticed before a condition that comes in front of it is looked at.
    fn require_tables(&mut self, list: &[TableRef]) -> Result<()> {
        for table in list {
            match table {
                TableRef::Join(join) => self.deeper(|b| {
                    b.require_tables(std::slice::from_ref(&join.left))?;
                    b.require_tables(std::slice::from_ref(&join.right))
                })?,
                TableRef::Nested(list) => self.deeper(|b| b.require_tables(list))?,
                TableRef::Table(t) if t.name.schema.is_some() || self.find_cte(&t.name.name.text).is_none() => {
                    self.find_table(&t.name)?;
                }
                TableRef::Derived(derived) => self.deeper(|b| require_tables_of(b, &derived.query))?,
                _ => {}
            }
        }
        Ok(())
    }

    fn find_table(&self, name: &ast::ObjectName) -> Result<Arc<Table>> {
        let schema = self.schema_of(name)?;
        if let Some(told) = self.options.on_table.filter(|_| self.through.is_none()) {
            told(schema, &name.name.text);
        }
        match self.through {
            None => self.snapshot.require_table(schema, &name.name.text).cloned(),
            // Temporary tables are the session's; a view is everybody's.
            Some(_) => match self.snapshot.base_table(schema, &name.name.text) {
                Some(table) => Ok(table.clone()),
                None => Err(error(ErrorCode::NoSuchTable, &[&schema, &name.name.text])),
            },
        }
    }

    fn from_list(&mut self, list: &[TableRef], builder: &mut FromBuilder) -> Result<Option<(From, Shape)>> {
        let mut joined: Option<(From, Shape)> = None;
        for table in list {
            let (right, shape) = self.deeper(|b| b.table_ref(table, builder))?;
            joined = Some(match joined {
                None => (right, shape),
                Some((left, mut columns)) => {
                    columns.extend(shape);
                    let (left, right) = (Box::new(left), Box::new(right));
                    (From::Join { left, right, kind: FromJoin::Inner, on: Vec::new() }, columns)
                }
            });
        }
        Ok(joined)
    }

    fn table_ref(&mut self, table: &TableRef, builder: &mut FromBuilder) -> Result<(From, Shape)> {
        match table {
            TableRef::Table(factor) => self.table_factor(factor, builder),
            TableRef::Derived(derived) => self.derived(derived, builder),
            TableRef::JsonTable(table) => self.json_table(table, builder),
            TableRef::Join(join) => self.join(join, builder),
            TableRef::Nested(list) => match self.from_list(list, builder)? {
                Some(joined) => Ok(joined),
                None => Err(SqlError::internal("an empty join")),
            },
        }
    }

    fn table_factor(&mut self, factor: &ast::TableFactor, builder: &mut FromBuilder) -> Result<(From, Shape)> {
        let name = &factor.name;
        if name.schema.is_none()
            && factor.partitions.is_empty()
            && let Some(cte) = self.find_cte(&name.name.text)
        {
            let alias = factor.alias.as_ref().unwrap_or(&name.name);
            return self.cte_reference(cte, alias, builder);
        }
        let table = self.find_table(name)?;
        let alias: &str = factor.alias.as_ref().map_or(&*name.name.text, |a| &*a.text);
        self.check_alias(alias, Some(&table.schema))?;
        self.note_table(name, &table);
        let only = only_parts(&table, &factor.partitions)?;
        if let Some(view) = table.view() {
            // A view has no indexes: whatever is named is error 1176.
            index_hints(&table, &factor.index_hints)?;
            let position = self.view_rel(&table, view, alias, builder)?;
            return Ok((From::Rel(position), self.shape_of(builder)));
        }
        let hints = index_hints(&table, &factor.index_hints)?;
        let hints = self.hints_on(alias, Some(&table), hints);
        let position = self.add_base(&table, alias, builder, hints);
        name_parts(self, self.arena.tables.len() as u32 - 1, only);
        Ok((From::Rel(position), self.shape_of(builder)))
    }

    /// Adds a base table as a relation of the current scope.
    pub(super) fn add_base(
        &mut self,
        table: &Arc<Table>,
        alias: &str,
        builder: &mut FromBuilder,
        hints: IndexHints,
    ) -> usize {
        let slot = self.add_table(table, alias, builder.intent);
        let mut first = 0;
        for (ordinal, column) in table.columns.iter().enumerate() {
            let label = Label::Base { table: slot, ordinal: ordinal as u32 };
            let id = self.arena.column(column.ty.clone(), label);
            if ordinal == 0 {
                first = id;
            }
        }
        // Behind them the hidden row id and, where there are parts, which of them the row is in.
        let width = table.columns.len() as u32 + 1 + u32::from(table.partitions.is_some());
        for ordinal in table.columns.len() as u32..width {
            self.arena.column(SqlType::bigint_unsigned().not_null(), Label::Base { table: slot, ordinal });
        }
        let kind = RelKind::Base(slot);
        let lock = RowLock::default();
        let origin = self.hints.current;
        builder.rels.push(Rel { alias: alias.into(), kind, first, width, lock, hints, origin, view: None });
        self.scope().rels.push(ScopeRel {
            alias: alias.into(),
            schema: Some((&*table.schema).into()),
            first,
            names: Names::Table(table.clone()),
        });
        builder.rels.len() - 1
    }

    fn shape_of(&mut self, builder: &FromBuilder) -> Shape {
        if !builder.shapes {
            return Vec::new();
        }
        let Some(rel) = self.scope().rels.last() else { return Vec::new() };
        let visible = (0..rel.names.len() as u32).filter(|i| rel.names.visible(*i));
        visible.map(|i| (rel.names.name(i).into(), rel.first + i)).collect()
    }

    fn check_alias(&mut self, alias: &str, schema: Option<&str>) -> Result<()> {
        let same = |r: &ScopeRel| {
            *r.alias == *alias && (schema.is_none() || r.schema.is_none() || r.schema.as_deref() == schema)
        };
        if self.scope().rels.iter().any(same) {
            return Err(error(ErrorCode::NonuniqTable, &[&alias]));
        }
        Ok(())
    }

    fn derived(&mut self, derived: &ast::Derived, builder: &mut FromBuilder) -> Result<(From, Shape)> {
        let Some(alias) = &derived.alias else { return Err(error(ErrorCode::DerivedMustHaveAlias, &[])) };
        self.check_alias(&alias.text, None)?;
        let visible = self.scope().visible_from;
        if !derived.lateral {
            self.scope().visible_from = usize::MAX;
        }
        // An aggregate inside cannot be one of the query around: that has no rows yet.
        let query = self.in_clause(Clause::On, |b| b.nested_query(&derived.query));
        self.scope().visible_from = visible;
        let mut query = query?;
        rename(&mut query, &derived.columns)?;
        let position = self.add_derived(&alias.text, query, None, builder)?;
        Ok((From::Rel(position), self.shape_of(builder)))
    }

    /// JSON_TABLE: a derived table that sees the relations before it.
    fn json_table(&mut self, source: &ast::JsonTable, builder: &mut FromBuilder) -> Result<(From, Shape)> {
        let Some(alias) = &source.alias else { return Err(error(ErrorCode::TfMustHaveAlias, &[])) };
        self.check_alias(&alias.text, None)?;
        let document = self.in_clause(Clause::TableFunction, |b| b.pinned(|b| b.expr(&source.expr)))?;
        if matches!(document.expr.kind, crate::expr::ExprKind::Subquery(_)) {
            return Err(error(ErrorCode::WrongArguments, &[&"JSON_TABLE"]));
        }
        let mut columns: Vec<(Box<str>, gannet_types::SqlType)> = Vec::new();
        let mut nested = 0;
        let level = self.json_level(&source.path, &source.columns, &alias.text, &mut columns, &mut nested)?;
        let table = gannet_functions::json::table::JsonTable { name: alias.text.clone(), level, width: columns.len() };
        let out = columns
            .into_iter()
            .map(|(name, ty)| crate::logical::OutColumn { name, id: self.arena.column(ty, Label::Computed) });
        let query = Query {
            columns: out.collect(),
            body: Body::Json(Box::new(document.expr), Arc::new(table)),
            order: Vec::new(),
            limit: None,
            offset: None,
            select: 0,
        };
        let position = self.add_derived(&alias.text, query, None, builder)?;
        Ok((From::Rel(position), self.shape_of(builder)))
    }

    fn json_path(&mut self, literal: &ast::Literal) -> Result<gannet_types::json::Path> {
        let path = self.pin_literal(literal)?;
        let crate::expr::ExprKind::Literal(gannet_types::Value::Str(text, _)) = &path.expr.kind else {
            return Err(error(ErrorCode::InvalidJsonPath, &[&0, &""]));
        };
        gannet_types::json::Path::parse(&String::from_utf8_lossy(text)).map_err(|e| match e {
            gannet_types::json::PathError::Invalid(at) => error(ErrorCode::InvalidJsonPath, &[&at, &""]),
            gannet_types::json::PathError::TooDeep => error(ErrorCode::JsonDocumentTooDeep, &[]),
        })
    }

    fn json_level(
        &mut self,
        path: &ast::Literal,
        list: &[ast::JsonTableColumn],
        alias: &str,
        columns: &mut Vec<(Box<str>, gannet_types::SqlType)>,
        nested: &mut u32,
    ) -> Result<gannet_functions::json::table::JsonLevel> {
        use gannet_functions::json::table::{JsonColumn, JsonLevel};
        /// MySQL's bound.
        const MAX_NESTED: u32 = 16;
        let path = self.json_path(path)?;
        let mut result = Vec::with_capacity(list.len());
        for column in list {
            let slot = columns.len();
            if let ast::JsonTableColumn::Ordinality(name) | ast::JsonTableColumn::Path { name, .. } = column
                && (name.text.is_empty() || name.text.ends_with(' '))
            {
                return Err(error(ErrorCode::WrongColumnName, &[&name.text]));
            }
            result.push(match column {
                ast::JsonTableColumn::Ordinality(name) => {
                    columns.push((
                        name.text.clone(),
                        gannet_types::SqlType { nullable: true, ..gannet_types::SqlType::BIGINT },
                    ));
                    JsonColumn::Ordinality(slot)
                }
                ast::JsonTableColumn::Path { name, data_type, collation, exists, path, on_empty, on_error } => {
                    let cx = super::types::TypeContext {
                        column: &name.text,
                        collation: self.collation,
                        utf8mb4: self.options.utf8mb4,
                        sql_mode: self.options.sql_mode,
                        notes: None,
                    };
                    let collate = collation.as_ref().map(|c| &*c.text);
                    let mut ty = super::types::column_type(data_type, collate, cx)?;
                    ty.nullable = true;
                    columns.push((name.text.clone(), ty.clone()));
                    let path = self.json_path(path)?;
                    let on_empty = self.json_on(on_empty, &ty, &name.text)?;
                    let on_error = self.json_on(on_error, &ty, &name.text)?;
                    let name = (&*name.text).into();
                    if *exists {
                        JsonColumn::Exists { slot, name, ty, path }
                    } else {
                        JsonColumn::Value { slot, name, ty, path, on_empty, on_error }
                    }
                }
                ast::JsonTableColumn::Nested { path, columns: inner } => {
                    *nested += 1;
                    if *nested > MAX_NESTED {
                        return Err(error(ErrorCode::JtMaxNestedPath, &[&MAX_NESTED, &alias]));
                    }
                    JsonColumn::Nested(self.json_level(path, inner, alias, columns, nested)?)
                }
            });
        }
        Ok(JsonLevel { path, columns: result })
    }

    fn json_on(
        &mut self,
        on: &Option<ast::JsonOn>,
        ty: &gannet_types::SqlType,
        name: &str,
    ) -> Result<gannet_functions::json::table::JsonOn> {
        use gannet_functions::json::table::{JsonOn, json_default};
        Ok(match on {
            None | Some(ast::JsonOn::Null) => JsonOn::Null,
            Some(ast::JsonOn::Error) => JsonOn::Error,
            Some(ast::JsonOn::Default(e)) => {
                let default = self.pinned(|b| b.expr(e))?;
                let crate::expr::ExprKind::Literal(value) = &default.expr.kind else {
                    return Err(error(ErrorCode::InvalidDefault, &[&name]));
                };
                let mut text = Vec::new();
                value.write_text(&mut text);
                JsonOn::Default(json_default(&String::from_utf8_lossy(&text), ty, name)?)
            }
        })
    }

    /// Adds a derived table, or a view: its plan table is given then.
    pub(super) fn add_derived(
        &mut self,
        alias: &str,
        query: Query,
        view: Option<u32>,
        builder: &mut FromBuilder,
    ) -> Result<usize> {
        let names = unique_names(&query)?;
        let mut first = 0;
        for (i, column) in query.columns.iter().enumerate() {
            let ty = self.arena.types[column.id as usize].clone();
            let view = view.map(|slot| (slot, i as u32));
            let origin = Some(shown_column(&query, column.id).unwrap_or(column.id));
            let label = Label::Derived { alias: alias.into(), name: column.name.clone(), origin, view };
            let id = self.shown(ty, label, column.id);
            super::search::note_shown(&mut self.arena, id, &query, i);
            if i == 0 {
                first = id;
            }
        }
        let width = query.columns.len() as u32;
        let kind = RelKind::Derived(Box::new(query));
        let (lock, origin) = (RowLock::default(), self.hints.current);
        let hints = self.hints_on(alias, None, IndexHints::default());
        builder.rels.push(Rel { alias: alias.into(), kind, first, width, lock, hints, origin, view });
        let schema = view.map(|slot| (&*self.arena.tables[slot as usize].table.schema).into());
        self.scope().rels.push(ScopeRel { alias: alias.into(), schema, first, names: Names::List(names) });
        Ok(builder.rels.len() - 1)
    }

    /// A column that shows another one: the coercibility of texts stays.
    pub(super) fn shown(&mut self, ty: SqlType, label: Label, of: ColId) -> ColId {
        match self.arena.text(of) {
            Some(text) => self.arena.text_column(ty, label, text),
            None => self.arena.column(ty, label),
        }
    }

    fn cte_reference(&mut self, cte: u32, alias: &ast::Ident, builder: &mut FromBuilder) -> Result<(From, Shape)> {
        self.check_alias(&alias.text, None)?;
        let columns = self.cte_columns(cte)?;
        let mut first = 0;
        let mut names = Vec::with_capacity(columns.len());
        for (i, (name, ty, of)) in columns.into_iter().enumerate() {
            let base = self.arena.ctes[cte as usize].base.as_ref();
            let origin = base.and_then(|base| shown_column(base, base.columns.get(i)?.id));
            let label = Label::Derived { alias: (&*alias.text).into(), name: name.clone(), origin, view: None };
            let id = self.shown(ty, label, of);
            if let Some(base) = self.arena.ctes[cte as usize].base.take() {
                super::search::note_shown(&mut self.arena, id, &base, i);
                self.arena.ctes[cte as usize].base = Some(base);
            }
            if i == 0 {
                first = id;
            }
            names.push(name);
        }
        let width = names.len() as u32;
        let (lock, origin) = (RowLock::default(), self.hints.current);
        let hints = self.hints_on(alias, None, IndexHints::default());
        let alias: Box<str> = (&*alias.text).into();
        let kind = RelKind::Cte(cte);
        builder.rels.push(Rel { alias: alias.clone(), kind, first, width, lock, hints, origin, view: None });
        self.scope().rels.push(ScopeRel { alias, schema: None, first, names: Names::List(names) });
        Ok((From::Rel(builder.rels.len() - 1), self.shape_of(builder)))
    }

    fn join(&mut self, join: &ast::Join, builder: &mut FromBuilder) -> Result<(From, Shape)> {
        let start = self.scope().rels.len();
        let (left, left_shape) = self.deeper(|b| b.table_ref(&join.left, builder))?;
        let middle = builder.rels.len();
        let right_start = self.scope().rels.len();
        let (right, right_shape) = self.deeper(|b| b.table_ref(&join.right, builder))?;
        if join.kind == JoinKind::Right {
            self.check_lateral(&left, middle, builder)?;
        }
        match join.kind {
            JoinKind::Left | JoinKind::Straight => self.check_recursion_first(&builder.rels[middle..])?,
            JoinKind::Right => {
                let mut inner = Vec::new();
                left.rels(&mut inner);
                inner.into_iter().try_for_each(|r| self.check_recursion_first(&builder.rels[r..=r]))?;
            }
            JoinKind::Inner => {}
        }
        let outer = match join.kind {
            JoinKind::Left => Some(&right),
            JoinKind::Right => Some(&left),
            JoinKind::Inner | JoinKind::Straight => None,
        };
        if let Some(side) = outer {
            let mut inner = Vec::new();
            side.rels(&mut inner);
            for rel in inner {
                let rel = &builder.rels[rel];
                for id in rel.first..rel.first + rel.width {
                    self.arena.types[id as usize].nullable = true;
                }
            }
        }
        let mut on = Vec::new();
        let mut shape = Shape::new();
        match &join.condition {
            JoinCondition::None => {
                shape.extend(left_shape);
                shape.extend(right_shape);
            }
            JoinCondition::On(condition) => {
                let both = left_shape.iter().chain(&right_shape).cloned();
                let both = builder.shapes.then(|| both.collect());
                match on_condition(self, condition, start, both) {
                    Ok(bound) => conjuncts(bound, &mut on),
                    Err(e) if matches!(e.code(), ErrorCode::BadField | ErrorCode::NonUniq) => {
                        builder.on_error.get_or_insert(e);
                    }
                    Err(e) => return Err(e),
                }
                shape.extend(left_shape);
                shape.extend(right_shape);
            }
            JoinCondition::Using(names) => {
                let names: Vec<Box<str>> = names.iter().map(|n| n.text.clone()).collect();
                shape = self.using(&names, left_shape, right_shape, join.kind, place(&join.right), &mut on)?;
            }
            JoinCondition::Natural => {
                let in_both = |n: &str| right_shape.iter().any(|(m, _)| eq_name(n, m));
                let common = left_shape.iter().filter(|(n, _)| in_both(n));
                let names: Vec<Box<str>> = common.map(|(n, _)| n.clone()).collect();
                shape = self.using(&names, left_shape, right_shape, join.kind, place(&join.right), &mut on)?;
            }
        }
        let _ = right_start;
        let (left, right, kind) = match join.kind {
            JoinKind::Inner => (left, right, FromJoin::Inner),
            JoinKind::Straight => (left, right, FromJoin::Straight),
            JoinKind::Left => (left, right, FromJoin::Left),
            JoinKind::Right => (right, left, FromJoin::Left),
        };
        Ok((From::Join { left: Box::new(left), right: Box::new(right), kind, on }, shape))
    }

    /// A right side which is preserved cannot read the left one. Error 3668.
    fn check_lateral(&self, left: &From, right: usize, builder: &FromBuilder) -> Result<()> {
        let mut before = Vec::new();
        left.rels(&mut before);
        for rel in &builder.rels[right..] {
            let RelKind::Derived(query) = &rel.kind else { continue };
            let free = self.free_columns(query);
            if before.iter().any(|b| free.iter().any(|id| builder.rels[*b].has(*id))) {
                return Err(error(ErrorCode::TfForbiddenJoinType, &[&rel.alias]));
            }
        }
        Ok(())
    }

    /// Equalities of USING; the common columns come first, once.
    fn using(
        &mut self,
        names: &[Box<str>],
        left: Shape,
        right: Shape,
        kind: JoinKind,
        place: u32,
        on: &mut Vec<crate::expr::Expr>,
    ) -> Result<Shape> {
        let one = |shape: &Shape, name: &str| -> Result<ColId> {
            let mut found = shape.iter().filter(|(n, _)| eq_name(n, name));
            match (found.next(), found.next()) {
                (Some((_, id)), None) => Ok(*id),
                (None, _) => Err(error(ErrorCode::BadField, &[&name, &"from clause"])),
                _ => Err(error(ErrorCode::NonUniq, &[&name, &"from clause"])),
            }
        };
        // Common columns are shown in the order in which the first table has them; that is the right one of a RIGHT
        // JOIN.
        let first = if kind == JoinKind::Right { &right } else { &left };
        let mut names: Vec<&Box<str>> = names.iter().collect();
        names.sort_by_key(|name| first.iter().position(|(n, _)| eq_name(n, name)));
        let mut shape = Shape::new();
        let (mut used_left, mut used_right) = (Vec::new(), Vec::new());
        for name in names {
            let (a, b) = (one(&left, name)?, one(&right, name)?);
            self.note_pair(place, a, b);
            let equal = self.compare(crate::expr::CompareOp::Eq, self.column(a), self.column(b))?;
            on.push(equal);
            let shown = if kind == JoinKind::Right { b } else { a };
            let from = if kind == JoinKind::Right { &right } else { &left };
            let written = from.iter().find(|(_, id)| *id == shown).map_or(name.clone(), |(n, _)| n.clone());
            shape.push((written, shown));
            used_left.push(a);
            used_right.push(b);
        }
        let rest = |side: Shape, used: Vec<ColId>| side.into_iter().filter(move |(_, id)| !used.contains(id));
        if kind == JoinKind::Right {
            shape.extend(rest(right, used_right));
            shape.extend(rest(left, used_left));
        } else {
            shape.extend(rest(left, used_left));
            shape.extend(rest(right, used_right));
        }
        Ok(shape)
    }

    /// Applies FOR UPDATE and FOR SHARE to the relations of a block. Error 3568 for an unknown name in OF, 3569 for a
    /// table that two clauses mean.
    pub(super) fn apply_locking(&mut self, locking: &[ast::Locking], rels: &mut [Rel]) -> Result<()> {
        let mut meant = vec![false; rels.len()];
        for clause in locking {
            let strength = match clause.strength {
                ast::LockStrength::Update => LockStrength::Exclusive,
                ast::LockStrength::Share => LockStrength::Shared,
            };
            let wait = match clause.wait {
                ast::LockWait::Wait => LockWait::Wait,
                ast::LockWait::NoWait => LockWait::NoWait,
                ast::LockWait::SkipLocked => LockWait::SkipLocked,
            };
            let lock = RowLock { strength, wait };
            for name in &clause.of {
                if !rels.iter().any(|r| is_called(&self.arena, r, name)) {
                    return Err(error(ErrorCode::UnresolvedTableLock, &[&super::scope::quoted_table(name)]));
                }
            }
            for (rel, meant) in rels.iter_mut().zip(&mut meant) {
                let named = clause.of.iter().any(|n| is_called(&self.arena, rel, n));
                let table = rel.view.is_some() || matches!(rel.kind, RelKind::Base(_));
                if !(named || clause.of.is_empty() && table) {
                    continue;
                }
                if std::mem::replace(meant, true) {
                    return Err(error(ErrorCode::DuplicateTableLock, &[&format!("`{}`", rel.alias)]));
                }
                match &mut rel.kind {
                    RelKind::Base(slot) => {
                        let table = &mut self.arena.tables[*slot as usize];
                        if table.table.source == gannet_schema::RowSource::Engine {
                            rel.lock = lock;
                            table.intent = Intent::of_lock(strength);
                        }
                    }
                    RelKind::Derived(query) if rel.view.is_some() => self.lock_view(query, lock),
                    RelKind::Derived(_) | RelKind::Cte(_) => {}
                }
            }
        }
        Ok(())
    }
}

/// The relation answers to a name in OF.
fn is_called(arena: &crate::logical::Arena, rel: &Rel, name: &ast::ObjectName) -> bool {
    let slot = match rel.kind {
        RelKind::Base(slot) => Some(slot),
        RelKind::Derived(_) | RelKind::Cte(_) => rel.view,
    };
    let table = slot.map(|slot| &arena.tables[slot as usize].table);
    let of = |s: &ast::Ident| table.is_some_and(|t| gannet_schema::names::canonical_schema(&s.text) == *t.schema);
    name.schema.as_ref().is_none_or(of) && *rel.alias == *name.name.text
}

/// Column names written behind an alias. Error 1353.
pub(super) fn rename(query: &mut Query, names: &[ast::Ident]) -> Result<()> {
    if names.is_empty() {
        return Ok(());
    }
    if names.len() != query.columns.len() {
        return Err(error(ErrorCode::ViewWrongList, &[]));
    }
    for (column, name) in query.columns.iter_mut().zip(names) {
        column.name = name.text.clone();
    }
    Ok(())
}

/// Error 1060 when two columns of a derived table have one name.
pub(super) fn unique_names(query: &Query) -> Result<Vec<Box<str>>> {
    let mut seen = std::collections::HashSet::new();
    for column in &query.columns {
        if !seen.insert(fold_name(&column.name).into_owned()) {
            return Err(error(ErrorCode::DupFieldname, &[&column.name]));
        }
    }
    Ok(query.columns.iter().map(|c| c.name.clone()).collect())
}

/// USE, FORCE and IGNORE INDEX. Error 1176.
fn index_hints(table: &Table, hints: &[ast::IndexHint]) -> Result<IndexHints> {
    let mut result = IndexHints::default();
    // For finding rows, ORDER BY, GROUP BY.
    let (mut only, mut ignore) = ([None::<u128>; 3], [0u128; 3]);
    for hint in hints {
        let mut positions = Vec::with_capacity(hint.indexes.len());
        for name in &hint.indexes {
            match table.index(&name.text) {
                Some(position) => positions.push(position as u32),
                None => return Err(error(ErrorCode::KeyDoesNotExits, &[&name.text, &table.name])),
            }
        }
        let mask = positions.iter().fold(0u128, |mask, p| mask | 1 << p);
        let scopes = match hint.purpose {
            None => [true; 3],
            Some(ast::IndexHintPurpose::Join) => [true, false, false],
            Some(ast::IndexHintPurpose::OrderBy) => [false, true, false],
            Some(ast::IndexHintPurpose::GroupBy) => [false, false, true],
        };
        for ((used, ignored), _) in only.iter_mut().zip(&mut ignore).zip(scopes).filter(|(_, scope)| *scope) {
            match hint.action {
                ast::IndexHintAction::Ignore => *ignored |= mask,
                _ => *used = Some(used.unwrap_or(0) | mask),
            }
        }
        result.force |= hint.action == ast::IndexHintAction::Force && scopes[0];
    }
    let all = |used: Option<u128>, ignored: u128| used.unwrap_or(u128::MAX) & !ignored;
    result.join = all(only[0], ignore[0]);
    result.order = all(only[1], ignore[1]);
    result.group = all(only[2], ignore[2]);
    Ok(result)
}

/// Where a table reference begins: the position of its first name.
pub(super) fn place(table: &TableRef) -> u32 {
    let alias = |a: &Option<ast::Ident>| a.as_ref().map_or(0, |a| a.span.start);
    match table {
        TableRef::Table(factor) => factor.name.name.span.start,
        TableRef::Derived(derived) => alias(&derived.alias),
        TableRef::JsonTable(table) => alias(&table.alias),
        TableRef::Join(join) => place(&join.left),
        TableRef::Nested(list) => list.first().map_or(0, place),
    }
}

/// The table is read and written in these parts only. `None`: in those that the view over it names, if any.
pub(super) fn name_parts(binder: &mut Binder<'_>, slot: u32, only: Option<Arc<[u32]>>) {
    if only.is_some() {
        binder.arena.tables[slot as usize].only = only;
    }
}

/// The parts that PARTITION (...) names, ascending. Errors 1735; 1747 for a table without parts.
pub(super) fn only_parts(table: &Table, names: &[ast::Ident]) -> Result<Option<Arc<[u32]>>> {
    if names.is_empty() {
        return Ok(None);
    }
    let Some(parts) = &table.partitions else { return Err(sql_err!(PartitionClauseOnNonpartitioned)) };
    let mut only: Vec<u32> = Vec::new();
    for name in names {
        let leaves = parts.definition().named(name);
        let leaves = leaves.ok_or_else(|| sql_err!(UnknownPartition, name, table.name))?;
        only.extend(leaves.map(|n| n as u32));
    }
    only.sort_unstable();
    only.dedup();
    Ok(Some(only.into()))
}

/// The column that a query's item is, if it is no more than that.
fn shown_column(query: &Query, id: ColId) -> Option<ColId> {
    let Body::Block(block) = &query.body else { return None };
    let item = block.items.iter().find(|item| item.id == id)?;
    match item.expr.kind {
        ExprKind::Column(column) => Some(column),
        _ => None,
    }
}
