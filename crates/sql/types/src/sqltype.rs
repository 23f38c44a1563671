//! Types of columns and expressions: how they are declared, printed, stored and described on the wire.

use crate::collation::CollationId;
use crate::decimal::{MAX_PRECISION, MAX_SCALE};
use crate::members::Members;
use std::fmt::{self, Write};
use std::sync::Arc;

/// The base of a type.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
#[repr(u8)]
pub enum TypeId {
    /// The type of a bare NULL.
    Null = 0,
    TinyInt = 1,
    SmallInt = 2,
    MediumInt = 3,
    Int = 4,
    BigInt = 5,
    Decimal = 6,
    Float = 7,
    Double = 8,
    Bit = 9,
    Year = 10,
    Date = 11,
    Time = 12,
    DateTime = 13,
    Timestamp = 14,
    Char = 15,
    VarChar = 16,
    Binary = 17,
    VarBinary = 18,
    TinyText = 19,
    Text = 20,
    MediumText = 21,
    LongText = 22,
    TinyBlob = 23,
    Blob = 24,
    MediumBlob = 25,
    LongBlob = 26,
    Enum = 27,
    Set = 28,
    Json = 29,
}

impl TypeId {
    /// All bases, by number; the numbers are stored on disk and never change.
    pub const ALL: [TypeId; 30] = [
        TypeId::Null,
        TypeId::TinyInt,
        TypeId::SmallInt,
        TypeId::MediumInt,
        TypeId::Int,
        TypeId::BigInt,
        TypeId::Decimal,
        TypeId::Float,
        TypeId::Double,
        TypeId::Bit,
        TypeId::Year,
        TypeId::Date,
        TypeId::Time,
        TypeId::DateTime,
        TypeId::Timestamp,
        TypeId::Char,
        TypeId::VarChar,
        TypeId::Binary,
        TypeId::VarBinary,
        TypeId::TinyText,
        TypeId::Text,
        TypeId::MediumText,
        TypeId::LongText,
        TypeId::TinyBlob,
        TypeId::Blob,
        TypeId::MediumBlob,
        TypeId::LongBlob,
        TypeId::Enum,
        TypeId::Set,
        TypeId::Json,
    ];

    /// From its stored number.
    pub fn from_u8(n: u8) -> Option<TypeId> {
        Self::ALL.get(usize::from(n)).copied()
    }

    /// TINYINT..BIGINT (not YEAR, not BIT).
    #[inline]
    pub fn is_integer(self) -> bool {
        matches!(self, TypeId::TinyInt | TypeId::SmallInt | TypeId::MediumInt | TypeId::Int | TypeId::BigInt)
    }

    /// What LIMIT takes of the variables of stored programs.
    pub fn counts_rows(self) -> bool {
        self.is_integer() || matches!(self, TypeId::Bit | TypeId::Year)
    }

    /// Integers, DECIMAL, FLOAT, DOUBLE, BIT and YEAR.
    pub fn is_numeric(self) -> bool {
        (TypeId::TinyInt..=TypeId::Year).contains(&self)
    }

    pub fn is_temporal(self) -> bool {
        (TypeId::Date..=TypeId::Timestamp).contains(&self)
    }

    /// CHAR, VARCHAR, BINARY, VARBINARY, all TEXTs and BLOBs.
    #[inline]
    pub fn is_string(self) -> bool {
        (TypeId::Char..=TypeId::LongBlob).contains(&self)
    }

    /// TEXTs and BLOBs.
    pub fn is_lob(self) -> bool {
        (TypeId::TinyText..=TypeId::LongBlob).contains(&self)
    }

    /// BINARY, VARBINARY and BLOBs.
    pub fn is_binary_string(self) -> bool {
        matches!(
            self,
            TypeId::Binary
                | TypeId::VarBinary
                | TypeId::TinyBlob
                | TypeId::Blob
                | TypeId::MediumBlob
                | TypeId::LongBlob
        )
    }

    /// Stored width of the integers, in bytes; 0 for other bases.
    #[inline]
    pub fn int_width(self) -> usize {
        match self {
            TypeId::TinyInt => 1,
            TypeId::SmallInt => 2,
            TypeId::MediumInt => 3,
            TypeId::Int => 4,
            TypeId::BigInt => 8,
            _ => 0,
        }
    }
}

