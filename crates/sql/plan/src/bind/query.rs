//! Query expressions: WITH, set operations, VALUES, subqueries.

use super::fit::{fit_all, fitting, may_lose, mix};
use super::scope::{Clause, Scope};
use super::{Binder, error};
use crate::expr::{Expr, ExprKind, SortKey};
use crate::logical::{Arena, Body, ColId, CteQuery, Label, OutColumn, Query, Subselect};
use crate::physical::SetOperation;
use crate::plan::Intent;
use crate::typing::{Bound, common_type, is_stringy};
use gannet_parser::ast::{self, QueryBody, SetOp};
use gannet_schema::names::{eq_name, fold_name};
use gannet_types::{Coercibility, ErrorCode, Result, SqlError, SqlType, TypeId, Value};

/// Set operations inside of each other: a chain in which the operators change nests to the left.
const MAX_SET_DEPTH: u32 = 64;

/// A subquery of an expression, without a place in the arena. Error 1241 for a wrong number of columns.
pub(super) fn unplaced(b: &mut Binder<'_>, query: &ast::Query, columns: Option<usize>) -> Result<Query> {
    if query.into.is_some() {
        return Err(error(ErrorCode::WrongUsage, &[&"subquery", &"INTO"]));
    }
    let query = b.nested_query(query)?;
    match columns {
        Some(wanted) if query.columns.len() != wanted => Err(error(ErrorCode::OperandColumns, &[&wanted])),
        _ => Ok(query),
    }
}

/// Gives a subquery its place.
pub(super) fn placed(b: &mut Binder<'_>, query: Query) -> u32 {
    let free = b.free_columns(&query);
    b.arena.subqueries.push(Subselect { query, free });
    b.arena.subqueries.len() as u32 - 1
}

