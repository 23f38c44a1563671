//! Comparisons of values and rows: the domain, and operands made fit for it.

use super::fit::fit_all;
use super::operand::{Operand, as_number};
use super::{Binder, error};
use crate::expr::{CompareOp, Comparison, Expr, ExprKind};
use crate::fold;
use crate::logical::Label;
use crate::make::{and, or, predicate};
use crate::plan::{DateNumber, DateText};
use crate::typing::{Bound, comparison};
use gannet_types::{ErrorCode, Result, SqlError, SqlType, TypeId};

/// Columns up to which an order of rows is written out as a disjunction, whose alternatives may be ranges of an index.
const WIDE_ROW: usize = 16;

impl Binder<'_> {
    pub(super) fn compare_operands(&mut self, op: CompareOp, a: Operand, b: Operand) -> Result<Expr> {
        match (a, b) {
            (Operand::Scalar(a), Operand::Scalar(b)) => self.compare(op, a, b),
            (a, b) if a.columns() != b.columns() => Err(error(ErrorCode::OperandColumns, &[&a.columns()])),
            (Operand::Row(a), Operand::Row(b)) => self.compare_rows(op, a, b),
            (a, _) => Err(error(ErrorCode::OperandColumns, &[&a.columns()])),
        }
    }

    /// Rows compare column by column.
    fn compare_rows(&mut self, op: CompareOp, a: Vec<Operand>, b: Vec<Operand>) -> Result<Expr> {
        let pairs = a.into_iter().zip(b);
        match op {
            CompareOp::Eq | CompareOp::NullSafeEq => {
                let all = pairs.map(|(a, b)| self.compare_operands(op, a, b)).collect::<Result<_>>()?;
                Ok(and(all))
            }
            CompareOp::Ne => {
                let any = pairs.map(|(a, b)| self.compare_operands(op, a, b)).collect::<Result<_>>()?;
                Ok(or(any))
            }
            // (a, b) < (c, d) is a < c OR a = c AND b < d.
            _ => {
                let strict = match op {
                    CompareOp::Le => CompareOp::Lt,
                    CompareOp::Ge => CompareOp::Gt,
                    op => op,
                };
                let mut alternatives = Vec::new();
                let mut equal: Vec<Expr> = Vec::new();
                let pairs: Vec<_> = pairs.collect();
                let last = pairs.len() - 1;
                if pairs.len() > WIDE_ROW {
                    return self.compare_wide_rows(op, strict, pairs);
                }
                for (i, (a, b)) in pairs.into_iter().enumerate() {
                    let mut all = equal.clone();
                    all.push(self.compare_operands(if i == last { op } else { strict }, a.clone(), b.clone())?);
                    alternatives.push(and(all));
                    equal.push(self.compare_operands(CompareOp::Eq, a, b)?);
                }
                Ok(or(alternatives))
            }
        }
    }

    /// The order of rows of many columns: each pair is compared once and decides, until one is not equal. That grows
    /// with the number of columns, where the disjunction grows with its square; but no index serves it.
    fn compare_wide_rows(&mut self, op: CompareOp, strict: CompareOp, pairs: Vec<(Operand, Operand)>) -> Result<Expr> {
        let last = pairs.len() - 1;
        let mut whens = Vec::with_capacity(2 * last);
        let mut otherwise = None;
        for (i, (a, b)) in pairs.into_iter().enumerate() {
            if i == last {
                otherwise = Some(Box::new(self.compare_operands(op, a, b)?));
                break;
            }
            let differs = self.compare_operands(CompareOp::Ne, a.clone(), b.clone())?;
            let order = self.compare_operands(strict, a, b)?;
            // What is NULL leaves the whole unknown, whatever comes behind: NULL OR (NULL AND ...).
            let null = predicate(ExprKind::IsNull { arg: Box::new(differs.clone()), negated: false }, false);
            whens.push((null, crate::make::constant(gannet_types::Value::Null)));
            whens.push((differs, order));
        }
        let kind = ExprKind::Case { operand: None, by: Comparison::Integer, whens: whens.into(), otherwise };
        Ok(predicate(kind, true))
    }

    /// A comparison of two values.
    pub(crate) fn compare(&mut self, op: CompareOp, a: Bound, b: Bound) -> Result<Expr> {
        let b = self.beside_year(&a, b)?;
        let a = self.beside_year(&b, a)?;
        let by = comparison(&a, &b, op.symbol())?;
        self.compare_in(op, by, a, b, op.symbol())
    }

    /// A comparison in a domain that was found before.
    pub(super) fn compare_in(
        &mut self,
        op: CompareOp,
        by: Comparison,
        a: Bound,
        b: Bound,
        operation: &str,
    ) -> Result<Expr> {
        let (a, b) = match by {
            Comparison::Double => {
                let b = beside_float(self, &a, b);
                (beside_float(self, &b, a), b)
            }
            _ => (a, b),
        };
        note_dates(self, by, &a, std::slice::from_ref(&b));
        note_dates(self, by, &b, std::slice::from_ref(&a));
        let nullable = op != CompareOp::NullSafeEq && (a.ty().nullable || b.ty().nullable);
        let args = Box::new(in_domain(self, [a, b], by, operation)?);
        Ok(predicate(ExprKind::Compare { op, by, args }, nullable))
    }

    /// A constant beside a YEAR column: two digits are a year, as they would be stored.
    pub(super) fn beside_year(&mut self, column: &Bound, other: Bound) -> Result<Bound> {
        let stored = |e: &Expr| match e.kind {
            ExprKind::Column(id) => !matches!(self.arena.labels[id as usize], crate::logical::Label::Computed),
            _ => false,
        };
        let year = column.ty().id == TypeId::Year && stored(&column.expr);
        let constant = other.expr.is_execution_constant();
        let ty = other.ty().id;
        if !year || !constant || other.hex || !(ty.is_numeric() || ty.is_string()) || ty == TypeId::Year {
            return Ok(other);
        }
        self.call_named("YEAR NUMBER", vec![other])
    }

    /// Members of a list beside a YEAR column: years where all are constants that compare with it in one domain, and
    /// not as integers.
    pub(super) fn list_beside_year(&mut self, column: &Bound, list: Vec<Bound>) -> Result<Vec<Bound>> {
        if column.ty().id != TypeId::Year {
            return Ok(list);
        }
        let mut domains = Vec::with_capacity(list.len());
        for member in list.iter().filter(|m| m.ty().id != TypeId::Null) {
            domains.push(comparison(column, member, " IN ")?);
        }
        let one = domains.iter().all(|d| *d == domains[0] && *d != Comparison::Integer);
        if one && list.iter().all(|m| m.expr.is_execution_constant()) {
            list.into_iter().map(|member| self.beside_year(column, member)).collect()
        } else {
            Ok(list)
        }
    }
}

