//! Types as statements write them: of columns and of CAST.

use super::error;
use crate::options::PlanOptions;
use crate::typing::Bound;
use gannet_parser::ast::{BaseType, CastType, DataType};
use gannet_types::charset::Charset;
use gannet_types::members::Members;
use gannet_types::{Collation, CollationId, ErrorCode, Result, SqlError, SqlMode, SqlType, TypeId};
use std::cell::RefCell;
use std::collections::HashSet;
use std::sync::Arc;

/// What a column's type depends on besides its words.
#[derive(Clone, Copy, Debug)]
pub struct TypeContext<'a> {
    /// Name of the column, for messages.
    pub column: &'a str,
    /// Collation of the table.
    pub collation: CollationId,
    /// `default_collation_for_utf8mb4`: what that is where no collation is named.
    pub utf8mb4: CollationId,
    /// sql_mode: REAL_AS_FLOAT, strictness (too long VARCHARs become TEXT without it).
    pub sql_mode: SqlMode,
    /// What is let pass without strictness, for notes; without it everything is an error.
    pub notes: Option<&'a RefCell<Vec<SqlError>>>,
}

impl TypeContext<'_> {
    /// A note, or an error where none is wanted.
    fn lenient(self, error: SqlError) -> Result<()> {
        match self.notes {
            Some(notes) if !self.sql_mode.is_strict() => notes.borrow_mut().push(error),
            _ => return Err(error),
        }
        Ok(())
    }
}

/// The type of a column definition: lengths checked, character set and collation resolved. `collate` is the column's
/// COLLATE clause. The type is nullable.
pub fn column_type(ty: &DataType, collate: Option<&str>, cx: TypeContext<'_>) -> Result<SqlType> {
    if ty.length.is_some_and(|n| n > u64::from(u32::MAX)) && ty.base != BaseType::Year {
        return Err(error(ErrorCode::TooBigDisplaywidth, &[&cx.column, &u32::MAX]));
    }
    let id = base(ty, cx.sql_mode)?;
    let column = cx.column;
    let mut result = SqlType::new(id);
    result.unsigned |= ty.unsigned || ty.zerofill;
    result.zerofill = ty.zerofill;
    if (ty.unsigned || ty.zerofill) && !id.is_numeric() {
        return Err(error(ErrorCode::WrongFieldSpec, &[&column]));
    }
    if result.is_text() && id != TypeId::Json {
        result.collation = collation(ty, collate, (cx.collation, cx.utf8mb4))?;
    } else if let Some(name) = collate
        && Collation::by_name(name)?.id != CollationId::BINARY
        && !id.is_binary_string()
    {
        // COLLATE on other types is accepted and means nothing, as in MySQL.
    }
    let length = ty.length;
    match id {
        id if id.is_integer() => integer(&mut result, length, column)?,
        TypeId::Decimal => decimal(&mut result, length, ty.decimals, column)?,
        TypeId::Float | TypeId::Double => float(&mut result, length, ty.decimals, column)?,
        TypeId::Bit => {
            let n = length.unwrap_or(1);
            if n > 64 {
                return Err(error(ErrorCode::TooBigDisplaywidth, &[&column, &64]));
            }
            if n == 0 {
                return Err(error(ErrorCode::InvalidFieldSize, &[&column]));
            }
            result.length = n as u32;
        }
        TypeId::Time | TypeId::DateTime | TypeId::Timestamp => {
            let n = length.unwrap_or(0);
            if n > 6 {
                return Err(error(ErrorCode::TooBigPrecision, &[&n, &column, &6]));
            }
            result.scale = n as u8;
        }
        TypeId::Year if length.is_some_and(|n| n != 4) => {
            return Err(SqlError::new(ErrorCode::InvalidYearColumnLength, &[]));
        }
        TypeId::Enum | TypeId::Set => members(&mut result, ty, cx)?,
        id if id.is_string() => string(&mut result, id, length, cx)?,
        _ => {}
    }
    Ok(result)
}