/// A type with its attributes. Cheap to clone.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct SqlType {
    pub id: TypeId,
    pub unsigned: bool,
    pub zerofill: bool,
    pub nullable: bool,
    /// Digits after the point (DECIMAL, FLOAT(M,D), DOUBLE(M,D)) or of the second (TIME, DATETIME, TIMESTAMP).
    /// [`SqlType::NOT_FIXED`] for FLOAT and DOUBLE without D.
    pub scale: u8,
    /// A DECIMAL whose values show the digits that they have, [`SqlType::scale`] at most: of parameters, user
    /// variables, and what IF, CASE and NULLIF choose. What is computed of them has the digits of its type, and so
    /// have rows that are kept.
    pub own_digits: bool,
    /// Characters (bytes for binary strings); precision of DECIMAL, FLOAT(M,D); bits of BIT; display width of integers
    /// with ZEROFILL or TINYINT(1), else 0. Of an expression's integers, floating-point numbers and times the
    /// characters that a client is told, or 0: those of a column of the type.
    pub length: u32,
    /// Of strings, ENUM, SET; `binary` for everything else.
    pub collation: CollationId,
    /// Of ENUM and SET.
    pub members: Option<Arc<Members>>,
}

/// MySQL's `enum_field_types` as column definitions carry them.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum WireType {
    Decimal = 0,
    Tiny = 1,
    Short = 2,
    Long = 3,
    Float = 4,
    Double = 5,
    Null = 6,
    Timestamp = 7,
    LongLong = 8,
    Int24 = 9,
    Date = 10,
    Time = 11,
    DateTime = 12,
    Year = 13,
    VarChar = 15,
    Bit = 16,
    Json = 245,
    NewDecimal = 246,
    Enum = 247,
    Set = 248,
    TinyBlob = 249,
    MediumBlob = 250,
    LongBlob = 251,
    Blob = 252,
    VarString = 253,
    String = 254,
}

/// Flag bits of column definitions.
pub mod flags {
    pub const NOT_NULL: u16 = 1;
    pub const PRI_KEY: u16 = 2;
    pub const UNIQUE_KEY: u16 = 4;
    pub const MULTIPLE_KEY: u16 = 8;
    pub const BLOB: u16 = 16;
    pub const UNSIGNED: u16 = 32;
    pub const ZEROFILL: u16 = 64;
    pub const BINARY: u16 = 128;
    pub const ENUM: u16 = 256;
    pub const AUTO_INCREMENT: u16 = 512;
    pub const TIMESTAMP: u16 = 1024;
    pub const SET: u16 = 2048;
    pub const NO_DEFAULT_VALUE: u16 = 4096;
    pub const ON_UPDATE_NOW: u16 = 8192;
    pub const PART_KEY: u16 = 16384;
}

impl SqlType {
    /// Scale of floating-point types without a fixed number of decimals.
    pub const NOT_FIXED: u8 = 31;
    /// Characters of the longest VARCHAR in a row (65535 bytes).
    pub const MAX_VARCHAR_BYTES: u32 = 65535;

    /// A nullable type of base `id` with its default attributes and collation `binary`.
    pub const fn new(id: TypeId) -> SqlType {
        let scale = if matches!(id, TypeId::Float | TypeId::Double) { Self::NOT_FIXED } else { 0 };
        let length = match id {
            TypeId::Decimal => 10,
            TypeId::Bit | TypeId::Char | TypeId::Binary => 1,
            TypeId::Year => 4,
            TypeId::TinyText | TypeId::TinyBlob => 255,
            TypeId::Text | TypeId::Blob => 65535,
            TypeId::MediumText | TypeId::MediumBlob => 16777215,
            TypeId::LongText | TypeId::LongBlob | TypeId::Json => u32::MAX,
            _ => 0,
        };
        let unsigned = matches!(id, TypeId::Bit | TypeId::Year);
        let collation = CollationId::BINARY;
        SqlType {
            id,
            unsigned,
            zerofill: false,
            nullable: true,
            scale,
            own_digits: false,
            length,
            collation,
            members: None,
        }
    }

    pub const NULL: SqlType = SqlType::new(TypeId::Null);
    /// BIGINT as expressions have it: a digit more than a column, for the sign.
    pub const BIGINT: SqlType = {
        let mut ty = SqlType::new(TypeId::BigInt);
        ty.length = 21;
        ty
    };
    /// DOUBLE as expressions have it.
    pub const DOUBLE: SqlType = {
        let mut ty = SqlType::new(TypeId::Double);
        ty.length = 23;
        ty
    };

    /// BIGINT UNSIGNED.
    pub const fn bigint_unsigned() -> SqlType {
        let mut t = SqlType::BIGINT;
        t.unsigned = true;
        t
    }