/// Notes the texts of the statement that are compared with a date.
pub(super) fn note_dates(b: &mut Binder<'_>, by: Comparison, date: &Bound, others: &[Bound]) {
    let with = date.ty().id;
    if !matches!(by, Comparison::Datetime | Comparison::Time) || !with.is_temporal() {
        return;
    }
    note_numbers(b, date, others);
    let listed = others.len() > 1;
    let column = base_column(b, date).filter(|_| !listed).map(|(name, _)| name);
    // Beside a computed time a text that is none is a text.
    if by != Comparison::Datetime && column.is_none() && !listed {
        return;
    }
    let text = |b: &&Bound| b.ty().id.is_string() && matches!(b.expr.kind, ExprKind::Literal(_) | ExprKind::Param(_));
    let note = |o: &Bound| DateText { text: o.expr.clone(), with, column: column.clone(), listed };
    let noted: Vec<_> = others.iter().filter(text).map(note).collect();
    b.arena.dates.extend(noted);
}

/// Name and type of the table's column that `of` is.
fn base_column(b: &Binder<'_>, of: &Bound) -> Option<(Box<str>, SqlType)> {
    let ExprKind::Column(id) = of.expr.kind else { return None };
    let Label::Base { table, ordinal } = b.arena.labels[id as usize] else { return None };
    let column = b.arena.tables[table as usize].table.columns.get(ordinal as usize)?;
    Some(((&*column.name).into(), column.ty.clone()))
}