fn base(ty: &DataType, mode: SqlMode) -> Result<TypeId> {
    Ok(match ty.base {
        BaseType::Bit => TypeId::Bit,
        BaseType::TinyInt => TypeId::TinyInt,
        BaseType::SmallInt => TypeId::SmallInt,
        BaseType::MediumInt => TypeId::MediumInt,
        BaseType::Int => TypeId::Int,
        BaseType::BigInt => TypeId::BigInt,
        BaseType::Decimal => TypeId::Decimal,
        // FLOAT(p) with p over 24 is DOUBLE.
        BaseType::Float if ty.decimals.is_none() && ty.length.is_some_and(|p| p > 24) => TypeId::Double,
        BaseType::Float => TypeId::Float,
        BaseType::Double => TypeId::Double,
        BaseType::Real if mode.contains(SqlMode::REAL_AS_FLOAT) => TypeId::Float,
        BaseType::Real => TypeId::Double,
        BaseType::Date => TypeId::Date,
        BaseType::Time => TypeId::Time,
        BaseType::DateTime => TypeId::DateTime,
        BaseType::Timestamp => TypeId::Timestamp,
        BaseType::Year => TypeId::Year,
        BaseType::Char if is_binary_charset(ty) => TypeId::Binary,
        BaseType::VarChar if is_binary_charset(ty) => TypeId::VarBinary,
        BaseType::TinyText if is_binary_charset(ty) => TypeId::TinyBlob,
        BaseType::Text if is_binary_charset(ty) => TypeId::Blob,
        BaseType::MediumText if is_binary_charset(ty) => TypeId::MediumBlob,
        BaseType::LongText if is_binary_charset(ty) => TypeId::LongBlob,
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
        BaseType::Vector => return Err(SqlError::unsupported("VECTOR")),
        _ => return Err(SqlError::unsupported("spatial types")),
    })
}

fn is_binary_charset(ty: &DataType) -> bool {
    ty.charset.as_ref().is_some_and(|c| c.text.eq_ignore_ascii_case("binary"))
}

/// `table` is the table's collation, `utf8mb4` the session's `default_collation_for_utf8mb4`.
fn collation(
    ty: &DataType,
    collate: Option<&str>,
    (table, utf8mb4): (CollationId, CollationId),
) -> Result<CollationId> {
    let charset = match &ty.charset {
        Some(name) => Some(Charset::by_name(&name.text)?),
        None if ty.national => Some(Charset::Utf8mb3),
        None => None,
    };
    if let Some(name) = collate {
        let collation = Collation::by_name(name)?;
        if let Some(charset) = charset
            && charset != collation.charset
        {
            return Err(error(ErrorCode::CollationCharsetMismatch, &[&collation.name, &charset.name()]));
        }
        return Ok(collation.id);
    }
    Ok(match charset {
        _ if ty.bin_collation => Collation::binary_of(charset.unwrap_or(table.charset())).id,
        Some(charset) if charset != table.charset() || ty.charset.is_some() => {
            Collation::implied_for(charset, utf8mb4)?
        }
        _ => table,
    })
}

fn integer(ty: &mut SqlType, width: Option<u64>, column: &str) -> Result<()> {
    let Some(width) = width else {
        if ty.zerofill {
            ty.length = match ty.id {
                TypeId::TinyInt => 3,
                TypeId::SmallInt => 5,
                TypeId::MediumInt => 8,
                TypeId::Int => 10,
                _ => 20,
            };
        }
        return Ok(());
    };
    if width > 255 {
        return Err(error(ErrorCode::TooBigDisplaywidth, &[&column, &255]));
    }
    // Widths are deprecated and dropped, but for ZEROFILL and TINYINT(1).
    if ty.zerofill || ty.id == TypeId::TinyInt && width == 1 && !ty.unsigned {
        ty.length = width as u32;
    }
    Ok(())
}

fn decimal(ty: &mut SqlType, length: Option<u64>, decimals: Option<u64>, column: &str) -> Result<()> {
    let scale = decimals.unwrap_or(0);
    if scale > 30 {
        return Err(error(ErrorCode::TooBigScale, &[&scale, &column, &30]));
    }
    let precision = match length {
        None => 10.max(scale),
        Some(0) if scale == 0 => 10,
        Some(n) => n,
    };
    if precision > 65 {
        return Err(error(ErrorCode::TooBigPrecision, &[&precision, &column, &65]));
    }
    if precision < scale {
        return Err(error(ErrorCode::MBiggerThanD, &[&column]));
    }
    (ty.length, ty.scale) = (precision as u32, scale as u8);
    Ok(())
}

