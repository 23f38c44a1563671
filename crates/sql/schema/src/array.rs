//! Multi-valued indexes: an entry for each element of a JSON array (manual, "CREATE INDEX", "Multi-Valued Indexes").
//!
//! One part of such an index is a hidden column that holds the array as the row's document has it. Its elements are
//! converted when entries are made, by rules that depend on nothing else, so the same array always makes the same
//! entries; and elements that are equal as JSON are equal when converted, so an index finds all rows that hold a value.
//!
//! ```text
//! parts before · element · parts behind · clustered key → nothing
//! ```
//!
//! Each value is there once. A scalar is an array of one. SQL NULL and JSON null make one entry with NULL, an empty
//! array makes none.

use crate::table::Table;
use gannet_types::convert::{self, StoreTarget, never};
use gannet_types::json::{self, Json};
use gannet_types::key::{self, KeyPart};
use gannet_types::room::Room;
use gannet_types::temporal::{Date, TimeZone};
use gannet_types::{
    CollationId, Decimal, ErrorCode, Result, SqlError, SqlMode, SqlType, TypeId, Value, ValueRef, Warnings, sql_err,
};

/// Entries of a row: as many as integers fit into a page of InnoDB's undo log.
pub const MAX_ELEMENTS: usize = 1604;
/// Bytes of the elements of a row, in keys: InnoDB's bound.
pub const MAX_ELEMENT_BYTES: usize = 65_221;

/// Why a value is no element.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unfit {
    /// It is of another kind.
    Invalid,
    /// It is no scalar.
    Nested,
    /// A number beyond the type's range.
    Range,
    /// A text longer than the type allows.
    Long,
}

impl Unfit {
    /// Error 3903, 3904, 3907, 3908.
    fn error(self, index: &str) -> SqlError {
        match self {
            Unfit::Invalid => sql_err!(InvalidJsonValueForFuncIndex, index),
            Unfit::Nested => sql_err!(WrongMviValue, index),
            Unfit::Range => sql_err!(JsonValueOutOfRangeForFuncIndex, index),
            Unfit::Long => sql_err!(FunctionalIndexDataIsTooLong, index),
        }
    }
}

/// The collation of texts in arrays.
pub fn text_collation() -> CollationId {
    gannet_types::Collation::by_name("utf8mb4_0900_as_cs").map_or(CollationId::UTF8MB4_BIN, |c| c.id)
}

/// Converts a scalar into an index's type for elements.
pub fn element(ty: &SqlType, value: &Json) -> Result<Value, Unfit> {
    match ty.id {
        _ if matches!(value, Json::Array(_) | Json::Object(_)) => Err(Unfit::Nested),
        id if id.is_string() => text_element(ty, value),
        id if id.is_temporal() => time_element(ty, value),
        _ => number_element(ty, value),
    }
}

/// Numbers of all kinds go through decimals, as their comparison does: equal ones stay equal.
fn number_element(ty: &SqlType, value: &Json) -> Result<Value, Unfit> {
    let decimal = match value {
        Json::Int(n) => Decimal::from_i64(*n),
        Json::UInt(n) => Decimal::from_u64(*n),
        Json::Decimal(d) => *d,
        Json::Double(d) => Decimal::from_f64(*d).ok_or(Unfit::Range)?,
        Json::Bool(b) => Decimal::from_i64(i64::from(*b)),
        Json::String(text) => return stored(ty, ValueRef::Str(text.as_bytes(), CollationId::DEFAULT)),
        _ => return Err(Unfit::Invalid),
    };
    stored(ty, ValueRef::Decimal(decimal))
}

fn time_element(ty: &SqlType, value: &Json) -> Result<Value, Unfit> {
    match (ty.id, value) {
        (_, Json::String(text)) => stored(ty, ValueRef::Str(text.as_bytes(), CollationId::DEFAULT)),
        (TypeId::Date | TypeId::DateTime, Json::Date(date)) => stored(ty, ValueRef::Date(*date)),
        (_, Json::DateTime(t) | Json::Timestamp(t)) => stored(ty, ValueRef::DateTime(*t, 6)),
        (TypeId::Time, Json::Time(time)) => stored(ty, ValueRef::Time(*time, 6)),
        _ => Err(Unfit::Invalid),
    }
}

fn text_element(ty: &SqlType, value: &Json) -> Result<Value, Unfit> {
    let bytes = match value {
        Json::String(text) => text.as_bytes(),
        Json::Opaque(_, bytes) if ty.id.is_binary_string() => bytes,
        _ => return Err(Unfit::Invalid),
    };
    let length = if ty.id.is_binary_string() { bytes.len() } else { ty.collation.charset().char_count(bytes) };
    if length > ty.length as usize {
        return Err(Unfit::Long);
    }
    Ok(Value::Str(bytes.into(), ty.collation))
}

