//! Access paths: how one table's rows are found under the conditions that hold for them.

use crate::expr::{CompareOp, Comparison, Expr, ExprKind, SortKey};
use crate::fold;
use crate::logical::{Arena, ColId, Rel, RelKind};
use crate::physical::{Access, Interval, IntervalBound, KeyValue, LikeRange, Ranges};
use crate::range::{is_sargable, is_total};
use gannet_catalog::{Index, RowSource, Table};
use gannet_types::{SqlType, Value};

/// Costs, in MySQL's unit: 1.0 = evaluating ten rows.
const ROW: f64 = 0.1;
/// Fetching a row by the clustered key.
const FETCH: f64 = 0.35;
/// Finding the first entry of a range.
const DESCENT: f64 = 0.3;
/// Rows of a table nobody has looked at.
const UNKNOWN_ROWS: f64 = 10.0;
/// Share of rows that pass an interval with both ends, with one end, an equality, anything else.
const BETWEEN: f64 = 0.11;
const ONE_END: f64 = 0.33;
const EQUAL: f64 = 0.1;
const OTHER: f64 = 0.5;

/// A way to read a table. Expressions in it are logical.
#[derive(Clone, Debug)]
pub(super) struct Path {
    /// Position in `Table::indexes`; `None`: the row tree of a table without a clustered index.
    pub(super) index: Option<u32>,
    pub(super) access: Access,
    pub(super) covering: bool,
    pub(super) reverse: bool,
    /// Conjuncts (positions) which the access alone ensures.
    pub(super) consumed: Vec<usize>,
    /// Entries read, rows delivered, cost; of one run.
    pub(super) examined: f64,
    pub(super) rows: f64,
    pub(super) cost: f64,
    /// The order asked for comes by itself.
    pub(super) ordered: bool,
    /// Key parts that are bound.
    pub(super) parts: usize,
    /// Indexes that could have been used.
    pub(super) possible: Vec<u32>,
}

/// What a path is chosen for.
pub(super) struct Wish<'w> {
    /// Conditions that can be checked when the row is there. Expressions over the relation itself, over rows that are
    /// there already, over registers and constants.
    pub(super) conjuncts: &'w [&'w Expr],
    /// Columns needed of the relation.
    pub(super) columns: &'w [u32],
    /// Order that would be useful, and how many rows are wanted then.
    pub(super) order: &'w [SortKey],
    pub(super) limit: Option<f64>,
}

/// An equality, list or interval on a column.
enum Sarg<'e> {
    Equal(KeyValue),
    List(Vec<KeyValue>),
    Low(IntervalBound),
    High(IntervalBound),
    Both(IntervalBound, IntervalBound),
    Like(&'e Expr, char),
}

struct Condition<'e> {
    conjunct: usize,
    column: u32,
    sarg: Sarg<'e>,
    /// The index ensures it, no filter is needed.
    exact: bool,
}

/// The cheapest path for a relation over a base table.
pub(super) fn choose(arena: &Arena, rel: &Rel, wish: &Wish<'_>) -> Path {
    let table = table_of(arena, rel);
    let rows = table_rows(table);
    if let RowSource::Virtual(_) = table.source {
        return virtual_path(arena, rel, wish, rows);
    }
    let conditions = conditions(arena, rel, table, wish.conjuncts);
    let mut best: Option<Path> = None;
    let mut possible = Vec::new();
    let full = full_scan(rel, table, wish, rows);
    let indexes: Vec<(usize, &Index)> = table.indexes.iter().enumerate().filter(|(i, x)| allowed(rel, *i, x)).collect();
    for (position, index) in indexes {
        if let Some(mut path) = by_index(arena, rel, table, position, &conditions, wish, rows) {
            possible.push(position as u32);
            finish(rel, table, index, &conditions, wish, &mut path);
            if best.as_ref().is_none_or(|b| better(&path, b)) {
                best = Some(path);
            }
        } else if let Some(path) = walk(rel, table, position, &conditions, wish, rows)
            && best.as_ref().is_none_or(|b| better(&path, b))
        {
            best = Some(path);
        }
    }
    let mut chosen = match best {
        Some(best) if rel.hints.force || better(&best, &full) => best,
        _ => full,
    };
    chosen.possible = possible;
    chosen
}

