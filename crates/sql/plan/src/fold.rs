//! Constant folding and simplification of predicates. Everything here keeps three-valued logic and evaluation's errors
//! and warnings: what would warn or fail is left to the executor.

use crate::expr::{CompareOp, Comparison, Expr, ExprKind, SubqueryKind};
use crate::make::{boolean, predicate};
use crate::options::PlanOptions;
use crate::typing::natural;
use gannet_functions::{Call, CallStates, EvalContext, SessionInfo, Stability};
use gannet_types::convert::{CompareAs, Context, cast, compare};
use gannet_types::room::Room;
use gannet_types::temporal::{DateFlags, parse_datetime};
use gannet_types::{Date, SqlMode, SqlType, TimeZone, TypeId, Value, Warnings};
use std::cmp::Ordering;
use std::collections::HashMap;

/// Computing with longer texts is the executor's, which lets others run meanwhile and can be interrupted.
const LONG: usize = 4096;

/// The least `max_allowed_packet` there may be: what is longer is for the executor to allow.
const LEAST_PACKET: usize = 1024;

fn is_long(value: &Value) -> bool {
    value.long_bytes() > LONG
}

/// The value of a literal.
pub(crate) fn literal(e: &Expr) -> Option<&Value> {
    match &e.kind {
        ExprKind::Literal(value) => Some(value),
        _ => None,
    }
}

/// Truth of a literal number or NULL: `Some(None)` is NULL.
fn truth(e: &Expr) -> Option<Option<bool>> {
    Some(match literal(e)? {
        Value::Null => None,
        Value::Int(v) => Some(*v != 0),
        Value::UInt(v) => Some(*v != 0),
        _ => return None,
    })
}

fn value(v: bool) -> Expr {
    Expr { kind: ExprKind::Literal(Value::from(v)), ty: boolean(false) }
}

/// TRUE for every row.
pub(crate) fn is_true(e: &Expr) -> bool {
    truth(e) == Some(Some(true))
}

/// Never TRUE: 0 or NULL.
pub(crate) fn is_never(e: &Expr) -> bool {
    matches!(truth(e), Some(None | Some(false)))
}

/// Simplifies the top of an expression; operands are simplified already.
pub(crate) fn simplify(e: Expr) -> Expr {
    let ty = e.ty;
    match e.kind {
        ExprKind::And(args) => junction(args, true, ty),
        ExprKind::Or(args) => junction(args, false, ty),
        ExprKind::Not(arg) => negate(*arg, ty),
        ExprKind::IsNull { arg, negated } => is_null(arg, negated, ty),
        ExprKind::Compare { op, by, args } => {
            let folded = match (literal(&args[0]), literal(&args[1])) {
                (Some(a), Some(b)) => compare_literals(op, by, a, b),
                // A comparison with NULL is NULL, whatever a column or parameter holds.
                (Some(Value::Null), None) | (None, Some(Value::Null)) if op != CompareOp::NullSafeEq => {
                    let plain =
                        |e: &Expr| matches!(e.kind, ExprKind::Column(_) | ExprKind::Param(_) | ExprKind::Literal(_));
                    args.iter().all(plain).then(|| predicate(ExprKind::Literal(Value::Null), true))
                }
                _ => None,
            };
            folded.unwrap_or(Expr { kind: ExprKind::Compare { op, by, args }, ty })
        }
        ExprKind::Cast(arg) => {
            let folded = literal(&arg).cloned().and_then(|mut v| {
                if ty.id.is_string() {
                    v.settle_text(&arg.ty);
                }
                cast_literal(&v, &ty)
            });
            folded.unwrap_or(Expr { kind: ExprKind::Cast(arg), ty })
        }
        kind => Expr { kind, ty },
    }
}

fn junction(args: Box<[Expr]>, conjunction: bool, ty: SqlType) -> Expr {
    let mut flat = Vec::with_capacity(args.len());
    for arg in args {
        match arg.kind {
            ExprKind::And(inner) if conjunction => flat.extend(inner),
            ExprKind::Or(inner) if !conjunction => flat.extend(inner),
            kind => flat.push(Expr { kind, ty: arg.ty }),
        }
    }
    if flat.iter().any(|a| truth(a) == Some(Some(!conjunction))) {
        return value(!conjunction);
    }
    let before = flat.len();
    flat.retain(|a| truth(a) != Some(Some(conjunction)));
    if flat.len() >= LONG_JUNCTION {
        flat = gather(flat, conjunction);
    }
    match (flat.len(), before) {
        (0, _) => value(conjunction),
        // A lone operand is a truth value only if it was a predicate already.
        (1, _) if is_predicate(&flat[0]) => flat.swap_remove(0),
        _ => {
            let kind = if conjunction { ExprKind::And(flat.into()) } else { ExprKind::Or(flat.into()) };
            Expr { kind, ty }
        }
    }
}

