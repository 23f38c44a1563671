//! Evaluation of a bound expression for one row.

pub(crate) mod alternatives;
mod subquery;

use crate::{
    batch::Batch,
    compare::{append_domain_key, compare, holds, truth},
    context::{Cx, Told},
    convert, long,
    lookup::InSet,
    numbered::Numbered,
};
use gannet_functions::Call;
use gannet_plan::explain;
use gannet_plan::expr::{Bind, CompareOp, Comparison, Expr, ExprKind, Match, OfElements, Subquery};
use gannet_plan::plan::{Param, PlanKind};
use gannet_schema::array;
use gannet_types::json::{self, Json};
use gannet_types::{ErrorCode, Result, SqlError, SqlType, TypeId, Value, sql_err};
use std::cmp::Ordering;

/// IN lists at least this long are looked up in a set.
const SET_SIZE: usize = 12;

/// The value of `expr` over row `row` of `batch`.
pub fn eval<'p>(expr: &'p Expr, batch: &Batch, row: usize, cx: &mut Cx<'_, 'p>) -> Result<Value> {
    match &expr.kind {
        ExprKind::Literal(value) => Ok(value.clone()),
        ExprKind::Param(n) => Ok(param(*n, cx)),
        ExprKind::Column(n) => {
            Ok(batch.columns[*n as usize].get(row).localize(&cx.shared.settings.time_zone).to_owned())
        }
        ExprKind::Register(n) => Ok(cx.register(*n).clone()),
        _ => eval_deep(expr, batch, row, cx),
    }
}

/// The value of a parameter. A variable's TIMESTAMP is an instant, and computed with as a local time, like a column's.
#[inline]
fn param(n: u32, cx: &Cx<'_, '_>) -> Value {
    let value = &cx.shared.params[n as usize];
    if matches!(value, Value::Timestamp(..)) { local(value, cx) } else { value.clone() }
}

#[cold]
fn local(instant: &Value, cx: &Cx<'_, '_>) -> Value {
    instant.as_ref().localize(&cx.shared.settings.time_zone).to_owned()
}

fn eval_deep<'p>(expr: &'p Expr, batch: &Batch, row: usize, cx: &mut Cx<'_, 'p>) -> Result<Value> {
    gannet_types::check_stack()?;
    match &expr.kind {
        ExprKind::Literal(_) | ExprKind::Param(_) | ExprKind::Column(_) | ExprKind::Register(_) => {
            eval(expr, batch, row, cx)
        }
        ExprKind::Call(def, args) => call(expr, def, args, batch, row, cx),
        ExprKind::Routine(called, args) => {
            let before = cx.arguments.kept();
            let argument = |a| eval(a, batch, row, cx).and_then(|value| cx.keep_argument(&value).map(|()| value));
            let values = args.iter().map(argument).collect::<Result<smallvec::SmallVec<[Value; 4]>>>();
            let value = values.and_then(|values| {
                let (session, to, warnings) = cx.program()?;
                session.function_value(to, warnings, called, &values)
            });
            cx.drop_arguments(before);
            value
        }
        ExprKind::And(args) => junction(args, false, batch, row, cx),
        ExprKind::Or(args) if args.len() >= alternatives::LONG_OR => alternatives::value(args, batch, row, cx),
        ExprKind::Or(args) => junction(args, true, batch, row, cx),
        ExprKind::Not(arg) => {
            let value = eval(arg, batch, row, cx)?;
            Ok(truth(value.as_ref(), cx)?.map_or(Value::Null, |t| Value::from(!t)))
        }
        ExprKind::IsNull { arg, negated } => Ok(Value::from(eval(arg, batch, row, cx)?.is_null() != *negated)),
        ExprKind::Compare { op, by, args } => comparison(*op, *by, args, batch, row, cx),
        ExprKind::Between { by, negated, args } => between(*by, *negated, args, batch, row, cx),
        ExprKind::In { by, negated, arg, list, constant_list } => {
            let wanted = eval(arg, batch, row, cx)?;
            let found = if *constant_list && list.len() >= SET_SIZE {
                in_set(*by, &wanted, arg, list, cx)?
            } else {
                in_list(*by, &wanted, arg, list, batch, row, cx)?
            };
            Ok(found.map_or(Value::Null, |yes| Value::from(yes != *negated)))
        }
        ExprKind::Case { operand, by, whens, otherwise } => {
            let Some(branch) = case(operand.as_deref(), *by, whens, otherwise.as_deref(), batch, row, cx)? else {
                return Ok(Value::Null);
            };
            branch_value(expr, branch, batch, row, cx)
        }
        ExprKind::Cast(arg) => {
            let mut value = eval(arg, batch, row, cx)?;
            match expr.ty.id {
                id if id.is_string() => value.settle_text(&arg.ty),
                id if !id.is_numeric() => value.settle(&arg.ty),
                _ => {}
            }
            convert::cast(value, &expr.ty, cx).map_err(|e| named(e, expr, cx))
        }
        ExprKind::Subquery(query) => subquery::eval(query, batch, row, cx),
        ExprKind::UserVar(name) => Ok(cx.session.user_variable(name)),
        ExprKind::SetUserVar(name, arg) => {
            let value = eval(arg, batch, row, cx)?;
            cx.session.set_user_variable(name, value.clone())?;
            Ok(value)
        }
        ExprKind::SysVar { global, name } => cx.session.system_variable(*global, name),
        ExprKind::Default { table, column } => {
            let plan = cx.shared.plan;
            let table = &plan.tables[*table as usize].table;
            crate::dml::defaults::default_value(table, *column as usize, cx)
        }
        ExprKind::Match(search) => matched(search, batch, row, cx),
        ExprKind::OfElements(test) => of_elements(test, batch, row, cx),
        ExprKind::Row(_) => Err(SqlError::internal("a row where one value belongs")),
    }
}