/// Notes the numbers of the statement that are compared with a column of dates or times.
pub(super) fn note_numbers(b: &mut Binder<'_>, date: &Bound, others: &[Bound]) {
    let Some((column, ty)) = base_column(b, date) else { return };
    let number =
        |b: &&Bound| b.ty().id.is_numeric() && matches!(b.expr.kind, ExprKind::Literal(_) | ExprKind::Param(_));
    let listed = others.len() > 1;
    let note = |o: &Bound| DateNumber { number: o.expr.clone(), column: column.clone(), ty: ty.clone(), listed };
    let noted: Vec<_> = others.iter().filter(number).map(note).collect();
    b.arena.date_numbers.extend(noted);
}

/// What is compared with a FLOAT(M,D), where both have a number of digits: values that are equal in these digits are
/// equal, and of a FLOAT a DOUBLE shows others behind them. What no FLOAT is near to equals none.
fn beside_float(b: &Binder<'_>, float: &Bound, other: Bound) -> Bound {
    let fixed = |b: &Bound| (1..SqlType::NOT_FIXED).contains(&b.ty().scale);
    let exact = matches!(other.ty().id, TypeId::Double | TypeId::Decimal);
    if float.ty().id != TypeId::Float || !exact || !fixed(float) || !fixed(&other) {
        return other;
    }
    let Some(def) = gannet_functions::function("NEAR FLOAT") else { return other };
    let digits = float.ty().scale.max(other.ty().scale);
    let ty = SqlType { nullable: other.ty().nullable, ..SqlType::DOUBLE };
    let digits = crate::make::constant(gannet_types::Value::Int(digits.into()));
    let args: Box<[Expr]> = [other.expr, digits].into();
    let call = Expr { kind: ExprKind::Call(def, args), ty };
    Bound::new(if b.options.passes.has(crate::options::Passes::FOLD) { fold::call(call, b.options) } else { call })
}

/// Makes the operands of an operation fit for its domain: text in the character set of the collation,
/// hexadecimal literals as numbers among numbers.
pub(super) fn in_domain<const N: usize>(
    b: &mut Binder<'_>,
    operands: [Bound; N],
    by: Comparison,
    operation: &str,
) -> Result<[Expr; N]> {
    let all = all_in_domain(b, operands.into(), by, operation)?;
    all.try_into().map_err(|_| SqlError::internal("a comparison of another number of operands"))
}

/// As [`in_domain`], of any number.
pub(super) fn all_in_domain(
    b: &mut Binder<'_>,
    operands: Vec<Bound>,
    by: Comparison,
    operation: &str,
) -> Result<Vec<Expr>> {
    let operands = match by {
        Comparison::String(collation) => fit_all(b, operands, collation, operation)?,
        _ => operands,
    };
    Ok(operands.into_iter().map(|o| one_in_domain(o, by)).collect())
}

/// An operand whose text fits.
fn one_in_domain(operand: Bound, by: Comparison) -> Expr {
    match by {
        Comparison::String(collation) => {
            let ty = operand.ty();
            let (from, to) = (ty.collation.charset(), collation.charset());
            if ty.id.is_string() && from != to && !from.is_subset_of(to) && !operand.ascii {
                // Bytes beside a firmer text are text, or error 3854.
                let ty = match ty.id.is_binary_string() {
                    true => SqlType { nullable: ty.nullable, ..SqlType::varchar(ty.length, collation) },
                    false => SqlType { collation, ..ty.clone() },
                };
                return super::fit::converted(operand.expr, ty, true);
            }
            operand.expr
        }
        Comparison::Integer | Comparison::Decimal | Comparison::Double => as_number(operand).expr,
        _ => operand.expr,
    }
}