/// A point is a point; otherwise the lower cost.
fn better(a: &Path, b: &Path) -> bool {
    let point = |p: &Path| matches!(p.access, Access::Point { .. });
    match (point(a), point(b)) {
        (true, false) => true,
        (false, true) => false,
        _ => a.cost < b.cost,
    }
}

fn allowed(rel: &Rel, position: usize, index: &Index) -> bool {
    let position = position as u32;
    !index.invisible
        && rel.hints.only.as_ref().is_none_or(|only| only.contains(&position))
        && !rel.hints.ignore.contains(&position)
}

pub(super) fn table_of<'a>(arena: &'a Arena, rel: &Rel) -> &'a Table {
    match rel.kind {
        RelKind::Base(table) => &arena.tables[table as usize].table,
        // Only base tables come here.
        _ => &arena.tables[0].table,
    }
}

pub(super) fn table_rows(table: &Table) -> f64 {
    if table.statistics.is_unknown() { UNKNOWN_ROWS } else { (table.statistics.figures().rows as f64).max(1.0) }
}

/// Share of rows that pass conditions which no index serves.
pub(super) fn selectivity(conjuncts: &[&Expr], consumed: &[usize]) -> f64 {
    let of = |e: &Expr| match &e.kind {
        ExprKind::Compare { op: CompareOp::Eq | CompareOp::NullSafeEq, .. } => EQUAL,
        ExprKind::Compare { op: CompareOp::Ne, .. } => 0.9,
        ExprKind::Compare { .. } => ONE_END,
        ExprKind::Between { negated: false, .. } => BETWEEN,
        ExprKind::In { negated: false, list, .. } => (EQUAL * list.len() as f64).min(OTHER),
        ExprKind::IsNull { negated: false, .. } => EQUAL,
        _ => OTHER,
    };
    conjuncts.iter().enumerate().filter(|(i, _)| !consumed.contains(i)).map(|(_, e)| of(e)).product()
}

fn virtual_path(arena: &Arena, rel: &Rel, wish: &Wish<'_>, rows: f64) -> Path {
    let table = table_of(arena, rel);
    let equals = conditions(arena, rel, table, wish.conjuncts)
        .into_iter()
        .filter_map(|c| match c.sarg {
            Sarg::Equal(key) if !key.null_safe => Some((c.column, key.value)),
            _ => None,
        })
        .collect();
    Path {
        index: None,
        access: Access::Virtual { equals },
        covering: false,
        reverse: false,
        consumed: Vec::new(),
        examined: rows,
        rows: (rows * selectivity(wish.conjuncts, &[])).max(0.01),
        cost: rows,
        ordered: wish.order.is_empty(),
        parts: 0,
        possible: Vec::new(),
    }
}

fn full_scan(rel: &Rel, table: &Table, wish: &Wish<'_>, rows: f64) -> Path {
    let mut path = Path {
        index: table.clustered.map(|i| i as u32),
        access: Access::Full,
        covering: false,
        reverse: false,
        consumed: Vec::new(),
        examined: rows,
        rows: (rows * selectivity(wish.conjuncts, &[])).max(0.01),
        cost: DESCENT + rows * ROW,
        ordered: false,
        parts: 0,
        possible: Vec::new(),
    };
    match table.clustered_index() {
        Some(index) => order(rel, table, index, &[], wish, &mut path),
        None => order_by_sorting(wish, &mut path),
    }
    path
}