/// A condition on an array, by the elements that an index has of it.
fn of_elements<'p>(test: &'p OfElements, batch: &Batch, row: usize, cx: &mut Cx<'_, 'p>) -> Result<Value> {
    let ExprKind::Call(def, args) = &test.call.kind else {
        return Err(SqlError::internal("a condition on elements that is no call"));
    };
    let as_written = |cx: &mut Cx<'_, 'p>| eval(&test.call, batch, row, cx);
    let array = eval(&args[test.array], batch, row, cx)?;
    // Errors are in the words of the condition.
    let wanted = eval(&test.wanted, batch, row, cx).unwrap_or(Value::Null);
    let context = cx.eval_context();
    let (stopped, room) = (context.stopped, context.room);
    let document = |value: Value| match value {
        Value::Json(stored) => Json::decode(&stored, room).map(Some),
        Value::Str(text, collation) => {
            Ok(gannet_types::convert::parse_json(&text, collation, test.array + 1, "cast_as_array", stopped, room).ok())
        }
        _ => Ok(None),
    };
    let (array, wanted) = (document(array)?, document(wanted)?);
    let (Some(array), Some(wanted)) = (array, wanted) else { return as_written(cx) };
    if def.name == "MEMBER OF" && matches!(&wanted, Json::Array(items) if items.contains(&Json::Null)) {
        return as_written(cx);
    }
    match (array::converted(&test.ty, wanted), array::converted(&test.ty, array)) {
        (Some(wanted), Some(array)) if def.name == "JSON_OVERLAPS" => Ok(Value::from(json::overlaps(&array, &wanted))),
        (Some(wanted), Some(array)) => Ok(Value::from(json::contains(&array, &wanted))),
        _ => as_written(cx),
    }
}

fn matched<'p>(search: &'p Match, batch: &Batch, row: usize, cx: &mut Cx<'_, 'p>) -> Result<Value> {
    let Some((against, of_key)) = search.args.split_first() else {
        return Err(SqlError::internal("MATCH without its query"));
    };
    let against = eval(against, batch, row, cx)?;
    let mut values: smallvec::SmallVec<[Value; 2]> = smallvec::SmallVec::new();
    for part in of_key {
        values.push(match part.kind {
            // As it is stored, in no time zone.
            ExprKind::Column(n) => batch.columns[n as usize].get(row).to_owned(),
            _ => eval(part, batch, row, cx)?,
        });
    }
    crate::search::rank(search, &against, &values, cx)
}

