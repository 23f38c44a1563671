//! Texts of views: every name in full, every column named, as the dictionary keeps them and SHOW CREATE VIEW prints
//! them; and the text that EXPLAIN's note shows.

use super::from::place;
use super::{Binder, error};
use crate::options::PlanOptions;
use gannet_parser::ast::{self, Ident, ObjectName, QueryBody, SelectItem, Statement, TableRef};
use gannet_parser::printer::canonical;
use gannet_parser::{LexMode, printer};
use gannet_schema::CatalogSnapshot;
use gannet_types::{ErrorCode, Level, Result, SqlError, Warning};
use std::collections::{HashMap, HashSet};

/// What the names in a statement's text refer to, by the position of the name.
#[derive(Default)]
pub(crate) struct Names {
    /// Schema and table of a column's relation, or the relation's alias.
    pub(super) columns: HashMap<u32, ObjectName>,
    /// Columns of `*` and `t.*`: relation and column.
    pub(super) wildcards: HashMap<u32, Vec<(ObjectName, Box<str>)>>,
    /// Columns that USING and NATURAL compare, by the place of the join's right side.
    pub(super) pairs: HashMap<u32, Vec<(ast::ColumnRef, ast::ColumnRef)>>,
    /// Schemas of tables.
    pub(super) tables: HashMap<u32, Box<str>>,
    /// Schemas of stored functions.
    pub(super) routines: HashMap<u32, Box<str>>,
    /// Subqueries that are the one expression they select.
    pub(super) reduced: HashSet<u32>,
    /// Names that a SELECT around resolved: how many SELECTs further out it is.
    pub(super) outer: HashMap<u32, usize>,
    /// Aliases of tables are named with their schemas, too.
    pub(super) full: bool,
}

impl Names {
    /// The subquery is the one expression that it selects.
    pub(super) fn reduce(&mut self, query: &ast::Query) {
        self.reduced.insert(query.span.start);
    }
}

