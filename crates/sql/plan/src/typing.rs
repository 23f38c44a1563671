//! Types of expressions other than function calls: domains of comparisons, common types of CASE and UNION, literals.

use crate::expr::{Comparison, Expr, ExprKind};
use gannet_functions::{ArgInfo, RuleContext};
use gannet_types::collation::{CollationSource, aggregate, aggregate_all};
use gannet_types::{Coercibility, CollationId, Result, SqlType, TypeId};

/// A bound expression with what comparisons of text need to know of it.
#[derive(Clone, Debug)]
pub(crate) struct Bound {
    pub(crate) expr: Expr,
    pub(crate) coercibility: Coercibility,
    /// Nothing but ASCII characters.
    pub(crate) ascii: bool,
    /// A hexadecimal or bit literal: a number among numbers.
    pub(crate) hex: bool,
    /// Text that a function made of a date or time: its number among numbers.
    pub(crate) temporal: bool,
    /// What stands for it among numbers, where that is not the number its text says.
    pub(crate) number: Option<Box<OwnNumber>>,
}

/// The number of a text that is not read from the text: `IF(c, enum, 'x') + 0` adds the member's index.
#[derive(Clone, Debug)]
pub(crate) enum OwnNumber {
    Is(Expr),
    /// Those of a CASE's results, ELSE's last.
    Results(Vec<Expr>),
}

impl Bound {
    /// With the coercibility that follows from the expression's form.
    pub(crate) fn new(expr: Expr) -> Bound {
        let coercibility = match &expr.kind {
            _ if expr.ty.id == TypeId::Null => Coercibility::Ignorable,
            ExprKind::Literal(_) | ExprKind::Param(_) if expr.ty.is_text() || expr.ty.id.is_string() => {
                Coercibility::Coercible
            }
            _ if expr.ty.is_text() || expr.ty.id.is_string() || expr.ty.id == TypeId::Bit => Coercibility::Implicit,
            _ => Coercibility::Numeric,
        };
        Bound { expr, coercibility, ascii: false, hex: false, temporal: false, number: None }
    }

    pub(crate) fn source(&self) -> CollationSource {
        let collation = self.expr.ty.collation;
        CollationSource { collation, coercibility: self.coercibility, ascii_only: self.ascii }
    }

    pub(crate) fn ty(&self) -> &SqlType {
        &self.expr.ty
    }
}

/// Strings in comparisons: text, bytes, ENUM and SET.
pub(crate) fn is_stringy(ty: &SqlType) -> bool {
    ty.id.is_string() || matches!(ty.id, TypeId::Enum | TypeId::Set)
}

fn is_integral(ty: &SqlType) -> bool {
    ty.id.is_integer() || matches!(ty.id, TypeId::Bit | TypeId::Year)
}

fn has_date(ty: &SqlType) -> bool {
    matches!(ty.id, TypeId::Date | TypeId::DateTime | TypeId::Timestamp)
}

/// A value that does not change while the statement runs.
fn is_constant(e: &Expr) -> bool {
    e.is_execution_constant()
}

/// The domain in which two expressions are compared (manual, "Type Conversion in Expression Evaluation"). `operation`
/// is named by error 1267.
pub(crate) fn comparison(a: &Bound, b: &Bound, operation: &str) -> Result<Comparison> {
    let (x, y) = (a.ty(), b.ty());
    if x.id == TypeId::Null || y.id == TypeId::Null {
        // NULL is a text that settles no collation.
        if (is_stringy(x) || is_stringy(y)) && [a, b].iter().any(|o| o.coercibility == Coercibility::None) {
            aggregate(a.source(), b.source(), operation)?;
        }
        return Ok(natural(if x.id == TypeId::Null { y } else { x }));
    }
    if x.id == TypeId::Json || y.id == TypeId::Json {
        return Ok(Comparison::Json);
    }
    if is_stringy(x) && is_stringy(y) {
        return Ok(Comparison::String(aggregate(a.source(), b.source(), operation)?.collation));
    }
    if x.id.is_temporal() || y.id.is_temporal() {
        return Ok(temporal(a, b));
    }
    if is_integral(x) && is_integral(y) {
        return Ok(Comparison::Integer);
    }
    let exact = |t: &SqlType| is_integral(t) || t.id == TypeId::Decimal;
    if exact(x) && exact(y) {
        return Ok(Comparison::Decimal);
    }
    // Decimals, and columns of BIGINT, beside a constant text that spells one: digits beyond those of a DOUBLE count.
    let spelled = |number: &Bound, text: &Bound| {
        let exact = match number.ty().id {
            TypeId::Decimal => !is_constant(&number.expr),
            TypeId::BigInt => matches!(number.expr.kind, crate::expr::ExprKind::Column(_)),
            _ => false,
        };
        exact && text.ty().id.is_string() && is_constant(&text.expr)
    };
    if spelled(a, b) || spelled(b, a) {
        return Ok(Comparison::Decimal);
    }
    Ok(Comparison::Double)
}

