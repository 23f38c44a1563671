//! What a partitioning expression may be (manual, "Partitioning Limitations Relating to Functions").

use gannet_parser::ast::{BinaryOp, Call, Expr, IntervalUnit, LiteralValue, UnaryOp};
use gannet_schema::Column;
use gannet_schema::names::eq_name;
use gannet_types::{Result, TypeId, sql_err};

/// What a function takes.
enum Takes {
    Numbers,
    Dates,
    Times,
    Both,
    Days,
    Instant,
}

fn takes(name: &str, args: usize) -> Option<Takes> {
    Some(match (name, args) {
        ("abs" | "ceil" | "ceiling" | "floor", 1) | ("mod", 2) => Takes::Numbers,
        ("datediff", 2) => Takes::Dates,
        (
            "day" | "dayofmonth" | "dayofweek" | "dayofyear" | "month" | "quarter" | "to_days" | "to_seconds"
            | "weekday" | "year",
            1,
        )
        | ("yearweek", 1 | 2) => Takes::Dates,
        ("hour" | "microsecond" | "minute" | "second" | "time_to_sec", 1) => Takes::Times,
        ("from_days", 1) => Takes::Days,
        ("unix_timestamp", 1) => Takes::Instant,
        _ => return None,
    })
}

/// Operators and functions of numbers over a time, which round it: they give no integer in MySQL.
pub(super) fn rounds_time(e: &Expr, columns: &[Column]) -> bool {
    let operand = match e {
        Expr::Unary { op: UnaryOp::Neg, expr } => expr,
        Expr::Call(call) if call.args.len() == 1 => match takes(&call.name.text.to_ascii_lowercase(), 1) {
            Some(Takes::Numbers) => &call.args[0],
            _ => return false,
        },
        _ => return false,
    };
    let Expr::Column(column) = operand else { return rounds_time(operand, columns) };
    let found = columns.iter().find(|c| eq_name(&c.name, &column.column) && !c.hidden);
    found.is_some_and(|c| matches!(c.ty.id, TypeId::Date | TypeId::DateTime | TypeId::Time))
}

/// A text has no quotient.
fn divisible(e: &Expr, columns: &[Column]) -> Result<()> {
    let Expr::Column(column) = e else { return Ok(()) };
    let found = columns.iter().find(|c| eq_name(&c.name, &column.column) && !c.hidden);
    let text = |c: &Column| c.ty.id.is_string() || matches!(c.ty.id, TypeId::Enum | TypeId::Set);
    if found.is_some_and(|c| text(c) && !c.ty.id.is_lob()) {
        return Err(sql_err!(PartitionFunctionIsNotAllowed));
    }
    Ok(())
}

/// Errors 1564 for what may not be there, 1486 for what depends on the time zone, 1054 for a column that is not.
pub(super) fn check(e: &Expr, columns: &[Column]) -> Result<()> {
    gannet_types::check_stack()?;
    match e {
        Expr::Column(column) => {
            let found = columns.iter().find(|c| eq_name(&c.name, &column.column) && !c.hidden);
            let found = found.ok_or_else(|| sql_err!(BadField, column.column, "partition function"))?;
            if found.ty.id == TypeId::Timestamp {
                return Err(sql_err!(WrongExprInPartitionFunc));
            }
            Ok(())
        }
        Expr::Literal(literal) if matches!(literal.value, LiteralValue::Int(_)) => Ok(()),
        Expr::Literal(_) => Ok(()),
        Expr::Unary { op: UnaryOp::Neg, expr } => check(expr, columns),
        Expr::Binary { op: BinaryOp::IntDiv, left, right } => {
            check(left, columns)?;
            check(right, columns)?;
            divisible(left, columns)?;
            divisible(right, columns)
        }
        Expr::Binary { op: BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Mod, left, right } => {
            check(left, columns)?;
            check(right, columns)
        }
        Expr::Extract { unit, expr } => {
            let takes = match unit {
                IntervalUnit::Week => return Err(sql_err!(WrongExprInPartitionFunc)),
                IntervalUnit::Year
                | IntervalUnit::Quarter
                | IntervalUnit::Month
                | IntervalUnit::YearMonth
                | IntervalUnit::Day => Takes::Dates,
                IntervalUnit::DayHour
                | IntervalUnit::DayMinute
                | IntervalUnit::DaySecond
                | IntervalUnit::DayMicrosecond => Takes::Both,
                _ => Takes::Times,
            };
            argument(expr, &takes, columns)
        }
        Expr::Call(call) => function(call, columns),
        _ => Err(sql_err!(PartitionFunctionIsNotAllowed)),
    }
}