pub(super) fn parse(text: &str) -> Result<ast::Query> {
    match gannet_parser::parse(text.as_bytes(), LexMode::default()).map(|p| p.statement) {
        Ok(Statement::Query(query)) => Ok(*query),
        _ => Err(SqlError::internal("a view's text is not a query")),
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

/// What a walk over a query's tree does.
pub(super) enum Work<'w> {
    /// Puts qualifiers, and aliases of columns, into it.
    Qualify(Names),
    /// Shows each qualifier of a column and each name of a table.
    Relations(&'w mut dyn FnMut(&mut ObjectName, bool)),
}

pub(super) struct Walk<'w> {
    work: Work<'w>,
    /// Subqueries of expressions around: their columns stay unnamed.
    inside: u32,
    /// For EXPLAIN: SELECTs so far, each is marked by its number. Variables are allowed.
    explained: Option<u32>,
    /// Numbers of the SELECTs around.
    around: Vec<u32>,
    /// For EXPLAIN: notes of names that a SELECT around resolved, and of subqueries that are shown as their
    /// expressions.
    notes: Vec<Warning>,
    forms: Option<canonical::Forms>,
    /// Windows that expressions have named so far.
    windows: HashSet<String>,
    /// Expressions have windows.
    with_windows: bool,
}

impl<'w> Walk<'w> {
    pub(super) fn new(work: Work<'w>) -> Walk<'w> {
        Walk {
            work,
            inside: 0,
            explained: None,
            around: Vec::new(),
            notes: Vec::new(),
            forms: None,
            windows: HashSet::new(),
            with_windows: false,
        }
    }

    /// Puts qualifiers into it, and gives it the forms that MySQL prints.
    pub(super) fn qualify(names: Names, options: &PlanOptions<'_>) -> Walk<'w> {
        let charset = options.collation.charset().name();
        let forms = canonical::Forms { charset, week_format: options.default_week_format, casts_times: false };
        Walk { forms: Some(forms), ..Walk::new(Work::Qualify(names)) }
    }

    pub(super) fn query(&mut self, query: &mut ast::Query) -> Result<()> {
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
        if self.forms.is_some() {
            query.locking.clear();
            self.name_ordinals(query);
            if let QueryBody::Select(select) = &mut query.body {
                self.keep_used(select);
            }
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
            self.around.push(*n);
        }
        let done = self.parts(select);
        self.around.pop();
        done
    }

    fn parts(&mut self, select: &mut ast::Select) -> Result<()> {
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
        select.windows.iter_mut().try_for_each(|(_, spec)| self.window(spec))?;
        if self.forms.is_some() {
            self.form(select);
        }
        Ok(())
    }

    /// What MySQL keeps of a SELECT, and how it prints that.
    fn form(&self, select: &mut ast::Select) {
        select.filter.iter_mut().chain(&mut select.having).for_each(condition);
        if self.explained.is_none() {
            select.hints = None;
        }
        let o = &mut select.options;
        (o.all, o.sql_no_cache, o.sql_calc_found_rows) = (false, false, false);
        for group in &mut select.group_by {
            let ast::Expr::Literal(ast::Literal { value: ast::LiteralValue::Int(n), .. }) = group.expr else {
                continue;
            };
            if let Some(SelectItem::Expr { expr, .. }) = (n as usize).checked_sub(1).and_then(|n| select.items.get(n))
                && is_repeatable(expr)
            {
                group.expr = expr.clone();
            }
        }
    }

    /// Windows that nothing names are not kept.
    fn keep_used(&self, select: &mut ast::Select) {
        let lower = |name: &Ident| name.text.to_ascii_lowercase();
        let mut used = self.windows.clone();
        for (name, spec) in select.windows.iter().rev() {
            if used.contains(&lower(name)) {
                used.extend(spec.base.as_ref().map(lower));
            }
        }
        select.windows.retain(|(name, _)| used.contains(&lower(name)));
    }

    /// `ORDER BY 1` and `GROUP BY 1` are what they stand for; of a set operation it is the name of the first column.
    fn name_ordinals(&self, query: &mut ast::Query) {
        let of_set = matches!(query.body, QueryBody::Set(_) | QueryBody::Values(_));
        let Some(select) = first_select(&mut query.body) else { return };
        let place = |e: &ast::Expr| match e {
            ast::Expr::Literal(ast::Literal { value: ast::LiteralValue::Int(n), .. }) => (*n as usize).checked_sub(1),
            _ => None,
        };
        let item = |e: &ast::Expr| match select.items.get(place(e)?)? {
            SelectItem::Expr { alias: Some(name), .. } if of_set => {
                let column = ast::ColumnRef { qualifier: None, column: Ident::new(&name.text) };
                Some(ast::Expr::Column(column))
            }
            SelectItem::Expr { expr, .. } if !of_set && is_repeatable(expr) => Some(expr.clone()),
            _ => None,
        };
        for order in &mut query.order_by {
            if let Some(expr) = item(&order.expr) {
                order.expr = expr;
            }
        }
    }

    fn window_of(&mut self, over: &mut ast::WindowRef) -> Result<()> {
        let named = match over {
            ast::WindowRef::Named(name) => Some(&*name),
            ast::WindowRef::Spec(spec) => spec.base.as_ref(),
        };
        self.with_windows = true;
        self.windows.extend(named.map(|name| name.text.to_ascii_lowercase()));
        match over {
            ast::WindowRef::Named(_) => Ok(()),
            ast::WindowRef::Spec(spec) => self.window(spec),
        }
    }

    fn window(&mut self, spec: &mut ast::WindowSpec) -> Result<()> {
        if self.forms.is_some()
            && let Some(frame) = &mut spec.frame
        {
            frame.end.get_or_insert(ast::FrameBound::CurrentRow);
        }
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
                if let ast::JoinCondition::On(e) = &mut join.condition {
                    self.expr(e)?;
                    if self.forms.is_some() {
                        condition(e);
                    }
                }
                Ok(())
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
                let at = column.column.span.start;
                if let Some(relation) = names.columns.get(&at) {
                    column.qualifier = Some(Box::new(relation.clone()));
                }
                let by = names.outer.get(&at).and_then(|up| self.around.iter().rev().nth(*up));
                if let (Some(by), Some(own)) = (by, self.around.last()) {
                    let name = super::scope::display(column);
                    let told: [&dyn std::fmt::Display; 7] = [&name, &"", &"", &"", &"", own, by];
                    self.notes.push(Warning::new(Level::Note, ErrorCode::WarnFieldResolved, &told));
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
                aggregate.over.iter_mut().try_for_each(|over| self.window_of(over))?;
            }
            ast::Expr::Window(window) => {
                // RESPECT NULLS is what is done without a word.
                window.ignore_nulls = window.ignore_nulls.filter(|ignore| *ignore || self.forms.is_none());
                self.window_of(&mut window.over)?;
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
        outcome?;
        if let Some(forms) = self.forms {
            forms.apply(e);
        }
        Ok(())
    }

    /// For EXPLAIN: the expression that stands for a subquery.
    fn reduced(&mut self, query: &mut ast::Query) -> Option<ast::Expr> {
        let Work::Qualify(names) = &self.work else { return None };
        if self.explained.is_none() || !names.reduced.contains(&query.span.start) {
            return None;
        }
        let select = only_select(&mut query.body)?;
        let Some(SelectItem::Expr { expr, .. }) = select.items.pop() else { return None };
        let mark = select.hints.take();
        let number = mark.as_deref().map(|mark| mark.trim_start_matches(NUMBER));
        self.notes.extend(number.map(|n| Warning::new(Level::Note, ErrorCode::SelectReduced, &[&n])));
        Some(expr)
    }

    fn subquery(&mut self, query: &mut ast::Query) -> Result<()> {
        self.inside += 1;
        let done = self.query(query);
        self.inside -= 1;
        done
    }
}

/// A condition of WHERE, ON or HAVING: a truth value. MATCH is one as it is.
fn condition(e: &mut ast::Expr) {
    if !matches!(e, ast::Expr::Match(_)) {
        canonical::truth(e);
    }
}

/// The expression may stand for its ordinal: evaluated again it has the same value, and it is no ordinal itself.
fn is_repeatable(e: &ast::Expr) -> bool {
    fn varies(e: &mut ast::Expr) -> bool {
        let mut found = match e {
            ast::Expr::Subquery(_) | ast::Expr::Exists(_) => true,
            ast::Expr::InSubquery { .. } | ast::Expr::Quantified { .. } => true,
            ast::Expr::Call(call) => {
                call.schema.is_some()
                    || gannet_functions::function(&call.name.text).is_some_and(|def| def.stability.varies())
            }
            _ => false,
        };
        e.for_each_child_mut(&mut |child| found |= varies(child));
        found
    }
    !matches!(e, ast::Expr::Literal(_)) && !varies(&mut e.clone())
}

/// The SELECT whose names a query's columns have.
fn first_select(body: &mut QueryBody) -> Option<&mut ast::Select> {
    match body {
        QueryBody::Select(select) => Some(select),
        QueryBody::Query(inner) => first_select(&mut inner.body),
        QueryBody::Set(set) => first_select(&mut set.first),
        _ => None,
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

/// EXPLAIN's notes of a query: 1276 for each name that a SELECT around resolved, 1249 for each subquery that is its one
/// expression, 1003 with the query, every name in full, every SELECT numbered. Errors of the query.
pub fn explained(query: &ast::Query, snapshot: &CatalogSnapshot, options: &PlanOptions<'_>) -> Result<Vec<Warning>> {
    let mut query = query.clone();
    let mut binder = Binder::new(snapshot, options);
    binder.names = Some(Names { full: true, ..Names::default() });
    binder.top_query(&query)?;
    let names = binder.names.take().unwrap_or_default();
    let mut walk = Walk { explained: Some(0), ..Walk::qualify(names, options) };
    walk.query(&mut query)?;
    let windows = walk.with_windows;
    let mut notes = std::mem::take(&mut walk.notes);
    if windows {
        notes.push(Warning::new(Level::Note, ErrorCode::WindowExplainJson, &[]));
    }
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
    notes.push(Warning::new(Level::Note, ErrorCode::Yes, &[&text]));
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