/// From this many operands on an OR is looked through for equalities that are one IN.
const LONG_JUNCTION: usize = 32;

/// Of a long OR the equalities of one column with constants become one IN, of a long AND the inequalities one NOT IN: a
/// list is looked up where an OR is gone through. Where the order of the operands matters they stay as they are.
fn gather(args: Vec<Expr>, conjunction: bool) -> Vec<Expr> {
    if !args.iter().all(Expr::is_steady) {
        return args;
    }
    let mut lists: HashMap<(u32, Comparison), usize> = HashMap::new();
    for arg in &args {
        if let Some((list, values)) = listed(arg, conjunction) {
            *lists.entry(list).or_default() += values.len();
        }
    }
    lists.retain(|_, values| *values >= LONG_JUNCTION);
    let mut gathered: HashMap<(u32, Comparison), (usize, Vec<Expr>)> = HashMap::new();
    let mut out: Vec<Expr> = Vec::new();
    for arg in args {
        match listed(&arg, conjunction).filter(|(list, _)| lists.contains_key(list)) {
            None => out.push(arg),
            Some((list, values)) => {
                let values = values.iter().cloned();
                match gathered.get_mut(&list) {
                    Some((_, all)) => all.extend(values),
                    // The first one holds the place, and the column.
                    None => {
                        gathered.insert(list, (out.len(), values.collect()));
                        out.push(arg);
                    }
                }
            }
        }
    }
    for ((_, by), (place, list)) in gathered {
        let column = match &out[place].kind {
            ExprKind::Compare { args, .. } => args.iter().find(|e| matches!(e.kind, ExprKind::Column(_))).cloned(),
            ExprKind::In { arg, .. } => Some((**arg).clone()),
            _ => None,
        };
        let Some(arg) = column.map(Box::new) else { continue };
        let nullable = arg.ty.nullable || list.iter().any(|e| e.ty.nullable);
        let kind = ExprKind::In { by, negated: conjunction, arg, list: list.into(), constant_list: true };
        out[place] = predicate(kind, nullable);
    }
    out
}

/// The column and the constants of an equality or IN; with `negated` of their opposites. Only where the column compares
/// in its own domain, so that a comparison neither warns nor fails.
fn listed(e: &Expr, negated: bool) -> Option<((u32, Comparison), &[Expr])> {
    let constant = |e: &Expr| matches!(e.kind, ExprKind::Literal(_) | ExprKind::Param(_));
    let of = |column: &Expr, by: Comparison| match column.kind {
        ExprKind::Column(id) if by == natural(&column.ty) && by != Comparison::Json => Some((id, by)),
        _ => None,
    };
    match &e.kind {
        ExprKind::Compare { op, by, args } if *op == if negated { CompareOp::Ne } else { CompareOp::Eq } => {
            let (left, right) = args.split_at(1);
            let (column, value) = if constant(&right[0]) { (&left[0], right) } else { (&right[0], left) };
            constant(&value[0]).then(|| Some((of(column, *by)?, value)))?
        }
        ExprKind::In { by, negated: n, arg, list, constant_list: true } if *n == negated => {
            list.iter().all(constant).then(|| Some((of(arg, *by)?, &**list)))?
        }
        _ => None,
    }
}

/// The expression gives 0, 1 or NULL only.
pub(crate) fn is_predicate(e: &Expr) -> bool {
    match &e.kind {
        ExprKind::And(_)
        | ExprKind::Or(_)
        | ExprKind::Not(_)
        | ExprKind::IsNull { .. }
        | ExprKind::Compare { .. }
        | ExprKind::Between { .. }
        | ExprKind::In { .. } => true,
        ExprKind::Subquery(s) => !matches!(s.kind, SubqueryKind::Scalar | SubqueryKind::Column(_)),
        ExprKind::Literal(v) => matches!(v, Value::Null | Value::Int(0 | 1)),
        ExprKind::Call(def, _) => matches!(def.name, "LIKE" | "REGEXP_LIKE" | "XOR"),
        _ => false,
    }
}

