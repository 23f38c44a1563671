//! The way from a statement to its plan.

use crate::bind::Binder;
use crate::expr::ExprKind;
use crate::logical::{Arena, Body, ColId, Label, Query};
use crate::optimize::{Builder, point_select};
use crate::options::{Passes, PlanOptions};
use crate::physical::Reads;
use crate::plan::{
    Accesses, DateNumber, DateText, Dive, Intent, LoadField, NumberText, Param, Plan, PlanKind, PlanTable,
    ResultColumn, TableExprs,
};
use crate::rewrite;
use gannet_parser::ast::{Query as AstQuery, SelectInto, Statement};
use gannet_schema::{CatalogSnapshot, IndexKind, Table};
use gannet_types::sqltype::flags;
use gannet_types::{Result, SqlError, sql_err};
use std::sync::Arc;

/// Plans a query or DML statement. Others are refused with 1235: they are not planned.
pub fn plan(statement: &Statement, snapshot: &CatalogSnapshot, options: &PlanOptions<'_>) -> Result<Plan> {
    match statement {
        Statement::Query(query) => {
            let mut plan = plan_query(query, snapshot, options)?;
            if let Some(into) = &query.into {
                if let SelectInto::Variables(targets) = &**into
                    && targets.len() != plan.columns.len()
                {
                    return Err(sql_err!(WrongNumberOfColumnsInSelect));
                }
                plan.into = Some(into.clone());
                plan.uses.uncacheable = true;
            }
            Ok(plan)
        }
        Statement::Insert(insert) => {
            let mut binder = Binder::new(snapshot, options);
            let mut bound = binder.insert(insert)?;
            binder.check_hints();
            let mut arena = binder.arena;
            prepare_tables(&arena)?;
            match &mut bound.source {
                crate::bind::BoundSource::Query(query) => rewrite::query(&mut arena, query, options),
                crate::bind::BoundSource::Values(_) => rewrite::parts(&mut arena, options),
            }
            substitute_checks(&mut bound, &arena);
            let mut builder = Builder::new(&arena, options);
            match &bound.source {
                crate::bind::BoundSource::Query(query) => builder.mark_used(Some(query)),
                crate::bind::BoundSource::Values(_) => builder.mark_used(None),
            }
            let insert = builder.insert(bound)?;
            finish(builder, PlanKind::Insert(Box::new(insert)), Box::new([]), snapshot, options)
        }
        Statement::Update(update) => {
            let mut binder = Binder::new(snapshot, options);
            let mut bound = binder.update(update)?;
            binder.check_hints();
            let mut arena = binder.arena;
            prepare_tables(&arena)?;
            rewrite::block(&mut arena, &mut bound.block, options);
            let values = bound.targets.iter_mut().flat_map(|t| &mut t.assignments).filter_map(|(_, v)| v.as_mut());
            values.for_each(|v| rewrite::substitute(v, &arena.replaced));
            let checks = bound.targets.iter_mut().flat_map(|t| &mut t.checks).flat_map(|c| &mut c.conditions);
            checks.for_each(|e| rewrite::substitute(e, &arena.replaced));
            let mut builder = Builder::new(&arena, options);
            builder.mark_used(None);
            let update = builder.update(bound)?;
            finish(builder, PlanKind::Update(Box::new(update)), Box::new([]), snapshot, options)
        }
        Statement::Delete(delete) => {
            let mut binder = Binder::new(snapshot, options);
            let mut bound = binder.delete(delete)?;
            binder.check_hints();
            let mut arena = binder.arena;
            prepare_tables(&arena)?;
            rewrite::block(&mut arena, &mut bound.block, options);
            let mut builder = Builder::new(&arena, options);
            builder.mark_used(None);
            let delete = builder.delete(bound)?;
            finish(builder, PlanKind::Delete(Box::new(delete)), Box::new([]), snapshot, options)
        }
        Statement::Do(exprs) => plan_expressions(exprs, snapshot, options),
        _ => Err(SqlError::unsupported("planning this statement")),
    }
}