    /// DOUBLE of an expression that shows so many decimals, or as many as a value has ([`SqlType::NOT_FIXED`]).
    pub const fn double(scale: u8) -> SqlType {
        let mut ty = SqlType::DOUBLE;
        if scale < Self::NOT_FIXED {
            (ty.scale, ty.length) = (scale, 0);
        }
        ty
    }

    pub fn decimal(precision: u8, scale: u8) -> SqlType {
        SqlType { length: u32::from(precision), scale, ..SqlType::new(TypeId::Decimal) }
    }

    /// The type of a DECIMAL of which no digits are known beforehand.
    pub fn any_decimal() -> SqlType {
        SqlType { own_digits: true, ..SqlType::decimal(MAX_PRECISION, MAX_SCALE) }
    }

    pub fn varchar(chars: u32, collation: CollationId) -> SqlType {
        SqlType { length: chars, collation, ..SqlType::new(TypeId::VarChar) }
    }

    pub fn char(chars: u32, collation: CollationId) -> SqlType {
        SqlType { length: chars, collation, ..SqlType::new(TypeId::Char) }
    }

    pub fn varbinary(bytes: u32) -> SqlType {
        SqlType { length: bytes, ..SqlType::new(TypeId::VarBinary) }
    }

    /// DATE, TIME(fsp), DATETIME(fsp), TIMESTAMP(fsp).
    pub fn temporal(id: TypeId, fsp: u8) -> SqlType {
        SqlType { scale: fsp, ..SqlType::new(id) }
    }

    pub fn enumeration(id: TypeId, members: Arc<Members>) -> SqlType {
        SqlType { collation: members.collation, members: Some(members), ..SqlType::new(id) }
    }

    pub fn not_null(mut self) -> SqlType {
        self.nullable = false;
        self
    }

    pub fn unsigned(mut self) -> SqlType {
        self.unsigned = true;
        self
    }

    pub fn with_collation(mut self, collation: CollationId) -> SqlType {
        self.collation = collation;
        self
    }

    /// A string type whose collation is not `binary`, or ENUM, SET, JSON.
    pub fn is_text(&self) -> bool {
        match self.id {
            TypeId::Json => true,
            TypeId::Enum | TypeId::Set => true,
            id => id.is_string() && !id.is_binary_string(),
        }
    }

    /// Most bytes a value takes in its own character set (for strings), else its text's length.
    pub fn max_bytes(&self) -> u64 {
        match self.id {
            id if id.is_lob() || id == TypeId::Json => u64::from(self.length),
            id if id.is_string() => u64::from(self.length) * u64::from(self.collation.charset().max_len()),
            _ => u64::from(self.display_chars()),
        }
    }

    /// A TEXT or BLOB of fewer bytes than its type allows: of an expression.
    pub fn has_own_length(&self) -> bool {
        self.id.is_lob() && self.length != SqlType::new(self.id).length
    }

    /// Display width MySQL gives to integers in metadata when none was declared.
    fn int_display(&self) -> u32 {
        let u = u32::from(self.unsigned);
        match self.id {
            TypeId::TinyInt => 4 - u,
            TypeId::SmallInt => 6 - u,
            TypeId::MediumInt => 9 - u,
            TypeId::Int => 11 - u,
            _ => 20,
        }
    }

    /// Most characters of the value's text.
    pub fn display_chars(&self) -> u32 {
        let fraction = if self.scale > 0 { 1 + u32::from(self.scale) } else { 0 };
        match self.id {
            TypeId::Null => 0,
            TypeId::TinyInt | TypeId::SmallInt | TypeId::MediumInt | TypeId::Int | TypeId::BigInt => {
                if self.length > 0 { self.length } else { self.int_display() }
            }
            TypeId::Decimal => self.length + u32::from(self.scale > 0) + u32::from(!self.unsigned),
            TypeId::Float | TypeId::Double | TypeId::Time if self.length > 0 => self.length,
            TypeId::Float if self.scale == Self::NOT_FIXED => 12,
            TypeId::Double if self.scale == Self::NOT_FIXED => 22,
            // 15 digits that count, sign and point.
            TypeId::Float | TypeId::Double => 17 + u32::from(self.scale),
            TypeId::Year => 4,
            TypeId::Date => 10,
            TypeId::Time => 10 + fraction,
            TypeId::DateTime | TypeId::Timestamp => 19 + fraction,
            TypeId::Enum => self.members.as_ref().map_or(0, |m| m.longest),
            TypeId::Set => {
                let sum: u32 =
                    self.members.iter().flat_map(|m| m.names.iter()).map(|n| n.chars().count() as u32 + 1).sum();
                sum.saturating_sub(1)
            }
            _ => self.length,
        }
    }

