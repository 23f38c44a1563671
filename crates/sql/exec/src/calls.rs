//! Calls of functions for all rows of a batch: constants among their arguments are computed once, and types looked up
//! once.

use crate::{
    batch::{BATCH_BYTES, Batch, Column, Nulls, TextColumn},
    context::Cx,
    eval::{eval as eval_row, fixed, named},
    long::{self, LONG},
};
use gannet_functions::{Call, FunctionDef, Kernel};
use gannet_plan::expr::{Expr, ExprKind};
use gannet_types::{DateTime, Result, SqlType, TypeId, Value, ValueRef, charset::Charset, temporal::DateFlags};
use smallvec::SmallVec;
use std::borrow::Cow;

/// Whether the function looks at all of its arguments as local values, and gives the same value for the same ones.
pub(crate) fn is_plain(def: &FunctionDef) -> bool {
    !def.stability.varies() && !def.takes_instants && !matches!(def.kernel, Kernel::FirstKnown | Kernel::Repeat)
}

/// The integers that a function makes of a column, or of texts that have loops, where that needs no conversion and
/// warns of nothing; `None`: it is not such a function, or not such a column.
pub(crate) fn of_column<'p>(def: &FunctionDef, args: &'p [Expr], batch: &Batch, cx: &mut Cx<'_, 'p>) -> Option<Column> {
    let [arg] = args else { return None };
    if def.name == "LENGTH" {
        return texts_of(arg, arg.ty.collation.charset(), batch, cx).map(|texts| texts.lengths());
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
        let date = date.filter(|d| DateFlags::STORED.accepts(d.year(), d.month(), d.day()));
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
    let before = cx.arguments.kept();
    let values = sources(def, args, batch, cx).and_then(|from| eval_from(expr, def, (args, &from), batch, cx));
    cx.drop_arguments(before);
    values
}

/// Where the arguments' values come from.
fn sources<'b, 'p>(
    def: &FunctionDef,
    args: &'p [Expr],
    batch: &'b Batch,
    cx: &mut Cx<'_, 'p>,
) -> Result<SmallVec<[Argument<'b, 'p>; 4]>> {
    let mut from = SmallVec::with_capacity(args.len());
    for arg in args {
        if let ExprKind::Column(n) = &arg.kind {
            from.push(Argument::Column(&batch.columns[*n as usize]));
            continue;
        }
        let constant = if batch.rows > 1 { fixed(arg, cx) } else { None };
        from.push(match constant {
            Some(mut value) => {
                if !def.keeps_digits {
                    value.settle(&arg.ty);
                }
                cx.keep_argument(&value)?;
                Argument::Constant(value)
            }
            None => Argument::Row(arg),
        });
    }
    Ok(from)
}

fn eval_from<'p>(
    expr: &'p Expr,
    def: &'static FunctionDef,
    (args, from): (&'p [Expr], &[Argument<'_, 'p>]),
    batch: &Batch,
    cx: &mut Cx<'_, 'p>,
) -> Result<Column> {
    let types: SmallVec<[SqlType; 4]> = args.iter().map(|a| a.ty.clone()).collect();
    let call = Call { ty: &expr.ty, args: &types, site: args.as_ptr() as usize };
    let before = cx.arguments.kept();
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
            if let Argument::Row(_) = from {
                cx.keep_argument(value)?;
            }
        }
        if null {
            column.push(gannet_types::ValueRef::Null);
        } else {
            column.push_value(long::call(def, call, &values, cx).map_err(|e| named(e, expr, cx))?);
        }
        cx.drop_arguments(before);
        let bytes = column.long_bytes(BATCH_BYTES);
        cx.computing(bytes.saturating_sub(counted))?;
        counted = bytes.max(counted);
    }
    Ok(column)
}

// Loops that make texts for all rows of a batch: CONCAT, SUBSTRING, LEFT and RIGHT of columns, constants, each other.
// They return what the evaluation row by row returns, or nothing: where a text would have to be converted, and for
// results that are long.

/// Bytes that the texts of a batch have at most.
const MOST: usize = 1 << 20;

/// A part of a text.
enum Part<'b> {
    Texts(Cow<'b, TextColumn>),
    Integers(&'b [i64], &'b Nulls),
    /// The same for all rows; `None`: NULL.
    Same(Option<Vec<u8>>),
}

impl Part<'_> {
    #[inline]
    fn is_null(&self, row: usize) -> bool {
        match self {
            Part::Texts(texts) => texts.nulls.get(row),
            Part::Integers(_, nulls) => nulls.get(row),
            Part::Same(text) => text.is_none(),
        }
    }

    #[inline]
    fn append(&self, row: usize, out: &mut Vec<u8>) {
        match self {
            Part::Texts(texts) => out.extend_from_slice(texts.get(row)),
            Part::Integers(values, _) => ValueRef::Int(values[row]).write_text(out),
            Part::Same(text) => out.extend_from_slice(text.as_deref().unwrap_or_default()),
        }
    }
}

/// The texts of a column or call that are of a character set as they are; `None`: this needs to go row by row.
fn texts_of<'b, 'p>(
    expr: &'p Expr,
    charset: Charset,
    batch: &'b Batch,
    cx: &mut Cx<'_, 'p>,
) -> Option<Cow<'b, TextColumn>> {
    if !expr.ty.id.is_string() || expr.ty.collation.charset() != charset {
        return None;
    }
    match &expr.kind {
        ExprKind::Column(n) => match &batch.columns[*n as usize] {
            Column::Text(texts) if texts.collation.charset() == charset => Some(Cow::Borrowed(texts)),
            _ => None,
        },
        ExprKind::Call(def, args) => texts(expr, def, args, batch, cx).map(Cow::Owned),
        _ => None,
    }
}

