//! A row that somebody is told of, in the form in which it is at hand.

use crate::row::{Corrupt, RowLayout};
use crate::value::{Value, ValueRef};

/// The columns of a row.
#[derive(Clone, Copy, Debug)]
pub enum RowRef<'a> {
    /// Their values.
    Values(&'a [Value]),
    /// Their stored form.
    Stored(&'a RowLayout, &'a [u8]),
}

impl<'a> RowRef<'a> {
    /// The value of column `i`; NULL where the row has no such column.
    #[inline]
    pub fn get(&self, i: usize) -> Result<ValueRef<'a>, Corrupt> {
        match *self {
            RowRef::Values(values) => Ok(values.get(i).map_or(ValueRef::Null, Value::as_ref)),
            RowRef::Stored(layout, payload) => layout.get(payload, i),
        }
    }

    /// All values.
    pub fn to_values(&self) -> Result<Vec<Value>, Corrupt> {
        match *self {
            RowRef::Values(values) => Ok(values.to_vec()),
            RowRef::Stored(layout, payload) => {
                (0..layout.len()).map(|i| Ok(layout.get(payload, i)?.to_owned())).collect()
            }
        }
    }
}

impl<'a> From<&'a [Value]> for RowRef<'a> {
    fn from(values: &'a [Value]) -> RowRef<'a> {
        RowRef::Values(values)
    }
}

impl<'a> From<&'a Vec<Value>> for RowRef<'a> {
    fn from(values: &'a Vec<Value>) -> RowRef<'a> {
        RowRef::Values(values)
    }
}

impl<'a, const N: usize> From<&'a [Value; N]> for RowRef<'a> {
    fn from(values: &'a [Value; N]) -> RowRef<'a> {
        RowRef::Values(values)
    }
}
