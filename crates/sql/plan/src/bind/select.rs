//! One SELECT: its clauses in MySQL's order of resolution, the select list, window functions.

use super::from::Tables;
use super::scope::{Clause, Scope, ScopeItem, display};
use super::{Binder, error};
use crate::expr::{Expr, ExprKind, SortKey};
use crate::logical::{Block, Body, ColId, Item, Label, OutColumn, Query, WindowBlock, conjuncts};
use crate::physical::{Frame, FrameBound, FrameUnit, WindowFunction, WindowKind};
use crate::typing::{Bound, common_type, is_stringy};
use gannet_functions::{AggregateDef, ArgInfo};
use gannet_parser::ast::{self, SelectItem, WindowFunc};
use gannet_schema::names::eq_name;
use gannet_types::{Coercibility, ErrorCode, Level, Result, SqlError, SqlType, TypeId, Value, Warning};

/// The arguments of a window function that is no aggregate; a `?` among them is a number of rows, or a value as the
/// first argument is.
fn window_args(b: &mut Binder<'_>, kind: &WindowKind, name: &str, args: &[ast::Expr]) -> Result<Vec<Bound>> {
    let rows_at = match kind {
        WindowKind::Lead | WindowKind::Lag | WindowKind::NthValue => Some(1),
        WindowKind::Ntile => Some(0),
        _ => None,
    };
    let mut bound: Vec<Bound> = Vec::with_capacity(args.len());
    for (i, arg) in args.iter().enumerate() {
        if matches!(arg, ast::Expr::Param(_)) {
            let like_first = bound.first().map(|first| first.ty().clone());
            b.hint = if rows_at == Some(i) { Some(SqlType::bigint_unsigned()) } else { like_first };
        }
        if let ast::Expr::Column(column) = arg
            && rows_at == Some(i)
            && super::scope::local(b, column)?.is_none()
        {
            return Err(error(ErrorCode::SpUndeclaredVar, &[&super::scope::display(column)]));
        }
        let value = b.expr(arg)?;
        b.hint = None;
        if rows_at == Some(i) && (matches!(arg, ast::Expr::Subquery(_)) || !is_same_for_all_rows(&value.expr)) {
            return Err(error(ErrorCode::WrongArguments, &[&name.to_lowercase()]));
        }
        bound.push(value);
    }
    Ok(bound)
}

/// A literal, a `?`, a variable, and what is computed of these: how far a window function looks is not said by rows.
fn is_same_for_all_rows(e: &Expr) -> bool {
    matches!(e.kind, ExprKind::UserVar(_)) || (e.is_execution_constant() && e.ty.id != TypeId::Null)
}

/// Binds what belongs to a window function: another one has no place there.
fn in_window<'b, R>(b: &mut Binder<'b>, f: impl FnOnce(&mut Binder<'b>) -> Result<R>) -> Result<R> {
    b.scope().in_window = true;
    let result = f(b);
    (b.scope().in_window, b.scope().window_part) = (false, None);
    result
}

/// Windows are what they have to be also where nobody uses them.
fn check_named_windows(b: &mut Binder<'_>, select: &ast::Select) -> Result<()> {
    for (name, _) in &select.windows {
        let (partition, order, frame) = window_over(b, &ast::WindowRef::Named(name.clone()))?;
        let name = Some((&*name.text).into());
        b.scope().checked_windows.push(WindowBlock { name, partition, order, frame, functions: Vec::new() });
    }
    Ok(())
}

