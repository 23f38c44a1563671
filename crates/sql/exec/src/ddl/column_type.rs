//! From a declared type to a [`SqlType`], with MySQL's limits and errors.

use super::choose_collation;
use gannet_parser::ast::{BaseType, DataType};
use gannet_types::{
    Collation, CollationId, ErrorCode, Result, SqlError, SqlMode, SqlType, TypeId, charset::Charset, sql_err,
    sqltype::Members,
};
use std::sync::Arc;

/// The type of column `name`. `collate` is the column's COLLATE attribute, `inherited` the table's collation.
pub fn column_type(
    name: &str,
    declared: &DataType,
    collate: Option<&str>,
    inherited: CollationId,
    sql_mode: SqlMode,
) -> Result<SqlType> {
    let id = base(declared, sql_mode)?;
    let mut ty = SqlType::new(id);
    ty.unsigned = declared.unsigned || declared.zerofill || ty.unsigned;
    ty.zerofill = declared.zerofill;
    match id {
        _ if id.is_integer() => {
            let width = declared.length.unwrap_or(0);
            if width > 255 {
                return Err(sql_err!(TooBigDisplaywidth, name, 255));
            }
            // Display widths are shown for ZEROFILL and TINYINT(1) only, as MySQL 8 does.
            if declared.zerofill {
                ty.length = if width == 0 { ty.display_chars() } else { width as u32 };
            } else if id == TypeId::TinyInt && width == 1 && !declared.unsigned {
                ty.length = 1;
            }
        }
        TypeId::Decimal => {
            let (precision, scale) = (declared.length.unwrap_or(10), declared.decimals.unwrap_or(0));
            let precision = if precision == 0 && scale == 0 { 10 } else { precision };
            check_digits(name, precision, scale, 65)?;
            (ty.length, ty.scale) = (precision as u32, scale as u8);
        }
        TypeId::Float | TypeId::Double => floating(name, declared, &mut ty)?,
        TypeId::Bit => {
            if declared.length == Some(0) {
                return Err(sql_err!(InvalidFieldSize, name));
            }
            ty.length = declared.length.unwrap_or(1) as u32;
            if ty.length > 64 {
                return Err(sql_err!(TooBigDisplaywidth, name, 64));
            }
        }
        TypeId::Time | TypeId::DateTime | TypeId::Timestamp => {
            let digits = declared.length.unwrap_or(0);
            if digits > 6 {
                return Err(sql_err!(TooBigPrecision, digits, name, 6));
            }
            ty.scale = digits as u8;
        }
        TypeId::Year if !matches!(declared.length, None | Some(4)) => {
            return Err(SqlError::with_message(
                ErrorCode::InvalidYearColumnLength,
                "Supports only YEAR or YEAR(4) column.",
            ));
        }
        _ => {}
    }
    if id.is_string() || matches!(id, TypeId::Enum | TypeId::Set) {
        text(name, declared, collate, inherited, &mut ty)?;
    } else if declared.charset.is_some() || (collate.is_some() && !matches!(id, TypeId::Json)) {
        return Err(sql_err!(WrongFieldSpec, name));
    }
    Ok(ty)
}

fn check_digits(name: &str, precision: u64, scale: u64, most: u64) -> Result<()> {
    if scale > 30 {
        return Err(sql_err!(TooBigScale, scale, name, 30));
    }
    if precision > most {
        return Err(sql_err!(TooBigPrecision, precision, name, most));
    }
    if scale > precision {
        return Err(sql_err!(MBiggerThanD, name));
    }
    Ok(())
}

fn floating(name: &str, declared: &DataType, ty: &mut SqlType) -> Result<()> {
    match (declared.length, declared.decimals) {
        (None, _) => {}
        // FLOAT(p): the precision in bits chooses the type.
        (Some(bits), None) => {
            if bits > 53 {
                return Err(sql_err!(WrongFieldSpec, name));
            }
            if bits > 24 {
                *ty = SqlType { unsigned: ty.unsigned, zerofill: ty.zerofill, ..SqlType::new(TypeId::Double) };
            }
        }
        (Some(precision), Some(scale)) => {
            check_digits(name, precision, scale, 255)?;
            (ty.length, ty.scale) = (precision as u32, scale as u8);
        }
    }
    Ok(())
}