fn float(ty: &mut SqlType, length: Option<u64>, decimals: Option<u64>, column: &str) -> Result<()> {
    let Some(decimals) = decimals else {
        if length.is_some_and(|n| n > 53) {
            return Err(error(ErrorCode::WrongFieldSpec, &[&column]));
        }
        return Ok(());
    };
    let length = length.unwrap_or(0);
    if decimals > 30 {
        return Err(error(ErrorCode::TooBigScale, &[&decimals, &column, &30]));
    }
    if length > 255 {
        return Err(error(ErrorCode::TooBigDisplaywidth, &[&column, &255]));
    }
    if length < decimals {
        return Err(error(ErrorCode::MBiggerThanD, &[&column]));
    }
    (ty.length, ty.scale) = (length as u32, decimals as u8);
    Ok(())
}

/// Characters of the longest member of an ENUM or SET.
const MAX_MEMBER_CHARS: usize = 255;

fn members(ty: &mut SqlType, definition: &DataType, cx: TypeContext<'_>) -> Result<()> {
    let column = cx.column;
    let set = ty.id == TypeId::Set;
    let mut names: Vec<Box<str>> = Vec::with_capacity(definition.members.len());
    let charset = ty.collation.charset();
    let mut keys = Vec::with_capacity(definition.members.len());
    for bytes in &definition.members {
        // Names are UTF-8; bytes that are not were given in hexadecimal, in the column's character set.
        let bytes = if Charset::Utf8mb4.is_valid(bytes) {
            (&**bytes).into()
        } else {
            charset.convert(bytes, Charset::Utf8mb4).bytes
        };
        let text = String::from_utf8_lossy(&bytes);
        let text = if ty.collation.is_binary() { &*text } else { text.trim_end_matches(' ') };
        if text.chars().count() > MAX_MEMBER_CHARS {
            return Err(error(ErrorCode::TooLongSetEnumValue, &[&column]));
        }
        if set && text.contains(',') {
            return Err(error(ErrorCode::IllegalValueForType, &[&"set", &text]));
        }
        // What the column's character set does not have is a question mark.
        let own = Charset::Utf8mb4.convert(text.as_bytes(), charset);
        let mut key = Vec::new();
        ty.collation.sort_key(&own.bytes, &mut key);
        keys.push(key);
        names.push(match own.lossy {
            true => String::from_utf8_lossy(&charset.convert(&own.bytes, Charset::Utf8mb4).bytes).into(),
            false => text.into(),
        });
    }
    let mut later = HashSet::with_capacity(keys.len());
    let repeated: Vec<bool> = keys.into_iter().rev().map(|key| !later.insert(key)).collect();
    let kind = if set { "SET" } else { "ENUM" };
    let (repeated, mut duplicates) = (repeated.into_iter().rev(), 0);
    for (name, _) in names.iter().zip(repeated).filter(|(_, repeated)| *repeated) {
        duplicates += 1;
        cx.lenient(error(ErrorCode::DuplicatedValueInType, &[&column, name, &kind]))?;
    }
    if set && names.len() - duplicates > 64 {
        return Err(error(ErrorCode::TooBigSet, &[&column]));
    }
    if !set && names.len() > 65535 {
        return Err(error(ErrorCode::TooBigEnum, &[&column]));
    }
    ty.members = Some(Arc::new(Members::new(names.into(), ty.collation)));
    Ok(())
}

fn string(ty: &mut SqlType, id: TypeId, length: Option<u64>, cx: TypeContext<'_>) -> Result<()> {
    let width = u64::from(ty.collation.charset().max_len());
    match id {
        TypeId::Char | TypeId::Binary => {
            let n = length.unwrap_or(1);
            if n > 255 {
                return Err(error(ErrorCode::TooBigFieldlength, &[&cx.column, &255]));
            }
            ty.length = n as u32;
        }
        TypeId::VarChar | TypeId::VarBinary => {
            let n = length.unwrap_or(1);
            let max = 65535 / width;
            if n > max {
                if cx.notes.is_none() || cx.sql_mode.is_strict() {
                    // What no character set could hold is refused before the character set is looked at.
                    let max = if n > 65535 { 65535 } else { max };
                    return Err(error(ErrorCode::TooBigFieldlength, &[&cx.column, &max]));
                }
                let (from, to) = if id == TypeId::VarChar { ("VARCHAR", "TEXT") } else { ("VARBINARY", "BLOB") };
                cx.lenient(error(ErrorCode::AutoConvert, &[&cx.column, &from, &to]))?;
                *ty = large(id == TypeId::VarChar, n.saturating_mul(width), ty.collation);
                return Ok(());
            }
            ty.length = n as u32;
        }
        // TEXT(n) and BLOB(n): the smallest that holds n characters.
        TypeId::Text | TypeId::Blob => {
            if let Some(n) = length {
                if n > u64::from(u32::MAX) {
                    return Err(error(ErrorCode::TooBigDisplaywidth, &[&cx.column, &u32::MAX]));
                }
                *ty = large(id == TypeId::Text, n.saturating_mul(width), ty.collation);
            }
        }
        _ => {}
    }
    Ok(())
}