/// The value of an expression that is the same for every row; `None` for others, and for those whose evaluation fails
/// or warns: it does so row by row.
pub(crate) fn fixed<'p>(expr: &'p Expr, cx: &mut Cx<'_, 'p>) -> Option<Value> {
    match &expr.kind {
        ExprKind::Literal(value) => return Some(value.clone()),
        ExprKind::Param(n) => return Some(param(*n, cx)),
        ExprKind::Register(n) => return Some(cx.register(*n).clone()),
        _ if !is_fixed(expr) => return None,
        _ => {}
    }
    quietly(cx, |cx| eval(expr, &Batch::one_empty_row(), 0, cx))
}

/// A value that is computed ahead of its use: `None`, and nothing is told, where that fails or warns.
pub(crate) fn quietly<'p, T>(cx: &mut Cx<'_, 'p>, compute: impl FnOnce(&mut Cx<'_, 'p>) -> Result<T>) -> Option<T> {
    let (warned, total, told) = (cx.warnings.mark(), cx.warnings.total(), cx.shared.told());
    let value = compute(cx);
    if value.is_ok() && cx.warnings.total() == total && cx.shared.told() == told {
        return value.ok();
    }
    cx.warnings.back_to(warned);
    cx.shared.forget(told);
    None
}

/// Made of constants only, by what gives the same value each time.
fn is_fixed(expr: &Expr) -> bool {
    let mut fixed = match &expr.kind {
        ExprKind::Literal(_)
        | ExprKind::Param(_)
        | ExprKind::Register(_)
        | ExprKind::And(_)
        | ExprKind::Or(_)
        | ExprKind::Not(_)
        | ExprKind::IsNull { .. }
        | ExprKind::Compare { .. }
        | ExprKind::Between { .. }
        | ExprKind::In { .. }
        | ExprKind::Case { .. }
        | ExprKind::Cast(_) => true,
        ExprKind::Call(def, _) => !def.stability.varies() && def.kernel != gannet_functions::Kernel::Repeat,
        ExprKind::Column(_)
        | ExprKind::Row(_)
        | ExprKind::Subquery(_)
        | ExprKind::UserVar(_)
        | ExprKind::SetUserVar(..)
        | ExprKind::SysVar { .. }
        | ExprKind::Routine(..)
        | ExprKind::Match(_)
        | ExprKind::OfElements(_)
        | ExprKind::Default { .. } => false,
    };
    expr.for_each_child(|child| fixed = fixed && is_fixed(child));
    fixed
}

/// True when the expression is neither 0 nor NULL.
pub fn is_true<'p>(expr: &'p Expr, batch: &Batch, row: usize, cx: &mut Cx<'_, 'p>) -> Result<bool> {
    let value = eval(expr, batch, row, cx)?;
    Ok(truth(value.as_ref(), cx)? == Some(true))
}

/// Error 1690 of an expression's own evaluation names it as it was written.
#[cold]
pub(crate) fn named<'p>(error: SqlError, expr: &'p Expr, cx: &Cx<'_, 'p>) -> SqlError {
    const WHERE: &str = " value is out of range in '";
    let domain = match error.message().split_once(WHERE) {
        // Functions with words of their own tell what they tell.
        Some((domain, of))
            if of != "json_value'" && error.code() == ErrorCode::DataOutOfRange && domain == domain.to_uppercase() =>
        {
            domain.to_owned()
        }
        _ => return error,
    };
    match explain::blamed(cx.shared.plan, expr, cx.shared.params) {
        Some(text) => sql_err!(DataOutOfRange, domain, text),
        None => error,
    }
}

fn call<'p>(
    expr: &'p Expr,
    def: &'static gannet_functions::FunctionDef,
    args: &'p [Expr],
    batch: &Batch,
    row: usize,
    cx: &mut Cx<'_, 'p>,
) -> Result<Value> {
    if def.kernel == gannet_functions::Kernel::Repeat {
        return repeat(def, args, &expr.ty, batch, row, cx);
    }
    let before = cx.arguments.kept();
    let value = call_of(expr, def, args, batch, row, cx);
    cx.drop_arguments(before);
    value
}