impl Binder<'_> {
    /// Binds the query of a statement.
    pub(crate) fn top_query(&mut self, query: &ast::Query) -> Result<Query> {
        self.place = Place { outermost: true, exists: false };
        let bound = self.query(query);
        self.scopes.clear();
        bound
    }

    /// Binds a query in a scope of its own.
    pub(super) fn nested_query(&mut self, query: &ast::Query) -> Result<Query> {
        self.nested(|b| b.query(query))
    }

    fn nested(&mut self, bind: impl FnOnce(&mut Self) -> Result<Query>) -> Result<Query> {
        self.deeper(|b| {
            let scopes = b.scopes.len();
            let hint = b.hint.take();
            let bound = bind(b);
            b.scopes.truncate(scopes);
            b.hint = hint;
            bound
        })
    }

    /// Binds a subquery of an expression. Returns its place in the arena. Error 1241 for a wrong number of columns.
    pub(super) fn subquery(&mut self, query: &ast::Query, columns: Option<usize>) -> Result<u32> {
        let query = unplaced(self, query, columns)?;
        Ok(placed(self, query))
    }

    /// Columns that the query reads and does not define.
    pub(crate) fn free_columns(&self, query: &Query) -> Vec<ColId> {
        self.arena.free_columns(query)
    }

    /// Binds a query expression; the scopes it leaves behind are the caller's to remove.
    pub(super) fn query(&mut self, query: &ast::Query) -> Result<Query> {
        let ctes = self.ctes.len();
        let place = std::mem::take(&mut self.place);
        if let Some(with) = &query.with {
            self.with_clause(with)?;
        }
        self.place = place;
        let bound = self.query_body(&query.body, query);
        self.ctes.truncate(ctes);
        bound
    }

    /// Binds a body with the clauses of a query around it.
    fn query_body(&mut self, body: &QueryBody, query: &ast::Query) -> Result<Query> {
        match body {
            QueryBody::Select(select) => self.select(select, query),
            QueryBody::Table(name) => self.table_query(name, query),
            QueryBody::Values(rows) => self.values_query(rows, query),
            QueryBody::Query(inner) => self.parenthesised(inner, query),
            QueryBody::Set(set) => self.set_query(set, query),
        }
    }

    /// `TABLE t` is `SELECT * FROM t`.
    fn table_query(&mut self, name: &ast::ObjectName, query: &ast::Query) -> Result<Query> {
        let factor =
            ast::TableFactor { name: name.clone(), partitions: Vec::new(), alias: None, index_hints: Vec::new() };
        let select = ast::Select {
            options: ast::SelectOptions::default(),
            hints: None,
            items: vec![ast::SelectItem::Wildcard(ast::Span::default())],
            from: vec![ast::TableRef::Table(Box::new(factor))],
            filter: None,
            group_by: Vec::new(),
            rollup: false,
            having: None,
            windows: Vec::new(),
            span: ast::Span::default(),
        };
        self.select(&select, query)
    }

    fn values_query(&mut self, rows: &[Vec<ast::Expr>], query: &ast::Query) -> Result<Query> {
        self.selects += 1;
        let select = self.selects;
        self.place = Place::default();
        self.scopes.push(Scope::new());
        self.scope().clause = Clause::Values;
        let width = rows.first().map_or(0, Vec::len);
        let mut bound: Vec<Vec<Bound>> = Vec::with_capacity(rows.len());
        for (i, row) in rows.iter().enumerate() {
            if row.len() != width {
                return Err(error(ErrorCode::WrongValueCountOnRow, &[&(i + 1)]));
            }
            if row.is_empty() {
                return Err(error(ErrorCode::TableValueConstructorMustHaveColumns, &[]));
            }
            if row.iter().any(|e| matches!(e, ast::Expr::Default)) {
                return Err(error(ErrorCode::TableValueConstructorCannotHaveDefault, &[]));
            }
            let values = self.pinned(|b| row.iter().map(|e| b.expr(e)).collect::<Result<Vec<_>>>())?;
            bound.push(values);
        }
        self.apply_locking(&query.locking, &mut [])?;
        self.scopes.pop();
        let mut columns = Vec::with_capacity(width);
        let mut types = Vec::with_capacity(width);
        for c in 0..width {
            let branch: Vec<Bound> = bound.iter().map(|r| r[c].clone()).collect();
            let (ty, text) = self.united(&branch)?;
            if is_stringy(&ty) {
                let fit = fit_all(self, branch, ty.collation, "UNION")?;
                bound.iter_mut().zip(fit).for_each(|(row, fit)| row[c] = fit);
            }
            let name: Box<str> = format!("column_{c}").into();
            columns.push(OutColumn { name, id: self.arena.text_column(ty.clone(), Label::Computed, text) });
            types.push(ty);
        }
        let rows = bound.into_iter().map(|r| r.into_iter().zip(&types).map(|(b, ty)| convert(b.expr, ty)).collect());
        let body = Body::Values(rows.collect());
        let mut result = Query { body, columns, order: Vec::new(), limit: None, offset: None, select };
        self.order_and_limit(&mut result, query)?;
        Ok(result)
    }

    /// `(query)` with clauses of its own, then perhaps further ones.
    fn parenthesised(&mut self, inner: &ast::Query, query: &ast::Query) -> Result<Query> {
        let mut bound = match query.locking.is_empty() {
            true => self.nested_query(inner)?,
            // The tables of the query inside are meant.
            false => {
                let mut inner = inner.clone();
                inner.locking.extend(query.locking.iter().cloned());
                self.nested_query(&inner)?
            }
        };
        if query.order_by.is_empty() && query.limit.is_none() {
            return Ok(bound);
        }
        // The outer clauses work on the inner result: a union of one.
        let columns = self.fresh_columns(&bound)?;
        let select = bound.select;
        let count_all = take_count(&mut bound);
        let body = Body::Set { inputs: vec![bound], kind: SetOperation::Union, distinct: false, count_all };
        let mut result = Query { body, columns, order: Vec::new(), limit: None, offset: None, select };
        self.order_and_limit(&mut result, query)?;
        Ok(result)
    }

    fn fresh_columns(&mut self, of: &Query) -> Result<Vec<OutColumn>> {
        let fresh = of.columns.iter().map(|c| {
            let ty = self.arena.types[c.id as usize].clone();
            OutColumn { name: c.name.clone(), id: self.shown(ty, Label::Computed, c.id) }
        });
        Ok(fresh.collect())
    }

    /// Type and coercibility of a column that several queries or rows make. Error 1271 for two implicit collations.
    fn united(&self, branches: &[Bound]) -> Result<(SqlType, (Coercibility, bool))> {
        let (ty, source) = common_type(self.rule_context(), branches, "UNION")?;
        if source.coercibility == Coercibility::None {
            return Err(error(ErrorCode::CantAggregateNcollations, &[&"UNION"]));
        }
        Ok((ty, (source.coercibility, source.ascii_only)))
    }

    fn set_query(&mut self, set: &ast::SetOperation, query: &ast::Query) -> Result<Query> {
        let place = self.place;
        let mut inputs = vec![self.set_operand(&set.first, &[])?];
        let mut operator: Option<(SetOperation, bool)> = None;
        let mut depth = 0;
        for (i, arm) in set.rest.iter().enumerate() {
            let kind = match arm.op {
                SetOp::Union => SetOperation::Union,
                SetOp::Intersect => SetOperation::Intersect,
                SetOp::Except => SetOperation::Except,
            };
            let distinct = !arm.all;
            // A run of one operator is one node; a distinct union makes the unions to its left distinct, too.
            let same = |(k, d): (SetOperation, bool)| {
                k == kind && k != SetOperation::Except && (d == distinct || k == SetOperation::Union && distinct)
            };
            if let Some((before, all)) = operator.filter(|o| !same(*o)) {
                depth += 1;
                if depth > MAX_SET_DEPTH {
                    return Err(self.options.too_deep());
                }
                inputs = vec![self.set_node(inputs, before, all)?];
            }
            // A locking clause behind all is for the tables of the last query block.
            let locking = if i + 1 == set.rest.len() { &query.locking[..] } else { &[] };
            self.place = Place { outermost: false, ..place };
            inputs.push(self.set_operand(&arm.body, locking)?);
            operator = Some((kind, distinct));
        }
        let (kind, distinct) = operator.unwrap_or((SetOperation::Union, false));
        let mut left = self.set_node(inputs, kind, distinct)?;
        self.order_and_limit(&mut left, query)?;
        Ok(left)
    }

    /// Binds an operand of a set operation: a body without clauses of its own. The body is not copied: it may be deep,
    /// and what is inside it has operands of its own.
    fn set_operand(&mut self, body: &QueryBody, locking: &[ast::Locking]) -> Result<Query> {
        let bare = ast::Query {
            with: None,
            body: QueryBody::Values(Vec::new()),
            order_by: Vec::new(),
            limit: None,
            locking: locking.to_vec(),
            into: None,
            span: ast::Span::default(),
        };
        self.nested(|b| b.query_body(body, &bare))
    }

    fn set_node(&mut self, mut inputs: Vec<Query>, kind: SetOperation, distinct: bool) -> Result<Query> {
        let width = inputs[0].columns.len();
        if inputs.iter().any(|q| q.columns.len() != width) {
            return Err(error(ErrorCode::WrongNumberOfColumnsInSelect, &[]));
        }
        let mut columns = Vec::with_capacity(width);
        let mut types: Vec<SqlType> = Vec::with_capacity(width);
        let mut errors: Vec<Vec<Option<SqlError>>> = vec![vec![None; width]; inputs.len()];
        for c in 0..width {
            let branch: Vec<Bound> = inputs.iter().map(|q| self.column(q.columns[c].id)).collect();
            let (ty, text) = self.united(&branch)?;
            for (errors, part) in errors.iter_mut().zip(&branch) {
                if is_stringy(&ty) && !part.ascii && may_lose(part.ty(), ty.collation) {
                    errors[c] = Some(mix(self, &branch, "UNION"));
                }
            }
            let name = inputs[0].columns[c].name.clone();
            columns.push(OutColumn { name, id: self.arena.text_column(ty.clone(), Label::Computed, text) });
            types.push(ty);
        }
        for (input, errors) in inputs.iter_mut().zip(&errors) {
            self.coerce(input, &types, Coercion::Common(errors))?;
        }
        let select = inputs[0].select;
        let count_all = take_count(&mut inputs[0]);
        let body = Body::Set { inputs, kind, distinct, count_all };
        Ok(Query { body, columns, order: Vec::new(), limit: None, offset: None, select })
    }

    /// Makes a query deliver the given types.
    pub(super) fn coerce(&mut self, query: &mut Query, types: &[SqlType], how: Coercion<'_>) -> Result<()> {
        let same = |a: &SqlType, b: &SqlType| how.stays(a, b);
        let fits = query.columns.iter().zip(types).all(|(c, ty)| same(&self.arena.types[c.id as usize], ty));
        if fits {
            return Ok(());
        }
        match &mut query.body {
            Body::Block(block) if !block.distinct => {
                for (i, ((item, column), ty)) in block.items.iter_mut().zip(&mut query.columns).zip(types).enumerate() {
                    if !same(&item.expr.ty, ty) {
                        let expr = std::mem::replace(&mut item.expr, crate::make::constant(gannet_types::Value::Null));
                        item.expr = how.convert(i, expr, ty)?;
                        // Other clauses may read the item under its old id.
                        item.id = self.arena.column(ty.clone(), Label::Computed);
                        column.id = item.id;
                    }
                }
            }
            Body::Values(rows) => {
                for row in rows {
                    for (i, (e, ty)) in row.iter_mut().zip(types).enumerate() {
                        let expr = std::mem::replace(e, crate::make::constant(gannet_types::Value::Null));
                        *e = how.convert(i, expr, ty)?;
                    }
                }
                for (column, ty) in query.columns.iter().zip(types) {
                    self.arena.types[column.id as usize] = ty.clone();
                }
            }
            _ => self.wrap(query, types, how)?,
        }
        Ok(())
    }

    /// Puts a SELECT around a query that converts its columns.
    fn wrap(&mut self, query: &mut Query, types: &[SqlType], how: Coercion<'_>) -> Result<()> {
        let inner = query.take();
        let width = inner.columns.len() as u32;
        let mut first = 0;
        for (i, column) in inner.columns.iter().enumerate() {
            let ty = self.arena.types[column.id as usize].clone();
            let id = self.arena.column(ty, Label::Computed);
            if i == 0 {
                first = id;
            }
        }
        let mut block = super::select::empty_block(inner.select);
        let inner_select = inner.select;
        for (i, (column, ty)) in inner.columns.iter().zip(types).enumerate() {
            let expr = how.convert(i, self.arena.expr(first + i as u32), ty)?;
            let id = self.arena.column(ty.clone(), Label::Computed);
            block.items.push(crate::logical::Item { expr, id });
            query.columns.push(OutColumn { name: column.name.clone(), id });
        }
        block.rels.push(crate::logical::Rel {
            alias: "".into(),
            kind: crate::logical::RelKind::Derived(Box::new(inner)),
            first,
            width,
            lock: crate::physical::RowLock::default(),
            hints: crate::logical::IndexHints::default(),
            origin: inner_select,
            view: None,
        });
        block.from = Some(crate::logical::From::Rel(0));
        query.body = Body::Block(Box::new(block));
        Ok(())
    }

    /// ORDER BY and LIMIT of a set operation or VALUES: names, positions, and expressions of its columns.
    fn order_and_limit(&mut self, query: &mut Query, ast: &ast::Query) -> Result<()> {
        let mut scope = Scope::new();
        scope.clause = Clause::SetOrder;
        let first = query.columns.first().map_or(0, |c| c.id);
        let contiguous = query.columns.iter().enumerate().all(|(i, c)| c.id == first + i as u32);
        if contiguous {
            scope.rels.push(super::scope::ScopeRel {
                alias: "".into(),
                schema: None,
                first,
                names: super::scope::Names::List(query.columns.iter().map(|c| c.name.clone()).collect()),
            });
        }
        self.scopes.push(scope);
        for (i, item) in ast.order_by.iter().enumerate() {
            if let ast::Expr::Column(ast::ColumnRef { qualifier: Some(table), .. }) = &item.expr {
                return Err(error(ErrorCode::TablenameNotAllowedHere, &[&table.name.text, &"global ORDER clause"]));
            }
            let expr = match super::call::position(&item.expr) {
                Some(n) => {
                    self.pin_position(&item.expr)?;
                    match n.checked_sub(1).and_then(|n| query.columns.get(n as usize)) {
                        Some(column) => self.arena.expr(column.id),
                        None => return Err(error(ErrorCode::BadField, &[&n, &"order clause"])),
                    }
                }
                None => {
                    let named = match &item.expr {
                        ast::Expr::Column(c) if c.qualifier.is_none() => {
                            query.columns.iter().find(|o| eq_name(&o.name, &c.column.text)).map(|o| o.id)
                        }
                        _ => None,
                    };
                    match named {
                        Some(id) => self.arena.expr(id),
                        None => self.pinned(|b| b.expr(&item.expr))?.expr,
                    }
                }
            };
            let top = self.scopes.len() - 1;
            if !self.scopes[top].aggregates.is_empty() {
                return Err(error(ErrorCode::AggregateOrderForUnion, &[&(i + 1)]));
            }
            query.order.push(SortKey { expr, descending: item.desc });
        }
        self.scopes.pop();
        if let Some(limit) = &ast.limit {
            query.limit = Some(self.limit_value(&limit.count)?);
            query.offset = limit.offset.as_ref().map(|o| self.limit_value(o)).transpose()?;
        }
        Ok(())
    }

    /// LIMIT and OFFSET: literals are lifted, a `?` is an unsigned integer. Error 1327 for a name: it is one of a
    /// variable.
    pub(super) fn limit_value(&mut self, e: &ast::Expr) -> Result<Expr> {
        if let ast::Expr::Column(column) = e {
            if let Some(local) = super::scope::local(self, column)? {
                return match local.ty().id.counts_rows() {
                    true => Ok(local.expr),
                    false => Err(error(ErrorCode::WrongSpvarTypeInLimit, &[])),
                };
            }
            return Err(error(ErrorCode::SpUndeclaredVar, &[&super::scope::display(column)]));
        }
        self.hint = Some(SqlType::bigint_unsigned());
        let pinning = std::mem::take(&mut self.pinning);
        let bound = self.lifted(e);
        self.pinning = pinning;
        self.hint = None;
        Ok(bound?.expr)
    }

    /// The plan depends on an integer that means a position.
    pub(super) fn pin_position(&mut self, e: &ast::Expr) -> Result<()> {
        if let ast::Expr::Literal(literal) = e {
            self.pin_literal(literal)?;
        }
        Ok(())
    }

    pub(super) fn with_clause(&mut self, with: &ast::With) -> Result<()> {
        let start = self.ctes.len();
        for cte in &with.ctes {
            let name = fold_name(&cte.name.text).into_owned();
            if self.ctes[start..].iter().any(|(n, _)| *n == name) {
                return Err(error(ErrorCode::NonuniqTable, &[&cte.name.text]));
            }
            let number = if with.recursive && self.mentions(&cte.query, &cte.name.text) {
                self.recursive_cte(cte, &name)?
            } else {
                let mut query = self.nested_query(&cte.query)?;
                super::from::rename(&mut query, &cte.columns)?;
                super::from::unique_names(&query)?;
                self.add_cte(&cte.name.text, query)
            };
            self.ctes.push((name, number));
        }
        Ok(())
    }

    fn add_cte(&mut self, name: &str, query: Query) -> u32 {
        let (base, distinct) = (Some(query), false);
        let free = base.as_ref().map_or_else(Vec::new, |q| self.free_columns(q));
        self.arena.ctes.push(CteQuery {
            name: name.into(),
            base,
            recursive: None,
            distinct,
            limit: None,
            uses: 0,
            free,
        });
        self.arena.ctes.len() as u32 - 1
    }

    pub(super) fn find_cte(&self, name: &str) -> Option<u32> {
        let folded = fold_name(name);
        self.ctes.iter().rev().find(|(n, _)| **n == *folded).map(|(_, number)| *number)
    }

    /// Columns of a CTE; counts the use. Error 3577.
    pub(super) fn cte_columns(&mut self, number: u32) -> Result<Vec<(Box<str>, SqlType, ColId)>> {
        let depth = self.scopes.len();
        if let Some(recursion) = self.recursions.iter_mut().find(|r| r.cte == number) {
            if recursion.found || recursion.depth != depth {
                let name = &self.arena.ctes[number as usize].name;
                return Err(error(ErrorCode::CteRecursiveRequiresSingleReference, &[name]));
            }
            recursion.found = true;
        }
        let cte = &mut self.arena.ctes[number as usize];
        cte.uses += 1;
        let Some(base) = &cte.base else { return Err(SqlError::internal("a common table expression without a query")) };
        let types = &self.arena.types;
        Ok(base.columns.iter().map(|c| (c.name.clone(), types[c.id as usize].clone(), c.id)).collect())
    }

    /// `base UNION [ALL] recursive`. Errors 3573, 3574, 3575, 3577.
    fn recursive_cte(&mut self, cte: &ast::Cte, folded: &str) -> Result<u32> {
        let name = &cte.name.text;
        let QueryBody::Set(set) = &cte.query.body else {
            return Err(error(ErrorCode::CteRecursiveRequiresUnion, &[name]));
        };
        if set.rest.iter().any(|arm| arm.op != SetOp::Union) {
            return Err(SqlError::unsupported("EXCEPT or INTERSECT in a recursive common table expression"));
        }
        let bodies: Vec<&QueryBody> = std::iter::once(&set.first).chain(set.rest.iter().map(|a| &a.body)).collect();
        let recursive = |b: &QueryBody| self.body_mentions(b, name);
        let Some(split) = bodies.iter().position(|b| recursive(b)) else {
            return Err(error(ErrorCode::CteRecursiveRequiresUnion, &[name]));
        };
        if split == 0 || bodies[split..].iter().any(|b| !recursive(b)) {
            return Err(error(ErrorCode::CteRecursiveRequiresNonrecursiveFirst, &[name]));
        }
        let arms = &set.rest[split - 1..];
        let distinct = arms.iter().any(|a| !a.all);
        if arms[1..].iter().skip_while(|a| a.all).any(|a| a.all) || (!arms[0].all && arms[1..].iter().any(|a| a.all)) {
            return Err(SqlError::unsupported(
                "recursive query blocks with UNION DISTINCT then UNION ALL, in recursive Common Table Expression",
            ));
        }
        let mut seeds = Vec::new();
        for body in &bodies[..split] {
            seeds.push(self.set_operand(body, &[])?);
        }
        let mut base = match seeds.len() {
            1 => seeds.remove(0),
            _ => self.set_node(seeds, SetOperation::Union, set.rest[..split - 1].iter().any(|a| !a.all))?,
        };
        super::from::rename(&mut base, &cte.columns)?;
        super::from::unique_names(&base)?;
        let (names, types) = kept_columns(&mut self.arena, &base);
        let number = self.add_cte(name, base);
        self.ctes.push((folded.to_owned(), number));
        let mut parts = Vec::new();
        for (place, body) in bodies.iter().enumerate().skip(split) {
            let recursion = Recursion { cte: number, depth: self.scopes.len() + 1, found: false };
            self.recursions.push(recursion);
            let last = place + 1 == bodies.len();
            let part = self.set_operand(body, if last { &cte.query.locking } else { &[] });
            self.recursions.pop();
            let mut part = part?;
            let block_ordered =
                matches!(&part.body, Body::Block(b) if b.distinct || !b.order.is_empty() || b.limit.is_some());
            if block_ordered || !part.order.is_empty() || part.limit.is_some() {
                return Err(SqlError::unsupported(
                    "ORDER BY / LIMIT / SELECT DISTINCT in recursive query block of Common Table Expression",
                ));
            }
            if part.columns.len() != types.len() {
                return Err(error(ErrorCode::WrongNumberOfColumnsInSelect, &[]));
            }
            if let Body::Block(block) = &part.body
                && (block.aggregated || !block.windows.is_empty())
            {
                return Err(error(ErrorCode::CteRecursiveForbidsAggregation, &[name]));
            }
            self.coerce(&mut part, &types, Coercion::Stored(&names))?;
            parts.push(part);
        }
        self.ctes.pop();
        let recursive = match parts.len() {
            1 => parts.remove(0),
            _ => self.set_node(parts, SetOperation::Union, false)?,
        };
        if !cte.query.order_by.is_empty() {
            return Err(SqlError::unsupported("ORDER BY over UNION in recursive Common Table Expression"));
        }
        let limit = match &cte.query.limit {
            None => None,
            Some(limit) => {
                let count = self.limit_value(&limit.count)?;
                let offset = limit.offset.as_ref().map(|o| self.limit_value(o)).transpose()?;
                Some((Some(count), offset))
            }
        };
        self.arena.recurses(number, recursive, distinct, limit);
        Ok(number)
    }

    fn mentions(&self, query: &ast::Query, name: &str) -> bool {
        self.body_mentions(&query.body, name)
    }

    /// The name is used as a table somewhere in FROM (subqueries of expressions are looked at by their text's tables
    /// only when they stand in FROM).
    fn body_mentions(&self, body: &QueryBody, name: &str) -> bool {
        fn table(t: &ast::TableRef, name: &str) -> bool {
            match t {
                ast::TableRef::Table(f) => f.name.schema.is_none() && eq_name(&f.name.name.text, name),
                ast::TableRef::Derived(d) => inside(&d.query.body, name),
                ast::TableRef::JsonTable(_) => false,
                ast::TableRef::Join(j) => table(&j.left, name) || table(&j.right, name),
                ast::TableRef::Nested(list) => list.iter().any(|t| table(t, name)),
            }
        }
        fn inside(body: &QueryBody, name: &str) -> bool {
            match body {
                QueryBody::Select(select) => select.from.iter().any(|t| table(t, name)),
                QueryBody::Values(_) => false,
                QueryBody::Table(t) => t.schema.is_none() && eq_name(&t.name.text, name),
                QueryBody::Query(q) => inside(&q.body, name),
                QueryBody::Set(s) => inside(&s.first, name) || s.rest.iter().any(|a| inside(&a.body, name)),
            }
        }
        inside(body, name)
    }

    /// What is being bound inside of a recursive query block must read the CTE first. Error 3576.
    pub(super) fn check_recursion_first(&self, rels: &[crate::logical::Rel]) -> Result<()> {
        let forced = |r: &Recursion| {
            rels.iter().any(|rel| matches!(rel.kind, crate::logical::RelKind::Cte(number) if number == r.cte))
        };
        match self.recursions.iter().find(|r| forced(r)) {
            Some(r) => {
                let name = &self.arena.ctes[r.cte as usize].name;
                Err(error(ErrorCode::CteRecursiveForbiddenJoinOrder, &[name]))
            }
            None => Ok(()),
        }
    }

    /// Intent of tables in a plain query.
    pub(super) const READ: Intent = Intent::Read;
}