fn temporal(a: &Bound, b: &Bound) -> Comparison {
    let (x, y) = (a.ty(), b.ty());
    if x.id == TypeId::Time && y.id == TypeId::Time {
        return Comparison::Time;
    }
    if x.id.is_temporal() && y.id.is_temporal() {
        return Comparison::Datetime;
    }
    let (time, other) = if x.id.is_temporal() { (&a.expr, &b.expr) } else { (&b.expr, &a.expr) };
    // A constant number beside a column is a date or time; beside what is computed that is a number.
    let taken = is_constant(other) && matches!(time.kind, ExprKind::Column(_));
    let (time, other) = (&time.ty, &other.ty);
    // Beside any other text a time is a text; only a constant one is made a time of the column.
    if is_stringy(other) && !has_date(time) && !taken {
        return Comparison::String(other.collation);
    }
    if is_stringy(other) || taken || other.id == TypeId::Year && has_date(time) {
        return if has_date(time) { Comparison::Datetime } else { Comparison::Time };
    }
    if is_integral(other) && time.scale == 0 {
        return Comparison::Integer;
    }
    if is_integral(other) || other.id == TypeId::Decimal { Comparison::Decimal } else { Comparison::Double }
}

/// The domain in which values of a type are ordered among themselves.
pub(crate) fn natural(ty: &SqlType) -> Comparison {
    match ty.id {
        TypeId::Decimal => Comparison::Decimal,
        TypeId::Float | TypeId::Double => Comparison::Double,
        TypeId::Date | TypeId::DateTime | TypeId::Timestamp => Comparison::Datetime,
        TypeId::Time => Comparison::Time,
        TypeId::Json => Comparison::Json,
        TypeId::Null => Comparison::String(CollationId::BINARY),
        _ if is_stringy(ty) => Comparison::String(ty.collation),
        _ => Comparison::Integer,
    }
}

/// One domain for several operands (BETWEEN, IN, CASE).
pub(crate) fn comparison_of_all(first: &Bound, others: &[&Bound], operation: &str) -> Result<Comparison> {
    let mut domain: Option<Comparison> = None;
    let mut sources = vec![first.source()];
    // NULL is a text among texts.
    let unknown = first.ty().id == TypeId::Null;
    let mut strings = is_stringy(first.ty()) || unknown;
    for other in others {
        if other.ty().id == TypeId::Null {
            sources.push(other.source());
            continue;
        }
        strings &= is_stringy(other.ty());
        sources.push(other.source());
        let one = if is_stringy(first.ty()) && is_stringy(other.ty()) {
            Comparison::String(first.ty().collation)
        } else {
            comparison(first, other, operation)?
        };
        domain = Some(match domain {
            None => one,
            Some(d) => wider(d, one),
        });
    }
    if strings && domain.is_some() {
        return Ok(Comparison::String(aggregate_all(&sources, operation)?.collation));
    }
    // NULL settles no collation.
    if domain.is_none() && is_stringy(first.ty()) && first.coercibility == Coercibility::None {
        aggregate_all(&sources, operation)?;
    }
    Ok(domain.unwrap_or_else(|| natural(first.ty())))
}

fn wider(a: Comparison, b: Comparison) -> Comparison {
    use Comparison::*;
    match (a, b) {
        (a, b) if a == b => a,
        (Json, _) | (_, Json) => Json,
        (Datetime, _) | (_, Datetime) => Datetime,
        (Time, _) | (_, Time) => Time,
        (Integer, Decimal) | (Decimal, Integer) => Decimal,
        _ => Double,
    }
}

/// The type that holds the values of all branches (CASE, UNION, VALUES), and where its collation comes from.
pub(crate) fn common_type(cx: RuleContext, branches: &[Bound], operation: &str) -> Result<(SqlType, CollationSource)> {
    let infos: Vec<_> = branches.iter().map(info).collect();
    gannet_functions::common_type(cx, &infos, operation)
}

/// What a type rule sees of an argument.
pub(crate) fn info(arg: &Bound) -> ArgInfo<'_> {
    let constant = match &arg.expr.kind {
        ExprKind::Literal(value) => Some(value),
        _ => None,
    };
    ArgInfo { ty: arg.ty(), constant, collation: arg.source() }
}