fn call_of<'p>(
    expr: &'p Expr,
    def: &'static gannet_functions::FunctionDef,
    args: &'p [Expr],
    batch: &Batch,
    row: usize,
    cx: &mut Cx<'_, 'p>,
) -> Result<Value> {
    let mut values: smallvec::SmallVec<[Value; 4]> = smallvec::SmallVec::new();
    let mut null = false;
    for arg in args {
        let mut value = match arg.kind {
            ExprKind::Column(n) if def.takes_instants => batch.columns[n as usize].get(row).to_owned(),
            _ => eval(arg, batch, row, cx)?,
        };
        if def.null_propagates && value.is_null() {
            // Arithmetic of integers and doubles computes both operands: the other one may be out of range.
            if !def.keeps_digits || expr.ty.id == TypeId::Decimal {
                return Ok(Value::Null);
            }
            null = true;
        }
        if !def.keeps_digits {
            value.settle(&arg.ty);
        }
        let known = !value.is_null();
        cx.keep_argument(&value)?;
        values.push(value);
        if known && def.kernel == gannet_functions::Kernel::FirstKnown {
            values.resize(args.len(), Value::Null);
            break;
        }
    }
    if null {
        return Ok(Value::Null);
    }
    let types: smallvec::SmallVec<[SqlType; 4]> = args.iter().map(|a| a.ty.clone()).collect();
    let call = Call { ty: &expr.ty, args: &types, site: args.as_ptr() as usize };
    long::call(def, call, &values, cx).map_err(|e| named(e, expr, cx))
}

/// BENCHMARK(count, expression)
#[cold]
fn repeat<'p>(
    def: &'static gannet_functions::FunctionDef,
    args: &'p [Expr],
    ty: &SqlType,
    batch: &Batch,
    row: usize,
    cx: &mut Cx<'_, 'p>,
) -> Result<Value> {
    let count = eval(&args[0], batch, row, cx)?;
    let times = gannet_types::convert::to_i64(count.as_ref(), &mut cx.eval_context().conversion())?;
    let mut last = Value::Null;
    for _ in 0..times {
        cx.check_interrupt()?;
        last = eval(&args[1], batch, row, cx)?;
    }
    let types = [args[0].ty.clone(), args[1].ty.clone()];
    (def.eval)(&mut cx.eval_context(), Call { ty, args: &types, site: 0 }, &[count, last])
}

/// AND (`stop` false) and OR (`stop` true) with three-valued logic.
fn junction<'p>(args: &'p [Expr], stop: bool, batch: &Batch, row: usize, cx: &mut Cx<'_, 'p>) -> Result<Value> {
    let mut unknown = false;
    for arg in args {
        let value = eval(arg, batch, row, cx)?;
        match truth(value.as_ref(), cx)? {
            Some(t) if t == stop => return Ok(Value::from(stop)),
            Some(_) => {}
            None => unknown = true,
        }
    }
    Ok(if unknown { Value::Null } else { Value::from(!stop) })
}

fn comparison<'p>(
    op: CompareOp,
    by: Comparison,
    args: &'p [Expr; 2],
    batch: &Batch,
    row: usize,
    cx: &mut Cx<'_, 'p>,
) -> Result<Value> {
    if let Some(answer) = row_comparison(op, by, args, batch, row, cx)? {
        return Ok(answer);
    }
    let mut a = eval(&args[0], batch, row, cx)?;
    // As MySQL, the right side is not computed then: it may be out of range.
    if a.is_null() && !matches!(op, CompareOp::NullSafeEq) && by != Comparison::Datetime {
        return Ok(Value::Null);
    }
    let mut b = eval(&args[1], batch, row, cx)?;
    if by == Comparison::Datetime {
        constant_date(&args[0], &mut a, args[1].ty.id, cx)?;
        constant_date(&args[1], &mut b, args[0].ty.id, cx)?;
    }
    if op == CompareOp::NullSafeEq && (a.is_null() || b.is_null()) {
        return Ok(Value::from(a.is_null() && b.is_null()));
    }
    constant_number(by, &args[0], &mut a, &args[1], cx)?;
    constant_number(by, &args[1], &mut b, &args[0], cx)?;
    Ok(compare(by, a.as_ref(), b.as_ref(), cx)?.map_or(Value::Null, |order| Value::from(holds(op, order))))
}

