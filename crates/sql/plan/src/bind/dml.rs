//! INSERT, REPLACE, UPDATE, DELETE.

use super::from::{FromBuilder, name_parts, only_parts};
use super::scope::{Clause, Names, Scope, ScopeRel, display};
use super::target::{Named, ThroughView, limited_through};
use super::{Binder, BoundCheck, RowsBy, error};
use crate::expr::{Expr, ExprKind, SortKey};
use crate::logical::{Block, Body, ColId, Query, RelKind, conjuncts};
use crate::physical::{LockStrength, LockWait, Reads, RowLock};
use crate::plan::{Intent, LoadField};
use crate::typing::Bound;
use gannet_parser::ast;
use gannet_schema::names::{check_schema_name, eq_name};
use gannet_schema::{RowSource, Table};
use gannet_types::{ErrorCode, Result, SqlError, Value};
use std::sync::Arc;

/// A bound INSERT or REPLACE.
pub(crate) struct BoundInsert {
    pub(crate) table: u32,
    pub(crate) columns: Vec<u32>,
    pub(crate) source: BoundSource,
    pub(crate) replace: bool,
    pub(crate) ignore: bool,
    pub(crate) on_duplicate: Vec<(u32, Option<Expr>)>,
    /// The row there is, then the row that was to be inserted, then the columns of the source: as `on_duplicate` reads
    /// them.
    pub(crate) update_row: Vec<ColId>,
    /// Columns of the row under construction, as VALUES reads them.
    pub(crate) value_row: Vec<ColId>,
    /// Of the view that is named.
    pub(crate) checks: Vec<BoundCheck>,
}

/// Where rows come from.
pub(crate) enum BoundSource {
    Values(Vec<Vec<Option<Expr>>>),
    Query(Box<Query>),
}

/// A bound UPDATE: the block delivers the rows to change.
pub(crate) struct BoundUpdate {
    pub(crate) block: Block,
    pub(crate) targets: Vec<BoundTarget>,
    pub(crate) ignore: bool,
}

/// One updated table.
pub(crate) struct BoundTarget {
    /// First column of its relation, which names it in the block: a rewrite of the joins moves relations to other
    /// positions.
    pub(crate) first: ColId,
    pub(crate) assignments: Vec<(u32, Option<Expr>)>,
    /// Of views through which it is updated.
    pub(crate) checks: Vec<BoundCheck>,
}

/// A bound DELETE.
pub(crate) struct BoundDelete {
    pub(crate) block: Block,
    /// First columns of the targets' relations, as in [`BoundTarget::first`].
    pub(crate) targets: Vec<ColId>,
    pub(crate) ignore: bool,
}

fn exclusive() -> RowLock {
    RowLock { strength: LockStrength::Exclusive, wait: LockWait::Wait }
}

/// Puts the table that gets rows, or the one below a view, into the scope: that table, its place, and the conditions
/// of the view. `names`: of the columns that get values.
fn row_target(
    binder: &mut Binder<'_>,
    mut table: Arc<Table>,
    name: &ast::ObjectName,
    names: Option<&[&ast::ColumnRef]>,
    by: RowsBy,
    builder: &mut FromBuilder,
) -> Result<(Arc<Table>, u32, Vec<BoundCheck>)> {
    let alias = name.name.text.clone();
    let mut checks = Vec::new();
    if table.view().is_some() {
        let (rel, columns, check) = binder.inserted_view(&table, names, by, builder)?;
        checks.push(check);
        let schema = Some((&*table.schema).into());
        if let RelKind::Base(slot) = rel.kind {
            table = binder.arena.tables[slot as usize].table.clone();
        }
        let names = Names::View(columns, table.columns.len());
        binder.scope().rels.push(ScopeRel { alias, schema, first: rel.first, names });
        builder.rels.push(rel);
    } else {
        binder.add_base(&table, &alias, builder, Default::default());
    }
    match builder.rels[0].kind {
        RelKind::Base(slot) => Ok((table, slot, checks)),
        _ => Err(SqlError::internal("target without a table")),
    }
}