fn base(declared: &DataType, sql_mode: SqlMode) -> Result<TypeId> {
    Ok(match declared.base {
        BaseType::Bit => TypeId::Bit,
        BaseType::TinyInt => TypeId::TinyInt,
        BaseType::SmallInt => TypeId::SmallInt,
        BaseType::MediumInt => TypeId::MediumInt,
        BaseType::Int => TypeId::Int,
        BaseType::BigInt => TypeId::BigInt,
        BaseType::Decimal => TypeId::Decimal,
        BaseType::Float => TypeId::Float,
        BaseType::Double => TypeId::Double,
        BaseType::Real if sql_mode.contains(SqlMode::REAL_AS_FLOAT) => TypeId::Float,
        BaseType::Real => TypeId::Double,
        BaseType::Date => TypeId::Date,
        BaseType::Time => TypeId::Time,
        BaseType::DateTime => TypeId::DateTime,
        BaseType::Timestamp => TypeId::Timestamp,
        BaseType::Year => TypeId::Year,
        BaseType::Char => TypeId::Char,
        BaseType::VarChar => TypeId::VarChar,
        BaseType::Binary => TypeId::Binary,
        BaseType::VarBinary => TypeId::VarBinary,
        BaseType::TinyText => TypeId::TinyText,
        BaseType::Text => TypeId::Text,
        BaseType::MediumText => TypeId::MediumText,
        BaseType::LongText => TypeId::LongText,
        BaseType::TinyBlob => TypeId::TinyBlob,
        BaseType::Blob => TypeId::Blob,
        BaseType::MediumBlob => TypeId::MediumBlob,
        BaseType::LongBlob => TypeId::LongBlob,
        BaseType::Enum => TypeId::Enum,
        BaseType::Set => TypeId::Set,
        BaseType::Json => TypeId::Json,
        _ => return Err(SqlError::unsupported("spatial and vector types")),
    })
}

/// The binary type that CHARACTER SET binary makes of a text type.
fn as_binary(id: TypeId) -> TypeId {
    match id {
        TypeId::Char => TypeId::Binary,
        TypeId::VarChar => TypeId::VarBinary,
        TypeId::TinyText => TypeId::TinyBlob,
        TypeId::Text => TypeId::Blob,
        TypeId::MediumText => TypeId::MediumBlob,
        TypeId::LongText => TypeId::LongBlob,
        other => other,
    }
}

fn text(
    name: &str,
    declared: &DataType,
    collate: Option<&str>,
    inherited: CollationId,
    ty: &mut SqlType,
) -> Result<()> {
    if !ty.id.is_binary_string() {
        let charset = match &declared.charset {
            _ if declared.national => Some(Charset::Utf8mb3),
            Some(name) => Some(Charset::by_name(name)?),
            None => None,
        };
        let collation = collate.map(Collation::by_name).transpose()?;
        let mut chosen = choose_collation(charset, collation, inherited)?;
        if declared.bin_collation && collation.is_none() {
            chosen = Collation::binary_of(chosen.charset()).id;
        }
        ty.collation = chosen;
        if chosen == CollationId::BINARY {
            *ty = SqlType { collation: chosen, ..SqlType::new(as_binary(ty.id)) };
        }
    }
    if matches!(ty.id, TypeId::Enum | TypeId::Set) {
        return members(name, declared, ty);
    }
    let bytes_each = if ty.id.is_binary_string() { 1 } else { u64::from(ty.collation.charset().max_len()) };
    match ty.id {
        TypeId::Char | TypeId::Binary => {
            let length = declared.length.unwrap_or(1);
            if length > 255 {
                return Err(sql_err!(TooBigFieldlength, name, 255));
            }
            ty.length = length as u32;
        }
        TypeId::VarChar | TypeId::VarBinary => {
            let length = declared.length.ok_or_else(|| sql_err!(WrongFieldSpec, name))?;
            let most = u64::from(SqlType::MAX_VARCHAR_BYTES) / bytes_each;
            if length > most {
                return Err(sql_err!(TooBigFieldlength, name, most));
            }
            ty.length = length as u32;
        }
        // TEXT(n) and BLOB(n): the smallest type that holds n characters.
        TypeId::Text | TypeId::Blob => {
            if let Some(length) = declared.length.filter(|n| *n > 0) {
                let bytes = length.saturating_mul(bytes_each);
                let (text, blob) = match bytes {
                    0..=255 => (TypeId::TinyText, TypeId::TinyBlob),
                    256..=65535 => (TypeId::Text, TypeId::Blob),
                    65536..=16_777_215 => (TypeId::MediumText, TypeId::MediumBlob),
                    16_777_216..=4_294_967_295 => (TypeId::LongText, TypeId::LongBlob),
                    _ => return Err(sql_err!(TooBigDisplaywidth, name, u32::MAX)),
                };
                let id = if ty.id == TypeId::Text { text } else { blob };
                *ty = SqlType { collation: ty.collation, ..SqlType::new(id) };
            }
        }
        _ => {}
    }
    Ok(())
}

fn members(name: &str, declared: &DataType, ty: &mut SqlType) -> Result<()> {
    let set = ty.id == TypeId::Set;
    if set && declared.members.len() > 64 {
        return Err(sql_err!(TooBigSet, name));
    }
    let mut names: Vec<Box<str>> = Vec::with_capacity(declared.members.len());
    for member in &declared.members {
        let text = String::from_utf8_lossy(member);
        // Trailing spaces do not belong to a member.
        let text = text.trim_end_matches(' ');
        if set && text.contains(',') {
            return Err(sql_err!(IllegalValueForType, "set", text));
        }
        if names.iter().any(|n| ty.collation.get().equal(n.as_bytes(), text.as_bytes())) {
            return Err(sql_err!(DuplicatedValueInType, name, text, if set { "SET" } else { "ENUM" }));
        }
        names.push(text.into());
    }
    ty.members = Some(Arc::new(Members { names: names.into(), collation: ty.collation }));
    Ok(())
}