    /// Characters of a value's text at most: those of a DOUBLE (-2.2250738585072014e-308) may be two more than are
    /// told of.
    pub fn text_chars(&self) -> u32 {
        let exponent = self.id == TypeId::Double && self.scale == Self::NOT_FIXED;
        self.display_chars() + if exponent { 2 } else { 0 }
    }

    /// Type byte of the column definition packet.
    pub fn wire_type(&self) -> WireType {
        match self.id {
            TypeId::Null => WireType::Null,
            TypeId::TinyInt => WireType::Tiny,
            TypeId::SmallInt => WireType::Short,
            TypeId::MediumInt => WireType::Int24,
            TypeId::Int => WireType::Long,
            TypeId::BigInt => WireType::LongLong,
            TypeId::Decimal => WireType::NewDecimal,
            TypeId::Float => WireType::Float,
            TypeId::Double => WireType::Double,
            TypeId::Bit => WireType::Bit,
            TypeId::Year => WireType::Year,
            TypeId::Date => WireType::Date,
            TypeId::Time => WireType::Time,
            TypeId::DateTime => WireType::DateTime,
            TypeId::Timestamp => WireType::Timestamp,
            TypeId::Char | TypeId::Binary | TypeId::Enum | TypeId::Set => WireType::String,
            TypeId::VarChar | TypeId::VarBinary => WireType::VarString,
            TypeId::Json => WireType::Json,
            _ => WireType::Blob,
        }
    }

    /// Length field of the column definition, for results in a character set of `result_max_len` bytes a character
    /// (`character_set_results`; 1 when the result is sent as it is stored and single byte).
    pub fn wire_length(&self, result_max_len: u32) -> u32 {
        let chars = u64::from(self.display_chars());
        let factor = if self.is_text() { u64::from(result_max_len) } else { 1 };
        u32::try_from(chars * factor).unwrap_or(u32::MAX)
    }

    /// Decimals byte of the column definition.
    pub fn wire_decimals(&self) -> u8 {
        match self.id {
            TypeId::Decimal | TypeId::Float | TypeId::Double => self.scale,
            id if id.is_temporal() => self.scale,
            _ => 0,
        }
    }

    /// Flag bits that follow from the type of a stored column (key and default flags are the catalogue's).
    pub fn column_flags(&self) -> u16 {
        let mut f = if self.nullable { 0 } else { flags::NOT_NULL };
        if self.unsigned {
            f |= flags::UNSIGNED;
        }
        if self.zerofill {
            f |= flags::ZEROFILL;
        }
        match self.id {
            TypeId::Enum => f |= flags::ENUM,
            TypeId::Set => f |= flags::SET,
            TypeId::Json => f |= flags::BLOB | flags::BINARY,
            TypeId::Year => f |= flags::ZEROFILL,
            id if id.is_lob() => f |= flags::BLOB,
            _ => {}
        }
        let temporal = self.id.is_temporal();
        if temporal || (self.id.is_string() || self.members.is_some()) && self.collation.is_binary_flagged() {
            f |= flags::BINARY;
        }
        f
    }

    /// Flag bits of an expression of this type: as a column, but for those that tell how it is stored and shown. All
    /// numbers but BIT are flagged BINARY.
    pub fn expression_flags(&self) -> u16 {
        let numeric = self.id.is_numeric() && self.id != TypeId::Bit || self.id == TypeId::Null;
        let stored = flags::BLOB | flags::ENUM | flags::SET | if self.id == TypeId::Year { flags::ZEROFILL } else { 0 };
        self.column_flags() & !stored | if numeric { flags::BINARY } else { 0 }
    }

    /// Type byte of an expression's column definition: long texts have their own.
    pub fn expression_wire_type(&self) -> WireType {
        match self.id {
            TypeId::MediumText | TypeId::MediumBlob => WireType::MediumBlob,
            TypeId::LongText | TypeId::LongBlob => WireType::LongBlob,
            _ => self.wire_type(),
        }
    }