/// The conditions of the views that rows go through, of the columns that are stored.
fn substitute_checks(bound: &mut crate::bind::BoundInsert, arena: &Arena) {
    let conditions = bound.checks.iter_mut().flat_map(|c| c.conditions.iter_mut().chain(&mut c.shown));
    conditions.for_each(|e| rewrite::substitute(e, &arena.replaced));
}

/// Plans LOAD DATA: an INSERT whose columns are those of the fields, without values, and then those of SET; and where
/// the fields go.
pub fn plan_load(
    load: &gannet_parser::ast::Load,
    snapshot: &CatalogSnapshot,
    options: &PlanOptions<'_>,
) -> Result<(Plan, Vec<LoadField>)> {
    let mut binder = Binder::new(snapshot, options);
    binder.arena.reads = Reads::Current;
    let (mut bound, fields) = binder.load(load)?;
    let mut arena = binder.arena;
    prepare_tables(&arena)?;
    rewrite::parts(&mut arena, options);
    substitute_checks(&mut bound, &arena);
    let mut builder = Builder::new(&arena, options);
    builder.mark_used(None);
    let insert = builder.insert(bound)?;
    let plan = finish(builder, PlanKind::Insert(Box::new(insert)), Box::new([]), snapshot, options)?;
    Ok((plan, fields))
}

/// Plans a query (also one behind SHOW, CREATE TABLE ... SELECT and the like). INTO is the caller's.
pub fn plan_query(query: &AstQuery, snapshot: &CatalogSnapshot, options: &PlanOptions<'_>) -> Result<Plan> {
    plan_query_with(Binder::new(snapshot, options), query, Reads::Snapshot)
}

fn plan_query_with(mut binder: Binder<'_>, query: &AstQuery, reads: Reads) -> Result<Plan> {
    let (snapshot, options) = (binder.snapshot, binder.options);
    let max_execution_time = hinted_time(&query.body);
    let mut query = binder.top_query(query)?;
    binder.check_hints();
    if reads != Reads::Snapshot {
        binder.lock_all_reads(reads, &mut query);
    }
    let mut arena = binder.arena;
    let columns = result_columns(&arena, &query);
    prepare_tables(&arena)?;
    rewrite::query(&mut arena, &mut query, options);
    let mut builder = Builder::new(&arena, options);
    builder.mark_used(Some(&query));
    let root = builder.query_plan(&query)?;
    let kind = if options.passes.has(Passes::POINT_SELECT) {
        point_select(root, &arena.tables)
    } else {
        PlanKind::Query(Box::new(root))
    };
    Ok(Plan { max_execution_time, ..finish(builder, kind, columns, snapshot, options)? })
}

/// Binds the expressions that place rows in parts, since estimates ask which parts are read, and those of generated
/// columns in indexes, which conditions are compared with.
fn prepare_tables(arena: &Arena) -> Result<()> {
    let generated = |t: &Table, column: u32| t.columns[column as usize].generated.is_some();
    let indexed = |t: &Table| t.indexes.iter().flat_map(|i| i.parts.iter()).any(|p| generated(t, p.column));
    let asked = arena.tables.iter().filter(|t| t.table.partitions.is_some() || indexed(&t.table));
    asked.into_iter().try_for_each(|t| crate::table_exprs::table_exprs(&t.table).map(drop))
}

/// Generated columns whose values a statement gives are not computed.
fn leave_given(kind: &PlanKind, tables: &mut [PlanTable]) {
    let (slot, given): (u32, Vec<u32>) = match kind {
        PlanKind::Insert(insert) => (insert.table, insert.columns.to_vec()),
        PlanKind::Update(update) => match &update.targets[..] {
            [target] => (target.table, target.assignments.iter().map(|a| a.column).collect()),
            _ => return,
        },
        _ => return,
    };
    let Some(exprs) = &mut tables[slot as usize].exprs else { return };
    if exprs.generated.iter().any(|(column, _)| given.contains(column)) {
        let left = exprs.generated.iter().filter(|(column, _)| !given.contains(column)).cloned();
        *exprs = Arc::new(TableExprs { generated: left.collect(), ..(**exprs).clone() });
    }
}

