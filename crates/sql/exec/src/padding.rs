//! `PAD_CHAR_TO_FULL_LENGTH`: values of CHAR columns are seen with the spaces up to their length. They are stored
//! without, so scans add them, and what writes rows takes them off again.

use crate::{
    batch::{Batch, Column},
    context::Cx,
};
use gannet_plan::physical::ROW_ID;
use gannet_schema::Table;
use gannet_types::{SqlMode, SqlType, TypeId, Value, ValueRef};

/// The mode is on.
pub(crate) fn is_on(cx: &Cx<'_, '_>) -> bool {
    cx.shared.settings.sql_mode.contains(SqlMode::PAD_CHAR_TO_FULL_LENGTH)
}

fn padded(text: &[u8], ty: &SqlType) -> Vec<u8> {
    let charset = ty.collation.charset();
    let missing = (ty.length as usize).saturating_sub(charset.char_count(text));
    let space = charset.ascii(b" ");
    let mut out = Vec::with_capacity(text.len() + missing * space.len());
    out.extend_from_slice(text);
    (0..missing).for_each(|_| out.extend_from_slice(&space));
    out
}

/// Fills up the columns that a scan delivers.
pub(crate) fn fill_batch(batch: &mut Batch, table: &Table, columns: &[u32], cx: &Cx<'_, '_>) {
    if !is_on(cx) {
        return;
    }
    for (column, ordinal) in batch.columns.iter_mut().zip(columns).filter(|(_, o)| **o < ROW_ID) {
        let ty = &table.columns[*ordinal as usize].ty;
        if ty.id != TypeId::Char {
            continue;
        }
        let mut filled = Column::for_type(ty);
        for row in 0..column.len() {
            match column.get(row) {
                ValueRef::Str(text, collation) => filled.push(ValueRef::Str(&padded(text, ty), collation)),
                other => filled.push(other),
            }
        }
        *column = filled;
    }
}

/// Fills up a row of a table as it is stored.
pub(crate) fn fill_row(row: &mut [Value], table: &Table, cx: &Cx<'_, '_>) {
    if !is_on(cx) {
        return;
    }
    for (value, column) in row.iter_mut().zip(&table.columns).filter(|(_, c)| c.ty.id == TypeId::Char) {
        if let Value::Str(text, collation) = value {
            *value = Value::Str(padded(text.as_bytes(), &column.ty).into(), *collation);
        }
    }
}

/// A row as it is stored.
pub(crate) fn strip_row(row: &mut [Value], table: &Table, cx: &Cx<'_, '_>) {
    if !is_on(cx) {
        return;
    }
    for (value, _) in row.iter_mut().zip(&table.columns).filter(|(_, c)| c.ty.id == TypeId::Char) {
        if let Value::Str(text, collation) = value {
            *value = Value::Str(collation.charset().trim_end(text.as_bytes()).to_vec().into(), *collation);
        }
    }
}