    /// As [`SqlType::wire_length`], of an expression: MySQL takes the bytes of a TEXT for characters.
    pub fn expression_wire_length(&self, result_max_len: u32) -> u32 {
        let length = self.wire_length(result_max_len);
        match self.id {
            TypeId::Json => (u32::MAX / 4).saturating_mul(result_max_len),
            id if id.is_lob() && !self.has_own_length() => length.saturating_mul(self.collation.charset().max_len()),
            _ => length,
        }
    }

    /// `information_schema.columns.data_type`.
    pub fn data_type(&self) -> &'static str {
        match self.id {
            TypeId::Null => "null",
            TypeId::TinyInt => "tinyint",
            TypeId::SmallInt => "smallint",
            TypeId::MediumInt => "mediumint",
            TypeId::Int => "int",
            TypeId::BigInt => "bigint",
            TypeId::Decimal => "decimal",
            TypeId::Float => "float",
            TypeId::Double => "double",
            TypeId::Bit => "bit",
            TypeId::Year => "year",
            TypeId::Date => "date",
            TypeId::Time => "time",
            TypeId::DateTime => "datetime",
            TypeId::Timestamp => "timestamp",
            TypeId::Char => "char",
            TypeId::VarChar => "varchar",
            TypeId::Binary => "binary",
            TypeId::VarBinary => "varbinary",
            TypeId::TinyText => "tinytext",
            TypeId::Text => "text",
            TypeId::MediumText => "mediumtext",
            TypeId::LongText => "longtext",
            TypeId::TinyBlob => "tinyblob",
            TypeId::Blob => "blob",
            TypeId::MediumBlob => "mediumblob",
            TypeId::LongBlob => "longblob",
            TypeId::Enum => "enum",
            TypeId::Set => "set",
            TypeId::Json => "json",
        }
    }
}

/// As `SHOW CREATE TABLE` and `information_schema.columns.column_type` print it (no charset, no nullability).
impl fmt::Display for SqlType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.data_type())?;
        match self.id {
            id if id.is_integer() && self.zerofill => write!(f, "({})", self.display_chars())?,
            TypeId::TinyInt if self.length == 1 && !self.unsigned => f.write_str("(1)")?,
            TypeId::Decimal => write!(f, "({},{})", self.length, self.scale)?,
            TypeId::Float | TypeId::Double if self.scale != Self::NOT_FIXED => {
                write!(f, "({},{})", self.length, self.scale)?
            }
            TypeId::Bit | TypeId::Char | TypeId::VarChar | TypeId::Binary | TypeId::VarBinary => {
                write!(f, "({})", self.length)?
            }
            TypeId::Time | TypeId::DateTime | TypeId::Timestamp if self.scale > 0 => write!(f, "({})", self.scale)?,
            TypeId::Enum | TypeId::Set => {
                f.write_char('(')?;
                for (i, name) in self.members.iter().flat_map(|m| m.names.iter()).enumerate() {
                    if i > 0 {
                        f.write_char(',')?;
                    }
                    let mut quoted = String::new();
                    quote_text(&mut quoted, name);
                    f.write_str(&quoted)?;
                }
                f.write_char(')')?;
            }
            _ => {}
        }
        if self.unsigned && !matches!(self.id, TypeId::Bit | TypeId::Year) {
            f.write_str(" unsigned")?;
        }
        if self.zerofill {
            f.write_str(" zerofill")?;
        }
        Ok(())
    }
}