/// MAX_EXECUTION_TIME(n) among the hints of the first SELECT.
fn hinted_time(body: &gannet_parser::ast::QueryBody) -> Option<u32> {
    use gannet_parser::ast::QueryBody;
    let hints = match body {
        QueryBody::Select(select) => select.hints.as_deref()?,
        QueryBody::Query(query) => return hinted_time(&query.body),
        QueryBody::Set(set) => return hinted_time(&set.first),
        QueryBody::Values(_) | QueryBody::Table(_) => return None,
    };
    let (hints, _) = gannet_parser::hint::parse(hints);
    match hints.into_iter().find(|h| h.name == "MAX_EXECUTION_TIME")?.value?.1 {
        gannet_parser::hint::HintValue::Number(n) => u32::try_from(n).ok(),
        _ => None,
    }
}

/// Plans expressions without tables (SET, DO, CALL arguments, KILL ...) as a query of one row.
pub fn plan_expressions(
    exprs: &[gannet_parser::ast::Expr],
    snapshot: &CatalogSnapshot,
    options: &PlanOptions<'_>,
) -> Result<Plan> {
    use gannet_parser::ast::{QueryBody, Select, SelectItem, SelectOptions, SourceText, Span};
    let item =
        |e: &gannet_parser::ast::Expr| SelectItem::Expr { expr: e.clone(), alias: None, text: SourceText::default() };
    let select = Select {
        options: SelectOptions::default(),
        hints: None,
        items: exprs.iter().map(item).collect(),
        from: Vec::new(),
        filter: None,
        group_by: Vec::new(),
        rollup: false,
        having: None,
        windows: Vec::new(),
        span: Span::default(),
    };
    let query = AstQuery {
        with: None,
        body: QueryBody::Select(Box::new(select)),
        order_by: Vec::new(),
        limit: None,
        locking: Vec::new(),
        into: None,
        span: Span::default(),
    };
    let mut binder = Binder::new(snapshot, options);
    binder.without_select = true;
    plan_query_with(binder, &query, Reads::Current)
}

pub(crate) fn finish(
    mut builder: Builder<'_>,
    mut kind: PlanKind,
    columns: Box<[ResultColumn]>,
    snapshot: &CatalogSnapshot,
    options: &PlanOptions<'_>,
) -> Result<Plan> {
    crate::optimize::one_by_one(&mut kind, &mut builder);
    let arena = builder.arena;
    let mut tables = used_tables(&builder)?;
    if options.logged_rows {
        leave_given(&kind, &mut tables);
    }
    let updates_duplicates = matches!(&kind, PlanKind::Insert(i) if !i.on_duplicate.is_empty());
    crate::foreign::link(&mut tables, updates_duplicates, snapshot)?;
    if let PlanKind::Delete(delete) = &mut kind {
        crate::foreign::count_deleted(delete, &tables);
    }
    let tables: Box<[PlanTable]> = tables.into();
    let (dives, selectivity) = dives(&mut builder, &tables)?;
    let dates = date_texts(&mut builder)?;
    let date_numbers = date_numbers(&mut builder)?;
    let number_texts = number_texts(&mut builder)?;
    let mut uses = arena.uses;
    uses.effects = arena.effects.once() || !arena.routines.is_empty();
    uses.programs |= tables.iter().any(fires);
    uses.uncacheable |= options.source.is_none() && builder.params.iter().any(|p| matches!(p, Param::Literal { .. }));
    let mut plan = Plan {
        writes: matches!(kind, PlanKind::Insert(_) | PlanKind::Update(_) | PlanKind::Delete(_)),
        kind,
        columns,
        tables,
        subplans: builder.subplans.into(),
        ctes: builder.ctes.into(),
        pins: pins(&builder.params, options),
        params: builder.params.into(),
        dives,
        selectivity,
        accesses: Accesses::default(),
        sent_as_read: None,
        registers: builder.registers,
        reads: arena.reads,
        uses,
        routines: arena.routines.as_slice().into(),
        into: None,
        max_execution_time: None,
        warnings: builder.warnings.take().into(),
        dates,
        date_numbers,
        number_texts,
    };
    plan.accesses = Accesses::of(&plan);
    if let PlanKind::Query(root) = &plan.kind {
        plan.sent_as_read = root.sends_as_read();
    }
    Ok(plan)
}

