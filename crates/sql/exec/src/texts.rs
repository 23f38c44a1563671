//! Loops that make texts for all rows of a batch: CONCAT, SUBSTRING, LEFT and RIGHT of columns, constants and each other.
//!
//! As in [`crate::integers`] they return what the evaluation row by row returns, or nothing, and the caller then
//! evaluates row by row. They return nothing where a text would have to be converted, and for results that are long.

use crate::{
    batch::{Batch, Column, Nulls, TextColumn},
    context::Cx,
    eval::fixed,
    long::LONG,
};
use gannet_functions::FunctionDef;
use gannet_plan::expr::{Expr, ExprKind};
use gannet_types::charset::Charset;
use gannet_types::{Value, ValueRef};
use std::borrow::Cow;

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
pub(crate) fn of<'b, 'p>(
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
        ExprKind::Call(def, args) => column(expr, def, args, batch, cx).map(Cow::Owned),
        _ => None,
    }
}

/// The texts that a call makes.
pub(crate) fn column<'p>(
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
        let texts = of(&args[0], charset, batch, cx)?;
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
        ExprKind::Column(_) => of(expr, charset, batch, cx).map(Part::Texts),
        _ => match fixed(expr, cx) {
            Some(Value::Null) => Some(Part::Same(None)),
            Some(Value::Str(text, own)) if expr.ty.id.is_string() && own.charset() == charset => {
                Some(Part::Same(Some(text.to_vec())))
            }
            Some(_) => None,
            None => of(expr, charset, batch, cx).map(Part::Texts),
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
