//! The type that alternatives have in common: branches of CASE, arguments of COALESCE, columns of UNION (manual, "Flow
//! Control Functions" and "UNION Clause").

use crate::{
    def::{ArgInfo, RuleContext},
    rules::{chars_of, result_source, text_type},
};
use gannet_types::{
    CollationId, Result, SqlType, TypeId,
    collation::{Coercibility, CollationSource},
    convert::arith::decimal_digits,
};

/// The common type, and where its collation comes from (of numbers: nowhere). Errors 1267, 1270, 1271 for texts whose
/// collations exclude each other. Two implicit collations that differ do not: the result compares with nothing.
pub fn common_type(cx: RuleContext, args: &[ArgInfo<'_>], name: &str) -> Result<(SqlType, CollationSource)> {
    let nullable = args.iter().any(|a| a.ty.nullable);
    let known: Vec<ArgInfo<'_>> = args.iter().copied().filter(|a| a.ty.id != TypeId::Null).collect();
    let Some((first, rest)) = known.split_first() else {
        return Ok((SqlType::NULL, CollationSource::new(CollationId::BINARY, Coercibility::Ignorable)));
    };
    let numeric = CollationSource::new(CollationId::BINARY, Coercibility::Numeric);
    let first_type = first.ty;
    let equal = rest.iter().all(|a| a.ty.id == first_type.id);
    let mut ty = match first_type.id {
        // UNION keeps members; values of CASE and the like are texts.
        TypeId::Enum | TypeId::Set
            if equal && name == "UNION" && rest.iter().all(|a| a.ty.members == first_type.members) =>
        {
            let source = result_source(cx, &known, name)?;
            return Ok((SqlType { nullable, ..first_type.clone() }, source));
        }
        id if equal && (id.is_temporal() || id == TypeId::Json) => first_type.clone(),
        _ if known.iter().all(|a| a.ty.id.is_numeric()) => numeric_type(&known),
        _ if known.iter().all(|a| a.ty.id.is_temporal()) => SqlType::new(TypeId::DateTime),
        _ => {
            let source = result_source(cx, &known, name)?;
            return Ok((SqlType { nullable, ..string_type(&known, source.collation) }, source));
        }
    };
    if ty.id.is_temporal() {
        ty.scale = known.iter().map(|a| a.ty.scale).max().unwrap_or(0);
    }
    ty.nullable = nullable;
    let source = if ty.id == TypeId::Json { first.collation } else { numeric };
    Ok((ty, source))
}

/// Text or bytes, in a type with room for all of them.
fn string_type(args: &[ArgInfo<'_>], collation: CollationId) -> SqlType {
    let first = args[0].ty;
    let binary = collation == CollationId::BINARY;
    let length_of = |a: &ArgInfo<'_>| match a.ty.id {
        id if binary && id.is_string() => a.ty.max_bytes(),
        _ => chars_of(a.ty),
    };
    let length = args.iter().map(length_of).max().unwrap_or(0);
    let same = args.iter().all(|a| a.ty.id == first.id);
    if same && first.id.is_string() && first.id.is_binary_string() == binary {
        let length = args.iter().map(|a| a.ty.length).max().unwrap_or(0);
        return SqlType { length, collation, ..first.clone() };
    }
    let ty = text_type(length, collation, false);
    let large = args.iter().any(|a| a.ty.id.is_lob() || a.ty.id == TypeId::Json);
    match ty.id {
        TypeId::VarChar if large => SqlType::new(TypeId::Text).with_collation(collation),
        TypeId::VarBinary if large => SqlType::new(TypeId::Blob),
        _ => ty,
    }
}

/// Of two integer types the one with more room.
fn rank(id: TypeId) -> u8 {
    match id {
        TypeId::TinyInt => 1,
        TypeId::SmallInt | TypeId::Year => 2,
        TypeId::MediumInt => 3,
        TypeId::Int => 4,
        _ => 5,
    }
}

fn numeric_type(args: &[ArgInfo<'_>]) -> SqlType {
    let first = args[0].ty;
    let same = args.iter().all(|a| a.ty.id == first.id && a.ty.unsigned == first.unsigned);
    if same && first.id != TypeId::Decimal {
        // A number without a length of its own has that of its type.
        let plain = args.iter().all(|a| a.ty.length == 0);
        let length = if plain { 0 } else { args.iter().map(|a| a.ty.display_chars()).max().unwrap_or(0) };
        let scale = args.iter().map(|a| a.ty.scale).max().unwrap_or(0);
        return SqlType { length, scale, zerofill: false, ..first.clone() };
    }
    if args.iter().any(|a| matches!(a.ty.id, TypeId::Float | TypeId::Double)) {
        return SqlType::DOUBLE;
    }
    if args.iter().any(|a| a.ty.id == TypeId::Decimal) {
        return decimal_type(args);
    }
    let widest = args.iter().map(|a| a.ty.id).max_by_key(|id| rank(*id)).unwrap_or(TypeId::BigInt);
    let widest = match widest {
        TypeId::Year => TypeId::SmallInt,
        TypeId::Bit => TypeId::BigInt,
        id => id,
    };
    let unsigned = args.iter().all(|a| a.ty.unsigned);
    let mixed = !unsigned && args.iter().any(|a| a.ty.unsigned);
    let id = match widest {
        // A signed type with room for an unsigned one of the widest kind is the next wider.
        _ if !mixed || !args.iter().any(|a| a.ty.unsigned && rank(a.ty.id) == rank(widest)) => widest,
        TypeId::TinyInt => TypeId::SmallInt,
        TypeId::SmallInt => TypeId::MediumInt,
        TypeId::MediumInt => TypeId::Int,
        TypeId::Int => TypeId::BigInt,
        _ => return decimal_type(args),
    };
    let length = if id == TypeId::BigInt { args.iter().map(|a| a.ty.display_chars()).max().unwrap_or(0) } else { 0 };
    SqlType { unsigned, length, ..SqlType::new(id) }
}

fn decimal_type(args: &[ArgInfo<'_>]) -> SqlType {
    let (mut whole, mut scale) = (0, 0);
    for (precision, s) in args.iter().map(|a| decimal_digits(a.ty)) {
        whole = whole.max(precision.saturating_sub(s));
        scale = scale.max(s);
    }
    let unsigned = args.iter().all(|a| a.ty.unsigned);
    SqlType { unsigned, ..SqlType::decimal((whole + scale).clamp(1, 65) as u8, scale.min(30) as u8) }
}