/// A hexadecimal or bit literal without a character set: a number where a number is wanted.
fn bits_of(e: &ast::Expr) -> Option<&[u8]> {
    use ast::LiteralValue::{Bit, Hex};
    match e {
        ast::Expr::Literal(ast::Literal {
            value: Hex { bytes, charset: None } | Bit { bytes, charset: None }, ..
        }) => (bytes.len() <= 8).then_some(bytes),
        _ => None,
    }
}

/// The expressions of a query's columns, in front of the first wildcard. What set operators unite is strings.
fn column_expressions(body: &mut ast::QueryBody, each: &mut dyn FnMut(usize, &mut ast::Expr)) {
    match body {
        ast::QueryBody::Select(select) => {
            for (i, item) in select.items.iter_mut().enumerate() {
                let ast::SelectItem::Expr { expr, .. } = item else { return };
                each(i, expr);
            }
        }
        ast::QueryBody::Values(rows) => {
            rows.iter_mut().for_each(|row| row.iter_mut().enumerate().for_each(|(i, e)| each(i, e)));
        }
        ast::QueryBody::Query(query) => column_expressions(&mut query.body, each),
        ast::QueryBody::Table(_) | ast::QueryBody::Set(_) => {}
    }
}

/// The query of INSERT ... SELECT, its hexadecimal and bit literals for numeric columns being numbers as in VALUES.
/// `None`: there are none.
fn hex_as_numbers(query: &ast::Query, table: &Table, columns: &[u32]) -> Option<ast::Query> {
    if !has_bits(&query.body) {
        return None;
    }
    let numeric = |i: usize| columns.get(i).is_some_and(|c| table.columns[*c as usize].ty.id.is_numeric());
    let mut numbers = query.clone();
    column_expressions(&mut numbers.body, &mut |i, e| {
        let number = bits_of(e).filter(|_| numeric(i)).map(|bytes| bytes.iter().fold(0, |n, b| n << 8 | u64::from(*b)));
        if let (Some(number), ast::Expr::Literal(literal)) = (number, e) {
            literal.value = ast::LiteralValue::Int(number);
        }
    });
    Some(numbers)
}

fn has_bits(body: &ast::QueryBody) -> bool {
    match body {
        ast::QueryBody::Select(select) => {
            let bits =
                |item: &ast::SelectItem| matches!(item, ast::SelectItem::Expr { expr, .. } if bits_of(expr).is_some());
            select.items.iter().any(bits)
        }
        ast::QueryBody::Values(rows) => rows.iter().flatten().any(|e| bits_of(e).is_some()),
        ast::QueryBody::Query(query) => has_bits(&query.body),
        ast::QueryBody::Table(_) | ast::QueryBody::Set(_) => false,
    }
}