/// What a window partitions by, orders by, and frames.
fn window_over(b: &mut Binder<'_>, over: &ast::WindowRef) -> Result<(Vec<Expr>, Vec<SortKey>, Frame)> {
    let spec = b.window_spec(over, 0)?;
    let name = match over {
        ast::WindowRef::Named(name) => &*name.text,
        ast::WindowRef::Spec(_) => "<unnamed window>",
    };
    let bind = |b: &mut Binder<'_>, e: &ast::Expr| {
        if super::call::position(e).is_some() {
            return Err(error(ErrorCode::WindowIllegalOrderBy, &[&name]));
        }
        Ok(b.pinned(|b| b.expr(e))?.expr)
    };
    in_window(b, |b| {
        b.scope().window_part = Some(("window partition by", name.into()));
        let partition = spec.partition_by.iter().map(|e| bind(b, e)).collect::<Result<Vec<_>>>()?;
        b.scope().window_part = Some(("window order by", name.into()));
        let mut order = Vec::with_capacity(spec.order_by.len());
        for item in &spec.order_by {
            order.push(SortKey { expr: bind(b, &item.expr)?, descending: item.desc });
        }
        let frame = b.frame(spec.frame.as_ref(), &order, name)?;
        Ok((partition, order, frame))
    })
}

fn window_name(func: WindowFunc) -> &'static str {
    match func {
        WindowFunc::RowNumber => "row_number",
        WindowFunc::Rank => "rank",
        WindowFunc::DenseRank => "dense_rank",
        WindowFunc::CumeDist => "cume_dist",
        WindowFunc::PercentRank => "percent_rank",
        WindowFunc::Ntile => "ntile",
        WindowFunc::Lead => "lead",
        WindowFunc::Lag => "lag",
        WindowFunc::FirstValue => "first_value",
        WindowFunc::LastValue => "last_value",
        WindowFunc::NthValue => "nth_value",
    }
}

/// A block with nothing in it.
pub(crate) fn empty_block(select: u32) -> Block {
    Block {
        select,
        rels: Vec::new(),
        from: None,
        filter: Vec::new(),
        groups: Vec::new(),
        rollup: false,
        aggregates: Vec::new(),
        carried: Vec::new(),
        groupings: Vec::new(),
        aggregated: false,
        having: Vec::new(),
        windows: Vec::new(),
        items: Vec::new(),
        distinct: false,
        order: Vec::new(),
        limit: None,
        offset: None,
        straight: false,
        calc_found_rows: false,
        kept: false,
        orders: Vec::new(),
        semijoin: crate::logical::Semijoin::default(),
    }
}

/// Characters of an expression that name its column.
const MAX_NAME: usize = 256;

/// An alias begins with a character that is seen.
fn without_leading_space(alias: &str) -> &str {
    alias.trim_start_matches(|c: char| c == ' ' || c.is_ascii_control())
}

/// The condition of WHERE. A subquery that is refused leaves its scope.
fn where_condition(b: &mut Binder<'_>, filter: &ast::Expr) -> Result<Expr> {
    let scopes = b.scopes.len();
    let bound = b.in_clause(Clause::Where, |b| b.condition(filter));
    b.scopes.truncate(scopes);
    bound
}

/// Warnings 1466 and 1474.
fn warn_of_space(b: &mut Binder<'_>, alias: &ast::Ident) {
    let name = without_leading_space(&alias.text);
    if name.len() != alias.text.len() {
        let code = if name.is_empty() { ErrorCode::NameBecomesEmpty } else { ErrorCode::RemovedSpaces };
        b.arena.warnings.push(Warning::new(Level::Warning, code, &[&alias.text]));
    }
}

/// The name of a select item's column.
pub(super) fn item_name(e: &ast::Expr, alias: Option<&ast::Ident>, text: &ast::SourceText) -> Box<str> {
    match (alias, e) {
        (Some(alias), _) => without_leading_space(&alias.text).into(),
        (None, ast::Expr::Column(column)) => column.column.text.clone(),
        (None, e) => {
            // Names are utf8mb3.
            let plain = |c: char| if c > '\u{FFFF}' { '?' } else { c };
            // A text begins with a letter that is seen.
            let seen = text.0.trim_start_matches(|c: char| c.is_ascii() && !c.is_ascii_graphic());
            let of_text = || seen.chars().take(MAX_NAME).map(plain).collect::<String>().into();
            super::call::given_name(e).unwrap_or_else(of_text)
        }
    }
}