/// How the columns of a query become those of a set operation, or of a table that keeps their rows.
#[derive(Clone, Copy)]
pub(super) enum Coercion<'a> {
    /// Values of the common type; the error of text that has no place in its character set, by column.
    Common(&'a [Option<SqlError>]),
    /// As values are stored in columns of these names: errors 1264, 1265, 1366, 1406 where SQL mode is strict.
    Stored(&'a [Box<str>]),
}

impl Coercion<'_> {
    /// A value of type `from` is one of type `to` as it is.
    fn stays(self, from: &SqlType, to: &SqlType) -> bool {
        let same = from.id == to.id
            && from.unsigned == to.unsigned
            && from.scale == to.scale
            && from.collation == to.collation
            && from.members == to.members;
        match self {
            Coercion::Common(_) => same,
            // A DECIMAL, as a text, may be longer than its column.
            Coercion::Stored(_) => same && (to.id.is_integer() || to.id.is_temporal() || to.id == TypeId::Double),
        }
    }

    fn convert(self, column: usize, e: Expr, ty: &SqlType) -> Result<Expr> {
        match self {
            Coercion::Common(errors) => match &errors[column] {
                Some(error) => Ok(convert(fitting(e, ty.collation, error)?, ty)),
                None => Ok(convert(e, ty)),
            },
            Coercion::Stored(names) => {
                let Some(def) = gannet_functions::function("STORED IN") else {
                    return Err(SqlError::internal("a value without a way into its column"));
                };
                let name = crate::make::constant(Value::text(&names[column]));
                let ty = SqlType { nullable: true, ..ty.clone() };
                Ok(Expr { kind: ExprKind::Call(def, [e, name].into()), ty })
            }
        }
    }
}