impl Binder<'_> {
    fn target_table(&self, name: &ast::ObjectName) -> Result<Arc<Table>> {
        let schema = self.schema_of(name)?;
        if let Some(told) = self.options.on_table {
            told(schema, &name.name.text);
        }
        let table = self.snapshot.require_table(schema, &name.name.text)?;
        if matches!(table.source, RowSource::Virtual(_)) {
            return Err(error(ErrorCode::NonUpdatableTable, &[&table.name, &"INSERT"]));
        }
        Ok(table.clone())
    }

    pub(crate) fn insert(&mut self, insert: &ast::Insert) -> Result<BoundInsert> {
        if !insert.returning.is_empty() {
            return Err(SqlError::unsupported("RETURNING"));
        }
        let _ = self.enter_block(0, insert.hints.as_deref());
        self.arena.reads = match &insert.source {
            ast::InsertSource::Query(query) if !matches!(query.body, ast::QueryBody::Values(_)) => Reads::Source,
            _ => Reads::Current,
        };
        let table = self.target_table(&insert.table)?;
        let only = only_parts(&table, &insert.partitions)?;
        self.scopes.push(Scope::new());
        let intent = if insert.replace { Intent::Replace } else { Intent::Insert };
        let mut builder = FromBuilder::new(intent);
        let listed = insert.columns.as_ref().is_some_and(|list| !list.is_empty());
        let updated = insert.on_duplicate.iter().filter(|_| listed).map(|a| &a.column);
        let names = insert.columns.as_ref().map(|list| list.iter().chain(updated).collect::<Vec<_>>());
        let (table, slot, checks) =
            row_target(self, table, &insert.table, names.as_deref(), RowsBy::Insert, &mut builder)?;
        name_parts(self, slot, only);
        let old = builder.rels[0].first;
        let columns = self.insert_columns(&table, insert)?;
        self.arena.tables[slot as usize].starred = insert.columns.is_none();
        let mut bound = BoundInsert {
            table: slot,
            source: BoundSource::Values(Vec::new()),
            replace: insert.replace,
            ignore: insert.ignore,
            on_duplicate: Vec::new(),
            update_row: Vec::new(),
            value_row: (old..old + table.columns.len() as u32).collect(),
            columns,
            checks,
        };
        match &insert.source {
            ast::InsertSource::Values(rows) => {
                let named = insert.columns.as_ref().is_some_and(|c| !c.is_empty());
                self.insert_values(&table, rows, named, &mut bound)?;
            }
            ast::InsertSource::Query(query) => {
                let target = self.scopes.pop();
                self.place = super::query::Place { outermost: true, exists: false };
                let numbers = hex_as_numbers(query, &table, &bound.columns);
                let mut query = self.nested_query(numbers.as_ref().unwrap_or(query))?;
                self.scopes.extend(target);
                if query.columns.len() != bound.columns.len() {
                    return Err(error(ErrorCode::WrongValueCountOnRow, &[&1]));
                }
                // Rows of a query give no DEFAULT.
                let generated = |c: &&u32| table.columns[**c as usize].generated.is_some();
                if let Some(column) = bound.columns.iter().find(generated) {
                    let name = &table.columns[*column as usize].name;
                    return Err(error(ErrorCode::NonDefaultValueForGeneratedColumn, &[name, &table.name]));
                }
                self.lock_reads(&mut query);
                bound.source = BoundSource::Query(Box::new(query));
            }
        }
        if !insert.on_duplicate.is_empty() {
            self.on_duplicate(&table, insert, &mut bound)?;
        }
        // The rows of a query are all there before the first is stored.
        if let BoundSource::Values(rows) = &bound.source {
            let given = rows.iter().flatten().chain(bound.on_duplicate.iter().map(|(_, v)| v));
            let values: Vec<&Expr> = given.filter_map(Option::as_ref).collect();
            let view = bound.checks.first().map(|c| c.view);
            self.refuse_read_targets(None, &values, &[self.inserted(slot, &insert.table, view)], "INSERT")?;
        }
        self.scopes.pop();
        self.lock_subqueries();
        Ok(bound)
    }

    /// LOAD DATA as an INSERT of one row: columns of fields without values, then those of SET. Errors 1054, 3105.
    pub(crate) fn load(&mut self, load: &ast::Load) -> Result<(BoundInsert, Vec<LoadField>)> {
        let table = self.target_table(&load.table)?;
        let only = only_parts(&table, &load.partitions)?;
        let replace = load.duplicates == ast::LoadDuplicates::Replace;
        self.scopes.push(Scope::new());
        let mut builder = FromBuilder::new(if replace { Intent::Replace } else { Intent::Insert });
        let listed = load.columns.iter().filter_map(|target| match target {
            ast::LoadTarget::Column(name) => Some(name),
            ast::LoadTarget::Variable(_) => None,
        });
        let named: Vec<&ast::ColumnRef> = listed.chain(load.assignments.iter().map(|a| &a.column)).collect();
        // Without a list the fields are for all columns.
        let named = (!load.columns.is_empty()).then_some(named);
        let (table, slot, checks) = row_target(self, table, &load.table, named.as_deref(), RowsBy::Load, &mut builder)?;
        name_parts(self, slot, only);
        let shown = self.scope().rels[0].names.list();
        let column = |name: &ast::ColumnRef| {
            let found = shown.iter().find(|(n, _)| gannet_schema::names::eq_name(n, &name.column.text));
            found.map(|(_, c)| *c).ok_or_else(|| error(ErrorCode::BadField, &[&display(name), &"field list"]))
        };
        let mut fields = Vec::new();
        for target in &load.columns {
            fields.push(match target {
                ast::LoadTarget::Column(name) => LoadField::Column(column(name)?),
                ast::LoadTarget::Variable(ast::IntoTarget::User(name)) => LoadField::Variable(name.text.clone()),
                ast::LoadTarget::Variable(_) => {
                    return Err(SqlError::unsupported("variables of stored programs in LOAD DATA"));
                }
            });
        }
        self.filled.extend(fields.iter().filter_map(LoadField::variable));
        if fields.is_empty() && !checks.is_empty() {
            fields.extend(shown.iter().map(|(_, ordinal)| LoadField::Column(*ordinal)));
        } else if fields.is_empty() {
            let visible = |i: &u32| !table.columns[*i as usize].invisible && !table.columns[*i as usize].hidden;
            fields.extend((0..table.columns.len() as u32).filter(visible).map(LoadField::Column));
        }
        let of_column = |f: &LoadField| match f {
            LoadField::Column(c) => Some(*c),
            LoadField::Variable(_) => None,
        };
        let mut columns: Vec<u32> = fields.iter().filter_map(of_column).collect();
        let mut values: Vec<Option<Expr>> = vec![None; columns.len()];
        self.scope().clause = Clause::Values;
        for assignment in &load.assignments {
            let target = column(&assignment.column)?;
            let value = self.assigned(&assignment.value, &table, target)?;
            columns.push(target);
            values.push(value);
        }
        let old = builder.rels[0].first;
        let set: Vec<&Expr> = values.iter().filter_map(Option::as_ref).collect();
        let view = checks.first().map(|c| c.view);
        self.refuse_read_targets(None, &set, &[self.inserted(slot, &load.table, view)], "LOAD")?;
        self.scopes.pop();
        self.lock_subqueries();
        let bound = BoundInsert {
            table: slot,
            columns,
            source: BoundSource::Values(vec![values]),
            replace,
            ignore: load.duplicates == ast::LoadDuplicates::Ignore
                || load.local && load.duplicates == ast::LoadDuplicates::Error,
            on_duplicate: Vec::new(),
            update_row: Vec::new(),
            value_row: (old..old + table.columns.len() as u32).collect(),
            checks,
        };
        Ok((bound, fields))
    }

    /// Target columns. Errors 1054, 1110.
    fn insert_columns(&mut self, table: &Table, insert: &ast::Insert) -> Result<Vec<u32>> {
        let Some(names) = &insert.columns else {
            let empty = match &insert.source {
                ast::InsertSource::Values(rows) => rows.iter().all(Vec::is_empty),
                ast::InsertSource::Query(_) => false,
            };
            if empty {
                return Ok(Vec::new());
            }
            if let Names::View(columns, _) = &self.scope().rels[0].names {
                return Ok(columns.iter().map(|(_, ordinal)| *ordinal).collect());
            }
            let visible = |i: &u32| !table.columns[*i as usize].invisible && !table.columns[*i as usize].hidden;
            return Ok((0..table.columns.len() as u32).filter(visible).collect());
        };
        let mut columns: Vec<u32> = Vec::with_capacity(names.len());
        for name in names {
            let Some(column) = self.scope().rels[0].names.find(&name.column.text) else {
                return Err(error(ErrorCode::BadField, &[&display(name), &"field list"]));
            };
            if columns.contains(&column) {
                return Err(error(ErrorCode::FieldSpecifiedTwice, &[&name.column.text]));
            }
            columns.push(column);
        }
        Ok(columns)
    }

    fn insert_values(
        &mut self,
        table: &Table,
        rows: &[Vec<ast::Expr>],
        named: bool,
        bound: &mut BoundInsert,
    ) -> Result<()> {
        self.scope().clause = Clause::Values;
        let mut values = Vec::with_capacity(rows.len());
        for (i, row) in rows.iter().enumerate() {
            // `VALUES ()` without a column list: defaults for all.
            let defaults = row.is_empty() && !named;
            if row.len() != bound.columns.len() && !defaults {
                return Err(error(ErrorCode::WrongValueCountOnRow, &[&(i + 1)]));
            }
            let mut bound_row = Vec::with_capacity(row.len());
            for (e, column) in row.iter().zip(&bound.columns) {
                bound_row.push(self.assigned(e, table, *column)?);
            }
            values.push(bound_row);
        }
        // `VALUES ()` with a column list: defaults for all.
        if values.iter().all(Vec::is_empty) {
            bound.columns.clear();
        }
        bound.source = BoundSource::Values(values);
        Ok(())
    }

    /// A value for a column; `None` is DEFAULT. Error 3105 for generated columns.
    pub(super) fn assigned(&mut self, e: &ast::Expr, table: &Table, column: u32) -> Result<Option<Expr>> {
        let target = &table.columns[column as usize];
        if matches!(e, ast::Expr::Default) {
            return Ok(None);
        }
        if target.generated.is_some() && !self.options.logged_rows {
            return Err(error(ErrorCode::NonDefaultValueForGeneratedColumn, &[&target.name, &table.name]));
        }
        if matches!(e, ast::Expr::Param(_)) {
            self.hint = super::parameter::parameter_type(&target.ty);
        }
        let value = self.lifted(e);
        self.hint = None;
        let value = value?;
        // A column is given the text of a computed date, or of a member.
        let number = target.ty.id.is_numeric() && !value.temporal && value.number.is_none();
        Ok(Some(if number { super::operand::as_number(value).expr } else { value.expr }))
    }

    /// All that a query reads is locked, its subqueries' reads too.
    pub(crate) fn lock_all_reads(&mut self, reads: Reads, query: &mut Query) {
        self.arena.reads = reads;
        self.lock_reads(query);
        self.lock_subqueries();
    }

    /// Subqueries inside DML lock what they read.
    fn lock_subqueries(&mut self) {
        let mut subqueries = std::mem::take(&mut self.arena.subqueries);
        subqueries.iter_mut().for_each(|s| self.lock_reads(&mut s.query));
        self.arena.subqueries = subqueries;
        let mut ctes = std::mem::take(&mut self.arena.ctes);
        ctes.iter_mut().for_each(|c| c.base.iter_mut().chain(&mut c.recursive).for_each(|q| self.lock_reads(q)));
        self.arena.ctes = ctes;
    }

    /// The tables of a query are read as the statement reads them.
    fn lock_reads(&mut self, query: &mut Query) {
        match &mut query.body {
            Body::Block(block) => {
                for rel in &mut block.rels {
                    match &mut rel.kind {
                        RelKind::Base(slot)
                            if rel.lock.strength == LockStrength::None
                                && self.arena.tables[*slot as usize].table.source == RowSource::Engine =>
                        {
                            rel.lock = self.arena.reads.lock();
                        }
                        RelKind::Derived(inner) => self.lock_reads(inner),
                        _ => {}
                    }
                }
            }
            Body::Set { inputs, .. } => inputs.iter_mut().for_each(|q| self.lock_reads(q)),
            Body::Values(_) | Body::Json(..) => {}
        }
    }

    /// `VALUES(column)`: the value that was to be inserted; NULL outside ON DUPLICATE KEY UPDATE.
    pub(super) fn values_of(&mut self, column: &ast::ColumnRef) -> Result<Bound> {
        match &self.new_row {
            Some(row) => match row.columns.iter().find(|(n, _)| eq_name(n, &column.column.text)) {
                Some(_) if column.qualifier.as_ref().is_some_and(|q| !eq_name(&q.name.text, &row.table)) => {
                    Err(self.unknown(column, Clause::Fields))
                }
                Some((_, ordinal)) => Ok(self.column(row.first + ordinal)),
                None => Err(self.unknown(column, Clause::Fields)),
            },
            None => {
                self.resolve(column)?;
                Ok(Bound::new(crate::make::constant(Value::Null)))
            }
        }
    }

    /// Binds with the common table expressions of a WITH clause in sight.
    fn under<R>(&mut self, with: Option<&ast::With>, f: impl FnOnce(&mut Self) -> Result<R>) -> Result<R> {
        let outer = self.ctes.len();
        if let Some(with) = with {
            self.with_clause(with)?;
        }
        let bound = f(self);
        self.ctes.truncate(outer);
        bound
    }

    pub(crate) fn update(&mut self, update: &ast::Update) -> Result<BoundUpdate> {
        self.under(update.with.as_ref(), |b| b.update_rows(update))
    }

    fn update_rows(&mut self, update: &ast::Update) -> Result<BoundUpdate> {
        let single = matches!(&update.tables[..], [ast::TableRef::Table(_)]);
        self.arena.reads = if single { Reads::Source } else { Reads::Current };
        if !single && !update.order_by.is_empty() {
            return Err(error(ErrorCode::WrongUsage, &[&"UPDATE", &"ORDER BY"]));
        }
        if !single && update.limit.is_some() {
            return Err(error(ErrorCode::WrongUsage, &[&"UPDATE", &"LIMIT"]));
        }
        let mut block = self.changed_block(&update.tables, Intent::Read, update.hints.as_deref())?;
        let views = self.merge_views(&mut block);
        let mut targets: Vec<BoundTarget> = Vec::new();
        self.scope().clause = Clause::Values;
        // MySQL's order of resolution: the columns, WHERE, the values.
        let mut columns = Vec::with_capacity(update.assignments.len());
        for assignment in &update.assignments {
            let read = self.arena.named.len();
            let bound = self.resolve(&assignment.column)?;
            // A column that is assigned is not read.
            self.arena.named.truncate(read);
            let ExprKind::Column(id) = bound.expr.kind else {
                return Err(self.unknown(&assignment.column, Clause::Fields));
            };
            if let Some(view) = Self::view_of(&views, id) {
                self.arena.tables[view.slot as usize].intent = Intent::Update;
            }
            let id = self.base_column(id)?;
            let position = block.rel_of(id).ok_or_else(|| self.unknown(&assignment.column, Clause::Fields))?;
            let table = self.writable(&block, position, &views, "UPDATE")?;
            let first = block.rels[position].first;
            columns.push((first, table, id - first));
        }
        self.changed_rows(&mut block, update.filter.as_ref())?;
        self.scope().clause = Clause::Values;
        for (assignment, (first, table, column)) in update.assignments.iter().zip(columns) {
            let value = self.assigned(&assignment.value, &table, column)?;
            match targets.iter_mut().find(|t| t.first == first) {
                Some(target) => target.assignments.push((column, value)),
                None => {
                    let assignments = vec![(column, value)];
                    targets.push(BoundTarget { first, assignments, checks: Vec::new() });
                }
            }
        }
        let changed: Vec<ColId> = targets.iter().map(|t| t.first).collect();
        self.refuse_two_keys(&targets, &views, &block)?;
        let first = self.scope().rels.first().map_or(0, |r| r.first);
        let read = self.changed_tables(&changed, &block, |_| self.named(first, &views, &block));
        if let (Some(target), true) = (targets.first(), update.limit.is_some()) {
            limited_through(self, &views, &block, target.first, "UPDATE")?;
        }
        let computed: Vec<Expr> = views.iter().flat_map(|v| v.computed.iter().cloned()).collect();
        self.updated_through(views, &mut targets)?;
        self.set_targets(&mut block, &changed, Intent::Update);
        self.changed_order(&mut block, &update.order_by, update.limit.as_ref())?;
        let values = targets.iter().flat_map(|t| &t.assignments).filter_map(|(_, v)| v.as_ref());
        let values: Vec<&Expr> = values.chain(&computed).collect();
        self.refuse_read_targets(Some(&block), &values, &read, "UPDATE")?;
        self.scopes.pop();
        self.lock_subqueries();
        Ok(BoundUpdate { block, targets, ignore: update.ignore })
    }

    pub(crate) fn delete(&mut self, delete: &ast::Delete) -> Result<BoundDelete> {
        self.under(delete.with.as_ref(), |b| b.delete_rows(delete))
    }

    fn delete_rows(&mut self, delete: &ast::Delete) -> Result<BoundDelete> {
        if !delete.returning.is_empty() {
            return Err(SqlError::unsupported("RETURNING"));
        }
        let multiple = !delete.targets.is_empty();
        self.arena.reads = Reads::Current;
        self.check_targets(delete)?;
        let mut block = self.changed_block(&delete.tables, Intent::Read, delete.hints.as_deref())?;
        let firsts: Vec<ColId> = block.rels.iter().map(|r| r.first).collect();
        let views = self.merge_views(&mut block);
        let mut named = Vec::new();
        if multiple {
            for name in &delete.targets {
                let schema = name.schema.as_ref().map(|s| &*s.text).or(self.options.database);
                // A name without a schema means an alias, or a table of the default schema.
                let matches = |r: &&(usize, &ScopeRel)| {
                    r.1.is_called(name) && (!self.is_unaliased(r.1, delete) || schema == r.1.schema.as_deref())
                };
                let rels: Vec<(usize, &ScopeRel)> =
                    self.scopes[self.scopes.len() - 1].rels.iter().enumerate().collect();
                let found = rels.iter().find(matches).map(|(i, _)| *i);
                match found {
                    Some(i) if !named.contains(&i) => named.push(i),
                    Some(_) => return Err(error(ErrorCode::NonuniqTable, &[&name.name.text])),
                    None => return Err(error(ErrorCode::UnknownTable, &[&name.name.text, &"MULTI DELETE"])),
                }
            }
        } else {
            named.push(0);
        }
        let mut targets = Vec::with_capacity(named.len());
        for position in named {
            let first = match Self::view_of(&views, firsts[position]) {
                Some(view) => self.deleted_through(view)?,
                None => firsts[position],
            };
            let position = block.rel_of(first).ok_or_else(|| SqlError::internal("a target is no relation"))?;
            self.writable(&block, position, &views, "DELETE")?;
            targets.push(first);
        }
        if let (Some(target), true) = (targets.first(), delete.limit.is_some()) {
            limited_through(self, &views, &block, *target, "DELETE")?;
        }
        self.set_targets(&mut block, &targets, Intent::Delete);
        self.changed_rows(&mut block, delete.filter.as_ref())?;
        self.changed_order(&mut block, &delete.order_by, delete.limit.as_ref())?;
        let read = self.changed_tables(&targets, &block, |first| self.named(first, &views, &block));
        let computed: Vec<&Expr> = views.iter().flat_map(|v| &v.computed).collect();
        self.refuse_read_targets(Some(&block), &computed, &read, "DELETE")?;
        self.scopes.pop();
        self.lock_subqueries();
        Ok(BoundDelete { block, targets, ignore: delete.ignore })
    }

    /// Targets of a DELETE of several tables must be among its tables, before any table is looked for. Errors 1046,
    /// 1066, 1109.
    fn check_targets(&self, delete: &ast::Delete) -> Result<()> {
        if delete.targets.is_empty() {
            return Ok(());
        }
        let mut factors = Vec::new();
        let mut others = Vec::new();
        delete.tables.iter().for_each(|t| named_tables(t, &mut factors, &mut others));
        for target in &delete.targets {
            check_schema_name(self.schema_of(target)?)?;
        }
        let called = |f: &ast::TableFactor| -> (Option<String>, Box<str>) {
            match &f.alias {
                Some(alias) => (None, alias.text.clone()),
                None => (self.schema_of(&f.name).ok().map(str::to_owned), f.name.name.text.clone()),
            }
        };
        let names: Vec<_> = factors.iter().map(|f| called(f)).collect();
        for (i, (schema, name)) in names.iter().enumerate() {
            let same =
                |(s, n): &(Option<String>, Box<str>)| n == name && (s == schema || s.is_none() || schema.is_none());
            if names[..i].iter().any(same) {
                return Err(error(ErrorCode::NonuniqTable, &[name]));
            }
        }
        for target in &delete.targets {
            let schema = self.schema_of(target)?;
            let found = names.iter().any(|(s, n)| {
                *n == target.name.text
                    && match s {
                        Some(s) => s == schema,
                        None => target.schema.is_none(),
                    }
            });
            if !found && !others.contains(&target.name.text) {
                return Err(error(ErrorCode::UnknownTable, &[&target.name.text, &"MULTI DELETE"]));
            }
        }
        Ok(())
    }

    /// The relation is a table that the statement gives no alias.
    fn is_unaliased(&self, rel: &ScopeRel, delete: &ast::Delete) -> bool {
        let (mut factors, mut others) = (Vec::new(), Vec::new());
        delete.tables.iter().for_each(|t| named_tables(t, &mut factors, &mut others));
        factors.iter().any(|f| {
            f.alias.is_none()
                && f.name.name.text == rel.alias
                && self.schema_of(&f.name).is_ok_and(|s| Some(s) == rel.schema.as_deref())
        })
    }

    /// Tables of the relations with these first columns, each with a name for messages.
    fn changed_tables(
        &self,
        firsts: &[ColId],
        block: &Block,
        name: impl Fn(ColId) -> Named,
    ) -> Vec<(gannet_schema::TableId, Named)> {
        let table = |first: &ColId| match block.rels.iter().find(|r| r.first == *first)?.kind {
            RelKind::Base(slot) => Some((self.arena.tables[slot as usize].table.id, name(*first))),
            _ => None,
        };
        firsts.iter().filter_map(table).collect()
    }

    fn changed_block(&mut self, tables: &[ast::TableRef], intent: Intent, hints: Option<&str>) -> Result<Block> {
        self.selects += 1;
        let mut block = super::select::empty_block(self.selects);
        let hinted = self.enter_block(self.selects, hints);
        (block.straight, block.orders) = (hinted.straight, hinted.orders);
        self.scopes.push(Scope::new());
        let tables = super::changing(self, |b| b.from_clause(tables, intent))?;
        tables.on_error.map_or(Ok(()), Err)?;
        (block.from, block.rels) = (tables.from, tables.rels);
        Ok(block)
    }

    /// The base table of a relation. Error 1288 for others.
    fn writable(&self, block: &Block, position: usize, views: &[ThroughView], verb: &str) -> Result<Arc<Table>> {
        let rel = &block.rels[position];
        match rel.kind {
            RelKind::Base(slot) if self.arena.tables[slot as usize].table.source == RowSource::Engine => {
                Ok(self.arena.tables[slot as usize].table.clone())
            }
            _ => Err(error(ErrorCode::NonUpdatableTable, &[&self.named(rel.first, views, block).alias, &verb])),
        }
    }

    /// Targets are locked exclusively, other tables as reads inside DML are.
    fn set_targets(&mut self, block: &mut Block, targets: &[ColId], intent: Intent) {
        let alone = intent == Intent::Update && block.rels.len() == 1;
        for rel in &mut block.rels {
            let slot = match &mut rel.kind {
                RelKind::Base(slot) => *slot,
                RelKind::Derived(inner) => {
                    self.lock_reads(inner);
                    continue;
                }
                _ => continue,
            };
            if targets.contains(&rel.first) {
                rel.lock = exclusive();
                if alone {
                    rel.lock.wait = LockWait::IfMatched;
                }
                self.arena.tables[slot as usize].intent = intent;
            } else if self.arena.tables[slot as usize].table.source == RowSource::Engine {
                rel.lock = self.arena.reads.lock();
            }
        }
    }

    fn changed_rows(&mut self, block: &mut Block, filter: Option<&ast::Expr>) -> Result<()> {
        if let Some(filter) = filter {
            let bound = self.in_clause(Clause::Where, |b| b.condition(filter))?;
            conjuncts(bound, &mut block.filter);
        }
        Ok(())
    }

    fn changed_order(&mut self, block: &mut Block, order: &[ast::OrderItem], limit: Option<&ast::Limit>) -> Result<()> {
        for item in order {
            let expr = self.order_item(&item.expr, Clause::ChangeOrder, block)?;
            block.order.push(SortKey { expr, descending: item.desc });
        }
        if !self.scope().aggregates.is_empty() {
            return Err(error(ErrorCode::InvalidGroupFuncUse, &[]));
        }
        if let Some(limit) = limit {
            if limit.offset.is_some() {
                return Err(error(ErrorCode::WrongUsage, &[&"UPDATE", &"LIMIT"]));
            }
            block.limit = Some(self.limit_value(&limit.count)?);
        }
        Ok(())
    }
}

/// The tables of a FROM clause, and the aliases of what are no tables.
fn named_tables<'t>(from: &'t ast::TableRef, factors: &mut Vec<&'t ast::TableFactor>, others: &mut Vec<Box<str>>) {
    match from {
        ast::TableRef::Table(factor) => factors.push(factor),
        ast::TableRef::Derived(derived) => others.extend(derived.alias.as_ref().map(|a| a.text.clone())),
        ast::TableRef::JsonTable(_) => {}
        ast::TableRef::Join(join) => {
            named_tables(&join.left, factors, others);
            named_tables(&join.right, factors, others);
        }
        ast::TableRef::Nested(list) => list.iter().for_each(|t| named_tables(t, factors, others)),
    }
}