/// The texts that a call makes.
pub(crate) fn texts<'p>(
    expr: &Expr,
    def: &FunctionDef,
    args: &'p [Expr],
    batch: &Batch,
    cx: &mut Cx<'_, 'p>,
) -> Option<TextColumn> {
    if !matches!(def.name, "CONCAT" | "SUBSTRING" | "LEFT" | "RIGHT")
        || !expr.ty.id.is_string()
        || batch.rows < 2
        || gannet_types::check_stack().is_err()
    {
        return None;
    }
    let charset = expr.ty.collation.charset();
    let mut made = TextColumn {
        ends: Vec::with_capacity(batch.rows),
        bytes: Vec::new(),
        nulls: Nulls::NONE,
        collation: expr.ty.collation,
    };
    if def.name == "CONCAT" {
        concat(args, charset, batch, &mut made, cx)?;
    } else {
        let texts = texts_of(&args[0], charset, batch, cx)?;
        let mut number = |n: usize| match fixed(args.get(n)?, cx) {
            Some(Value::Int(number)) => Some(number),
            _ => None,
        };
        let cut = match (def.name, args.len()) {
            ("SUBSTRING", 2) => Cut::From(number(1)?, i64::MAX),
            ("SUBSTRING", _) => Cut::From(number(1)?, number(2)?),
            ("LEFT", _) => Cut::From(1, number(1)?),
            _ => Cut::Last(number(1)?),
        };
        if texts.bytes.len() > MOST {
            return None;
        }
        for row in 0..batch.rows {
            made.bytes.extend_from_slice(cut.of(charset, texts.get(row)));
            made.ends.push(made.bytes.len() as u32);
        }
        made.nulls = texts.nulls.clone();
    }
    cx.worked(made.bytes.len()).ok()?;
    cx.computing(made.bytes.len()).ok()?;
    Some(made)
}

fn concat<'p>(
    args: &'p [Expr],
    charset: Charset,
    batch: &Batch,
    made: &mut TextColumn,
    cx: &mut Cx<'_, 'p>,
) -> Option<()> {
    let mut parts = Vec::with_capacity(args.len());
    for arg in args {
        parts.push(part(arg, charset, batch, cx)?);
    }
    // What is too long is NULL, with a warning.
    let longest = usize::try_from(cx.shared.settings.max_allowed_packet).unwrap_or(usize::MAX).min(LONG);
    for row in 0..batch.rows {
        let start = made.bytes.len();
        let null = parts.iter().any(|part| part.is_null(row));
        made.nulls.push(null, row);
        if !null {
            parts.iter().for_each(|part| part.append(row, &mut made.bytes));
        }
        if made.bytes.len() > MOST || made.bytes.len() - start > longest {
            return None;
        }
        made.ends.push(made.bytes.len() as u32);
    }
    Some(())
}

fn part<'b, 'p>(expr: &'p Expr, charset: Charset, batch: &'b Batch, cx: &mut Cx<'_, 'p>) -> Option<Part<'b>> {
    let digits = expr.ty.id.is_integer() && !expr.ty.zerofill && !charset.is_wide();
    match &expr.kind {
        ExprKind::Column(n) if digits => match &batch.columns[*n as usize] {
            Column::Int(values, nulls) => Some(Part::Integers(values, nulls)),
            _ => None,
        },
        ExprKind::Column(_) => texts_of(expr, charset, batch, cx).map(Part::Texts),
        _ => match fixed(expr, cx) {
            Some(Value::Null) => Some(Part::Same(None)),
            Some(Value::Str(text, own)) if expr.ty.id.is_string() && own.charset() == charset => {
                Some(Part::Same(Some(text.to_vec())))
            }
            Some(_) => None,
            None => texts_of(expr, charset, batch, cx).map(Part::Texts),
        },
    }
}

/// Which part of a text is wanted.
enum Cut {
    /// From a place on, counted from 1, or from the end if negative, so many characters.
    From(i64, i64),
    /// The last characters.
    Last(i64),
}

impl Cut {
    #[inline]
    fn of<'t>(&self, charset: Charset, text: &'t [u8]) -> &'t [u8] {
        let usize_of = |n: i64| usize::try_from(n).unwrap_or(0);
        let (start, count) = match *self {
            Cut::From(0, _) | Cut::From(_, ..=0) => return &[],
            Cut::From(start @ 1.., count) => (usize_of(start - 1), count),
            Cut::From(start, count) => {
                // A start before the first character gives nothing.
                let back = usize::try_from(start.unsigned_abs()).unwrap_or(usize::MAX);
                match charset.char_count(text).checked_sub(back) {
                    Some(start) => (start, count),
                    None => return &[],
                }
            }
            Cut::Last(count) => (charset.char_count(text).saturating_sub(usize_of(count)), i64::MAX),
        };
        // A character of ASCII is a byte.
        let end = start.saturating_add(usize_of(count)).min(text.len());
        if !charset.is_wide() && start <= end && text[..end].is_ascii() {
            return &text[start..end];
        }
        let rest = &text[charset.prefix_len(text, start)..];
        &rest[..charset.prefix_len(rest, usize_of(count))]
    }
}