/// Where the query that is bound next is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Place {
    /// Its first SELECT is the statement's first one.
    pub(super) outermost: bool,
    /// It is EXISTS's.
    pub(super) exists: bool,
}

/// A recursive query block that is being bound.
pub(super) struct Recursion {
    cte: u32,
    /// Scopes around its own FROM.
    depth: usize,
    /// The CTE has been named.
    found: bool,
}

/// Names and types of the columns in which a recursive common table expression keeps its rows.
fn kept_columns(arena: &mut Arena, base: &Query) -> (Vec<Box<str>>, Vec<SqlType>) {
    let column = |c: &OutColumn| {
        let ty = &mut arena.types[c.id as usize];
        // NULL alone is a text without room for a character.
        if ty.id == TypeId::Null {
            *ty = SqlType::varbinary(0);
        }
        ty.nullable = true;
        (c.name.clone(), ty.clone())
    };
    base.columns.iter().map(column).unzip()
}

/// SQL_CALC_FOUND_ROWS of the first SELECT counts for the set operation around it.
fn take_count(first: &mut Query) -> bool {
    match &mut first.body {
        Body::Block(block) => std::mem::take(&mut block.calc_found_rows),
        Body::Set { count_all, .. } => std::mem::take(count_all),
        Body::Values(_) | Body::Json(..) => false,
    }
}

/// The expression as a value of the type.
pub(crate) fn convert(e: Expr, ty: &SqlType) -> Expr {
    let same = e.ty.id == ty.id
        && e.ty.unsigned == ty.unsigned
        && e.ty.scale == ty.scale
        && e.ty.collation == ty.collation
        && e.ty.members == ty.members;
    if same || matches!(e.kind, ExprKind::Literal(gannet_types::Value::Null)) {
        return Expr { ty: ty.clone(), ..e };
    }
    let mut ty = ty.clone();
    ty.nullable = e.ty.nullable;
    // Among texts of other rows bits are the digits of their number.
    let bits = e.ty.id == gannet_types::TypeId::Bit && ty.id.is_string();
    let e = if bits { convert(e, &SqlType::bigint_unsigned()) } else { e };
    if ty.id.is_string() && !ty.collation.is_binary() {
        return super::fit::converted(e, ty, true);
    }
    crate::fold::simplify(Expr { kind: ExprKind::Cast(Box::new(e)), ty })
}