fn negate(arg: Expr, ty: SqlType) -> Expr {
    match truth(&arg) {
        Some(Some(v)) => return value(!v),
        Some(None) => return arg,
        None => {}
    }
    let inner = arg.ty;
    let kind = match arg.kind {
        ExprKind::Compare { op, by, args } => match op.negated() {
            Some(op) => ExprKind::Compare { op, by, args },
            None => {
                let same = Expr { kind: ExprKind::Compare { op, by, args }, ty: inner };
                ExprKind::Not(Box::new(same))
            }
        },
        ExprKind::Between { by, negated, args } => ExprKind::Between { by, negated: !negated, args },
        ExprKind::In { by, negated, arg, list, constant_list } => {
            ExprKind::In { by, negated: !negated, arg, list, constant_list }
        }
        ExprKind::IsNull { arg, negated } => ExprKind::IsNull { arg, negated: !negated },
        ExprKind::Not(double) if is_predicate(&double) => return *double,
        ExprKind::And(args) => {
            let args: Vec<Expr> = args.into_vec().into_iter().map(|a| negate(a, ty.clone())).collect();
            return junction(args.into(), false, ty);
        }
        ExprKind::Or(args) => {
            let args: Vec<Expr> = args.into_vec().into_iter().map(|a| negate(a, ty.clone())).collect();
            return junction(args.into(), true, ty);
        }
        ExprKind::Subquery(mut s) => match &mut s.kind {
            SubqueryKind::Exists { negated } | SubqueryKind::In { negated, .. } => {
                *negated = !*negated;
                ExprKind::Subquery(s)
            }
            _ => ExprKind::Not(Box::new(Expr { kind: ExprKind::Subquery(s), ty: inner })),
        },
        kind => ExprKind::Not(Box::new(Expr { kind, ty: inner })),
    };
    Expr { kind, ty }
}

fn is_null(arg: Box<Expr>, negated: bool, ty: SqlType) -> Expr {
    if let Some(v) = literal(&arg) {
        return value(v.is_null() != negated);
    }
    // A zero date in a NOT NULL column passes for NULL (manual, "Comparison Functions and Operators").
    let zero_dates = matches!(arg.ty.id, TypeId::Date | TypeId::DateTime);
    if matches!(arg.kind, ExprKind::Column(_)) && !arg.ty.nullable && !zero_dates {
        return value(negated);
    }
    Expr { kind: ExprKind::IsNull { arg, negated }, ty }
}

/// A time with an offset: what it is depends on the session's time zone.
fn has_offset(v: &Value) -> bool {
    let Value::Str(text, c) = v else { return false };
    parse_datetime(&c.charset().narrow(text), DateFlags::LAX).is_some_and(|t| t.offset.is_some())
}