/// The tables, with the columns that the plan uses, and their expressions where it needs them.
fn used_tables(builder: &Builder<'_>) -> Result<Vec<PlanTable>> {
    let arena = builder.arena;
    let tables = arena.tables.iter().enumerate().map(|(i, t)| {
        let of_table = |label: &Label| match label {
            Label::Base { table, ordinal } if *table as usize == i => Some(*ordinal),
            _ => None,
        };
        let used = arena.labels.iter().zip(builder.read.as_ref().unwrap_or(&builder.used)).filter(|(_, n)| **n > 0);
        let mut columns: Vec<u32> = used.filter_map(|(label, _)| of_table(label)).collect();
        columns.extend(arena.named.iter().filter(|(slot, _)| *slot as usize == i).map(|(_, ordinal)| *ordinal));
        columns.retain(|c| (*c as usize) < t.table.columns.len());
        columns.sort_unstable();
        columns.dedup();
        let written = !t.intent.is_select() && t.table.has_expressions();
        // A reader looks only into the parts that may have its rows.
        let parted = t.table.partitions.as_ref().is_some_and(|p| p.definition().is_by_expression());
        let exprs = (written || parted).then(|| crate::table_exprs::table_exprs(&t.table)).transpose()?;
        Ok(PlanTable { columns_used: columns.into(), exprs, ..t.clone() })
    });
    tables.collect()
}

/// The texts that are compared with dates.
fn date_texts(builder: &mut Builder<'_>) -> Result<Box<[DateText]>> {
    let dates = builder.arena.dates.iter();
    dates.map(|d| Ok(DateText { text: builder.lower(&d.text, &[])?, ..d.clone() })).collect()
}

/// The numbers that are compared with columns of dates and times.
fn date_numbers(builder: &mut Builder<'_>) -> Result<Box<[DateNumber]>> {
    let numbers = builder.arena.date_numbers.iter();
    numbers.map(|n| Ok(DateNumber { number: builder.lower(&n.number, &[])?, ..n.clone() })).collect()
}

/// The texts that are compared with numbers.
fn number_texts(builder: &mut Builder<'_>) -> Result<Box<[NumberText]>> {
    let listed = builder.arena.listed_texts.iter();
    let listed = listed.map(|text| NumberText { text: text.clone(), decimal: false, limit: None });
    let mut texts: Vec<NumberText> = listed.chain(std::mem::take(&mut builder.number_texts)).collect();
    for NumberText { text, limit, .. } in &mut texts {
        builder.lower_in_place(text, &[])?;
        limit.iter_mut().try_for_each(|limit| builder.lower_in_place(limit, &[]))?;
    }
    Ok(texts.into())
}

/// The statement may fire triggers of the table.
fn fires(t: &PlanTable) -> bool {
    match t.intent {
        Intent::Insert | Intent::Replace | Intent::Update | Intent::Delete => !t.table.triggers.is_empty(),
        _ => false,
    }
}