/// The smallest TEXT or BLOB that holds so many bytes.
fn large(text: bool, bytes: u64, collation: CollationId) -> SqlType {
    let sizes = if text {
        [TypeId::TinyText, TypeId::Text, TypeId::MediumText, TypeId::LongText]
    } else {
        [TypeId::TinyBlob, TypeId::Blob, TypeId::MediumBlob, TypeId::LongBlob]
    };
    let fits = [255u64, 65535, 16_777_215].iter().position(|max| bytes <= *max).unwrap_or(3);
    SqlType { collation, ..SqlType::new(sizes[fits]) }
}

/// Target type of CAST and CONVERT.
pub(super) fn cast_type(to: &CastType, arg: &Bound, literal: bool, options: &PlanOptions<'_>) -> Result<SqlType> {
    let ty = match to {
        CastType::Signed => return Ok(SqlType::BIGINT),
        CastType::Unsigned => return Ok(SqlType::bigint_unsigned()),
        CastType::Type(ty) => ty,
    };
    let text = matches!(ty.base, BaseType::Char | BaseType::VarChar);
    if text && ty.length.is_none() || matches!(ty.base, BaseType::Binary | BaseType::VarBinary) && ty.length.is_none() {
        // Without a length the value's own.
        let chars = if arg.ty().id.is_string() { arg.ty().length } else { arg.ty().text_chars() };
        if !text || is_binary_charset(ty) {
            return Ok(SqlType::varbinary(arg.ty().max_bytes().min(u64::from(u32::MAX)) as u32));
        }
        let collation = collation(ty, None, (options.collation, CollationId::DEFAULT))?;
        if arg.ty().id.is_lob() || arg.ty().id == TypeId::Json {
            return Ok(SqlType { collation, ..SqlType::new(TypeId::LongText) });
        }
        return Ok(SqlType::varchar(chars, collation));
    }
    if text || matches!(ty.base, BaseType::Binary | BaseType::VarBinary) {
        let n = u32::try_from(ty.length.unwrap_or(1))
            .map_err(|_| error(ErrorCode::TooBigDisplaywidth, &[&"cast as char", &u32::MAX]))?;
        // Bytes are filled up with zeros, whatever they are called.
        if !text || is_binary_charset(ty) || ty.charset.is_none() && !ty.national && options.collation.is_binary() {
            return Ok(SqlType { length: n, ..SqlType::new(TypeId::Binary) });
        }
        return Ok(SqlType::varchar(n, collation(ty, None, (options.collation, CollationId::DEFAULT))?));
    }
    // Messages name a literal by its text, and nothing else.
    let name = match &arg.expr.kind {
        crate::expr::ExprKind::Literal(value) if literal => {
            let mut text = Vec::new();
            value.write_text(&mut text);
            String::from_utf8_lossy(&text).into_owned()
        }
        _ => String::new(),
    };
    if let Some(n) = ty.length.filter(|n| *n > 53 && ty.base == BaseType::Float) {
        return Err(error(ErrorCode::TooBigPrecision, &[&n, &"CAST", &53]));
    }
    let cx = TypeContext {
        column: &name,
        collation: options.collation,
        utf8mb4: CollationId::DEFAULT,
        sql_mode: options.sql_mode,
        notes: None,
    };
    let made = column_type(ty, None, cx)?;
    let length = if matches!(made.id, TypeId::Float | TypeId::Double) { SqlType::DOUBLE.length } else { made.length };
    Ok(SqlType { length, ..made })
}