/// See [`Binder::lone_value`]. What aggregates of a query around make stays in its subquery.
fn lone_value(b: &Binder<'_>, block: &Block, mut scope: Scope) -> Option<(ColId, Bound)> {
    let [item] = &block.items[..] else { return None };
    let plain = block.from.is_none() && block.filter.is_empty() && block.having.is_empty() && block.limit.is_none();
    if !plain || block.aggregated || !block.windows.is_empty() {
        return None;
    }
    let bound = scope.items.pop()?.bound;
    let of_aggregate = (0..b.scopes.len()).any(|level| b.contains_aggregate(level, &bound.expr));
    (bound.expr == item.expr && !of_aggregate).then_some((item.id, bound))
}

impl Binder<'_> {
    /// Binds a SELECT with the ORDER BY, LIMIT and locking of its query expression.
    pub(super) fn select(&mut self, select: &ast::Select, query: &ast::Query) -> Result<Query> {
        self.selects += 1;
        let mut block = empty_block(self.selects);
        let place = std::mem::take(&mut self.place);
        self.scopes.push(Scope::new());
        if select.options.all && select.options.distinct {
            return Err(error(ErrorCode::WrongUsage, &[&"ALL", &"DISTINCT"]));
        }
        let around = self.hints.current;
        let hinted = self.enter_block(self.selects, select.hints.as_deref());
        block.straight = select.options.straight_join || hinted.straight;
        (block.orders, block.semijoin) = (hinted.orders, hinted.semijoin);
        block.distinct = select.options.distinct;
        if select.options.sql_calc_found_rows && !place.outermost {
            return Err(error(ErrorCode::CantUseOptionHere, &[&"SQL_CALC_FOUND_ROWS"]));
        }
        if select.options.sql_calc_found_rows {
            block.calc_found_rows = true;
            self.arena.uses.calc_found_rows = true;
        }
        let Tables { from, mut rels, on_error } = self.from_clause(&select.from, Self::READ)?;
        self.apply_locking(&query.locking, &mut rels)?;
        (block.from, block.rels) = (from, rels);
        self.scope().rollup = select.rollup;
        self.named_windows(select)?;
        let filter = select.filter.as_ref().map(|filter| where_condition(self, filter));
        let listed = std::mem::take(&mut self.without_select);
        self.scope().clause = if listed { Clause::Values } else { Clause::Fields };
        // EXISTS does not look at a list that is `*` alone; tables are not needed for it.
        let any_row = place.exists && select.having.is_none();
        let names = self.pinned(|b| b.select_list(select, any_row, &mut block))?;
        // Of names that are not found, one of the list is blamed before one of WHERE, and that before one of ON.
        if let Some(bound) = filter {
            conjuncts(bound?, &mut block.filter);
        }
        on_error.map_or(Ok(()), Err)?;
        self.group_by(select, &mut block)?;
        if let Some(having) = &select.having {
            let bound = self.in_clause(Clause::Having, |b| b.condition(having))?;
            conjuncts(bound, &mut block.having);
        }
        self.order_by(&query.order_by, &mut block)?;
        // The order of a subquery without LIMIT is nobody's.
        if place.outermost || query.limit.is_some() {
            super::group::check_distinct_order(self, &block)?;
        }
        check_named_windows(self, select)?;
        // The only row of a subquery without tables is there whatever LIMIT says, unless that is 0 or leaves rows out.
        let keeps_row = |l: &ast::Limit| l.offset.is_none() && super::call::position(&l.count).is_some_and(|n| n > 0);
        let limit = query.limit.as_ref().filter(|l| place.outermost || !select.from.is_empty() || !keeps_row(l));
        if let Some(limit) = limit {
            block.limit = Some(self.limit_value(&limit.count)?);
            block.offset = limit.offset.as_ref().map(|o| self.limit_value(o)).transpose()?;
        }
        self.finish_groups(&mut block)?;
        let kept = block.distinct || !block.windows.is_empty() || !place.outermost && block.limit.is_some();
        for item in block.items.iter().filter(|item| kept && !item.expr.is_execution_constant()) {
            // Rows that are kept have the digits of their types.
            self.arena.types[item.id as usize].own_digits = false;
        }
        let scope = self.scopes.pop();
        self.lone_value = scope.and_then(|scope| lone_value(self, &block, scope));
        self.hints.current = around;
        let columns = names.into_iter().zip(&block.items).map(|(name, item)| OutColumn { name, id: item.id });
        let (columns, select) = (columns.collect(), block.select);
        let body = Body::Block(Box::new(block));
        Ok(Query { body, columns, order: Vec::new(), limit: None, offset: None, select })
    }

    /// Binds the select list. Returns the names of its columns.
    fn select_list(&mut self, select: &ast::Select, any_row: bool, block: &mut Block) -> Result<Vec<Box<str>>> {
        let mut names = Vec::new();
        for item in &select.items {
            match item {
                SelectItem::Wildcard(_) if any_row && select.from.is_empty() => {
                    let one = Bound::new(crate::make::constant(Value::Int(1)));
                    self.add_item("1".into(), one, false, block, &mut names);
                }
                SelectItem::Wildcard(span) => {
                    if select.from.is_empty() {
                        return Err(error(ErrorCode::NoTablesUsed, &[]));
                    }
                    let columns = self.all_columns();
                    self.note_wildcard(span.start, &columns);
                    self.mark_starred(&columns);
                    for (name, id) in columns {
                        let bound = self.column(id);
                        self.add_item(name, bound, false, block, &mut names);
                    }
                }
                SelectItem::TableWildcard(table) => {
                    let mut columns = Vec::new();
                    for rel in self.scope().rels.iter().filter(|r| r.is_called(table)) {
                        let visible = (0..rel.names.len() as u32).filter(|i| rel.names.visible(*i));
                        columns.extend(visible.map(|i| (Box::from(rel.names.name(i)), rel.first + i)));
                    }
                    if columns.is_empty() {
                        let name = match &table.schema {
                            Some(schema) => format!("{}.{}", schema.text, table.name.text),
                            None => table.name.text.to_string(),
                        };
                        return Err(error(ErrorCode::BadTable, &[&name]));
                    }
                    self.note_wildcard(table.name.span.start, &columns);
                    self.mark_starred(&columns);
                    for (name, id) in columns {
                        let bound = self.column(id);
                        self.add_item(name, bound, false, block, &mut names);
                    }
                }
                SelectItem::Expr { expr, alias, text } => {
                    let bound = self.expr(expr)?;
                    alias.iter().for_each(|alias| warn_of_space(self, alias));
                    let declared = match (alias, expr) {
                        (None, ast::Expr::Column(_)) => self.declared_name(&bound),
                        _ => None,
                    };
                    let name = declared.unwrap_or_else(|| item_name(expr, alias.as_ref(), text));
                    self.add_item(name, bound, alias.is_some(), block, &mut names);
                }
            }
        }
        Ok(names)
    }

    /// Remembers of which tables `*` names the columns.
    fn mark_starred(&mut self, columns: &[(Box<str>, u32)]) {
        for (_, id) in columns {
            if let Some(crate::logical::Label::Base { table, .. }) = self.arena.labels.get(*id as usize) {
                self.arena.tables[*table as usize].starred = true;
            }
        }
    }

    /// The name of a column of information_schema as it is declared: most of its tables are views in MySQL, which name
    /// their columns themselves.
    fn declared_name(&mut self, bound: &Bound) -> Option<Box<str>> {
        let ExprKind::Column(id) = bound.expr.kind else { return None };
        let own = |rel: &&super::scope::ScopeRel| (rel.first..rel.first + rel.names.len() as u32).contains(&id);
        let rel = self.scope().rels.iter().find(own)?;
        let views = rel.schema.as_deref().is_some_and(|s| s.eq_ignore_ascii_case("information_schema"));
        let table = match &rel.names {
            super::scope::Names::Table(table) => &*table.name,
            super::scope::Names::List(_) | super::scope::Names::View(..) => return None,
        };
        let computed = ["PROCESSLIST", "PROFILING", "ENGINES", "PLUGINS", "OPTIMIZER_TRACE", "TABLESPACES"];
        let computed = computed.contains(&table) || table.ends_with("_PRIVILEGES") || table.starts_with("INNODB_");
        (views && !computed).then(|| rel.names.name(id - rel.first).into())
    }

    fn all_columns(&mut self) -> Vec<(Box<str>, u32)> {
        let scope = self.scope();
        if let Some(merged) = &scope.merged {
            return merged.clone();
        }
        let mut columns = Vec::new();
        for rel in &scope.rels {
            let visible = (0..rel.names.len() as u32).filter(|i| rel.names.visible(*i));
            columns.extend(visible.map(|i| (Box::from(rel.names.name(i)), rel.first + i)));
        }
        columns
    }

    fn add_item(&mut self, name: Box<str>, bound: Bound, aliased: bool, block: &mut Block, names: &mut Vec<Box<str>>) {
        let text = (bound.coercibility, bound.ascii);
        let id = self.arena.text_column(bound.ty().clone(), Label::Computed, text);
        if bound.temporal {
            self.arena.temporal.insert(id);
        }
        block.items.push(Item { expr: bound.expr.clone(), id });
        let has_window = self.scopes.last().is_some_and(|s| s.reads_windows(&self.arena, &bound.expr));
        self.scope().items.push(ScopeItem { name: name.clone(), bound, aliased, has_window });
        names.push(name);
    }

    /// ORDER BY of a SELECT: positions, names of the list, expressions.
    fn order_by(&mut self, order: &[ast::OrderItem], block: &mut Block) -> Result<()> {
        let top = self.scopes.len() - 1;
        let aggregated = !block.groups.is_empty() || !self.scopes[top].aggregates.is_empty();
        for (i, item) in order.iter().enumerate() {
            let bound = self.order_item(&item.expr, Clause::Order, block)?;
            // An aggregate here would make one row of all.
            if !aggregated && self.contains_aggregate(top, &bound) {
                return Err(error(ErrorCode::AggregateOrderNonAggQuery, &[&(i + 1)]));
            }
            // A constant orders nothing.
            if !matches!(bound.kind, ExprKind::Literal(_)) {
                block.order.push(SortKey { expr: bound, descending: item.desc });
            }
        }
        Ok(())
    }

    /// An element of ORDER BY or GROUP BY.
    pub(super) fn order_item(&mut self, e: &ast::Expr, clause: Clause, block: &Block) -> Result<Expr> {
        if let Some(n) = super::call::position(e) {
            self.pin_position(e)?;
            let found = n.checked_sub(1).and_then(|n| block.items.get(n as usize));
            return match found {
                Some(item) => Ok(item.expr.clone()),
                None => Err(error(ErrorCode::BadField, &[&n, &clause.words()])),
            };
        }
        self.pinned(|b| {
            b.in_clause(clause, |b| match e {
                // A plain name in ORDER BY is looked for in the select list first.
                ast::Expr::Column(column) if clause == Clause::Order => {
                    let top = b.scopes.len() - 1;
                    let found = b.scopes[top].find_item(column, clause, &super::scope::Labels(&b.arena))?;
                    match found {
                        Some(i) => {
                            let item = &b.scopes[top].items[i];
                            if let Some((id, true)) = b.scopes[top].rollup_key(&item.bound.expr, &item.name) {
                                return Ok(b.arena.expr(id));
                            }
                            let (expr, aliased) = (item.bound.expr.clone(), item.aliased);
                            if let (ExprKind::Column(id), false) = (&expr.kind, aliased) {
                                b.note_column(column, *id);
                            }
                            Ok(expr)
                        }
                        None => Ok(b.resolve(column)?.expr),
                    }
                }
                ast::Expr::Column(column) if clause == Clause::Group && column.qualifier.is_none() => {
                    Ok(super::scope::group_name(b, column)?.expr)
                }
                e => Ok(b.expr(e)?.expr),
            })
        })
    }

    // ---- windows ----

    fn named_windows(&mut self, select: &ast::Select) -> Result<()> {
        for (name, spec) in &select.windows {
            if self.scope().named_windows.iter().any(|(n, _)| eq_name(n, &name.text)) {
                return Err(error(ErrorCode::WindowDuplicateName, &[&name.text]));
            }
            self.scope().named_windows.push((name.text.clone(), spec.clone()));
        }
        Ok(())
    }

    /// The specification behind OVER, with inherited parts filled in. Errors 3579 to 3583.
    fn window_spec(&mut self, over: &ast::WindowRef, depth: u32) -> Result<ast::WindowSpec> {
        let find = |b: &mut Self, name: &ast::Ident| {
            let found = b.scope().named_windows.iter().find(|(n, _)| eq_name(n, &name.text)).map(|(_, s)| s.clone());
            found.ok_or_else(|| error(ErrorCode::WindowNoSuchWindow, &[&name.text]))
        };
        if depth > 64 {
            return Err(error(ErrorCode::WindowCircularityInWindowGraph, &[]));
        }
        let mut spec = match over {
            ast::WindowRef::Named(name) => find(self, name)?,
            ast::WindowRef::Spec(spec) => (**spec).clone(),
        };
        let Some(base) = spec.base.take() else { return Ok(spec) };
        let parent = self.window_spec(&ast::WindowRef::Named(base.clone()), depth + 1)?;
        let own = match over {
            ast::WindowRef::Named(name) => &*name.text,
            ast::WindowRef::Spec(_) => "<unnamed window>",
        };
        if !spec.partition_by.is_empty() {
            return Err(error(ErrorCode::WindowNoChildPartitioning, &[]));
        }
        // A frame is not inherited, not even by a window that adds nothing.
        if parent.frame.is_some() {
            return Err(error(ErrorCode::WindowNoInheritFrame, &[&base.text]));
        }
        if !parent.order_by.is_empty() && !spec.order_by.is_empty() {
            return Err(error(ErrorCode::WindowNoRedefineOrderBy, &[&own, &base.text]));
        }
        spec.partition_by = parent.partition_by;
        if spec.order_by.is_empty() {
            spec.order_by = parent.order_by;
        }
        Ok(spec)
    }

    pub(super) fn window_call(&mut self, call: &ast::WindowCall) -> Result<Bound> {
        let kind = match call.func {
            WindowFunc::RowNumber => WindowKind::RowNumber,
            WindowFunc::Rank => WindowKind::Rank,
            WindowFunc::DenseRank => WindowKind::DenseRank,
            WindowFunc::CumeDist => WindowKind::CumeDist,
            WindowFunc::PercentRank => WindowKind::PercentRank,
            WindowFunc::Ntile => WindowKind::Ntile,
            WindowFunc::Lead => WindowKind::Lead,
            WindowFunc::Lag => WindowKind::Lag,
            WindowFunc::FirstValue => WindowKind::FirstValue,
            WindowFunc::LastValue => WindowKind::LastValue,
            WindowFunc::NthValue => WindowKind::NthValue,
        };
        if call.from_last {
            return Err(SqlError::unsupported("FROM LAST"));
        }
        if call.ignore_nulls == Some(true) {
            return Err(SqlError::unsupported("IGNORE NULLS"));
        }
        let name = window_name(call.func);
        self.scope().check_window(name)?;
        let mut args = in_window(self, |b| window_args(b, &kind, name, &call.args))?;
        // The row of another place is read from a table of texts.
        if let Some(first) = args.first_mut().filter(|a| matches!(a.ty().id, TypeId::Enum | TypeId::Set)) {
            let mut ty = SqlType::varchar(first.ty().display_chars(), first.ty().collation);
            ty.nullable = first.ty().nullable;
            *first = self.cast_to(first.clone(), ty);
        }
        let mut text = args.first().map_or((Coercibility::Numeric, false), |a| (a.coercibility, a.ascii));
        let ty = match &kind {
            WindowKind::RowNumber | WindowKind::Rank | WindowKind::DenseRank => SqlType::bigint_unsigned().not_null(),
            WindowKind::Ntile => SqlType::bigint_unsigned(),
            WindowKind::CumeDist | WindowKind::PercentRank => SqlType::DOUBLE.not_null(),
            _ => {
                let mut ty = args.first().map_or(SqlType::NULL, |a| a.ty().clone());
                if let Some(default) = args.get(2) {
                    let alternatives = [args[0].clone(), default.clone()];
                    let (common, source) = common_type(self.rule_context(), &alternatives, "lag")?;
                    if is_stringy(&common) {
                        let name = window_name(call.func).to_lowercase();
                        let fit = super::fit::fit_all(self, alternatives.into(), common.collation, &name)?;
                        for (arg, fit) in [0, 2].into_iter().zip(fit) {
                            args[arg] = fit;
                        }
                    }
                    (ty, text) = (common, (source.coercibility, source.ascii_only));
                }
                ty.nullable = true;
                ty
            }
        };
        self.add_window(kind, args, ty, text, &call.over)
    }

    pub(super) fn aggregate_window(
        &mut self,
        call: &ast::Aggregate,
        def: &'static AggregateDef,
        over: &ast::WindowRef,
    ) -> Result<Bound> {
        if def.name == "GROUP_CONCAT" {
            return Err(SqlError::unsupported("group_concat as window function"));
        }
        // The least and the greatest of distinct values are those of all.
        if call.distinct && !matches!(def.name, "MIN" | "MAX") {
            return Err(SqlError::unsupported("<window function>(DISTINCT ..)"));
        }
        let name = def.name.to_lowercase();
        self.scope().check_window(&name)?;
        let args = in_window(self, |b| call.args.iter().map(|a| b.expr(a)).collect::<Result<Vec<_>>>())?;
        if !def.arity.accepts(args.len()) {
            return Err(error(ErrorCode::WrongParamcountToNativeFct, &[&def.name]));
        }
        let infos: Vec<ArgInfo<'_>> = args.iter().map(crate::typing::info).collect();
        let ty = def.result_type(self.rule_context(), &infos)?;
        let text = super::call::aggregated_text(&args);
        super::call::compares_values(def.name, &args)?;
        self.add_window(WindowKind::Aggregate(def), args, ty, text, over)
    }

    fn add_window(
        &mut self,
        kind: WindowKind,
        args: Vec<Bound>,
        ty: SqlType,
        text: (Coercibility, bool),
        over: &ast::WindowRef,
    ) -> Result<Bound> {
        let (partition, order, frame) = window_over(self, over)?;
        let id = if is_stringy(&ty) {
            self.arena.text_column(ty.clone(), Label::Computed, text)
        } else {
            self.arena.column(ty.clone(), Label::Computed)
        };
        let function = WindowFunction { kind, args: args.into_iter().map(|a| a.expr).collect(), ty };
        let same = |w: &&mut WindowBlock| w.partition == partition && w.order == order && w.frame == frame;
        match self.scope().windows.iter_mut().find(same) {
            Some(window) => window.functions.push((function, id)),
            None => {
                let functions = vec![(function, id)];
                let name = match over {
                    ast::WindowRef::Named(name) => Some((&*name.text).into()),
                    ast::WindowRef::Spec(_) => None,
                };
                self.scope().windows.push(WindowBlock { name, partition, order, frame, functions });
            }
        }
        Ok(self.column(id))
    }

    /// The frame. Without one: up to the current row's peers when there is an order, else the whole partition.
    fn frame(&mut self, frame: Option<&ast::WindowFrame>, order: &[SortKey], name: &str) -> Result<Frame> {
        let Some(frame) = frame else {
            let end = if order.is_empty() { FrameBound::UnboundedFollowing } else { FrameBound::CurrentRow };
            return Ok(Frame { unit: FrameUnit::Range, start: FrameBound::UnboundedPreceding, end });
        };
        if frame.exclude.is_some() {
            return Err(SqlError::unsupported("EXCLUDE"));
        }
        let unit = match frame.unit {
            ast::FrameUnit::Rows => FrameUnit::Rows,
            ast::FrameUnit::Range => FrameUnit::Range,
            ast::FrameUnit::Groups => return Err(SqlError::unsupported("GROUPS")),
        };
        let current = ast::FrameBound::CurrentRow;
        let last = frame.end.as_ref().unwrap_or(&current);
        if matches!(frame.start, ast::FrameBound::UnboundedFollowing) {
            return Err(error(ErrorCode::WindowFrameStartIllegal, &[&name]));
        }
        if matches!(last, ast::FrameBound::UnboundedPreceding) {
            return Err(error(ErrorCode::WindowFrameEndIllegal, &[&name]));
        }
        // A frame that begins at the current row ends there or behind it, one that begins behind it ends behind it.
        let backwards = match &frame.start {
            ast::FrameBound::CurrentRow => matches!(last, ast::FrameBound::Preceding(_)),
            ast::FrameBound::Following(_) => {
                matches!(last, ast::FrameBound::Preceding(_) | ast::FrameBound::CurrentRow)
            }
            _ => false,
        };
        if backwards {
            return Err(error(ErrorCode::WindowFrameIllegal, &[&name]));
        }
        let start = self.frame_bound(&frame.start, unit, order, name)?;
        let end = self.frame_bound(last, unit, order, name)?;
        Ok(Frame { unit, start, end })
    }

    fn frame_bound(
        &mut self,
        bound: &ast::FrameBound,
        unit: FrameUnit,
        order: &[SortKey],
        name: &str,
    ) -> Result<FrameBound> {
        let (offset, preceding) = match bound {
            ast::FrameBound::UnboundedPreceding => return Ok(FrameBound::UnboundedPreceding),
            ast::FrameBound::UnboundedFollowing => return Ok(FrameBound::UnboundedFollowing),
            ast::FrameBound::CurrentRow => return Ok(FrameBound::CurrentRow),
            ast::FrameBound::Preceding(offset) => (offset, true),
            ast::FrameBound::Following(offset) => (offset, false),
        };
        let amount = self.pinned(|b| b.expr(&offset.amount))?;
        if !amount.expr.is_execution_constant() {
            return Err(error(ErrorCode::WindowRangeBoundNotConstant, &[&name]));
        }
        let negative = match &amount.expr.kind {
            ExprKind::Literal(Value::Int(v)) => *v < 0,
            ExprKind::Literal(Value::Null) => true,
            ExprKind::Literal(Value::Decimal(v)) => unit == FrameUnit::Rows || v.is_negative(),
            ExprKind::Literal(Value::Str(..) | Value::Double(_)) => unit == FrameUnit::Rows,
            _ => false,
        };
        if negative {
            return Err(error(ErrorCode::WindowFrameIllegal, &[&name]));
        }
        if unit == FrameUnit::Rows {
            if offset.unit.is_some() {
                return Err(error(ErrorCode::WindowRowsIntervalUse, &[&name]));
            }
            let bound = amount.expr;
            return Ok(if preceding { FrameBound::Preceding(bound) } else { FrameBound::Following(bound) });
        }
        // RANGE: the bound's value is the order key minus or plus the amount.
        let [key] = order else { return Err(error(ErrorCode::WindowRangeFrameOrderType, &[&name])) };
        let temporal = key.expr.ty.id.is_temporal();
        if temporal != offset.unit.is_some() {
            let code =
                if temporal { ErrorCode::WindowRangeFrameTemporalType } else { ErrorCode::WindowRangeFrameNumericType };
            return Err(error(code, &[&name]));
        }
        if !temporal && !key.expr.ty.id.is_numeric() {
            return Err(error(ErrorCode::WindowRangeFrameOrderType, &[&name]));
        }
        let back = preceding != key.descending;
        let key = Bound::new(key.expr.clone());
        let value = match offset.unit {
            Some(unit) => {
                let unit = self.text(unit.name());
                self.call_named(if back { "DATE_SUB" } else { "DATE_ADD" }, vec![key, amount, unit])?
            }
            None => self.call_named(if back { "-" } else { "+" }, vec![key, amount])?,
        };
        Ok(if preceding { FrameBound::Preceding(value.expr) } else { FrameBound::Following(value.expr) })
    }

    /// A name that no clause knows.
    pub(super) fn unknown(&self, column: &ast::ColumnRef, clause: Clause) -> SqlError {
        error(ErrorCode::BadField, &[&display(column), &clause.words()])
    }
}