/// The constant came with the execution: a `?`, a variable of a stored program.
fn is_given(constant: &Expr, cx: &Cx<'_, '_>) -> bool {
    let ExprKind::Param(n) = constant.kind else { return false };
    cx.shared.plan.params.get(n as usize).is_some_and(|p| !matches!(p, Param::Literal { .. }))
}

/// Text that is compared with a date, and is none: error 1525 if it stands in the statement, NULL if it was given.
pub(crate) fn constant_date(constant: &Expr, value: &mut Value, with: TypeId, cx: &mut Cx<'_, '_>) -> Result<()> {
    let wanted = match with {
        TypeId::Date => "DATE",
        TypeId::DateTime => "DATETIME",
        TypeId::Timestamp => "TIMESTAMP",
        _ => return Ok(()),
    };
    if matches!(constant.kind, ExprKind::Literal(_) | ExprKind::Param(_)) && matches!(value, Value::Str(..)) {
        let shared = cx.shared;
        let first = |text: &str| shared.tells_first(ErrorCode::TruncatedWrongValue, Told::Name(text.into()));
        let mut context = cx.eval_context();
        let read = gannet_types::convert::constant_datetime(value.as_ref(), wanted, first, &mut context.conversion());
        *value = match read {
            Ok((at, fsp)) => Value::DateTime(at, fsp),
            Err(e) if e.code() == ErrorCode::WrongValue && is_given(constant, cx) => Value::Null,
            Err(e) => return Err(e),
        };
    }
    Ok(())
}

/// Reads and tells what is read once, before any row.
#[inline]
pub(crate) fn read_constants(cx: &mut Cx<'_, '_>) -> Result<()> {
    let plan = cx.shared.plan;
    if !plan.dates.is_empty() {
        read_dates(cx)?;
    }
    if !plan.date_numbers.is_empty() {
        tell_date_numbers(cx)?;
    }
    if !plan.number_texts.is_empty() {
        tell_number_texts(cx)?;
    }
    Ok(())
}

/// Reads the texts of the statement that are compared with dates and times, before any row, and tells what is wrong
/// with them: rows do not tell it again. Errors 1525 and, in strict changes, 1292.
pub(crate) fn read_dates<'p>(cx: &mut Cx<'_, 'p>) -> Result<()> {
    let strict = is_strict(cx);
    for date in &cx.shared.plan.dates {
        let value = eval(&date.text, &Batch::one_empty_row(), 0, cx)?;
        let Value::Str(text, _) = &value else { continue };
        let text = String::from_utf8_lossy(text).into();
        cx.shared.tells_first(ErrorCode::TruncatedWrongValue, Told::Name(text));
        let given = is_given(&date.text, cx);
        let mut context = cx.eval_context();
        let mut conversion = context.conversion();
        conversion.strict = strict;
        let column = date.column.as_deref();
        match gannet_types::convert::tell_date_text(value.as_ref(), date.with, column, &mut conversion) {
            Err(e) if e.code() == ErrorCode::WrongValue && (given || date.listed) => {}
            told => told?,
        }
    }
    Ok(())
}

/// Warns of the numbers of the statement that are compared with columns of dates and times, and are none: as if they
/// were stored there, with the zero date and days that a month does not have. Error 1292 in strict changes. They are
/// compared as numbers then.
#[cold]
pub(crate) fn tell_date_numbers<'p>(cx: &mut Cx<'_, 'p>) -> Result<()> {
    let strict = is_strict(cx);
    for told in &cx.shared.plan.date_numbers {
        let value = eval(&told.number, &Batch::one_empty_row(), 0, cx)?;
        let mark = cx.warnings.mark();
        let mut context = cx.eval_context();
        let mut conversion = context.conversion();
        conversion.strict = strict;
        gannet_types::convert::tell_date_number(value.as_ref(), told.ty.id, &told.column, &mut conversion)?;
        if told.listed {
            cx.warnings.back_to(mark);
        }
    }
    Ok(())
}

/// What constants tell before any row is an error: in a strict change.
fn is_strict(cx: &Cx<'_, '_>) -> bool {
    let change = match &cx.shared.plan.kind {
        PlanKind::Query(_) | PlanKind::PointSelect(_) => false,
        PlanKind::Insert(insert) => !insert.ignore,
        PlanKind::Update(update) => !update.ignore,
        PlanKind::Delete(delete) => !delete.ignore,
    };
    cx.strict || change && cx.shared.settings.sql_mode.is_strict()
}