/// The ranges looked up whose values may vary, and the class of what they hold.
fn dives(builder: &mut Builder<'_>, tables: &[PlanTable]) -> Result<(Box<[Dive]>, u64)> {
    let (mut dives, mut selectivity) = (Vec::new(), 0);
    for (table, index, mut ranges, rows) in builder.dives.take() {
        let mut varies = false;
        ranges.for_each_value(&mut |e| varies |= matches!(e.kind, ExprKind::Param(_)));
        let rows_now = builder.options.estimator.and_then(|e| e.table_rows(&tables[table as usize].table));
        let small = rows_now.is_none_or(|n| n <= crate::dive::SMALL_TABLE);
        if !varies || small || dives.len() >= crate::dive::MAX_DIVES {
            continue;
        }
        let mut outcome = Ok(());
        ranges.for_each_value_mut(&mut |e| {
            if outcome.is_ok() {
                outcome = builder.lower_in_place(e, &[]);
            }
        });
        outcome?;
        selectivity = crate::dive::add_class(selectivity, rows);
        dives.push(Dive { table, index: index as u32, ranges });
    }
    Ok((dives.into(), selectivity))
}

/// Every literal that is no parameter.
fn pins(params: &[Param], options: &PlanOptions<'_>) -> Box<[(u32, Box<[u8]>)]> {
    let Some((text, tokens)) = options.source else { return Box::new([]) };
    let mut lifted = vec![false; tokens.len()];
    for param in params {
        if let Param::Literal { ordinal, .. } = param
            && let Some(slot) = lifted.get_mut(*ordinal as usize)
        {
            *slot = true;
        }
    }
    let pinned = tokens.iter().enumerate().filter(|(i, _)| !lifted[*i]);
    pinned.map(|(i, t)| (i as u32, t.raw(text).into())).collect()
}

/// Metadata of a query's columns.
pub(crate) fn result_columns(arena: &Arena, query: &Query) -> Box<[ResultColumn]> {
    let describe = |(i, column): (usize, &crate::logical::OutColumn)| {
        let mut result = ResultColumn {
            name: column.name.clone(),
            org_name: "".into(),
            table: "".into(),
            org_table: "".into(),
            schema: "".into(),
            ty: arena.types[column.id as usize].clone(),
            flags: 0,
            computed: true,
        };
        result.flags = result.ty.expression_flags();
        if !matches!(query.body, Body::Block(_)) {
            // What a set operation gives is a column of its own.
            result.org_name = column.name.clone();
            (result.flags, result.computed) = (result.ty.column_flags(), false);
        }
        let Body::Block(block) = &query.body else { return result };
        match block.items.get(i).map(|item| &item.expr.kind) {
            Some(ExprKind::Column(id)) => describe_source(arena, query, *id, &mut result),
            // What a function returns is a column of its own, too.
            Some(ExprKind::Routine(..)) => {
                result.org_name = column.name.clone();
                (result.flags, result.computed) = (result.ty.column_flags(), false);
            }
            _ => {}
        }
        result
    };
    query.columns.iter().enumerate().map(describe).collect()
}

fn describe_source(arena: &Arena, query: &Query, id: ColId, result: &mut ResultColumn) {
    match &arena.labels[id as usize] {
        Label::Base { table, ordinal } => {
            let entry = &arena.tables[*table as usize];
            let Some(column) = entry.table.columns.get(*ordinal as usize) else { return };
            result.org_name = (&*column.name).into();
            result.org_table = (&*entry.table.name).into();
            result.table = entry.alias.clone();
            result.schema = (&*entry.table.schema).into();
            result.computed = false;
            result.flags = column_flags(&entry.table, *ordinal) & !flags::NOT_NULL;
            if !result.ty.nullable {
                result.flags |= flags::NOT_NULL;
            }
        }
        Label::Derived { alias, name, origin, view } => {
            result.computed = is_computed(query, id);
            if !result.computed {
                result.flags = result.ty.column_flags();
            }
            result.table = alias.clone();
            result.org_name = name.clone();
            // A merged view is shown to the client as a table; a derived table shows the name that its query reads
            // from.
            if let Some((slot, _)) = view.filter(|_| !is_kept(query, id)) {
                let entry = &arena.tables[slot as usize];
                result.org_table = (&*entry.table.name).into();
                result.schema = (&*entry.table.schema).into();
                return;
            }
            let mut from = *origin;
            for _ in 0..16 {
                let Some(id) = from else { break };
                match &arena.labels[id as usize] {
                    Label::Base { table, .. } => {
                        let entry = &arena.tables[*table as usize];
                        result.org_table = entry.alias.clone();
                        result.schema = (&*entry.table.schema).into();
                        break;
                    }
                    Label::Derived { origin, .. } => from = *origin,
                    Label::Computed => from = item_column(query, id),
                }
            }
        }
        Label::Computed => {}
    }
}