/// A value as a column of the type would take it, whatever the session's settings are.
fn stored(ty: &SqlType, value: ValueRef<'_>) -> Result<Value, Unfit> {
    let (mut warnings, zone) = (Warnings::default(), TimeZone::UTC);
    let mut cx = convert::Context {
        mode: SqlMode::DEFAULT,
        zone: &zone,
        today: Date::new(1970, 1, 1),
        strict: true,
        warnings: &mut warnings,
        stopped: never,
        room: Room::FREE,
    };
    convert::store(value, ty, StoreTarget { column: "", row: 1 }, &mut cx).map_err(|e| match e.code() {
        ErrorCode::WarnDataOutOfRange => Unfit::Range,
        _ => Unfit::Invalid,
    })
}

/// The keys of a column's elements, ascending, each once. Errors 3903 to 3908 name the index.
fn element_keys(part: &KeyPart, document: ValueRef<'_>, index: &str) -> Result<Vec<Vec<u8>>> {
    let null = || {
        let mut out = Vec::new();
        key::encode(part, ValueRef::Null, &mut out).map(|()| vec![out])
    };
    let ValueRef::Json(stored) = document else { return null() };
    let encoded = |item: &Json| {
        let value = element(&part.ty, item).map_err(|unfit| unfit.error(index))?;
        let mut out = Vec::new();
        key::encode(part, value.as_ref(), &mut out).map(|()| out)
    };
    let mut keys = match Json::decode(stored, Room::FREE)? {
        Json::Null => return null(),
        Json::Array(items) => items.iter().map(encoded).collect::<Result<Vec<_>>>()?,
        Json::Object(_) => return Err(SqlError::unsupported("CAST-ing JSON OBJECT type to array")),
        scalar => vec![encoded(&scalar)?],
    };
    keys.sort_unstable();
    keys.dedup();
    if keys.len() > MAX_ELEMENTS {
        return Err(sql_err!(ExceededMvKeysNum, index, keys.len() - MAX_ELEMENTS));
    }
    let bytes: usize = keys.iter().map(Vec::len).sum();
    if bytes > MAX_ELEMENT_BYTES {
        return Err(sql_err!(ExceededMvKeysSpace, index, bytes - MAX_ELEMENT_BYTES));
    }
    Ok(keys)
}

impl Table {
    /// The part of a multi-valued index whose entries are elements of an array.
    #[inline]
    pub fn array_part(&self, index: usize) -> Option<usize> {
        self.codecs.indexes[index].array
    }

    /// Gives `each` the entries of a row in a multi-valued index, ascending: the key, and how many of its bytes no
    /// other row's entry may have, where the index is unique. An index of another method has none.
    pub(crate) fn array_entries<'v, E: From<SqlError>>(
        &self,
        index: usize,
        value: impl Fn(usize) -> ValueRef<'v>,
        clustered_key: &[u8],
        each: &mut dyn FnMut(&[u8], usize, &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let codec = &self.codecs.indexes[index];
        let Some(at) = codec.array else { return Ok(()) };
        let (mut head, mut tail, mut null) = (Vec::new(), Vec::new(), false);
        for (i, (column, part)) in codec.columns.iter().zip(&codec.parts).enumerate() {
            let v = value(*column as usize);
            if i != at {
                null |= v.is_null();
                key::encode(part, v, if i < at { &mut head } else { &mut tail })?;
            }
        }
        let document = value(codec.columns[at] as usize);
        let part = &codec.parts[at];
        let mut none = Vec::new();
        key::encode(part, ValueRef::Null, &mut none)?;
        let unique = self.indexes[index].unique() && !null;
        let mut key = Vec::new();
        for element in element_keys(part, document, &self.indexes[index].name)? {
            key.clear();
            key.extend_from_slice(&head);
            key.extend_from_slice(&element);
            key.extend_from_slice(&tail);
            let prefix = if unique && element != none { key.len() } else { 0 };
            key.extend_from_slice(clustered_key);
            each(&key, prefix, &[])?;
        }
        Ok(())
    }

    /// An array's text for error 1062: its values in order, as many bytes as a key has for one.
    pub(crate) fn array_text(&self, index: usize, document: ValueRef<'_>, text: &mut Vec<u8>) {
        let codec = &self.codecs.indexes[index];
        let (Some(at), ValueRef::Json(stored)) = (codec.array, document) else { return };
        let ty = &codec.parts[at].ty;
        let mut items = match Json::decode(stored, Room::FREE) {
            Ok(Json::Array(items)) => items,
            Ok(scalar) => vec![scalar],
            Err(_) => return,
        };
        items.sort_by(json::compare);
        items.dedup_by(|a, b| json::compare(a, b).is_eq());
        let from = text.len();
        text.push(b'[');
        for (i, item) in items.iter().enumerate() {
            text.extend_from_slice(if i > 0 { b", " } else { b"" });
            item.write_scalar(text, true);
        }
        text.push(b']');
        let most = match ty.id {
            id if id.is_string() => ty.length as usize,
            TypeId::Decimal => Decimal::encoded_len(ty.length as u8),
            TypeId::Date | TypeId::Time => 3 + usize::from(ty.scale.div_ceil(2)),
            TypeId::DateTime => 5 + usize::from(ty.scale.div_ceil(2)),
            _ => 8,
        };
        let keep = gannet_types::charset::Charset::Utf8mb4.prefix_len(&text[from..], most);
        text.truncate(from + keep);
    }
}
