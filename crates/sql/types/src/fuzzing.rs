//! What the fuzzer calls: bytes of stored rows, keys and documents.

use crate::json::{self, Json};
use crate::key::{self, KeyPart};
use crate::members::Members;
use crate::room::Room;
use crate::row::{OlderDefinition, RowLayout};
use crate::{CollationId, SqlType, TypeId, Value};
use std::sync::Arc;

/// Columns of every kind of place that a row has: fixed, variable, with and without NULL, documents, members.
fn types() -> Vec<SqlType> {
    let members = Arc::new(Members::new(Box::new(["a".into(), "it's".into()]), CollationId::DEFAULT));
    let text = |n| SqlType::varchar(n, CollationId::DEFAULT);
    let mut all = vec![
        SqlType::new(TypeId::Int),
        SqlType::bigint_unsigned(),
        SqlType { nullable: false, ..SqlType::new(TypeId::TinyInt) },
        SqlType::decimal(30, 10),
        SqlType::DOUBLE,
        text(20),
        SqlType { nullable: false, ..text(300) },
        text(10).with_collation(CollationId::BINARY),
        SqlType::new(TypeId::Json),
        SqlType { length: 9, ..SqlType::new(TypeId::Bit) },
        SqlType::enumeration(TypeId::Enum, members.clone()),
        SqlType::enumeration(TypeId::Set, members),
        SqlType::new(TypeId::Year),
        SqlType::new(TypeId::Date),
    ];
    all.extend([TypeId::Time, TypeId::DateTime, TypeId::Timestamp].map(|id| SqlType::temporal(id, 3)));
    all
}

/// A layout with one definition before, which lacked the last three columns and had one that is dropped.
fn layout(types: &[SqlType]) -> RowLayout {
    let kept = types.len() - 3;
    let mut columns: Vec<_> = types[..kept].iter().enumerate().map(|(i, t)| (t.clone(), Some(i))).collect();
    columns.insert(2, (SqlType::varchar(5, CollationId::DEFAULT), None));
    RowLayout::with_history(types, 1, &[OlderDefinition { number: 0, columns }], Vec::new())
}

/// Takes bytes for a row, for a key of each type, and for a document.
pub fn check(data: &[u8]) {
    let types = types();
    let layout = layout(&types);
    let _ = layout.short_len(data);
    if let Ok(row) = layout.open(data) {
        for (col, ty) in types.iter().enumerate() {
            let value = row.get(col);
            let mut appended = Vec::new();
            assert_eq!(value.is_ok(), row.append(col, &mut appended).is_ok(), "column {col}");
            let Ok(value) = value else { continue };
            let mut text = Vec::new();
            value.write_text(&mut text);
            if let Ok(true) = layout.patch(&mut data.to_vec(), col, value) {
                assert!(!ty.id.is_string() || layout.get_bytes(data, col).is_ok());
            }
        }
    }
    for ty in types.iter().filter(|t| t.id != TypeId::Json) {
        for descending in [false, true] {
            let part = KeyPart { descending, ..KeyPart::new(ty.clone()) };
            let (mut decoded, mut skipped) = (data, data);
            if key::decode(&part, &mut decoded).is_ok() && key::skip(&part, &mut skipped).is_ok() {
                assert_eq!(decoded.len(), skipped.len(), "a part has one length");
            }
        }
    }
    document(data);
}

fn document(data: &[u8]) {
    let mut text = Vec::new();
    Json::write_stored(data, &mut text);
    let (mut sorted, halves) = (Vec::new(), data.split_at(data.len() / 2));
    let _ = json::sort_key_stored(data, &mut sorted);
    let _ = json::compare_stored(halves.0, halves.1);
    let Ok(document) = Json::decode(data, Room::FREE) else { return };
    // Compared as bytes: a number of them may be none.
    let again = document.to_text(Room::FREE).expect("room for a document");
    let read = Json::decode(again.as_ref(), Room::FREE).expect("a document survives encoding");
    assert_eq!(read.to_text(Room::FREE).expect("room for a document").as_ref(), again.as_ref());
}

/// Rows of both definitions, keys, documents.
pub fn seeds() -> Vec<Vec<u8>> {
    let types = types();
    let document = json::parse(br#"{"a": [1, 2.5, null, true, "x"], "b": {"c": -9007199254740993}, "": []}"#);
    let document = document.expect("a document").to_text(Room::FREE).expect("room for it");
    let value = |i: usize, ty: &SqlType| match ty.id {
        _ if i.is_multiple_of(5) && ty.nullable => Value::Null,
        TypeId::Int | TypeId::TinyInt => Value::Int(-5),
        TypeId::BigInt => Value::UInt(1 << 40),
        TypeId::Double => Value::Double(1.5),
        TypeId::VarChar => Value::Str(b"text"[..].into(), ty.collation),
        TypeId::Json => Value::Json(document.clone()),
        _ => Value::Null,
    };
    let row = |of: &[SqlType], layout: &RowLayout| {
        let values: Vec<Value> = of.iter().enumerate().map(|(i, t)| value(i, t)).collect();
        let mut bytes = Vec::new();
        layout.encode_values(&values, &mut bytes).expect("a row");
        bytes
    };
    let mut seeds = vec![row(&types, &layout(&types)), document.as_ref().to_vec()];
    let mut older = types[..types.len() - 3].to_vec();
    older.insert(2, SqlType::varchar(5, CollationId::DEFAULT));
    seeds.push(row(&older, &RowLayout::new(&older)));
    for ty in types.iter().filter(|t| t.id != TypeId::Json) {
        let mut bytes = Vec::new();
        if key::encode(&KeyPart::new(ty.clone()), value(1, ty).as_ref(), &mut bytes).is_ok() {
            seeds.push(bytes);
        }
    }
    seeds
}

#[cfg(test)]
mod tests {
    #[test]
    fn seeds_are_read() {
        let seeds = super::seeds();
        seeds.iter().for_each(|s| super::check(s));
        for row in [&seeds[0], &seeds[2]] {
            let types = super::types();
            let layout = super::layout(&types);
            let row = layout.open(row).expect("a row");
            assert!((0..types.len()).all(|c| row.get(c).is_ok()));
        }
    }
}