/// The derived table or view whose column this is has rows of its own: it cannot be merged into the query.
fn is_kept(query: &Query, id: ColId) -> bool {
    let Body::Block(block) = &query.body else { return false };
    block.rels.iter().any(|rel| match &rel.kind {
        crate::logical::RelKind::Derived(inner) => {
            (rel.first..rel.first + rel.width).contains(&id) && !crate::rewrite::merge::can_merge(inner)
        }
        _ => false,
    })
}

/// The column of a derived table or view, merged into the query, is an expression.
fn is_computed(query: &Query, id: ColId) -> bool {
    let Body::Block(block) = &query.body else { return false };
    let Some(rel) = block.rels.iter().find(|r| (r.first..r.first + r.width).contains(&id)) else { return false };
    let crate::logical::RelKind::Derived(inner) = &rel.kind else { return false };
    let Body::Block(inside) = &inner.body else { return false };
    let item = inside.items.get((id - rel.first) as usize).filter(|_| crate::rewrite::merge::can_merge(inner));
    item.is_some_and(|item| match item.expr.kind {
        ExprKind::Column(inner_id) => is_computed(inner, inner_id),
        _ => true,
    })
}

/// The column which an item of a derived table inside the query shows.
fn item_column(query: &Query, id: ColId) -> Option<ColId> {
    let Body::Block(block) = &query.body else { return None };
    for rel in &block.rels {
        let crate::logical::RelKind::Derived(inner) = &rel.kind else { continue };
        if let Body::Block(b) = &inner.body
            && let Some(item) = b.items.iter().find(|i| i.id == id)
        {
            return match item.expr.kind {
                ExprKind::Column(id) => Some(id),
                _ => None,
            };
        }
        if let Some(found) = item_column(inner, id) {
            return Some(found);
        }
    }
    None
}

/// Flags of a base column in a result set.
pub fn column_flags(table: &Table, ordinal: u32) -> u16 {
    let column = &table.columns[ordinal as usize];
    let mut result = column.ty.column_flags();
    for index in &table.indexes {
        let Some(at) = index.parts.iter().position(|p| p.column == ordinal) else { continue };
        result |= flags::PART_KEY;
        match index.kind {
            IndexKind::Primary => result |= flags::PRI_KEY,
            IndexKind::Unique if at == 0 && index.parts.len() == 1 => result |= flags::UNIQUE_KEY,
            _ if at == 0 => result |= flags::MULTIPLE_KEY,
            _ => {}
        }
    }
    if column.auto_increment {
        result |= flags::AUTO_INCREMENT;
    }
    if column.ty.id == gannet_types::TypeId::Timestamp
        && column.default == gannet_schema::ColumnDefault::CurrentTimestamp
    {
        result |= flags::TIMESTAMP;
    }
    if column.on_update_now {
        result |= flags::ON_UPDATE_NOW;
    }
    let none = match column.default {
        gannet_schema::ColumnDefault::None => !column.nullable && !column.auto_increment,
        gannet_schema::ColumnDefault::Dropped => true,
        _ => false,
    };
    if none {
        result |= flags::NO_DEFAULT_VALUE;
    }
    result
}
