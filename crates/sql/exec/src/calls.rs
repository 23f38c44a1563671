//! Calls of functions for all rows of a batch: constants among their arguments are computed once, and types looked up
//! once.

use crate::{
    batch::{BATCH_BYTES, Batch, Column, Nulls},
    context::Cx,
    eval::{eval as eval_row, fixed, named},
    long, texts,
};
use gannet_functions::{Call, FunctionDef, Kernel};
use gannet_plan::expr::{Expr, ExprKind};
use gannet_types::{DateTime, Result, SqlType, TypeId, Value, temporal::DateFlags};
use smallvec::SmallVec;

/// Whether the function looks at all of its arguments, and gives the same value for the same ones.
pub(crate) fn is_plain(def: &FunctionDef) -> bool {
    !def.stability.varies() && !matches!(def.kernel, Kernel::FirstKnown | Kernel::Repeat)
}

/// The integers that a function makes of a column, or of texts that have loops, where that needs no conversion and warns of nothing; `None`: it is
/// not such a function, or not such a column.
pub(crate) fn of_column<'p>(def: &FunctionDef, args: &'p [Expr], batch: &Batch, cx: &mut Cx<'_, 'p>) -> Option<Column> {
    let [arg] = args else { return None };
    if def.name == "LENGTH" {
        return texts::of(arg, arg.ty.collation.charset(), batch, cx).map(|texts| texts.lengths());
    }
    let ExprKind::Column(n) = &arg.kind else { return None };
    let column = &batch.columns[*n as usize];
    match def.name {
        "YEAR" => part_of_dates(column, DateTime::year),
        "MONTH" => part_of_dates(column, DateTime::month),
        "DAYOFMONTH" => part_of_dates(column, DateTime::day),
        _ => None,
    }
}

/// A part of each date; NULL for what is none. `None`: not all values are dates.
fn part_of_dates(column: &Column, part: fn(DateTime) -> u32) -> Option<Column> {
    let Column::Values(values) = column else { return None };
    let (mut parts, mut nulls) = (Vec::with_capacity(values.len()), Nulls::NONE);
    for (row, value) in values.iter().enumerate() {
        let date = match value {
            Value::Null => None,
            Value::Date(date) => Some(date.to_datetime()),
            Value::DateTime(date, _) => Some(*date),
            _ => return None,
        };
        let date = date.filter(|d| DateFlags::LAX.accepts(d.year(), d.month(), d.day()));
        nulls.push(date.is_none(), row);
        parts.push(date.map_or(0, |d| i64::from(part(d))));
    }
    Some(Column::Int(parts, nulls))
}

/// Where an argument's values come from.
enum Argument<'b, 'p> {
    Constant(Value),
    Column(&'b Column),
    Row(&'p Expr),
}

/// The values of a call for every row: what the evaluation row by row gives.
pub(crate) fn eval<'p>(
    expr: &'p Expr,
    def: &'static FunctionDef,
    args: &'p [Expr],
    batch: &Batch,
    cx: &mut Cx<'_, 'p>,
) -> Result<Column> {
    gannet_types::check_stack()?;
    let types: SmallVec<[SqlType; 4]> = args.iter().map(|a| a.ty.clone()).collect();
    let call = Call { ty: &expr.ty, args: &types, site: args.as_ptr() as usize };
    let from: SmallVec<[Argument<'_, 'p>; 4]> = args
        .iter()
        .map(|arg| {
            if let ExprKind::Column(n) = &arg.kind {
                return Argument::Column(&batch.columns[*n as usize]);
            }
            let constant = if batch.rows > 1 { fixed(arg, cx) } else { None };
            constant.map_or(Argument::Row(arg), |mut value| {
                if !def.keeps_digits {
                    value.settle(&arg.ty);
                }
                Argument::Constant(value)
            })
        })
        .collect();
    // Arithmetic of integers and doubles computes both operands, even if one is NULL: the other may be out of range.
    let all = def.keeps_digits && expr.ty.id != TypeId::Decimal;
    let zone = &cx.shared.settings.time_zone;
    let mut column = Column::for_type(&expr.ty);
    let mut counted = 0;
    // The values of a row take the places of those of the row before.
    let mut values: SmallVec<[Value; 4]> = from
        .iter()
        .map(|from| match from {
            Argument::Constant(value) => value.clone(),
            Argument::Column(_) | Argument::Row(_) => Value::Null,
        })
        .collect();
    for row in 0..batch.rows {
        cx.check_killed()?;
        let mut null = false;
        for ((from, arg), value) in from.iter().zip(args).zip(&mut values) {
            match from {
                Argument::Constant(_) => {}
                Argument::Column(column) => value.assign(column.get(row).localize(zone)),
                Argument::Row(arg) => *value = eval_row(arg, batch, row, cx)?,
            }
            if def.null_propagates && value.is_null() {
                null = true;
                if !all {
                    break;
                }
            }
            if !def.keeps_digits && !matches!(from, Argument::Constant(_)) {
                value.settle(&arg.ty);
            }
        }
        if null {
            column.push(gannet_types::ValueRef::Null);
        } else {
            column.push_value(long::call(def, call, &values, cx).map_err(|e| named(e, expr, cx))?);
        }
        let bytes = column.long_bytes(BATCH_BYTES);
        cx.computing(bytes.saturating_sub(counted))?;
        counted = bytes.max(counted);
    }
    Ok(column)
}