fn function(call: &Call, columns: &[Column]) -> Result<()> {
    let name = call.name.text.to_ascii_lowercase();
    let Some(takes) = takes(&name, call.args.len()).filter(|_| call.schema.is_none()) else {
        return Err(sql_err!(PartitionFunctionIsNotAllowed));
    };
    for (at, arg) in call.args.iter().enumerate() {
        // The mode of YEARWEEK.
        if at == 1 && name == "yearweek" {
            continue;
        }
        argument(arg, &takes, columns)?;
    }
    Ok(())
}

/// An argument that is a column has to be of a type that the function takes as it is.
fn argument(e: &Expr, takes: &Takes, columns: &[Column]) -> Result<()> {
    let Expr::Column(column) = e else {
        return match takes {
            Takes::Numbers | Takes::Days => check(e, columns),
            // What has to be converted depends on the session.
            _ if matches!(e, Expr::Literal(l) if matches!(l.value, LiteralValue::Int(_) | LiteralValue::Null)) => {
                Ok(())
            }
            _ => {
                check(e, columns)?;
                Err(sql_err!(WrongExprInPartitionFunc))
            }
        };
    };
    let found = columns.iter().find(|c| eq_name(&c.name, &column.column) && !c.hidden);
    let found = found.ok_or_else(|| sql_err!(BadField, column.column, "partition function"))?;
    let id = found.ty.id;
    let fits = match takes {
        Takes::Numbers => id != TypeId::Timestamp,
        Takes::Dates => matches!(id, TypeId::Date | TypeId::DateTime),
        Takes::Both => id == TypeId::DateTime,
        Takes::Days => !matches!(id, TypeId::Date | TypeId::DateTime | TypeId::Time | TypeId::Timestamp),
        Takes::Times => matches!(id, TypeId::Time | TypeId::DateTime),
        Takes::Instant => id == TypeId::Timestamp,
    };
    if fits { Ok(()) } else { Err(sql_err!(WrongExprInPartitionFunc)) }
}

/// A value of a partition: of what a partitioning function may be made of, without columns. Errors 1054, 1564.
/// `clause` is where a column would be.
pub(super) fn check_constant(e: &Expr, clause: &str) -> Result<()> {
    gannet_types::check_stack()?;
    match e {
        Expr::Column(column) => Err(sql_err!(BadField, column.column, clause)),
        Expr::Literal(literal) if matches!(literal.value, LiteralValue::Bool(_)) => {
            Err(sql_err!(PartitionFunctionIsNotAllowed))
        }
        Expr::Literal(_) => Ok(()),
        Expr::Unary { op: UnaryOp::Neg, expr } | Expr::Extract { expr, .. } => check_constant(expr, clause),
        Expr::Binary {
            op: BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Mod | BinaryOp::IntDiv,
            left,
            right,
        } => {
            check_constant(left, clause)?;
            check_constant(right, clause)
        }
        Expr::Call(call) if call.schema.is_none() => {
            if takes(&call.name.text.to_ascii_lowercase(), call.args.len()).is_none() {
                return Err(sql_err!(PartitionFunctionIsNotAllowed));
            }
            call.args.iter().try_for_each(|arg| check_constant(arg, clause))
        }
        _ => Err(sql_err!(PartitionFunctionIsNotAllowed)),
    }
}