/// Warns of the texts of the statement that are compared with numbers, and are none. Error 1292 in strict changes. Rows
/// tell no more of them.
pub(crate) fn tell_number_texts<'p>(cx: &mut Cx<'_, 'p>) -> Result<()> {
    let (strict, nowhere) = (is_strict(cx), Batch::one_empty_row());
    for told in &cx.shared.plan.number_texts {
        let none = match &told.limit {
            Some(limit) => matches!(eval(limit, &nowhere, 0, cx)?, Value::Int(0) | Value::UInt(0)),
            None => false,
        };
        let value = eval(&told.text, &nowhere, 0, cx)?;
        let Value::Str(..) = &value else { continue };
        if none || !cx.shared.tells_first(ErrorCode::TruncatedWrongValue, constant_of(&told.text, &value)) {
            continue;
        }
        let mut context = cx.eval_context();
        let mut conversion = context.conversion();
        conversion.strict = strict;
        match told.decimal {
            true => drop(gannet_types::convert::to_decimal(value.as_ref(), &mut conversion)?),
            false => drop(gannet_types::convert::to_f64(value.as_ref(), &mut conversion)?),
        }
    }
    Ok(())
}

/// Which constant it is.
fn constant_of(of: &Expr, value: &Value) -> Told {
    match (&of.kind, value) {
        (ExprKind::Param(n), _) => Told::Param(*n),
        (ExprKind::Literal(_), Value::Str(text, _)) => Told::Name(String::from_utf8_lossy(text).into()),
        // Plans do not move while they run.
        _ => Told::At(std::ptr::from_ref(of) as usize),
    }
}

/// Text that is the same for all rows, compared with a number: it is read as one, and is told of once, as a DOUBLE
/// beside an integer, whatever it is compared as.
pub(crate) fn constant_number(
    by: Comparison,
    of: &Expr,
    value: &mut Value,
    with: &Expr,
    cx: &mut Cx<'_, '_>,
) -> Result<()> {
    let Value::Str(..) = &*value else { return Ok(()) };
    if !matches!(by, Comparison::Double | Comparison::Decimal) || !is_kept(of) {
        return Ok(());
    }
    let (mark, total) = (cx.warnings.mark(), cx.warnings.total());
    let mut context = cx.eval_context();
    let (given, context) = (value.as_ref(), &mut context.conversion());
    let number = if by == Comparison::Double {
        Value::Double(gannet_types::convert::to_f64(given, context)?)
    } else if with.ty.id.is_integer() {
        gannet_types::convert::to_f64(given, context)?;
        let heard = context.warnings.mark();
        context.strict = false;
        let number = gannet_types::convert::to_decimal(given, context)?;
        context.warnings.back_to(heard);
        Value::Decimal(number)
    } else {
        Value::Decimal(gannet_types::convert::to_decimal(given, context)?)
    };
    if cx.warnings.total() != total && !cx.shared.tells_first(ErrorCode::TruncatedWrongValue, constant_of(of, value)) {
        cx.warnings.back_to(mark);
    }
    *value = number;
    Ok(())
}

/// MySQL keeps its value while the statement runs.
fn is_kept(of: &Expr) -> bool {
    match &of.kind {
        ExprKind::Literal(_) | ExprKind::Param(_) | ExprKind::UserVar(_) => true,
        ExprKind::Column(_) | ExprKind::Register(_) => false,
        _ => of.is_execution_constant(),
    }
}

/// As [`constant_date`] for BETWEEN and IN, which take text that is no date for the zero date, with one warning.
fn bound_date(constant: &Expr, value: &mut Value, other: &Expr, cx: &mut Cx<'_, '_>) -> Result<()> {
    let wanted = match other.ty.id {
        TypeId::Date => "date",
        TypeId::DateTime | TypeId::Timestamp => "datetime",
        _ => return Ok(()),
    };
    if let (ExprKind::Literal(_) | ExprKind::Param(_), Value::Str(text, _)) = (&constant.kind, &*value) {
        let text = Told::Name(String::from_utf8_lossy(text).into());
        let tell = cx.shared.tells_first(ErrorCode::TruncatedWrongValue, text);
        let mut context = cx.eval_context();
        let (at, fsp) = gannet_types::convert::bound_datetime(value.as_ref(), wanted, tell, &mut context.conversion())?;
        *value = Value::DateTime(at, fsp);
    }
    Ok(())
}

