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
    /// It cannot be converted.
    Invalid,
    /// It is no date or time, or a number beyond what decimals have.
    Cut,
    /// It is no scalar.
    Nested,
    /// A number beyond the type's range, which had to be converted to find out.
    Range,
    /// An integer or a decimal beyond the type's range.
    Beyond,
    /// A text longer than the type allows.
    Long,
}

impl Unfit {
    /// Errors 3751, 3752, 3903, 3904, 3907, 3908.
    fn error(self, index: &str) -> SqlError {
        match self {
            Unfit::Invalid => sql_err!(InvalidJsonValueForFuncIndex, index),
            Unfit::Cut => sql_err!(WarnDataTruncatedFunctionalIndex, index, 1),
            Unfit::Nested => sql_err!(WrongMviValue, index),
            Unfit::Range => sql_err!(JsonValueOutOfRangeForFuncIndex, index),
            Unfit::Beyond => sql_err!(WarnDataOutOfRangeFunctionalIndex, index, 1),
            Unfit::Long => sql_err!(FunctionalIndexDataIsTooLong, index),
        }
    }
}

/// The collation of texts in arrays.
pub fn text_collation() -> CollationId {
    gannet_types::Collation::by_name("utf8mb4_0900_as_cs").map_or(CollationId::UTF8MB4_BIN, |c| c.id)
}

/// Converts a scalar into an index's type for elements, as CAST ... AS ... ARRAY does.
pub fn element(ty: &SqlType, value: &Json) -> Result<Value, Unfit> {
    match (ty.id, value) {
        (_, Json::Array(_) | Json::Object(_)) => Err(Unfit::Nested),
        (_, Json::Null) => Err(Unfit::Invalid),
        (id, _) if id.is_string() => text_element(ty, value),
        (id, _) if id.is_temporal() => time_element(ty, value),
        (TypeId::Decimal, _) => decimal_element(ty, value),
        _ => integer_element(ty, value),
    }
}

/// Texts have digits and nothing behind them; numbers are rounded, doubles to the nearest even one.
fn integer_element(ty: &SqlType, value: &Json) -> Result<Value, Unfit> {
    let whole = match value {
        Json::Int(n) => Decimal::from_i64(*n),
        Json::UInt(n) => Decimal::from_u64(*n),
        Json::Bool(b) => Decimal::from_i64(i64::from(*b)),
        Json::Decimal(d) => *d,
        Json::Double(d) => Decimal::from_f64(d.round_ties_even()).ok_or(Unfit::Range)?,
        Json::String(text) => {
            let digits = json::whole_number(text).ok_or(Unfit::Invalid)?;
            return stored(ty, ValueRef::Str(digits.as_bytes(), CollationId::DEFAULT));
        }
        _ => return Err(Unfit::Invalid),
    };
    stored(ty, ValueRef::Decimal(whole)).map_err(|unfit| match (unfit, value) {
        (Unfit::Range, Json::Int(_) | Json::UInt(_)) => Unfit::Beyond,
        _ => unfit,
    })
}

fn decimal_element(ty: &SqlType, value: &Json) -> Result<Value, Unfit> {
    let decimal = match value {
        Json::Int(n) => Decimal::from_i64(*n),
        Json::UInt(n) => Decimal::from_u64(*n),
        Json::Bool(b) => Decimal::from_i64(i64::from(*b)),
        Json::Decimal(d) => *d,
        Json::Double(d) => Decimal::from_f64(*d).ok_or(Unfit::Cut)?,
        Json::String(text) => return stored(ty, ValueRef::Str(text.as_bytes(), CollationId::DEFAULT)),
        _ => return Err(Unfit::Invalid),
    };
    stored(ty, ValueRef::Decimal(decimal)).map_err(|unfit| if unfit == Unfit::Range { Unfit::Beyond } else { unfit })
}

fn time_element(ty: &SqlType, value: &Json) -> Result<Value, Unfit> {
    let value = match value {
        Json::String(text) => ValueRef::Str(text.as_bytes(), CollationId::DEFAULT),
        Json::Int(n) => ValueRef::Int(*n),
        Json::UInt(n) => ValueRef::UInt(*n),
        Json::Double(d) => ValueRef::Double(*d),
        Json::Decimal(d) => ValueRef::Decimal(*d),
        Json::Date(date) => ValueRef::Date(*date),
        Json::DateTime(t) | Json::Timestamp(t) => ValueRef::DateTime(*t, 6),
        // A time of no day.
        Json::Time(time) if ty.id == TypeId::Time => ValueRef::Time(*time, 6),
        _ => return Err(Unfit::Cut),
    };
    stored(ty, value).map_err(|_| Unfit::Cut)
}

/// All scalars have a text.
fn text_element(ty: &SqlType, value: &Json) -> Result<Value, Unfit> {
    let binary = ty.id.is_binary_string();
    let mut text = Vec::new();
    match value {
        Json::Opaque(_, bytes) if binary => text.extend_from_slice(bytes),
        Json::Opaque(..) => return Err(Unfit::Invalid),
        scalar => scalar.write_scalar(&mut text, false),
    }
    let length = if binary { text.len() } else { ty.collation.charset().char_count(&text) };
    if length > ty.length as usize {
        return Err(Unfit::Long);
    }
    Ok(Value::Str(text.into(), ty.collation))
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

/// A document's elements as an index with elements of `ty` has them, `null` as it is; a scalar is an array of one.
/// `None`: one of them cannot be an element.
pub fn converted(ty: &SqlType, document: Json) -> Option<Json> {
    let items = match document {
        Json::Array(items) => items,
        scalar => vec![scalar],
    };
    let one = |item: Json| match item {
        Json::Null => Some(Json::Null),
        scalar => as_json(element(ty, &scalar).ok()?),
    };
    items.into_iter().map(one).collect::<Option<Vec<Json>>>().map(Json::Array)
}

/// An element is what was converted: whatever is equal to one as a document is equal to the other.
pub fn is_as_it_was(ty: &SqlType, element: &Value, was: &Json) -> bool {
    (!ty.id.is_string() || matches!(was, Json::String(_)))
        && as_json(element.clone()).is_some_and(|now| json::compare(&now, was).is_eq())
}

fn as_json(value: Value) -> Option<Json> {
    Some(match value {
        Value::Int(n) => Json::Int(n),
        Value::UInt(n) => Json::UInt(n),
        Value::Decimal(d) => Json::Decimal(d),
        Value::Date(date) => Json::Date(date),
        Value::Time(time, _) => Json::Time(time),
        Value::DateTime(t, _) => Json::DateTime(t),
        Value::Str(bytes, CollationId::BINARY) => Json::Opaque(0, bytes.to_vec().into()),
        Value::Str(bytes, _) => Json::String(std::str::from_utf8(&bytes).ok()?.into()),
        _ => return None,
    })
}

/// The keys of a column's elements, ascending, each once. Errors 1235 and 3751 to 3908 name the index.
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
        Json::Array(items) => items.iter().map(encoded).collect::<Result<Vec<_>>>()?,
        Json::Object(_) => return Err(SqlError::unsupported("CAST-ing JSON OBJECT type to array")),
        Json::Bool(_) => return Err(SqlError::unsupported("CAST-ing JSON BOOLEAN type to array")),
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