fn with_context<R>(f: impl FnOnce(&mut Context<'_>) -> gannet_types::Result<R>) -> Option<R> {
    let mut warnings = Warnings::default();
    let mut cx = Context {
        mode: SqlMode::DEFAULT,
        zone: &TimeZone::UTC,
        today: Date::new(1970, 1, 1),
        strict: false,
        warnings: &mut warnings,
        stopped: gannet_types::convert::never,
        room: Room::FREE,
    };
    let result = f(&mut cx).ok();
    if warnings.is_empty() { result } else { None }
}

/// The conversions' name of a domain.
pub fn compare_as(by: Comparison) -> Option<CompareAs> {
    Some(match by {
        Comparison::Integer => CompareAs::Integer,
        Comparison::Decimal => CompareAs::Decimal,
        Comparison::Double => CompareAs::Double,
        Comparison::String(collation) => CompareAs::Text(collation),
        Comparison::Datetime => CompareAs::DateTime,
        Comparison::Time => CompareAs::Time,
        Comparison::Json => CompareAs::Json,
    })
}

fn compare_literals(op: CompareOp, by: Comparison, a: &Value, b: &Value) -> Option<Expr> {
    if op == CompareOp::NullSafeEq && (a.is_null() || b.is_null()) {
        return Some(value(a.is_null() && b.is_null()));
    }
    if a.is_null() || b.is_null() {
        return Some(predicate(ExprKind::Literal(Value::Null), true));
    }
    let temporal = |v: &Value| matches!(v, Value::Time(..) | Value::Timestamp(..));
    if temporal(a) != temporal(b) || is_long(a) || is_long(b) || has_offset(a) || has_offset(b) {
        return None;
    }
    let how = compare_as(by)?;
    let order = with_context(|cx| compare(a.as_ref(), b.as_ref(), how, cx))??;
    Some(value(holds(op, order)))
}

fn holds(op: CompareOp, order: Ordering) -> bool {
    match op {
        CompareOp::Eq | CompareOp::NullSafeEq => order.is_eq(),
        CompareOp::Ne => order.is_ne(),
        CompareOp::Lt => order.is_lt(),
        CompareOp::Le => order.is_le(),
        CompareOp::Gt => order.is_gt(),
        CompareOp::Ge => order.is_ge(),
    }
}

fn cast_literal(v: &Value, ty: &SqlType) -> Option<Expr> {
    // Whether a fraction is rounded or cut is for sql_mode to say.
    let digits = match v {
        Value::Str(text, _) => text.iter().rev().position(|b| *b == b'.').unwrap_or(0),
        Value::Decimal(d) => usize::from(d.scale()),
        Value::DateTime(_, fsp) => usize::from(*fsp),
        Value::Double(_) => usize::MAX,
        _ => 0,
    };
    if ty.id.is_temporal() && digits > usize::from(ty.scale) {
        return None;
    }
    let long = is_long(v) || ty.id == TypeId::Binary && ty.length as usize > LEAST_PACKET;
    // Whether a fraction is cut or rounded depends on the SQL mode.
    let fraction = ty.id.is_temporal() && matches!(v, Value::Str(text, _) if text.contains(&b'.'));
    let zoned = ty.id.is_temporal() && has_offset(v);
    if long || fraction || zoned || matches!(ty.id, TypeId::Timestamp | TypeId::Json) || matches!(v, Value::Time(..)) {
        return None;
    }
    let result = with_context(|cx| cast(v.as_ref(), ty, cx))?;
    Some(Expr { ty: ty.clone(), kind: ExprKind::Literal(result) })
}

/// Calls a pure function of literals when the plan is made.
pub(crate) fn call(e: Expr, options: &PlanOptions<'_>) -> Expr {
    let ExprKind::Call(def, args) = &e.kind else { return e };
    // A time may become a datetime of the day on which the statement runs.
    let known = |a: &Expr| literal(a).is_some_and(|v| !matches!(v, Value::Time(..)));
    if def.stability != Stability::Pure || !args.iter().all(known) {
        return e;
    }
    let mut values: Vec<Value> = args.iter().filter_map(literal).cloned().collect();
    if values.iter().any(is_long) {
        return e;
    }
    if !def.keeps_digits {
        values.iter_mut().zip(args).for_each(|(v, a)| v.settle(&a.ty));
    }
    if def.null_propagates && values.iter().any(Value::is_null) {
        return Expr { kind: ExprKind::Literal(Value::Null), ty: e.ty };
    }
    let types: Vec<SqlType> = args.iter().map(|a| a.ty.clone()).collect();
    let mut warnings = Warnings::default();
    let mut cx = EvalContext {
        sql_mode: options.sql_mode,
        time_zone: options.time_zone,
        now_us: 0,
        today: Date::new(1970, 1, 1),
        div_precision_increment: options.div_precision_increment,
        group_concat_max_len: options.group_concat_max_len,
        max_allowed_packet: LEAST_PACKET as u64,
        default_week_format: 0,
        locale: options.locale,
        strict: false,
        warnings: &mut warnings,
        stopped: gannet_types::convert::never,
        room: Room::FREE,
        states: &mut CallStates::default(),
        session: &mut NoSession,
    };
    // A function that repeats or pads can make much of little: not worth keeping in a plan. It refuses that with a
    // warning.
    match (def.eval)(&mut cx, Call { ty: &e.ty, args: &types, site: 0 }, &values) {
        Ok(v) if warnings.is_empty() && !is_long(&v) => Expr { kind: ExprKind::Literal(v), ty: e.ty },
        _ => e,
    }
}

/// A pure function asks nothing of the session.
struct NoSession;

impl SessionInfo for NoSession {
    fn database(&self) -> Option<&str> {
        None
    }
    fn connection_id(&self) -> u64 {
        0
    }
    fn user(&self) -> &str {
        ""
    }
    fn current_user(&self) -> &str {
        ""
    }
    fn version(&self) -> &str {
        ""
    }
    fn last_insert_id(&self) -> u64 {
        0
    }
    fn set_last_insert_id(&mut self, _: u64) {}
    fn found_rows(&self) -> u64 {
        0
    }
    fn row_count(&self) -> i64 {
        0
    }
    fn random(&mut self) -> u64 {
        0
    }
    fn sleep(&mut self, _: f64) -> bool {
        false
    }
}