/// Comparison of `(a, b)` with `(SELECT x, y ...)`: lexicographic, each column in the common domain.
fn row_comparison<'p>(
    op: CompareOp,
    by: Comparison,
    args: &'p [Expr; 2],
    batch: &Batch,
    row: usize,
    cx: &mut Cx<'_, 'p>,
) -> Result<Option<Value>> {
    let (fields, query, op): (&'p [Expr], &'p Subquery, CompareOp) = match (&args[0].kind, subquery::of(&args[1].kind))
    {
        (ExprKind::Row(fields), Some(query)) => (fields, query, op),
        _ => match (subquery::of(&args[0].kind), &args[1].kind) {
            (Some(query), ExprKind::Row(fields)) => (fields, query, op.swapped()),
            _ => return Ok(None),
        },
    };
    let right = subquery::eval_row(query, batch, row, cx)?;
    let mut answer = Some(Ordering::Equal);
    for (i, field) in fields.iter().enumerate() {
        let left = eval(field, batch, row, cx)?;
        let null = Value::Null;
        let right = right.as_ref().and_then(|r| r.get(i)).unwrap_or(&null);
        match compare(by, left.as_ref(), right.as_ref(), cx)? {
            Some(Ordering::Equal) => {}
            other => {
                answer = other;
                if other.is_some() {
                    break;
                }
            }
        }
    }
    Ok(Some(answer.map_or(Value::Null, |order| Value::from(holds(op, order)))))
}

fn between<'p>(
    by: Comparison,
    negated: bool,
    args: &'p [Expr; 3],
    batch: &Batch,
    row: usize,
    cx: &mut Cx<'_, 'p>,
) -> Result<Value> {
    let mut value = eval(&args[0], batch, row, cx)?;
    if value.is_null() {
        // What is never compared is not computed, and says nothing of a division by 0.
        return Ok(Value::Null);
    }
    let mut low = eval(&args[1], batch, row, cx)?;
    let mut high = eval(&args[2], batch, row, cx)?;
    if by == Comparison::Datetime {
        bound_date(&args[1], &mut low, &args[0], cx)?;
        bound_date(&args[2], &mut high, &args[0], cx)?;
        bound_date(&args[0], &mut value, &args[1], cx)?;
    }
    let above = compare(by, value.as_ref(), low.as_ref(), cx)?.map(|o| o != Ordering::Less);
    let below = compare(by, value.as_ref(), high.as_ref(), cx)?.map(|o| o != Ordering::Greater);
    let inside = match (above, below) {
        (Some(false), _) | (_, Some(false)) => Some(false),
        (Some(true), Some(true)) => Some(true),
        _ => None,
    };
    Ok(inside.map_or(Value::Null, |yes| Value::from(yes != negated)))
}

fn in_list<'p>(
    by: Comparison,
    wanted: &Value,
    arg: &Expr,
    list: &'p [Expr],
    batch: &Batch,
    row: usize,
    cx: &mut Cx<'_, 'p>,
) -> Result<Option<bool>> {
    let mut answer = if wanted.is_null() { None } else { Some(false) };
    let texts = matches!(by, Comparison::Double | Comparison::Decimal) && list.iter().all(Expr::is_text_given);
    for candidate in list {
        let mut value = eval(candidate, batch, row, cx)?;
        if texts {
            constant_number(by, candidate, &mut value, arg, cx)?;
        }
        if by == Comparison::Datetime {
            bound_date(candidate, &mut value, arg, cx)?;
        }
        match compare(by, wanted.as_ref(), value.as_ref(), cx)? {
            Some(Ordering::Equal) => return Ok(Some(true)),
            Some(_) => {}
            None => answer = None,
        }
    }
    Ok(answer)
}