/// A full walk of a secondary index: because it covers, or because it has the order wanted with a LIMIT.
fn walk(
    rel: &Rel,
    table: &Table,
    position: usize,
    conditions: &[Condition<'_>],
    wish: &Wish<'_>,
    rows: f64,
) -> Option<Path> {
    if Some(position) == table.clustered {
        return None;
    }
    let covering = covers(table, position, wish.columns);
    let mut path = Path {
        index: Some(position as u32),
        access: Access::Full,
        covering,
        reverse: false,
        consumed: Vec::new(),
        examined: rows,
        rows: (rows * selectivity(wish.conjuncts, &[])).max(0.01),
        cost: if covering { DESCENT + rows * ROW * 0.6 } else { DESCENT + rows * (ROW + FETCH) },
        ordered: false,
        parts: 0,
        possible: Vec::new(),
    };
    finish(rel, table, &table.indexes[position], conditions, wish, &mut path);
    Some(path)
}

fn covers(table: &Table, position: usize, columns: &[u32]) -> bool {
    columns.iter().all(|c| *c != crate::physical::ROW_ID && table.index_has(position, *c))
}

/// The path that binds as many leading parts of an index as the conditions allow; `None` when they bind nothing.
fn by_index(
    arena: &Arena,
    rel: &Rel,
    table: &Table,
    position: usize,
    conditions: &[Condition<'_>],
    wish: &Wish<'_>,
    rows: f64,
) -> Option<Path> {
    let index = &table.indexes[position];
    let mut path = Path {
        index: Some(position as u32),
        access: Access::Full,
        covering: Some(position) != table.clustered && covers(table, position, wish.columns),
        reverse: false,
        consumed: Vec::new(),
        examined: rows,
        rows: 0.0,
        cost: 0.0,
        ordered: false,
        parts: 0,
        possible: Vec::new(),
    };
    let (mut parts, last) = product(index, conditions, &mut path.consumed);
    if parts.is_empty() && last.is_none() {
        let union = union(arena, rel, table, index, wish.conjuncts)?;
        path.examined = (rows * ONE_END).max(1.0);
        path.access = Access::Ranges { ranges: union };
        path.parts = 1;
        return Some(path);
    }
    path.parts = parts.len() + usize::from(last.is_some());
    let single = parts.iter().all(|alternatives| alternatives.len() == 1);
    let combinations: f64 = parts.iter().map(|p| p.len() as f64).product();
    let whole = index.unique() && parts.len() == index.parts.len() && !parts.iter().flatten().any(|k| k.null_safe);
    path.examined = if whole {
        combinations
    } else {
        let distinct =
            table.statistics.figures().distinct(index.tree, parts.len()).unwrap_or_else(|| (rows / 10.0).max(1.0));
        let share = if parts.is_empty() { rows } else { (rows / distinct.max(1.0)) * combinations };
        let interval = match &last {
            Some(Interval { low: Some(_), high: Some(_), .. }) => BETWEEN,
            Some(Interval { like: Some(_), .. }) => BETWEEN,
            Some(_) => ONE_END,
            None => 1.0,
        };
        (share * interval).clamp(1.0, rows.max(1.0))
    };
    path.access = match last {
        None if single => {
            let key = parts.iter_mut().filter_map(Vec::pop).collect();
            if whole { Access::Point { key } } else { Access::Ref { key } }
        }
        last => Access::Ranges {
            ranges: Ranges::Product { parts: parts.into_iter().map(Vec::into_boxed_slice).collect(), last },
        },
    };
    Some(path)
}

/// Alternatives for leading parts, and an interval on the part behind them. Notes the conditions that are ensured exactly.
fn product(
    index: &Index,
    conditions: &[Condition<'_>],
    consumed: &mut Vec<usize>,
) -> (Vec<Vec<KeyValue>>, Option<Interval>) {
    let mut parts = Vec::new();
    for part in &index.parts {
        let exact = part.prefix.is_none();
        let here = || conditions.iter().filter(|c| c.column == part.column);
        let equal = here().find(|c| matches!(c.sarg, Sarg::Equal(_)));
        let list = here().find(|c| matches!(c.sarg, Sarg::List(_)));
        match equal.or(list) {
            Some(condition) => {
                parts.push(match &condition.sarg {
                    Sarg::Equal(key) => vec![key.clone()],
                    Sarg::List(keys) => keys.clone(),
                    _ => Vec::new(),
                });
                if condition.exact && exact {
                    consumed.push(condition.conjunct);
                }
            }
            None => {
                let (mut low, mut high, mut like) = (None, None, None);
                for condition in here() {
                    let took = match &condition.sarg {
                        Sarg::Low(bound) if low.is_none() => {
                            low = Some(bound.clone());
                            true
                        }
                        Sarg::High(bound) if high.is_none() => {
                            high = Some(bound.clone());
                            true
                        }
                        Sarg::Both(a, b) if low.is_none() && high.is_none() => {
                            (low, high) = (Some(a.clone()), Some(b.clone()));
                            true
                        }
                        Sarg::Like(pattern, escape) if like.is_none() => {
                            like = Some(Box::new(LikeRange { pattern: (*pattern).clone(), escape: *escape }));
                            false
                        }
                        _ => false,
                    };
                    if took && condition.exact && exact {
                        consumed.push(condition.conjunct);
                    }
                }
                // An interval with ends is narrower than a pattern's.
                if low.is_some() || high.is_some() {
                    return (parts, Some(Interval { low, high, like: None }));
                }
                return (parts, like.map(|like| Interval { low: None, high: None, like: Some(like) }));
            }
        }
    }
    (parts, None)
}

/// The ranges of an OR whose every arm bounds the index; the condition itself stays in the filter.
fn union(arena: &Arena, rel: &Rel, table: &Table, index: &Index, conjuncts: &[&Expr]) -> Option<Ranges> {
    conjuncts.iter().find_map(|e| {
        let ExprKind::Or(arms) = &e.kind else { return None };
        let ranges = arms.iter().map(|arm| {
            let arm: Vec<&Expr> = match &arm.kind {
                ExprKind::And(all) => all.iter().collect(),
                _ => vec![arm],
            };
            let conditions = conditions(arena, rel, table, &arm);
            let (parts, last) = product(index, &conditions, &mut Vec::new());
            (!parts.is_empty() || last.is_some())
                .then(|| Ranges::Product { parts: parts.into_iter().map(Vec::into_boxed_slice).collect(), last })
        });
        ranges.collect::<Option<Box<[Ranges]>>>().map(Ranges::Union)
    })
}

/// Rows, cost and order of a path over an index.
fn finish(rel: &Rel, table: &Table, index: &Index, conditions: &[Condition<'_>], wish: &Wish<'_>, path: &mut Path) {
    let secondary = path.index.map(|i| i as usize) != table.clustered;
    let per_row = if secondary && !path.covering { ROW + FETCH } else { ROW };
    path.cost = DESCENT + path.examined * if path.covering { ROW * 0.8 } else { per_row };
    path.rows = (path.examined * selectivity(wish.conjuncts, &path.consumed)).max(0.01);
    if matches!(path.access, Access::Point { .. }) {
        path.rows = path.rows.min(1.0);
    }
    let fixed: Vec<u32> = conditions
        .iter()
        .filter(|c| matches!(c.sarg, Sarg::Equal(_)) && path.consumed.contains(&c.conjunct))
        .map(|c| c.column)
        .collect();
    order(rel, table, index, &fixed, wish, path);
}

/// Looks whether the path delivers the wanted order (perhaps backwards); charges the sort otherwise. With a limit, a
/// path in order reads only as much as is wanted.
fn order(rel: &Rel, table: &Table, index: &Index, fixed: &[u32], wish: &Wish<'_>, path: &mut Path) {
    if wish.order.is_empty() {
        path.ordered = true;
        limit(wish, path);
        return;
    }
    let several = match &path.access {
        Access::Ranges { ranges: Ranges::Product { parts, .. } } => parts.iter().any(|p| p.len() > 1),
        Access::Ranges { .. } => true,
        _ => false,
    };
    // The parts of the index, then the clustered key's, without those that have one value only.
    let clustered = table.clustered_index().map_or(&[][..], |c| &c.parts);
    let secondary = path.index.map(|i| i as usize) != table.clustered;
    let all = index.parts.iter().chain(if secondary { clustered } else { &[] });
    let mut parts = all.filter(|p| several || !fixed.contains(&p.column)).peekable();
    let mut reverse = None;
    for key in wish.order {
        let ExprKind::Column(id) = key.expr.kind else { return order_by_sorting(wish, path) };
        if !rel.has(id) {
            return order_by_sorting(wish, path);
        }
        let column = id - rel.first;
        if fixed.contains(&column) {
            continue;
        }
        match parts.next() {
            Some(part) if part.column == column && part.prefix.is_none() => {
                let backwards = part.descending != key.descending;
                if *reverse.get_or_insert(backwards) != backwards {
                    return order_by_sorting(wish, path);
                }
            }
            _ => return order_by_sorting(wish, path),
        }
    }
    path.ordered = true;
    path.reverse = reverse.unwrap_or(false);
    limit(wish, path);
}

fn limit(wish: &Wish<'_>, path: &mut Path) {
    if let Some(limit) = wish.limit
        && path.rows > limit
    {
        path.cost *= (limit / path.rows).max(0.0001);
    }
}

fn order_by_sorting(wish: &Wish<'_>, path: &mut Path) {
    path.ordered = wish.order.is_empty();
    if !path.ordered {
        path.cost += path.rows * path.rows.max(2.0).log2() * 0.05;
    }
}

/// The conditions on columns of the relation that an index may serve.
fn conditions<'e>(arena: &Arena, rel: &Rel, table: &Table, conjuncts: &[&'e Expr]) -> Vec<Condition<'e>> {
    let mut found = Vec::new();
    for (conjunct, e) in conjuncts.iter().enumerate() {
        condition(arena, rel, table, conjunct, e, &mut found);
    }
    found
}

/// The column of the relation that the expression is.
fn own_column(rel: &Rel, table: &Table, e: &Expr) -> Option<u32> {
    match e.kind {
        ExprKind::Column(id) if rel.has(id) && ((id - rel.first) as usize) < table.columns.len() => {
            Some(id - rel.first)
        }
        _ => None,
    }
}

/// True when the expression can be computed before the relation is read, once for a run.
fn is_given(arena: &Arena, rel: &Rel, e: &Expr) -> bool {
    !arena.reads(e, |id| rel.has(id)) && !is_volatile(e)
}

fn is_volatile(e: &Expr) -> bool {
    e.any(&mut |x| match &x.kind {
        ExprKind::Call(def, _) => def.stability == gannet_functions::Stability::Volatile,
        ExprKind::SetUserVar(..) | ExprKind::UserVar(_) => true,
        _ => false,
    })
}

fn condition<'e>(
    arena: &Arena,
    rel: &Rel,
    table: &Table,
    conjunct: usize,
    e: &'e Expr,
    found: &mut Vec<Condition<'e>>,
) {
    let column_type = |c: u32| &table.columns[c as usize].ty;
    let mut push = |column: u32, sarg: Sarg<'e>, exact: bool| found.push(Condition { conjunct, column, sarg, exact });
    match &e.kind {
        ExprKind::Compare { op, by, args } => {
            for (left, right, op) in [(&args[0], &args[1], *op), (&args[1], &args[0], op.swapped())] {
                let Some(column) = own_column(rel, table, left) else { continue };
                let ty = column_type(column);
                let equality = matches!(op, CompareOp::Eq | CompareOp::NullSafeEq);
                if !is_given(arena, rel, right) || !is_sargable(ty, *by, equality) || op == CompareOp::Ne {
                    continue;
                }
                let exact = is_total(ty, *by, &right.ty);
                let bound = |inclusive| IntervalBound { value: right.clone(), by: *by, inclusive };
                let sarg = match op {
                    CompareOp::Eq => Sarg::Equal(KeyValue { value: right.clone(), by: *by, null_safe: false }),
                    CompareOp::NullSafeEq => Sarg::Equal(KeyValue { value: right.clone(), by: *by, null_safe: true }),
                    CompareOp::Lt => Sarg::High(bound(false)),
                    CompareOp::Le => Sarg::High(bound(true)),
                    CompareOp::Gt => Sarg::Low(bound(false)),
                    CompareOp::Ge => Sarg::Low(bound(true)),
                    CompareOp::Ne => continue,
                };
                push(column, sarg, exact);
                return;
            }
        }
        ExprKind::Between { by, negated: false, args } => {
            let Some(column) = own_column(rel, table, &args[0]) else { return };
            let ty = column_type(column);
            let given = args[1..].iter().all(|a| is_given(arena, rel, a));
            if given && is_sargable(ty, *by, false) {
                let exact = is_total(ty, *by, &args[1].ty) && is_total(ty, *by, &args[2].ty);
                let bound = |e: &Expr| IntervalBound { value: e.clone(), by: *by, inclusive: true };
                push(column, Sarg::Both(bound(&args[1]), bound(&args[2])), exact);
            }
        }
        ExprKind::In { by, negated: false, arg, list, .. } => {
            let Some(column) = own_column(rel, table, arg) else { return };
            let ty = column_type(column);
            if is_sargable(ty, *by, true) && list.iter().all(|e| is_given(arena, rel, e)) {
                let exact = list.iter().all(|e| is_total(ty, *by, &e.ty));
                let key = |e: &Expr| KeyValue { value: e.clone(), by: *by, null_safe: false };
                push(column, Sarg::List(list.iter().map(key).collect()), exact);
            }
        }
        ExprKind::IsNull { arg, negated: false } => {
            if let Some(column) = own_column(rel, table, arg) {
                let value = Expr { kind: ExprKind::Literal(Value::Null), ty: SqlType::NULL };
                push(column, Sarg::Equal(KeyValue { value, by: Comparison::Integer, null_safe: true }), true);
            }
        }
        ExprKind::Call(def, args) if def.name == "LIKE" => {
            let Some(column) = own_column(rel, table, &args[0]) else { return };
            let ty = column_type(column);
            let escape = match args.get(2) {
                None => Some('\\'),
                Some(e) => match fold::literal(e) {
                    Some(Value::Str(text, _)) => std::str::from_utf8(text).ok().and_then(|t| t.chars().next()),
                    _ => None,
                },
            };
            let by = Comparison::String(ty.collation);
            let same = args[1].ty.id.is_string() && !args[1].ty.id.is_binary_string();
            if let Some(escape) = escape
                && ty.id.is_string()
                && same
                && is_given(arena, rel, &args[1])
                && is_sargable(ty, by, false)
            {
                push(column, Sarg::Like(&args[1], escape), false);
            }
        }
        _ => {}
    }
}