/// Appends text between single quotes as SHOW CREATE TABLE does: quotes doubled, backslash, NUL, newline and carriage
/// return escaped.
pub fn quote_text(out: &mut String, text: &str) {
    out.push('\'');
    for c in text.chars() {
        match c {
            '\'' => out.push_str("''"),
            '\\' => out.push_str("\\\\"),
            '\0' => out.push_str("\\0"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            c => out.push(c),
        }
    }
    out.push('\'');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CollationId;

    #[test]
    fn types_print_as_show_create_table_does() {
        let int = SqlType::new(TypeId::Int);
        let ci = CollationId::DEFAULT;
        for (ty, text) in [
            (int.clone(), "int"),
            (int.clone().unsigned(), "int unsigned"),
            (SqlType { zerofill: true, unsigned: true, ..int.clone() }, "int(10) unsigned zerofill"),
            (SqlType { zerofill: true, unsigned: true, length: 5, ..int }, "int(5) unsigned zerofill"),
            (SqlType { length: 1, ..SqlType::new(TypeId::TinyInt) }, "tinyint(1)"),
            (SqlType::new(TypeId::TinyInt), "tinyint"),
            (SqlType::decimal(10, 2), "decimal(10,2)"),
            (SqlType::new(TypeId::Float), "float"),
            (SqlType { length: 7, scale: 3, ..SqlType::new(TypeId::Double) }, "double(7,3)"),
            (SqlType::char(10, ci), "char(10)"),
            (SqlType::varchar(255, ci), "varchar(255)"),
            (SqlType::varbinary(16), "varbinary(16)"),
            (SqlType::temporal(TypeId::DateTime, 0), "datetime"),
            (SqlType::temporal(TypeId::Timestamp, 6), "timestamp(6)"),
            (SqlType::new(TypeId::Year), "year"),
            (SqlType::new(TypeId::Bit), "bit(1)"),
            (SqlType::new(TypeId::LongText), "longtext"),
        ] {
            assert_eq!(ty.to_string(), text);
        }
        let members = Members::new(["a".into(), "it's".into()].into(), ci);
        assert_eq!(SqlType::enumeration(TypeId::Set, members.into()).to_string(), "set('a','it''s')");
    }

    #[test]
    fn metadata_is_what_mysql_sends() {
        let ci = CollationId::DEFAULT;
        // Type, length in a result of utf8mb4, decimals.
        for (ty, wire, length, decimals) in [
            (SqlType::new(TypeId::TinyInt), WireType::Tiny, 4, 0),
            (SqlType::new(TypeId::SmallInt).unsigned(), WireType::Short, 5, 0),
            (SqlType::new(TypeId::MediumInt), WireType::Int24, 9, 0),
            (SqlType::new(TypeId::Int), WireType::Long, 11, 0),
            (SqlType::new(TypeId::Int).unsigned(), WireType::Long, 10, 0),
            (SqlType::new(TypeId::BigInt), WireType::LongLong, 20, 0),
            (SqlType::BIGINT, WireType::LongLong, 21, 0),
            (SqlType::bigint_unsigned(), WireType::LongLong, 21, 0),
            (SqlType::double(2), WireType::Double, 19, 2),
            (SqlType::decimal(10, 2), WireType::NewDecimal, 12, 2),
            (SqlType::decimal(10, 0), WireType::NewDecimal, 11, 0),
            (SqlType::new(TypeId::Float), WireType::Float, 12, 31),
            (SqlType::new(TypeId::Double), WireType::Double, 22, 31),
            (SqlType::DOUBLE, WireType::Double, 23, 31),
            (SqlType::char(120, ci), WireType::String, 480, 0),
            (SqlType::varchar(60, ci), WireType::VarString, 240, 0),
            (SqlType::new(TypeId::Text).with_collation(ci), WireType::Blob, 262_140, 0),
            (SqlType::new(TypeId::LongText).with_collation(ci), WireType::Blob, u32::MAX, 0),
            (SqlType::new(TypeId::Blob), WireType::Blob, 65535, 0),
            (SqlType::varbinary(10), WireType::VarString, 10, 0),
            (SqlType::new(TypeId::Date), WireType::Date, 10, 0),
            (SqlType::temporal(TypeId::DateTime, 6), WireType::DateTime, 26, 6),
            (SqlType::temporal(TypeId::Time, 0), WireType::Time, 10, 0),
            (SqlType::new(TypeId::Year), WireType::Year, 4, 0),
        ] {
            assert_eq!((ty.wire_type(), ty.wire_length(4), ty.wire_decimals()), (wire, length, decimals), "{ty}");
        }
        let flags_of = |ty: SqlType| ty.column_flags();
        assert_eq!(flags_of(SqlType::new(TypeId::Int).not_null()), flags::NOT_NULL);
        assert_eq!(flags_of(SqlType::temporal(TypeId::DateTime, 0)), flags::BINARY);
        assert_eq!(flags_of(SqlType::new(TypeId::Blob)), flags::BLOB | flags::BINARY);
        assert_eq!(flags_of(SqlType::new(TypeId::Text).with_collation(ci)), flags::BLOB);
        assert_eq!(flags_of(SqlType::varchar(1, CollationId::UTF8MB4_BIN)), flags::BINARY);
        assert_eq!(SqlType::BIGINT.not_null().expression_flags(), flags::NOT_NULL | flags::BINARY);
    }

    #[test]
    fn stored_numbers_of_types_are_stable() {
        for (i, id) in TypeId::ALL.iter().enumerate() {
            assert_eq!(*id as usize, i);
            assert_eq!(TypeId::from_u8(i as u8), Some(*id));
        }
        assert_eq!(TypeId::from_u8(30), None);
    }
}