/// The set of a list: the one made before in this execution, taken out of where it is kept, or a new one.
pub(crate) fn in_set_of<'p>(by: Comparison, arg: &Expr, list: &'p [Expr], cx: &mut Cx<'_, 'p>) -> Result<InSet> {
    // The list's address names it: plans do not move while they run.
    if let Some(set) = cx.in_sets.as_mut().and_then(|sets| sets.remove(&(list.as_ptr() as usize))) {
        return Ok(set);
    }
    let mut set = InSet { keys: Numbered::default(), null: false, integers: None };
    let mut integers = (by == Comparison::Integer).then(Vec::new);
    let (empty, mut key) = (Batch::one_empty_row(), Vec::new());
    for candidate in list {
        let mut value = eval(candidate, &empty, 0, cx)?;
        constant_number(by, candidate, &mut value, arg, cx)?;
        if by == Comparison::Datetime {
            bound_date(candidate, &mut value, arg, cx)?;
        }
        key.clear();
        if !append_domain_key(by, value.as_ref(), cx, &mut key)? {
            set.null = true;
            continue;
        }
        cx.reserve(Numbered::cost(key.len()))?;
        cx.worked(key.len() + 32)?;
        set.keys.insert(&key);
        match value {
            Value::Int(v) => integers.iter_mut().for_each(|all| all.push(v)),
            // Beyond what a signed column holds.
            Value::UInt(v) => {
                if let Ok(v) = i64::try_from(v) {
                    integers.iter_mut().for_each(|all| all.push(v));
                }
            }
            _ => integers = None,
        }
    }
    if let Some(all) = &mut integers {
        long::over(size_of_val(&all[..]), || all.sort_unstable());
    }
    set.integers = integers;
    Ok(set)
}

fn in_set<'p>(
    by: Comparison,
    wanted: &Value,
    arg: &Expr,
    list: &'p [Expr],
    cx: &mut Cx<'_, 'p>,
) -> Result<Option<bool>> {
    if wanted.is_null() {
        return Ok(None);
    }
    let set = in_set_of(by, arg, list, cx)?;
    let mut key = Vec::new();
    append_domain_key(by, wanted.as_ref(), cx, &mut key)?;
    let found = if set.keys.contains(&key[..]) {
        Some(true)
    } else if set.null {
        None
    } else {
        Some(false)
    };
    cx.in_sets.get_or_insert_default().insert(list.as_ptr() as usize, set);
    Ok(found)
}

/// The value of a CASE by one of its branches.
pub(crate) fn branch_value<'p>(
    case: &'p Expr,
    branch: &'p Expr,
    batch: &Batch,
    row: usize,
    cx: &mut Cx<'_, 'p>,
) -> Result<Value> {
    let mut value = eval(branch, batch, row, cx)?;
    if case.ty.id.is_string() {
        value.settle_text(&branch.ty);
    } else if case.ty.own_digits {
        // Digits that the type of the branch does not show, but that of the CASE would, are gone.
        let rounds = branch.ty.scale < case.ty.scale;
        if rounds || matches!(&value, Value::Decimal(d) if d.scale() < branch.ty.scale) {
            value.settle(&branch.ty);
        }
    }
    convert::cast_common(value, &case.ty, cx)
}

fn case<'p>(
    operand: Option<&'p Expr>,
    by: Comparison,
    whens: &'p [(Expr, Expr)],
    otherwise: Option<&'p Expr>,
    batch: &Batch,
    row: usize,
    cx: &mut Cx<'_, 'p>,
) -> Result<Option<&'p Expr>> {
    let operand = operand.map(|e| eval(e, batch, row, cx)).transpose()?;
    for (when, then) in whens {
        let hit = match &operand {
            None => is_true(when, batch, row, cx)?,
            Some(operand) => {
                let value = eval(when, batch, row, cx)?;
                compare(by, operand.as_ref(), value.as_ref(), cx)? == Some(Ordering::Equal)
            }
        };
        if hit {
            return Ok(Some(then));
        }
    }
    Ok(otherwise)
}

impl<'p> Cx<'_, 'p> {
    /// Stores the values of `binds`, computed over a row, in their registers.
    pub fn bind(&mut self, binds: &'p [Bind], batch: &Batch, row: usize) -> Result<()> {
        for bind in binds {
            let value = eval(&bind.value, batch, row, self)?;
            self.set_register(bind.register as usize, value);
        }
        Ok(())
    }
}