/// Applies `f` to each expression of an access.
pub(super) fn for_each_expr_mut(access: &mut Access, f: &mut impl FnMut(&mut Expr)) {
    match access {
        Access::Full => {}
        Access::Point { key } | Access::Ref { key } => key.iter_mut().for_each(|k| f(&mut k.value)),
        Access::Ranges { ranges } => ranges_mut(ranges, f),
        Access::Virtual { equals } => equals.iter_mut().for_each(|(_, e)| f(e)),
    }
}

fn ranges_mut(ranges: &mut Ranges, f: &mut impl FnMut(&mut Expr)) {
    match ranges {
        Ranges::Union(all) => all.iter_mut().for_each(|r| ranges_mut(r, f)),
        Ranges::Product { parts, last } => {
            parts.iter_mut().flat_map(|p| p.iter_mut()).for_each(|k| f(&mut k.value));
            if let Some(interval) = last {
                interval.low.iter_mut().chain(&mut interval.high).for_each(|b| f(&mut b.value));
                interval.like.iter_mut().for_each(|l| f(&mut l.pattern));
            }
        }
    }
}

/// MySQL's `ref` column: where the values of the bound parts come from.
pub(super) fn refs(arena: &Arena, access: &Access) -> Box<[Box<str>]> {
    let name = |k: &KeyValue| -> Box<str> {
        match &k.value.kind {
            ExprKind::Column(id) => column_name(arena, *id),
            ExprKind::Literal(_) | ExprKind::Param(_) => "const".into(),
            _ if k.value.is_execution_constant() => "const".into(),
            _ => "func".into(),
        }
    };
    match access {
        Access::Point { key } | Access::Ref { key } => key.iter().map(name).collect(),
        _ => Box::new([]),
    }
}

fn column_name(arena: &Arena, id: ColId) -> Box<str> {
    match &arena.labels[id as usize] {
        crate::logical::Label::Base { table, ordinal } => {
            let table = &arena.tables[*table as usize];
            match table.table.columns.get(*ordinal as usize) {
                Some(column) => format!("{}.{}.{}", table.table.schema, table.alias, column.name).into(),
                None => "func".into(),
            }
        }
        crate::logical::Label::Derived { alias, name, .. } => format!("{alias}.{name}").into(),
        crate::logical::Label::Computed => "func".into(),
    }
}
